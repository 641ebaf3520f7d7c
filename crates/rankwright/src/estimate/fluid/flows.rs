//! The rates at which messages pass the servers of a mapping while the clocks tick.

use std::ops::Range;

use super::links::PassedLinks;
use super::setup::Setup;
use super::used_nodes::{Rows, UsedNodes};
use crate::estimate::tick::Tick;
use crate::network::{Clock, Multicast, OUTSIDE, SingleClock};

/// The messages and work that arrive at servers per second while the clocks tick. Index of all
/// fields: server × padded kinds + kind.
#[derive(Debug, Clone, Default)]
pub(super) struct Stream {
    /// Messages per second.
    pub(super) count: Vec<f64>,
    /// Seconds of service per second.
    pub(super) work: Vec<f64>,
    /// λ Ca² E(Y²), with Y the work that one tick brings at once: seconds² per second.
    pub(super) moment: Vec<f64>,
}

/// The rates of a mapping. Servers are numbered by the lists of [`Sites`](crate::network::Sites):
/// memories, and ports for both directions of a network device.
#[derive(Debug, Clone, Default)]
pub(super) struct Flows {
    pub(super) used: UsedNodes,
    /// First accesses to the memories of senders.
    pub(super) first: Stream,
    /// Later accesses to the memories of senders, by messages inside a node.
    pub(super) rest: Stream,
    /// Accesses to the memories of receivers by messages from other nodes.
    pub(super) into_memory: Stream,
    /// Messages per second to other nodes. Index: memory × padded kinds + kind.
    pub(super) remote: Vec<f64>,
    pub(super) out: Stream,
    pub(super) into: Stream,
    /// By number in `passed`.
    pub(super) links: Stream,
    pub(super) passed: PassedLinks,
    /// Bytes per second. Index: (kind × nodes + receiving node) × nodes + sending node, of the used
    /// nodes.
    pub(super) pairs: Vec<f64>,
    /// Seconds that messages of one tick wait for each other, summed over the whole run. Index:
    /// memory.
    pub(super) batch_memory: Vec<f64>,
    /// As `batch_memory`, at network devices out. Index: port.
    pub(super) batch_out: Vec<f64>,
    counts: MulticastCounts,
    /// Padded.
    kinds: usize,
}

/// The ranks of one multicast, counted. Most have ranks on few nodes, so that only their rows are read.
#[derive(Debug, Clone, Default)]
struct MulticastCounts {
    /// The used nodes with members, and so those with senders.
    rows: Rows,
    /// The used nodes from the first to the last with senders.
    senders: Range<usize>,
    /// Members. Index: site.
    site_members: Vec<f64>,
    /// Index: site.
    site_senders: Vec<f64>,
    /// Members. Index: used node.
    node_members: Vec<f64>,
    /// Index: used node.
    node_senders: Vec<f64>,
    /// Runs of successive members on one node. Index: used node.
    node_runs: Vec<f64>,
}

