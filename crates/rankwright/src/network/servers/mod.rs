//! The servers that messages wait for under a placement, and the way of each message through them.
//!
//! The network devices, memories and finite links of a cluster are servers: each serves one message
//! at a time, in the order in which they come (Soryani et al. 2013, section 2). Who asks how long
//! that makes messages wait takes the servers and their paths from here.

use serde::Serialize;

use super::FarDevice;
use crate::cluster::{Cluster, Machine, Nic};
use crate::ids::{CoreId, NodeId, NumaId, ServerId};
use crate::placement::{Placement, RankPlacement};
use crate::units::{Bytes, BytesPerSecond, Seconds};

/// Something that serves one message at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerKind {
    /// A memory.
    Memory {
        /// Its node.
        node: NodeId,
        /// Its L# within the node.
        numa: NumaId,
    },
    /// The port of a network device out of the node ("Port-out").
    NicOut {
        /// Its node.
        node: NodeId,
        /// Its position among the node's devices; 0 for the one that a node without any is taken
        /// to have.
        nic: u32,
    },
    /// The port of a network device into the node ("Port-in").
    NicIn {
        /// Its node.
        node: NodeId,
        /// As for the other direction.
        nic: u32,
    },
    /// The link from a switch to the one above it.
    LinkUp {
        /// Position in [`Cluster::switches`].
        switch: u32,
    },
    /// The link to a switch from the one above it.
    LinkDown {
        /// Position in [`Cluster::switches`].
        switch: u32,
    },
    /// The queue pair of a rank, counted over all jobs, for what it sends.
    QueuePairOut {
        /// The rank.
        rank: u32,
    },
    /// For what it receives.
    QueuePairIn {
        /// The rank.
        rank: u32,
    },
    /// The processing hardware behind a queue pair for what is sent.
    ProcessingOut {
        /// The rank.
        rank: u32,
    },
    /// For what is received.
    ProcessingIn {
        /// The rank.
        rank: u32,
    },
}

/// A server of a message's path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hop {
    /// Which.
    pub server: ServerId,
    /// How long it serves the message.
    pub service: Seconds,
    /// How long the message then takes to the next server, or to the receiver, without waiting for
    /// anyone.
    pub latency: Seconds,
}

/// The way of a message.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Path {
    /// The servers in their order; none where cores share a cache.
    pub hops: Vec<Hop>,
    /// What passes before the first server; all of it where there is none.
    pub latency: Seconds,
}

/// All servers of a cluster and the places of all ranks of a placement.
#[derive(Debug, Clone)]
pub struct Servers<'a> {
    cluster: &'a Cluster,
    ranks: Vec<&'a RankPlacement>,
    homes: Vec<CoreId>,
    kinds: Vec<ServerKind>,
    /// Per node its first memory; network devices follow the memories, out before in.
    nodes: Vec<usize>,
    /// Per switch its two links, where they are finite.
    links: Vec<Option<usize>>,
    /// Where the four servers of rank 0 begin, if there are any.
    queue_pairs: Option<usize>,
}

