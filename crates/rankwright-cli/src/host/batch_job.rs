//! The batch job that this program runs in: its hosts and granted CPUs.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rankwright::cluster::read::allocation::{self, Granted, LsfAffinity, Which};
use rankwright::cluster::read::hostfile;
use rankwright::files::{self, InputError};
use rankwright::ids::PuSet;
use rankwright::launch::{Launcher, Software};
use rankwright_shim_format::same_host;

use crate::host::{child, find_program, flux_job, granted_gpus, this_host};

/// The hosts of a job, from its batch system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Hosts {
    /// Hosts with numbers of CPUs.
    Cpus(Vec<Granted>),
    /// Hosts with numbers of slots, each a core.
    Slots(Vec<hostfile::Host>),
}

impl Hosts {
    /// Their names.
    pub(crate) fn names(&self) -> Vec<&str> {
        match self {
            Self::Cpus(hosts) => hosts.iter().map(|granted| granted.host.as_str()).collect(),
            Self::Slots(hosts) => hosts.iter().map(|host| host.name.as_str()).collect(),
        }
    }

    /// Whether a host is one of them.
    pub(crate) fn has(&self, host: &str) -> bool {
        self.names().iter().any(|name| same_host(name, host))
    }

    /// The number of granted CPUs or slots of a host; `None` if the host or the number is not
    /// known.
    pub(crate) fn cpus_of(&self, host: &str) -> Option<u32> {
        match self {
            Self::Cpus(hosts) => hosts
                .iter()
                .find(|granted| same_host(&granted.host, host))
                .map(|granted| granted.cpus),
            Self::Slots(hosts) => hosts.iter().find(|listed| same_host(&listed.name, host))?.slots,
        }
    }
}

/// The prefix of Flux, whose jobs have no list of hosts in their environment.
const FLUX: &str = "flux:";

/// Batch systems: prefix on the command line, name, variable with the number of the job.
const SYSTEMS: [(&str, &str, &str); 3] = [
    ("slurm:", "Slurm", "SLURM_JOB_ID"),
    ("lsf:", "LSF", "LSB_JOBID"),
    ("pbs:", "PBS", "PBS_JOBID"),
];

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The hosts of the current job, if `name` is `slurm:`, `lsf:`, `pbs:` or `flux:`.
///
/// # Errors
/// If this does not run in such a job, the variables of the batch system are contradictory, or Flux does not
/// answer.
pub(crate) fn named(name: &str) -> Result<Option<Hosts>, InputError> {
    Ok(match name {
        "slurm:" => Some(Hosts::Cpus(allocation::slurm(variable)?)),
        "lsf:" => Some(Hosts::Cpus(allocation::lsf(variable)?)),
        FLUX => Some(Hosts::Cpus(flux_job::asked()?)),
        "pbs:" => {
            let Some(file) = variable("PBS_NODEFILE") else {
                let expected = "the variables of a PBS job, in which this must run";
                return Err(InputError::new(
                    "PBS_NODEFILE",
                    "nothing in the environment",
                    expected,
                ));
            };
            let text = files::read_text(Path::new(&file), hostfile::EXPECTED)?;
            Some(Hosts::Slots(hostfile::parse(&text, &file)?))
        }
        _ => None,
    })
}

/// The number of the current job.
pub(crate) fn number(name: &str) -> Option<String> {
    if name == FLUX {
        return flux_job::number(variable);
    }
    SYSTEMS.iter().find(|(prefix, ..)| *prefix == name).and_then(|(.., number)| variable(number))
}

/// The variable with the partition that the user plans for.
pub(crate) const PARTITION: &str = "RANKWRIGHT_PARTITION";

/// The partition that the current job runs in, or that the user plans for, and the variable that says
/// so. A heterogeneous job of Slurm with components in several partitions is in `a+b`.
pub(crate) fn partition() -> Option<(String, &'static str)> {
    const OF_SLURM: &str = "SLURM_JOB_PARTITION";
    let set = |name: &str| variable(name).filter(|name| !name.is_empty());
    let of_components = || {
        let count =
            variable("SLURM_HET_SIZE")?.parse().ok().filter(|count: &u32| *count <= 10_000)?;
        let of_component = |number| set(&format!("{OF_SLURM}_HET_GROUP_{number}"));
        let mut names: Vec<String> = (0..count).filter_map(of_component).collect();
        names.sort_unstable();
        names.dedup();
        Some(names.join("+")).filter(|names| !names.is_empty())
    };
    let of_slurm = || set(OF_SLURM).or_else(of_components).map(|name| (name, OF_SLURM));
    set(PARTITION).map(|name| (name, PARTITION)).or_else(of_slurm)
}

