//! The servers that messages pass, as flat tables: messages are far more than pairs of places.

use rustc_hash::FxHashMap;

use crate::cluster::LevelKind;
use crate::ids::{GlobalRank, NodeId, NumaId, ServerId};
use crate::network::{Cost, Leg, Servers};
use crate::sim::time::{self, NEVER, Time};
use crate::units::{Bytes, Seconds};

/// A part of a route: indices in [`Routes::legs`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) next: u32,
    pub(super) end: u32,
}

impl Part {
    pub(super) fn is_over(self) -> bool {
        self.next == self.end
    }
}

/// The way of one message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Route {
    /// The servers on the sender's node; those between the nodes; those on the receiver's node.
    pub(super) parts: [Part; 3],
    /// Before the first server; without servers the whole time of the message.
    pub(super) before: Time,
    /// After the last server.
    pub(super) after: Time,
    /// What both ranks share.
    pub(super) level: LevelKind,
    /// The time between the network devices of two nodes; 0 inside a node.
    pub(super) flight: Time,
}

impl Route {
    /// Whether the message passes a network device.
    pub(super) fn leaves_node(&self) -> bool {
        matches!(self.level, LevelKind::Switch(_) | LevelKind::Cluster)
    }
}

/// A server on the way of messages of any length.
#[derive(Debug, Clone, Copy)]
pub(super) struct FlatLeg {
    pub(super) server: u32,
    cost: Cost,
    pub(super) latency: Time,
}

/// What all messages of ranks at one place have in common.
#[derive(Debug)]
struct Site {
    node: NodeId,
    numa: NumaId,
    package: Option<usize>,
    /// Position in the cluster's list of switches.
    switch: Option<usize>,
    /// Way and delay of each device; messages use them in turn.
    out: Vec<(Part, Cost)>,
    into: Vec<(Part, Cost)>,
    /// Inside the node, to a rank beside the same memory.
    near: Part,
    /// Inside the node, to a rank beside another memory.
    remote: Part,
}

/// All routes under a placement.
#[derive(Debug)]
pub(super) struct Routes<'a> {
    pub(super) servers: Servers<'a>,
    legs: Vec<FlatLeg>,
    sites: Vec<Site>,
    /// Index: [`GlobalRank`].
    site_of: Vec<u32>,
    /// Whether routes between nodes differ by switches.
    has_switches: bool,
    /// The links between two switches that nodes are connected to, and the lowest switch above both.
    between: FxHashMap<(Option<usize>, Option<usize>), (Part, LevelKind)>,
    /// The number of messages that each rank has sent to other nodes: they use devices in turn.
    /// Index: [`GlobalRank`].
    turns: Vec<u32>,
}

/// Ranks whose messages take the same ways.
#[derive(PartialEq, Eq, Hash)]
struct SiteKey {
    memory: ServerId,
    package: Option<usize>,
    home_numa: Option<NumaId>,
    devices: Vec<u32>,
    /// Where each rank has queue pairs of its own.
    rank: Option<GlobalRank>,
}

impl<'a> Routes<'a> {
    /// `know_switches`: routes name the lowest switch above both nodes.
    pub(super) fn new(servers: Servers<'a>, know_switches: bool) -> Self {
        let ranks = servers.rank_count();
        let mut routes = Self {
            legs: Vec::new(),
            sites: Vec::new(),
            site_of: Vec::with_capacity(ranks),
            has_switches: know_switches || servers.has_links(),
            between: FxHashMap::default(),
            turns: vec![0; ranks],
            servers,
        };
        let mut numbers = FxHashMap::default();
        for rank in (0..ranks).map(GlobalRank::from_index) {
            let servers = &routes.servers;
            let key = SiteKey {
                memory: servers.memory(rank),
                package: servers.package(rank),
                home_numa: servers.home_numa(rank),
                devices: servers.devices(rank),
                rank: servers.has_queue_pairs().then_some(rank),
            };
            let number = numbers.get(&key).copied().unwrap_or_else(|| {
                let site = routes.new_site(rank, &key.devices);
                numbers.insert(key, site);
                site
            });
            routes.site_of.push(number);
        }
        routes
    }

