//! Places that are the same for messages: ranks beside the same memory, with the same network
//! devices and caches.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Path, ServerKind, Servers};
use crate::cluster::Cluster;
use crate::ids::{NodeId, ServerId};
use crate::placement::{JobPlacement, JobShape, Placement, PlacementError, RankPlacement};
use crate::units::Bytes;

/// The sites of a list of places, and the servers that messages between them pass.
#[derive(Debug, Clone)]
pub(crate) struct Sites {
    /// What each server is.
    pub(crate) kinds: Vec<ServerKind>,
    /// The site of each place.
    pub(crate) of_place: Vec<u32>,
    /// Ordered by node.
    pub(crate) sites: Vec<Site>,
    /// Per node that has sites, its sites.
    pub(crate) nodes: Vec<std::ops::Range<usize>>,
    /// Per length, then per site, then per site of the same node: what a message costs there. Sites
    /// that differ in their devices alone share it.
    pub(crate) local: Vec<Vec<Arc<[Local]>>>,
    /// Per length, then per site: how much longer a core there has to do with a message to or from
    /// another node because of where its devices are, seconds. All zero where that costs cores nothing.
    pub(crate) far: Vec<Vec<f64>>,
    /// Whether it costs cores anything.
    pub(crate) has_far: bool,
    /// Finite links: the server, and seconds per byte.
    pub(crate) links: Vec<(ServerId, f64)>,
    /// Per node and node (positions in `nodes`): positions in `links`, in the order of passing.
    pub(crate) routes: Vec<Vec<u32>>,
}

/// A kind of place.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    /// Position in [`Sites::nodes`].
    pub(crate) node: usize,
    pub(crate) memory: ServerId,
    /// Seconds per byte of the memory.
    pub(crate) memory_time: f64,
    pub(crate) ports: Vec<Port>,
}

/// A network device of a site.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Port {
    pub(crate) out: ServerId,
    pub(crate) into: ServerId,
    /// The share of messages that take it.
    pub(crate) share: f64,
    /// Seconds per byte.
    pub(crate) time: f64,
}

/// What a message inside a node costs at the memory of its sender; nothing through a cache.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Local {
    /// Seconds of the first access.
    pub(crate) first: f64,
    /// Seconds of all others together.
    pub(crate) rest: f64,
    /// How many others.
    pub(crate) rest_count: f64,
}

/// Long enough that rounding does not matter.
const REFERENCE: Bytes = Bytes(1 << 40);

impl Sites {
    /// The sites of places of a cluster, for messages of these lengths.
    ///
    /// # Errors
    /// If a place does not exist in the cluster.
    pub(crate) fn new(
        cluster: &Cluster,
        places: &[RankPlacement],
        lengths: &[u64],
    ) -> Result<Self, PlacementError> {
        // Twice each, so that there are two ranks at every place.
        let unbound = |place: &RankPlacement| RankPlacement { bound: false, ..place.clone() };
        let ranks: Vec<RankPlacement> = places.iter().chain(places).map(unbound).collect();
        let shape = JobShape { name: "places".to_owned(), ranks: ranks.len() as u32 };
        let job = JobPlacement { name: shape.name.clone(), ranks };
        let placement = Placement::new(cluster, &[shape], "places", vec![job])?;
        let servers = Servers::new(cluster, &placement);
        let Groups { of_place, examples, like_last } = group(cluster, places, &servers);
        let mut sites = Self {
            kinds: servers.kinds().to_vec(),
            of_place,
            sites: Vec::new(),
            nodes: Vec::new(),
            local: Vec::new(),
            far: Vec::new(),
            has_far: false,
            links: Vec::new(),
            routes: Vec::new(),
        };
        let mut node: Option<NodeId> = None;
        for (position, example) in examples.iter().enumerate() {
            if node != Some(servers.node(*example)) {
                node = Some(servers.node(*example));
                sites.nodes.push(position..position);
            }
            let number = sites.nodes.len() - 1;
            sites.nodes[number].end = position + 1;
            let other =
                examples.iter().find(|other| servers.node(**other) != servers.node(*example));
            sites.sites.push(site(&servers, number, *example, other.copied()));
        }
        sites.add_local(&servers, &examples, &like_last, lengths);
        sites.add_routes(&servers, &examples);
        Ok(sites)
    }

