//! The servers of a cluster in the order in which the fluid passes them.

use std::ops::Range;
use std::sync::Arc;

use crate::ids::ServerId;
use crate::network::sites::{Local, Site, Sites};

/// Positions of servers by their part.
#[derive(Debug, Clone)]
pub(super) struct Network {
    pub(super) sites: Vec<Site>,
    pub(super) node_sites: Vec<Range<usize>>,
    /// As in [`Sites::local`].
    pub(super) local: Vec<Vec<Arc<[Local]>>>,
    /// Bytes.
    pub(super) lengths: Vec<f64>,
    /// Memories, node by node.
    pub(super) memories: Vec<ServerId>,
    pub(super) node_memories: Vec<Range<usize>>,
    /// Per site, position in `memories`.
    pub(super) memory_of: Vec<usize>,
    /// Network devices, node by node: the servers out and into.
    pub(super) ports: Vec<(ServerId, ServerId)>,
    pub(super) node_ports: Vec<Range<usize>>,
    /// Per site: positions in `ports`, shares of its messages, and seconds per byte.
    pub(super) ports_of: Vec<Vec<(usize, f64, f64)>>,
    /// Finite links: each comes after those that messages pass before it.
    pub(super) links: Vec<Link>,
    /// Per receiving node and sending node the links between them, in the order of passing.
    pub(super) routes: Vec<Vec<u32>>,
}

/// A link between switches.
#[derive(Debug, Clone)]
pub(super) struct Link {
    pub(super) server: ServerId,
    /// Seconds per byte.
    pub(super) time: f64,
    /// What passes it: receiving node times nodes plus sending node, and the link before.
    pub(super) pairs: Vec<(u32, Option<u32>)>,
}

impl Network {
    pub(super) fn new(sites: &Sites, lengths: &[u64]) -> Self {
        let mut network = Self {
            sites: sites.sites.clone(),
            node_sites: sites.nodes.clone(),
            local: sites.local.clone(),
            lengths: lengths.iter().map(|length| *length as f64).collect(),
            memories: Vec::new(),
            node_memories: Vec::new(),
            memory_of: Vec::new(),
            ports: Vec::new(),
            node_ports: Vec::new(),
            ports_of: Vec::new(),
            links: Vec::new(),
            routes: Vec::new(),
        };
        for node in &sites.nodes {
            let (memories, ports) = (network.memories.len(), network.ports.len());
            for site in &sites.sites[node.clone()] {
                network.add(site);
            }
            network.node_memories.push(memories..network.memories.len());
            network.node_ports.push(ports..network.ports.len());
        }
        network.add_links(sites);
        network
    }

    fn add(&mut self, site: &Site) {
        let known = self.memories.iter().position(|memory| *memory == site.memory);
        self.memory_of.push(known.unwrap_or(self.memories.len()));
        if known.is_none() {
            self.memories.push(site.memory);
        }
        let mut of_site = Vec::new();
        for port in &site.ports {
            let known = self.ports.iter().position(|known| known.0 == port.out);
            of_site.push((known.unwrap_or(self.ports.len()), port.share, port.time));
            if known.is_none() {
                self.ports.push((port.out, port.into));
            }
        }
        self.ports_of.push(of_site);
    }

    fn add_links(&mut self, sites: &Sites) {
        // How many links can lie before each.
        let mut depth = vec![0_usize; sites.links.len()];
        for _ in 0..sites.links.len() {
            for pair in sites.routes.iter().flat_map(|route| route.windows(2)) {
                let (before, link) = (pair[0] as usize, pair[1] as usize);
                depth[link] = depth[link].max(depth[before] + 1).min(sites.links.len());
            }
        }
        let mut order: Vec<usize> = (0..sites.links.len()).collect();
        order.sort_by_key(|link| (depth[*link], *link));
        let mut position = vec![0_u32; order.len()];
        for (number, link) in order.iter().zip(0..) {
            position[*number] = link;
            let (server, time) = sites.links[*number];
            self.links.push(Link { server, time, pairs: Vec::new() });
        }
        let nodes = self.nodes();
        for into in 0..nodes {
            for from in 0..nodes {
                let route = sites.routes[from * nodes + into].iter();
                let route: Vec<u32> = route.map(|link| position[*link as usize]).collect();
                let before = std::iter::once(None).chain(route.iter().copied().map(Some));
                for (link, before) in route.iter().zip(before) {
                    let pair = (into * nodes + from) as u32;
                    self.links[*link as usize].pairs.push((pair, before));
                }
                self.routes.push(route);
            }
        }
    }

    pub(super) fn nodes(&self) -> usize {
        self.node_sites.len()
    }
}
