//! A fast evaluation of a finite workload under a placement: messages as a fluid.
//!
//! The clocks of the ranks pour messages into the memories of their nodes; from there they pass
//! network devices, links and the memories of receivers as in [`Servers`](crate::network::Servers),
//! each a first-in first-out queue. What chance and the messages of one tick add is computed for each
//! server from what passed it. `docs/src/fluid.md` derives it and says how exact it is.

mod finish;
mod flows;
mod network;
mod noise;
mod queue;
mod run;
mod waiting;

use serde::Serialize;

use crate::cluster::Cluster;
use crate::network::ServerKind;
use crate::network::demand::Demand;
use crate::network::sites::Sites;
use crate::placement::{Placement, PlacementError, RankPlacement, Slot};
use crate::ranking::{Score, Waiting};
use crate::traffic::Workload;
use crate::units::Seconds;
use finish::Finish;
use flows::Flows;
use network::Network;
use run::{MOST_KINDS, Run};
use waiting::After;

/// What a placement costs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct FluidOutcome {
    /// Waiting of all messages at all servers, service not counted.
    pub total_waiting: Seconds,
    /// Waiting at network devices, both ways.
    pub nic_waiting: Seconds,
    /// Waiting at finite links between switches.
    pub link_waiting: Seconds,
    /// Waiting at memories.
    pub memory_waiting: Seconds,
    /// When the last message of the last job arrives.
    pub workload_finish: Seconds,
    /// The sum over all jobs of when their last messages arrive.
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

/// Evaluates placements of a workload, one after the other.
///
/// Queue pairs and their processing hardware are left out: they belong to ranks, wherever those are.
/// Ranks without clocks ([`Job::sources`](crate::traffic::Job::sources)) send nothing.
#[derive(Debug, Clone)]
pub struct Fluid {
    demand: Demand,
    network: Network,
    servers: Vec<ServerKind>,
    /// The site of each slot.
    of_slot: Vec<u32>,
    // What an evaluation needs, kept so that it allocates nothing.
    site_of: Vec<u32>,
    flows: Flows,
    run: Run,
    finish: Finish,
    waiting: Vec<f64>,
}

/// Steps until each end of clocks, and about so many after the last.
const STEPS: (usize, usize) = (8, 10);

impl Fluid {
    /// Prepares for placements of a workload in some slots of a cluster.
    ///
    /// # Errors
    /// If a slot does not exist in the cluster.
    pub fn new(
        cluster: &Cluster,
        workload: &Workload,
        slots: &[Slot],
    ) -> Result<Self, PlacementError> {
        let places: Vec<RankPlacement> = slots.iter().map(Slot::place).collect();
        Self::at(cluster, workload, &places)
    }

    fn at(
        cluster: &Cluster,
        workload: &Workload,
        places: &[RankPlacement],
    ) -> Result<Self, PlacementError> {
        let demand = Demand::new(workload, MOST_KINDS);
        let sites = Sites::new(cluster, places, &demand.lengths)?;
        Ok(Self {
            network: Network::new(&sites, &demand.lengths),
            finish: Finish::new(&demand),
            demand,
            waiting: vec![0.0; sites.kinds.len()],
            servers: sites.kinds,
            of_slot: sites.of_place,
            site_of: Vec::new(),
            flows: Flows::default(),
            run: Run::default(),
        })
    }

    /// What a placement costs.
    ///
    /// # Errors
    /// If it is not one of this workload and cluster.
    pub fn of_placement(
        cluster: &Cluster,
        workload: &Workload,
        placement: &Placement,
    ) -> Result<FluidOutcome, PlacementError> {
        let places: Vec<RankPlacement> = placement.ranks().cloned().collect();
        let slot_of: Vec<usize> = (0..places.len()).collect();
        Ok(Self::at(cluster, workload, &places)?.evaluate(&slot_of))
    }

    /// What it costs to have rank r, counted over all jobs, at slot `slot_of[r]`.
    ///
    /// # Panics
    /// If `slot_of` does not have one slot for each rank.
    pub fn evaluate(&mut self, slot_of: &[usize]) -> FluidOutcome {
        assert_eq!(slot_of.len(), self.demand.ranks, "one slot for each rank");
        self.waiting.fill(0.0);
        if self.demand.ends.is_empty() {
            return FluidOutcome::default();
        }
        self.site_of.clear();
        self.site_of.extend(slot_of.iter().map(|slot| self.of_slot[*slot]));
        self.flows.count(&self.demand, &self.network, &self.site_of);
        self.run.run(&self.demand, &self.network, &self.flows, STEPS);
        self.outcome()
    }

    /// How much the last evaluation had to do: steps of servers, each as many times as there are kinds
    /// of messages. What it takes grows about in proportion.
    pub(crate) fn server_steps(&self) -> u64 {
        self.run.server_steps()
    }

    /// Seconds that messages waited at each server in the last evaluation; position is id.
    #[must_use]
    pub fn waiting(&self) -> &[f64] {
        &self.waiting
    }

    /// What the servers are; position is id. Those of ranks are numbered as if rank r were at slot r.
    #[must_use]
    pub fn servers(&self) -> &[ServerKind] {
        &self.servers
    }

    fn outcome(&mut self) -> FluidOutcome {
        let (demand, network) = (&self.demand, &self.network);
        let (flows, run) = (&self.flows, &self.run);
        let after = After { demand, network, flows, run };
        let mut outcome = FluidOutcome::default();
        let parts = network.node_memories.iter().zip(&network.node_ports);
        for (node, (memories, ports)) in parts.enumerate() {
            for memory in memories.clone() {
                let waiting = after.memory(node, memory).all();
                self.waiting[network.memories[memory].index()] = waiting;
                outcome.memory_waiting.0 += waiting;
            }
            for port in ports.clone() {
                let (out, into) = network.ports[port];
                let of_both = [after.out(port), after.inward(node, port)];
                for (server, waiting) in [out, into].into_iter().zip(of_both) {
                    self.waiting[server.index()] = waiting.all();
                    outcome.nic_waiting.0 += waiting.all();
                }
            }
        }
        for (number, link) in network.links.iter().enumerate() {
            let waiting = after.link(number).all();
            self.waiting[link.server.index()] = waiting;
            outcome.link_waiting.0 += waiting;
        }
        outcome.total_waiting.0 =
            outcome.memory_waiting.0 + outcome.nic_waiting.0 + outcome.link_waiting.0;
        let finishes = self.finish.find(&after, &self.site_of);
        outcome.workload_finish.0 = finishes.iter().copied().fold(0.0, f64::max);
        outcome.total_finish.0 = finishes.iter().sum();
        outcome
    }
}
