//! A placement as a table.

use crate::placement::PlacementFile;

/// The columns of [`mapping_rows`].
#[must_use]
pub fn mapping_header() -> [&'static str; 6] {
    ["job", "rank", "node", "cores L#", "PUs P#", "NUMA L#"]
}

/// One row per rank, jobs in order.
#[must_use]
pub fn mapping_rows(file: &PlacementFile) -> Vec<Vec<String>> {
    let list = |numbers: Vec<u32>| {
        // Written as they stand: the order of PUs is that of the cores.
        if numbers.is_sorted() {
            crate::ids::format_index_list(&numbers)
        } else {
            numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
        }
    };
    let mut rows = Vec::new();
    for job in &file.jobs {
        for rank in &job.ranks {
            rows.push(vec![
                job.name.clone(),
                rank.rank.to_string(),
                rank.node.clone(),
                list(rank.cores.iter().map(|core| core.0).collect()),
                list(rank.pus.iter().map(|pu| pu.0).collect()),
                rank.numa.map_or_else(|| "-".to_owned(), |numa| numa.to_string()),
            ]);
        }
    }
    rows
}
