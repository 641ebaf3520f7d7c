//! `ranks.map`: what the per-rank shim `rankwright-exec` reads.

use rankwright_shim_format::ranks_map::{self as format, Device, Line, Memory, Policy};

use super::{DeviceEntry, JobEntry, MemoryPolicy, PlacementFile, RankEntry, Settings};
use crate::ids::PuSet;

/// The `ranks.map` of one job: the header line, then one line per rank.
#[must_use]
pub fn ranks_map(placement: &PlacementFile, job: &JobEntry, settings: &Settings) -> String {
    let line = |entry: &RankEntry| line(placement, entry, settings);
    format::write(job.ranks.iter().map(line), placement.cluster.emulated)
}

fn line(placement: &PlacementFile, entry: &RankEntry, settings: &Settings) -> Line {
    let pus: PuSet = entry.pus.iter().copied().collect();
    let policy = match settings.memory {
        MemoryPolicy::Preferred => Some(Policy::Preferred),
        MemoryPolicy::Bind => Some(Policy::Bind),
        MemoryPolicy::Unset => None,
    };
    let memory = policy.zip(placement.numa_os(entry)).map(|(policy, node)| Memory { policy, node });
    let variables = settings.variables(entry.rank.index());
    Line {
        rank: entry.rank.0,
        host: entry.node.clone(),
        pus: pus.as_slice().iter().map(|pu| pu.0).collect(),
        memory,
        bound: entry.bound,
        devices: placement.devices(entry).map(device).collect(),
        variables: variables.iter().map(|(name, value)| (name.clone(), value.into())).collect(),
    }
}

fn device(device: &DeviceEntry) -> Device {
    Device { names: device.names().map(str::to_owned).collect(), pci: device.pci.clone() }
}

#[cfg(test)]
mod tests {
    use rankwright_shim_format::ranks_map::HEADER_BYTES;

    use super::*;

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
