//! The part of the offered load that does not depend on the mapping, and the load of multicasts.

use std::ops::Range;

use super::server_sums::{Offered, ServerSums};
use super::single_messages::SingleMessages;
use crate::cluster::Cluster;
use crate::estimate::tick::Tick;
use crate::ids::ServerId;
use crate::network::{ClockGroups, Multicast, Site, SiteModel, Sites};
use crate::placement::{PlacementError, Slot};
use crate::traffic::Workload;

/// A workload, its sites, and its messages in the form in which they are added up.
#[derive(Debug, Clone)]
pub(super) struct Setup {
    pub(super) clocks: ClockGroups,
    pub(super) sites: Sites,
    /// Bytes. Index: as [`ClockGroups::lengths`].
    lengths: Vec<f64>,
    pub(super) singles: SingleMessages,
    /// Whether messages of one tick wait for each other.
    pub(super) counts_ticks: bool,
    /// The network devices of each node. Index: node.
    ports: Vec<Vec<NodePort>>,
}

/// A network device of a node.
#[derive(Debug, Clone)]
struct NodePort {
    out: ServerId,
    into: ServerId,
    users: Vec<PortUser>,
}

/// A site that uses a network device.
#[derive(Debug, Clone, Copy)]
struct PortUser {
    site: usize,
    /// The part of the site's messages that passes the device, from 0 to 1.
    share: f64,
    /// Seconds per byte.
    time: f64,
}

/// The ranks of one multicast, counted.
#[derive(Debug, Clone)]
pub(super) struct MulticastCount {
    /// Each node, followed by its sites: a step reads two nodes of each multicast of a rank, mostly from memory, and so
    /// needs few cache lines.
    counts: Box<[Members]>,
}

/// Ranks of a multicast at a node or a site: whole numbers, exact up to 16 million.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Members {
    all: f32,
    senders: f32,
}

/// Ends of clocks that are distinguished.
pub(super) const MOST_ENDS: usize = 8;

