//! The allocation of a batch job: its hosts and CPUs, and the cluster of them.

mod flux;
mod gpus;
mod job;
mod lsf;
mod slurm;

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use super::hostfile::{self, Host, HostsError};
use crate::cluster::{Cluster, NodeGroup};
use crate::ids::PuSet;

pub use flux::flux;
pub use gpus::{gpus_granted, gpus_here, visible_gpu_numbers};
pub use job::{BatchSystem, JobGrant, JobHosts, TaskShares};
pub use lsf::{LsfAffinity, lsf, lsf_affinity};
pub use slurm::{pus_of_slurm, slurm, slurm_cpu_ids, slurm_gpu_ids, slurm_tasks};

/// A host of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Granted {
    /// The host name.
    pub host: String,
    /// The number of CPUs granted on it, from 1.
    pub cpus: u32,
    /// Which CPUs these are.
    pub which: Which,
    /// The granted GPUs, numbered in the order of the bus; `None` where the batch system does not tell.
    pub gpus: Option<Vec<u32>>,
}

/// Which CPUs of a host are granted.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Which {
    /// The batch system gives no information.
    #[default]
    Unknown,
    /// PUs, P#.
    Pus(PuSet),
    /// Slurm's own numbers (`CPU_IDs`), ascending. Slurm numbers CPUs in the order of packages,
    /// cores and threads, which is L#, whatever P# the kernel gives them.
    Slurm(Vec<u32>),
    /// Whole cores, L#, ascending: what Flux grants.
    Cores(Vec<u32>),
}

/// What a batch system calls a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cpu {
    /// A hardware thread (PU).
    Thread,
    /// A core with all its PUs.
    Core,
}

/// Hosts, each once, in the order in which they were first added: components of a job may share one.
#[derive(Default)]
struct Hosts {
    granted: Vec<Granted>,
    /// Position in `granted`, by host name.
    position: BTreeMap<String, usize>,
}

impl Hosts {
    fn add(&mut self, host: String, cpus: u32) {
        match self.position.get(&host) {
            Some(&position) => {
                let granted = &mut self.granted[position];
                granted.cpus = granted.cpus.saturating_add(cpus);
            }
            None => {
                self.position.insert(host.clone(), self.granted.len());
                self.granted.push(Granted { host, cpus, which: Which::Unknown, gpus: None });
            }
        }
    }
}

/// The cluster of the granted hosts.
#[derive(Debug, Clone, PartialEq)]
pub struct Allocation {
    /// The hosts with the granted PUs free. Where it is unknown which PUs are granted, the first free
    /// ones stand for them.
    pub cluster: Cluster,
    /// Names of the hosts where fewer CPUs than free PUs are granted and it is unknown which.
    pub in_part: Vec<String>,
}

/// Why granted hosts do not fit the cluster that describes their hardware.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Misfit {
    /// The hosts cannot be made a cluster.
    Hosts(HostsError),
    /// More CPUs are granted on a host than it has.
    TooManyCpus {
        /// The host and its CPUs.
        granted: Granted,
        /// The number of CPUs that the host has.
        has: usize,
    },
    /// A granted PU or CPU does not exist on the host.
    NoSuchCpu {
        /// The host and its CPUs.
        granted: Granted,
        /// The number of CPUs that the host has.
        has: usize,
    },
}

impl Misfit {
    /// What is wrong, for people; `described` names the cluster that describes the hardware.
    #[must_use]
    pub fn text(&self, described: &str) -> String {
        match self {
            Self::Hosts(HostsError::UnknownType(host)) => {
                format!("the host {host} is not in {described}, which has nodes of several types")
            }
            Self::Hosts(HostsError::Invalid(error)) => error.to_string(),
            Self::TooManyCpus { granted, has } | Self::NoSuchCpu { granted, has } => format!(
                "{} CPUs are granted on {}, but {described} has {has}: give a description of the job's nodes with \
                 --on (`rankwright cluster discover --all-nodes -o cluster.toml` in the job)",
                granted.cpus, granted.host
            ),
        }
    }
}

impl<E: Into<HostsError>> From<E> for Misfit {
    fn from(error: E) -> Self {
        Self::Hosts(error.into())
    }
}

