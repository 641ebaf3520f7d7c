//! Sites: classes of places that are equivalent for messages, because they have the same memory,
//! network devices and caches.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::servers::numa_at;
use super::{Path, ServerKind, Servers};
use crate::cluster::Cluster;
use crate::ids::{CoreId, GlobalRank, NodeId, NumaId, ServerId};
use crate::placement::{
    JobPlacement, JobShape, Mapping, Placement, PlacementError, RankPlacement, check_places, homes,
};
use crate::units::Bytes;

/// The sites of a list of places, and the servers that messages between them pass. Nodes without
/// sites are left out: a node is a position in [`Sites::nodes`].
#[derive(Debug, Clone)]
pub(crate) struct Sites {
    /// Index: [`ServerId`].
    pub(crate) kinds: Vec<ServerKind>,
    /// The site of each place. Index: position in the list of places.
    pub(crate) of_place: Vec<u32>,
    /// In the order of nodes.
    pub(crate) sites: Vec<Site>,
    /// The nodes with sites, ascending by [`NodeId`].
    pub(crate) nodes: Vec<SiteNode>,
    /// The memories of all sites, node by node.
    pub(crate) memories: Vec<ServerId>,
    /// The network devices of all sites, node by node: the servers out and in.
    pub(crate) ports: Vec<(ServerId, ServerId)>,
    /// The finite links that messages between nodes pass.
    pub(crate) links: Vec<Link>,
    /// The position of each node's switch among the switches that nodes are connected to. Index:
    /// node.
    switch_of: Vec<usize>,
    /// The number of these switches.
    switch_count: usize,
    /// Positions in `links` in the order of passing. Index: switch of the sending node × switches +
    /// switch of the receiving node.
    routes: Vec<Vec<u32>>,
    /// The rows of [`Sites::local`]. Index: length × sites + site. Sites that differ in their devices
    /// alone share a row.
    local: Vec<Arc<[LocalCost]>>,
    /// Index: length × sites + site.
    far_core_times: Vec<f64>,
    has_far_core_times: bool,
    /// The number of lengths of messages.
    length_count: usize,
}

/// A node with sites.
#[derive(Debug, Clone)]
pub(crate) struct SiteNode {
    /// Positions in [`Sites::sites`].
    pub(crate) sites: Range<usize>,
    /// Positions in [`Sites::memories`].
    pub(crate) memories: Range<usize>,
    /// Positions in [`Sites::ports`].
    pub(crate) ports: Range<usize>,
}

/// A class of equivalent places.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    /// Position in [`Sites::nodes`].
    pub(crate) node: usize,
    pub(crate) memory: ServerId,
    /// Position in [`Sites::memories`].
    pub(crate) memory_index: usize,
    /// Seconds per byte; 0 if there is no other node.
    pub(crate) memory_time: f64,
    /// The devices that messages use in turn; none if there is no other node.
    pub(crate) ports: Vec<Port>,
}

/// A network device of a site.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Port {
    /// Position in [`Sites::ports`].
    pub(crate) index: usize,
    pub(crate) out: ServerId,
    pub(crate) into: ServerId,
    /// The part of the site's messages that passes this device, from 0 to 1.
    pub(crate) share: f64,
    /// Seconds per byte.
    pub(crate) time: f64,
}

/// A finite link between switches, in one direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Link {
    pub(crate) server: ServerId,
    /// Seconds per byte.
    pub(crate) time: f64,
}

/// What a message inside a node costs at the memory of its sender, or in a cache.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct LocalCost {
    /// Seconds of the first access.
    pub(crate) first: f64,
    /// Seconds of all later accesses together.
    pub(crate) rest: f64,
    /// The number of later accesses.
    pub(crate) rest_count: f64,
    /// Seconds in a shared cache; 0 if the message passes the memory.
    pub(crate) cache: f64,
}

/// Long enough that rounding does not matter.
const REFERENCE: Bytes = Bytes(1 << 40);

