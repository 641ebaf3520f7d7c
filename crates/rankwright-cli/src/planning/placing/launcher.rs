//! The launcher whose default a placement is compared with, and for which files are written.

use std::collections::BTreeMap;

use clap::Args;
use rankwright::files::InputError;
use rankwright::launch::{LAUNCHERS, Launcher};
use rankwright::traffic::Workload;

use crate::host::mpi::launcher::{self, Profiled};
use crate::options::site::Defaults;
use crate::options::{FabricOptions, LAUNCHER_NAME};
use crate::output::{self, Verbosity};

/// The launcher, and the network stack of its ranks.
#[derive(Debug, Args)]
pub(crate) struct LauncherOptions {
    /// Launcher to write files for [default: that of site.toml, else the installed one, else
    /// openmpi4]
    #[arg(long = "for", value_name = "LAUNCHER", value_parser = LAUNCHER_NAME)]
    launcher: Option<&'static Launcher>,
    #[command(flatten)]
    fabric: FabricOptions,
    /// The defaults of the site.
    #[arg(skip)]
    defaults: Defaults,
}

impl LauncherOptions {
    /// Reads the defaults of the site.
    pub(crate) fn take_defaults(&mut self) -> Result<(), InputError> {
        self.defaults = Defaults::read()?;
        Ok(())
    }

    /// The launcher to write files for.
    pub(crate) fn find(&self, workload: &Workload) -> &'static Launcher {
        let installed = || {
            let job = workload.jobs.first()?;
            let ranks = Some(job.ranks as usize);
            let profiled = Profiled { mpi_library: &job.mpi_library, ranks };
            Some(launcher::find(None, profiled, None).ok()?.launcher)
        };
        let wanted = self.launcher.or_else(|| self.defaults.launcher());
        wanted.or_else(installed).unwrap_or(&LAUNCHERS[0])
    }

    /// As [`LauncherOptions::find`]; warns where jobs were recorded with several MPI libraries, of which a launcher
    /// starts one.
    pub(crate) fn find_for_all(
        &self,
        workload: &Workload,
        verbosity: &Verbosity,
    ) -> &'static Launcher {
        let launcher = self.find(workload);
        let of_jobs =
            workload.jobs.iter().map(|job| (without_version(&job.mpi_library), &job.name));
        let libraries: BTreeMap<&str, &String> =
            of_jobs.filter(|(library, _)| !library.is_empty()).collect();
        if libraries.len() > 1 {
            let all = libraries.iter().map(|(library, job)| format!("{job} with {library}"));
            let text = format!(
                "{}: one launcher starts programs of one MPI, those of another start as single processes \
                 under it; the files are for {}: place the jobs of each MPI by themselves, or write their files \
                 with `rankwright launch --job NAME --for LAUNCHER`",
                all.collect::<Vec<_>>().join(", "),
                launcher.name
            );
            output::warn(verbosity, text);
        }
        launcher
    }

    /// The network stack.
    pub(crate) fn fabric(&self) -> FabricOptions {
        self.fabric.or_default(&self.defaults)
    }
}

/// The name of an MPI library, like `Open MPI` of `Open MPI v4.1.4`.
fn without_version(library: &str) -> &str {
    let is_version =
        |word: &str| word.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit());
    let version = library.split(' ').find(|word| is_version(word));
    let end = version.and_then(|version| library.find(version)).unwrap_or(library.len());
    library[..end].trim().trim_end_matches("Version:").trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_libraries_have_no_version() {
        let names =
            ["Open MPI v4.1.4", "MPICH Version: 4.0.2", "Intel(R) MPI Library 2021.9", "MPI", ""];
        let without = ["Open MPI", "MPICH", "Intel(R) MPI Library", "MPI", ""];
        assert_eq!(names.map(without_version), without);
    }
}
