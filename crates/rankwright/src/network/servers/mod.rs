//! The servers of the queueing network: which there are under a placement, and their numbers.
//!
//! Memories, network devices and finite links are servers: each serves one message at a time, first
//! come, first served (Soryani et al. 2013, section 2). The file `paths` has the servers that a
//! message passes, `names` what they are called in output.

mod names;
mod paths;

use serde::Serialize;

pub(crate) use paths::{Cost, Leg};
pub use paths::{Hop, Path};

use crate::cluster::Cluster;
use crate::ids::{CoreId, GlobalRank, NodeId, NumaId, ServerId};
use crate::placement::{Placement, RankPlacement};

/// Something that serves one message at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerKind {
    /// A memory.
    Memory {
        /// Its node.
        node: NodeId,
        /// L# within the node.
        numa: NumaId,
    },
    /// The port of a network device out of the node ("Port-out").
    NicOut {
        /// Its node.
        node: NodeId,
        /// Position in [`Machine::nics`](crate::cluster::Machine::nics). A node without devices is
        /// taken to have one, number 0.
        nic: u32,
    },
    /// The port of a network device into the node ("Port-in").
    NicIn {
        /// Its node.
        node: NodeId,
        /// Position in [`Machine::nics`](crate::cluster::Machine::nics), as for `NicOut`.
        nic: u32,
    },
    /// The link from a switch to the one above it.
    LinkUp {
        /// Position in `cluster.switches`.
        switch: u32,
    },
    /// The link to a switch from the one above it.
    LinkDown {
        /// Position in `cluster.switches`.
        switch: u32,
    },
    /// The queue pair of a rank for the messages that it sends.
    QueuePairOut {
        /// The sender.
        rank: GlobalRank,
    },
    /// The queue pair of a rank for the messages that it receives.
    QueuePairIn {
        /// The receiver.
        rank: GlobalRank,
    },
    /// The processing hardware behind a queue pair, for the messages that its rank sends.
    ProcessingOut {
        /// The sender.
        rank: GlobalRank,
    },
    /// The processing hardware behind a queue pair, for the messages that its rank receives.
    ProcessingIn {
        /// The receiver.
        rank: GlobalRank,
    },
}

/// The part of the machine that a server belongs to; waiting is reported by part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerPart {
    /// Network devices, both directions.
    Nic,
    /// Memories.
    Memory,
    /// Links between switches, both directions.
    Link,
    /// Queue pairs and their processing hardware, both directions.
    QueuePair,
}

impl ServerKind {
    pub(crate) fn part(self) -> ServerPart {
        match self {
            Self::NicOut { .. } | Self::NicIn { .. } => ServerPart::Nic,
            Self::Memory { .. } => ServerPart::Memory,
            Self::LinkUp { .. } | Self::LinkDown { .. } => ServerPart::Link,
            Self::QueuePairOut { .. }
            | Self::QueuePairIn { .. }
            | Self::ProcessingOut { .. }
            | Self::ProcessingIn { .. } => ServerPart::QueuePair,
        }
    }
}

/// All servers of a cluster, and the ranks of a placement that send through them.
#[derive(Debug, Clone)]
pub struct Servers<'a> {
    cluster: &'a Cluster,
    /// Index: [`GlobalRank`].
    ranks: Vec<&'a RankPlacement>,
    /// The core that each rank is taken to run on, L#. Index: [`GlobalRank`].
    homes: Vec<CoreId>,
    /// Index: [`ServerId`].
    kinds: Vec<ServerKind>,
    /// The index in `kinds` of each node's first memory. The node's other memories follow, then its
    /// network devices, out before in. Index: [`NodeId`].
    first_of_node: Vec<usize>,
    /// The index in `kinds` of each switch's link up, the link down follows; `None` if the link has
    /// no finite rate. Index: position in `cluster.switches`.
    first_of_switch: Vec<Option<usize>>,
    /// The index in `kinds` of the first of rank 0's four queue pair servers; `None` if the rates
    /// have no queue pairs.
    first_queue_pair: Option<usize>,
}

/// The four servers of a rank's queue pair, in the order of their numbers.
#[derive(Debug, Clone, Copy)]
enum QueuePairServer {
    PairOut,
    ProcessingOut,
    PairIn,
    ProcessingIn,
}

/// The two directions of a network device or link, in the order of their numbers.
#[derive(Debug, Clone, Copy)]
enum Direction {
    /// Out of the node; up to the higher switch.
    Out,
    /// Into the node; down from the higher switch.
    In,
}

/// The NUMA node of a rank: the one it allocates from, else that of its home.
pub(super) fn numa_at(cluster: &Cluster, place: &RankPlacement, home: CoreId) -> NumaId {
    let near = || cluster.machine(place.node).cores.get(home.index()).map(|core| core.numa);
    place.numa.or_else(near).unwrap_or(NumaId(0))
}

impl<'a> Servers<'a> {
    /// The servers of a cluster for the ranks of a placement.
    #[must_use]
    pub fn new(cluster: &'a Cluster, placement: &'a Placement) -> Self {
        Self::with_homes(cluster, placement, placement.homes(cluster))
    }