impl Sites {
    /// The sites of places of a cluster, for messages of these lengths in bytes.
    ///
    /// # Errors
    /// If a place does not exist in the cluster.
    pub(crate) fn new(
        cluster: &Cluster,
        places: &[RankPlacement],
        lengths: &[u64],
    ) -> Result<Self, PlacementError> {
        check_places(cluster, places)?;
        let groups = Groups::new(cluster, places);
        let placement = groups.placement(cluster, places)?;
        let servers = Servers::with_homes(cluster, &placement, groups.homes());
        let Groups { of_place, pairs, like_last } = groups;
        let rank = |index| GlobalRank::from_index(index);
        // The first rank of each site, and the second, which receives from it.
        let examples: Vec<GlobalRank> = (0..pairs.len()).map(rank).collect();
        let receivers: Vec<GlobalRank> = (pairs.len()..2 * pairs.len()).map(rank).collect();
        let mut sites = Self {
            kinds: servers.kinds().to_vec(),
            of_place,
            sites: Vec::new(),
            nodes: Vec::new(),
            memories: Vec::new(),
            ports: Vec::new(),
            links: Vec::new(),
            switch_of: Vec::new(),
            switch_count: 0,
            routes: Vec::new(),
            local: Vec::new(),
            far_core_times: Vec::new(),
            has_far_core_times: false,
            length_count: lengths.len(),
        };
        let mut node: Option<NodeId> = None;
        for example in &examples {
            if node.replace(servers.node(*example)) != node {
                sites.begin_node();
            }
            let other =
                examples.iter().find(|other| servers.node(**other) != servers.node(*example));
            sites.add_site(&servers, *example, other.copied());
        }
        sites.add_local(&servers, (&examples, &receivers), &like_last, lengths);
        sites.add_routes(cluster, &servers, &examples);
        Ok(sites)
    }

    /// The site of each rank, in the order of ranks; slots are the places of [`Sites::new`].
    pub(crate) fn of_mapping<'a>(&'a self, mapping: &'a Mapping) -> impl Iterator<Item = u32> + 'a {
        mapping.as_indices().iter().map(|slot| self.of_place[*slot])
    }

    /// The number of lengths of messages.
    pub(crate) fn length_count(&self) -> usize {
        self.length_count
    }

    /// What a message costs that stays in its node, from a site to each site of the node. `length` is
    /// an index in the lengths of [`Sites::new`]; the row's index is the position in the node's range
    /// of sites.
    #[inline]
    pub(crate) fn local(&self, length: usize, site: usize) -> &[LocalCost] {
        &self.local[length * self.sites.len() + site]
    }

    /// The time that a core of a site spends in addition on a message to or from another node because
    /// of where its devices are, seconds.
    #[inline]
    pub(crate) fn far_core_time(&self, length: usize, site: usize) -> f64 {
        self.far_core_times[length * self.sites.len() + site]
    }

    /// Whether any far device costs core time.
    #[inline]
    pub(crate) fn has_far_core_times(&self) -> bool {
        self.has_far_core_times
    }

    /// Positions in [`Sites::links`] in the order of passing, between two nodes.
    #[inline]
    pub(crate) fn route(&self, from: usize, to: usize) -> &[u32] {
        &self.routes[self.route_number(from, to)]
    }

    /// The position of [`Sites::route`] in [`Sites::routes`].
    #[inline]
    pub(crate) fn route_number(&self, from: usize, to: usize) -> usize {
        self.switch_of[from] * self.switch_count + self.switch_of[to]
    }

    /// All different routes, as [`Sites::route`].
    pub(crate) fn routes(&self) -> &[Vec<u32>] {
        &self.routes
    }

    /// The links between two nodes in the order of passing.
    pub(crate) fn links_between(&self, from: usize, to: usize) -> impl Iterator<Item = Link> {
        self.route(from, to).iter().map(|link| self.links[*link as usize])
    }

    fn begin_node(&mut self) {
        let (sites, memories, ports) = (self.sites.len(), self.memories.len(), self.ports.len());
        self.nodes.push(SiteNode {
            sites: sites..sites,
            memories: memories..memories,
            ports: ports..ports,
        });
    }

    /// Adds the site of a rank to the last node; `other` is a rank of another node.
    fn add_site(&mut self, servers: &Servers, example: GlobalRank, other: Option<GlobalRank>) {
        let memory = servers.memory(example);
        let node = self.nodes.len() - 1;
        let first = self.nodes[node].memories.start;
        let memory_index = position_or_push(&mut self.memories, first, memory);
        let mut site = Site { node, memory, memory_index, memory_time: 0.0, ports: Vec::new() };
        if let Some(other) = other {
            let paths = servers.paths(example, other, REFERENCE);
            let back = servers.paths(other, example, REFERENCE);
            site.ports = self.ports_of(servers, &paths, &back);
            let mut hops = paths.first().into_iter().flat_map(|path| &path.hops);
            let access = hops.find(|hop| hop.server == memory);
            site.memory_time = access.map_or(0.0, |hop| hop.service.0 / REFERENCE.0 as f64);
        }
        self.sites.push(site);
        let last = &mut self.nodes[node];
        last.sites.end = self.sites.len();
        last.memories.end = self.memories.len();
        last.ports.end = self.ports.len();
    }

