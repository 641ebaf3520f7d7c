//! Table 1, Soryani 2013: the mutual slowdown of two senders of a node.

use rankwright::cluster::Cluster;
use rankwright::estimate::Prediction;
use rankwright::ids::Rank;
use rankwright::placement::{Granularity, JobShape, Placement, slots};
use rankwright::traffic::{Job, Send, Source, TrafficError, Workload};
use rankwright::units::{Bytes, PerSecond};

use crate::agreement::Agreement;
use crate::data_file::{DataFile, data_file};
use crate::printed::Printed;
use crate::row::{Row, Verdict};

/// A row and a column of the table. The messages of all senders have Ca 1.
#[derive(Debug, Clone, Copy)]
struct Sender {
    name: &'static str,
    /// Length of its messages, in bytes.
    length: u64,
    /// Messages per second.
    rate: f64,
}

const fn sender(name: &'static str, length: u64, rate: f64) -> Sender {
    Sender { name, length, rate }
}

const MIB: u64 = 1 << 20;
const SENDERS: [Sender; 9] = [
    sender("1 kB 10/s", 1 << 10, 10.0),
    sender("1 kB 100/s", 1 << 10, 100.0),
    sender("1 kB 1000/s", 1 << 10, 1000.0),
    sender("64 kB 10/s", 1 << 16, 10.0),
    sender("64 kB 100/s", 1 << 16, 100.0),
    sender("64 kB 1000/s", 1 << 16, 1000.0),
    sender("1 MB 10/s", MIB, 10.0),
    sender("1 MB 100/s", MIB, 100.0),
    sender("1 MB 500/s", MIB, 500.0),
];

/// Each cell of the table has two numbers. Both senders are on one socket; the first sends to
/// another node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Half {
    /// The second sender sends to a third node.
    Upper,
    /// The second sender sends to another core of the socket.
    Lower,
}

impl Half {
    fn item(self) -> &'static str {
        match self {
            Self::Upper => "Table 1, upper",
            Self::Lower => "Table 1, lower",
        }
    }

    fn data(self) -> DataFile {
        match self {
            Self::Upper => data_file!("2013/table-1-upper.csv"),
            Self::Lower => data_file!("2013/table-1-lower.csv"),
        }
    }

    /// The cores of first sender, first receiver, second sender, second receiver, below [`CORES`]:
    /// positions in the cluster, which has 16 cores per node and 4 per socket.
    fn cores(self) -> [usize; 4] {
        match self {
            Self::Upper => [0, 16, 1, 32],
            Self::Lower => [0, 16, 1, 2],
        }
    }
}

/// Number of cores that the senders and receivers need: two nodes and one core.
const CORES: usize = 33;

/// The smallest printed number in the summary, in percent; smaller numbers are mostly rounding.
const SUMMARY_FROM: f64 = 0.05;
/// The smallest difference between such a number and the floor of its row, in percent.
const SUMMARY_ABOVE_FLOOR: f64 = 0.02;

/// The rows of both halves, each half with its summary at the end.
pub(super) fn rows(cluster: &Cluster) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for half in [Half::Upper, Half::Lower] {
        let cells = cells(cluster, half)?;
        rows.extend(cells.iter().map(|cell| row(half, cell)));
        rows.extend(summary(half, &cells));
    }
    Ok(rows)
}

/// A number of the table, and ours.
struct Slowdown {
    what: String,
    /// As printed, in percent.
    printed: Printed,
    /// The share in all numbers of the row that comes from rounding the time that they are compared
    /// with: the first lower number of the row, in percent.
    floor: Printed,
    /// 1 µs in percent of the time that the row is compared with, if the paper measured the times
    /// of the row in whole µs; else 0.
    whole_microseconds: f64,
    /// In percent; infinite if a server is saturated.
    ours: f64,
}

