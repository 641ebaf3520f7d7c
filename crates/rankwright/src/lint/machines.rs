//! Hosts of a file, looked up in the cluster.

use std::collections::HashMap;

use crate::cluster::{Cluster, Machine, NodeGroup};
use crate::ids::{CoreId, NodeId, PuSet};

/// The cluster's machines by host name; empty without a cluster.
pub(super) struct Machines<'a> {
    cluster: Option<&'a Cluster>,
    by_name: HashMap<&'a str, NodeId>,
    /// By the name up to the first dot; `None` if several hosts share it.
    by_short_name: HashMap<&'a str, Option<NodeId>>,
}

impl<'a> Machines<'a> {
    pub(super) fn new(cluster: Option<&'a Cluster>) -> Self {
        let mut by_name = HashMap::new();
        let mut by_short_name = HashMap::new();
        if let Some(cluster) = cluster {
            for (id, node) in cluster.node_ids().zip(&cluster.nodes) {
                by_name.insert(node.name.as_str(), id);
                by_short_name
                    .entry(short(&node.name))
                    .and_modify(|node| *node = None)
                    .or_insert(Some(id));
            }
        }
        Self { cluster, by_name, by_short_name }
    }

    /// The cluster, if there is one.
    pub(super) fn cluster(&self) -> Option<&'a Cluster> {
        self.cluster
    }

    /// The node of this host; `localhost` is the node of a cluster that has only one.
    pub(super) fn find(&self, host: &str) -> Option<NodeId> {
        let by_name = self.by_name.get(host).copied();
        let node = by_name.or_else(|| self.by_short_name.get(short(host)).copied().flatten());
        let here = ["localhost", "127.0.0.1", "::1"].contains(&host);
        node.or_else(|| (here && self.by_name.len() == 1).then_some(NodeId(0)))
    }

    /// The machine of this host.
    pub(super) fn machine(&self, host: &str) -> Option<&'a Machine> {
        Some(self.cluster?.machine(self.find(host)?))
    }

    /// The machine of this host, with the PUs that jobs may use.
    pub(super) fn group(&self, host: &str) -> Option<&'a NodeGroup> {
        Some(self.cluster?.group(self.find(host)?))
    }
}

/// A host name up to its first dot; an address unchanged.
pub(super) fn short(host: &str) -> &str {
    if host.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return host;
    }
    host.split('.').next().unwrap_or_default()
}

/// The PUs of these cores; none of a core that does not exist.
pub(super) fn pus_of(machine: &Machine, cores: &[CoreId]) -> PuSet {
    let cores = cores.iter().filter_map(|core| machine.cores.get(core.index()));
    cores.flat_map(|core| core.pus.iter().copied()).collect()
}

/// A host name with its numbers as numbers, to be compared: `n9` is before `n10`.
pub(super) fn natural(name: &str) -> Vec<(String, u64)> {
    let mut parts: Vec<(String, u64)> = Vec::new();
    let mut digits = false;
    for letter in name.chars() {
        match letter.to_digit(10) {
            Some(digit) => {
                if parts.is_empty() {
                    parts.push((String::new(), 0));
                }
                if let Some((_, number)) = parts.last_mut() {
                    *number = number.saturating_mul(10).saturating_add(u64::from(digit));
                }
                digits = true;
            }
            None => {
                if digits || parts.is_empty() {
                    parts.push((String::new(), 0));
                }
                if let Some((text, _)) = parts.last_mut() {
                    text.push(letter);
                }
                digits = false;
            }
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_in_the_order_of_their_numbers() {
        let mut names = ["n10", "n9", "a", "n1b2", "n1b10", "7"];
        names.sort_by_key(|name| natural(name));
        assert_eq!(names, ["7", "a", "n1b2", "n1b10", "n9", "n10"]);
    }
}
