//! `run` of one placement: from a file, or made for the granted nodes.

use std::path::Path;
use std::process::ExitCode;

use rankwright::files::InputError;
use rankwright::launch::{Launch, ProgramLine, Task};
use rankwright::traffic::Workload;
use rankwright::units::counted;

use super::arguments::Run;
use super::counters::Job;
use super::fitting;
use super::placing::allocation::Allocation;
use super::preparation::DefaultHosts;
use crate::host::batch_job::BatchJob;
use crate::host::mpi::launcher::{MpiLauncher, Profiled};
use crate::launching::files::describe;
use crate::launching::prepared::Prepared;
use crate::launching::started::{Ready, refuse_root};
use crate::output::exit_code::NotStarted;
use crate::output::{self, Verbosity, note, sources, warn};

impl Run {
    /// Starts a job as a placement file says, or fails.
    pub(super) fn start_placed(
        &self,
        file: &Path,
        line: &ProgramLine,
        verbosity: &Verbosity,
    ) -> anyhow::Result<ExitCode> {
        let prepared = Prepared::read(&self.options, file)?;
        let installed = self.launcher(prepared.one_job()?.into(), line, verbosity)?;
        let batch = BatchJob::around()?;
        self.refuse_misfits(&prepared, installed.launcher, batch.as_ref(), verbosity)?;
        if self.dry_run {
            return dry_run(&self.dry_launch(&prepared, &installed, line, verbosity)?);
        }
        let ready = Ready::new(&prepared, &installed, Task::Programs(line), verbosity)?;
        ready.explain(verbosity);
        let workload = match &self.placing.profile {
            Some(_) => Some(self.placing.workload(verbosity)?),
            None => None,
        };
        let job = Job { prepared: &prepared, installed: &installed, workload: workload.as_ref() };
        self.run_counted(&ready, Some(&job), line, verbosity)
    }

    /// Places for the granted nodes and starts the job; if that fails, starts it by the launcher's
    /// default.
    pub(super) fn place_and_start(
        &self,
        line: &ProgramLine,
        verbosity: &Verbosity,
    ) -> anyhow::Result<ExitCode> {
        let batch = BatchJob::around();
        let around = batch.as_ref().ok().and_then(Option::as_ref);
        let mut ranks = self.placing.wanted_ranks(line.total(), around);
        let mut found = None;
        let placed = self.placed((&mut ranks, &mut found), batch, line, verbosity);
        let (ready, placed) = match placed {
            Ok((ready, prepared, workload)) => (ready, Some((prepared, workload))),
            Err(error) if self.placing.strict => return Err(error),
            Err(error) => {
                // Without a launcher, the job cannot start at all.
                let any = || self.launcher(Profiled::default(), line, verbosity);
                let installed = found.take().map_or_else(any, Ok)?;
                refuse_root(&self.options.launcher_arguments()?, &installed)?;
                let hosts = DefaultHosts { hosts: self.placing.hosts(), emulated: false };
                let launch = self.default_launch(&installed, ranks, line, &hosts)?;
                warn(
                    verbosity,
                    format_args!(
                        "not placed, {} starts the job by its default: {error:#}",
                        installed.launcher.program
                    ),
                );
                sources::tell(verbosity);
                (Ready::bare(launch), None)
            }
        };
        if self.dry_run {
            return dry_run(&ready.launch);
        }
        ready.explain(verbosity);
        let job = placed.as_ref().zip(found.as_ref()).map(|((prepared, workload), installed)| {
            Job { prepared, installed, workload: Some(workload) }
        });
        self.run_counted(&ready, job.as_ref(), line, verbosity)
    }

    /// A launch placed for the granted nodes, against the default of the launcher that is `found`. The
    /// default number of ranks is that of the profile.
    fn placed(
        &self,
        (ranks, found): (&mut Option<usize>, &mut Option<MpiLauncher>),
        batch: Result<Option<BatchJob>, InputError>,
        line: &ProgramLine,
        verbosity: &Verbosity,
    ) -> anyhow::Result<(Ready, Prepared, Workload)> {
        let workload = self.placing.workload(verbosity)?;
        let wanted = *ranks;
        ranks.get_or_insert(workload.rank_count());
        let batch = batch?;
        let batch = batch.as_ref();
        let allocation =
            Allocation::new(&self.placing, workload, (wanted, line), batch, verbosity)?;
        let installed = &*found.insert(self.launcher(allocation.profiled(), line, verbosity)?);
        let strategy = self.placing.strategy.as_deref();
        let (file, answer) = allocation.placement(strategy, installed.launcher, verbosity)?;
        let strategy = file.strategy.clone();
        let nodes = counted(file.nodes.len(), "node");
        let prepared = Prepared::new(&self.options, file, "the placement".to_owned())?;
        let launcher = (!self.dry_run).then_some(installed.launcher);
        let misfits = fitting::misfits(&prepared, launcher, batch, None)?;
        if !misfits.is_empty() && !self.force {
            return Err(NotStarted { code: 125, why: misfits.join("; ") }.into());
        }
        misfits.iter().for_each(|misfit| warn(verbosity, misfit));
        let count = counted(allocation.ranks(), "rank");
        let ready = if self.dry_run {
            Ready::bare(self.dry_launch(&prepared, installed, line, verbosity)?)
        } else {
            Ready::new(&prepared, installed, Task::Programs(line), verbosity)?
        };
        allocation.note(verbosity);
        if let Some(answer) = answer {
            let site = self.placing.defaults.cluster_name();
            let answer = match self.placing.on.as_deref().or(site) {
                Some(name) => answer.with_cluster_name(name, ""),
                None => answer,
            };
            note(verbosity, format!("{}\n{}", answer.text, answer.remarks()).trim_end());
        }
        note(verbosity, format_args!("{count} on {nodes} placed by {strategy}"));
        Ok((ready, prepared, allocation.into_workload()))
    }
}

/// Prints the files and the command line.
fn dry_run(launch: &Launch) -> anyhow::Result<ExitCode> {
    output::print(&describe(launch))?;
    Ok(ExitCode::SUCCESS)
}
