//! The path of a message: the servers that it passes, and how long each serves it.

use super::{Direction, QueuePairServer, Servers};
use crate::cluster::Nic;
use crate::ids::{CoreId, GlobalRank, NodeId, NumaId, ServerId};
use crate::network::FarDevice;
use crate::units::{Bytes, BytesPerSecond, Seconds};

/// A server of a message's path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hop {
    /// The server.
    pub server: ServerId,
    /// The service time of the message.
    pub service: Seconds,
    /// The time from the end of this service to the next server, or to the receiver. It keeps no
    /// server busy.
    pub latency: Seconds,
}

/// The path of a message.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Path {
    /// The servers in the order of passing; none if the cores share a cache.
    pub hops: Vec<Hop>,
    /// The time before the first server; without servers the whole time of the message.
    pub latency: Seconds,
}

/// How long a message takes, by its length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cost {
    /// The length by the bandwidth, times the factor.
    Transfer { bandwidth: BytesPerSecond, factor: f64 },
    /// A queue pair, and what its core does for a far device.
    QueuePair(FarDevice),
    /// The processing hardware behind a queue pair.
    Processing,
    /// What a core does for a far device.
    Core(FarDevice),
}

impl Cost {
    fn times(self, by: f64) -> Self {
        match self {
            Self::Transfer { bandwidth, factor } => {
                Self::Transfer { bandwidth, factor: factor * by }
            }
            other => other,
        }
    }
}

/// A [`Hop`] of messages of any length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Leg {
    pub(crate) server: ServerId,
    pub(crate) cost: Cost,
    pub(crate) latency: Seconds,
}

/// A rank's end of the paths of its messages to or from other nodes, through one of its devices.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Way {
    /// In the order of passing.
    pub(crate) legs: Vec<Leg>,
    /// The time before the sender's first server, or after the receiver's last.
    pub(crate) delay: Cost,
}

/// A cache that two ranks share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SharedCache {
    /// The longest message that goes through it.
    pub(crate) limit: Bytes,
    pub(crate) bandwidth: BytesPerSecond,
}

