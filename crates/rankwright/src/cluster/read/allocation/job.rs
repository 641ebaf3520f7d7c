//! The batch job that a program runs in, from the environment variables that the batch system sets. The caller
//! reads the variables, and runs `scontrol` or `flux` for what the environment does not contain.

use std::collections::BTreeMap;
use std::path::Path;

use rankwright_shim_format::same_host;

use super::gpus::listed_gpus;
use super::{
    Granted, LsfAffinity, Which, lsf, lsf_affinity, slurm, slurm_cpu_ids, slurm_gpu_ids,
    slurm_tasks,
};
use crate::cluster::Cluster;
use crate::cluster::read::hostfile::{self, Host, HostsError};
use crate::files::{self, InputError};

/// A batch system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchSystem {
    /// Slurm.
    Slurm,
    /// IBM Spectrum LSF.
    Lsf,
    /// PBS Pro, OpenPBS and Torque.
    Pbs,
    /// Flux, whose jobs have no list of hosts in their environment.
    Flux,
}

impl BatchSystem {
    /// Every supported batch system.
    pub const ALL: [Self; 4] = [Self::Slurm, Self::Lsf, Self::Pbs, Self::Flux];

    /// The system of the job whose environment `variable` reads; `None` outside of jobs.
    pub fn around(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let is_set = |name: &str| variable(name).is_some();
        if is_set("SLURM_JOB_ID") && (is_set("SLURM_JOB_NODELIST") || is_set("SLURM_HET_SIZE")) {
            Some(Self::Slurm)
        } else if is_set("LSB_JOBID") && is_set("LSB_MCPU_HOSTS") {
            Some(Self::Lsf)
        } else if is_set("PBS_JOBID") && is_set("PBS_NODEFILE") {
            Some(Self::Pbs)
        } else {
            Self::Flux.number(variable).map(|_| Self::Flux)
        }
    }

    /// Its display name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Slurm => "Slurm",
            Self::Lsf => "LSF",
            Self::Pbs => "PBS",
            Self::Flux => "Flux",
        }
    }

    /// How the command line names its current job.
    #[must_use]
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Slurm => "slurm:",
            Self::Lsf => "lsf:",
            Self::Pbs => "pbs:",
            Self::Flux => "flux:",
        }
    }

    /// The number of the job; of Flux in its own form. A task of `flux run` has a job of its own; scripts of
    /// `flux batch` and shells of `flux alloc` are in the job around their instance.
    pub fn number(self, variable: impl Fn(&str) -> Option<String>) -> Option<String> {
        let names: &[&str] = match self {
            Self::Slurm => &["SLURM_JOB_ID"],
            Self::Lsf => &["LSB_JOBID"],
            Self::Pbs => &["PBS_JOBID"],
            Self::Flux => &["FLUX_JOB_ID", "FLUX_ENCLOSING_ID"],
        };
        names.iter().find_map(|name| variable(name))
    }

    /// The name of the job in messages: `job 7 of Slurm`.
    pub fn title(self, variable: impl Fn(&str) -> Option<String>) -> String {
        format!("job {} of {}", self.number(variable).as_deref().unwrap_or("?"), self.name())
    }

    /// The hosts of the job; `None` for Flux ([`flux`](super::flux) reads what it tells).
    ///
    /// # Errors
    /// If the variables of a job of this system are missing or inconsistent.
    pub fn hosts(
        self,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<JobHosts>, InputError> {
        Ok(match self {
            Self::Slurm => Some(JobHosts::Cpus(slurm(variable)?)),
            Self::Lsf => Some(JobHosts::Cpus(lsf(variable)?)),
            Self::Pbs => {
                let name = "PBS_NODEFILE";
                let Some(file) = variable(name) else {
                    let expected = "the variables of a PBS job, in which this must run";
                    return Err(InputError::new(name, "nothing in the environment", expected));
                };
                let text = files::read_text(Path::new(&file), hostfile::EXPECTED)?;
                Some(JobHosts::Slots(hostfile::parse(&text, &file)?))
            }
            Self::Flux => None,
        })
    }

    /// The hosts of the job with what is known of their CPUs and GPUs, and how its tasks are shared out.
    /// `said` is the output of `scontrol show job --details` in a job of Slurm, as far as there is one.
    /// `None` for Flux.
    ///
    /// # Errors
    /// As [`hosts`](Self::hosts); or if LSF's list of the CPUs of tasks cannot be read.
    pub fn grant(
        self,
        variable: impl Fn(&str) -> Option<String>,
        said: &str,
    ) -> Result<Option<JobGrant>, InputError> {
        let mut hosts = match self.hosts(&variable)? {
            None => return Ok(None),
            Some(JobHosts::Cpus(hosts)) => hosts,
            // PBS lists a host for each task, without CPU numbers.
            Some(JobHosts::Slots(hosts)) => hosts.into_iter().map(one_cpu_per_slot).collect(),
        };
        let shares = match self {
            Self::Slurm => {
                let mut ids = slurm_cpu_ids(said);
                let mut gpus = slurm_gpu_ids(said);
                for granted in &mut hosts {
                    tell_slurm_ids(granted, &mut ids);
                    granted.gpus = gpus.remove(&granted.host);
                }
                TaskShares::of_slurm(variable)
            }
            _ => {
                let affinity = if self == Self::Lsf { affinity(&variable)? } else { None };
                let affinity = affinity.unwrap_or_default();
                let mut listed = listed_gpus(variable);
                for granted in &mut hosts {
                    if let Some(pus) = affinity.pus.get(&granted.host) {
                        granted.cpus = u32::try_from(pus.len()).unwrap_or(u32::MAX);
                        granted.which = Which::Pus(pus.clone());
                    }
                    let at = listed.iter().position(|(host, _)| same_host(host, &granted.host));
                    granted.gpus = at.map(|at| listed.swap_remove(at).1);
                }
                let cpus = affinity.pus_per_task.and_then(|count| u32::try_from(count).ok());
                TaskShares { cpus_per_task: cpus, of_hosts: Vec::new() }
            }
        };
        Ok(Some(JobGrant { hosts, shares }))
    }
}

