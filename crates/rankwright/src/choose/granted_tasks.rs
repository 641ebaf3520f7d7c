//! Ranks on nodes as a batch job has tasks on its hosts.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use rankwright_shim_format::same_host;

use crate::cluster::Cluster;
use crate::cluster::read::allocation::{JobHosts, TaskShares};
use crate::ids::{CoreId, NodeId};
use crate::placement::{Granularity, RanksPer, Share, slots};

/// On each node as many ranks as the batch job has tasks there, if these are all ranks and they fit.
#[must_use]
pub fn granularity_of_tasks(
    cluster: &Cluster,
    ranks: usize,
    shares: &TaskShares,
) -> Option<Granularity> {
    let tasks_of = |host: &str| {
        let tasks = shares.of_hosts.iter().find(|(name, _)| same_host(name, host));
        tasks.map_or(0, |(_, tasks)| *tasks)
    };
    let tasks: Vec<u32> = cluster.nodes.iter().map(|node| tasks_of(&node.name)).collect();
    if tasks.iter().map(|tasks| *tasks as usize).sum::<usize>() != ranks {
        return None;
    }
    // Tasks of a job are alike, also on nodes with fewer of them.
    let free_cores = |node: NodeId| free_cores(cluster, node);
    let evenly = cluster.node_ids().zip(&tasks).filter(|(_, tasks)| **tasks > 0);
    let evenly = evenly.map(|(node, tasks)| free_cores(node) / *tasks).min();
    let cores = cores_of_task(cluster, shares).or_else(|| NonZeroU32::new(evenly?));
    let ranks_per = RanksPer::NodeByNode(tasks);
    let shares = cores.map(Share::CoresEach).into_iter().chain([Share::Pus]);
    let granularity = |share| Granularity::Part { ranks: ranks_per.clone(), share };
    let fits = |granularity: &Granularity| slots(cluster, granularity.clone(), ranks).is_ok();
    shares.map(granularity).find(fits)
}

/// The number of cores of each task, if the batch system gives it more than one CPU.
#[must_use]
pub fn cores_of_task(cluster: &Cluster, shares: &TaskShares) -> Option<NonZeroU32> {
    let cpus = shares.cpus_per_task.filter(|cpus| *cpus > 1)?;
    let (cores, pus) = free_cores_and_pus(cluster);
    let threads = (pus / cores.max(1)).max(1);
    NonZeroU32::new((cpus as usize).div_ceil(threads) as u32)
}

/// The numbers of free cores and PUs of all nodes.
#[must_use]
pub fn free_cores_and_pus(cluster: &Cluster) -> (usize, usize) {
    let free_pus = |node: NodeId| cluster.group(node).free.iter().filter(|free| **free).count();
    let cores = cluster.node_ids().map(|node| free_cores(cluster, node) as usize).sum();
    (cores, cluster.node_ids().map(free_pus).sum())
}

/// The nodes of which a batch job has fewer CPUs than they have free cores, by name; none where the batch
/// system tells no CPUs.
#[must_use]
pub fn nodes_in_part<'a>(cluster: &'a Cluster, job: &JobHosts) -> Vec<&'a str> {
    let JobHosts::Cpus(hosts) = job else { return Vec::new() };
    let has_part = |node: &NodeId| {
        let name = &cluster.node(*node).name;
        let granted = hosts.iter().find(|granted| same_host(&granted.host, name));
        granted.is_some_and(|granted| granted.cpus < free_cores(cluster, *node))
    };
    cluster.node_ids().filter(has_part).map(|node| cluster.node(node).name.as_str()).collect()
}

fn free_cores(cluster: &Cluster, node: NodeId) -> u32 {
    let group = cluster.group(node);
    let free = group.machine.pus.iter().zip(&group.free).filter(|(_, free)| **free);
    let cores: BTreeSet<CoreId> = free.map(|(pu, _)| pu.core).collect();
    u32::try_from(cores.len()).unwrap_or(u32::MAX)
}