/// The numbers of one half as printed, by row and column.
fn printed(half: Half) -> anyhow::Result<[[Printed; SENDERS.len()]; SENDERS.len()]> {
    let mut columns = [""; SENDERS.len() + 1];
    columns[0] = "slowdown of (row) by (column) in %";
    for (column, sender) in columns[1..].iter_mut().zip(SENDERS) {
        *column = sender.name;
    }
    let mut numbers = [[Printed::exact(0.0); SENDERS.len()]; SENDERS.len()];
    let table = half.data().table(columns, SENDERS.map(|sender| sender.name))?;
    for (numbers, [_, cells @ ..]) in numbers.iter_mut().zip(&table) {
        for (number, cell) in numbers.iter_mut().zip(cells) {
            *number = cell.printed()?;
        }
    }
    Ok(numbers)
}

/// The numbers of one half, row by row.
fn cells(cluster: &Cluster, half: Half) -> anyhow::Result<Vec<Slowdown>> {
    let (printed, lower) = (printed(half)?, printed(Half::Lower)?);
    let mut cells = Vec::new();
    for (row, sender) in SENDERS.into_iter().enumerate() {
        let alone = time(cluster, half, sender, None)?;
        for (column, other) in SENDERS.into_iter().enumerate() {
            let both = time(cluster, half, sender, Some(other))?;
            cells.push(Slowdown {
                what: format!("{} beside {}", sender.name, other.name),
                printed: printed[row][column],
                floor: lower[row][0],
                whole_microseconds: if sender.length == MIB { 1e-4 / alone } else { 0.0 },
                ours: 100.0 * (both / alone - 1.0),
            });
        }
    }
    Ok(cells)
}

/// The mean time of messages of `sender`, in seconds, while `other` sends too; infinite if a server
/// is saturated.
fn time(
    cluster: &Cluster,
    half: Half,
    sender: Sender,
    other: Option<Sender>,
) -> anyhow::Result<f64> {
    let jobs = vec![job("first", Some(sender))?, job("other", other)?];
    let workload = Workload { name: "table 1".to_owned(), jobs };
    let shapes = JobShape::of(&workload);
    let slots = slots(cluster, Granularity::Cores(1), CORES)?;
    let placement = Placement::from_slots(cluster, &shapes, "table 1", &slots, &half.cores())?;
    let prediction = Prediction::new(cluster, &workload, &placement)?;
    Ok(prediction.jobs[0].time.map_or(f64::INFINITY, |time| time.total().0))
}

/// Two ranks; with a sender, the first sends to the second.
fn job(name: &str, sender: Option<Sender>) -> Result<Job, TrafficError> {
    let source = |sender: Sender| Source {
        rank: Rank(0),
        rate: PerSecond(sender.rate),
        cv: 1.0,
        in_step: None,
        rounds: 1,
        sends: vec![Send { destination: Rank(1), length: Bytes(sender.length) }],
    };
    Job::from_sources(name, 2, sender.map(source).into_iter().collect())
}

impl Slowdown {
    /// The printed number less the floor, with its rounding.
    fn above_floor(&self) -> Printed {
        // A plain 0 is in rows with three decimals and is rounded as they are.
        let rounding = if self.printed.value == 0.0 { 0.0005 } else { self.printed.rounding };
        let floor_rounding = if self.floor.value > 0.0 { self.floor.rounding } else { 0.0 };
        Printed {
            value: self.printed.value - self.floor.value,
            rounding: rounding + floor_rounding + self.whole_microseconds,
        }
    }

    fn counts_in_summary(&self) -> bool {
        let printed = self.printed.value;
        printed.is_finite()
            && printed >= SUMMARY_FROM
            && printed - self.floor.value >= SUMMARY_ABOVE_FLOOR
    }
}

fn row(half: Half, cell: &Slowdown) -> Row {
    let printed = cell.above_floor();
    let row = Row::new(half.item(), &cell.what, cell.ours, "%");
    let row = row.compared_with(printed, Verdict::SameOrdering);
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
        let share = (cell.ours / printed.value - 1.0).abs();
        why.push(format!("{:.0} % off, with few digits printed", 100.0 * share));
    }
    Row { paper: Some(cell.printed.value), ..row.because(why.join("; ")) }
}