impl Servers<'_> {
    /// The paths of messages of this length from one rank to another. Ranks with several network
    /// devices use the paths in turn, one message after the other.
    ///
    /// Between nodes a message passes queue pair, memory, processing hardware and network device of
    /// its sender, the links between the switches, and the servers of its receiver in reverse order
    /// (Eqs. 1-4, Soryani 2013). Inside a node a message that fits a cache shared by both cores
    /// passes no server; others pass the memory of the sender [`memory_copies`] times, the last time
    /// as a remote access if the receiver is beside another memory.
    ///
    /// [`memory_copies`]: crate::cluster::Rates::memory_copies
    #[must_use]
    pub fn paths(&self, from: GlobalRank, to: GlobalRank, length: Bytes) -> Vec<Path> {
        if self.node(from) == self.node(to) {
            return vec![self.inside(from, to, length)];
        }
        let (out, into) = (self.devices(from), self.devices(to));
        let turns = least_common_multiple(out.len(), into.len());
        let path = |turn: usize| {
            self.between((from, out[turn % out.len()]), (to, into[turn % into.len()]), length)
        };
        (0..turns).map(path).collect()
    }

    /// The paths of messages of this length from a rank out of the cluster: as to another node, up to
    /// the network device. How switches are connected to the outside is not known, so the rest takes
    /// no time.
    #[must_use]
    pub(crate) fn paths_outside(&self, from: GlobalRank, length: Bytes) -> Vec<Path> {
        let path = |nic| {
            let out = self.way_out(from, nic);
            let hops = out.legs.into_iter().map(|leg| self.hop(leg, length)).collect();
            Path { hops, latency: self.time(out.delay, length) }
        };
        self.devices(from).into_iter().map(path).collect()
    }

    /// An access of a core to the memory beside it.
    #[must_use]
    pub(crate) fn memory_access(&self, node: NodeId, core: CoreId, length: Bytes) -> Hop {
        self.hop(self.access(node, self.cluster.machine(node).cores[core.index()].numa), length)
    }

    /// The time that a rank's core spends in addition on a message of this length to or from another
    /// node because of where its devices are: the mean over the devices, which such messages use in
    /// turn.
    #[must_use]
    pub(crate) fn far_core_time(&self, rank: GlobalRank, length: Bytes) -> Seconds {
        let devices = self.devices(rank);
        let times = devices.iter().map(|nic| self.far_core_time_of(rank, *nic, length).0);
        Seconds(times.sum::<f64>() / devices.len() as f64)
    }

    fn inside(&self, from: GlobalRank, to: GlobalRank, length: Bytes) -> Path {
        if let Some(cache) = self.shared_cache(from, to).filter(|cache| length <= cache.limit) {
            return Path { hops: Vec::new(), latency: transfer(length, cache.bandwidth) };
        }
        let passes = self.memory_passes(from, self.memory(from) != self.memory(to));
        let hops = passes.into_iter().map(|pass| self.hop(pass, length)).collect();
        Path { hops, latency: Seconds(0.0) }
    }

    /// The cache through which messages inside a node go from one rank to another.
    pub(crate) fn shared_cache(&self, from: GlobalRank, to: GlobalRank) -> Option<SharedCache> {
        let cores = (self.home(from), self.home(to));
        let cache = self.cluster.cache_bandwidth(self.node(from), cores)?;
        let limit = if from == to { Bytes(u64::MAX) } else { self.cluster.rates.cache_limit };
        Some(SharedCache { limit, bandwidth: cache.value })
    }

    /// The servers of a message inside the node of its sender that goes through the memory; `remote`:
    /// the receiver is beside another memory.
    pub(crate) fn memory_passes(&self, from: GlobalRank, remote: bool) -> Vec<Leg> {
        let rates = &self.cluster.rates;
        let mut passes = vec![self.memory_leg(from); rates.memory_copies as usize];
        if let Some(last) = passes.last_mut().filter(|_| remote) {
            last.cost = last.cost.times(rates.remote_memory_factor);
        }
        passes
    }

    /// Each rank with its device, a position in [`Machine::nics`](crate::cluster::Machine::nics).
    fn between(
        &self,
        (from, out): (GlobalRank, u32),
        (to, into): (GlobalRank, u32),
        length: Bytes,
    ) -> Path {
        let (out, into) = (self.way_out(from, out), self.way_in(to, into));
        let links = self.links_between(self.node(from), self.node(to));
        let legs = out.legs.iter().chain(&links).chain(&into.legs);
        let mut hops: Vec<Hop> = legs.map(|leg| self.hop(*leg, length)).collect();
        if let Some(last) = hops.last_mut() {
            last.latency = self.time(into.delay, length);
        }
        Path { hops, latency: self.time(out.delay, length) }
    }

    /// The way of a rank's messages out of its node through device `nic`.
    pub(crate) fn way_out(&self, rank: GlobalRank, nic: u32) -> Way {
        let latency = match self.nic(rank, nic) {
            Some(_) => self.cluster.nic_latency(self.node(rank), nic as usize),
            None => self.cluster.rates.unknown_nic_latency(),
        };
        let mut legs = Vec::new();
        legs.extend(self.queue_pair_leg(rank, QueuePairServer::PairOut, nic));
        legs.push(self.memory_leg(rank));
        legs.extend(self.processing_leg(rank, QueuePairServer::ProcessingOut));
        legs.push(Leg { latency, ..self.nic_leg(rank, nic, Direction::Out) });
        Way { legs, delay: self.core_delay(rank, nic) }
    }

    /// The way of a rank's messages into its node through device `nic`.
    pub(crate) fn way_in(&self, rank: GlobalRank, nic: u32) -> Way {
        let mut legs = vec![self.nic_leg(rank, nic, Direction::In)];
        legs.extend(self.processing_leg(rank, QueuePairServer::ProcessingIn));
        legs.extend(self.queue_pair_leg(rank, QueuePairServer::PairIn, nic));
        legs.push(self.memory_leg(rank));
        // What the receiver's core does keeps neither its memory nor the sender busy.
        Way { legs, delay: self.core_delay(rank, nic) }
    }

    /// The servers of a message of this length on a leg of its way.
    fn hop(&self, leg: Leg, length: Bytes) -> Hop {
        Hop { server: leg.server, service: self.time(leg.cost, length), latency: leg.latency }
    }

    /// The time that a message of this length takes.
    pub(crate) fn time(&self, cost: Cost, length: Bytes) -> Seconds {
        let rates = &self.cluster.rates;
        match cost {
            Cost::Transfer { bandwidth, factor } => Seconds(transfer(length, bandwidth).0 * factor),
            Cost::QueuePair(device) => {
                Seconds(rates.queue_pair.time(length).0 + device.core_time(rates, length).0)
            }
            Cost::Processing => rates.processing.time(length),
            Cost::Core(device) => device.core_time(rates, length),
        }
    }

    /// A queue pair also pays for a far device: its service is what the core does for the message.
    fn queue_pair_leg(&self, rank: GlobalRank, server: QueuePairServer, nic: u32) -> Option<Leg> {
        let server = self.queue_pair_server(rank, server)?;
        Some(leg(server, Cost::QueuePair(self.far_device(rank, nic))))
    }

    fn processing_leg(&self, rank: GlobalRank, server: QueuePairServer) -> Option<Leg> {
        Some(leg(self.queue_pair_server(rank, server)?, Cost::Processing))
    }

    /// The core time of a far device where no queue pair pays for it: a delay before the sender's
    /// first server, or after the receiver's last.
    fn core_delay(&self, rank: GlobalRank, nic: u32) -> Cost {
        match self.first_queue_pair {
            Some(_) => Cost::Core(FarDevice::Near),
            None => Cost::Core(self.far_device(rank, nic)),
        }
    }

    fn far_core_time_of(&self, rank: GlobalRank, nic: u32, length: Bytes) -> Seconds {
        self.far_device(rank, nic).core_time(&self.cluster.rates, length)
    }

    fn far_device(&self, rank: GlobalRank, nic: u32) -> FarDevice {
        let node = self.node(rank);
        let core = self.cluster.machine(node).cores.get(self.home(rank).index());
        match (core, self.nic(rank, nic)) {
            (Some(core), Some(nic)) => FarDevice::new(self.cluster, node, core.numa, nic),
            _ => FarDevice::Near,
        }
    }

    fn memory_leg(&self, rank: GlobalRank) -> Leg {
        self.access(self.node(rank), self.numa(rank))
    }

    fn access(&self, node: NodeId, numa: NumaId) -> Leg {
        let bandwidth = self.cluster.memory_bandwidth(node, numa).value;
        leg(self.memory_server(node, numa), Cost::Transfer { bandwidth, factor: 1.0 })
    }

    fn nic_leg(&self, rank: GlobalRank, nic: u32, direction: Direction) -> Leg {
        let bandwidth = match self.nic(rank, nic) {
            Some(_) => self.cluster.nic_bandwidth(self.node(rank), nic as usize).value,
            None => self.cluster.rates.unknown_nic_bandwidth(),
        };
        let server = self.nic_server(self.node(rank), nic, direction);
        let factor = self.far_device(rank, nic).device_factor();
        leg(server, Cost::Transfer { bandwidth, factor })
    }

    /// A device of a rank's node; `None` for device 0 of a node without any.
    fn nic(&self, rank: GlobalRank, nic: u32) -> Option<&Nic> {
        self.cluster.machine(self.node(rank)).nics.get(nic as usize)
    }

    /// The network devices of a rank, positions in [`Machine::nics`]: those it names; else those
    /// that carry MPI ([`Machine::mpi_nics`]), beside its memory if there are any.
    ///
    /// [`Machine::nics`]: crate::cluster::Machine::nics
    /// [`Machine::mpi_nics`]: crate::cluster::Machine::mpi_nics
    pub(crate) fn devices(&self, rank: GlobalRank) -> Vec<u32> {
        let place = self.ranks[rank.index()];
        let machine = self.cluster.machine(place.node);
        let numa = self.numa(rank);
        let named = machine.nics.iter().enumerate();
        let named = positions(named.filter(|(_, nic)| place.nics.contains(&nic.name)));
        let near = || positions(machine.mpi_nics().filter(|(_, nic)| nic.near.contains(&numa)));
        let all = || positions(machine.mpi_nics());
        let none = || vec![0];
        let non_empty = |devices: Vec<u32>| Some(devices).filter(|devices| !devices.is_empty());
        non_empty(named)
            .or_else(|| non_empty(near()))
            .or_else(|| non_empty(all()))
            .unwrap_or_else(none)
    }

    /// The finite links from a node up to the lowest switch above both nodes, and down to the other.
    pub(crate) fn links_between(&self, from: NodeId, to: NodeId) -> Vec<Leg> {
        let above = |node: NodeId| -> Vec<usize> {
            let switches = &self.cluster.switches;
            let first = self.cluster.node(node).switch;
            std::iter::successors(first, |switch| switches[*switch].parent).collect()
        };
        let (ups, downs) = (above(from), above(to));
        let link = |switch: &usize, direction: Direction| {
            let server = self.link_server(*switch, direction)?;
            let bandwidth = self.cluster.switches[*switch].uplink?;
            Some(leg(server, Cost::Transfer { bandwidth, factor: 1.0 }))
        };
        let up = ups.iter().take_while(|switch| !downs.contains(switch));
        let down = downs.iter().take_while(|switch| !ups.contains(switch));
        let mut links: Vec<Leg> = up.filter_map(|switch| link(switch, Direction::Out)).collect();
        let down: Vec<Leg> = down.filter_map(|switch| link(switch, Direction::In)).collect();
        links.extend(down.into_iter().rev());
        links
    }
}

fn positions<'a>(nics: impl Iterator<Item = (usize, &'a Nic)>) -> Vec<u32> {
    nics.map(|(position, _)| position as u32).collect()
}

fn leg(server: ServerId, cost: Cost) -> Leg {
    Leg { server, cost, latency: Seconds(0.0) }
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
