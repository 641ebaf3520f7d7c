//! The MPI launcher of this machine: which one is on PATH, and of which version.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use rankwright::launch::{self, Launcher};
use rankwright::placement::JobEntry;

use crate::exit_code::NotStarted;
use crate::mpi::{self, Mpi, find_program};

/// Which launcher to use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Family {
    /// The first that is found
    #[default]
    Auto,
    /// Open MPI 4
    Openmpi4,
    /// MPICH
    Mpich,
}

/// A launcher that is installed.
#[derive(Debug)]
pub(crate) struct MpiLauncher {
    /// Its program.
    pub(crate) program: PathBuf,
    /// The row of the library's table that writes for it.
    pub(crate) launcher: &'static Launcher,
}

/// The names that launchers have; Debian has both MPIs side by side under the longer ones.
const NAMES: [&str; 7] = [
    "mpirun",
    "mpiexec",
    "mpirun.openmpi",
    "mpiexec.openmpi",
    "mpirun.mpich",
    "mpiexec.mpich",
    "mpiexec.hydra",
];

/// Finds the launcher that `choice` names on PATH. If that leaves it open, the launcher of the MPI
/// library that the job was profiled with; under another one every process would believe to be
/// rank 0 of 1.
///
/// # Errors
/// As [`find`].
pub(crate) fn find_for(choice: Family, job: &JobEntry) -> Result<MpiLauncher, NotStarted> {
    match (choice, mpi::Family::of_library(&job.mpi_library)) {
        (Family::Auto, Some(mpi::Family::OpenMpi)) => find(Family::Openmpi4),
        // Intel MPI's programs start under MPICH's launcher.
        (Family::Auto, Some(mpi::Family::Mpich | mpi::Family::Intel)) => find(Family::Mpich),
        (choice, _) => find(choice),
    }
}

/// Finds the launcher of a family on PATH.
///
/// # Errors
/// If there is none; the error says what was found instead.
pub(crate) fn find(family: Family) -> Result<MpiLauncher, NotStarted> {
    let mut seen = Vec::new();
    for program in NAMES.iter().filter_map(|name| find_program(Path::new(name))) {
        let name = program.display().to_string();
        match Mpi::ask(program) {
            Ok(mpi) => {
                if let Some((row, offered)) = row(&mpi)
                    && (family == Family::Auto || family == offered)
                    && let Some(launcher) = launch::find(row)
                {
                    return Ok(MpiLauncher { program: mpi.launcher, launcher });
                }
                let (major, minor) = mpi.version;
                seen.push(format!("{name} ({} {major}.{minor})", mpi.family));
            }
            Err(said) => seen.push(format!("{name} (which says `{said}`)")),
        }
    }
    let wanted = match family {
        Family::Auto => "Open MPI 4 or MPICH",
        Family::Openmpi4 => "Open MPI 4",
        Family::Mpich => "MPICH",
    };
    let found = if seen.is_empty() { "none".to_owned() } else { seen.join(", ") };
    let why = format!(
        "found no launcher of {wanted} on PATH; launchers found: {found}; load the module of your \
         MPI, or write the files with `rankwright launch` and start the job by hand"
    );
    Err(NotStarted { code: 127, why })
}

/// The row of the launcher table that writes for this MPI, and its choice on the command line.
fn row(mpi: &Mpi) -> Option<(&'static str, Family)> {
    match (mpi.family, mpi.version) {
        (mpi::Family::OpenMpi, (4, _)) => Some(("openmpi4", Family::Openmpi4)),
        (mpi::Family::OpenMpi | mpi::Family::Intel, _) => None,
        (mpi::Family::Mpich, version) if version >= (4, 1) => Some(("mpich", Family::Mpich)),
        (mpi::Family::Mpich, _) => Some(("mpich:4.0", Family::Mpich)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_choose_the_row_of_the_table() {
        let row = |family, version| {
            row(&Mpi { launcher: PathBuf::new(), family, version }).map(|(name, _)| name)
        };
        assert_eq!(row(mpi::Family::OpenMpi, (4, 1)), Some("openmpi4"));
        assert_eq!(row(mpi::Family::OpenMpi, (5, 0)), None);
        assert_eq!(row(mpi::Family::Mpich, (3, 4)), Some("mpich:4.0"));
        assert_eq!(row(mpi::Family::Mpich, (4, 0)), Some("mpich:4.0"));
        assert_eq!(row(mpi::Family::Mpich, (4, 1)), Some("mpich"));
        assert_eq!(row(mpi::Family::Mpich, (5, 0)), Some("mpich"));
    }
}
