//! A placement as a table.

mod by_node;
mod gpus;

use crate::ids::{CoreId, format_index_list};
use crate::placement::{PlacementFile, RankEntry};

pub use by_node::ranks_of_nodes;
pub use gpus::GpuReport;

/// A placement as a table: its columns, and one row per rank, jobs in order. Network devices and GPUs have
/// columns where ranks have some.
#[must_use]
pub fn mapping_table(file: &PlacementFile) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let any = |has: fn(&RankEntry) -> bool| file.jobs.iter().flat_map(|job| &job.ranks).any(has);
    let with_nics = any(|rank| !rank.nics.is_empty());
    let with_gpus = any(|rank| !rank.gpus.is_empty());
    let mut header = vec!["job", "rank", "node", "cores L#", "PUs P#", "NUMA L#"];
    header.extend(with_nics.then_some("NICs"));
    header.extend(with_gpus.then_some("GPUs"));
    let mut rows = Vec::new();
    for job in &file.jobs {
        for rank in &job.ranks {
            let mut row = vec![
                job.name.clone(),
                rank.rank.to_string(),
                rank.node.clone(),
                cores(&rank.cores),
                as_written(&rank.pus.iter().map(|pu| pu.0).collect::<Vec<_>>()),
                rank.numa.map_or_else(|| "-".to_owned(), |numa| numa.to_string()),
            ];
            row.extend(with_nics.then(|| names(&rank.nics)));
            row.extend(with_gpus.then(|| names(&rank.gpus)));
            rows.push(row);
        }
    }
    (header, rows)
}

fn cores(cores: &[CoreId]) -> String {
    as_written(&cores.iter().map(|core| core.0).collect::<Vec<_>>())
}

/// Numbers as they stand: the order of PUs is that of the cores.
fn as_written(numbers: &[u32]) -> String {
    if numbers.is_sorted() {
        format_index_list(numbers)
    } else {
        numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
    }
}

fn names(names: &[String]) -> String {
    if names.is_empty() { "-".to_owned() } else { names.join("+") }
}
