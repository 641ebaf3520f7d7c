//! Table 1 of Soryani et al. 2013: how much two senders of a node slow each other down.

use super::{Agreement, Printed, Row, Verdict};
use rankwright::cluster::Cluster;
use rankwright::estimate::Prediction;
use rankwright::ids::Rank;
use rankwright::placement::{Granularity, JobShape, Placement, slots};
use rankwright::traffic::{Job, Send, Source, Workload};
use rankwright::units::{Bytes, PerSecond};

/// The halves of the cells, as printed.
const PRINTED: [(&str, &str); 2] = [
    ("upper", include_str!("../../../papers/2013/table-1-upper.csv")),
    ("lower", include_str!("../../../papers/2013/table-1-lower.csv")),
];

/// Senders: the length of their messages and how many they send per second. Ca is 1 for all.
const SENDERS: [(u64, f64); 9] = [
    (1 << 10, 10.0),
    (1 << 10, 100.0),
    (1 << 10, 1000.0),
    (1 << 16, 10.0),
    (1 << 16, 100.0),
    (1 << 16, 1000.0),
    (1 << 20, 10.0),
    (1 << 20, 100.0),
    (1 << 20, 500.0),
];

/// From this on a cell counts in the summary, in %; below there is little but rounding.
const SUMMARY_FROM: f64 = 0.05;
/// And only if it is this much above the floor of its row, in %.
const SUMMARY_ABOVE_FLOOR: f64 = 0.02;

/// All cells of both halves, each half with its summary at the end.
pub(super) fn rows(cluster: &Cluster) -> Vec<Row> {
    let halves = halves();
    let mut rows = Vec::new();
    for half in &halves {
        let cells = cells(cluster, half, &halves[1]);
        rows.extend(cells.iter().map(|cell| row(half.name, cell)));
        rows.extend(summary(half.name, &cells));
    }
    rows
}

/// The numbers of one half.
struct Half {
    name: &'static str,
    /// How rows and columns are named.
    senders: Vec<&'static str>,
    cells: Vec<Vec<Printed>>,
}

/// A cell of the table.
struct Cell {
    what: String,
    /// As printed.
    printed: Printed,
    /// What all cells of the row have for the rounding of the time that they are compared with.
    floor: Printed,
    /// How much one µs is, in %, where all times of the row are whole µs.
    whole_microseconds: f64,
    /// The slowdown in %; infinite if a server is saturated.
    ours: f64,
}

fn halves() -> [Half; 2] {
    PRINTED.map(|(name, text)| {
        let mut lines = text.lines();
        let senders = lines.next().unwrap_or_default().split(',').skip(1).collect();
        let cells = lines
            .map(|line| line.split(',').skip(1).filter_map(Printed::parse).collect())
            .collect();
        Half { name, senders, cells }
    })
}

fn cells(cluster: &Cluster, half: &Half, lower: &Half) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (row, sender) in SENDERS.iter().enumerate() {
        let alone = time(cluster, half.name, *sender, None);
        for (column, other) in SENDERS.iter().enumerate() {
            let both = time(cluster, half.name, *sender, Some(*other));
            let whole = sender.0 == 1 << 20;
            cells.push(Cell {
                what: format!("{} beside {}", half.senders[row], half.senders[column]),
                printed: half.cells[row][column],
                floor: lower.cells[row][0],
                whole_microseconds: if whole { 1e-4 / alone } else { 0.0 },
                ours: 100.0 * (both / alone - 1.0),
            });
        }
    }
    cells
}

/// How long messages of the first sender take, in seconds; infinite if a server is saturated. Both
/// senders share a socket. The first sends to another node; the other to a third node in the upper
/// half, to a neighbour on the socket in the lower one.
fn time(cluster: &Cluster, half: &str, sender: (u64, f64), other: Option<(u64, f64)>) -> f64 {
    let job = |name: &str, sender: Option<(u64, f64)>| {
        let source = |(length, rate): (u64, f64)| {
            let sends = vec![Send { destination: Rank(1), length: Bytes(length) }];
            Source {
                rank: Rank(0),
                rate: PerSecond(rate),
                cv: 1.0,
                in_step: None,
                rounds: 1,
                sends,
            }
        };
        Job::from_sources(name, 2, sender.map(source).into_iter().collect())
            .expect("the senders of the table are valid")
    };
    let jobs = vec![job("first", Some(sender)), job("other", other)];
    let workload = Workload { name: "table 1".to_owned(), jobs };
    let slots = slots(cluster, Granularity::Cores(1), 64).expect("the cluster has 256 cores");
    let slot_of = if half == "upper" { [0, 16, 1, 32] } else { [0, 16, 1, 2] };
    let shapes = JobShape::of(&workload);
    let placement = Placement::from_slots(cluster, &shapes, "table 1", &slots, &slot_of)
        .expect("four ranks on four cores");
    let prediction = Prediction::new(cluster, &workload, &placement).expect("all have clocks");
    prediction.jobs[0].time.map_or(f64::INFINITY, |time| time.total().0)
}

impl Cell {
    /// The number of the paper without the floor, and how far it may be rounded.
    fn above_floor(&self) -> Printed {
        let floor_rounding = if self.floor.value > 0.0 { self.floor.rounding } else { 0.0 };
        Printed {
            value: self.printed.value - self.floor.value,
            rounding: rounding(self.printed) + floor_rounding + self.whole_microseconds,
        }
    }

    fn counts_in_summary(&self) -> bool {
        let printed = self.printed.value;
        printed.is_finite()
            && printed >= SUMMARY_FROM
            && printed - self.floor.value >= SUMMARY_ABOVE_FLOOR
    }
}