/// The cluster of these hosts, in the given order, with hardware, rates and switches of `like` as
/// [`hostfile::cluster`] takes them.
///
/// # Errors
/// As [`hostfile::cluster`]; or if more CPUs are granted on a host than it has.
pub fn cluster(like: &Cluster, hosts: &[Granted], cpu: Cpu) -> Result<Allocation, Misfit> {
    let names = hosts.iter().map(|granted| Host { name: granted.host.clone(), slots: None });
    let mut description = hostfile::describe(like, &names.collect::<Vec<_>>())?;
    let whole_groups = std::mem::take(&mut description.groups);
    let mut nodes = std::mem::take(&mut description.nodes);
    let mut in_part = Vec::new();
    // Group and what is granted of it, with the group that it became and whether its PUs are guessed.
    type Part<'a> = (usize, u32, &'a Which, &'a Option<Vec<u32>>);
    let mut parts: HashMap<Part, (usize, bool)> = HashMap::new();
    for (node, granted) in nodes.iter_mut().zip(hosts) {
        let whole = &whole_groups[node.group];
        let key = (node.group, granted.cpus, &granted.which, &granted.gpus);
        let (index, guessed) = match parts.entry(key) {
            Entry::Occupied(part) => *part.get(),
            Entry::Vacant(place) => {
                let mut part = granted_part(whole, granted, cpu)?;
                retain_gpus(&mut part, granted);
                let guessed = granted.which == Which::Unknown && part.free != whole.free;
                *place.insert((description.group_index(part), guessed))
            }
        };
        node.group = index;
        if guessed {
            in_part.push(node.name.clone());
        }
    }
    description.nodes = nodes;
    Ok(Allocation { cluster: description.build()?, in_part })
}

/// The group with only the granted ones of its free PUs free.
fn granted_part(group: &NodeGroup, granted: &Granted, cpu: Cpu) -> Result<NodeGroup, Misfit> {
    let machine = &group.machine;
    let has = match cpu {
        Cpu::Thread => machine.pus.len(),
        Cpu::Core => machine.cores.len(),
    };
    let no_such = |has| Misfit::NoSuchCpu { granted: granted.clone(), has };
    let pus = match &granted.which {
        Which::Unknown if granted.cpus as usize > has => {
            return Err(Misfit::TooManyCpus { granted: granted.clone(), has });
        }
        Which::Unknown => return Ok(first_cpus(group, granted.cpus, cpu)),
        Which::Pus(pus) => pus.clone(),
        Which::Slurm(ids) => pus_of_slurm(machine, ids, cpu).ok_or_else(|| no_such(has))?,
        Which::Cores(ids) => {
            let pus = pus_of_slurm(machine, ids, Cpu::Core);
            pus.ok_or_else(|| no_such(machine.cores.len()))?
        }
    };
    let existing = machine.pus.iter().filter(|pu| pus.as_slice().contains(&pu.id)).count();
    if existing < pus.len() {
        return Err(no_such(machine.pus.len()));
    }
    let mut part = group.clone();
    for (pu, free) in machine.pus.iter().zip(&mut part.free) {
        *free = *free && pus.as_slice().binary_search(&pu.id).is_ok();
    }
    Ok(part)
}

/// Removes the GPUs that are not granted. Where the batch system counts GPUs that the description does
/// not have, all are kept.
fn retain_gpus(group: &mut NodeGroup, granted: &Granted) {
    let Some(numbers) = &granted.gpus else { return };
    let gpus = &mut group.machine.gpus;
    let mut order: Vec<usize> = (0..gpus.len()).collect();
    order.sort_by_key(|at| gpus[*at].bus_order());
    let kept: Option<Vec<usize>> =
        numbers.iter().map(|number| order.get(*number as usize).copied()).collect();
    if let Some(kept) = kept {
        let mut at = 0..gpus.len();
        gpus.retain(|_| at.next().is_some_and(|at| kept.contains(&at)));
    }
}

/// The group with only the first `cpus` of its free CPUs free.
fn first_cpus(group: &NodeGroup, cpus: u32, cpu: Cpu) -> NodeGroup {
    if cpu == Cpu::Core {
        return hostfile::limited(group, Some(cpus));
    }
    let mut group = group.clone();
    let mut left = cpus;
    for free in group.free.iter_mut().filter(|free| **free) {
        *free = left > 0;
        left = left.saturating_sub(1);
    }
    group
}

#[cfg(test)]
mod tests;
