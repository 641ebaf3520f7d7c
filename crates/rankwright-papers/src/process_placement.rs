//! Mercier, Clet-Ortega 2009, "Towards an efficient process placement policy for MPI applications in
//! multicore environments": its machine and application matrices, its mapping, what share of the
//! traffic stays inside nodes, and its run times beside what we predict.

use super::{Printed, Row, Verdict};
use rankwright::cluster::distance::MachineMatrix;
use rankwright::cluster::read::built_in;
use rankwright::cluster::{Cluster, Levels};
use rankwright::estimate::Load;
use rankwright::ids::{NodeId, Rank};
use rankwright::map::{Budget, Problem, Strategy};
use rankwright::placement::{Granularity, JobShape, Placement};
use rankwright::traffic::generate::nas;
use rankwright::traffic::{Flow, Job, Workload};

const FIGURE_3: &str = include_str!("../../../papers/2009-placement/figure-3.csv");
const FIGURE_4: &str = include_str!("../../../papers/2009-placement/figure-4.csv");
const TABLE_1: &str = include_str!("../../../papers/2009-placement/table-1.csv");
/// Run times in seconds: data of the paper that nothing here computes.
const TABLE_2: &str = include_str!("../../../papers/2009-placement/table-2.csv");
/// Shares in percent.
const TABLE_3: &str = include_str!("../../../papers/2009-placement/table-3.csv");

/// The policies of the paper that bind or not, in its order.
const POLICIES: [&str; 5] =
    ["round-robin", "round-robin-core-binding", "regroup", "placed", "placed-core-reverse"];

/// Shares that differ by no more than so many percentage points count as reproduced.
const POINTS: f64 = 3.0;

const INSTRUMENT: &str = "what is compared is (2x + 1) / 3, x being the share of point-to-point \
                          bytes that stays inside nodes: the paper's instrument seems to count a \
                          further half of the volume as local";
const MULTIGRID: &str = "MG does not follow (2x + 1) / 3: with our x its shares need a further 0.7 to \
                         0.8 of the volume counted as local in class C and 1.2 to 1.5 in class D, \
                         where the other four need 0.5 in both";
const RUN_TIMES: &str = "the paper's are run times, ours the time of the busiest network device: how \
                         much of a run is communication is not printed";

/// All numbers of the paper, and ours.
///
/// # Panics
/// Never: the cluster and the workloads are built in.
#[must_use]
pub fn rows() -> Vec<Row> {
    let cluster = built_in::find("paper:2009-placement").expect("it is built in").cluster();
    let mut rows = vec![figure_3(&cluster), figure_4()];
    rows.extend(table_1(&cluster));
    let measured: Vec<Measured> = benchmarks(TABLE_3).map(|line| measure(&cluster, line)).collect();
    rows.extend(measured.iter().flat_map(table_3));
    rows.extend(measured.iter().zip(benchmarks(TABLE_2)).map(|(one, line)| table_2(one, line)));
    rows.extend(measured.iter().flat_map(figure_7));
    rows
}

/// A benchmark of a table: its name, its class and two numbers, round-robin and placed.
type Line<'a> = (&'a str, &'a str, [Printed; 2]);

