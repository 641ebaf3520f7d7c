//! What passes the servers of a placement while the clocks tick, as rates.

use super::network::Network;
use super::run::room;
use crate::network::demand::{Clock, Demand, Fan, OUTSIDE, Single};
use crate::network::sites::Local;

/// Messages and work per second while the clocks tick, per server and kind of message.
#[derive(Debug, Clone, Default)]
pub(super) struct Stream {
    /// Messages.
    pub(super) count: Vec<f64>,
    /// Seconds of service.
    pub(super) work: Vec<f64>,
    /// λ Ca² E(Y²): the second moment of the work that one tick brings at once.
    pub(super) moment: Vec<f64>,
}

/// The rates of a placement. A stream has `servers × kinds` entries, kind by kind within a server.
#[derive(Debug, Clone, Default)]
pub(super) struct Flows {
    /// First accesses to the memories of senders.
    pub(super) first: Stream,
    /// Later accesses to the memories of senders, of messages inside a node.
    pub(super) rest: Stream,
    /// Accesses to the memories of receivers in other nodes.
    pub(super) into_memory: Stream,
    /// Messages per second to other nodes, by memory and kind.
    pub(super) remote: Vec<f64>,
    pub(super) out: Stream,
    pub(super) into: Stream,
    pub(super) links: Stream,
    /// Bytes per second by kind, receiving node, sending node.
    pub(super) pairs: Vec<f64>,
    /// Seconds that messages of one tick wait for each other, over the whole run: at memories, at
    /// ports out.
    pub(super) batch_memory: Vec<f64>,
    pub(super) batch_out: Vec<f64>,
    site_ranks: Vec<f64>,
    site_senders: Vec<f64>,
    node_ranks: Vec<f64>,
    node_senders: Vec<f64>,
    node_runs: Vec<f64>,
    kinds: usize,
}

/// What one tick of a clock sends from one site.
#[derive(Debug, Clone, Copy, Default)]
struct Tick {
    /// Messages and seconds of first accesses to the memory, and the same of the others.
    first: f64,
    first_work: f64,
    rest: f64,
    rest_work: f64,
    /// Those among the first that are local.
    local: f64,
    /// Messages to other nodes, and their bytes.
    remote: f64,
    remote_bytes: f64,
}

impl Stream {
    fn clear(&mut self, length: usize) {
        for values in [&mut self.count, &mut self.work, &mut self.moment] {
            values.clear();
            values.resize(length, 0.0);
        }
    }

    fn add(&mut self, at: usize, count: f64, work: f64) {
        self.count[at] += count;
        self.work[at] += work;
    }
}

fn zero(values: &mut Vec<f64>, length: usize) {
    values.clear();
    values.resize(length, 0.0);
}

impl Flows {
    /// Adds up a placement: the site of each rank.
    pub(super) fn count(&mut self, demand: &Demand, network: &Network, site_of: &[u32]) {
        self.clear(demand, network);
        for fan in &demand.fans {
            self.add_fan(network, fan, site_of);
        }
        for single in &demand.singles {
            self.add_single(network, single, site_of);
        }
        let nodes = network.nodes();
        for square in self.pairs.chunks_exact_mut(nodes * nodes) {
            for node in 0..nodes {
                square[node * nodes + node] = 0.0;
            }
        }
        self.count_links(demand, network);
    }

    fn count_links(&mut self, demand: &Demand, network: &Network) {
        let nodes = network.nodes();
        for (number, link) in network.links.iter().enumerate() {
            for (kind, described) in demand.kinds.iter().enumerate() {
                let square = &self.pairs[kind * nodes * nodes..];
                let bytes: f64 = link.pairs.iter().map(|(pair, _)| square[*pair as usize]).sum();
                let lengths = &network.lengths[described.first..described.behind];
                let length = lengths.iter().sum::<f64>() / lengths.len() as f64;
                let (at, work) = (number * self.kinds + kind, bytes * link.time);
                self.links.add(at, bytes / length.max(1.0), work);
                self.links.moment[at] += work * length * link.time;
            }
        }
    }

