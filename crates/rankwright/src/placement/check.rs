//! The checks of [`Placement::new`](super::Placement::new), and what can be wrong with a placement.

use std::collections::HashMap;

use super::{JobPlacement, JobShape, RankPlacement};
use crate::cluster::Cluster;
use crate::ids::{GlobalRank, PuId, Rank, SlotId};
use crate::units::counted;

/// Why a placement is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlacementError {
    /// There are more ranks than slots.
    #[error("{} {ranks} free {}, but cluster `{cluster}` offers {slots}{}", needing(*ranks), units(*ranks, unit), of_all(*slots, *total, unit))]
    TooFewSlots {
        /// The name of the cluster.
        cluster: String,
        /// The number of ranks.
        ranks: usize,
        /// The number of slots.
        slots: usize,
        /// The number of cores of the cluster, free or not.
        total: usize,
        /// The hardware of a slot: `core`, `PU`, `group of 4 cores`.
        unit: String,
    },
    /// There are more ranks than nodes, packages, NUMA nodes or GPUs take.
    #[error(
        "{} at {per}: cluster `{cluster}` has room for {slots}{}",
        counted(*ranks, "rank"), because(why.as_deref())
    )]
    TooFewParts {
        /// The name of the cluster.
        cluster: String,
        /// The number of ranks.
        ranks: usize,
        /// How many an object takes: `4 per NUMA node`.
        per: String,
        /// The number of slots.
        slots: usize,
        /// Why the first object that takes no rank does not.
        why: Option<String>,
    },
    /// A mapping has a slot that does not exist.
    #[error("rank {rank} of all jobs has slot {slot}, but there are {slots} slots")]
    NoSuchSlot {
        /// The rank.
        rank: GlobalRank,
        /// Its slot.
        slot: SlotId,
        /// The number of slots.
        slots: usize,
    },
    /// Two ranks are bound to one PU.
    #[error("node {node} PU P#{pu} is taken twice: by {first} and {second}")]
    PuTakenTwice {
        /// The name of the node.
        node: String,
        /// The PU.
        pu: PuId,
        /// The rank that comes first.
        first: RankOfJob,
        /// The other rank.
        second: RankOfJob,
    },
    /// A PU does not exist on the node, or jobs may not use it.
    #[error("{rank}: PU P#{pu} of node {node} {why}")]
    PuNotFree {
        /// The rank.
        rank: RankOfJob,
        /// The name of the node.
        node: String,
        /// The PU.
        pu: PuId,
        /// `is not free` or `does not exist`.
        why: &'static str,
    },
    /// The placement has other jobs or ranks than the workload.
    #[error("found {found}, expected {expected}: every rank of every job needs exactly one place")]
    RanksDiffer {
        /// Jobs and numbers of ranks of the placement.
        found: String,
        /// Jobs and numbers of ranks of the workload.
        expected: String,
    },
    /// Ranks that must share a node do not fit.
    #[error("the ranks that share a node cannot be kept together: {why}")]
    GroupsDoNotFit {
        /// What does not fit.
        why: String,
    },
    /// A node does not have what a rank uses, or does not exist.
    #[error("{rank}: node {node} has no {what}")]
    NoSuch {
        /// The rank.
        rank: RankOfJob,
        /// The name of the node.
        node: String,
        /// `core L#9`, `NUMA node L#4`, `network device mlx5_7`.
        what: String,
    },
    /// A rank without a PU, or with PUs of other cores than its own.
    #[error("{rank}: {what}")]
    Inconsistent {
        /// The rank.
        rank: RankOfJob,
        /// What is wrong.
        what: String,
    },
}

/// A rank in an error: `rank 3`, with its job if the workload has several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankOfJob {
    rank: Rank,
    job: Option<Box<str>>,
}

impl RankOfJob {
    /// `rank` of the job at position `job` among jobs with these names.
    pub(super) fn new<'a>(
        names: impl Iterator<Item = &'a str>,
        (job, rank): (usize, Rank),
    ) -> Self {
        let names: Vec<&str> = names.collect();
        let name = names.get(job).filter(|_| names.len() > 1);
        Self { rank, job: name.map(|name| (*name).into()) }
    }
}

impl std::fmt::Display for RankOfJob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.job {
            Some(job) => write!(f, "rank {} of job {job}", self.rank),
            None => write!(f, "rank {}", self.rank),
        }
    }
}

fn needing(ranks: usize) -> String {
    counted(ranks, "rank") + if ranks == 1 { " needs" } else { " need" }
}

/// `core` or `cores`, `group of 2 cores` or `groups of 2 cores`.
fn units(count: usize, unit: &str) -> String {
    if count == 1 {
        return unit.to_owned();
    }
    let (noun, rest) = unit.split_at(unit.find(' ').unwrap_or(unit.len()));
    format!("{noun}s{rest}")
}

fn because(why: Option<&str>) -> String {
    why.map_or(String::new(), |why| format!(" ({why})"))
}

fn of_all(slots: usize, total: usize, unit: &str) -> String {
    if unit == "core" && slots != total {
        format!(
            " (the other {} of its {total} cores are not free: by `free` in its description, the batch \
             job, or the cpuset of this process)",
            total - slots
        )
    } else {
        String::new()
    }
}