    /// The devices that these paths leave the node by, and the paths back enter it by.
    fn ports_of(&mut self, servers: &Servers, paths: &[Path], back: &[Path]) -> Vec<Port> {
        let hop = |path: &Path, wanted: fn(&ServerKind) -> bool| {
            path.hops.iter().find(|hop| wanted(&servers.kinds()[hop.server.index()])).copied()
        };
        let share = 1.0 / paths.len() as f64;
        let first = self.nodes.last().map_or(0, |node| node.ports.start);
        let mut ports: Vec<Port> = Vec::new();
        for (path, back) in paths.iter().zip(back) {
            let out = hop(path, |kind| matches!(kind, ServerKind::NicOut { .. }));
            let into = hop(back, |kind| matches!(kind, ServerKind::NicIn { .. }));
            let (Some(out), Some(into)) = (out, into) else {
                continue;
            };
            if let Some(port) = ports.iter_mut().find(|port| port.out == out.server) {
                port.share += share;
                continue;
            }
            let (out, into, time) = (out.server, into.server, out.service.0 / REFERENCE.0 as f64);
            let index = position_or_push(&mut self.ports, first, (out, into));
            ports.push(Port { index, out, into, share, time });
        }
        ports
    }

    fn add_local(
        &mut self,
        servers: &Servers,
        (examples, receivers): (&[GlobalRank], &[GlobalRank]),
        like_last: &[bool],
        lengths: &[u64],
    ) {
        let local = |length: u64, from: usize, to: usize| {
            let path = &servers.paths(examples[from], receivers[to], Bytes(length))[0];
            let mut hops = path.hops.iter();
            let first = hops.next().map_or(0.0, |hop| hop.service.0);
            let rest = hops.clone().map(|hop| hop.service.0).sum();
            let cache = if path.hops.is_empty() { path.latency.0 } else { 0.0 };
            LocalCost { first, rest, rest_count: hops.count() as f64, cache }
        };
        let mut rows: Vec<Arc<[LocalCost]>> = Vec::with_capacity(lengths.len() * examples.len());
        for length in lengths {
            for (from, site) in self.sites.iter().enumerate() {
                let shared = rows.last().filter(|_| like_last[from]).cloned();
                let node = self.nodes[site.node].sites.clone();
                let row = || node.map(|to| local(*length, from, to)).collect();
                rows.push(shared.unwrap_or_else(row));
            }
            let far = |rank: &GlobalRank| servers.far_core_time(*rank, Bytes(*length)).0;
            self.far_core_times.extend(examples.iter().map(far));
        }
        self.local = rows;
        self.has_far_core_times = self.far_core_times.iter().any(|time| *time > 0.0);
    }

    /// Links belong to switches, so nodes of one switch have the same routes.
    fn add_routes(&mut self, cluster: &Cluster, servers: &Servers, examples: &[GlobalRank]) {
        let mut switches = BTreeMap::new();
        let mut at_switch = Vec::new();
        let mut link_of = BTreeMap::new();
        for node in &self.nodes {
            let example = examples[node.sites.start];
            let switch = cluster.node(servers.node(example)).switch;
            let next = switches.len();
            self.switch_of.push(*switches.entry(switch).or_insert(next));
            if at_switch.len() < switches.len() {
                at_switch.push(example);
            }
        }
        self.switch_count = switches.len();
        for from in &at_switch {
            for to in &at_switch {
                let mut route = Vec::new();
                if from != to {
                    let path = &servers.paths(*from, *to, REFERENCE)[0];
                    for hop in &path.hops {
                        let kind = self.kinds[hop.server.index()];
                        if matches!(kind, ServerKind::LinkUp { .. } | ServerKind::LinkDown { .. }) {
                            let time = hop.service.0 / REFERENCE.0 as f64;
                            let links = &mut self.links;
                            let link = link_of.entry(hop.server).or_insert_with(|| {
                                links.push(Link { server: hop.server, time });
                                links.len() as u32 - 1
                            });
                            route.push(*link);
                        }
                    }
                }
                self.routes.push(route);
            }
        }
    }
}

