//! The launcher whose default a placement is compared with, and for which files are written.

use clap::Args;
use rankwright::files::InputError;
use rankwright::launch::{LAUNCHERS, Launcher};
use rankwright::traffic::Workload;

use crate::host::mpi::launcher::{self, Profiled};
use crate::options::site::Defaults;
use crate::options::{FabricOptions, LAUNCHER_NAME};

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

    /// The network stack.
    pub(crate) fn fabric(&self) -> FabricOptions {
        self.fabric.or_default(&self.defaults)
    }
}
