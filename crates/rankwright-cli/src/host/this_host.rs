//! The host that this runs on.

use rankwright::cluster::{Cluster, NodeGroup, hostlist};
use rankwright::files::InputError;

/// This host as a cluster of one node; the PUs that this process may use are free.
pub(crate) fn cluster() -> anyhow::Result<Cluster> {
    let host = name();
    let names = hostlist::expand(&host)
        .map_err(|error| InputError::new("host name", error.found, error.expected))?;
    Ok(Cluster::uniform(&host, names, this_machine()?))
}

#[cfg(feature = "hwloc")]
fn this_machine() -> anyhow::Result<NodeGroup> {
    Ok(rankwright::cluster::read::live::discover()?)
}

#[cfg(not(feature = "hwloc"))]
fn this_machine() -> anyhow::Result<NodeGroup> {
    anyhow::bail!(
        "this rankwright was built without libhwloc; use `lstopo node.xml` and `rankwright cluster \
         import node.xml`"
    )
}

/// The name that this host calls itself.
pub(crate) fn name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
