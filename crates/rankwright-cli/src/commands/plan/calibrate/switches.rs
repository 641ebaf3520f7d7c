//! How many levels of switches messages between two nodes climb.

use rankwright::cluster::Cluster;
use rankwright::ids::NodeId;

/// A pair of nodes for each height of the lowest switch above both, and that height.
pub(super) fn across(cluster: &Cluster) -> Vec<(&str, &str, u32)> {
    let first = NodeId(0);
    let mut pairs: Vec<(&str, &str, u32)> = Vec::new();
    for second in cluster.node_ids().skip(1) {
        let Some(height) = cluster.common_switch_height(first, second) else { continue };
        if pairs.iter().all(|(_, _, known)| *known != height) {
            pairs.push((&cluster.node(first).name, &cluster.node(second).name, height));
        }
    }
    pairs
}
