//! Switches and the names of the nodes below them, from sources that do not describe the nodes'
//! hardware.

use super::hostfile::{self, Host, HostsError};
use crate::cluster::{Cluster, Switch};

/// Switches and the nodes attached to them.
#[derive(Debug, Clone, PartialEq)]
pub struct SwitchTree {
    /// Each switch before its parent.
    pub switches: Vec<Switch>,
    /// Host name of each node, and the position of its switch in `switches`.
    pub nodes: Vec<(String, Option<usize>)>,
}

impl SwitchTree {
    /// The cluster of the nodes of the tree, in its order, below its switches, with hardware and
    /// rates of `like` as [`hostfile::cluster`] takes them.
    ///
    /// # Errors
    /// As [`hostfile::cluster`]; or if the tree has names or positions that are not valid, which the
    /// readers refuse.
    pub fn cluster(self, like: &Cluster) -> Result<Cluster, HostsError> {
        let hosts = self.nodes.iter().map(|(name, _)| Host { name: name.clone(), slots: None });
        let mut description = hostfile::describe(like, &hosts.collect::<Vec<_>>())?;
        for (node, (_, switch)) in description.nodes.iter_mut().zip(&self.nodes) {
            node.switch = *switch;
        }
        description.switches = self.switches;
        Ok(description.build()?)
    }
}
