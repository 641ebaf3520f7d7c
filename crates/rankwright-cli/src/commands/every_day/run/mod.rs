//! `rankwright run`: starts a program as placed.

mod comparison;
mod fitting;
mod placing;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use rankwright::files::InputError;
use rankwright::launch::{DefaultRequest, Launch, Launcher, ProgramLine, Task};
use rankwright::placement::JobEntry;
use rankwright::units::{Seconds, counted};

use crate::host::batch_job::BatchJob;
use crate::host::mpi::launcher::{MpiLauncher, find_for_programs, library_name};
use crate::launching::files::describe;
use crate::launching::prepared::Prepared;
use crate::launching::started::{Ready, refuse_root};
use crate::options::{
    Given, LAUNCHER_NAME, LaunchOptions, ResultOptions, SelectionOptions, given, inputs, programs,
    refuse,
};
use crate::output::exit_code::{NotStarted, UsageError};
use crate::output::{self, Verbosity, note, warn};
use comparison::ComparisonOptions;
use placing::PlacingOptions;

/// Options of `rankwright run`.
#[derive(Debug, Args)]
#[command(
    after_help = "Returns the program's exit code; 124 after --timeout; 125, 126, 127 if the \
                        program was not started."
)]
pub(crate) struct Run {
    #[command(flatten)]
    given: Given,
    /// The placement, as `place` or `map` wrote it; --profile makes one for the nodes granted
    #[arg(value_name = "PLACEMENT", required_unless_present_any = ["profile", "compare"])]
    placement: Option<PathBuf>,
    #[command(flatten)]
    options: LaunchOptions,
    #[command(flatten)]
    placing: PlacingOptions,
    /// Start although hosts, PUs, devices or the cluster are not those of the placement
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    comparison: ComparisonOptions,
    /// The launcher [default: that of the program's MPI, else the first that is found]
    #[arg(long = "for", value_name = "LAUNCHER", value_parser = LAUNCHER_NAME)]
    launcher: Option<&'static Launcher>,
    /// End the job after this time; with --compare, each of its runs
    #[arg(long, value_name = "TIME")]
    timeout: Option<Seconds>,
    /// Print the files and the command line, start nothing
    #[arg(long, conflicts_with = "compare")]
    dry_run: bool,
    /// The program and its arguments, or several: -n 2 ./a x : -n 6 ./b y
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    program: Vec<String>,
}

impl Run {
    pub(crate) fn run(self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        self.refuse_contradictions()?;
        Ok(self.start(verbosity).map_err(NotStarted::by_us_unless_known)?)
    }

    /// An error for options that contradict each other or have no effect: the command line is wrong,
    /// whatever there is to start.
    fn refuse_contradictions(&self) -> Result<(), UsageError> {
        let (compared, placing) = (self.comparison.is_wanted(), self.placing.profile.is_some());
        let both = self.placement.is_some() && placing && !compared;
        refuse(&[
            (
                self.given.first_of::<ResultOptions>().filter(|_| !compared),
                " is for the result of --compare: what the program prints passes as it is",
            ),
            (
                given("a placement and --profile", both),
                ": one of them says where the ranks go; both are for --compare",
            ),
            (
                self.given.first_of::<SelectionOptions>().filter(|_| !placing),
                ": devices are chosen with the cores, by --profile; a placement has those that \
                 `rankwright place --nics` chose",
            ),
        ])
    }

    fn start(&self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        let line = programs(&self.program)?;
        if self.comparison.is_wanted() {
            return self.compare(&line, verbosity);
        }
        match &self.placement {
            Some(file) => self.start_placed(file, &line, verbosity),
            None => self.place_and_start(&line, verbosity),
        }
    }

    /// The launcher that the user chose, or that of the MPI that the programs load.
    fn launcher(
        &self,
        job: Option<&JobEntry>,
        line: &ProgramLine,
    ) -> Result<MpiLauncher, NotStarted> {
        find_for_programs(self.launcher, job, Some(line))
    }

    /// Starts a job as a file says, or not at all.
    fn start_placed(
        &self,
        file: &Path,
        line: &ProgramLine,
        verbosity: &Verbosity,
    ) -> anyhow::Result<ExitCode> {
        let prepared = Prepared::read(&self.options, file)?;
        let installed = self.launcher(Some(prepared.one_job()?), line)?;
        self.refuse_misfits(&prepared, BatchJob::around()?.as_ref(), verbosity)?;
        if self.dry_run {
            return dry_run(&self.dry_launch(&prepared, &installed, line)?);
        }
        let ready = Ready::new(&prepared, &installed, Task::Programs(line), verbosity)?;
        ready.explain(verbosity);
        ready.run(line, self.timeout, verbosity)
    }

