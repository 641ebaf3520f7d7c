//! Rank and job of a process, from the variables of launchers and batch systems.

use std::collections::BTreeMap;

use rankwright_shim_format::first_set;

use super::process::Process;

/// Programs that start ranks and have their variables, but are not ranks.
const LAUNCHERS: [&str; 13] = [
    "slurmstepd",
    "srun",
    "orted",
    "prted",
    "prterun",
    "mpirun",
    "mpiexec",
    "mpiexec.hydra",
    "hydra_pmi_proxy",
    BROKER,
    "flux-shell",
    "palsd",
    "rankwright",
];

const BROKER: &str = "flux-broker";

/// The rank of a process.
pub(super) fn rank(process: &Process) -> Option<u32> {
    first_set(|name| process.variable(name))?.1.parse().ok()
}

/// Whether a process is a rank or was started by a rank. In a batch job all processes inherit
/// `SLURM_PROCID` from the batch shell; it means a rank only in a step of `srun`.
pub(super) fn is_rank(process: &Process) -> bool {
    if LAUNCHERS.iter().any(|name| process.program.starts_with(name)) {
        return false;
    }
    match first_set(|name| process.variable(name)) {
        Some(("SLURM_PROCID", _)) => step(process).is_some(),
        variable => variable.is_some(),
    }
}

/// Whether a process is a part of a Flux instance. Brokers are ranks themselves, of what starts the instance,
/// and what they start inherits that. Tasks are started by shells and have a job of their own.
pub(super) fn serves_instance(process: &Process, others: &BTreeMap<u32, Process>) -> bool {
    let above = |below: &&Process| others.get(&below.parent);
    let mut line = std::iter::successors(Some(process), above).take(others.len()).skip(1);
    let job = process.variable("FLUX_JOB_ID");
    let is_of_job = |above: &Process| job.is_some() && above.variable("FLUX_JOB_ID") == job;
    line.any(|above| {
        let starts_it = above.pid == process.parent || is_of_job(above);
        starts_it && above.program.starts_with(BROKER)
    })
}

/// The number of a step that `srun` started; `None` for the batch shell and the like, which have
/// numbers near 2^32 or no number.
fn step(process: &Process) -> Option<u32> {
    let step = process.variable("SLURM_STEP_ID").or_else(|| process.variable("SLURM_STEPID"));
    step?.parse().ok().filter(|step| *step < u32::MAX - 100)
}

/// The job of a process, for messages: the number of the batch job, and what distinguishes several
/// launches in it.
pub(super) fn job(process: &Process, others: &BTreeMap<u32, Process>) -> String {
    let mut words = Vec::new();
    let by_srun = ["OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "PALS_RANKID", "FLUX_TASK_RANK"]
        .iter()
        .all(|name| process.variable(name).is_none());
    let mut told_apart = false;
    if let Some(number) = process.variable("SLURM_JOB_ID") {
        let step = step(process).filter(|_| by_srun);
        told_apart = step.is_some();
        words.push(step.map_or(format!("slurm {number}"), |step| format!("slurm {number}.{step}")));
    }
    for (name, variable) in [("lsf", "LSB_JOBID"), ("pbs", "PBS_JOBID"), ("flux", "FLUX_JOB_ID")] {
        words.extend(process.variable(variable).map(|number| format!("{name} {number}")));
    }
    // Every `flux run` is a job.
    let started_by = first_set(|name| process.variable(name));
    told_apart |= started_by.is_some_and(|(variable, _)| variable == "FLUX_TASK_RANK");
    if !told_apart {
        let openmpi = process.variable("OMPI_MCA_ess_base_jobid");
        let pmix = process.variable("PMIX_NAMESPACE");
        words.push(match (openmpi, pmix) {
            (Some(number), _) => format!("openmpi {number}"),
            (None, Some(name)) => format!("pmix {name}"),
            (None, None) => format!("launcher {}", launcher(process, others)),
        });
    }
    words.join(", ")
}

/// The process that started a rank: the first ancestor with another rank or none.
fn launcher(process: &Process, others: &BTreeMap<u32, Process>) -> u32 {
    let given = rank(process);
    let mut parent = process.parent;
    while let Some(above) = others.get(&parent).filter(|above| above.pid != 1) {
        if given.is_none() || rank(above) != given || !is_rank(above) {
            break;
        }
        parent = above.parent;
    }
    parent
}

/// Whether a process belongs to the job with this number or name.
pub(super) fn belongs_to(process: &Process, job: &str) -> bool {
    let names = [
        "SLURM_JOB_ID",
        "SLURM_JOBID",
        "LSB_JOBID",
        "PBS_JOBID",
        "FLUX_JOB_ID",
        "OMPI_MCA_ess_base_jobid",
        "PMIX_NAMESPACE",
    ];
    names.iter().any(|name| process.variable(name).is_some_and(|value| value == job))
}
