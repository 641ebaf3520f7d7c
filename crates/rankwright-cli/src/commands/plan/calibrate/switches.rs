//! How many levels of switches messages between two nodes climb.

use rankwright::cluster::Cluster;

/// A pair of nodes for each height of the lowest switch above both, and that height.
pub(super) fn across(cluster: &Cluster) -> Vec<(&str, &str, u32)> {
    let first = &cluster.nodes[0];
    let mut pairs: Vec<(&str, &str, u32)> = Vec::new();
    for second in &cluster.nodes[1..] {
        let Some(height) = common_height(cluster, first.switch, second.switch) else { continue };
        if pairs.iter().all(|(_, _, known)| *known != height) {
            pairs.push((&first.name, &second.name, height));
        }
    }
    pairs
}

/// The height of the lowest switch above both, from 1.
pub(super) fn common_height(
    cluster: &Cluster,
    first: Option<usize>,
    second: Option<usize>,
) -> Option<u32> {
    let above = |switch: Option<usize>| {
        std::iter::successors(switch, |switch| cluster.switches[*switch].parent)
    };
    let others: Vec<usize> = above(second).collect();
    let height = above(first).position(|switch| others.contains(&switch))?;
    u32::try_from(height + 1).ok()
}
