//! Random clusters of different nodes with jobs on them, for the tests over all launchers.

use proptest::prelude::*;

use crate::cluster::read::synthetic;
use crate::cluster::{Cluster, ClusterDescription, Machine, Node, NodeGroup};
use crate::ids::{CoreId, NodeId, NumaId, PuId, Rank};
use crate::placement::{ClusterEntry, GpuUse, JobEntry, NodeEntry, PlacementFile, RankEntry};

/// A cluster, and a placement of jobs on it.
#[derive(Debug, Clone)]
pub(crate) struct Placed {
    pub(crate) cluster: Cluster,
    pub(crate) placement: PlacementFile,
}

/// The shape of a node.
#[derive(Debug, Clone)]
struct Shape {
    cores: u32,
    threads: u32,
    numbering: Numbering,
    /// Cores (L#) that are not free.
    taken: Vec<u32>,
}

/// How the operating system numbers the PUs of a node.
#[derive(Debug, Clone, Copy)]
enum Numbering {
    /// All first PUs of the cores, then all second ones.
    CoresFirst,
    /// Core by core.
    CoreByCore,
    /// From the last core to the first.
    Backwards,
}

/// The order in which ranks take the slots of the nodes.
#[derive(Debug, Clone, Copy)]
enum Order {
    Shuffled,
    /// Node by node, within these shuffled.
    Blocked,
    /// One of each node in turn, within these in order.
    Cyclic,
}

impl Shape {
    /// P# of a PU.
    fn pu(&self, core: u32, thread: u32) -> PuId {
        let total = self.cores * self.threads;
        PuId(match self.numbering {
            Numbering::CoresFirst => core + thread * self.cores,
            Numbering::CoreByCore => core * self.threads + thread,
            Numbering::Backwards => total - 1 - (core * self.threads + thread),
        })
    }

    fn group(&self) -> NodeGroup {
        let text = format!("pack:1 core:{} pu:{}", self.cores, self.threads);
        let mut machine: Machine = synthetic::parse(&text).unwrap();
        for (position, pu) in (0..).zip(&mut machine.pus) {
            pu.id = self.pu(position / self.threads, position % self.threads);
        }
        for (core, entry) in (0..).zip(&mut machine.cores) {
            entry.pus = (0..self.threads).map(|thread| self.pu(core, thread)).collect();
        }
        let free = machine.pus.iter().map(|pu| !self.taken.contains(&pu.core.0)).collect();
        NodeGroup { machine, free, speed: 1.0 }
    }

    /// Slots of ranks, as cores and PUs: `per_rank` free cores each, or one PU.
    fn places(&self, cores_per_rank: usize, by_pu: bool) -> Vec<(Vec<CoreId>, Vec<PuId>)> {
        let free: Vec<u32> = (0..self.cores).filter(|core| !self.taken.contains(core)).collect();
        let all = |core: u32| (0..self.threads).map(move |thread| self.pu(core, thread));
        if by_pu {
            let of_core = |core: u32| all(core).map(move |pu| (vec![CoreId(core)], vec![pu]));
            return free.into_iter().flat_map(of_core).collect();
        }
        let place = |cores: &[u32]| {
            let mut pus: Vec<PuId> = cores.iter().copied().flat_map(all).collect();
            pus.sort_unstable();
            (cores.iter().copied().map(CoreId).collect(), pus)
        };
        free.chunks_exact(cores_per_rank.min(free.len()).max(1)).map(place).collect()
    }
}

fn shape() -> impl Strategy<Value = Shape> {
    let numbering = prop_oneof![
        Just(Numbering::CoresFirst),
        Just(Numbering::CoreByCore),
        Just(Numbering::Backwards)
    ];
    let taken = prop::collection::vec(0_u32..20, 0..4);
    (1_u32..=10, 1_u32..=2, numbering, taken).prop_map(|(cores, threads, numbering, mut taken)| {
        // One core is left for a rank.
        taken.retain(|core| *core > 0);
        Shape { cores, threads, numbering, taken }
    })
}

/// Up to three jobs on up to five nodes with different numbers of cores and PUs, numbered in
/// different ways, some of the cores not free; ranks of several cores, one core or one PU. A third
/// of the clusters have equal nodes.
pub(crate) fn unlike_nodes() -> impl Strategy<Value = Placed> {
    let order = prop_oneof![Just(Order::Shuffled), Just(Order::Blocked), Just(Order::Cyclic)];
    let nodes = prop::collection::vec(shape(), 1..=5);
    let library = prop::sample::select(vec!["Open MPI v5.0.3", "MPICH Version: 4.2", ""]);
    (nodes, 0..3, order, 1_usize..=3, 0..4, 1_usize..=3, library).prop_flat_map(
        |(mut nodes, alike, order, cores_per_rank, by_pu, jobs, library)| {
            if alike == 0 {
                nodes = vec![nodes[0].clone(); nodes.len()];
            }
            let mut places = Vec::new();
            for (node, shape) in nodes.iter().enumerate() {
                let of_node = shape.places(cores_per_rank, by_pu == 0).into_iter().enumerate();
                places.extend(of_node.map(|(local, place)| (node, local, place)));
            }
            Just(places).prop_shuffle().prop_map(move |mut places| {
                match order {
                    Order::Shuffled => {}
                    Order::Blocked => places.sort_by_key(|(node, _, _)| *node),
                    Order::Cyclic => places.sort_by_key(|(node, local, _)| (*local, *node)),
                }
                placed(&nodes, places, jobs, library)
            })
        },
    )
}

type Place = (usize, usize, (Vec<CoreId>, Vec<PuId>));

fn placed(shapes: &[Shape], places: Vec<Place>, jobs: usize, library: &str) -> Placed {
    let name = |node: usize| format!("node-{node}.cluster");
    let node = |node: usize| Node { name: name(node), group: node, switch: None };
    let description = ClusterDescription {
        groups: shapes.iter().map(Shape::group).collect(),
        nodes: (0..shapes.len()).map(node).collect(),
        ..ClusterDescription::uniform("c", Vec::new(), shapes[0].group())
    };
    let cluster = description.build().unwrap();
    let ranks_per_job = places.len().div_ceil(jobs);
    let rank = |(index, (node, _, (cores, pus))): (usize, &Place)| RankEntry {
        rank: Rank::from_index(index),
        node: name(*node),
        cores: cores.clone(),
        pus: pus.clone(),
        numa: Some(NumaId(0)),
        nics: Vec::new(),
        gpus: Vec::new(),
        bound: true,
    };
    let job = |(index, places): (usize, &[Place])| JobEntry {
        name: format!("job-{index}"),
        mpi_library: library.to_owned(),
        ranks: places.iter().enumerate().map(rank).collect(),
    };
    let placement = PlacementFile {
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
        nodes: (0..shapes.len())
            .map(|node| NodeEntry::of(&cluster, NodeId::from_index(node)))
            .collect(),
        jobs: places.chunks(ranks_per_job).enumerate().map(job).collect(),
        predicted: std::collections::BTreeMap::new(),
    };
    Placed { cluster, placement }
}