    fn new_site(&mut self, rank: GlobalRank, devices: &[u32]) -> u32 {
        let mut ways = |out: bool| -> Vec<(Part, Cost)> {
            let way = |nic: &u32| {
                let way = match out {
                    true => self.servers.way_out(rank, *nic),
                    false => self.servers.way_in(rank, *nic),
                };
                (add(&mut self.legs, &way.legs), way.delay)
            };
            devices.iter().map(way).collect()
        };
        let (out, into) = (ways(true), ways(false));
        let site = Site {
            node: self.servers.node(rank),
            numa: self.servers.numa(rank),
            package: self.servers.package(rank),
            switch: self.servers.switch(rank),
            out,
            into,
            near: add(&mut self.legs, &self.servers.memory_passes(rank, false)),
            remote: add(&mut self.legs, &self.servers.memory_passes(rank, true)),
        };
        self.sites.push(site);
        u32::try_from(self.sites.len() - 1).expect("fewer than 2^32 sites")
    }

    /// The route of the next message from one rank to another.
    pub(super) fn next(&mut self, from: GlobalRank, to: GlobalRank, bytes: Bytes) -> Route {
        let sites = (self.site_of[from.index()] as usize, self.site_of[to.index()] as usize);
        if self.sites[sites.0].node == self.sites[sites.1].node {
            return self.inside(from, to, bytes);
        }
        let (links, level) = self.between(sites, (from, to));
        let (source, target) = (&self.sites[sites.0], &self.sites[sites.1]);
        let turn = &mut self.turns[from.index()];
        let (out, before) = source.out[*turn as usize % source.out.len()];
        let (into, after) = target.into[*turn as usize % target.into.len()];
        *turn = turn.wrapping_add(1);
        // The last server on the sender's node is its network device.
        let flight = self.legs[out.end as usize - 1].latency;
        Route {
            parts: [out, links, into],
            before: self.time(before, bytes),
            after: self.time(after, bytes),
            level,
            flight,
        }
    }

    fn inside(&self, from: GlobalRank, to: GlobalRank, bytes: Bytes) -> Route {
        let [source, target] =
            [from, to].map(|rank| &self.sites[self.site_of[rank.index()] as usize]);
        let cache = self.servers.shared_cache(from, to);
        let level = match cache {
            Some(_) => LevelKind::Cache,
            None if source.numa == target.numa => LevelKind::Numa,
            None if source.package == target.package => LevelKind::Package,
            None => LevelKind::Node,
        };
        let route = Route { parts: [Part::default(); 3], before: 0, after: 0, level, flight: 0 };
        match cache.filter(|cache| bytes <= cache.limit) {
            Some(cache) => {
                let time = Seconds(bytes.0 as f64 / cache.bandwidth.0);
                Route { before: picoseconds(time), ..route }
            }
            None => {
                let same = self.servers.memory(from) == self.servers.memory(to);
                let passes = if same { source.near } else { source.remote };
                Route { parts: [passes, Part::default(), Part::default()], ..route }
            }
        }
    }

    /// `sites` are those of `ranks`, on two nodes.
    fn between(
        &mut self,
        sites: (usize, usize),
        ranks: (GlobalRank, GlobalRank),
    ) -> (Part, LevelKind) {
        if !self.has_switches {
            return (Part::default(), LevelKind::Cluster);
        }
        let switches = (self.sites[sites.0].switch, self.sites[sites.1].switch);
        if let Some(known) = self.between.get(&switches) {
            return *known;
        }
        let nodes = (self.servers.node(ranks.0), self.servers.node(ranks.1));
        let links = add(&mut self.legs, &self.servers.links_between(nodes.0, nodes.1));
        let height = self.servers.cluster().common_switch_height(nodes.0, nodes.1);
        let between = (links, height.map_or(LevelKind::Cluster, LevelKind::Switch));
        self.between.insert(switches, between);
        between
    }

    pub(super) fn leg(&self, number: u32) -> FlatLeg {
        self.legs[number as usize]
    }

    /// How long a server serves a message, at least 0.
    #[inline]
    pub(super) fn service(&self, leg: FlatLeg, bytes: Bytes) -> Time {
        self.time(leg.cost, bytes)
    }

    /// Picoseconds for each byte at a server, and for a message of no length.
    pub(super) fn linear(&self, leg: FlatLeg) -> (f64, Time) {
        const LONG: Bytes = Bytes(1 << 30);
        let [none, long] = [Bytes(0), LONG].map(|length| self.servers.time(leg.cost, length).0);
        ((long - none) / LONG.0 as f64 * 1e12, picoseconds(Seconds(none)))
    }