/// Checks jobs against a cluster and the jobs that are to run.
pub(super) fn check(
    cluster: &Cluster,
    shapes: &[JobShape],
    jobs: &[JobPlacement],
) -> Result<(), PlacementError> {
    check_ranks(shapes, jobs)?;
    let named = |who| RankOfJob::new(jobs.iter().map(|job| job.name.as_str()), who);
    let mut taken = HashMap::new();
    for (job_index, job) in jobs.iter().enumerate() {
        for (rank_index, place) in job.ranks.iter().enumerate() {
            let who = (job_index, Rank::from_index(rank_index));
            check_rank(cluster, &|| named(who), place)?;
            if !place.bound {
                continue;
            }
            for &pu in &place.pus {
                if let Some(first) = taken.insert((place.node, pu), who) {
                    let node = cluster.node(place.node).name.clone();
                    let (first, second) = (named(first), named(who));
                    return Err(PlacementError::PuTakenTwice { node, pu, first, second });
                }
            }
        }
    }
    Ok(())
}

/// Checks places of ranks that need not be a placement: several may share a PU.
///
/// # Errors
/// If the hardware of a place does not exist, is not free or does not belong together.
pub(crate) fn check_places(
    cluster: &Cluster,
    places: &[RankPlacement],
) -> Result<(), PlacementError> {
    places.iter().enumerate().try_for_each(|(index, place)| {
        let who = || RankOfJob::new(std::iter::empty(), (0, Rank::from_index(index)));
        check_rank(cluster, &who, place)
    })
}

/// Refuses other jobs or ranks than those that are to run.
fn check_ranks(shapes: &[JobShape], jobs: &[JobPlacement]) -> Result<(), PlacementError> {
    let describe = |parts: Vec<(&str, usize)>| {
        let parts: Vec<String> = parts
            .iter()
            .map(|(name, ranks)| format!("{name}: {}", counted(*ranks, "rank")))
            .collect();
        if parts.is_empty() { "no job".to_owned() } else { parts.join(", ") }
    };
    let expected: Vec<_> = shapes.iter().map(|s| (s.name.as_str(), s.ranks as usize)).collect();
    let actual: Vec<_> = jobs.iter().map(|j| (j.name.as_str(), j.ranks.len())).collect();
    if actual == expected {
        return Ok(());
    }
    Err(PlacementError::RanksDiffer { found: describe(actual), expected: describe(expected) })
}

/// Refuses a rank whose hardware does not exist, is not free or does not belong together.
fn check_rank(
    cluster: &Cluster,
    rank: &dyn Fn() -> RankOfJob,
    place: &RankPlacement,
) -> Result<(), PlacementError> {
    if place.node.index() >= cluster.nodes.len() {
        let node = format!("#{} of cluster `{}`", place.node, cluster.name);
        return Err(PlacementError::NoSuch { rank: rank(), node, what: "such node".to_owned() });
    }
    let node = &cluster.node(place.node).name;
    let group = cluster.group(place.node);
    let machine = &group.machine;
    let no_such =
        |what: String| Err(PlacementError::NoSuch { rank: rank(), node: node.clone(), what });
    let inconsistent =
        |what: &str| Err(PlacementError::Inconsistent { rank: rank(), what: what.to_owned() });
    if place.pus.is_empty() {
        return inconsistent("it has no PU");
    }
    if let Some(core) = place.cores.iter().find(|core| core.index() >= machine.cores.len()) {
        return no_such(format!("core L#{core}"));
    }
    for &pu in &place.pus {
        // Looked up among its cores first: nodes have many PUs.
        let of_cores = place.cores.iter().flat_map(|core| machine.pus_of(*core));
        let found = of_cores.into_iter().find(|position| machine.pus[*position].id == pu);
        let anywhere = || machine.pus.iter().position(|candidate| candidate.id == pu);
        let Some(position) = found.or_else(anywhere) else {
            let why = "does not exist";
            return Err(PlacementError::PuNotFree { rank: rank(), node: node.clone(), pu, why });
        };
        if !group.free[position] {
            let why = "is not free";
            return Err(PlacementError::PuNotFree { rank: rank(), node: node.clone(), pu, why });
        }
        if !place.cores.contains(&machine.pus[position].core) {
            return inconsistent(&format!("PU P#{pu} is not on one of its cores"));
        }
    }
    if let Some(numa) = place.numa.filter(|numa| numa.index() >= machine.numa_nodes.len()) {
        return no_such(format!("NUMA node L#{numa}"));
    }
    check_devices(cluster, rank, place)?;
    if let Some(gpu) = place.gpus.iter().find(|gpu| machine.gpus.iter().all(|g| g.name != **gpu)) {
        return no_such(format!("GPU {gpu}"));
    }
    Ok(())
}

/// Refuses a rank with network devices that its node does not have.
pub(super) fn check_devices(
    cluster: &Cluster,
    rank: impl FnOnce() -> RankOfJob,
    place: &RankPlacement,
) -> Result<(), PlacementError> {
    let nics = &cluster.machine(place.node).nics;
    match place.nics.iter().find(|name| nics.iter().all(|nic| nic.name != **name)) {
        None => Ok(()),
        Some(nic) => {
            let node = cluster.node(place.node).name.clone();
            let what = format!("network device {nic}");
            Err(PlacementError::NoSuch { rank: rank(), node, what })
        }
    }
}
