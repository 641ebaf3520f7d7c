//! Random placements for the tests of the launchers.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::ids::{CoreId, NumaId, PuId, Rank};
use crate::launch::{Binding, Request, Task};
use crate::placement::{
    ClusterEntry, GpuUse, JobEntry, NodeEntry, PlacementFile, RankEntry, Settings,
};

/// One job on up to six nodes of up to 40 cores with one or two PUs each (P# of the second PU: L# +
/// number of cores), up to three cores per rank, ranks in random order.
pub(crate) fn placements() -> impl Strategy<Value = PlacementFile> {
    let shape = (1_u32..=6, 1_u32..=40, 1_u32..=2, 1_usize..=3);
    shape.prop_flat_map(|(nodes, cores, threads, per_rank)| {
        let all: Vec<(u32, u32)> =
            (0..nodes).flat_map(|node| (0..cores).map(move |core| (node, core))).collect();
        Just(all).prop_shuffle().prop_map(move |all| {
            let mut of_node: Vec<Vec<u32>> = vec![Vec::new(); nodes as usize];
            let mut ranks = Vec::new();
            for (node, core) in all {
                let waiting = &mut of_node[node as usize];
                waiting.push(core);
                if waiting.len() == per_rank {
                    ranks.push(rank(ranks.len(), node, std::mem::take(waiting), cores, threads));
                }
            }
            if ranks.is_empty() {
                ranks.push(rank(0, 0, vec![0], cores, threads));
            }
            file(nodes, cores, threads, ranks)
        })
    })
}

fn rank(index: usize, node: u32, mut cores: Vec<u32>, of_node: u32, threads: u32) -> RankEntry {
    cores.sort_unstable();
    let pus = cores.iter().flat_map(|core| (0..threads).map(move |t| PuId(core + t * of_node)));
    RankEntry {
        rank: Rank::from_index(index),
        node: format!("node-{node}.cluster"),
        pus: pus.collect(),
        cores: cores.into_iter().map(CoreId).collect(),
        numa: Some(NumaId(0)),
        nics: Vec::new(),
        gpus: Vec::new(),
        bound: true,
    }
}

fn file(nodes: u32, cores: u32, threads: u32, ranks: Vec<RankEntry>) -> PlacementFile {
    let node = |node| NodeEntry {
        name: format!("node-{node}.cluster"),
        cores,
        pus: cores * threads,
        numa_os: vec![0],
        nics: Vec::new(),
        gpus: Vec::new(),
    };
    PlacementFile {
        format: 1,
        strategy: "random".to_owned(),
        cluster: ClusterEntry {
            name: "c".to_owned(),
            digest: String::new(),
            emulated: false,
            invented: false,
        },
        workload_digest: String::new(),
        gpus: GpuUse::None,
        nodes: (0..nodes).map(node).collect(),
        jobs: vec![JobEntry { name: "j".to_owned(), mpi_library: String::new(), ranks }],
        predicted: BTreeMap::new(),
    }
}

/// The default memory policy, no variables.
static NOTHING: Settings = Settings::NOTHING;

/// A request for the first job with native binding.
pub(crate) fn native(placement: &PlacementFile) -> Request<'_> {
    Request {
        placement,
        job: &placement.jobs[0],
        settings: &NOTHING,
        binding: Binding::Native,
        obstacle: None,
        folder: "/files",
        shim: "/bin/rankwright-exec",
        program: None,
        agent: None,
        arguments: &[],
        task: Task::Report(None),
    }
}

/// The contents of a file of a launch.
pub(crate) fn contents<'a>(launch: &'a crate::launch::Launch, name: &str) -> &'a str {
    let file = launch.files.iter().find(|file| file.name == name);
    &file.expect("the launch has this file").contents
}
