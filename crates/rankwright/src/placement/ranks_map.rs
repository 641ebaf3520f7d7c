//! `ranks.map`: what the per-rank shim `rankwright-exec` reads. Lines of fixed width, so that every
//! rank finds its own with one read at a computed offset. `docs/src/formats.md` has the format; the
//! reader is in the shim, which uses nothing but the standard library.

use std::fmt::Write;

use super::{DeviceEntry, JobEntry, MemoryPolicy, PlacementFile, RankEntry, Settings};
use crate::ids::PuSet;

/// The size of the header line in bytes, its line end included.
pub const HEADER_BYTES: usize = 128;

/// The version of the format that is written.
pub const FORMAT: u32 = 3;

/// The `ranks.map` of one job: the header line, then one line per rank, all padded with blanks.
///
/// ```text
/// rankwright-ranks-map format=3 ranks=2 width=69 emulated=no
/// 0 n0 0-1 preferred:0 bound mlx5_0/ib0@0000:41:00.0 OMP_NUM_THREADS=2
/// 1 n1 0-1 preferred:0 bound mlx5_0/ib0@0000:41:00.0 OMP_NUM_THREADS=2
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
    let devices: Vec<String> = placement.devices(entry).map(device).collect();
    let devices = if devices.is_empty() { "-".to_owned() } else { devices.join(",") };
    let mut line = format!("{} {} {pus} {memory} {bound} {devices}", entry.rank, entry.node);
    for (name, value) in settings.variables(entry.rank.index()) {
        // Writing to a string cannot fail.
        let _ = write!(line, " {name}={}", escaped(value, b""));
    }
    line
}

/// `mlx5_0/ib0@0000:41:00.0`: the names of a device and its PCI address, where known.
fn device(device: &DeviceEntry) -> String {
    let escaped = |text: &str| escaped(text, b",/@");
    let names: Vec<String> = device.names().map(escaped).collect();
    let address =
        device.pci.as_deref().map_or_else(String::new, |pci| format!("@{}", escaped(pci)));
    names.join("/") + &address
}

/// A value without blanks, line ends, whatever is not ASCII and these `others`: `%20` for a blank.
fn escaped(value: &str, others: &[u8]) -> String {
    let byte = |byte: u8| match byte {
        b'!'..=b'~' if byte != b'%' && !others.contains(&byte) => char::from(byte).to_string(),
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
        "nodes": [{"name": "n0", "cores": 16, "pus": 32, "numa_os": [0, 8],
                   "nics": [{"name": "mlx5_0", "aliases": ["ib0"], "pci": "0000:41:00.0"}],
                   "gpus": [{"name": "left, front"}]}],
        "jobs": [{"name": "j", "ranks": [
            {"rank": 0, "node": "n0", "cores": [10], "pus": [26, 10], "numa": 1,
             "nics": ["ib0"], "gpus": ["left, front"]},
            {"rank": 1, "node": "n0", "cores": [1], "pus": [1], "numa": null, "bound": false}
        ]}]
    }"#;

    #[test]
    fn every_line_stands_where_its_rank_says() {
        let placement = PlacementFile::parse(PLACEMENT, "test").unwrap();
        let mut settings = Settings::default();
        settings.set(1, "ALGORITHM", "Round Robin, 5 %");
        let text = ranks_map(&placement, &placement.jobs[0], &settings);
        let header = "rankwright-ranks-map format=3 ranks=2 width=69 emulated=yes";
        assert_eq!(text[..HEADER_BYTES].trim_end(), header);
        let (first, second) = text[HEADER_BYTES..].split_at(69);
        let devices = "mlx5_0/ib0@0000:41:00.0,left%2C%20front";
        assert_eq!(first, format!("{:<68}\n", format!("0 n0 10,26 preferred:8 bound {devices}")));
        let second_wanted = "1 n0 1 - unbound - ALGORITHM=Round%20Robin,%205%20%25";
        assert_eq!(second, format!("{second_wanted:<68}\n"));
        settings.memory = MemoryPolicy::Bind;
        assert!(ranks_map(&placement, &placement.jobs[0], &settings).contains("26 bind:8 bound"));
        settings.memory = MemoryPolicy::Unset;
        assert!(ranks_map(&placement, &placement.jobs[0], &settings).contains("26 - bound"));
    }
}