/// The current batch job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BatchJob {
    /// Its name in messages: `job 7 of Slurm`.
    pub(crate) title: String,
    /// Its hosts.
    pub(crate) hosts: Hosts,
    /// The number of tasks that the user requested, if the batch system tells.
    pub(crate) tasks: Option<usize>,
    /// How they are shared out.
    pub(crate) shares: TaskShares,
}

/// How many tasks of a batch job are on which hosts, and what each has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TaskShares {
    /// The number of CPUs per task, if the batch system tells.
    pub(crate) cpus_per_task: Option<u32>,
    /// The number of tasks on each host, if the batch system tells.
    pub(crate) of_hosts: Vec<(String, u32)>,
}

impl TaskShares {
    /// Those of the current job of Slurm. Tasks of a heterogeneous job are counted by component, so they
    /// have none.
    fn of_slurm() -> Self {
        let cpus = variable("SLURM_CPUS_PER_TASK").and_then(|text| text.parse().ok());
        Self {
            cpus_per_task: cpus.filter(|_| variable("SLURM_HET_SIZE").is_none()),
            of_hosts: allocation::slurm_tasks(variable).unwrap_or_default(),
        }
    }

    /// The title of the current job and its shares, where the batch system tells them by the
    /// environment alone.
    pub(crate) fn around() -> Option<(String, Self)> {
        let system = system().filter(|name| *name == "slurm:")?;
        Some((title(system), Self::of_slurm()))
    }
}

/// The batch system of the current job, as the prefix of its name: `pbs:`.
pub(crate) fn system() -> Option<&'static str> {
    let is_set = |name: &str| std::env::var_os(name).is_some();
    if is_set("SLURM_JOB_ID") && (is_set("SLURM_JOB_NODELIST") || is_set("SLURM_HET_SIZE")) {
        Some("slurm:")
    } else if is_set("LSB_JOBID") && is_set("LSB_MCPU_HOSTS") {
        Some("lsf:")
    } else if is_set("PBS_JOBID") && is_set("PBS_NODEFILE") {
        Some("pbs:")
    } else if flux_job::number(variable).is_some() {
        Some(FLUX)
    } else {
        None
    }
}

/// The hosts that a launcher has to be told in the current job: MPI launchers do not ask Flux for those of
/// its jobs. An empty list for launchers that ask the batch system themselves.
pub(crate) fn hosts_to_tell(launcher: &Launcher) -> Vec<hostfile::Host> {
    if !is_of_flux() || launcher.software == Software::Flux {
        return Vec::new();
    }
    let with_slots =
        |granted: Granted| hostfile::Host { name: granted.host, slots: Some(granted.cpus) };
    flux_job::hosts().unwrap_or_default().into_iter().map(with_slots).collect()
}

/// Whether the current job is one of Flux.
pub(crate) fn is_of_flux() -> bool {
    system() == Some(FLUX)
}

/// The title of the current job; `None` outside of a job.
pub(crate) fn title_here() -> Option<String> {
    system().map(title)
}

/// The title and the hosts of the current job; `None` outside of a job, and in one of Flux that does not
/// tell its hosts.
///
/// # Errors
/// If the variables of the batch system are contradictory.
pub(crate) fn hosts_around() -> Result<Option<(String, Hosts)>, InputError> {
    let Some(name) = system() else { return Ok(None) };
    let hosts = match name {
        FLUX => flux_job::hosts().map(Hosts::Cpus),
        _ => named(name)?,
    };
    Ok(hosts.map(|hosts| (title(name), hosts)))
}

/// `job 7 of Slurm`.
fn title(name: &str) -> String {
    let system = SYSTEMS.iter().find(|(prefix, ..)| *prefix == name).map_or("Flux", |it| it.1);
    format!("job {} of {system}", number(name).as_deref().unwrap_or("?"))
}