    fn clear(&mut self, demand: &Demand, network: &Network) {
        let (kinds, nodes) = (room(demand.kinds.len()), network.nodes());
        self.kinds = kinds;
        let (memories, ports) = (network.memories.len(), network.ports.len());
        for stream in [&mut self.first, &mut self.rest, &mut self.into_memory] {
            stream.clear(kinds * memories);
        }
        for stream in [&mut self.out, &mut self.into] {
            stream.clear(kinds * ports);
        }
        self.links.clear(kinds * network.links.len());
        zero(&mut self.remote, kinds * memories);
        zero(&mut self.pairs, kinds * nodes * nodes);
        zero(&mut self.batch_memory, memories);
        zero(&mut self.batch_out, ports);
    }

    fn add_fan(&mut self, network: &Network, fan: &Fan, site_of: &[u32]) {
        self.count_ranks(network, fan, site_of);
        let nodes = network.nodes();
        let (Clock { rate, cv2, .. }, kind) = (fan.clock, fan.kind);
        let length = network.lengths[fan.length];
        let all = fan.ranks.len() as f64;
        for node in 0..nodes {
            if self.node_senders[node] == 0.0 {
                continue;
            }
            for site in network.node_sites[node].clone() {
                let senders = self.site_senders[site];
                if senders == 0.0 {
                    continue;
                }
                let remote = all - self.node_ranks[node];
                let mut tick = Tick::default();
                tick.add_remote(remote, length, network.sites[site].memory_time);
                let local = &network.local[fan.length][site];
                for (other, local) in network.node_sites[node].clone().zip(local.iter()) {
                    let count = self.site_ranks[other] - if other == site { 1.0 } else { 0.0 };
                    tick.add_local(count, *local);
                }
                self.send(network, kind, site, rate * senders, &tick);
                self.add_moments(network, fan.clock, kind, site, senders, &tick);
            }
        }
        let senders = fan.senders.len() as f64;
        for node in 0..nodes {
            let ranks = self.node_ranks[node];
            let outside = senders - self.node_senders[node];
            if ranks == 0.0 || outside == 0.0 {
                continue;
            }
            let row = &mut self.pairs[(kind * nodes + node) * nodes..][..nodes];
            for (pair, senders) in row.iter_mut().zip(&self.node_senders) {
                *pair += rate * length * ranks * senders;
            }
            let clump = ranks / self.node_runs[node];
            for site in network.node_sites[node].clone() {
                let messages = rate * outside * self.site_ranks[site];
                if messages > 0.0 {
                    let clump = cv2 * clump;
                    self.arrive(network, kind, site, messages, messages * length, clump);
                }
            }
        }
    }

    fn count_ranks(&mut self, network: &Network, fan: &Fan, site_of: &[u32]) {
        let (sites, nodes) = (network.sites.len(), network.nodes());
        zero(&mut self.site_ranks, sites);
        zero(&mut self.site_senders, sites);
        zero(&mut self.node_ranks, nodes);
        zero(&mut self.node_senders, nodes);
        zero(&mut self.node_runs, nodes);
        let mut before = usize::MAX;
        for rank in &fan.ranks {
            let site = site_of[*rank as usize] as usize;
            let node = network.sites[site].node;
            self.site_ranks[site] += 1.0;
            self.node_ranks[node] += 1.0;
            self.node_runs[node] += if node == before { 0.0 } else { 1.0 };
            before = node;
        }
        for rank in &fan.senders {
            let site = site_of[*rank as usize] as usize;
            self.site_senders[site] += 1.0;
            self.node_senders[network.sites[site].node] += 1.0;
        }
    }

    fn add_single(&mut self, network: &Network, single: &Single, site_of: &[u32]) {
        let Clock { rate, cv2, .. } = single.clock;
        let nodes = network.nodes();
        let from = site_of[single.sender as usize] as usize;
        let node = network.sites[from].node;
        let first = network.node_sites[node].start;
        let mut whole = Tick::default();
        for sends in single.sends.chunk_by(|a, b| a.kind == b.kind) {
            let kind = sends[0].kind as usize;
            let mut tick = Tick::default();
            for send in sends {
                let bytes = network.lengths[send.length as usize];
                if send.rank == OUTSIDE {
                    tick.add_remote(1.0, bytes, network.sites[from].memory_time);
                    continue;
                }
                let to = site_of[send.rank as usize] as usize;
                let other = network.sites[to].node;
                if other == node {
                    tick.add_local(1.0, network.local[send.length as usize][from][to - first]);
                } else {
                    tick.add_remote(1.0, bytes, network.sites[from].memory_time);
                    self.pairs[(kind * nodes + other) * nodes + node] += rate * bytes;
                    self.arrive(network, kind, to, rate, rate * bytes, cv2);
                }
            }
            self.send(network, kind, from, rate, &tick);
            whole.add(&tick);
        }
        let kind = single.sends[0].kind as usize;
        self.add_moments(network, single.clock, kind, from, 1.0, &whole);
    }