impl Stream {
    fn clear(&mut self, length: usize) {
        for values in [&mut self.count, &mut self.work, &mut self.moment] {
            zero(values, length);
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
    /// Adds up a mapping. Index of `site_of`: [`GlobalRank`](crate::ids::GlobalRank).
    pub(super) fn count(&mut self, setup: &Setup, site_of: &[u32]) {
        self.used.find(setup, site_of);
        self.clear(setup);
        let mut counts = std::mem::take(&mut self.counts);
        counts.clear(setup, &self.used);
        for multicast in &setup.clocks.multicasts {
            counts.count(setup, &self.used, multicast, site_of);
            self.add_senders(setup, multicast, &counts);
            self.add_receivers(setup, multicast, &counts);
        }
        self.counts = counts;
        for single in &setup.clocks.singles {
            self.add_single(setup, single, site_of);
        }
        let nodes = self.used.len();
        for square in self.pairs.chunks_exact_mut(nodes * nodes) {
            for node in 0..nodes {
                square[node * nodes + node] = 0.0;
            }
        }
        self.count_links(setup);
    }

    fn count_links(&mut self, setup: &Setup) {
        let nodes = self.used.len();
        let pairs = &self.pairs;
        let has_messages = |into: usize, from: usize| {
            let at = into * nodes + from;
            setup.walks_all || pairs[at..].iter().step_by(nodes * nodes).any(|bytes| *bytes > 0.0)
        };
        self.passed.find(&setup.links, &setup.sites, &self.used, has_messages);
        self.links.clear(self.kinds * self.passed.len());
        for (number, link) in self.passed.links(&setup.links) {
            let users = self.passed.users(number);
            for (kind, described) in setup.clocks.kinds.iter().enumerate() {
                let square = &self.pairs[kind * nodes * nodes..];
                let bytes: f64 = users.iter().map(|user| square[user.pair as usize]).sum();
                let lengths = &setup.lengths[described.lengths.clone()];
                let length = lengths.iter().sum::<f64>() / lengths.len() as f64;
                let (at, work) = (number * self.kinds + kind, bytes * link.time);
                self.links.add(at, bytes / length.max(1.0), work);
                self.links.moment[at] += work * length * link.time;
            }
        }
    }

    fn clear(&mut self, setup: &Setup) {
        let (kinds, nodes) = (setup.padded_kinds(), self.used.len());
        self.kinds = kinds;
        let (memories, ports) = (setup.sites.memories.len(), setup.sites.ports.len());
        for stream in [&mut self.first, &mut self.rest, &mut self.into_memory] {
            stream.clear(kinds * memories);
        }
        for stream in [&mut self.out, &mut self.into] {
            stream.clear(kinds * ports);
        }
        zero(&mut self.remote, kinds * memories);
        zero(&mut self.pairs, kinds * nodes * nodes);
        zero(&mut self.batch_memory, memories);
        zero(&mut self.batch_out, ports);
    }

    fn add_senders(&mut self, setup: &Setup, multicast: &Multicast, counts: &MulticastCounts) {
        let kind = multicast.kind;
        let length = setup.lengths[multicast.length];
        let all = multicast.members.len() as f64;
        for row in counts.rows.iter().filter(|row| counts.node_senders[*row] > 0.0) {
            let node = &setup.sites.nodes[self.used.nodes()[row]];
            for site in node.sites.clone() {
                let senders = counts.site_senders[site];
                if senders == 0.0 {
                    continue;
                }
                let remote = all - counts.node_members[row];
                let mut tick = Tick::default();
                tick.add_remote(remote, remote * length, setup.sites.sites[site].memory_time);
                let local = setup.sites.local(multicast.length, site);
                for (other, local) in node.sites.clone().zip(local) {
                    let itself = if other == site { 1.0 } else { 0.0 };
                    tick.add_local(counts.site_members[other] - itself, *local);
                }
                self.send(setup, kind, site, multicast.clock.rate * senders, &tick);
                self.add_moments(setup, multicast.clock, kind, (site, senders), &tick);
            }
        }
    }

    fn add_receivers(&mut self, setup: &Setup, multicast: &Multicast, counts: &MulticastCounts) {
        let nodes = self.used.len();
        let (Clock { rate, cv2, .. }, kind) = (multicast.clock, multicast.kind);
        let length = setup.lengths[multicast.length];
        let senders = multicast.senders.len() as f64;
        for row in counts.rows.iter() {
            let members = counts.node_members[row];
            let outside = senders - counts.node_senders[row];
            if outside == 0.0 {
                continue;
            }
            let pairs = &mut self.pairs[(kind * nodes + row) * nodes..][counts.senders.clone()];
            for (pair, senders) in
                pairs.iter_mut().zip(&counts.node_senders[counts.senders.clone()])
            {
                *pair += rate * length * members * senders;
            }
            let run = members / counts.node_runs[row];
            for site in setup.sites.nodes[self.used.nodes()[row]].sites.clone() {
                let messages = rate * outside * counts.site_members[site];
                if messages > 0.0 {
                    self.arrive(setup, kind, site, (messages, messages * length), cv2 * run);
                }
            }
        }
    }

    fn add_single(&mut self, setup: &Setup, single: &SingleClock, site_of: &[u32]) {
        let Clock { rate, cv2, .. } = single.clock;
        let (sites, nodes) = (&setup.sites, self.used.len());
        let from = site_of[single.sender.index()] as usize;
        let sender = &sites.sites[from];
        let node = sender.node;
        let first = sites.nodes[node].sites.start;
        let mut whole = Tick::default();
        for sends in single.sends.chunk_by(|a, b| a.kind == b.kind) {
            let kind = sends[0].kind as usize;
            let mut tick = Tick::default();
            for send in sends {
                let bytes = setup.lengths[send.length as usize];
                if send.rank == OUTSIDE {
                    tick.add_remote(1.0, bytes, sender.memory_time);
                    continue;
                }
                let to = site_of[send.rank.index()] as usize;
                let other = sites.sites[to].node;
                if other == node {
                    tick.add_local(1.0, sites.local(send.length as usize, from)[to - first]);
                } else {
                    tick.add_remote(1.0, bytes, sender.memory_time);
                    let (into, out) = (self.used.row(other), self.used.row(node));
                    self.pairs[(kind * nodes + into) * nodes + out] += rate * bytes;
                    self.arrive(setup, kind, to, (rate, rate * bytes), cv2);
                }
            }
            self.send(setup, kind, from, rate, &tick);
            whole.add_times(1.0, &tick);
        }
        let kind = single.sends[0].kind as usize;
        self.add_moments(setup, single.clock, kind, (from, 1.0), &whole);
    }

    /// Messages and bytes per second that arrive at a site from other nodes. `run` is Ca² times the
    /// number of messages that arrive at once.
    fn arrive(
        &mut self,
        setup: &Setup,
        kind: usize,
        site: usize,
        (messages, bytes): (f64, f64),
        run: f64,
    ) {
        let site = &setup.sites.sites[site];
        let at = site.memory_index * self.kinds + kind;
        self.into_memory.add(at, messages, bytes * site.memory_time);
        for port in &site.ports {
            let at = port.index * self.kinds + kind;
            let work = bytes * port.share * port.time;
            self.into.add(at, messages * port.share, work);
            self.into.moment[at] += run * work * (bytes / messages * port.time);
        }
    }

    /// The flow of `rate` ticks per second from a site.
    fn send(&mut self, setup: &Setup, kind: usize, site: usize, rate: f64, tick: &Tick) {
        let site = &setup.sites.sites[site];
        let at = site.memory_index * self.kinds + kind;
        self.first.add(at, rate * tick.first, rate * tick.first_work);
        self.rest.add(at, rate * tick.rest, rate * tick.rest_work);
        self.remote[at] += rate * tick.remote;
        if tick.remote > 0.0 {
            for port in &site.ports {
                let work = rate * tick.remote_bytes * port.share * port.time;
                let at = port.index * self.kinds + kind;
                self.out.add(at, rate * tick.remote * port.share, work);
            }
        }
    }

    /// The effect of sending the messages of one tick at once, for a number of clocks of a site.
    fn add_moments(
        &mut self,
        setup: &Setup,
        clock: Clock,
        kind: usize,
        (site, clocks): (usize, f64),
        tick: &Tick,
    ) {
        if tick.first == 0.0 {
            return;
        }
        let (rate, ticks) = (clock.rate * clock.cv2 * clocks, clock.rounds * clocks);
        let site = &setup.sites.sites[site];
        let memory = site.memory_index;
        let whole = tick.first_work + tick.rest_work;
        self.first.moment[memory * self.kinds + kind] += rate * whole * whole;
        self.batch_memory[memory] += ticks * tick.waiting_at_memory();
        if tick.remote == 0.0 {
            return;
        }
        for port in &site.ports {
            let work = tick.remote_bytes * port.share * port.time;
            self.out.moment[port.index * self.kinds + kind] += rate * work * work;
            self.batch_out[port.index] += ticks * tick.waiting_at_port(site, port);
        }
    }
}

impl MulticastCounts {
    /// Before the first multicast of a mapping.
    fn clear(&mut self, setup: &Setup, used: &UsedNodes) {
        let (sites, nodes) = (setup.sites.sites.len(), used.len());
        for of_sites in [&mut self.site_members, &mut self.site_senders] {
            zero(of_sites, sites);
        }
        for of_nodes in [&mut self.node_members, &mut self.node_senders, &mut self.node_runs] {
            zero(of_nodes, nodes);
        }
        self.rows.clear(nodes);
    }

    /// Forgets the multicast before.
    fn restart(&mut self, setup: &Setup, used: &UsedNodes) {
        for row in self.rows.iter() {
            self.node_members[row] = 0.0;
            self.node_senders[row] = 0.0;
            self.node_runs[row] = 0.0;
            let sites = setup.sites.nodes[used.nodes()[row]].sites.clone();
            self.site_members[sites.clone()].fill(0.0);
            self.site_senders[sites].fill(0.0);
        }
        self.rows.clear(used.len());
        self.senders = used.len()..0;
    }

    fn count(&mut self, setup: &Setup, used: &UsedNodes, multicast: &Multicast, site_of: &[u32]) {
        self.restart(setup, used);
        let mut before = usize::MAX;
        for rank in &multicast.members {
            let site = site_of[rank.index()] as usize;
            let node = used.row(setup.sites.sites[site].node);
            self.site_members[site] += 1.0;
            self.node_members[node] += 1.0;
            if node != before {
                self.node_runs[node] += 1.0;
                self.rows.insert(node);
            }
            before = node;
        }
        for rank in &multicast.senders {
            let site = site_of[rank.index()] as usize;
            let node = used.row(setup.sites.sites[site].node);
            self.site_senders[site] += 1.0;
            self.node_senders[node] += 1.0;
            self.senders = self.senders.start.min(node)..self.senders.end.max(node + 1);
        }
    }
}