impl NodePort {
    fn of_node(sites: &[Site], node: Range<usize>) -> Vec<Self> {
        let mut ports: Vec<Self> = Vec::new();
        for site in node {
            for port in &sites[site].ports {
                let user = PortUser { site, share: port.share, time: port.time };
                match ports.iter_mut().find(|of_node| of_node.out == port.out) {
                    Some(of_node) => of_node.users.push(user),
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

impl MulticastCount {
    /// Whether a node has a sender.
    pub(super) fn sends_from(&self, sites: &Sites, site: u32) -> bool {
        self.at_node(sites, sites.sites[site as usize].node).senders != 0.0
    }

    pub(super) fn new(sites: &Sites) -> Self {
        let count = sites.sites.len() + sites.nodes.len();
        Self { counts: vec![Members::default(); count].into() }
    }

    /// Adds a member at a site, or takes it away if `sign` is -1.
    pub(super) fn add(&mut self, sites: &Sites, site: usize, sign: f32, sends: bool) {
        let node = sites.sites[site].node;
        for at in [place_of_node(sites, node), place_of_site(node, site)] {
            let members = &mut self.counts[at];
            members.all += sign;
            members.senders += if sends { sign } else { 0.0 };
        }
    }

    fn at_node(&self, sites: &Sites, node: usize) -> Members {
        self.counts[place_of_node(sites, node)]
    }

    /// `node`: that of the site.
    fn at_site(&self, node: usize, site: usize) -> Members {
        self.counts[place_of_site(node, site)]
    }
}

/// Positions in [`MulticastCount::counts`].
fn place_of_node(sites: &Sites, node: usize) -> usize {
    sites.nodes[node].sites.start + node
}

fn place_of_site(node: usize, site: usize) -> usize {
    site + node + 1
}

impl Members {
    fn all(self) -> f64 {
        f64::from(self.all)
    }

    fn senders(self) -> f64 {
        f64::from(self.senders)
    }
}

impl Setup {
    pub(super) fn new(
        cluster: &Cluster,
        workload: &Workload,
        slots: &[Slot],
    ) -> Result<Self, PlacementError> {
        let SiteModel { clocks, sites, lengths } =
            SiteModel::new(cluster, workload, slots, MOST_ENDS)?;
        let singles = SingleMessages::new(&clocks.singles, &lengths, &sites);
        let nodes = sites.nodes.iter();
        let ports = nodes.map(|node| NodePort::of_node(&sites.sites, node.sites.clone())).collect();
        Ok(Self { clocks, sites, lengths, singles, counts_ticks: false, ports })
    }

    /// Adds the load that a multicast offers to the servers of the nodes of two sites, and to the links
    /// to and from these nodes.
    pub(super) fn add_multicast_at(
        &self,
        sums: &mut ServerSums,
        multicast: &Multicast,
        count: &MulticastCount,
        (from, to): (u32, u32),
        sign: f64,
    ) {
        let node = |site: u32| self.sites.sites[site as usize].node;
        let (from, to) = (node(from), node(to));
        self.add_multicast(sums, multicast, count, from, sign);
        let all = 0..self.sites.nodes.len();
        if from == to {
            return;
        }
        self.add_multicast(sums, multicast, count, to, sign);
        if !self.sites.links.is_empty() {
            self.add_multicast_links(sums, multicast, count, (from, all.clone()), sign);
            let others = all.filter(|other| *other != from);
            self.add_multicast_links(sums, multicast, count, (to, others), sign);
        }
    }

    /// Moves a member that does not send from one site to another, where the nodes of both have no
    /// sender: of the load only what this member receives changes.
    pub(super) fn move_receiver(
        &self,
        sums: &mut ServerSums,
        multicast: &Multicast,
        (from, to): (u32, u32),
        site_of: &[u32],
    ) {
        let (length, end) = (self.lengths[multicast.length], multicast.clock.end);
        let messages = multicast.clock.rounds * multicast.senders.len() as f64;
        let node = |site: u32| self.sites.sites[site as usize].node;
        for (number, messages) in [(from, -messages), (to, messages)] {
            let site = &self.sites.sites[number as usize];
            let service = length * site.memory_time;
            sums.add(site.memory, end, Offered::new(messages, 1.0, service, service));
            sums.totals.far +=
                messages * self.sites.far_core_time(multicast.length, number as usize);
            for port in &site.ports {
                let work = length * port.time;
                sums.add(port.into, end, Offered::new(messages * port.share, 1.0, work, work));
            }
        }
        if self.sites.links.is_empty() || node(from) == node(to) {
            return;
        }
        for sender in &multicast.senders {
            let sender = node(site_of[sender.index()]);
            let rounds = multicast.clock.rounds;
            for (receiver, messages) in [(node(from), -rounds), (node(to), rounds)] {
                for link in self.sites.links_between(sender, receiver) {
                    let work = length * link.time;
                    sums.add(link.server, end, Offered::new(messages, 1.0, work, work));
                }
            }
        }
    }

    /// Adds the load that a multicast offers to the servers of a node.
    pub(super) fn add_multicast(
        &self,
        sums: &mut ServerSums,
        multicast: &Multicast,
        count: &MulticastCount,
        node: usize,
        sign: f64,
    ) {
        let at_node = count.at_node(&self.sites, node);
        if at_node.all == 0.0 {
            return;
        }
        let (length, ticks) = (self.lengths[multicast.length], sign * multicast.clock.rounds);
        let end = multicast.clock.end;
        let remote = multicast.members.len() as f64 - at_node.all();
        let outside = multicast.senders.len() as f64 - at_node.senders();
        let sites = self.sites.nodes[node].sites.clone();
        for number in sites.clone() {
            let site = &self.sites.sites[number];
            let at_site = count.at_site(node, number);
            let (members, senders) = (at_site.all(), at_site.senders());
            // All senders are members, and most sites have none of a small multicast.
            if members == 0.0 {
                continue;
            }
            let service = length * site.memory_time;
            let mut memory = Offered::default();
            if senders > 0.0 {
                let (mut messages, mut work) = (remote, remote * service);
                let local = self.sites.local(multicast.length, number);
                for (other, local) in sites.clone().zip(local) {
                    let members = count.at_site(node, other).all();
                    if members == 0.0 {
                        continue;
                    }
                    let to = members - f64::from(u8::from(other == number));
                    let accesses = if local.first > 0.0 { 1.0 + local.rest_count } else { 0.0 };
                    messages += to * accesses;
                    work += to * (local.first + local.rest);
                }
                memory = Offered::new(ticks * senders, messages, work, work);
                if self.counts_ticks {
                    let tick = self.tick(multicast, count, (node, number));
                    sums.totals.in_ticks += ticks * senders * tick.waiting(site);
                }
            }
            memory.add(Offered::new(ticks * members * outside, 1.0, service, service));
            let messages = senders * remote + members * outside;
            let far = self.sites.far_core_time(multicast.length, number);
            sums.totals.far += ticks * messages * far;
            sums.add(site.memory, end, memory);
        }
        for port in &self.ports[node] {
            let (mut out, mut into) = (Offered::default(), Offered::default());
            for PortUser { site, share, time } in &port.users {
                let (work, messages) = (length * time, remote * share);
                let at_site = count.at_site(node, *site);
                let senders = ticks * at_site.senders();
                out.add(Offered::new(senders, messages, messages * work, messages * work));
                let received = ticks * at_site.all() * outside * share;
                into.add(Offered::new(received, 1.0, work, work));
            }
            for (server, offered) in [(port.out, out), (port.into, into)] {
                if offered.messages != 0.0 {
                    sums.add(server, end, offered);
                }
            }
        }
    }

    /// What a sender of a multicast sends in one tick from a site of a node.
    fn tick(
        &self,
        multicast: &Multicast,
        count: &MulticastCount,
        (node, number): (usize, usize),
    ) -> Tick {
        let remote = multicast.members.len() as f64 - count.at_node(&self.sites, node).all();
        let bytes = remote * self.lengths[multicast.length];
        let mut tick = Tick::default();
        tick.add_remote(remote, bytes, self.sites.sites[number].memory_time);
        let local = self.sites.local(multicast.length, number);
        for (other, local) in self.sites.nodes[node].sites.clone().zip(local) {
            let itself = f64::from(u8::from(other == number));
            tick.add_local(count.at_site(node, other).all() - itself, *local);
        }
        tick
    }

    /// Adds the load that a multicast offers to the links between a node and others, both directions.
    pub(super) fn add_multicast_links(
        &self,
        sums: &mut ServerSums,
        multicast: &Multicast,
        count: &MulticastCount,
        (node, others): (usize, impl Iterator<Item = usize>),
        sign: f64,
    ) {
        // All senders are members. Most nodes have none of a small multicast, and routes take long.
        let has_members = |node: &usize| count.at_node(&self.sites, *node).all != 0.0;
        if !has_members(&node) {
            return;
        }
        let (length, ticks) = (self.lengths[multicast.length], sign * multicast.clock.rounds);
        let end = multicast.clock.end;
        for other in others.filter(has_members) {
            for (from, to) in [(node, other), (other, node)] {
                let [sender, receiver] = [from, to].map(|node| count.at_node(&self.sites, node));
                let messages = ticks * sender.senders() * receiver.all();
                for link in self.sites.links_between(from, to) {
                    let work = length * link.time;
                    sums.add(link.server, end, Offered::new(messages, 1.0, work, work));
                }
            }
        }
    }
}