/// The position of a value from `first` on, where it is added if it is not there.
fn position_or_push<T: PartialEq>(values: &mut Vec<T>, first: usize, value: T) -> usize {
    let position = values[first..].iter().position(|other| *other == value);
    position.map_or_else(
        || {
            values.push(value);
            values.len() - 1
        },
        |position| first + position,
    )
}

/// Places by site; sites are in the order of nodes.
struct Groups {
    /// Index: position in the list of places.
    of_place: Vec<u32>,
    /// Two ranks of each site, where the first may be at the same place as the second. They are on
    /// different cores if the site has several. Index: site.
    pairs: Vec<[At; 2]>,
    /// Whether a site differs from the one before it in its devices alone. Index: site.
    like_last: Vec<bool>,
}

/// A rank of a site: position in the list of places, and the core that it is taken to run on.
type At = (usize, CoreId);

/// What the places of a site have in common: node, memory, and package, NUMA node and cache of the core.
type Beside = (NodeId, NumaId, Option<(usize, NumaId, Option<u32>)>);

impl Groups {
    fn new(cluster: &Cluster, places: &[RankPlacement]) -> Self {
        // As if two unbound ranks were at each place.
        let both = places.iter().chain(places).map(|place| (place, false));
        let homes = homes(cluster, both);
        let (first, second) = homes.split_at(places.len());
        let beside = |place: &RankPlacement, home: CoreId| -> Beside {
            let core = cluster.machine(place.node).cores.get(home.index());
            let cache = core.map(|core| (core.package, core.numa, core.cache));
            (place.node, numa_at(cluster, place, home), cache)
        };
        // The number of each kind of place, in the order in which they are found.
        let mut found: BTreeMap<(Beside, &[String]), usize> = BTreeMap::new();
        let mut pairs: Vec<[usize; 2]> = Vec::new();
        let mut of_place: Vec<u32> = Vec::with_capacity(places.len());
        let mut last = None;
        for (index, place) in places.iter().enumerate() {
            let key = (beside(place, first[index]), place.nics.as_slice());
            // Places that follow each other are mostly alike.
            let kind = match last.filter(|(of_last, _)| *of_last == key) {
                Some((_, kind)) => kind,
                None => *found.entry(key).or_insert(pairs.len()),
            };
            last = Some((key, kind));
            match pairs.get_mut(kind) {
                None => pairs.push([index; 2]),
                Some([example, other]) if first[*other] == first[*example] => *other = index,
                Some(_) => {}
            }
            of_place.push(kind as u32);
        }
        let mut site_of_kind = vec![0; pairs.len()];
        found.values().zip(0..).for_each(|(kind, site)| site_of_kind[*kind] = site);
        of_place.iter_mut().for_each(|kind| *kind = site_of_kind[*kind as usize]);
        let pair = |kind: &usize| {
            let [example, other] = pairs[*kind];
            [(example, first[example]), (other, second[other])]
        };
        let mut last = None;
        let like_last =
            found.keys().map(|(beside, _)| last.replace(*beside) == Some(*beside)).collect();
        Self { of_place, pairs: found.values().map(pair).collect(), like_last }
    }

    /// The first and then the second ranks of all sites, unbound: they may share PUs.
    fn placement(
        &self,
        cluster: &Cluster,
        places: &[RankPlacement],
    ) -> Result<Placement, PlacementError> {
        let unbound = |(index, _): At| RankPlacement { bound: false, ..places[index].clone() };
        let ranks: Vec<RankPlacement> = self.in_order().map(unbound).collect();
        let shape = JobShape { name: "places".to_owned(), ranks: ranks.len() as u32 };
        let job = JobPlacement { name: shape.name.clone(), ranks };
        Placement::new(cluster, &[shape], "places", vec![job])
    }

    /// The cores of these ranks.
    fn homes(&self) -> Vec<CoreId> {
        self.in_order().map(|(_, home)| home).collect()
    }

    fn in_order(&self) -> impl Iterator<Item = At> {
        let nth = |nth: usize| self.pairs.iter().map(move |pair| pair[nth]);
        nth(0).chain(nth(1))
    }
}
