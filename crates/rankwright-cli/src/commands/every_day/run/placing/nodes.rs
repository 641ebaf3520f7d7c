//! The granted nodes as a cluster.

use std::collections::HashSet;

use rankwright::cluster::Cluster;
use rankwright::cluster::read::allocation::{self, Cpu, Granted, Misfit, Which};
use rankwright::cluster::read::hostfile::{self, HostsError};
use rankwright::placement::Granularity;
use rankwright::units;
use rankwright_shim_format::same_host;

use super::options::{PlacingOptions, listed_in};
use crate::host::batch_job::{BatchJob, Hosts, pus_here};
use crate::host::this_host;
use crate::options::inputs;
use crate::output::exit_code::Infeasible;
use crate::output::{Verbosity, note};

/// The cluster of the granted nodes, and the hosts that are granted in part, without numbers of the
/// granted PUs.
pub(super) fn cluster(
    options: &PlacingOptions,
    batch: Option<&BatchJob>,
    verbosity: &Verbosity,
) -> anyhow::Result<(Cluster, Vec<String>)> {
    let hosts = match (&options.hostfile, batch) {
        (Some(file), _) => Some(Hosts::Slots(listed_in(file)?)),
        (None, batch) => batch.map(|batch| batch.hosts.clone()),
    };
    let mut described = match &options.on {
        Some(on) => inputs::cluster(on, None)?,
        None => this_host::cluster()?,
    };
    let Some(hosts) = hosts else { return Ok((described, Vec::new())) };
    if options.on.is_none() {
        // PUs that are not granted on this host may be granted on others.
        described = described.all_free();
        if hosts.names().len() > 1 || !same_host(hosts.names()[0], &described.nodes[0].name) {
            let here = &described.nodes[0].name;
            note(verbosity, format_args!("all nodes are assumed to be like this one, {here}"));
        }
    }
    let what = options.on.as_deref().unwrap_or("this machine");
    if options.on.is_some() {
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
        Hosts::Slots(hosts) => {
            let cluster = hostfile::cluster(&described, &hosts);
            Ok((cluster.map_err(|error| unfit(&error, what))?, Vec::new()))
        }
        Hosts::Cpus(hosts) => {
            let made = allocation::cluster(&described, &hosts, counted(&described, &hosts));
            let allocation = made.map_err(|misfit| match misfit {
                Misfit::Hosts(error) => unfit(&error, what),
                Misfit::TooManyCpus { granted, has } | Misfit::NoSuchCpu { granted, has } => {
                    Infeasible(format!(
                        "{} CPUs are granted on {}, which has {has} in {what}",
                        granted.cpus, granted.host
                    ))
                }
            })?;
            Ok((allocation.cluster, allocation.in_part))
        }
    }
}

/// The size of a slot.
pub(super) fn granularity(
    options: &PlacingOptions,
    cluster: &Cluster,
    ranks: usize,
    batch: Option<&BatchJob>,
) -> Granularity {
    if let Some(cores) = options.cores_per_rank {
        return Granularity::Cores(cores.get());
    }
    let (mut cores, mut pus) = (0, 0);
    for node in &cluster.nodes {
        let group = &cluster.groups[node.group];
        let free = || group.machine.pus.iter().zip(&group.free).filter(|(_, free)| **free);
        pus += free().count();
        cores += free()
            .map(|(pu, _)| pu.core)
            .fold((0, None), |(count, last), core| {
                (count + usize::from(last != Some(core)), Some(core))
            })
            .0;
    }
    let threads = (pus / cores.max(1)).max(1);
    if let Some(cpus) = batch.and_then(|batch| batch.cpus_per_task).filter(|cpus| *cpus > 1) {
        return Granularity::Cores((cpus as usize).div_ceil(threads) as u32);
    }
    // Batch systems that count threads grant them to as many tasks.
    if ranks > cores && ranks <= pus { Granularity::Pu } else { Granularity::Cores(1) }
}

fn unfit(error: &HostsError, what: &str) -> Infeasible {
    Infeasible(match error {
        HostsError::UnknownType(host) => {
            format!("the host {host} is not in {what}, which has nodes of several types")
        }
        HostsError::Invalid(error) => error.to_string(),
    })
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
        Which::Unknown => {
            let threads = machine.pus.len() / machine.cores.len().max(1);
            cpu == Cpu::Core && granted.cpus as usize * threads == pus.len() && threads > 1
        }
    };
    if !are(Cpu::Thread) && are(Cpu::Core) { Cpu::Core } else { Cpu::Thread }
}
