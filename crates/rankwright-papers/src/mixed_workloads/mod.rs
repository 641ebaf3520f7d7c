//! Koop, Luo, Panda 2009, "Reducing network contention with mixed workloads on modern multicore
//! clusters": jobs that share nodes.
//!
//! Each row says in its name what ours is: simulated with the calibrated bandwidth of
//! `paper:2009-mixed`, predicted from the paper's runs of each job alone, or computed from the paper's
//! own table.

mod benchmarks;
mod figures;
mod microbenchmark;
mod pairs;

use std::path::Path;

use rankwright::files::InputError;
use rankwright::sim::replay::{Program, Replayer};

use crate::built_in;
use crate::data_file::{DataFile, data_file};
use crate::row::{Assumption, Row, Verdict};

const CLUSTER: &str = "paper:2009-mixed";

/// The benchmarks, in the order of the tables.
const NAMES: [&str; 8] = ["BT", "CG", "EP", "FT", "IS", "LU", "MG", "SP"];

const TABLE_2: DataFile = data_file!("2009-mixed/table-2.csv");

/// The meaning of [`assumptions`] for the rows.
pub(crate) const CAVEAT: &str = "The bandwidth and the length of messages are calibrated with Table I, \
                                 so its absolute times are not findings; their ratios are.";

/// All rows, in the order of the paper.
pub(crate) fn rows() -> anyhow::Result<Vec<Row>> {
    let cluster = built_in::cluster(CLUSTER)?;
    let mut rows = microbenchmark::rows(&cluster)?;
    rows.extend(benchmarks::rows(&cluster)?);
    rows.extend(pairs::rows()?);
    Ok(rows)
}

/// Figures 4 and 5: names and texts of files.
pub(crate) fn figures() -> anyhow::Result<Vec<(String, String)>> {
    figures::files(&built_in::cluster(CLUSTER)?)
}

/// The numbers that had to be chosen.
pub(crate) fn assumptions() -> anyhow::Result<Vec<Assumption>> {
    let cluster = built_in::cluster(CLUSTER)?;
    let bandwidth = cluster.nic_bandwidth(rankwright::ids::NodeId(0), 0).value.0;
    Ok(vec![
        Assumption {
            what: "a network device",
            value: (1e-6 * bandwidth).round() / 1e3,
            unit: "GB/s",
            from: "calibrated: with it and the length below, Table I without sleep",
        },
        Assumption {
            what: "a message of the microbenchmark",
            value: 1e-3 * microbenchmark::LENGTH.0 as f64,
            unit: "kB",
            from: "calibrated: the paper does not print it",
        },
    ])
}

/// A job alone in each mode, in seconds.
#[derive(Debug, Clone, Copy)]
struct Times {
    full: f64,
    half: f64,
}

/// Table II, in the order of [`NAMES`].
fn table_2() -> Result<[Times; 8], InputError> {
    let columns = ["benchmark", "full_s", "half_s", "half_per_full"];
    let table = TABLE_2.table(columns, NAMES)?;
    let mut times = [Times { full: 0.0, half: 0.0 }; 8];
    for (times, [_, full, half, _]) in times.iter_mut().zip(table) {
        *times = Times { full: full.number()?, half: half.number()? };
    }
    Ok(times)
}

/// The verdict on a run time in percent of that on whole nodes: within 2 points, or the same gain or none
/// (2 points again). 5 % of numbers near 100 would say nothing.
fn agreement(ours: f64, paper: f64) -> Verdict {
    let gains = |percent: f64| percent < 98.0;
    match (ours - paper).abs() <= 2.0 {
        true => Verdict::Reproduced,
        false if gains(ours) == gains(paper) => Verdict::SameOrdering,
        false => Verdict::NotReproduced,
    }
}

/// A replayer of programs.
fn replayer(programs: impl IntoIterator<Item = Program>) -> Result<Replayer, InputError> {
    let none: [&Path; 0] = [];
    Ok(programs.into_iter().fold(Replayer::open(&none)?, Replayer::with_program))
}

#[cfg(test)]
mod tests;
