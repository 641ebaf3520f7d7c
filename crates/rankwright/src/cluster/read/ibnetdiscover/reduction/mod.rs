//! Reduces a fabric to a tree of switches.
//!
//! Switches that form a tree stay as they are; parallel links between two of them become one uplink
//! with their total rate. Otherwise switches are ranked by their distance from the hosts, and those
//! of one rank that reach the same switches below become one: the spines of a fat tree are one
//! switch, with the total rate of its links as the rate of each uplink. Links between switches of one
//! rank become links to a switch above them.

mod joined;
mod ranks;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use self::joined::Joined;
use super::Host;
use super::fabric::{Fabric, Kind};
use super::switch_names::names;
use crate::cluster::read::switch_order::children_first;
use crate::cluster::{Switch, SwitchTree, hostlist};
use crate::files::InputError;
use crate::units::BytesPerSecond;

/// Bytes per second each way; `None` if unknown.
type Rate = Option<f64>;

/// The tree for these hosts, sorted by the numbers in their names.
///
/// # Errors
/// If no link connects some of the hosts with the others, or the tree has too many levels.
pub(super) fn reduce(
    fabric: &Fabric,
    hosts: &BTreeMap<String, Host>,
    file: &str,
    losses: &mut Vec<String>,
) -> Result<SwitchTree, InputError> {
    let mut order: Vec<&String> = hosts.keys().collect();
    order.sort_by_key(|name| hostlist::numeric_order(name));
    let graph = Graph::new(fabric, hosts, losses);
    let group = |name: &String| hosts[name].switches(fabric).first().map(|s| graph.group_of[s]);
    check_connected(&graph, fabric, hosts, &order, file)?;
    let mut vertices = match graph.rooted() {
        Some(parents) => graph.tree(&parents),
        None => ranks::tree(&graph),
    };
    without_lonely_tops(&graph, &mut vertices);
    let parents: Vec<Option<usize>> = vertices.iter().map(|vertex| vertex.parent).collect();
    let mut kept = children_first(&parents).map_err(|error| {
        let (_, actual, expected) = error.described(|index| vertices[index].name.clone());
        InputError::new(file, actual, expected)
    })?;
    kept.retain(|index| !vertices[*index].absorbed);
    losses.extend(kept.iter().flat_map(|index| vertices[*index].losses.clone()));
    let mut position = vec![0; vertices.len()];
    kept.iter().enumerate().for_each(|(place, &index)| position[index] = place);
    let switch = |&index: &usize| Switch {
        name: vertices[index].name.clone(),
        parent: vertices[index].parent.map(|parent| position[parent]),
        uplink: vertices[index].parent.and(vertices[index].uplink).map(BytesPerSecond),
    };
    let unknown = vertices.iter().filter(|v| v.parent.is_some() && v.uplink.is_none()).count();
    if unknown > 0 {
        losses
            .push(format!("uplinks without a rate, because that of a link is unknown: {unknown}"));
    }
    let switches = kept.iter().map(switch).collect();
    let at = |name: &&String| ((*name).clone(), group(name).map(|group| position[group]));
    Ok(SwitchTree { switches, nodes: order.iter().map(at).collect() })
}

/// Names for a message; long lists are shortened.
fn listed(names: &[&str]) -> String {
    let all = hostlist::compress(names);
    match names {
        [first, .., last] if all.len() > 120 => {
            format!("{} switches from {first} to {last}", names.len())
        }
        _ => all,
    }
}

/// Removes top switches with a single switch below and no hosts.
fn without_lonely_tops(graph: &Graph, vertices: &mut [Vertex]) {
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); vertices.len()];
    for (index, vertex) in vertices.iter().enumerate() {
        vertex.parent.into_iter().for_each(|parent| below[parent].push(index));
    }
    let tops = (0..vertices.len()).filter(|v| vertices[*v].parent.is_none());
    let mut tops: Vec<usize> = tops.collect();
    while let Some(top) = tops.pop() {
        let has_hosts = graph.hosted.get(top).copied().unwrap_or(false);
        if let ([only], false) = (below[top].as_slice(), has_hosts) {
            vertices[top].absorbed = true;
            vertices[*only].parent = None;
            tops.push(*only);
        }
    }
}

/// A switch of the tree.
struct Vertex {
    name: String,
    /// Position among the vertices.
    parent: Option<usize>,
    uplink: Rate,
    /// Whether it is not part of the tree: another vertex replaces it, or it connects nothing.
    absorbed: bool,
    /// What is lost at it, a sentence each.
    losses: Vec<String>,
}

