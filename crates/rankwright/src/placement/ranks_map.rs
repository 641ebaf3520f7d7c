//! `ranks.map`: what the per-rank shim `rankwright-exec` reads. Lines of fixed width, so that every
//! rank finds its own with one read at a computed offset. `docs/src/formats.md` has the format; the
//! reader is in the shim, which uses nothing but the standard library.

use std::fmt::Write;

use super::{JobEntry, PlacementFile, RankEntry};
use crate::ids::PuSet;

/// The size of the header line in bytes, its line end included.
pub const HEADER_BYTES: usize = 128;

/// The version of the format that is written.
pub const FORMAT: u32 = 1;

/// The `ranks.map` of one job: the header line, then one line per rank, all padded with blanks.
///
/// ```text
/// rankwright-ranks-map format=1 ranks=2 width=20 emulated=no
/// 0 n0 0-1 0 bound
/// 1 n1 0-1 0 bound
/// ```
#[must_use]
pub fn ranks_map(placement: &PlacementFile, job: &JobEntry) -> String {
    let lines: Vec<String> = job.ranks.iter().map(|entry| line(placement, entry)).collect();
    let width = lines.iter().map(String::len).max().unwrap_or_default() + 1;
    let emulated = if placement.cluster.emulated { "yes" } else { "no" };
    let header = format!(
        "rankwright-ranks-map format={FORMAT} ranks={} width={width} emulated={emulated}",
        lines.len()
    );
    let mut text = format!("{header:<0$}\n", HEADER_BYTES - 1);
    for line in lines {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{line:<0$}", width - 1);
    }
    text
}

fn line(placement: &PlacementFile, entry: &RankEntry) -> String {
    let pus: PuSet = entry.pus.iter().copied().collect();
    let numa = placement.numa_os(entry).map_or("-".to_owned(), |numa| numa.to_string());
    let bound = if entry.bound { "bound" } else { "unbound" };
    format!("{} {} {pus} {numa} {bound}", entry.rank, entry.node)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::PlacementFile;

    const PLACEMENT: &str = r#"{
        "format": 1, "strategy": "by hand", "workload_digest": "sha256:0",
        "cluster": {"name": "c", "digest": "sha256:0", "emulated": true},
        "nodes": [{"name": "n0", "cores": 16, "pus": 32, "numa_os": [0, 8]}],
        "jobs": [{"name": "j", "ranks": [
            {"rank": 0, "node": "n0", "cores": [10], "pus": [26, 10], "numa": 1},
            {"rank": 1, "node": "n0", "cores": [1], "pus": [1], "numa": null, "bound": false}
        ]}]
    }"#;

    #[test]
    fn every_line_stands_where_its_rank_says() {
        let placement = PlacementFile::parse(PLACEMENT, "test").unwrap();
        let text = ranks_map(&placement, &placement.jobs[0]);
        let header = "rankwright-ranks-map format=1 ranks=2 width=19 emulated=yes";
        assert_eq!(text[..HEADER_BYTES].trim_end(), header);
        assert_eq!(&text[HEADER_BYTES..HEADER_BYTES + 19], "0 n0 10,26 8 bound\n");
        assert_eq!(&text[HEADER_BYTES + 19..], "1 n0 1 - unbound  \n");
    }
}
