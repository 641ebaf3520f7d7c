//! Where every rank runs: its node, cores, PUs, memory, network devices and GPUs.
//!
//! A [`Placement`] can only be made for a cluster and a workload, by [`Placement::new`], which
//! checks it whole: what exists is valid. [`slots`] cuts the free cores of a cluster into the
//! places that ranks can take; a mapper only says which rank takes which slot.

mod contradictions;
mod file;
mod homes;
mod mapping;
pub mod ranks_map;
mod settings;
mod slots;

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

pub use file::{ClusterEntry, DeviceEntry, JobEntry, NodeEntry, PlacementFile, RankEntry, digest};
pub use mapping::Mapping;
pub use settings::{MemoryPolicy, Settings, Variables};
pub use slots::{Granularity, Slot, slots};

use crate::cluster::Cluster;
use crate::ids::{CoreId, NodeId, NumaId, PuId, Rank};
use crate::traffic::Workload;
use crate::units::counted;

/// A valid placement of all ranks of a workload on a cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct Placement {
    strategy: String,
    jobs: Vec<JobPlacement>,
}

/// Where the ranks of one job run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobPlacement {
    /// The job's name.
    pub name: String,
    /// The place of each rank; position is rank.
    pub ranks: Vec<RankPlacement>,
}

/// Where one rank runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankPlacement {
    /// Its node.
    pub node: NodeId,
    /// Its cores, L#, ascending.
    pub cores: Vec<CoreId>,
    /// The PUs it may run on, P#, in the order of its cores. An unbound rank has all free PUs of
    /// its node.
    pub pus: Vec<PuId>,
    /// The memory it allocates from; `None` for several or for the system's default.
    pub numa: Option<NumaId>,
    /// The names of the network devices it uses; empty for the library's default.
    pub nics: Vec<String>,
    /// The names of the GPUs it uses.
    pub gpus: Vec<String>,
    /// Whether the rank is bound to its PUs; if not, several ranks share them.
    pub bound: bool,
}

/// Why a placement is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlacementError {
    /// More ranks than places.
    #[error("{} {ranks} free {}, but cluster `{cluster}` offers {places}{}", needing(*ranks), units(*ranks, unit), of_all(*places, *total, unit))]
    TooFewPlaces {
        /// The cluster's name.
        cluster: String,
        /// How many ranks there are.
        ranks: usize,
        /// How many places there are.
        places: usize,
        /// How many cores there are, free or not.
        total: usize,
        /// What one place is: `core`, `PU`, `group of 4 cores`.
        unit: String,
    },
    /// Two ranks on one PU.
    #[error("node {node} PU P#{pu} is taken twice: by {first} and {second}")]
    PuTakenTwice {
        /// The node's name.
        node: String,
        /// The PU.
        pu: PuId,
        /// Who has it.
        first: RankOfJob,
        /// Who wants it too.
        second: RankOfJob,
    },
    /// A PU that jobs may not use, or that the node does not have.
    #[error("{rank}: PU P#{pu} of node {node} {why}")]
    PuNotFree {
        /// The rank.
        rank: RankOfJob,
        /// The node's name.
        node: String,
        /// The PU.
        pu: PuId,
        /// `is not free` or `does not exist`.
        why: &'static str,
    },
    /// The placement has other jobs or ranks than the workload.
    #[error("found {found}, expected {expected}: every rank of every job needs exactly one place")]
    RanksDiffer {
        /// What the placement has.
        found: String,
        /// What the workload has.
        expected: String,
    },
    /// Ranks that have to share a node do not fit.
    #[error("the ranks that share a node cannot be kept together: {why}")]
    GroupsDoNotFit {
        /// What does not fit.
        why: String,
    },
    /// Something that a node does not have.
    #[error("{rank}: node {node} has no {what}")]
    NoSuch {
        /// The rank.
        rank: RankOfJob,
        /// The node's name.
        node: String,
        /// What it has not: `core L#9`, `NUMA node L#4`, `network device mlx5_7`.
        what: String,
    },
    /// A rank without a PU, or with PUs that are not those of its cores.
    #[error("{rank}: {what}")]
    Inconsistent {
        /// The rank.
        rank: RankOfJob,
        /// What is wrong.
        what: String,
    },
}

fn needing(ranks: usize) -> String {
    counted(ranks, "rank") + if ranks == 1 { " needs" } else { " need" }
}

/// A rank in an error: `rank 3`, with its job where there are several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankOfJob {
    rank: Rank,
    job: Option<Box<str>>,
}

impl RankOfJob {
    /// A rank of the job at this position among jobs of these names.
    fn new<'a>(names: impl Iterator<Item = &'a str>, (job, rank): (usize, Rank)) -> Self {
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

/// `core` or `cores`, `group of 2 cores` or `groups of 2 cores`.
fn units(count: usize, unit: &str) -> String {
    if count == 1 {
        return unit.to_owned();
    }
    let (noun, rest) = unit.split_at(unit.find(' ').unwrap_or(unit.len()));
    format!("{noun}s{rest}")
}

fn of_all(places: usize, total: usize, unit: &str) -> String {
    if unit == "core" && places != total {
        format!(" (of {total} cores in all)")
    } else {
        String::new()
    }
}

/// What the ranks of a workload are, as far as a placement must know it: per job its name and
/// number of ranks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobShape {
    /// The job's name.
    pub name: String,
    /// How many ranks it has.
    pub ranks: u32,
}

impl JobShape {
    /// The shapes of a workload's jobs.
    #[must_use]
    pub fn of(workload: &Workload) -> Vec<Self> {
        let shape = |job: &crate::traffic::Job| Self { name: job.name.clone(), ranks: job.ranks };
        workload.jobs.iter().map(shape).collect()
    }
}