impl Vertex {
    fn new(name: String) -> Self {
        Self { name, parent: None, uplink: None, absorbed: false, losses: Vec::new() }
    }
}

/// `rails-1`, with the lowest number that gives a new name.
fn new_name<'a>(start: &str, taken: impl Iterator<Item = &'a String>) -> String {
    let taken: BTreeSet<&String> = taken.collect();
    let mut names = (0..=taken.len()).map(|number| format!("{start}-{number}"));
    names.find(|name| !taken.contains(name)).unwrap_or_default()
}

/// The switches between the hosts. Switches that a host has links to form one group.
struct Graph {
    /// By group.
    names: Vec<String>,
    /// Group of each switch, by its position in [`Fabric::devices`].
    group_of: BTreeMap<usize, usize>,
    /// By group: whether hosts are attached.
    hosted: Vec<bool>,
    /// By pair of groups, the lower one first: the rate of all links between them.
    links: BTreeMap<(usize, usize), Rate>,
}

impl Graph {
    fn new(fabric: &Fabric, hosts: &BTreeMap<String, Host>, losses: &mut Vec<String>) -> Self {
        let at_switches: Vec<BTreeSet<usize>> =
            hosts.values().map(|host| host.switches(fabric)).collect();
        let hosted: BTreeSet<usize> = at_switches.iter().flatten().copied().collect();
        let kept = without_dead_ends(fabric, &hosted, losses);
        let names = names(fabric);
        let mut order: Vec<usize> = kept;
        order.sort_by_key(|switch| hostlist::numeric_order(&names[switch]));
        let place: BTreeMap<usize, usize> = order.iter().copied().zip(0..).collect();
        let mut joined = Joined::new(order.len());
        for switches in &at_switches {
            let mut places = switches.iter().map(|switch| place[switch]);
            if let Some(first) = places.next() {
                places.for_each(|other| joined.join(first, other));
            }
        }
        let mut graph = Self {
            names: Vec::new(),
            group_of: BTreeMap::new(),
            hosted: Vec::new(),
            links: BTreeMap::new(),
        };
        for members in joined.groups() {
            let all: Vec<&str> = members.iter().map(|m| names[&order[*m]].as_str()).collect();
            let name = match all.as_slice() {
                [only] => (*only).to_owned(),
                several => {
                    let name = new_name("rails", names.values().chain(&graph.names));
                    losses.push(format!(
                        "hosts have links to several of {}: they are taken as one switch, {name}; \
                         which device reaches which of them is lost",
                        listed(several)
                    ));
                    name
                }
            };
            for member in &members {
                graph.group_of.insert(order[*member], graph.names.len());
            }
            graph.hosted.push(members.iter().any(|member| hosted.contains(&order[*member])));
            graph.names.push(name);
        }
        graph.add_links(fabric, losses);
        graph
    }

    fn add_links(&mut self, fabric: &Fabric, losses: &mut Vec<String>) {
        let mut inside = 0;
        for (a, b, rate) in fabric.trunks() {
            let (Some(&a), Some(&b)) = (self.group_of.get(&a), self.group_of.get(&b)) else {
                continue;
            };
            if a == b {
                inside += 1;
                continue;
            }
            let link = self.links.entry((a.min(b), a.max(b))).or_insert(Some(0.0));
            *link = link.zip(rate).map(|(sum, rate)| sum + rate.0);
        }
        if inside > 0 {
            losses.push(format!("links between switches that are taken as one are lost: {inside}"));
        }
    }

    fn neighbours(&self) -> Vec<Vec<usize>> {
        let mut neighbours = vec![Vec::new(); self.names.len()];
        for &(a, b) in self.links.keys() {
            neighbours[a].push(b);
            neighbours[b].push(a);
        }
        neighbours
    }