fn summary(half: Half, cells: &[Slowdown]) -> [Row; 4] {
    let agreement = agreement(cells);
    let what = |what: &str| format!("{what} of {} cells from {SUMMARY_FROM} %", agreement.count);
    let numeric = cells.iter().filter(|cell| cell.printed.value.is_finite());
    let agreeing = numeric.clone().filter(|cell| cell.above_floor().agrees_with(cell.ours)).count();
    let numeric = numeric.count();
    let row = |what: String, ours, unit| Row::new(half.item(), what, ours, unit);
    [
        row(what("median relative error"), 100.0 * agreement.median, "%"),
        row(what("90th percentile of the relative error"), 100.0 * agreement.ninetieth, "%"),
        row(what("Spearman's rank correlation"), agreement.spearman, ""),
        row(format!("cells reproduced, of {numeric}"), agreeing as f64, ""),
    ]
}

/// The agreement of the cells that count in the summary.
fn agreement(cells: &[Slowdown]) -> Agreement {
    let counted = cells.iter().filter(|cell| cell.counts_in_summary());
    let pairs: Vec<_> = counted.map(|cell| (cell.above_floor().value, cell.ours)).collect();
    Agreement::new(&pairs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built_in;

    #[test]
    fn the_table_is_read_as_printed() {
        let [upper, lower] = [Half::Upper, Half::Lower].map(|half| printed(half).unwrap());
        let saturated = |half: [[Printed; 9]; 9]| {
            half.as_flattened().iter().filter(|number| number.value.is_infinite()).count()
        };
        assert_eq!((saturated(upper), saturated(lower)), (1, 0));
        // Numbers that the text repeats: 64 kB at 10/s beside 1 MB, and the reverse; 64 kB at
        // 1000/s.
        let repeated = [upper[3][6], upper[6][3], upper[5][5]];
        assert_eq!(repeated.map(|number| number.value), [0.18, 0.019, 1.27]);
    }

    #[test]
    fn times_of_1_mb_messages_are_whole_microseconds() {
        // The text prints 5333 us at 10/s; the cells of the row are multiples of 1 us.
        for half in [Half::Upper, Half::Lower] {
            for number in printed(half).unwrap()[6] {
                let whole = (number.value / 100.0 * 5333.0).round() / 5333.0 * 100.0;
                assert!((whole - number.value).abs() <= number.rounding * 1.05, "{number:?}");
            }
        }
    }

    #[test]
    fn the_model_agrees_with_the_table() {
        let cluster = built_in::cluster("paper:2013-model").unwrap();
        let cells = [Half::Upper, Half::Lower].map(|half| cells(&cluster, half).unwrap());
        let [upper, lower] = cells.each_ref().map(|cells| agreement(cells));
        assert_eq!((upper.count, lower.count), (45, 25));
        assert!(upper.median < 0.0055 && upper.ninetieth < 0.022, "{upper:?}");
        assert!(lower.median < 0.0275 && lower.ninetieth < 0.075, "{lower:?}");
        assert!(upper.spearman > 0.9989 && lower.spearman > 0.9955);
        let rows = rows(&cluster).unwrap();
        let count = |verdict: Verdict| rows.iter().filter(|row| row.verdict == verdict).count();
        assert_eq!(count(Verdict::Reproduced), 152 + 1);
        assert_eq!(count(Verdict::SameOrdering), 161 - 152);
        assert_eq!(count(Verdict::NotReproduced), 0);
    }

    #[test]
    fn whole_microseconds_decide_22_of_the_161_numbers() {
        let cluster = built_in::cluster("paper:2013-model").unwrap();
        let cells = [Half::Upper, Half::Lower].map(|half| cells(&cluster, half).unwrap());
        let fractional =
            cells.into_iter().flatten().map(|cell| Slowdown { whole_microseconds: 0.0, ..cell });
        let numeric = fractional.filter(|cell| cell.printed.value.is_finite());
        let agreeing = numeric.filter(|cell| cell.above_floor().agrees_with(cell.ours)).count();
        assert_eq!(agreeing, 152 - 22);
    }
}
