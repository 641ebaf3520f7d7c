//! Clusters that are labs: their hosts are known only inside.

use rankwright::cluster::Cluster;
use rankwright::launch::shell;
use rankwright::placement::ClusterEntry;
use rankwright_lab::NAME_VARIABLE;
use rankwright_shim_format::same_host;

use crate::host::this_host;

/// A cluster that may be a lab.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Described<'a> {
    name: &'a str,
    emulated: bool,
}

impl<'a> From<&'a Cluster> for Described<'a> {
    fn from(cluster: &'a Cluster) -> Self {
        Self { name: &cluster.name, emulated: cluster.emulated }
    }
}

impl<'a> From<&'a ClusterEntry> for Described<'a> {
    fn from(cluster: &'a ClusterEntry) -> Self {
        Self { name: &cluster.name, emulated: cluster.emulated }
    }
}

/// The prefix `rankwright lab exec ...` of a command that must run on the nodes of a lab; empty if the cluster is
/// not a lab, or this process runs inside it.
pub(crate) fn entry_to(cluster: &Cluster) -> String {
    let hosts = cluster.nodes.iter().map(|node| node.name.as_str());
    Described::from(cluster).entry_from_outside(hosts).unwrap_or_default()
}

impl Described<'_> {
    /// What goes before a command that is to run in the lab, with a blank behind it; `None` for a cluster
    /// that is none, and for an emulated host that is this one.
    pub(crate) fn entry<'h>(&self, hosts: impl IntoIterator<Item = &'h str>) -> Option<String> {
        let here = this_host::name().unwrap_or_default();
        let elsewhere = || hosts.into_iter().any(|host| !same_host(host, &here));
        (self.emulated && elsewhere())
            .then(|| format!("rankwright lab exec --name {} head -- ", shell::quote(self.name)))
    }

    /// As [`entry`](Self::entry), from where this runs: `None` inside a lab.
    pub(crate) fn entry_from_outside<'h>(
        &self,
        hosts: impl IntoIterator<Item = &'h str>,
    ) -> Option<String> {
        let inside = std::env::var_os(NAME_VARIABLE).is_some();
        self.entry(hosts).filter(|_| !inside)
    }

    /// Why nothing can be started on these hosts from outside of the lab; `None` inside one.
    pub(crate) fn why_unreachable<'h>(
        &self,
        hosts: impl IntoIterator<Item = &'h str>,
    ) -> Option<String> {
        let entry = self.entry_from_outside(hosts)?;
        Some(format!(
            "made for the lab `{}`, whose hosts are known only inside it: `{entry}rankwright ...` runs a \
             command there",
            self.name
        ))
    }
}
