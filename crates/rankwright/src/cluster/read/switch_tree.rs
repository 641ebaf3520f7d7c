//! Switches with the nodes at them, before it is known what the nodes look like.

use super::hostfile::{self, Host};
use crate::cluster::{Cluster, Switch};

/// Switches and the nodes at them.
#[derive(Debug, Clone, PartialEq)]
pub struct SwitchTree {
    /// Every parent behind its children.
    pub switches: Vec<Switch>,
    /// The names of the nodes, each with the position of its switch.
    pub nodes: Vec<(String, Option<usize>)>,
}

impl SwitchTree {
    /// The cluster of the nodes of the tree, in its order, below its switches, with hardware and
    /// rates from a description as [`hostfile::cluster`] takes them.
    ///
    /// # Errors
    /// As there: the first node of unknown type.
    pub fn cluster(self, description: &Cluster) -> Result<Cluster, String> {
        let hosts = self.nodes.iter().map(|(name, _)| Host { name: name.clone(), slots: None });
        let mut cluster = hostfile::cluster(description, &hosts.collect::<Vec<_>>())?;
        for (node, (_, switch)) in cluster.nodes.iter_mut().zip(&self.nodes) {
            node.switch = *switch;
        }
        cluster.switches = self.switches;
        Ok(cluster)
    }
}