/// LSF's list of the CPUs of tasks, if the job has one.
fn affinity(variable: impl Fn(&str) -> Option<String>) -> Result<Option<LsfAffinity>, InputError> {
    let Some(file) = variable("LSB_AFFINITY_HOSTFILE") else { return Ok(None) };
    let expected = "LSF's list of hosts and CPUs of the tasks";
    let text = files::read_text(Path::new(&file), expected)?;
    lsf_affinity(&text, &file).map(Some)
}

/// Adds the numbers of the granted CPUs of a host, if Slurm told as many as it granted.
fn tell_slurm_ids(granted: &mut Granted, ids: &mut BTreeMap<String, Vec<u32>>) {
    let listed = ids.remove(&granted.host);
    if let Some(listed) = listed.filter(|ids| ids.len() == granted.cpus as usize) {
        granted.which = Which::Slurm(listed);
    }
}

fn one_cpu_per_slot(host: Host) -> Granted {
    Granted { host: host.name, cpus: host.slots.unwrap_or(1), which: Which::Unknown, gpus: None }
}

/// What a batch system granted to a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobGrant {
    /// The hosts, in the order granted.
    pub hosts: Vec<Granted>,
    /// How tasks are shared out.
    pub shares: TaskShares,
}

/// How many tasks of a batch job are on which hosts, and what each has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskShares {
    /// The number of CPUs per task, if the batch system tells.
    pub cpus_per_task: Option<u32>,
    /// The number of tasks on each host, if the batch system tells.
    pub of_hosts: Vec<(String, u32)>,
}

impl TaskShares {
    /// Those of the job whose environment `variable` reads, where the batch system tells them by the
    /// environment alone, which only Slurm does.
    pub fn around(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let system = BatchSystem::around(&variable)?;
        (system == BatchSystem::Slurm).then(|| Self::of_slurm(variable))
    }

    /// Those of a job of Slurm. Tasks of a heterogeneous job are counted by component, so they have none.
    fn of_slurm(variable: impl Fn(&str) -> Option<String>) -> Self {
        let cpus = variable("SLURM_CPUS_PER_TASK").and_then(|text| text.parse().ok());
        Self {
            cpus_per_task: cpus.filter(|_| variable("SLURM_HET_SIZE").is_none()),
            of_hosts: slurm_tasks(variable).unwrap_or_default(),
        }
    }
}

/// The hosts of a job, from its batch system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobHosts {
    /// Hosts with numbers of CPUs.
    Cpus(Vec<Granted>),
    /// Hosts with numbers of slots, each a core.
    Slots(Vec<Host>),
}

impl JobHosts {
    /// Their names.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        match self {
            Self::Cpus(hosts) => hosts.iter().map(|granted| granted.host.as_str()).collect(),
            Self::Slots(hosts) => hosts.iter().map(|host| host.name.as_str()).collect(),
        }
    }

    /// Whether a host is one of them.
    #[must_use]
    pub fn has(&self, host: &str) -> bool {
        self.names().iter().any(|name| same_host(name, host))
    }

    /// The number of granted CPUs or slots of a host; `None` if the host or the number is not known.
    #[must_use]
    pub fn cpus_of(&self, host: &str) -> Option<u32> {
        match self {
            Self::Cpus(hosts) => hosts
                .iter()
                .find(|granted| same_host(&granted.host, host))
                .map(|granted| granted.cpus),
            Self::Slots(hosts) => hosts.iter().find(|listed| same_host(&listed.name, host))?.slots,
        }
    }

    /// The nodes of a cluster that are these hosts, whole; `None` where it has none of them, and for
    /// invented nodes.
    ///
    /// # Errors
    /// If the nodes contradict each other.
    pub fn nodes_of(&self, whole: &Cluster) -> Result<Option<Cluster>, HostsError> {
        let found = self.names().into_iter().filter_map(|host| whole.find_node(host));
        let names: Vec<&str> = found.map(|node| whole.node(node).name.as_str()).collect();
        match names.is_empty() || whole.invented {
            true => Ok(None),
            false => hostfile::part(whole, names).map(Some),
        }
    }
}
