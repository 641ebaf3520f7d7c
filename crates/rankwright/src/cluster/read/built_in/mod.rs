//! Built-in clusters: those of the papers.

use std::path::Path;

use super::toml;
use crate::cluster::Cluster;

/// A built-in cluster.
pub struct BuiltIn {
    /// The name that users give: `paper:2013`.
    pub name: &'static str,
    /// A line of description.
    pub summary: &'static str,
    text: &'static str,
}

/// All built-in clusters.
pub const BUILT_IN: &[BuiltIn] = &[
    BuiltIn {
        name: "paper:2013",
        summary: "16 nodes, 4 sockets of 4 cores each, one 1 GB/s NIC (Soryani et al. 2013)",
        text: include_str!("paper-2013.toml"),
    },
    BuiltIn {
        name: "paper:2013-model",
        summary: "paper:2013 with the rates of that paper's analytic model",
        text: include_str!("paper-2013-model.toml"),
    },
    BuiltIn {
        name: "paper:2009-placement",
        summary: "10 nodes, 4 dual-core Opteron dies each, Myri-10G (Mercier, Clet-Ortega 2009)",
        text: include_str!("paper-2009-placement.toml"),
    },
    BuiltIn {
        name: "paper:2009-mixed",
        summary: "8 nodes, 4 quad-core Opterons each, ConnectX InfiniBand (Koop, Luo, Panda 2009)",
        text: include_str!("paper-2009-mixed.toml"),
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
    /// Never: a test reads each of them.
    #[must_use]
    pub fn cluster(&self) -> Cluster {
        toml::parse(self.text, self.name, Path::new("")).expect("a built-in cluster is valid")
    }
}

/// The built-in cluster with this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static BuiltIn> {
    BUILT_IN.iter().find(|built_in| built_in.name == name)
}

#[cfg(test)]
mod tests;
