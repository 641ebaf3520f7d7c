//! Clusters that are labs: their hosts are known only inside.

use rankwright::cluster::Cluster;
use rankwright::launch::{Launcher, Software, shell};
use rankwright::placement::ClusterEntry;
use rankwright::units::counted;
use rankwright_lab::NAME_VARIABLE;
use rankwright_shim_format::same_host;

use crate::host::this_host;
use crate::output::{Verbosity, warn};

/// Warns in a lab if more ranks of MPICH start than this machine has PUs: they spin while they wait.
pub(crate) fn warn_of_spinning(launcher: &Launcher, ranks: usize, verbosity: &Verbosity) {
    let pus = this_host::usable_pus().get();
    if launcher.software == Software::Mpich && is_inside() && ranks > pus {
        let text = format!(
            "{} of MPICH spin while they wait, and all nodes of the lab share the {} of this machine: the run \
             may be very slow or never end; give --timeout, start fewer ranks or use Open MPI",
            counted(ranks, "rank"),
            counted(pus, "PU")
        );
        warn(verbosity, text);
    }
}

/// Whether this process is in a lab.
fn is_inside() -> bool {
    std::env::var_os(NAME_VARIABLE).is_some()
}

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
        self.entry(hosts).filter(|_| !is_inside())
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