    #[inline]
    fn time(&self, cost: Cost, bytes: Bytes) -> Time {
        picoseconds(self.servers.time(cost, bytes))
    }
}

fn add(legs: &mut Vec<FlatLeg>, new: &[Leg]) -> Part {
    let next = legs.len() as u32;
    let flat = |leg: &Leg| FlatLeg {
        server: leg.server.0,
        cost: leg.cost,
        latency: picoseconds(leg.latency),
    };
    legs.extend(new.iter().map(flat));
    Part { next, end: legs.len() as u32 }
}

/// The largest number for a time beyond 64 bits.
#[inline]
pub(super) fn picoseconds(time: Seconds) -> Time {
    time::picoseconds(time).unwrap_or(NEVER)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::cluster::Cluster;
    use crate::cluster::read::{built_in, toml};
    use crate::placement::{Granularity, JobShape, Placement, slots};

    /// A tree of switches with limited links; two devices per node near one NUMA node each.
    const TREE: &str = "
        [[node]]
        names = \"n[0-3]\"
        topology = \"pack:2 numa:1 core:2 pu:1\"
        [[node.nic]]
        name = \"mlx5_0\"
        near = \"numa:0\"
        [[node.nic]]
        name = \"mlx5_1\"
        near = \"numa:1\"
        bandwidth = \"6 GB/s\"
        [[switch]]
        name = \"leaf0\"
        nodes = \"n[0-1]\"
        uplink = \"10 GB/s\"
        [[switch]]
        name = \"leaf1\"
        nodes = \"n[2-3]\"
        uplink = \"5 GB/s\"
        [[switch]]
        name = \"top\"
        switches = \"leaf[0-1]\"
    ";

    /// Servers with service times, the times before and after: all in picoseconds.
    type Way = (Time, Vec<(u32, Time, Time)>, Time);

    #[test]
    fn routes_are_the_paths_of_the_servers() {
        let tree = toml::parse(TREE, "c.toml", Path::new("")).unwrap();
        for cluster in [tree, built_in::find("paper:2013").unwrap().cluster()] {
            let ranks = 12.min(cluster.core_count());
            let slots = slots(&cluster, Granularity::Cores(1), ranks).unwrap();
            let shape = JobShape { name: "job".to_owned(), ranks: ranks as u32 };
            let spread: Vec<usize> = (0..ranks).map(|rank| rank * slots.len() / ranks).collect();
            let placement =
                Placement::from_slots(&cluster, &[shape], "test", &slots, &spread).unwrap();
            check(&cluster, &placement);
        }
    }

    fn check(cluster: &Cluster, placement: &Placement) {
        let mut routes = Routes::new(Servers::new(cluster, placement), false);
        let servers = Servers::new(cluster, placement);
        let ranks = || (0..servers.rank_count()).map(GlobalRank::from_index);
        let mut sent = vec![0; servers.rank_count()];
        for (from, to) in ranks().flat_map(|from| ranks().map(move |to| (from, to))) {
            for length in [0, 100, 1 << 14, 1 << 24].map(Bytes) {
                let mut paths = servers.paths(from, to, length);
                let between = servers.node(from) != servers.node(to);
                let path = paths.swap_remove(sent[from.index()] % paths.len());
                sent[from.index()] += usize::from(between);
                let last = path.hops.last().map_or(0, |hop| picoseconds(hop.latency));
                let hop = |hop: &crate::network::Hop| {
                    (hop.server.0, picoseconds(hop.service), picoseconds(hop.latency))
                };
                let mut hops: Vec<_> = path.hops.iter().map(hop).collect();
                if let Some((.., latency)) = hops.last_mut() {
                    *latency = 0;
                }
                let expected: Way = (picoseconds(path.latency), hops, last);
                assert_eq!(way(&mut routes, from, to, length), expected, "{from} to {to}");
            }
        }
    }

    fn way(routes: &mut Routes, from: GlobalRank, to: GlobalRank, length: Bytes) -> Way {
        let route = routes.next(from, to, length);
        let legs = route.parts.iter().flat_map(|part| part.next..part.end);
        let hops = legs.map(|leg| {
            let leg = routes.leg(leg);
            (leg.server, routes.service(leg, length), leg.latency)
        });
        (route.before, hops.collect(), route.after)
    }
}
