//! Which nodes of a cluster a job gets, where it may have only some.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::cluster::read::hostfile::{self, HostsError};
use crate::cluster::{Cluster, hostlist};
use crate::placement::{Granularity, RanksPer, slots_by_node};

/// The cluster of at most `most` of these nodes, in the given order; the cluster itself if it has no more.
///
/// Of all sets of nodes below one switch that are large enough for `ranks`, a set below the lowest switch
/// is taken; among equals the fastest nodes ([`speed`](crate::cluster::NodeGroup::speed)), then the first
/// ones. Where no set is large enough, the nodes with the most slots are taken.
///
/// # Panics
/// If `most` is 0.
#[must_use]
pub fn nearest_nodes(
    cluster: &Cluster,
    granularity: &Granularity,
    ranks: usize,
    most: usize,
) -> Cluster {
    nearest(cluster, granularity, ranks, (1, most))
}

/// Exactly `count` nodes of a cluster, or all if it has fewer, chosen by the rules of [`nearest_nodes`].
///
/// # Panics
/// If `count` is 0.
#[must_use]
pub fn nearest_of_number(
    cluster: &Cluster,
    granularity: &Granularity,
    ranks: usize,
    count: usize,
) -> Cluster {
    nearest(cluster, granularity, ranks, (count, count))
}

fn nearest(
    cluster: &Cluster,
    granularity: &Granularity,
    ranks: usize,
    (least, most): (usize, usize),
) -> Cluster {
    assert!(most > 0, "a cluster has at least one node");
    if cluster.nodes.len() <= most {
        return cluster.clone();
    }
    let slots = slots_by_node(cluster, granularity);
    let speed = |node: usize| cluster.groups[cluster.nodes[node].group].speed;
    let room = |nodes: &[usize]| nodes.iter().map(|node| slots[*node]).sum::<usize>();
    let fastest = |nodes: &[usize]| {
        let mut by_speed: Vec<usize> =
            nodes.iter().copied().filter(|node| slots[*node] > 0).collect();
        by_speed.sort_by(|a, b| speed(*b).total_cmp(&speed(*a)).then(a.cmp(b)));
        by_speed.truncate(most);
        by_speed
    };
    let largest = |nodes: &[usize]| {
        let mut by_room = nodes.to_vec();
        by_room.sort_by_key(|node| (Reverse(slots[*node]), *node));
        by_room.truncate(most);
        by_room
    };
    let all: Vec<usize> = (0..cluster.nodes.len()).collect();
    let enough =
        |nodes: Vec<usize>| (nodes.len() >= least && room(&nodes) >= ranks).then_some(nodes);
    let chosen_below = |(height, nodes): &(usize, Vec<usize>)| {
        let chosen = enough(fastest(nodes)).or_else(|| enough(largest(nodes)))?;
        Some((*height, chosen.iter().map(|node| speed(*node)).sum::<f64>(), chosen))
    };
    let mut below: Vec<(usize, Vec<usize>)> = below_switches(cluster);
    below.push((usize::MAX, all.clone()));
    let sets = below.iter().filter_map(chosen_below);
    // The first of equals.
    let best =
        sets.reduce(|best, next| match next.0.cmp(&best.0).then(best.1.total_cmp(&next.1)) {
            std::cmp::Ordering::Less => next,
            _ => best,
        });
    let mut chosen = best.map_or_else(|| largest(&all), |(_, _, nodes)| nodes);
    chosen.sort_unstable();
    let names = chosen.iter().map(|node| cluster.nodes[*node].name.as_str());
    hostfile::part(cluster, names).expect("nodes of a valid cluster")
}

/// Why nodes cannot be selected by name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NamedNodesError {
    /// The cluster has no nodes of these names.
    #[error("`{cluster}` has no {missing}; it has {has}")]
    Missing {
        /// The cluster.
        cluster: String,
        /// The names, as a hostlist.
        missing: String,
        /// The names of its nodes, as a hostlist.
        has: String,
    },
    /// The names contradict each other.
    #[error(transparent)]
    Invalid(#[from] HostsError),
}

/// The cluster of the nodes of these names, in this order.
///
/// # Errors
/// If the cluster lacks one of the nodes, or the names contradict each other.
pub fn named_nodes(cluster: &Cluster, names: &[String]) -> Result<Cluster, NamedNodesError> {
    let missing: Vec<&String> =
        names.iter().filter(|name| cluster.find_node(name).is_none()).collect();
    if !missing.is_empty() {
        let all: Vec<&str> = cluster.nodes.iter().map(|node| node.name.as_str()).collect();
        return Err(NamedNodesError::Missing {
            cluster: cluster.name.clone(),
            missing: hostlist::compress(&missing),
            has: hostlist::compress(&all),
        });
    }
    let found = names.iter().filter_map(|name| cluster.find_node(name));
    Ok(hostfile::part(cluster, found.map(|node| cluster.node(node).name.as_str()))?)
}

