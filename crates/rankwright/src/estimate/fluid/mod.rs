//! A fast evaluation of a finite workload under a mapping: messages as a fluid.
//!
//! The clocks of the ranks pour messages into the memories of their nodes. From there they pass
//! network devices, links and the memories of receivers as in [`Servers`](crate::network::Servers),
//! each a first-in first-out queue. What random arrivals and the messages of one tick add is computed
//! for each server from what passed it. `docs/src/fluid.md` derives it and says how exact it is.

mod finish;
mod flows;
mod links;
mod noise;
mod queue;
mod run;
mod setup;
#[cfg(test)]
mod tests;
mod used_nodes;
mod waiting;

use serde::Serialize;

use crate::cluster::Cluster;
use crate::ids::ServerId;
use crate::network::{ServerKind, SiteModel};
use crate::placement::{Mapping, Placement, PlacementError, RankPlacement, Slot};
use crate::ranking::{Score, Waiting};
use crate::traffic::Workload;
use crate::units::Seconds;
use finish::Finish;
use flows::Flows;
use run::Run;
use setup::{MOST_KINDS, Setup};
use waiting::FinishedRun;

/// The times of a mapping.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FluidOutcome {
    /// The waiting of all messages at all servers, without service.
    pub total_waiting: Seconds,
    /// Waiting at network devices, both directions.
    pub nic_waiting: Seconds,
    /// Waiting at finite links between switches.
    pub link_waiting: Seconds,
    /// Waiting at memories.
    pub memory_waiting: Seconds,
    /// When the last message of all jobs arrives.
    pub workload_finish: Seconds,
    /// The sum over all jobs of when their last message arrives.
    pub total_finish: Seconds,
}

impl From<&FluidOutcome> for Score {
    fn from(fluid: &FluidOutcome) -> Self {
        let waiting = Waiting {
            total: fluid.total_waiting,
            nics: fluid.nic_waiting,
            memories: fluid.memory_waiting,
            links: fluid.link_waiting,
            queue_pairs: Seconds(0.0),
        };
        Self {
            waiting: Some(waiting),
            finish: Some(fluid.workload_finish),
            total_finish: Some(fluid.total_finish),
            ..Self::default()
        }
    }
}

/// Evaluates mappings of a workload, one after the other.
///
/// Queue pairs and their processing hardware are left out: they belong to ranks, on every node.
/// Ranks without clocks ([`Job::sources`](crate::traffic::Job::sources)) send nothing.
#[derive(Debug, Clone)]
pub struct Fluid {
    setup: Setup,
    // Buffers of an evaluation, kept so that it allocates nothing.
    /// Index: [`GlobalRank`](crate::ids::GlobalRank).
    site_of: Vec<u32>,
    flows: Flows,
    run: Run,
    finish: Finish,
    /// Index: [`ServerId`].
    waiting: Vec<Seconds>,
}

/// Steps until each end of clocks, and about how many after the last.
const STEPS: (usize, usize) = (8, 10);

impl Fluid {
    /// Prepares for mappings of a workload to some slots of a cluster.
    ///
    /// # Errors
    /// If a slot does not exist in the cluster.
    pub fn new(
        cluster: &Cluster,
        workload: &Workload,
        slots: &[Slot],
    ) -> Result<Self, PlacementError> {
        Ok(Self::of_model(SiteModel::new(cluster, workload, slots, MOST_KINDS)?))
    }

    fn of_model(model: SiteModel) -> Self {
        Self {
            finish: Finish::new(&model.clocks),
            waiting: vec![Seconds(0.0); model.sites.kinds.len()],
            setup: Setup::new(model),
            site_of: Vec::new(),
            flows: Flows::default(),
            run: Run::default(),
        }
    }

    /// The times of a placement.
    ///
    /// # Errors
    /// If it is not a placement of this workload on this cluster.
    pub fn of_placement(
        cluster: &Cluster,
        workload: &Workload,
        placement: &Placement,
    ) -> Result<FluidOutcome, PlacementError> {
        let places: Vec<RankPlacement> = placement.ranks().cloned().collect();
        let model = SiteModel::at_places(cluster, workload, &places, MOST_KINDS)?;
        let each_at_its_place: Vec<usize> = (0..places.len()).collect();
        Ok(Self::of_model(model).evaluate(&each_at_its_place.into()))
    }

    /// The times of a mapping to the slots of [`Fluid::new`].
    ///
    /// # Panics
    /// If the mapping has not one slot for each rank.
    pub fn evaluate(&mut self, mapping: &Mapping) -> FluidOutcome {
        assert_eq!(mapping.len(), self.setup.clocks.rank_count, "one slot for each rank");
        self.waiting.fill(Seconds(0.0));
        if self.setup.clocks.ends.is_empty() {
            return FluidOutcome::default();
        }
        self.site_of.clear();
        self.site_of.extend(self.setup.sites.of_mapping(mapping));
        self.flows.count(&self.setup, &self.site_of);
        self.run.run(&self.setup, &self.flows, STEPS);
        self.outcome()
    }

    /// The work of the last evaluation: steps of servers times kinds of messages. Its time grows
    /// about in proportion.
    pub(crate) fn server_steps(&self) -> u64 {
        self.run.server_steps()
    }

    /// The waiting of all messages at each server in the last evaluation. Index: [`ServerId`].
    #[must_use]
    pub fn waiting(&self) -> &[Seconds] {
        &self.waiting
    }

    /// The kinds of the servers. Index: [`ServerId`]. Those of ranks are numbered as if rank n were at
    /// slot n.
    #[must_use]
    pub fn servers(&self) -> &[ServerKind] {
        &self.setup.sites.kinds
    }

    fn outcome(&mut self) -> FluidOutcome {
        let (setup, flows, run) = (&self.setup, &self.flows, &self.run);
        let finished = FinishedRun { setup, flows, run };
        let waiting = &mut self.waiting;
        let mut add = |sum: &mut Seconds, server: ServerId, seconds: f64| {
            waiting[server.index()] = Seconds(seconds);
            sum.0 += seconds;
        };
        let mut outcome = FluidOutcome::default();
        for (row, node) in flows.used.nodes().iter().enumerate() {
            let node = &setup.sites.nodes[*node];
            for memory in node.memories.clone() {
                let seconds = finished.memory(row, memory).all();
                add(&mut outcome.memory_waiting, setup.sites.memories[memory], seconds);
            }
            for port in node.ports.clone() {
                let (out, into) = setup.sites.ports[port];
                add(&mut outcome.nic_waiting, out, finished.out(port).all());
                add(&mut outcome.nic_waiting, into, finished.inward(row, port).all());
            }
        }
        for (number, link) in flows.passed.links(&setup.links) {
            add(&mut outcome.link_waiting, link.server, finished.link(number).all());
        }
        outcome.total_waiting.0 =
            outcome.memory_waiting.0 + outcome.nic_waiting.0 + outcome.link_waiting.0;
        let finishes = self.finish.find(&finished, &self.site_of);
        outcome.workload_finish.0 = finishes.iter().copied().fold(0.0, f64::max);
        outcome.total_finish.0 = finishes.iter().sum();
        outcome
    }
}