fn benchmarks(table: &'static str) -> impl Iterator<Item = Line<'static>> {
    table.lines().skip(1).filter_map(|line| {
        let mut cells = line.split(',');
        let (benchmark, class) = (cells.next()?, cells.next()?);
        let mut number = || Printed::parse(cells.next()?);
        Some((benchmark, class, [number()?, number()?]))
    })
}

fn matrix(text: &str) -> Vec<Vec<u64>> {
    let row = |line: &str| line.split(',').filter_map(|cell| cell.parse().ok()).collect();
    text.lines().map(row).collect()
}

fn figure_3(cluster: &Cluster) -> Row {
    let ours = MachineMatrix::new(cluster, &[NodeId(0)]);
    let ours: Vec<u64> = ours.weights.concat().into_iter().map(u64::from).collect();
    let paper = matrix(FIGURE_3).concat();
    let equal = paper.iter().zip(&ours).filter(|(paper, ours)| paper == ours).count();
    let printed = Printed { value: paper.len() as f64, rounding: 0.0 };
    let what = "entries of the machine matrix of an Opteron node that are those printed";
    Row::beside("Fig. 3", what, (printed, ""), equal as f64, exactly(equal == paper.len()))
}

/// `Reproduced`, or not.
fn exactly(reproduced: bool) -> Verdict {
    if reproduced { Verdict::Reproduced } else { Verdict::NotReproduced }
}

/// The pattern of LU: whether those that the paper weighs 1000 send more than those that it weighs
/// 100, and these more than all others.
fn figure_4() -> Row {
    let paper = matrix(FIGURE_4);
    let job = nas::parse("lu.B.8").and_then(|job| job.job()).expect("LU runs with 8 ranks");
    let mut bytes = vec![vec![0_u64; paper.len()]; paper.len()];
    for flow in &job.flows {
        bytes[flow.source.index()][flow.destination.index()] += flow.bytes;
        bytes[flow.destination.index()][flow.source.index()] += flow.bytes;
    }
    let class = |weight: u64| weight.clamp(10, 1000);
    let mut pairs: Vec<(u64, u64)> = Vec::new();
    for (a, row) in paper.iter().enumerate() {
        pairs.extend((0..a).map(|b| (class(row[b]), bytes[a][b])));
    }
    let ordered = |(weight, bytes): &(u64, u64)| {
        let in_order = |(other, more): &(u64, u64)| other <= weight || more > bytes;
        pairs.iter().all(in_order)
    };
    let found = pairs.iter().filter(|pair| ordered(pair)).count();
    let printed = Printed { value: pairs.len() as f64, rounding: 0.0 };
    let what = "pairs of LU, class B, 8 processes, in the order of the printed weights (1000, 100, \
                fewer)";
    Row::beside("Fig. 4", what, (printed, ""), found as f64, exactly(found == pairs.len())).because(
        "the weights 10 and 1 are not told apart: they are not from point-to-point messages",
    )
}

/// Traffic times closeness, with the matrices as printed: of the mapping that is printed, and of ours.
fn table_1(cluster: &Cluster) -> [Row; 2] {
    let (machine, application) = (matrix(FIGURE_3), matrix(FIGURE_4));
    let cell = |line: &str| line.split_once(',').and_then(|(_, core)| core.parse().ok());
    let printed: Vec<usize> = TABLE_1.lines().skip(1).filter_map(cell).collect();
    let flow = |a: usize, b: usize, weight: u64| Flow {
        source: Rank::from_index(a),
        destination: Rank::from_index(b),
        messages: 1,
        bytes: weight,
        largest: weight,
    };
    let mut flows = Vec::new();
    for (a, row) in application.iter().enumerate() {
        flows.extend((0..a).map(|b| flow(a, b, row[b])));
    }
    let job = Job::new("lu.B.8 as printed", 8, flows).expect("a valid pattern");
    let workload = Workload::single(job);
    let placement = placed(cluster, &workload, "placed").1;
    // The matrix numbers cores by the P# of their PU.
    let ours: Vec<usize> = placement.ranks().map(|place| place.pus[0].index()).collect();
    let value = |core_of: &[usize], rating: fn(u64) -> f64| -> f64 {
        let mut sum = 0.0;
        for (a, row) in application.iter().enumerate() {
            let of_pair = |b: usize| row[b] as f64 * rating(machine[core_of[a]][core_of[b]]);
            sum += (0..a).map(of_pair).sum::<f64>();
        }
        sum
    };
    let row = |what: &str, rating: fn(u64) -> f64, more_is_better: bool| {
        let (paper, ours) = (value(&printed, rating), value(&ours, rating));
        let as_good = if more_is_better { ours >= paper } else { ours <= paper };
        let printed = Printed { value: paper, rounding: 0.0 };
        Row {
            verdict: exactly(as_good),
            ..Row::beside("Table 1", what, (printed, ""), ours, exactly(as_good))
        }
        .because("reproduced means at least as good as the mapping that is printed")
    };
    [
        row(
            "traffic times closeness of the mapping of LU.B.8 (more is better)",
            |weight| weight as f64,
            true,
        ),
        row(
            "traffic over closeness of the mapping of LU.B.8 (less is better)",
            |weight| 1.0 / weight as f64,
            false,
        ),
    ]
}

/// A strategy's answer for a workload.
fn placed(cluster: &Cluster, workload: &Workload, strategy: &str) -> (Load, Placement) {
    let problem = Problem::new(cluster, workload, Granularity::Cores(1)).expect("it fits");
    let strategy: Strategy = strategy.parse().expect("a strategy of the table");
    let slot_of = strategy.map(&problem, &Budget::default()).expect("a mapping");
    let shapes = JobShape::of(workload);
    let placement =
        Placement::from_slots(cluster, &shapes, strategy.name(), problem.slots(), &slot_of);
    let placement = placement.expect("a checked mapping is a placement");
    let placement = if strategy.binds() { placement } else { placement.unbound(cluster) };
    (Load::new(cluster, &Levels::new(cluster), workload, &placement), placement)
}

/// A benchmark under all policies.
struct Measured {
    name: String,
    is_multigrid: bool,
    printed: [Printed; 2],
    /// Share of the point-to-point bytes inside nodes, by policy.
    inside: [f64; POLICIES.len()],
    /// Seconds that the busiest network device needs, by policy.
    busiest: [f64; POLICIES.len()],
}

fn measure(cluster: &Cluster, (benchmark, class, printed): Line<'_>) -> Measured {
    let name = format!("{benchmark}.{class}.64");
    let job = nas::parse(&name).and_then(|job| job.job()).expect("it runs with 64 ranks");
    let workload = Workload::single(job);
    let loads = POLICIES.map(|policy| placed(cluster, &workload, policy).0);
    Measured {
        name: format!("{} {class}", benchmark.to_uppercase()),
        is_multigrid: benchmark == "mg",
        printed,
        inside: loads.each_ref().map(|load| 1.0 - load.inter_node_share()),
        busiest: loads.each_ref().map(|load| load.busiest_nic_time().0),
    }
}

/// Position of a policy in [`POLICIES`].
const ROUND_ROBIN: usize = 0;
const PLACED: usize = 3;

fn table_3(one: &Measured) -> [Row; 2] {
    let row = |policy: usize, printed: Printed| {
        let x = one.inside[policy];
        let ours = 100.0 * (2.0 * x + 1.0) / 3.0;
        let policy = POLICIES[policy];
        let what = format!("{}, {policy}: inside nodes (x = {:.1} %)", one.name, 100.0 * x);
        let near = (ours - printed.value).abs() <= POINTS;
        let verdict = exactly(near);
        let row = Row::beside("Table 3", what, (printed, "%"), ours, verdict);
        Row { verdict, ..row }.because(if one.is_multigrid { MULTIGRID } else { INSTRUMENT })
    };
    let [round_robin, placed] = one.printed;
    [row(ROUND_ROBIN, round_robin), row(PLACED, placed)]
}

fn table_2(one: &Measured, (_, _, [round_robin, placed]): Line<'_>) -> Row {
    let paper = placed.value / round_robin.value;
    let ours = one.busiest[PLACED] / one.busiest[ROUND_ROBIN];
    let times = format!("{} s over {} s", placed.value, round_robin.value);
    let what = format!("{}, time of placed over round-robin (the paper's data: {times})", one.name);
    let printed = Printed { value: paper, rounding: 0.0 };
    let both_gain = paper < 1.0 && ours < 1.0;
    let verdict = if both_gain { Verdict::SameOrdering } else { Verdict::NotReproduced };
    Row { verdict, ..Row::beside("Table 2", what, (printed, ""), ours, verdict) }.because(RUN_TIMES)
}

/// What the paper draws as times of the five policies.
fn figure_7(one: &Measured) -> Vec<Row> {
    let row = |(policy, busiest): (&str, &f64)| {
        let what = format!("{}, {policy}: busiest network device over round-robin", one.name);
        Row::ours_only("Figs. 5-7", what, busiest / one.busiest[ROUND_ROBIN], "")
    };
    POLICIES.into_iter().zip(&one.busiest).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_from_the_traffic_is_reproduced() {
        let rows = rows();
        let of = |item: &'static str| rows.iter().filter(move |row| row.item == item);
        for item in ["Fig. 3", "Fig. 4", "Table 1"] {
            assert!(of(item).all(|row| row.verdict == Verdict::Reproduced), "{item}");
        }
        let cells = of("Table 3").filter(|row| !row.what.starts_with("MG"));
        assert_eq!(cells.clone().count(), 16);
        for row in cells {
            assert_eq!(row.verdict, Verdict::Reproduced, "{} {}", row.what, row.ours);
        }
        assert!(of("Table 2").all(|row| row.verdict == Verdict::SameOrdering));
    }
}