impl BatchJob {
    /// The current job; `None` outside of a job, and in one of Flux that does not tell its hosts.
    ///
    /// # Errors
    /// If the variables of the batch system are contradictory.
    pub(crate) fn around() -> Result<Option<Self>, InputError> {
        let Some(name) = system() else { return Ok(None) };
        let Some((title, hosts)) = hosts_around()? else { return Ok(None) };
        if name == FLUX {
            // It tells which cores and GPUs are granted together with the hosts.
            return Ok(Some(Self { title, hosts, tasks: None, shares: TaskShares::default() }));
        }
        let number = number(name);
        let mut hosts = match hosts {
            Hosts::Cpus(hosts) => hosts,
            // PBS lists a host for each task, without CPU numbers.
            Hosts::Slots(hosts) => hosts.into_iter().map(one_cpu_per_slot).collect(),
        };
        let affinity = match (name, variable("LSB_AFFINITY_HOSTFILE")) {
            ("lsf:", Some(file)) => {
                let expected = "LSF's list of hosts and CPUs of the tasks";
                let text = files::read_text(Path::new(&file), expected)?;
                allocation::lsf_affinity(&text, &file)?
            }
            _ => LsfAffinity::default(),
        };
        for granted in &mut hosts {
            if let Some(pus) = affinity.pus.get(&granted.host) {
                granted.cpus = u32::try_from(pus.len()).unwrap_or(u32::MAX);
                granted.which = Which::Pus(pus.clone());
            }
        }
        let said = match (name, &number) {
            ("slurm:", Some(number)) => details_of_slurm(number),
            _ => String::new(),
        };
        tell_which(&mut hosts, allocation::slurm_cpu_ids(&said));
        let mut gpus = allocation::slurm_gpu_ids(&said);
        hosts.iter_mut().for_each(|granted| granted.gpus = gpus.remove(&granted.host));
        if name != "slurm:" {
            tell_gpus(&mut hosts);
        }
        // Tasks of a heterogeneous job are counted by component.
        let of_slurm = name == "slurm:" && variable("SLURM_HET_SIZE").is_none();
        let count = |name: &str| variable(name).and_then(|text| text.parse().ok());
        let shares = match name {
            "slurm:" => TaskShares::of_slurm(),
            _ => {
                let cpus = affinity.pus_per_task.and_then(|count| u32::try_from(count).ok());
                TaskShares { cpus_per_task: cpus, of_hosts: Vec::new() }
            }
        };
        Ok(Some(Self {
            title,
            hosts: Hosts::Cpus(hosts),
            tasks: if of_slurm { count("SLURM_NTASKS") } else { None },
            shares,
        }))
    }
}

fn one_cpu_per_slot(host: hostfile::Host) -> Granted {
    Granted { host: host.name, cpus: host.slots.unwrap_or(1), which: Which::Unknown, gpus: None }
}

/// Adds the numbers of the granted CPUs of each host, if they are known.
fn tell_which(hosts: &mut [Granted], mut ids: BTreeMap<String, Vec<u32>>) {
    for granted in &mut *hosts {
        let listed = ids.remove(&granted.host);
        if let Some(listed) = listed.filter(|ids| ids.len() == granted.cpus as usize) {
            granted.which = Which::Slurm(listed);
        }
    }
    // For this host the kernel tells, if the batch system confines jobs.
    let (Ok(here), Some(pus)) = (this_host::name(), pus_here()) else { return };
    let unknown = |granted: &&mut Granted| {
        granted.which == Which::Unknown
            && granted.cpus as usize == pus.len()
            && same_host(&granted.host, &here)
    };
    if let Some(granted) = hosts.iter_mut().find(unknown) {
        granted.which = Which::Pus(pus);
    }
}

/// Adds the numbers of the granted GPUs of each host, if they are known: from PBS's list for all hosts,
/// else for this host from the list of visible GPUs.
fn tell_gpus(hosts: &mut [Granted]) {
    let mut listed = granted_gpus::listed();
    let here = this_host::name().ok().zip(granted_gpus::visible_numbers());
    for granted in hosts {
        let of_host = listed.iter().position(|(host, _)| same_host(host, &granted.host));
        let of_here = || {
            let (name, numbers) = here.as_ref()?;
            same_host(name, &granted.host).then(|| numbers.clone())
        };
        granted.gpus = of_host.map(|at| listed.swap_remove(at).1).or_else(of_here);
    }
}

/// The PUs that this process may run on.
pub(crate) fn pus_here() -> Option<PuSet> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    list.trim().parse().ok()
}

/// The time limit of `scontrol`: a busy controller must not delay the start of the job.
const PATIENCE: Duration = Duration::from_millis(800);

/// What Slurm says about the CPUs and GPUs of each host; empty if it does not answer.
fn details_of_slurm(job: &str) -> String {
    let Some(scontrol) = find_program(Path::new("scontrol")) else { return String::new() };
    let mut command = Command::new(scontrol);
    command.args(["show", "job", "--details", job]).stdin(Stdio::null()).stderr(Stdio::null());
    let said = child::first_output(&mut command, PATIENCE).unwrap_or_default();
    // A very long answer is cut; drop its incomplete last line.
    said.rfind('\n').map_or("", |end| &said[..end]).to_owned()
}
