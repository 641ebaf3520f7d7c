//! The finite links in the order in which the fluid passes them.

use super::used_nodes::UsedNodes;
use crate::ids::ServerId;
use crate::network::Sites;

/// The finite links between all nodes with sites.
#[derive(Debug, Clone)]
pub(super) struct Links {
    /// Each link comes after those that messages pass before it.
    pub(super) links: Vec<Link>,
    /// Positions in `links` in the order of passing. Index: as [`Sites::routes`].
    routes: Vec<Vec<u32>>,
}

/// A finite link between switches, in one direction.
#[derive(Debug, Clone)]
pub(super) struct Link {
    pub(super) server: ServerId,
    /// Seconds per byte.
    pub(super) time: f64,
}

impl Links {
    pub(super) fn new(sites: &Sites) -> Self {
        let order = passing_order(sites);
        let mut position = vec![0_u32; order.len()];
        let mut links = Vec::with_capacity(order.len());
        for (number, link) in order.iter().zip(0..) {
            position[*number] = link;
            let link = sites.links[*number];
            links.push(Link { server: link.server, time: link.time });
        }
        let positions =
            |route: &Vec<u32>| route.iter().map(|link| position[*link as usize]).collect();
        Self { links, routes: sites.routes().iter().map(positions).collect() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// The links between two nodes, positions in `links` in the order of passing.
    pub(super) fn route(&self, sites: &Sites, from: usize, into: usize) -> &[u32] {
        &self.routes[sites.route_number(from, into)]
    }
}

/// Two nodes between which messages go, at a link that these pass.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinkUser {
    /// The row of the receiving node × used nodes + the row of the sending node.
    pub(super) pair: u32,
    /// The link before this one, as [`PassedLinks`] numbers them; `None` if the messages come from the
    /// network device.
    pub(super) before: Option<u32>,
}

/// The links that the messages of a mapping pass, and the pairs of used nodes between which these go.
/// An evaluation walks these alone, so that it does not grow with the cluster.
#[derive(Debug, Clone, Default)]
pub(super) struct PassedLinks {
    /// Positions in [`Links::links`], ascending. The index is the number of a link here.
    links: Vec<u32>,
    /// Index: position in [`Links::links`].
    numbers: Vec<Option<u32>>,
    /// The users of all links, by link, and then by pair.
    users: Vec<LinkUser>,
    /// Where the users of each link end. Index: as `links`.
    user_ends: Vec<usize>,
    /// The sending node (row) and the last link of each pair, by receiving node and then by sending node.
    senders: Vec<(u32, Option<u32>)>,
    /// Where the senders to each used node end. Index: row.
    sender_ends: Vec<usize>,
}

impl PassedLinks {
    /// Finds the links and pairs. `has_messages`: whether a row of receivers has messages from a row of
    /// senders.
    pub(super) fn find(
        &mut self,
        links: &Links,
        sites: &Sites,
        used: &UsedNodes,
        has_messages: impl Fn(usize, usize) -> bool,
    ) {
        self.clear(links.links.len());
        if links.is_empty() {
            return;
        }
        let nodes = used.nodes();
        for (into, receiver) in nodes.iter().enumerate() {
            for from in (0..nodes.len()).filter(|from| has_messages(into, *from)) {
                let route = links.route(sites, nodes[from], *receiver);
                for link in route {
                    *self.numbers[*link as usize].get_or_insert(0) += 1;
                }
                // The position of the link: its number is not known before all pairs are.
                self.senders.push((from as u32, route.last().copied()));
            }
            self.sender_ends.push(self.senders.len());
        }
        let mut end = 0;
        for (position, number) in (0..).zip(&mut self.numbers) {
            if let Some(count) = number {
                self.user_ends.push(end);
                end += *count as usize;
                *count = self.links.len() as u32;
                self.links.push(position);
            }
        }
        self.users.resize(end, LinkUser { pair: 0, before: None });
        let mut begin = 0;
        for (into, receiver) in nodes.iter().enumerate() {
            for (from, last) in &mut self.senders[begin..self.sender_ends[into]] {
                let pair = (into * nodes.len()) as u32 + *from;
                let mut before = None;
                for link in links.route(sites, nodes[*from as usize], *receiver) {
                    let number = self.numbers[*link as usize];
                    let end = &mut self.user_ends[number.expect("counted above") as usize];
                    self.users[*end] = LinkUser { pair, before };
                    *end += 1;
                    before = number;
                }
                *last = before;
            }
            begin = self.sender_ends[into];
        }
    }

    fn clear(&mut self, links: usize) {
        self.links.clear();
        self.numbers.clear();
        self.numbers.resize(links, None);
        self.users.clear();
        self.user_ends.clear();
        self.senders.clear();
        self.sender_ends.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.links.len()
    }

    /// Each link with its number, in the order of passing.
    pub(super) fn links<'a>(&'a self, links: &'a Links) -> impl Iterator<Item = (usize, &'a Link)> {
        self.links.iter().map(|link| &links.links[*link as usize]).enumerate()
    }

    /// The number of the link at a position in [`Links::links`]; `None` without messages.
    pub(super) fn number(&self, position: u32) -> Option<usize> {
        self.numbers[position as usize].map(|number| number as usize)
    }

    /// The users of a link, by pair.
    pub(super) fn users(&self, number: usize) -> &[LinkUser] {
        &self.users[part(&self.user_ends, number)]
    }

    /// The rows of the nodes that send to a used node, ascending, with the last link from each.
    pub(super) fn senders(&self, into: usize) -> &[(u32, Option<u32>)] {
        &self.senders[part(&self.sender_ends, into)]
    }
}

/// The range of a part, of parts that follow each other.
fn part(ends: &[usize], number: usize) -> std::ops::Range<usize> {
    let begin = number.checked_sub(1).map_or(0, |before| ends[before]);
    begin..ends[number]
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