    fn add_local(
        &mut self,
        servers: &Servers,
        examples: &[usize],
        like_last: &[bool],
        lengths: &[u64],
    ) {
        let twin = self.of_place.len();
        let local = |length: u64, from: usize, to: usize| {
            let path = &servers.paths(examples[from], examples[to] + twin, Bytes(length))[0];
            let mut hops = path.hops.iter();
            let first = hops.next().map_or(0.0, |hop| hop.service.0);
            let rest = hops.clone().map(|hop| hop.service.0).sum();
            Local { first, rest, rest_count: hops.count() as f64 }
        };
        for length in lengths {
            let mut rows: Vec<Arc<[Local]>> = Vec::with_capacity(self.sites.len());
            for (from, site) in self.sites.iter().enumerate() {
                let shared = rows.last().filter(|_| like_last[from]).cloned();
                let node = self.nodes[site.node].clone();
                let row = || node.map(|to| local(*length, from, to)).collect();
                rows.push(shared.unwrap_or_else(row));
            }
            self.local.push(rows);
            let far = |example: &usize| servers.far_time(*example, Bytes(*length)).0;
            self.far.push(examples.iter().map(far).collect());
        }
        self.has_far = self.far.iter().flatten().any(|time| *time > 0.0);
    }

    fn add_routes(&mut self, servers: &Servers, examples: &[usize]) {
        for from in &self.nodes {
            for to in &self.nodes {
                let mut route = Vec::new();
                if from != to {
                    let (from, to) = (examples[from.start], examples[to.start]);
                    let path = &servers.paths(from, to, REFERENCE)[0];
                    for hop in &path.hops {
                        let kind = self.kinds[hop.server.index()];
                        if matches!(kind, ServerKind::LinkUp { .. } | ServerKind::LinkDown { .. }) {
                            let time = hop.service.0 / REFERENCE.0 as f64;
                            let known = self.links.iter().position(|link| link.0 == hop.server);
                            route.push(known.unwrap_or_else(|| {
                                self.links.push((hop.server, time));
                                self.links.len() - 1
                            }) as u32);
                        }
                    }
                }
                self.routes.push(route);
            }
        }
    }
}

/// Places by their sites, which are in the order of nodes.
struct Groups {
    /// The site of each place.
    of_place: Vec<u32>,
    /// Of each site a place.
    examples: Vec<usize>,
    /// Whether a site differs from the one before it in its devices alone.
    like_last: Vec<bool>,
}

fn group(cluster: &Cluster, places: &[RankPlacement], servers: &Servers) -> Groups {
    let key = |(number, place): (usize, &RankPlacement)| {
        let core = cluster.machine(place.node).cores.get(servers.home(number).index());
        let cache = core.map(|core| (core.package, core.numa, core.cache));
        ((place.node, servers.memory(number), cache), place.nics.clone())
    };
    let mut known = BTreeMap::new();
    for (number, place) in places.iter().enumerate() {
        known.entry(key((number, place))).or_insert(number);
    }
    let examples: Vec<usize> = known.values().copied().collect();
    let mut last = None;
    let like_last =
        known.keys().map(|(beside, _)| last.replace(*beside) == Some(*beside)).collect();
    let position: BTreeMap<_, u32> = known.into_keys().zip(0..).collect();
    let of_place = places.iter().enumerate().map(|place| position[&key(place)]).collect();
    Groups { of_place, examples, like_last }
}

fn site(servers: &Servers, node: usize, example: usize, other: Option<usize>) -> Site {
    let time = |seconds: f64| seconds / REFERENCE.0 as f64;
    let memory = servers.memory(example);
    let mut site = Site { node, memory, memory_time: 0.0, ports: Vec::new() };
    let Some(other) = other else {
        return site;
    };
    let paths = servers.paths(example, other, REFERENCE);
    let back = servers.paths(other, example, REFERENCE);
    let hop = |path: &Path, wanted: fn(&ServerKind) -> bool| {
        path.hops.iter().find(|hop| wanted(&servers.kinds()[hop.server.index()])).copied()
    };
    for (path, back) in paths.iter().zip(&back) {
        let out = hop(path, |kind| matches!(kind, ServerKind::NicOut { .. }));
        let into = hop(back, |kind| matches!(kind, ServerKind::NicIn { .. }));
        let (Some(out), Some(into)) = (out, into) else {
            continue;
        };
        let share = 1.0 / paths.len() as f64;
        match site.ports.iter_mut().find(|port| port.out == out.server) {
            Some(port) => port.share += share,
            None => site.ports.push(Port {
                out: out.server,
                into: into.server,
                share,
                time: time(out.service.0),
            }),
        }
    }
    let access = paths.first().and_then(|path| path.hops.iter().find(|hop| hop.server == memory));
    site.memory_time = access.map_or(0.0, |hop| time(hop.service.0));
    site
}
