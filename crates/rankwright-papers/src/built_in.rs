//! The clusters and workloads of the papers, built into the library.

use anyhow::Context as _;
use rankwright::cluster::Cluster;
use rankwright::cluster::read::built_in as clusters;
use rankwright::traffic::Workload;
use rankwright::traffic::generate::built_in as workloads;

/// The cluster `paper:2013`, for example.
pub(crate) fn cluster(name: &str) -> anyhow::Result<Cluster> {
    let cluster = clusters::find(name);
    Ok(cluster.with_context(|| format!("no built-in cluster `{name}`"))?.cluster())
}

/// The workload `paper:2013/mixed-1`, for example.
pub(crate) fn workload(name: &str) -> anyhow::Result<Workload> {
    let workload = workloads::find(name);
    Ok(workload.with_context(|| format!("no built-in workload `{name}`"))?.workload()?)
}
