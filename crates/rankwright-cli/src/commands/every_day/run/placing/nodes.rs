//! The granted nodes as a cluster.

use std::collections::HashSet;

use rankwright::choose::{cores_of_task, free_cores_and_pus, granularity_of_tasks};
use rankwright::cluster::read::allocation::{self, Cpu, Granted, JobHosts, Misfit, Which};
use rankwright::cluster::read::hostfile;
use rankwright::cluster::{Cluster, NodeCount};
use rankwright::placement::{Granularity, digest};
use rankwright::units;
use rankwright_shim_format::same_host;

use super::options::{PlacingOptions, listed_in};
use crate::host::batch_job::{BatchJob, pus_here};
use crate::host::this_host;
use crate::options::inputs;
use crate::output::exit_code::Infeasible;
use crate::output::{Verbosity, note, warn};

/// The granted nodes.
pub(super) struct GrantedNodes {
    pub(super) cluster: Cluster,
    /// The digest of the description that they are a part of.
    pub(super) described: String,
    /// The hosts that are granted in part, without numbers of the granted PUs.
    pub(super) in_part: Vec<String>,
}

/// The cluster of the granted nodes.
pub(super) fn cluster(
    options: &PlacingOptions,
    batch: Option<&BatchJob>,
    verbosity: &Verbosity,
) -> anyhow::Result<GrantedNodes> {
    let hosts = match (&options.hostfile, batch) {
        (Some(file), _) => Some(JobHosts::Slots(listed_in(file)?)),
        (None, batch) => batch.map(|batch| batch.hosts.clone()),
    };
    let named = named(options, hosts.is_some(), verbosity)?;
    let is_named = named.is_some();
    let mut described = match named {
        Some(cluster) => cluster,
        None => options.defaults.with_rates(this_host::cluster()?)?,
    };
    let digest_of_all = digest(&described);
    let granted = |cluster, in_part| GrantedNodes { cluster, described: digest_of_all, in_part };
    let Some(hosts) = hosts else { return Ok(granted(described, Vec::new())) };
    if !is_named {
        // PUs that are not granted on this host may be granted on others.
        described = described.all_free();
        if hosts.names().len() > 1 || !same_host(hosts.names()[0], &described.nodes[0].name) {
            let here = &described.nodes[0].name;
            note(verbosity, format_args!("all nodes are assumed to be like this one, {here}"));
        }
    }
    let what = match options.on.as_deref() {
        Some(on) => on.to_owned(),
        None if is_named => described.name.clone(),
        None => "this machine".to_owned(),
    };
    let what = what.as_str();
    if is_named {
        let first_label = |name: &str| name.split('.').next().unwrap_or(name).to_owned();
        let labels: HashSet<String> =
            described.nodes.iter().map(|node| first_label(&node.name)).collect();
        let names = hosts.names();
        let is_unknown = |host: &&str| !labels.contains(&first_label(host));
        let unknown: Vec<&str> = names.into_iter().filter(is_unknown).collect();
        if let (Some(first), [_]) = (unknown.first(), &described.groups[..]) {
            let count = units::counted(unknown.len(), "host");
            let text = format!("{count} not in {what} ({first}): assumed to be like its nodes");
            note(verbosity, text);
        }
    }
    match hosts {
        JobHosts::Slots(hosts) => {
            let cluster = hostfile::cluster(&described, &hosts);
            let cluster = cluster.map_err(|error| Infeasible(Misfit::Hosts(error).text(what)))?;
            Ok(granted(cluster, Vec::new()))
        }
        JobHosts::Cpus(hosts) => {
            let made = allocation::cluster(&described, &hosts, counted(&described, &hosts));
            let allocation = made.map_err(|misfit| Infeasible(misfit.text(what)))?;
            Ok(granted(allocation.cluster, allocation.in_part))
        }
    }
}

/// The cluster that the user names; else that of the site, for nodes that were granted or listed. Outside
/// of a job the site has more nodes than the user may use.
fn named(
    options: &PlacingOptions,
    has_hosts: bool,
    verbosity: &Verbosity,
) -> anyhow::Result<Option<Cluster>> {
    if let Some(on) = &options.on {
        return inputs::cluster(on).map(Some);
    }
    if !has_hosts && !options.defaults.has_cluster_of_environment() {
        return Ok(None);
    }
    options.defaults.cluster(NodeCount::AsDescribed, "--on").or_else(|error| {
        if options.strict {
            return Err(error);
        }
        warn(verbosity, format_args!("the cluster of the site is not used: {error:#}"));
        Ok(None)
    })
}

/// The size of a slot: by the options, else by the batch system.
pub(super) fn granularity(
    options: &PlacingOptions,
    cluster: &Cluster,
    ranks: usize,
    batch: Option<&BatchJob>,
) -> Granularity {
    let shares = batch.map(|batch| &batch.shares);
    let of_task = shares.and_then(|shares| cores_of_task(cluster, shares));
    if options.rank_size.is_given() {
        return options.rank_size.given(of_task).unwrap_or(Granularity::Cores(1));
    }
    let shares = shares.filter(|_| options.nodes.is_none() && options.hostfile.is_none());
    if let Some(as_granted) = shares.and_then(|shares| granularity_of_tasks(cluster, ranks, shares))
    {
        return as_granted;
    }
    if let Some(cores) = of_task {
        return Granularity::Cores(cores.get());
    }
    // Batch systems that count threads grant them to as many tasks.
    let (cores, pus) = free_cores_and_pus(cluster);
    if ranks > cores && ranks <= pus { Granularity::Pu } else { Granularity::Cores(1) }
}

/// The batch system's meaning of a CPU: the one that makes its numbers those of the kernel on this
/// host.
fn counted(described: &Cluster, hosts: &[Granted]) -> Cpu {
    let (Ok(here), Some(pus)) = (this_host::name(), pus_here()) else { return Cpu::Thread };
    let Some(granted) = hosts.iter().find(|granted| same_host(&granted.host, &here)) else {
        return Cpu::Thread;
    };
    let like = described.nodes.iter().find(|node| same_host(&node.name, &here));
    let machine = match (like, described.groups.as_slice()) {
        (Some(node), groups) => &groups[node.group].machine,
        (None, [only]) => &only.machine,
        _ => return Cpu::Thread,
    };
    let are = |cpu| match &granted.which {
        Which::Slurm(ids) => allocation::pus_of_slurm(machine, ids, cpu).as_ref() == Some(&pus),
        Which::Pus(listed) => cpu == Cpu::Thread && *listed == pus,
        Which::Cores(_) => cpu == Cpu::Core,
        Which::Unknown => {
            let threads = machine.pus.len() / machine.cores.len().max(1);
            cpu == Cpu::Core && granted.cpus as usize * threads == pus.len() && threads > 1
        }
    };
    if !are(Cpu::Thread) && are(Cpu::Core) { Cpu::Core } else { Cpu::Thread }
}