    /// Messages that come to a site from other nodes, `clump` at a time.
    fn arrive(
        &mut self,
        network: &Network,
        kind: usize,
        site: usize,
        messages: f64,
        bytes: f64,
        clump: f64,
    ) {
        let at = network.memory_of[site] * self.kinds + kind;
        self.into_memory.add(at, messages, bytes * network.sites[site].memory_time);
        for (port, share, time) in &network.ports_of[site] {
            let at = port * self.kinds + kind;
            let work = bytes * share * time;
            self.into.add(at, messages * share, work);
            self.into.moment[at] += clump * work * (bytes / messages * time);
        }
    }

    /// What ticks at a rate send from a site.
    fn send(&mut self, network: &Network, kind: usize, site: usize, rate: f64, tick: &Tick) {
        let at = network.memory_of[site] * self.kinds + kind;
        self.first.add(at, rate * tick.first, rate * tick.first_work);
        self.rest.add(at, rate * tick.rest, rate * tick.rest_work);
        self.remote[at] += rate * tick.remote;
        if tick.remote > 0.0 {
            for (port, share, time) in &network.ports_of[site] {
                let work = rate * tick.remote_bytes * share * time;
                self.out.add(port * self.kinds + kind, rate * tick.remote * share, work);
            }
        }
    }

    /// What comes of it that the messages of one tick are sent at once.
    fn add_moments(
        &mut self,
        network: &Network,
        clock: Clock,
        kind: usize,
        site: usize,
        clocks: f64,
        tick: &Tick,
    ) {
        if tick.first == 0.0 {
            return;
        }
        let (rate, ticks) = (clock.rate * clock.cv2 * clocks, clock.rounds * clocks);
        let memory = network.memory_of[site];
        let whole = tick.first_work + tick.rest_work;
        self.first.moment[memory * self.kinds + kind] += rate * whole * whole;
        // The first accesses wait for those of earlier messages; the others for the first accesses
        // of later messages and the others of earlier ones.
        let others = 0.5 * (tick.first - 1.0);
        let mut waiting = (1.0 + tick.rest / tick.first) * tick.first_work * others;
        waiting += 0.5 * tick.rest_work * (tick.local - 1.0).max(0.0);
        self.batch_memory[memory] += ticks * waiting;
        if tick.remote == 0.0 {
            return;
        }
        let spacing = tick.remote_bytes / tick.remote * network.sites[site].memory_time;
        for (port, share, time) in &network.ports_of[site] {
            let (count, work) = (tick.remote * share, tick.remote_bytes * share * time);
            self.out.moment[port * self.kinds + kind] += rate * work * work;
            let gap = (work / count - spacing).max(0.0);
            self.batch_out[*port] += ticks * gap * 0.5 * count * (count - 1.0).max(0.0);
        }
    }
}

impl Tick {
    fn add_remote(&mut self, messages: f64, length: f64, memory_time: f64) {
        self.first += messages;
        self.first_work += messages * length * memory_time;
        self.remote += messages;
        self.remote_bytes += messages * length;
    }

    fn add_local(&mut self, messages: f64, local: Local) {
        if local.first > 0.0 {
            self.first += messages;
            self.first_work += messages * local.first;
            self.rest += messages * local.rest_count;
            self.rest_work += messages * local.rest;
            self.local += messages;
        }
    }

    fn add(&mut self, other: &Self) {
        self.first += other.first;
        self.first_work += other.first_work;
        self.rest += other.rest;
        self.rest_work += other.rest_work;
        self.local += other.local;
        self.remote += other.remote;
        self.remote_bytes += other.remote_bytes;
    }
}
