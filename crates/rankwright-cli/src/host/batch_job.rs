//! The batch job that this program runs in: its hosts and granted CPUs.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rankwright::cluster::read::allocation::{
    BatchSystem, Granted, JobGrant, JobHosts, TaskShares, Which,
};
use rankwright::cluster::read::hostfile;
use rankwright::files::InputError;
use rankwright::ids::PuSet;
use rankwright::launch::{Launcher, Software};
use rankwright_shim_format::same_host;

use crate::host::{child, find_program, flux_job, granted_gpus, this_host};

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The system whose current job is called by this name (`slurm:`).
fn called(name: &str) -> Option<BatchSystem> {
    BatchSystem::ALL.into_iter().find(|system| system.prefix() == name)
}

/// The hosts of the current job, if `name` is `slurm:`, `lsf:`, `pbs:` or `flux:`; with the numbers of their
/// granted CPUs and GPUs where Slurm or Flux tells them.
///
/// # Errors
/// If this does not run in such a job, the variables of the batch system are contradictory, or Flux does not
/// answer.
pub(crate) fn named(name: &str) -> Result<Option<JobHosts>, InputError> {
    match called(name) {
        None => Ok(None),
        Some(BatchSystem::Flux) => flux_job::asked().map(|hosts| Some(JobHosts::Cpus(hosts))),
        Some(system @ BatchSystem::Slurm) => {
            Ok(grant(system)?.map(|grant| JobHosts::Cpus(grant.hosts)))
        }
        Some(system) => system.hosts(variable),
    }
}

/// What the current job of a batch system was granted, with what Slurm says besides the environment; `None` for
/// Flux.
fn grant(system: BatchSystem) -> Result<Option<JobGrant>, InputError> {
    let number = system.number(variable).filter(|_| system == BatchSystem::Slurm);
    let said = number.map(|number| details_of_slurm(&number)).unwrap_or_default();
    system.grant(variable, &said)
}

/// The number of the current job.
pub(crate) fn number(name: &str) -> Option<String> {
    called(name)?.number(variable)
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
    pub(crate) hosts: JobHosts,
    /// The number of tasks that the user requested, if the batch system tells.
    pub(crate) tasks: Option<usize>,
    /// How they are shared out.
    pub(crate) shares: TaskShares,
}

/// The title of the current job and the shares of its tasks, where the batch system tells them by the
/// environment alone.
pub(crate) fn task_shares() -> Option<(String, TaskShares)> {
    let shares = TaskShares::around(variable)?;
    Some((title_here()?, shares))
}

/// The tasks that the current Slurm job was asked for; `None` without `--ntasks`.
pub(crate) fn slurm_tasks() -> Option<usize> {
    // Tasks of a heterogeneous job are counted by component.
    let tasks = variable("SLURM_NTASKS").filter(|_| variable("SLURM_HET_SIZE").is_none());
    tasks?.parse().ok()
}

/// The batch system of the current job, as the prefix of its name: `pbs:`.
pub(crate) fn system() -> Option<&'static str> {
    BatchSystem::around(variable).map(BatchSystem::prefix)
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
    BatchSystem::around(variable) == Some(BatchSystem::Flux)
}

/// The title of the current job; `None` outside of a job.
pub(crate) fn title_here() -> Option<String> {
    BatchSystem::around(variable).map(|system| system.title(variable))
}

/// The title and the hosts of the current job; `None` outside of a job, and in one of Flux that does not
/// tell its hosts.
///
/// # Errors
/// If the variables of the batch system are contradictory.
pub(crate) fn hosts_around() -> Result<Option<(String, JobHosts)>, InputError> {
    let Some(system) = BatchSystem::around(variable) else { return Ok(None) };
    let hosts = match system {
        BatchSystem::Flux => flux_job::hosts().map(JobHosts::Cpus),
        _ => system.hosts(variable)?,
    };
    Ok(hosts.map(|hosts| (system.title(variable), hosts)))
}

impl BatchJob {
    /// The current job; `None` outside of a job, and in one of Flux that does not tell its hosts.
    ///
    /// # Errors
    /// If the variables of the batch system are contradictory.
    pub(crate) fn around() -> Result<Option<Self>, InputError> {
        let Some(system) = BatchSystem::around(variable) else { return Ok(None) };
        let title = system.title(variable);
        let is_slurm = system == BatchSystem::Slurm;
        let Some(JobGrant { mut hosts, shares }) = grant(system)? else {
            // Flux tells which cores and GPUs are granted together with the hosts.
            let hosts = flux_job::hosts().map(JobHosts::Cpus);
            let shares = TaskShares::default();
            return Ok(hosts.map(|hosts| Self { title, hosts, tasks: None, shares }));
        };
        tell_which_here(&mut hosts);
        if !is_slurm {
            tell_gpus_here(&mut hosts);
        }
        let tasks = slurm_tasks().filter(|_| is_slurm);
        Ok(Some(Self { title, hosts: JobHosts::Cpus(hosts), tasks, shares }))
    }
}

/// Adds the numbers of the granted CPUs of this host, where the batch system does not tell them: the kernel
/// does, if the batch system confines jobs.
fn tell_which_here(hosts: &mut [Granted]) {
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

/// Adds the numbers of the granted GPUs of this host, where the batch system does not list them: those of the
/// visible GPUs.
fn tell_gpus_here(hosts: &mut [Granted]) {
    let (Ok(here), Some(numbers)) = (this_host::name(), granted_gpus::visible_numbers()) else {
        return;
    };
    let untold = |granted: &&mut Granted| granted.gpus.is_none() && same_host(&here, &granted.host);
    for granted in hosts.iter_mut().filter(untold) {
        granted.gpus = Some(numbers.clone());
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