    /// As [`Servers::new`], with the core that each rank is taken to run on.
    pub(crate) fn with_homes(
        cluster: &'a Cluster,
        placement: &'a Placement,
        homes: Vec<CoreId>,
    ) -> Self {
        let mut servers = Self {
            cluster,
            ranks: placement.ranks().collect(),
            homes,
            kinds: Vec::new(),
            first_of_node: Vec::new(),
            first_of_switch: Vec::new(),
            first_queue_pair: None,
        };
        for node in cluster.node_ids() {
            servers.add_node(node);
        }
        for (number, switch) in (0..).zip(&cluster.switches) {
            let finite = switch.uplink.is_some() && switch.parent.is_some();
            servers.first_of_switch.push(finite.then_some(servers.kinds.len()));
            if finite {
                servers.kinds.push(ServerKind::LinkUp { switch: number });
                servers.kinds.push(ServerKind::LinkDown { switch: number });
            }
        }
        if !(cluster.rates.queue_pair.is_empty() && cluster.rates.processing.is_empty()) {
            servers.first_queue_pair = Some(servers.kinds.len());
            for rank in (0..servers.ranks.len()).map(GlobalRank::from_index) {
                servers.kinds.extend([
                    ServerKind::QueuePairOut { rank },
                    ServerKind::ProcessingOut { rank },
                    ServerKind::QueuePairIn { rank },
                    ServerKind::ProcessingIn { rank },
                ]);
            }
        }
        servers
    }

    fn add_node(&mut self, node: NodeId) {
        let machine = self.cluster.machine(node);
        self.first_of_node.push(self.kinds.len());
        let memories = (0..machine.numa_nodes.len()).map(NumaId::from_index);
        self.kinds.extend(memories.map(|numa| ServerKind::Memory { node, numa }));
        for (nic, _) in (0..).zip(0..machine.nics.len().max(1)) {
            self.kinds.push(ServerKind::NicOut { node, nic });
            self.kinds.push(ServerKind::NicIn { node, nic });
        }
    }

    /// What each server is. Index: [`ServerId`].
    #[must_use]
    pub fn kinds(&self) -> &[ServerKind] {
        &self.kinds
    }

    /// The number of ranks of all jobs.
    #[must_use]
    pub fn rank_count(&self) -> usize {
        self.ranks.len()
    }

    /// The node of a rank.
    #[must_use]
    pub fn node(&self, rank: GlobalRank) -> NodeId {
        self.ranks[rank.index()].node
    }

    /// The core that a rank is taken to run on ([`Placement::homes`]).
    #[must_use]
    pub fn home(&self, rank: GlobalRank) -> CoreId {
        self.homes[rank.index()]
    }

    /// The memory of a rank: the one it allocates from, else that of its first core.
    #[must_use]
    pub fn memory(&self, rank: GlobalRank) -> ServerId {
        self.memory_server(self.node(rank), self.numa(rank))
    }

    /// The NUMA node of a rank: the one it allocates from, else that of its first core.
    pub(crate) fn numa(&self, rank: GlobalRank) -> NumaId {
        numa_at(self.cluster, self.ranks[rank.index()], self.home(rank))
    }

    /// The NUMA node of the core that a rank is taken to run on; `None` if the node has no such core.
    pub(crate) fn home_numa(&self, rank: GlobalRank) -> Option<NumaId> {
        let core = self.cluster.machine(self.node(rank)).cores.get(self.home(rank).index());
        core.map(|core| core.numa)
    }

    /// The package (L#) of a rank's first core.
    pub(crate) fn package(&self, rank: GlobalRank) -> Option<usize> {
        let core = self.cluster.machine(self.node(rank)).cores.get(self.home(rank).index());
        core.map(|core| core.package)
    }

    /// The switch that a rank's node is connected to, a position in `cluster.switches`.
    pub(crate) fn switch(&self, rank: GlobalRank) -> Option<usize> {
        self.cluster.node(self.node(rank)).switch
    }

    /// The cluster that the servers are of.
    pub(crate) fn cluster(&self) -> &'a Cluster {
        self.cluster
    }

    /// Whether any link between switches has a rate.
    pub(crate) fn has_links(&self) -> bool {
        self.first_of_switch.iter().any(Option::is_some)
    }

    /// Whether ranks have queue pairs.
    pub(crate) fn has_queue_pairs(&self) -> bool {
        self.first_queue_pair.is_some()
    }

    fn memory_server(&self, node: NodeId, numa: NumaId) -> ServerId {
        ServerId::from_index(self.first_of_node[node.index()] + numa.index())
    }

    /// `nic`: position in [`Machine::nics`](crate::cluster::Machine::nics).
    fn nic_server(&self, node: NodeId, nic: u32, direction: Direction) -> ServerId {
        let first = self.first_of_node[node.index()] + self.cluster.machine(node).numa_nodes.len();
        ServerId::from_index(first + 2 * nic as usize + direction as usize)
    }

    /// `switch`: position in `cluster.switches`.
    fn link_server(&self, switch: usize, direction: Direction) -> Option<ServerId> {
        let first = self.first_of_switch[switch]?;
        Some(ServerId::from_index(first + direction as usize))
    }

    fn queue_pair_server(&self, rank: GlobalRank, server: QueuePairServer) -> Option<ServerId> {
        let first = self.first_queue_pair?;
        Some(ServerId::from_index(first + 4 * rank.index() + server as usize))
    }
}

#[cfg(test)]
mod tests;
