//! The machine matrix (Fig. 3), the application matrix of LU (Fig. 4) and the mapping made from
//! both (Table 1).

use rankwright::cluster::Cluster;
use rankwright::cluster::distance::MachineMatrix;
use rankwright::files::InputError;
use rankwright::ids::{NodeId, Rank};
use rankwright::traffic::generate::nas;
use rankwright::traffic::{Flow, Job};

use super::place;
use crate::data_file::{DataFile, data_file};
use crate::row::{Row, Verdict};

/// The weights between the cores of a node; larger is closer.
const MACHINE_MATRIX: DataFile = data_file!("2009-placement/figure-3.csv");
/// The weights between the ranks of LU, class B; larger is more traffic.
const APPLICATION_MATRIX: DataFile = data_file!("2009-placement/figure-4.csv");
/// The core of each rank of LU.
const MAPPING: DataFile = data_file!("2009-placement/table-1.csv");

/// The cores of a node, and the ranks of LU.
const CORES: usize = 8;

type Matrix = [[u64; CORES]; CORES];

pub(super) fn rows(cluster: &Cluster) -> anyhow::Result<Vec<Row>> {
    let (machine, application) = (MACHINE_MATRIX.matrix()?, APPLICATION_MATRIX.matrix()?);
    let mut rows = vec![figure_3(cluster, &machine), figure_4(&application)?];
    rows.extend(table_1(cluster, &machine, &application)?);
    Ok(rows)
}

fn figure_3(cluster: &Cluster, printed: &Matrix) -> Row {
    let ours = MachineMatrix::new(cluster, &[NodeId(0)]).weights.concat();
    let printed = printed.as_flattened();
    let equal = printed.iter().zip(ours).filter(|(printed, ours)| **printed == u64::from(*ours));
    let what = "entries of the machine matrix of an Opteron node that are those printed";
    all_of("Fig. 3", what, equal.count(), printed.len())
}

/// Whether a pair of ranks with a larger weight always sends more.
fn figure_4(printed: &Matrix) -> anyhow::Result<Row> {
    let job = nas::parse("lu.B.8")?.job()?;
    let mut bytes = [[0; CORES]; CORES];
    for flow in &job.flows {
        bytes[flow.source.index()][flow.destination.index()] += flow.bytes;
        bytes[flow.destination.index()][flow.source.index()] += flow.bytes;
    }
    let class = |weight: u64| weight.clamp(10, 1000);
    let mut pairs: Vec<(u64, u64)> = Vec::new();
    for (a, row) in printed.iter().enumerate() {
        pairs.extend((0..a).map(|b| (class(row[b]), bytes[a][b])));
    }
    let in_order = |(weight, bytes): &(u64, u64)| {
        pairs.iter().all(|(heavier, more)| heavier <= weight || more > bytes)
    };
    let ordered = pairs.iter().filter(|pair| in_order(pair)).count();
    let what = "pairs of LU, class B, 8 processes, in the order of the printed weights (1000, 100, \
                fewer)";
    let why =
        "the weights 10 and 1 are treated alike: they do not come from point-to-point messages";
    Ok(all_of("Fig. 4", what, ordered, pairs.len()).because(why))
}

/// Reproduced if `count` is `total`.
fn all_of(item: &str, what: &str, count: usize, total: usize) -> Row {
    let row = Row::new(item, what, count as f64, "").beside(total as f64);
    row.with_verdict(Verdict::reproduced_if(count == total))
}

/// Traffic combined with closeness, by both printed matrices, for the printed mapping and for ours.
fn table_1(cluster: &Cluster, machine: &Matrix, application: &Matrix) -> anyhow::Result<[Row; 2]> {
    let (printed, ours) = (printed_mapping()?, our_mapping(cluster, application)?);
    let sum = |core_of: &[usize; CORES], cost: fn(u64) -> f64| -> f64 {
        let mut sum = 0.0;
        for (a, row) in application.iter().enumerate() {
            let pair = |b: usize| row[b] as f64 * cost(machine[core_of[a]][core_of[b]]);
            sum += (0..a).map(pair).sum::<f64>();
        }
        sum
    };
    let row = |what: &str, cost: fn(u64) -> f64, more_is_better: bool| {
        let (paper, ours) = (sum(&printed, cost), sum(&ours, cost));
        let as_good = if more_is_better { ours >= paper } else { ours <= paper };
        Row::new("Table 1", what, ours, "")
            .beside(paper)
            .with_verdict(Verdict::reproduced_if(as_good))
            .because("reproduced means at least as good as the mapping that is printed")
    };
    Ok([
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
    ])
}

/// The core of each rank as printed. Cores are numbered by the P# of their PU, as in the machine
/// matrix.
fn printed_mapping() -> Result<[usize; CORES], InputError> {
    let lines = MAPPING.table(["rank", "core"], ["0", "1", "2", "3", "4", "5", "6", "7"])?;
    let mut core_of = [0; CORES];
    for (core_of, [_, core]) in core_of.iter_mut().zip(lines) {
        *core_of = core.number()?;
        if *core_of >= CORES {
            return Err(core.unexpected(format!("a core from 0 to {}", CORES - 1)));
        }
    }
    Ok(core_of)
}

/// The core of each rank by the strategy `placed`, numbered as in [`printed_mapping`].
fn our_mapping(cluster: &Cluster, application: &Matrix) -> anyhow::Result<[usize; CORES]> {
    let flow = |a: usize, b: usize| Flow {
        source: Rank::from_index(a),
        destination: Rank::from_index(b),
        messages: 1,
        bytes: application[a][b],
        largest: application[a][b],
    };
    let flows = (0..CORES).flat_map(|a| (0..a).map(move |b| flow(a, b)));
    let job = Job::new("lu.B.8 as printed", CORES as u32, flows)?;
    let (_, placement) = place(cluster, job, "placed")?;
    let mut core_of = [0; CORES];
    for (core_of, rank) in core_of.iter_mut().zip(placement.ranks()) {
        *core_of = rank.pus[0].index();
    }
    Ok(core_of)
}