/// How many nodes of a cluster are of use for `ranks`: all of them; where the number of ranks per object is
/// given, no more than these need. Ranks that are given node by node keep all.
#[must_use]
pub fn useful_nodes(cluster: &Cluster, granularity: &Granularity, ranks: usize) -> usize {
    match granularity {
        Granularity::Part { ranks: per, .. } if !matches!(per, RanksPer::NodeByNode(_)) => {
            fewest_nodes(cluster, granularity, ranks)
        }
        _ => cluster.nodes.len(),
    }
}

/// The fewest nodes of a cluster that have room for `ranks`; all of them if there are too few slots.
fn fewest_nodes(cluster: &Cluster, granularity: &Granularity, ranks: usize) -> usize {
    let mut slots = slots_by_node(cluster, granularity);
    slots.sort_unstable_by_key(|slots| Reverse(*slots));
    let mut room = 0;
    let full = slots.iter().take_while(|slots| {
        let needed = room < ranks;
        room += **slots;
        needed
    });
    full.count().max(1)
}

/// For each switch its height above the nodes, from 0, and the nodes below it.
fn below_switches(cluster: &Cluster) -> Vec<(usize, Vec<usize>)> {
    let mut below: BTreeMap<usize, (usize, Vec<usize>)> = BTreeMap::new();
    for (node, described) in cluster.nodes.iter().enumerate() {
        let (mut switch, mut height) = (described.switch, 0);
        while let Some(index) = switch {
            let (highest, nodes) = below.entry(index).or_default();
            *highest = height.max(*highest);
            nodes.push(node);
            switch = cluster.switches[index].parent;
            height += 1;
        }
    }
    below.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::read::toml;

    /// Two leaf switches with four nodes each; the nodes of the second have two and eight cores.
    const CLUSTER: &str = r#"
        [[node]]
        names = "a[0-3]"
        topology = "core:4 pu:1"
        [[node]]
        names = "b[0-1]"
        topology = "core:2 pu:1"
        [[node]]
        names = "c[0-1]"
        topology = "core:8 pu:1"
        [[switch]]
        name = "left"
        nodes = "a[0-3]"
        [[switch]]
        name = "right"
        nodes = "b[0-1],c[0-1]"
        [[switch]]
        name = "top"
        switches = "left,right"
    "#;

    fn chosen(ranks: usize, most: usize) -> String {
        let cluster = toml::parse(CLUSTER, "c.toml", std::path::Path::new("")).unwrap();
        let chosen = nearest_nodes(&cluster, &Granularity::Cores(1), ranks, most);
        let names: Vec<&str> = chosen.nodes.iter().map(|node| node.name.as_str()).collect();
        names.join(" ")
    }

    #[test]
    fn nodes_below_one_switch_are_taken_where_they_suffice() {
        assert_eq!(chosen(8, 2), "a0 a1");
        assert_eq!(chosen(16, 4), "a0 a1 a2 a3");
        // Two nodes with room for all are only on the right.
        assert_eq!(chosen(16, 2), "c0 c1");
        assert_eq!(chosen(20, 4), "b0 b1 c0 c1");
        // Both switches are needed.
        assert_eq!(chosen(24, 4), "a0 a1 c0 c1");
        assert_eq!(chosen(1, 8), "a0 a1 a2 a3 b0 b1 c0 c1");
        // Six nodes are below no single leaf.
        let cluster = toml::parse(CLUSTER, "c.toml", std::path::Path::new("")).unwrap();
        let six = nearest_of_number(&cluster, &Granularity::Cores(1), 8, 6);
        assert_eq!((six.nodes.len(), chosen(8, 6).as_str()), (6, "a0 a1 a2 a3"));
    }

    #[test]
    fn nodes_are_taken_by_name_in_the_given_order() {
        let cluster = toml::parse(CLUSTER, "c.toml", std::path::Path::new("")).unwrap();
        let named = |text: &str| named_nodes(&cluster, &hostlist::expand(text).unwrap());
        let part = named("c1,a[0-1]").unwrap();
        let names: Vec<&str> = part.nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!((names, part.switches.len()), (vec!["c1", "a0", "a1"], 3));
        let missing = named("a3,a[7-9]").unwrap_err().to_string();
        assert!(missing.contains("has no a[7-9]; it has a[0-3],b[0-1],c[0-1]"), "{missing}");
    }

    #[test]
    fn with_ranks_per_node_no_more_nodes_are_of_use_than_these_need() {
        let cluster = toml::parse(CLUSTER, "c.toml", std::path::Path::new("")).unwrap();
        let two = std::num::NonZeroU32::new(2).unwrap();
        let per_node = |ranks| Granularity::Part { ranks, share: crate::placement::Share::Cores };
        assert_eq!(useful_nodes(&cluster, &per_node(RanksPer::Node(two)), 7), 4);
        assert_eq!(useful_nodes(&cluster, &per_node(RanksPer::NodeByNode(vec![2; 8])), 7), 8);
        assert_eq!(useful_nodes(&cluster, &Granularity::Cores(1), 7), 8);
    }

    #[test]
    fn the_nodes_with_most_room_are_taken_where_none_suffice() {
        assert_eq!(chosen(100, 3), "a0 c0 c1");
    }
}
