//! Preparations that a single start and a comparison share.

use std::path::Path;

use rankwright::cluster::read::hostfile::Host;
use rankwright::launch::{DefaultRequest, Launch, Launcher, ProgramLine, Task};

use super::arguments::Run;
use super::fitting;
use crate::host::batch_job::{self, BatchJob};
use crate::host::mpi::launcher::{self, MpiLauncher, Profiled, library_name};
use crate::launching::prepared::{Prepared, StartedBy};
use crate::options::inputs;
use crate::output::exit_code::NotStarted;
use crate::output::{Verbosity, warn};

/// The hosts of a launch by the launcher's default.
#[derive(Debug, Default)]
pub(super) struct DefaultHosts {
    pub(super) hosts: Vec<Host>,
    /// Whether their cores do not exist.
    pub(super) emulated: bool,
}

impl Run {
    /// The launcher that the user chose, or that of the site if it can start the programs, or the one of
    /// the programs' MPI.
    pub(super) fn launcher(
        &self,
        job: Profiled,
        line: &ProgramLine,
        verbosity: &Verbosity,
    ) -> Result<MpiLauncher, NotStarted> {
        let find = |choice| launcher::find(choice, job, Some(line));
        let of_site = match self.launcher {
            Some(_) => None,
            None => self.placing.defaults.launcher(),
        };
        let Some(of_site) = of_site else { return find(self.launcher) };
        find(Some(of_site)).or_else(|error| {
            let found = find(None)?;
            let (name, instead) = (of_site.name, found.launcher.name);
            let text =
                format!("the launcher of the site, {name}, is not used but {instead}: {error}");
            warn(verbosity, text);
            Ok(found)
        })
    }

    /// An error if a placement does not fit the allocation; with --force, a warning.
    pub(super) fn refuse_misfits(
        &self,
        prepared: &Prepared,
        launcher: &Launcher,
        batch: Option<&BatchJob>,
        verbosity: &Verbosity,
    ) -> anyhow::Result<()> {
        // With --profile, --on describes the hardware of the granted nodes.
        let on = self.placing.on.as_deref().filter(|_| self.placing.profile.is_none());
        let cluster = on.map(inputs::cluster).transpose()?;
        let launcher = (!self.dry_run).then_some(launcher);
        let misfits = fitting::misfits(prepared, launcher, batch, cluster.as_ref())?;
        if misfits.is_empty() {
            return Ok(());
        }
        if self.force {
            misfits.iter().for_each(|misfit| warn(verbosity, misfit));
            return Ok(());
        }
        let why = format!(
            "{}: {} (--profile places for the granted nodes, --force starts the job as it is)",
            prepared.file(),
            misfits.join("; ")
        );
        Err(NotStarted { code: 125, why }.into())
    }

    /// The launch by the launcher's default, on these hosts; without any, on those of the batch system, or
    /// on this one.
    pub(super) fn default_launch(
        &self,
        MpiLauncher { program, launcher }: &MpiLauncher,
        ranks: Option<usize>,
        line: &ProgramLine,
        DefaultHosts { hosts, emulated }: &DefaultHosts,
    ) -> anyhow::Result<Launch> {
        let hosts = match hosts.is_empty() {
            true => &batch_job::hosts_to_tell(launcher),
            false => hosts,
        };
        Ok(launcher.write_default(&DefaultRequest {
            program: &program.display().to_string(),
            agent: self.options.target.agent.as_deref(),
            arguments: &self.options.launcher_arguments()?,
            ranks,
            hosts,
            emulated: *emulated,
            mpi_library: library_name(line, ranks).unwrap_or_default(),
            programs: line,
        })?)
    }

    /// The launch with files in a folder that does not exist, for --dry-run.
    pub(super) fn dry_launch(
        &self,
        prepared: &Prepared,
        MpiLauncher { program, launcher }: &MpiLauncher,
        line: &ProgramLine,
        verbosity: &Verbosity,
    ) -> anyhow::Result<Launch> {
        prepared.warn_of_other_gpus(verbosity)?;
        let (job, task) = (prepared.one_job()?, Task::Programs(line));
        prepared.launch(launcher, StartedBy::Us(program), job, Path::new("FOLDER"), task)
    }
}