    /// An error if a placement does not fit what is granted; a warning if the user insists.
    fn refuse_misfits(
        &self,
        prepared: &Prepared,
        batch: Option<&BatchJob>,
        verbosity: &Verbosity,
    ) -> anyhow::Result<()> {
        // With --profile, --on says what the granted nodes are like, which may be some of them.
        let on = self.placing.on.as_deref().filter(|_| self.placing.profile.is_none());
        let cluster = on.map(|on| inputs::cluster(on, None)).transpose()?;
        let misfits = fitting::misfits(prepared, batch, cluster.as_ref())?;
        if misfits.is_empty() {
            return Ok(());
        }
        if self.force {
            misfits.iter().for_each(|misfit| warn(verbosity, misfit));
            return Ok(());
        }
        let why = format!(
            "{}: {} (--profile places for what is granted, --force starts it all the same)",
            prepared.file(),
            misfits.join("; ")
        );
        Err(NotStarted { code: 125, why }.into())
    }

    /// Places for the nodes granted and starts the job; if anything is wrong, as the launcher does it
    /// by default.
    fn place_and_start(
        &self,
        line: &ProgramLine,
        verbosity: &Verbosity,
    ) -> anyhow::Result<ExitCode> {
        let batch = BatchJob::around();
        let known = batch.as_ref().ok().and_then(Option::as_ref);
        let mut ranks = self.placing.wanted_ranks(line.total(), known);
        let placed = self.placed(&mut ranks, batch, line, verbosity);
        let ready = match placed {
            Ok(ready) => ready,
            Err(error) if self.placing.strict => return Err(error),
            Err(error) => {
                // Without a launcher there is nothing to start, placed or not.
                let installed = self.launcher(None, line)?;
                refuse_root(&self.options.launcher_arguments()?, &installed)?;
                let launch = self.default_launch(&installed, ranks, line)?;
                warn(
                    verbosity,
                    format_args!(
                        "not placed, {} starts by its default: {error:#}",
                        installed.launcher.program
                    ),
                );
                Ready::bare(launch)
            }
        };
        if self.dry_run {
            return dry_run(&ready.launch);
        }
        ready.explain(verbosity);
        ready.run(line, self.timeout, verbosity)
    }

    /// A launch that is placed for the nodes granted. If nobody says how many ranks are wanted, the
    /// profile does as soon as it is read.
    fn placed(
        &self,
        ranks: &mut Option<usize>,
        batch: Result<Option<BatchJob>, InputError>,
        line: &ProgramLine,
        verbosity: &Verbosity,
    ) -> anyhow::Result<Ready> {
        let workload = self.placing.workload(verbosity)?;
        let wanted = *ranks;
        ranks.get_or_insert(workload.rank_count());
        let batch = batch?;
        let batch = batch.as_ref();
        let ground = self.placing.ground(workload, wanted, batch, verbosity)?;
        let file = ground.placement(self.placing.strategy.as_deref(), verbosity)?;
        let strategy = file.strategy.clone();
        let nodes = counted(file.nodes.len(), "node");
        let prepared = Prepared::new(&self.options, file, "the placement".to_owned())?;
        let installed = self.launcher(Some(prepared.one_job()?), line)?;
        let misfits = fitting::misfits(&prepared, batch, None)?;
        if !misfits.is_empty() && !self.force {
            return Err(NotStarted { code: 125, why: misfits.join("; ") }.into());
        }
        misfits.iter().for_each(|misfit| warn(verbosity, misfit));
        let count = counted(ground.ranks(), "rank");
        let ready = if self.dry_run {
            Ready::bare(self.dry_launch(&prepared, &installed, line)?)
        } else {
            Ready::new(&prepared, &installed, Task::Programs(line), verbosity)?
        };
        ground.note(verbosity);
        note(verbosity, format_args!("{count} on {nodes} placed by {strategy}"));
        Ok(ready)
    }

    /// What the launcher does when nobody tells it where the ranks go.
    fn default_launch(
        &self,
        MpiLauncher { program, launcher }: &MpiLauncher,
        ranks: Option<usize>,
        line: &ProgramLine,
    ) -> anyhow::Result<Launch> {
        Ok(launcher.write_default(&DefaultRequest {
            program: &program.display().to_string(),
            agent: self.options.target.agent.as_deref(),
            arguments: &self.options.launcher_arguments()?,
            ranks,
            hosts: &self.placing.hosts(),
            mpi_library: library_name(line, ranks).unwrap_or_default(),
            programs: line,
        })?)
    }

    /// The launch as it would be, with files in a folder that is not there.
    fn dry_launch(
        &self,
        prepared: &Prepared,
        MpiLauncher { program, launcher }: &MpiLauncher,
        line: &ProgramLine,
    ) -> anyhow::Result<Launch> {
        let (job, task) = (prepared.one_job()?, Task::Programs(line));
        prepared.launch(launcher, Some(program), job, Path::new("FOLDER"), task)
    }
}

/// Prints the files and the command line for people.
fn dry_run(launch: &Launch) -> anyhow::Result<ExitCode> {
    output::print(&describe(launch))?;
    Ok(ExitCode::SUCCESS)
}