impl<'a> Servers<'a> {
    /// The servers of a cluster for the ranks of a placement, counted over all jobs.
    #[must_use]
    pub fn new(cluster: &'a Cluster, placement: &'a Placement) -> Self {
        let ranks: Vec<&RankPlacement> = placement.ranks().collect();
        let mut servers = Self {
            cluster,
            ranks,
            homes: placement.homes(cluster),
            kinds: Vec::new(),
            nodes: Vec::new(),
            links: Vec::new(),
            queue_pairs: None,
        };
        for node in cluster.node_ids() {
            servers.add_node(node);
        }
        for (switch, number) in cluster.switches.iter().zip(0..) {
            let finite = switch.uplink.is_some() && switch.parent.is_some();
            servers.links.push(finite.then_some(servers.kinds.len()));
            if finite {
                servers.kinds.push(ServerKind::LinkUp { switch: number });
                servers.kinds.push(ServerKind::LinkDown { switch: number });
            }
        }
        if !(cluster.rates.queue_pair.is_empty() && cluster.rates.processing.is_empty()) {
            servers.queue_pairs = Some(servers.kinds.len());
            for (_, rank) in servers.ranks.iter().zip(0..) {
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
        self.nodes.push(self.kinds.len());
        let memories = (0..machine.numa_nodes.len()).map(NumaId::from_index);
        self.kinds.extend(memories.map(|numa| ServerKind::Memory { node, numa }));
        for (nic, _) in (0..).zip(0..machine.nics.len().max(1)) {
            self.kinds.push(ServerKind::NicOut { node, nic });
            self.kinds.push(ServerKind::NicIn { node, nic });
        }
    }

    /// What each server is; position is its id.
    #[must_use]
    pub fn kinds(&self) -> &[ServerKind] {
        &self.kinds
    }

    /// How many ranks there are, counted over all jobs.
    #[must_use]
    pub fn rank_count(&self) -> usize {
        self.ranks.len()
    }

    /// The node of a rank, counted over all jobs.
    #[must_use]
    pub fn node(&self, rank: usize) -> NodeId {
        self.ranks[rank].node
    }

    /// The memory of a rank: the one it allocates from, else that of its first core.
    #[must_use]
    pub fn memory(&self, rank: usize) -> ServerId {
        let place = self.ranks[rank];
        let machine = self.cluster.machine(place.node);
        let near = || machine.cores.get(self.homes[rank].index()).map(|core| core.numa);
        let numa = place.numa.or_else(near).unwrap_or(NumaId(0));
        ServerId::from_index(self.nodes[place.node.index()] + numa.index())
    }

    /// The core that a rank is taken to run on ([`Placement::homes`]).
    #[must_use]
    pub fn home(&self, rank: usize) -> CoreId {
        self.homes[rank]
    }

    /// What an access of a core to the memory beside it takes: the memory, and how long it serves.
    #[must_use]
    pub fn memory_access(&self, node: NodeId, core: CoreId, length: Bytes) -> Hop {
        let numa = self.cluster.machine(node).cores[core.index()].numa;
        self.access(node, numa.index(), length)
    }

    /// The ways of messages of this length from one rank to another, counted over all jobs; where
    /// ranks have several network devices, one message after the other takes them in turn.
    ///
    /// Between nodes a message passes queue pair, memory, processing hardware and network device of
    /// its sender, the links between the switches, and the same of its receiver backwards
    /// (Eqs. 1-4, Soryani 2013). Inside a node a message that fits a cache shared by both cores
    /// passes no server; others pass the memory of the sender [`memory_copies`] times, the last time
    /// as a remote access if the receiver is beside another memory.
    ///
    /// [`memory_copies`]: crate::cluster::Rates::memory_copies
    #[must_use]
    pub fn paths(&self, from: usize, to: usize, length: Bytes) -> Vec<Path> {
        if self.ranks[from].node == self.ranks[to].node {
            return vec![self.inside(from, to, length)];
        }
        let (out, into) = (self.devices(from), self.devices(to));
        let turns = least_common_multiple(out.len(), into.len());
        let path = |turn: usize| {
            self.between(from, to, length, out[turn % out.len()], into[turn % into.len()])
        };
        (0..turns).map(path).collect()
    }

    /// The ways of messages of this length from a rank out of the cluster: like those to another node,
    /// up to the network device. How switches are connected to the outside is not known, so nothing
    /// behind it takes time.
    #[must_use]
    pub fn paths_outside(&self, from: usize, length: Bytes) -> Vec<Path> {
        let path = |nic| Path {
            hops: self.out_of_node(from, length, nic),
            latency: self.lateness(from, nic, length),
        };
        self.devices(from).into_iter().map(path).collect()
    }

    fn inside(&self, from: usize, to: usize, length: Bytes) -> Path {
        let rates = &self.cluster.rates;
        if from == to || (length <= rates.cache_limit && self.share_cache(from, to)) {
            let latency = Seconds(length.0 as f64 / rates.cache_bandwidth.0);
            return Path { hops: Vec::new(), latency };
        }
        let near = self.memory_hop(from, length);
        let mut hops = vec![near; rates.memory_copies as usize];
        if let Some(last) = hops.last_mut().filter(|_| self.memory(from) != self.memory(to)) {
            last.service.0 *= rates.remote_memory_factor;
        }
        Path { hops, latency: Seconds(0.0) }
    }

    fn share_cache(&self, from: usize, to: usize) -> bool {
        let machine = self.cluster.machine(self.ranks[from].node);
        let core = |rank: usize| machine.cores.get(self.homes[rank].index());
        match (core(from), core(to)) {
            (Some(from), Some(to)) => match (from.cache, to.cache) {
                (Some(from), Some(to)) => from == to,
                _ => from.package == to.package,
            },
            _ => false,
        }
    }

    fn between(&self, from: usize, to: usize, length: Bytes, out: u32, into: u32) -> Path {
        let rates = &self.cluster.rates;
        let mut hops = self.out_of_node(from, length, out);
        let (up, down) = self.links_between(self.ranks[from].node, self.ranks[to].node);
        for (link, bandwidth) in up.into_iter().chain(down) {
            hops.push(hop(ServerId::from_index(link), transfer(length, bandwidth)));
        }
        hops.push(self.nic_hop(to, into, 1, length));
        let pair = |position| self.queue_pair(to, position);
        hops.extend(pair(3).map(|server| hop(server, rates.processing.time(length))));
        hops.extend(pair(2).map(|server| hop(server, self.core_time(to, into, length))));
        // What the receiver's core does keeps neither its memory nor the sender busy.
        let latency = self.lateness(to, into, length);
        hops.push(Hop { latency, ..self.memory_hop(to, length) });
        Path { hops, latency: self.lateness(from, out, length) }
    }

    /// How long a rank's queue pair serves a message through this device.
    fn core_time(&self, rank: usize, nic: u32, length: Bytes) -> Seconds {
        let plain = self.cluster.rates.queue_pair.time(length);
        Seconds(plain.0 + self.inter_socket(rank, nic, length).0)
    }

    /// How much later a message comes to the sender's first server, or from the receiver's last, for
    /// this device where no queue pair is charged.
    fn lateness(&self, rank: usize, nic: u32, length: Bytes) -> Seconds {
        match self.queue_pairs {
            Some(_) => Seconds(0.0),
            None => self.inter_socket(rank, nic, length),
        }
    }

    /// How much longer a rank's core has to do with a message because of where the network device is
    /// ([`Rates::inter_socket`]).
    ///
    /// [`Rates::inter_socket`]: crate::cluster::Rates::inter_socket
    fn inter_socket(&self, rank: usize, nic: u32, length: Bytes) -> Seconds {
        match self.far_device(rank, nic) {
            FarDevice::Core => self.cluster.rates.inter_socket.time(length),
            FarDevice::Near | FarDevice::Device(_) => Seconds(0.0),
        }
    }

    /// How much longer a rank's core has to do with a message of this length that it sends to another
    /// node or receives from there, on average over the devices that such messages take in turn.
    #[must_use]
    pub fn far_time(&self, rank: usize, length: Bytes) -> Seconds {
        let devices = self.devices(rank);
        let sum: f64 = devices.iter().map(|nic| self.inter_socket(rank, *nic, length).0).sum();
        Seconds(sum / devices.len() as f64)
    }

    /// What is slower for a rank through a device of its node.
    fn far_device(&self, rank: usize, nic: u32) -> FarDevice {
        let node = self.ranks[rank].node;
        let machine = self.cluster.machine(node);
        let core = machine.cores.get(self.homes[rank].index());
        match (core, machine.nics.get(nic as usize)) {
            (Some(core), Some(nic)) => self.cluster.far_device(node, core.numa, nic),
            _ => FarDevice::Near,
        }
    }

    /// The hops on the sender's side of a message that leaves its node.
    fn out_of_node(&self, from: usize, length: Bytes, nic: u32) -> Vec<Hop> {
        let (rates, node) = (&self.cluster.rates, self.ranks[from].node);
        let device = self.cluster.machine(node).nics.get(nic as usize);
        let latency = device.and_then(|nic| nic.latency).unwrap_or(rates.nic_latency);
        let pair = |position| self.queue_pair(from, position);
        let mut hops = Vec::new();
        hops.extend(pair(0).map(|server| hop(server, self.core_time(from, nic, length))));
        hops.push(self.memory_hop(from, length));
        hops.extend(pair(1).map(|server| hop(server, rates.processing.time(length))));
        hops.push(Hop { latency, ..self.nic_hop(from, nic, 0, length) });
        hops
    }

    /// One of the four servers of a rank's queue pair, if there are any.
    fn queue_pair(&self, rank: usize, position: usize) -> Option<ServerId> {
        self.queue_pairs.map(|first| ServerId::from_index(first + 4 * rank + position))
    }

    fn memory_hop(&self, rank: usize, length: Bytes) -> Hop {
        let node = self.ranks[rank].node;
        self.access(node, self.memory(rank).index() - self.nodes[node.index()], length)
    }

    fn access(&self, node: NodeId, numa: usize, length: Bytes) -> Hop {
        let bandwidth = self.cluster.memory_bandwidth(node, NumaId::from_index(numa));
        hop(ServerId::from_index(self.nodes[node.index()] + numa), transfer(length, bandwidth))
    }

    fn nic_hop(&self, rank: usize, nic: u32, direction: usize, length: Bytes) -> Hop {
        let node = self.ranks[rank].node;
        let machine = self.cluster.machine(node);
        let first = self.nodes[node.index()] + machine.numa_nodes.len();
        let bandwidth = match machine.nics.get(nic as usize) {
            Some(nic) => self.cluster.nic_bandwidth(nic),
            None => self.cluster.rates.nic_bandwidth,
        };
        let server = ServerId::from_index(first + 2 * nic as usize + direction);
        let factor = self.far_device(rank, nic).device_factor();
        hop(server, Seconds(transfer(length, bandwidth).0 * factor))
    }

    /// The network devices of a rank by position: those it names; else the usable ones beside its
    /// memory; else all usable ones of its node. Messages of a rank with several are striped: each
    /// takes the next.
    fn devices(&self, rank: usize) -> Vec<u32> {
        let place = self.ranks[rank];
        let machine = self.cluster.machine(place.node);
        let positions = |wanted: &dyn Fn(&Nic) -> bool| -> Vec<u32> {
            let wanted = (0..).zip(&machine.nics).filter(|(_, nic)| wanted(nic));
            wanted.map(|(position, _)| position).collect()
        };
        let numa = NumaId::from_index(self.memory(rank).index() - self.nodes[place.node.index()]);
        let named = positions(&|nic| place.nics.contains(&nic.name));
        let near = || positions(&|nic| nic.near.contains(&numa) && nic.is_usable());
        let all = || positions(&Nic::is_usable);
        let none = || vec![0];
        let non_empty = |devices: Vec<u32>| Some(devices).filter(|devices| !devices.is_empty());
        non_empty(named)
            .or_else(|| non_empty(near()))
            .or_else(|| non_empty(all()))
            .unwrap_or_else(none)
    }

    /// The finite links from a node up to where the ways of both meet, and down to the other.
    fn links_between(&self, from: NodeId, to: NodeId) -> (Vec<Link>, Vec<Link>) {
        let above = |node: NodeId| -> Vec<usize> {
            let switches = &self.cluster.switches;
            let first = self.cluster.node(node).switch;
            std::iter::successors(first, |switch| switches[*switch].parent).collect()
        };
        let (ups, downs) = (above(from), above(to));
        let link = |switch: &usize, direction: usize| {
            let link = self.links[*switch]? + direction;
            Some((link, self.cluster.switches[*switch].uplink?))
        };
        let up = ups.iter().take_while(|switch| !downs.contains(switch));
        let down = downs.iter().take_while(|switch| !ups.contains(switch));
        let mut down: Vec<Link> = down.filter_map(|switch| link(switch, 1)).collect();
        down.reverse();
        (up.filter_map(|switch| link(switch, 0)).collect(), down)
    }

    /// What people call a server: `node3 nic0 out`, `node3 NUMA L#1`.
    #[must_use]
    pub fn name(&self, server: ServerId) -> String {
        let node = |id: NodeId| &self.cluster.node(id).name;
        let nic = |id: NodeId, nic: u32| {
            let machine: &Machine = self.cluster.machine(id);
            machine.nics.get(nic as usize).map_or("network", |nic| nic.name.as_str())
        };
        let switch = |switch: u32| &self.cluster.switches[switch as usize].name;
        match self.kinds[server.index()] {
            ServerKind::Memory { node: id, numa } => format!("{} NUMA L#{numa}", node(id)),
            ServerKind::NicOut { node: id, nic: n } => format!("{} {} out", node(id), nic(id, n)),
            ServerKind::NicIn { node: id, nic: n } => format!("{} {} in", node(id), nic(id, n)),
            ServerKind::LinkUp { switch: number } => format!("{} up", switch(number)),
            ServerKind::LinkDown { switch: number } => format!("{} down", switch(number)),
            ServerKind::QueuePairOut { rank } => format!("rank {rank} queue pair out"),
            ServerKind::QueuePairIn { rank } => format!("rank {rank} queue pair in"),
            ServerKind::ProcessingOut { rank } => format!("rank {rank} processing out"),
            ServerKind::ProcessingIn { rank } => format!("rank {rank} processing in"),
        }
    }
}

/// A link by the number of its server, and its rate.
type Link = (usize, BytesPerSecond);

fn hop(server: ServerId, service: Seconds) -> Hop {
    Hop { server, service, latency: Seconds(0.0) }
}

fn transfer(length: Bytes, bandwidth: BytesPerSecond) -> Seconds {
    Seconds(length.0 as f64 / bandwidth.0)
}

fn least_common_multiple(a: usize, b: usize) -> usize {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    a / x * b
}

#[cfg(test)]
mod tests;