/// Of a cell. A plain 0 stands in rows of three decimals and is rounded as those.
fn rounding(printed: Printed) -> f64 {
    if printed.value == 0.0 { 0.0005 } else { printed.rounding }
}

fn row(half: &str, cell: &Cell) -> Row {
    let printed = (cell.above_floor(), "%");
    let row = Row::beside(item(half), &cell.what, printed, cell.ours, Verdict::SameOrdering);
    let mut why = Vec::new();
    if cell.printed.value.is_infinite() {
        why.push("the port is saturated".to_owned());
    } else if cell.floor.value > 0.0 {
        let floor = cell.floor.value;
        why.push(format!(
            "less {floor} %, which every cell of the row has for the rounding of its base"
        ));
    }
    if cell.whole_microseconds > 0.0 {
        why.push("the times of the row are whole us".to_owned());
    }
    if row.verdict == Verdict::SameOrdering {
        let share = (cell.ours / cell.above_floor().value - 1.0).abs();
        why.push(format!("{:.0} % off, with few digits printed", 100.0 * share));
    }
    Row { paper: Some(cell.printed.value), ..row.because(why.join("; ")) }
}

fn summary(half: &str, cells: &[Cell]) -> Vec<Row> {
    let counted = cells.iter().filter(|cell| cell.counts_in_summary());
    let pairs: Vec<_> = counted.map(|cell| (cell.above_floor().value, cell.ours)).collect();
    let agreement = Agreement::new(&pairs);
    let what = |what: &str| format!("{what} of {} cells from {SUMMARY_FROM} %", agreement.count);
    let numeric = cells.iter().filter(|cell| cell.printed.value.is_finite());
    let met = numeric.clone().filter(|cell| cell.above_floor().is_met_by(cell.ours)).count();
    let numeric = numeric.count();
    let row = |what: String, ours, unit| Row::ours_only(item(half), what, ours, unit);
    vec![
        row(what("median relative error"), 100.0 * agreement.median, "%"),
        row(what("90th percentile of the relative error"), 100.0 * agreement.ninetieth, "%"),
        row(what("Spearman's rank correlation"), agreement.spearman, ""),
        row(format!("cells reproduced, of {numeric}"), met as f64, ""),
    ]
}

fn item(half: &str) -> String {
    format!("Table 1, {half}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankwright::cluster::read::built_in;

    #[test]
    fn the_table_is_there_as_printed() {
        let [upper, lower] = halves();
        for half in [&upper, &lower] {
            assert_eq!(half.senders.len(), 9);
            assert_eq!(half.cells.len(), 9);
            assert!(half.cells.iter().all(|row| row.len() == 9));
        }
        let saturated = |half: &Half| {
            half.cells.iter().flatten().filter(|cell| cell.value.is_infinite()).count()
        };
        assert_eq!((saturated(&upper), saturated(&lower)), (1, 0));
        // What the text says of it: 64 kB at 10/s beside 1 MB, and the reverse; 64 kB at 1000/s.
        let text = [upper.cells[3][6], upper.cells[6][3], upper.cells[5][5]];
        assert_eq!(text.map(|cell| cell.value), [0.18, 0.019, 1.27]);
    }

    #[test]
    fn times_beside_a_mebibyte_are_whole_microseconds() {
        // 5333 us at 10/s is printed in the text; the cells of the row are multiples of 1 us.
        let [upper, lower] = halves();
        for cell in upper.cells[6].iter().chain(&lower.cells[6]) {
            let whole = (cell.value / 100.0 * 5333.0).round() / 5333.0 * 100.0;
            assert!((whole - cell.value).abs() <= cell.rounding * 1.05, "{cell:?}");
        }
    }

    #[test]
    fn the_model_meets_the_table() {
        let cluster = built_in::find("paper:2013-model").unwrap().cluster();
        let [upper, lower] = halves().map(|half| score(&half));
        let [of_upper, of_lower] = [upper.0, lower.0];
        assert_eq!((of_upper.count, of_lower.count), (45, 25));
        assert!(of_upper.median < 0.0055 && of_upper.ninetieth < 0.022, "{of_upper:?}");
        assert!(of_lower.median < 0.0275 && of_lower.ninetieth < 0.075, "{of_lower:?}");
        assert!(of_upper.spearman > 0.9989 && of_lower.spearman > 0.9955);
        // Of all numbers, without knowing that some times are whole microseconds, and with that.
        assert_eq!(upper.1 + lower.1, 130);
        let rows = rows(&cluster);
        let is = |verdict: Verdict| rows.iter().filter(|row| row.verdict == verdict).count();
        assert_eq!(is(Verdict::Reproduced), 152 + 1);
        assert_eq!(is(Verdict::SameOrdering), 161 - 152);
        assert_eq!(is(Verdict::NotReproduced), 0);
    }

    /// The agreement of the cells that count, and how many of all are met by rounding or 5 % alone.
    fn score(half: &Half) -> (Agreement, usize) {
        let cluster = built_in::find("paper:2013-model").unwrap().cluster();
        let mut cells = cells(&cluster, half, &halves()[1]);
        let counted = cells.iter().filter(|cell| cell.counts_in_summary());
        let pairs: Vec<_> = counted.map(|cell| (cell.above_floor().value, cell.ours)).collect();
        cells.retain(|cell| cell.printed.value.is_finite());
        cells.iter_mut().for_each(|cell| cell.whole_microseconds = 0.0);
        let met = cells.iter().filter(|cell| cell.above_floor().is_met_by(cell.ours)).count();
        (Agreement::new(&pairs), met)
    }
}
