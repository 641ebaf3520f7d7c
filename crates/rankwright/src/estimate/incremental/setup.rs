//! What every sender offers to the servers of its place, as far as that does not depend on the placement
//! of the others.

use super::ledger::{Entry, Ledger};
use super::lone::LoneMessages;
use crate::cluster::Cluster;
use crate::ids::ServerId;
use crate::network::demand::{Demand, Fan};
use crate::network::sites::{Site, Sites};
use crate::placement::{PlacementError, RankPlacement, Slot};
use crate::traffic::Workload;

/// What does not depend on the placement.
#[derive(Debug, Clone)]
pub(super) struct Table {
    pub(super) demand: Demand,
    pub(super) sites: Sites,
    /// Bytes.
    lengths: Vec<f64>,
    pub(super) lone: LoneMessages,
    /// Per node its network devices.
    ports: Vec<Vec<NodePort>>,
}

/// A network device of a node.
#[derive(Debug, Clone)]
struct NodePort {
    out: ServerId,
    into: ServerId,
    /// Sites with the share of their messages that take it, and seconds per byte.
    users: Vec<(usize, f64, f64)>,
}

/// How many ranks and senders of a fan are at each site and node.
#[derive(Debug, Clone)]
pub(super) struct FanCount {
    ranks: Vec<f64>,
    senders: Vec<f64>,
    node_ranks: Vec<f64>,
    node_senders: Vec<f64>,
}

/// Ends of clocks that are told apart.
pub(super) const MOST_ENDS: usize = 8;

impl NodePort {
    /// Those of a node, by its sites.
    fn of(sites: &[Site], node: std::ops::Range<usize>) -> Vec<Self> {
        let mut ports: Vec<Self> = Vec::new();
        for site in node {
            for port in &sites[site].ports {
                let user = (site, port.share, port.time);
                match ports.iter_mut().find(|known| known.out == port.out) {
                    Some(known) => known.users.push(user),
                    None => {
                        let (out, into) = (port.out, port.into);
                        ports.push(Self { out, into, users: vec![user] });
                    }
                }
            }
        }
        ports
    }
}

impl FanCount {
    pub(super) fn new(sites: &Sites) -> Self {
        let (sites, nodes) = (vec![0.0; sites.sites.len()], vec![0.0; sites.nodes.len()]);
        let (ranks, senders) = (sites.clone(), sites);
        Self { ranks, senders, node_ranks: nodes.clone(), node_senders: nodes }
    }

    pub(super) fn add(&mut self, sites: &Sites, site: usize, sign: f64, sends: bool) {
        let node = sites.sites[site].node;
        self.ranks[site] += sign;
        self.node_ranks[node] += sign;
        if sends {
            self.senders[site] += sign;
            self.node_senders[node] += sign;
        }
    }
}

impl Table {
    /// Of a workload whose ranks are in such slots.
    pub(super) fn new(
        cluster: &Cluster,
        workload: &Workload,
        slots: &[Slot],
    ) -> Result<Self, PlacementError> {
        let demand = Demand::new(workload, MOST_ENDS);
        let places: Vec<RankPlacement> = slots.iter().map(Slot::place).collect();
        let sites = Sites::new(cluster, &places, &demand.lengths)?;
        let lengths: Vec<f64> = demand.lengths.iter().map(|length| *length as f64).collect();
        let lone = LoneMessages::new(&demand.singles, &lengths, &sites);
        let ports = sites.nodes.iter().map(|node| NodePort::of(&sites.sites, node.clone()));
        Ok(Self { ports: ports.collect(), demand, sites, lengths, lone })
    }

