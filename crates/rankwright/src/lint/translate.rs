//! Converts the reading of a file to a placement, from which files for other launchers are written.

use std::collections::BTreeMap;

use super::machines::Machines;
use super::{RankReading, Reading};
use crate::cluster::{Cluster, NodeGroup};
use crate::ids::{CoreId, NodeId, NumaId};
use crate::placement::{
    ClusterEntry, GpuUse, JobEntry, JobPlacement, JobShape, NodeEntry, Placement, PlacementError,
    PlacementFile, RankEntry, RankPlacement, digest,
};

/// Why a reading cannot become a placement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TranslateError {
    /// A rank is missing.
    #[error("the file does not place rank {rank}; every rank needs a line")]
    Missing {
        /// The rank.
        rank: usize,
    },
    /// The cluster does not have a host.
    #[error("rank {} is on host {}, which the cluster does not have", .rank.rank, .rank.host)]
    UnknownHost {
        /// The rank.
        rank: Box<RankReading>,
    },
    /// The binding of a rank is not known.
    #[error(
        "the binding of rank {} on {} is not known: the launcher refuses the line, or chooses the PUs by \
         its own rules", .rank.rank, .rank.host
    )]
    UnknownPlace {
        /// The rank.
        rank: Box<RankReading>,
    },
    /// The PUs and hosts are not a valid placement.
    #[error(transparent)]
    Placement(#[from] PlacementError),
}

impl Reading {
    /// The placement that the file means, as a job of this name.
    ///
    /// # Errors
    /// If a rank is missing, on an unknown host, or has an unknown binding; if two ranks share a
    /// PU, or one is on a PU that jobs may not use.
    pub fn placement(&self, cluster: &Cluster, job: &str) -> Result<PlacementFile, TranslateError> {
        let machines = Machines::new(Some(cluster));
        let places: Result<Vec<RankPlacement>, TranslateError> =
            (0..).zip(&self.ranks).map(|(index, rank)| place(&machines, index, rank)).collect();
        let name = job.to_owned();
        let ranks = u32::try_from(self.ranks.len()).unwrap_or(u32::MAX);
        let jobs = vec![JobPlacement { name: name.clone(), ranks: places? }];
        let shape = JobShape { name: name.clone(), ranks };
        let placement = Placement::new(cluster, &[shape], "the launcher's file", jobs)?;
        let used: std::collections::BTreeSet<NodeId> =
            placement.ranks().map(|rank| rank.node).collect();
        let entry = |(rank, place): (&RankReading, &RankPlacement)| RankEntry {
            rank: rank.rank,
            node: cluster.node(place.node).name.clone(),
            cores: place.cores.clone(),
            pus: place.pus.clone(),
            numa: place.numa,
            nics: Vec::new(),
            gpus: Vec::new(),
            bound: place.bound,
        };
        let ranks = self.ranks.iter().zip(placement.ranks()).map(entry).collect();
        Ok(PlacementFile {
            format: 1,
            strategy: placement.strategy().to_owned(),
            cluster: ClusterEntry {
                name: cluster.name.clone(),
                digest: digest(cluster),
                emulated: cluster.emulated,
                invented: false,
            },
            workload_digest: String::new(),
            gpus: GpuUse::None,
            nodes: used.into_iter().map(|id| NodeEntry::of(cluster, id)).collect(),
            jobs: vec![JobEntry { name, mpi_library: String::new(), ranks }],
            predicted: BTreeMap::new(),
        })
    }
}

fn place(
    machines: &Machines<'_>,
    index: usize,
    rank: &RankReading,
) -> Result<RankPlacement, TranslateError> {
    if rank.rank.index() != index {
        return Err(TranslateError::Missing { rank: index });
    }
    let unknown_host = || TranslateError::UnknownHost { rank: Box::new(rank.clone()) };
    let node_of_rank = machines.cluster().zip(machines.find(&rank.host));
    let (cluster, node) = node_of_rank.ok_or_else(unknown_host)?;
    let group = cluster.group(node);
    let (cores, pus) = match (&rank.cores, &rank.pus) {
        _ if !rank.bound => {
            let free = group.machine.pus.iter().zip(&group.free).filter(|(_, free)| **free);
            let mut cores: Vec<CoreId> = free.clone().map(|(pu, _)| pu.core).collect();
            cores.dedup();
            (cores, free.map(|(pu, _)| pu.id).collect())
        }
        (Some(cores), Some(pus)) if !pus.is_empty() => (cores.clone(), pus.as_slice().to_vec()),
        _ => return Err(TranslateError::UnknownPlace { rank: Box::new(rank.clone()) }),
    };
    let numa = if rank.bound { one_memory(group, &cores) } else { None };
    let (nics, gpus) = (Vec::new(), Vec::new());
    Ok(RankPlacement { node, cores, pus, numa, nics, gpus, bound: rank.bound })
}

/// The NUMA node next to all of these cores, if they have one in common.
fn one_memory(group: &NodeGroup, cores: &[CoreId]) -> Option<NumaId> {
    let mut memories =
        cores.iter().map(|core| group.machine.cores.get(core.index()).map(|c| c.numa));
    let first = memories.next()??;
    (memories.all(|other| other == Some(first)) && first.index() < group.machine.numa_nodes.len())
        .then_some(first)
}
