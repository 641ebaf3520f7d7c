//! Where every rank runs: its node, cores, PUs, memory, network devices and GPUs.
//!
//! A [`Placement`] can only be made by [`Placement::new`], which checks it against a cluster and a
//! workload: every existing placement is valid. [`slots`] divides the free cores of a cluster into
//! slots for ranks; a strategy makes a [`Mapping`] of ranks to slots, and
//! [`Placement::from_slots`] makes the placement. [`PlacementFile`] is `placement.json`.
//!
//! ```
//! use rankwright::placement::{Granularity, JobShape, Placement, slots};
//! use rankwright::{cluster, traffic};
//!
//! let cluster = cluster::open("paper:2013")?;
//! let workload = traffic::open("nas:cg.A.16")?;
//! let slots = slots(&cluster, Granularity::Cores(1), workload.rank_count())?;
//! let every_third: Vec<usize> = (0..16).map(|rank| 3 * rank).collect();
//! let shapes = JobShape::of(&workload);
//! let placement = Placement::from_slots(&cluster, &shapes, "my own", &slots, &every_third)?;
//! assert_eq!(placement.ranks().count(), 16);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod check;
mod contradictions;
mod file;
mod gpu_use;
mod homes;
mod mapping;
mod programs;
// For the command line; may change in any version.
#[doc(hidden)]
pub mod ranks_map;
mod settings;
mod shares;
mod slots;

use serde::{Deserialize, Serialize};

pub(crate) use check::check_places;
pub use check::{PlacementError, RankOfJob};
pub use file::{
    ClusterEntry, DeviceEntry, JobEntry, NodeEntry, PREDICTED_RUN_TIME, PlacementFile, RankEntry,
    digest,
};
pub use gpu_use::GpuUse;
pub(crate) use homes::homes;
pub use mapping::Mapping;
pub use programs::ProgramRanks;
pub(crate) use programs::rank_classes;
pub use settings::{MemoryPolicy, Settings, Variables};
pub use shares::{RanksPer, Share};
pub use slots::{Granularity, Slot, slots};
pub(crate) use slots::{in_turn, slots_by_node};

use check::{check, check_devices};

use crate::cluster::Cluster;
use crate::ids::{CoreId, GlobalRank, NodeId, NumaId, PuId, Rank, SlotId};
use crate::traffic::Workload;

/// A valid placement of all ranks of a workload on a cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct Placement {
    strategy: String,
    jobs: Vec<JobPlacement>,
    gpus: GpuUse,
}

/// Where the ranks of a job run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobPlacement {
    /// The name of the job.
    pub name: String,
    /// By [`Rank`]: where it runs.
    pub ranks: Vec<RankPlacement>,
}

/// Where a rank runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankPlacement {
    /// The node.
    pub node: NodeId,
    /// Its cores (L#), at least one; ascending where slots or a placement file give them.
    pub cores: Vec<CoreId>,
    /// The PUs (P#) that it may run on: at least one, all free and on `cores`. An unbound rank has all
    /// free PUs of the node.
    pub pus: Vec<PuId>,
    /// The NUMA node (L#) that it allocates from; `None` for several or for the system's default.
    pub numa: Option<NumaId>,
    /// Names of the network devices that it uses; empty for the library's default.
    pub nics: Vec<String>,
    /// Names of the GPUs that it uses.
    pub gpus: Vec<String>,
    /// Whether it is bound to its PUs. PUs of unbound ranks may be shared.
    pub bound: bool,
}

