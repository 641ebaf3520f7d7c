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

/// A finite link on a path.
struct Link {
    server: ServerId,
    bandwidth: BytesPerSecond,
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
        let path = |nic| Path {
            hops: self.out_of_node(from, nic, length),
            latency: self.core_delay(from, nic, length),
        };
        self.devices(from).into_iter().map(path).collect()
    }

    /// An access of a core to the memory beside it.
    #[must_use]
    pub(crate) fn memory_access(&self, node: NodeId, core: CoreId, length: Bytes) -> Hop {
        self.access(node, self.cluster.machine(node).cores[core.index()].numa, length)
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
        let rates = &self.cluster.rates;
        let cores = (self.home(from), self.home(to));
        let cache = self.cluster.cache_bandwidth(self.node(from), cores);
        if let Some(cache) = cache.filter(|_| from == to || length <= rates.cache_limit) {
            return Path { hops: Vec::new(), latency: transfer(length, cache.value) };
        }
        let near = self.memory_hop(from, length);
        let mut hops = vec![near; rates.memory_copies as usize];
        if let Some(last) = hops.last_mut().filter(|_| self.memory(from) != self.memory(to)) {
            last.service.0 *= rates.remote_memory_factor;
        }
        Path { hops, latency: Seconds(0.0) }
    }

    /// Each rank with its device, a position in [`Machine::nics`](crate::cluster::Machine::nics).
    fn between(
        &self,
        (from, out): (GlobalRank, u32),
        (to, into): (GlobalRank, u32),
        length: Bytes,
    ) -> Path {
        let mut hops = self.out_of_node(from, out, length);
        let links = self.links_between(self.node(from), self.node(to));
        hops.extend(links.map(|link| hop(link.server, transfer(length, link.bandwidth))));
        hops.push(self.nic_hop(to, into, Direction::In, length));
        hops.extend(self.processing_hop(to, QueuePairServer::ProcessingIn, length));
        hops.extend(self.queue_pair_hop(to, QueuePairServer::PairIn, into, length));
        // What the receiver's core does keeps neither its memory nor the sender busy.
        let latency = self.core_delay(to, into, length);
        hops.push(Hop { latency, ..self.memory_hop(to, length) });
        Path { hops, latency: self.core_delay(from, out, length) }
    }

    /// The hops on the sender's side of a message that leaves its node through device `nic`.
    fn out_of_node(&self, from: GlobalRank, nic: u32, length: Bytes) -> Vec<Hop> {
        let latency = match self.nic(from, nic) {
            Some(_) => self.cluster.nic_latency(self.node(from), nic as usize),
            None => self.cluster.rates.unknown_nic_latency(),
        };
        let mut hops = Vec::new();
        hops.extend(self.queue_pair_hop(from, QueuePairServer::PairOut, nic, length));
        hops.push(self.memory_hop(from, length));
        hops.extend(self.processing_hop(from, QueuePairServer::ProcessingOut, length));
        hops.push(Hop { latency, ..self.nic_hop(from, nic, Direction::Out, length) });
        hops
    }

    /// A queue pair also pays for a far device: its service is what the core does for the message.
    fn queue_pair_hop(
        &self,
        rank: GlobalRank,
        server: QueuePairServer,
        nic: u32,
        length: Bytes,
    ) -> Option<Hop> {
        let server = self.queue_pair_server(rank, server)?;
        let near = self.cluster.rates.queue_pair.time(length);
        Some(hop(server, Seconds(near.0 + self.far_core_time_of(rank, nic, length).0)))
    }

    fn processing_hop(
        &self,
        rank: GlobalRank,
        server: QueuePairServer,
        length: Bytes,
    ) -> Option<Hop> {
        let server = self.queue_pair_server(rank, server)?;
        Some(hop(server, self.cluster.rates.processing.time(length)))
    }

    /// The core time of a far device where no queue pair pays for it: a delay before the sender's
    /// first server, or after the receiver's last.
    fn core_delay(&self, rank: GlobalRank, nic: u32, length: Bytes) -> Seconds {
        match self.first_queue_pair {
            Some(_) => Seconds(0.0),
            None => self.far_core_time_of(rank, nic, length),
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

    fn memory_hop(&self, rank: GlobalRank, length: Bytes) -> Hop {
        self.access(self.node(rank), self.numa(rank), length)
    }

    fn access(&self, node: NodeId, numa: NumaId, length: Bytes) -> Hop {
        let bandwidth = self.cluster.memory_bandwidth(node, numa).value;
        hop(self.memory_server(node, numa), transfer(length, bandwidth))
    }

    fn nic_hop(&self, rank: GlobalRank, nic: u32, direction: Direction, length: Bytes) -> Hop {
        let bandwidth = match self.nic(rank, nic) {
            Some(_) => self.cluster.nic_bandwidth(self.node(rank), nic as usize).value,
            None => self.cluster.rates.unknown_nic_bandwidth(),
        };
        let server = self.nic_server(self.node(rank), nic, direction);
        let factor = self.far_device(rank, nic).device_factor();
        hop(server, Seconds(transfer(length, bandwidth).0 * factor))
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
    fn devices(&self, rank: GlobalRank) -> Vec<u32> {
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
    fn links_between(&self, from: NodeId, to: NodeId) -> impl Iterator<Item = Link> {
        let above = |node: NodeId| -> Vec<usize> {
            let switches = &self.cluster.switches;
            let first = self.cluster.node(node).switch;
            std::iter::successors(first, |switch| switches[*switch].parent).collect()
        };
        let (ups, downs) = (above(from), above(to));
        let link = |switch: &usize, direction: Direction| {
            let server = self.link_server(*switch, direction)?;
            Some(Link { server, bandwidth: self.cluster.switches[*switch].uplink? })
        };
        let up = ups.iter().take_while(|switch| !downs.contains(switch));
        let down = downs.iter().take_while(|switch| !ups.contains(switch));
        let up: Vec<Link> = up.filter_map(|switch| link(switch, Direction::Out)).collect();
        let down: Vec<Link> = down.filter_map(|switch| link(switch, Direction::In)).collect();
        up.into_iter().chain(down.into_iter().rev())
    }
}

fn positions<'a>(nics: impl Iterator<Item = (usize, &'a Nic)>) -> Vec<u32> {
    nics.map(|(position, _)| position as u32).collect()
}

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
