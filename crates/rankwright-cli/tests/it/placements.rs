//! Placement files for tests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rankwright::ids::{CoreId, NumaId, PuId, Rank};
use rankwright::placement::{
    ClusterEntry, DeviceEntry, GpuUse, JobEntry, NodeEntry, PlacementFile, RankEntry,
};

/// A placement of one job `app`: rank r is on the r-th host and core of `places`. Every core is one
/// PU of the same number; all are beside NUMA node P#0.
pub(crate) fn placement(cores: u32, emulated: bool, places: &[(&str, u32)]) -> PlacementFile {
    let mut names: Vec<&str> = places.iter().map(|(host, _)| *host).collect();
    names.sort_unstable();
    names.dedup();
    let node = |name: &&str| NodeEntry {
        name: (*name).to_owned(),
        cores,
        pus: cores,
        numa_os: vec![0],
        nics: Vec::new(),
        gpus: Vec::new(),
    };
    PlacementFile {
        format: 1,
        strategy: "by hand".to_owned(),
        cluster: ClusterEntry {
            name: "test".to_owned(),
            digest: "sha256:0".to_owned(),
            emulated,
            invented: false,
        },
        workload_digest: "sha256:0".to_owned(),
        gpus: GpuUse::None,
        nodes: names.iter().map(node).collect(),
        jobs: vec![JobEntry {
            name: "app".to_owned(),
            mpi_library: String::new(),
            ranks: ranks(places),
        }],
        predicted: BTreeMap::new(),
    }
}

/// The ranks of a job, as in [`placement`].
pub(crate) fn ranks(places: &[(&str, u32)]) -> Vec<RankEntry> {
    let rank = |(index, (host, core)): (usize, &(&str, u32))| RankEntry {
        rank: Rank::from_index(index),
        node: (*host).to_owned(),
        cores: vec![CoreId(*core)],
        pus: vec![PuId(*core)],
        numa: Some(NumaId(0)),
        nics: Vec::new(),
        gpus: Vec::new(),
        bound: true,
    };
    places.iter().enumerate().map(rank).collect()
}

/// Eight ranks on four hosts in an order that no launcher makes by default.
pub(crate) const EIGHT_ON_FOUR: [(&str, u32); 8] =
    [("n2", 3), ("n0", 1), ("n0", 3), ("n3", 0), ("n1", 2), ("n2", 0), ("n1", 1), ("n3", 3)];

/// A network device of a node.
pub(crate) fn device(name: &str) -> DeviceEntry {
    let (aliases, near, ports) = (Vec::new(), Vec::new(), Vec::new());
    DeviceEntry { name: name.to_owned(), aliases, near, pci: None, vendor: None, ports }
}

/// Writes a placement to a folder; its path.
pub(crate) fn write(placement: &PlacementFile, folder: &Path) -> PathBuf {
    let path = folder.join("placement.json");
    placement.write(&path).expect("the folder is writable");
    path
}