    /// What a fan offers to the servers of two sites' nodes, and to the links to and from them.
    pub(super) fn add_fan_at(
        &self,
        ledger: &mut Ledger,
        fan: &Fan,
        count: &FanCount,
        (from, to): (u32, u32),
        sign: f64,
    ) {
        let node = |site: u32| self.sites.sites[site as usize].node;
        let (from, to) = (node(from), node(to));
        self.add_fan(ledger, fan, count, from, sign);
        let all = 0..self.sites.nodes.len();
        if from == to {
            return;
        }
        self.add_fan(ledger, fan, count, to, sign);
        if !self.sites.links.is_empty() {
            self.add_fan_links(ledger, fan, count, from, all.clone(), sign);
            let others = all.filter(|other| *other != from);
            self.add_fan_links(ledger, fan, count, to, others, sign);
        }
    }

    /// What a fan offers to the servers of a node.
    pub(super) fn add_fan(
        &self,
        ledger: &mut Ledger,
        fan: &Fan,
        counts: &FanCount,
        node: usize,
        sign: f64,
    ) {
        if counts.node_ranks[node] == 0.0 {
            return;
        }
        let (length, ticks) = (self.lengths[fan.length], sign * fan.clock.rounds);
        let end = fan.clock.end;
        let remote = fan.ranks.len() as f64 - counts.node_ranks[node];
        let outside = fan.senders.len() as f64 - counts.node_senders[node];
        let sites = self.sites.nodes[node].clone();
        for number in sites.clone() {
            let site = &self.sites.sites[number];
            let (ranks, senders) = (counts.ranks[number], counts.senders[number]);
            let service = length * site.memory_time;
            let mut memory = Entry::default();
            if senders > 0.0 {
                let (mut messages, mut work) = (remote, remote * service);
                let local = &self.sites.local[fan.length][number];
                for (other, local) in sites.clone().zip(local.iter()) {
                    if counts.ranks[other] == 0.0 {
                        continue;
                    }
                    let to = counts.ranks[other] - f64::from(u8::from(other == number));
                    let accesses = if local.first > 0.0 { 1.0 + local.rest_count } else { 0.0 };
                    messages += to * accesses;
                    work += to * (local.first + local.rest);
                }
                memory = Entry::of(ticks * senders, messages, work, work);
            }
            memory.add(Entry::of(ticks * ranks * outside, 1.0, service, service));
            let messages = senders * remote + ranks * outside;
            ledger.far += ticks * messages * self.sites.far[fan.length][number];
            ledger.add(site.memory, end, memory);
        }
        for port in &self.ports[node] {
            let (mut out, mut into) = (Entry::default(), Entry::default());
            for (site, share, time) in &port.users {
                let (work, count) = (length * time, remote * share);
                let senders = ticks * counts.senders[*site];
                out.add(Entry::of(senders, count, count * work, count * work));
                let received = ticks * counts.ranks[*site] * outside * share;
                into.add(Entry::of(received, 1.0, work, work));
            }
            ledger.add(port.out, end, out);
            ledger.add(port.into, end, into);
        }
    }

    /// What a fan offers to the links between a node and others, both ways.
    pub(super) fn add_fan_links(
        &self,
        ledger: &mut Ledger,
        fan: &Fan,
        count: &FanCount,
        node: usize,
        others: impl Iterator<Item = usize>,
        sign: f64,
    ) {
        let (length, ticks) = (self.lengths[fan.length], sign * fan.clock.rounds);
        let end = fan.clock.end;
        for other in others {
            for (from, to) in [(node, other), (other, node)] {
                let count = ticks * count.node_senders[from] * count.node_ranks[to];
                for (server, time) in self.links(from, to) {
                    let work = length * time;
                    ledger.add(server, end, Entry::of(count, 1.0, work, work));
                }
            }
        }
    }

    /// The links between two nodes, each with its seconds per byte, in the order of passing.
    pub(super) fn links(&self, from: usize, to: usize) -> impl Iterator<Item = (ServerId, f64)> {
        let route = &self.sites.routes[from * self.sites.nodes.len() + to];
        route.iter().map(|link| self.sites.links[*link as usize])
    }
}
