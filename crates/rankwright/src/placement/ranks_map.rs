//! `ranks.map`: what the per-rank shim `rankwright-exec` reads. Lines of fixed width, so that every
//! rank finds its own with one read at a computed offset. `docs/src/formats.md` has the format; the
//! reader is in the shim, which uses nothing but the standard library.

use std::fmt::Write;

use super::{JobEntry, MemoryPolicy, PlacementFile, RankEntry, Settings};
use crate::ids::PuSet;

/// The size of the header line in bytes, its line end included.
pub const HEADER_BYTES: usize = 128;

/// The version of the format that is written.
pub const FORMAT: u32 = 2;

/// The `ranks.map` of one job: the header line, then one line per rank, all padded with blanks.
///
/// ```text
/// rankwright-ranks-map format=2 ranks=2 width=44 emulated=no
/// 0 n0 0-1 preferred:0 bound OMP_NUM_THREADS=2
/// 1 n1 0-1 preferred:0 bound OMP_NUM_THREADS=2
/// ```
#[must_use]
pub fn ranks_map(placement: &PlacementFile, job: &JobEntry, settings: &Settings) -> String {
    let line = |entry: &RankEntry| line(placement, entry, settings);
    let lines: Vec<String> = job.ranks.iter().map(line).collect();
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

fn line(placement: &PlacementFile, entry: &RankEntry, settings: &Settings) -> String {
    let pus: PuSet = entry.pus.iter().copied().collect();
    let memory = match (placement.numa_os(entry), settings.memory) {
        (None, _) | (_, MemoryPolicy::Unset) => "-".to_owned(),
        (Some(numa), policy) => format!("{policy}:{numa}"),
    };
    let bound = if entry.bound { "bound" } else { "unbound" };
    let mut line = format!("{} {} {pus} {memory} {bound}", entry.rank, entry.node);
    for (name, value) in settings.variables(entry.rank.index()) {
        // Writing to a string cannot fail.
        let _ = write!(line, " {name}={}", escaped(value));
    }
    line
}

/// A value without blanks, line ends and whatever is not ASCII: `%20` for a blank.
fn escaped(value: &str) -> String {
    let byte = |byte: u8| match byte {
        b'!'..=b'~' if byte != b'%' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    value.bytes().map(byte).collect()
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
        let mut settings = Settings::default();
        settings.set(1, "ALGORITHM", "Round Robin, 5 %");
        let text = ranks_map(&placement, &placement.jobs[0], &settings);
        let header = "rankwright-ranks-map format=2 ranks=2 width=52 emulated=yes";
        assert_eq!(text[..HEADER_BYTES].trim_end(), header);
        let (first, second) = text[HEADER_BYTES..].split_at(52);
        assert_eq!(first, format!("{:<51}\n", "0 n0 10,26 preferred:8 bound"));
        assert_eq!(second, "1 n0 1 - unbound ALGORITHM=Round%20Robin,%205%20%25\n");
        settings.memory = MemoryPolicy::Bind;
        assert!(ranks_map(&placement, &placement.jobs[0], &settings).contains("26 bind:8 bound"));
        settings.memory = MemoryPolicy::Unset;
        assert!(ranks_map(&placement, &placement.jobs[0], &settings).contains("26 - bound"));
    }
}