/// The part of a job that a placement is checked against.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobShape {
    /// The name of the job.
    pub name: String,
    /// The number of its ranks.
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
    /// A placement of these jobs, checked against the cluster and the jobs that are to run. `strategy`
    /// names the strategy with its options.
    ///
    /// # Errors
    /// If a rank is missing or extra; if a rank has no PU, or one that is not free, does not exist or
    /// is not on its cores; if two bound ranks have the same PU; or if a node, core, NUMA node,
    /// network device or GPU does not exist.
    pub fn new(
        cluster: &Cluster,
        shapes: &[JobShape],
        strategy: impl Into<String>,
        jobs: Vec<JobPlacement>,
    ) -> Result<Self, PlacementError> {
        check(cluster, shapes, &jobs)?;
        Ok(Self { strategy: strategy.into(), jobs, gpus: GpuUse::None })
    }

    /// The placement of a mapping: `slot_of` has the position in `slots` of each [`GlobalRank`].
    ///
    /// # Errors
    /// As [`Placement::new`], where two ranks on a slot are two ranks on a PU; or if a slot does not
    /// exist.
    pub fn from_slots(
        cluster: &Cluster,
        shapes: &[JobShape],
        strategy: impl Into<String>,
        slots: &[Slot],
        slot_of: &[usize],
    ) -> Result<Self, PlacementError> {
        if let Some(rank) = slot_of.iter().position(|slot| *slot >= slots.len()) {
            let slot = SlotId::from_index(slot_of[rank]);
            let rank = GlobalRank::from_index(rank);
            return Err(PlacementError::NoSuchSlot { rank, slot, slots: slots.len() });
        }
        let mut places = slot_of.iter().map(|&slot| slots[slot].place());
        let take = |shape: &JobShape| JobPlacement {
            name: shape.name.clone(),
            ranks: places.by_ref().take(shape.ranks as usize).collect(),
        };
        Self::new(cluster, shapes, strategy, shapes.iter().map(take).collect())
    }

    /// This placement without binding: each rank may run on all free PUs of its node.
    ///
    /// # Panics
    /// If the placement is for another cluster.
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

    /// This placement with other network devices: by [`GlobalRank`], the names of its devices.
    ///
    /// # Errors
    /// If a device is not on the node of its rank.
    ///
    /// # Panics
    /// If there is not a list of devices for each rank, or the placement is for another cluster.
    pub fn with_devices(
        self,
        cluster: &Cluster,
        nics: Vec<Vec<String>>,
    ) -> Result<Self, PlacementError> {
        assert_eq!(nics.len(), self.ranks().count(), "devices for each rank");
        self.change(cluster, nics, |place, nics| place.nics = nics)
    }

    /// Sets something of each rank and checks its devices.
    fn change(
        mut self,
        cluster: &Cluster,
        values: Vec<Vec<String>>,
        set: impl Fn(&mut RankPlacement, Vec<String>),
    ) -> Result<Self, PlacementError> {
        let mut values = values.into_iter();
        for job in 0..self.jobs.len() {
            for rank in 0..self.jobs[job].ranks.len() {
                set(&mut self.jobs[job].ranks[rank], values.next().unwrap_or_default());
                let names = self.jobs.iter().map(|job| job.name.as_str());
                let who = || RankOfJob::new(names, (job, Rank::from_index(rank)));
                check_devices(cluster, who, &self.jobs[job].ranks[rank])?;
            }
        }
        Ok(self)
    }

    /// This placement with GPUs: by [`GlobalRank`], the names of those that it uses.
    ///
    /// # Errors
    /// If a GPU is not on the node of its rank.
    ///
    /// # Panics
    /// If there is not a list of GPUs for each rank, or the placement is for another cluster.
    pub fn with_gpus(
        mut self,
        cluster: &Cluster,
        gpu_use: GpuUse,
        gpus: Vec<Vec<String>>,
    ) -> Result<Self, PlacementError> {
        assert_eq!(gpus.len(), self.ranks().count(), "GPUs for each rank");
        self.gpus = gpu_use;
        self.change(cluster, gpus, |place, gpus| place.gpus = gpus)
    }

    /// This placement under the name of another strategy.
    #[must_use]
    pub fn named(self, strategy: impl Into<String>) -> Self {
        Self { strategy: strategy.into(), ..self }
    }

    /// The strategy with its options, or another text on where the placement comes from.
    #[must_use]
    pub fn strategy(&self) -> &str {
        &self.strategy
    }

    /// How its ranks use GPUs.
    #[must_use]
    pub fn gpus(&self) -> GpuUse {
        self.gpus
    }

    /// The jobs, in the order of the workload; the position is [`JobId`](crate::ids::JobId).
    #[must_use]
    pub fn jobs(&self) -> &[JobPlacement] {
        &self.jobs
    }

    /// Where the ranks run, in the order of [`GlobalRank`].
    pub fn ranks(&self) -> impl Iterator<Item = &RankPlacement> {
        self.jobs.iter().flat_map(|job| &job.ranks)
    }
}
