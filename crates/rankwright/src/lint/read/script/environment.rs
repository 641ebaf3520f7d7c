//! The variables by which a rank knows itself, by launcher.

use std::collections::BTreeMap;

/// Where a rank is among the others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Position {
    pub(super) rank: usize,
    pub(super) ranks: usize,
    pub(super) local: usize,
    pub(super) locals: usize,
    pub(super) node: usize,
    pub(super) nodes: usize,
}

/// The launchers that set variables of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::lint) enum Starter {
    /// Not known: the variables of all are set.
    Any,
    Srun,
    /// mpirun or mpiexec of any MPI, in a job of Slurm if so.
    Mpirun {
        in_slurm: bool,
    },
}

/// A number of a rank.
type Number = fn(&Position) -> usize;

/// Variables with their numbers.
type Table = [(&'static str, Number)];

/// Variables of mpirun and mpiexec.
const MPIRUN: [(&str, Number); 17] = [
    ("OMPI_COMM_WORLD_RANK", |it| it.rank),
    ("OMPI_COMM_WORLD_SIZE", |it| it.ranks),
    ("OMPI_COMM_WORLD_LOCAL_RANK", |it| it.local),
    ("OMPI_COMM_WORLD_LOCAL_SIZE", |it| it.locals),
    ("OMPI_COMM_WORLD_NODE_RANK", |it| it.local),
    ("PMIX_RANK", |it| it.rank),
    ("PMI_RANK", |it| it.rank),
    ("PMI_SIZE", |it| it.ranks),
    ("MPI_LOCALRANKID", |it| it.local),
    ("MPI_LOCALNRANKS", |it| it.locals),
    ("MV2_COMM_WORLD_RANK", |it| it.rank),
    ("MV2_COMM_WORLD_SIZE", |it| it.ranks),
    ("MV2_COMM_WORLD_LOCAL_RANK", |it| it.local),
    ("MV2_COMM_WORLD_LOCAL_SIZE", |it| it.locals),
    ("PALS_RANKID", |it| it.rank),
    ("PALS_LOCAL_RANKID", |it| it.local),
    ("PALS_LOCAL_SIZE", |it| it.locals),
];

/// Variables of tasks of srun, which differ by task.
const SRUN_TASK: [(&str, Number); 3] = [
    ("SLURM_PROCID", |it| it.rank),
    ("SLURM_LOCALID", |it| it.local),
    ("SLURM_NODEID", |it| it.node),
];

/// Variables of a job of Slurm.
const SLURM: [(&str, Number); 4] = [
    ("SLURM_NTASKS", |it| it.ranks),
    ("SLURM_NPROCS", |it| it.ranks),
    ("SLURM_NNODES", |it| it.nodes),
    ("SLURM_JOB_NUM_NODES", |it| it.nodes),
];

/// Variables of tasks of Flux.
const FLUX: [(&str, Number); 3] = [
    ("FLUX_TASK_RANK", |it| it.rank),
    ("FLUX_TASK_LOCAL_ID", |it| it.local),
    ("FLUX_JOB_SIZE", |it| it.ranks),
];

/// The variables that a launcher sets for a rank.
pub(super) fn variables(starter: Starter, position: &Position) -> BTreeMap<String, String> {
    let tables: &[&Table] = match starter {
        Starter::Any => &[&MPIRUN, &SRUN_TASK, &SLURM, &FLUX],
        Starter::Srun => &[&SRUN_TASK, &SLURM],
        Starter::Mpirun { in_slurm: true } => &[&MPIRUN, &SLURM],
        Starter::Mpirun { in_slurm: false } => &[&MPIRUN],
    };
    let all = tables.iter().flat_map(|table| table.iter());
    let mut variables: BTreeMap<String, String> =
        all.map(|(name, number)| ((*name).to_owned(), number(position).to_string())).collect();
    if starter == (Starter::Mpirun { in_slurm: true }) {
        // Those of the batch script, which mpirun passes on to all ranks.
        variables.extend(SRUN_TASK.map(|(name, _)| (name.to_owned(), "0".to_owned())));
    }
    variables
}

/// The variables in a script that its launcher does not set for each rank; none if it also has one that
/// the launcher sets.
pub(super) fn foreign(text: &str, starter: Starter) -> Vec<&'static str> {
    let (own, others): (&Table, &[&Table]) = match starter {
        Starter::Any => return Vec::new(),
        Starter::Srun => (&SRUN_TASK, &[&MPIRUN, &FLUX]),
        Starter::Mpirun { .. } => (&MPIRUN, &[&SRUN_TASK, &FLUX]),
    };
    if named(text, &[own]).is_empty() { named(text, others) } else { Vec::new() }
}

/// The first variable in a text by which ranks differ.
pub(in crate::lint) fn of_a_rank(text: &str) -> Option<&'static str> {
    let is_size = |name: &str| name.ends_with("SIZE") || name.ends_with("NRANKS");
    named(text, &[&SRUN_TASK, &MPIRUN, &FLUX]).into_iter().find(|name| !is_size(name))
}

/// Whether a script has a variable by which ranks differ.
pub(super) fn has_any(text: &str) -> bool {
    !named(text, &[&MPIRUN, &SRUN_TASK, &FLUX]).is_empty()
}

fn named(text: &str, tables: &[&Table]) -> Vec<&'static str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words: Vec<&str> = text.split(|c| !is_name(c)).collect();
    let all = tables.iter().flat_map(|table| table.iter()).map(|(name, _)| *name);
    all.filter(|name| words.contains(name)).collect()
}