impl Placement {
    /// Checks `jobs` against the cluster and the jobs that are to run.
    ///
    /// # Errors
    /// If a rank is missing or extra; if a bound rank has no PU or one that is not free, does not
    /// exist, is not on its cores or is taken by another bound rank; if a node, core, NUMA node,
    /// network device or GPU does not exist.
    pub fn new(
        cluster: &Cluster,
        shapes: &[JobShape],
        strategy: impl Into<String>,
        jobs: Vec<JobPlacement>,
    ) -> Result<Self, PlacementError> {
        check_ranks(shapes, &jobs)?;
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
        Ok(Self { strategy: strategy.into(), jobs })
    }

    /// The placement that gives rank r of all jobs, counted through, the slot `slot_of[r]`.
    ///
    /// # Errors
    /// As [`Placement::new`]; two ranks on one slot are two ranks on one PU.
    pub fn from_slots(
        cluster: &Cluster,
        shapes: &[JobShape],
        strategy: impl Into<String>,
        slots: &[Slot],
        slot_of: &[usize],
    ) -> Result<Self, PlacementError> {
        let mut next = slot_of.iter().map(|&slot| slots[slot].place());
        let take = |shape: &JobShape| JobPlacement {
            name: shape.name.clone(),
            ranks: next.by_ref().take(shape.ranks as usize).collect(),
        };
        Self::new(cluster, shapes, strategy, shapes.iter().map(take).collect())
    }

    /// The same ranks on the same nodes, each free to run on all free PUs of its node.
    #[must_use]
    pub fn unbound(mut self, cluster: &Cluster) -> Self {
        for place in self.jobs.iter_mut().flat_map(|job| &mut job.ranks) {
            let group = cluster.group(place.node);
            let free = group.machine.pus.iter().zip(&group.free).filter(|(_, free)| **free);
            let mut pus: Vec<(CoreId, PuId)> = free.map(|(pu, _)| (pu.core, pu.id)).collect();
            pus.sort_by_key(|(core, _)| *core);
            place.pus = pus.iter().map(|(_, pu)| *pu).collect();
            place.cores = pus.into_iter().map(|(core, _)| core).collect();
            place.cores.dedup();
            (place.numa, place.bound) = (None, false);
        }
        self
    }

    /// The same ranks in the same places with these network devices, by name: per rank of all jobs,
    /// counted through.
    ///
    /// # Errors
    /// If a device is not on the node of its rank.
    ///
    /// # Panics
    /// If there is not a list of devices for each rank.
    pub fn with_devices(
        mut self,
        cluster: &Cluster,
        nics: Vec<Vec<String>>,
    ) -> Result<Self, PlacementError> {
        assert_eq!(nics.len(), self.ranks().count(), "devices for each rank");
        let mut nics = nics.into_iter();
        for job in 0..self.jobs.len() {
            for rank in 0..self.jobs[job].ranks.len() {
                self.jobs[job].ranks[rank].nics = nics.next().unwrap_or_default();
                let names = self.jobs.iter().map(|job| job.name.as_str());
                let who = || RankOfJob::new(names, (job, Rank::from_index(rank)));
                check_devices(cluster, who, &self.jobs[job].ranks[rank])?;
            }
        }
        Ok(self)
    }

    /// The same placement, said to be of this strategy.
    #[must_use]
    pub fn named(self, strategy: impl Into<String>) -> Self {
        Self { strategy: strategy.into(), ..self }
    }

    /// The name of the strategy that made it, with its options.
    #[must_use]
    pub fn strategy(&self) -> &str {
        &self.strategy
    }

    /// The jobs, in the order of the workload.
    #[must_use]
    pub fn jobs(&self) -> &[JobPlacement] {
        &self.jobs
    }

    /// The places of all ranks of all jobs, counted through.
    pub fn ranks(&self) -> impl Iterator<Item = &RankPlacement> {
        self.jobs.iter().flat_map(|job| &job.ranks)
    }
}

fn check_ranks(shapes: &[JobShape], jobs: &[JobPlacement]) -> Result<(), PlacementError> {
    let describe = |parts: Vec<(&str, usize)>| {
        let parts: Vec<String> = parts
            .iter()
            .map(|(name, ranks)| format!("{name}: {}", counted(*ranks, "rank")))
            .collect();
        if parts.is_empty() { "no job".to_owned() } else { parts.join(", ") }
    };
    let expected: Vec<_> = shapes.iter().map(|s| (s.name.as_str(), s.ranks as usize)).collect();
    let found: Vec<_> = jobs.iter().map(|j| (j.name.as_str(), j.ranks.len())).collect();
    if found == expected {
        return Ok(());
    }
    Err(PlacementError::RanksDiffer { found: describe(found), expected: describe(expected) })
}

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
        let Some(position) = machine.pus.iter().position(|candidate| candidate.id == pu) else {
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

/// An error if a rank uses network devices that its node does not have.
fn check_devices(
    cluster: &Cluster,
    rank: impl FnOnce() -> RankOfJob,
    place: &RankPlacement,
) -> Result<(), PlacementError> {
    let known = &cluster.machine(place.node).nics;
    match place.nics.iter().find(|name| known.iter().all(|nic| nic.name != **name)) {
        None => Ok(()),
        Some(nic) => {
            let node = cluster.node(place.node).name.clone();
            let what = format!("network device {nic}");
            Err(PlacementError::NoSuch { rank: rank(), node, what })
        }
    }
}