    /// By group: the group above, if the links form a tree. The root is the centre of the tree; of two
    /// centres, one without hosts.
    fn rooted(&self) -> Option<Vec<Option<usize>>> {
        let neighbours = self.neighbours();
        let count = self.names.len();
        // All groups are connected, so they are a tree with one link less than groups.
        if count > 0 && self.links.len() + 1 != count {
            return None;
        }
        let mut degree: Vec<usize> = neighbours.iter().map(Vec::len).collect();
        let mut left: BTreeSet<usize> = (0..count).collect();
        while left.len() > 2 {
            let ends: Vec<usize> = left.iter().copied().filter(|v| degree[*v] <= 1).collect();
            for end in ends {
                left.remove(&end);
                neighbours[end].iter().for_each(|other| degree[*other] -= 1);
            }
        }
        let mut parents = vec![None; count];
        let root = left.into_iter().min_by_key(|vertex| (self.hosted[*vertex], *vertex));
        let mut waiting: VecDeque<usize> = root.into_iter().collect();
        while let Some(vertex) = waiting.pop_front() {
            let above = parents[vertex];
            for &below in neighbours[vertex].iter().filter(|next| Some(**next) != above) {
                parents[below] = Some(vertex);
                waiting.push_back(below);
            }
        }
        Some(parents)
    }

    fn tree(&self, parents: &[Option<usize>]) -> Vec<Vertex> {
        let vertex = |(index, parent): (usize, &Option<usize>)| Vertex {
            parent: *parent,
            uplink: parent.and_then(|above| self.links[&(index.min(above), index.max(above))]),
            ..Vertex::new(self.names[index].clone())
        };
        parents.iter().enumerate().map(vertex).collect()
    }
}

/// The switches with hosts, and those on paths between them.
fn without_dead_ends(
    fabric: &Fabric,
    hosted: &BTreeSet<usize>,
    losses: &mut Vec<String>,
) -> Vec<usize> {
    let switches = (0..fabric.devices.len()).filter(|d| fabric.devices[*d].kind == Kind::Switch);
    let mut neighbours: BTreeMap<usize, BTreeSet<usize>> =
        switches.map(|switch| (switch, BTreeSet::new())).collect();
    for (a, b, _) in fabric.trunks() {
        neighbours.entry(a).or_default().insert(b);
        neighbours.entry(b).or_default().insert(a);
    }
    let all = neighbours.len();
    let mut reached = hosted.clone();
    let mut waiting: Vec<usize> = hosted.iter().copied().collect();
    while let Some(switch) = waiting.pop() {
        waiting.extend(neighbours[&switch].iter().filter(|next| reached.insert(**next)));
    }
    neighbours.retain(|switch, _| reached.contains(switch));
    let is_end = |neighbours: &BTreeMap<usize, BTreeSet<usize>>, switch: &usize| {
        !hosted.contains(switch) && neighbours.get(switch).is_some_and(|n| n.len() < 2)
    };
    let mut ends: Vec<usize> =
        neighbours.keys().copied().filter(|switch| is_end(&neighbours, switch)).collect();
    while let Some(end) = ends.pop() {
        for other in neighbours.remove(&end).into_iter().flatten() {
            if let Some(left) = neighbours.get_mut(&other) {
                left.remove(&end);
            }
            if is_end(&neighbours, &other) {
                ends.push(other);
            }
        }
    }
    let dropped = all - neighbours.len();
    if dropped > 0 {
        losses.push(format!("switches that connect none of the hosts are left out: {dropped}"));
    }
    neighbours.into_keys().collect()
}

/// Refuses hosts that cannot reach each other.
fn check_connected(
    graph: &Graph,
    fabric: &Fabric,
    hosts: &BTreeMap<String, Host>,
    order: &[&String],
    file: &str,
) -> Result<(), InputError> {
    let mut joined = Joined::new(graph.names.len() + order.len());
    graph.links.keys().for_each(|(a, b)| joined.join(*a, *b));
    let mut host_of = BTreeMap::new();
    for (index, name) in order.iter().enumerate() {
        let adapters = hosts[*name].adapters.iter();
        host_of.extend(adapters.map(|adapter| (*adapter, graph.names.len() + index)));
    }
    for (adapter, host) in &host_of {
        for peer in fabric.peers(*adapter) {
            // Two adapters may be linked without a switch.
            let other = graph.group_of.get(&peer).or_else(|| host_of.get(&peer));
            other.into_iter().for_each(|other| joined.join(*host, *other));
        }
    }
    let mut roots = order
        .iter()
        .enumerate()
        .map(|(index, name)| (joined.root(graph.names.len() + index), *name));
    let first = roots.next();
    let other = roots.find(|(root, _)| first.is_some_and(|(first, _)| first != *root));
    let (Some((_, first)), Some((_, other))) = (first, other) else {
        return Ok(());
    };
    let actual = format!("the hosts `{first}` and `{other}`, which no link connects");
    let error = InputError::new(file, actual, "one fabric, or hosts with adapters in each");
    Err(error.with_advice("name the hosts of one fabric with --only"))
}
