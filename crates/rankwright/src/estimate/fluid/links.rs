//! The finite links in the order in which the fluid passes them.

use crate::ids::ServerId;
use crate::network::Sites;

/// The finite links between all nodes with sites.
#[derive(Debug, Clone)]
pub(super) struct Links {
    /// Each link comes after those that messages pass before it.
    pub(super) links: Vec<Link>,
    /// Positions in `links` in the order of passing. Index: receiving node × nodes + sending node.
    routes: Vec<Vec<u32>>,
    nodes: usize,
}

/// A finite link between switches, in one direction.
#[derive(Debug, Clone)]
pub(super) struct Link {
    pub(super) server: ServerId,
    /// Seconds per byte.
    pub(super) time: f64,
    pub(super) users: Vec<LinkUser>,
}

/// A pair of nodes whose messages pass a link.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinkUser {
    /// Receiving node × nodes + sending node.
    pub(super) pair: u32,
    /// The link before this one, a position in [`Links::links`]; `None` if the messages come from the
    /// network device.
    pub(super) before: Option<u32>,
}

impl Links {
    pub(super) fn new(sites: &Sites) -> Self {
        let order = passing_order(sites);
        let mut position = vec![0_u32; order.len()];
        let mut links = Vec::with_capacity(order.len());
        for (number, link) in order.iter().zip(0..) {
            position[*number] = link;
            let link = sites.links[*number];
            links.push(Link { server: link.server, time: link.time, users: Vec::new() });
        }
        // Without links no route is looked up.
        let nodes = if links.is_empty() { 0 } else { sites.nodes.len() };
        let mut routes = Vec::with_capacity(nodes * nodes);
        for into in 0..nodes {
            for from in 0..nodes {
                let route = sites.route(from, into).iter();
                let route: Vec<u32> = route.map(|link| position[*link as usize]).collect();
                let before = std::iter::once(None).chain(route.iter().copied().map(Some));
                for (link, before) in route.iter().zip(before) {
                    let pair = (into * nodes + from) as u32;
                    links[*link as usize].users.push(LinkUser { pair, before });
                }
                routes.push(route);
            }
        }
        Self { links, routes, nodes }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// The links to a node from every node, by sending node; positions in `links` in the order of
    /// passing.
    pub(super) fn routes_to(&self, node: usize) -> &[Vec<u32>] {
        &self.routes[node * self.nodes..][..self.nodes]
    }
}

/// The positions in [`Sites::links`] so that each link comes after those that messages pass before it.
fn passing_order(sites: &Sites) -> Vec<usize> {
    let count = sites.links.len();
    // The length of the longest chain of links before each.
    let mut depth = vec![0_usize; count];
    // A tree is done after as many passes as it has levels of links.
    for _ in 0..count {
        let mut changed = false;
        for pair in sites.routes().iter().flat_map(|route| route.windows(2)) {
            let (before, link) = (pair[0] as usize, pair[1] as usize);
            let deeper = depth[link].max(depth[before] + 1).min(count);
            changed |= deeper != depth[link];
            depth[link] = deeper;
        }
        if !changed {
            break;
        }
    }
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|link| (depth[*link], *link));
    order
}
