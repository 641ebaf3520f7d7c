//! Clusters that are known by name: those of the papers.

use std::path::Path;

use super::toml;
use crate::cluster::Cluster;

/// A cluster known by name.
pub struct BuiltIn {
    /// How users name it.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    text: &'static str,
}

/// All of them.
pub const BUILT_IN: &[BuiltIn] = &[
    BuiltIn {
        name: "paper:2013",
        summary: "16 nodes, 4 sockets of 4 cores each, one 1 GB/s NIC (Soryani et al. 2013)",
        text: include_str!("paper-2013.toml"),
    },
    BuiltIn {
        name: "paper:2013-model",
        summary: "the same with the rates of that paper's analytic model",
        text: include_str!("paper-2013-model.toml"),
    },
    BuiltIn {
        name: "paper:2009-placement",
        summary: "10 nodes, 4 dual-core Opteron dies each, Myri-10G (Mercier, Clet-Ortega 2009)",
        text: include_str!("paper-2009-placement.toml"),
    },
    BuiltIn {
        name: "paper:2017",
        summary: "2 nodes of 2 sockets with 22 cores and 2 Omni-Path devices each (2017)",
        text: include_str!("paper-2017.toml"),
    },
];

impl BuiltIn {
    /// The cluster.
    ///
    /// # Panics
    /// Never: a test reads every one of them.
    #[must_use]
    pub fn cluster(&self) -> Cluster {
        toml::parse(self.text, self.name, Path::new("")).expect("a built-in cluster is valid")
    }
}

/// The cluster with this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static BuiltIn> {
    BUILT_IN.iter().find(|built_in| built_in.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_clusters_are_those_of_the_papers() {
        let shapes: Vec<String> = BUILT_IN
            .iter()
            .map(|built_in| {
                let cluster = built_in.cluster();
                assert_eq!(cluster.name, built_in.name);
                format!("{} x {}", cluster.nodes.len(), cluster.groups[0].machine)
            })
            .collect();
        assert_eq!(
            shapes,
            [
                "16 x 4 packages, 4 NUMA nodes, 16 cores, 16 PUs, 1 NIC",
                "16 x 4 packages, 4 NUMA nodes, 16 cores, 16 PUs, 1 NIC",
                "10 x 4 packages, 4 NUMA nodes, 8 cores, 8 PUs, 1 NIC",
                "2 x 2 packages, 2 NUMA nodes, 44 cores, 88 PUs, 4 NICs",
            ]
        );
    }
}
