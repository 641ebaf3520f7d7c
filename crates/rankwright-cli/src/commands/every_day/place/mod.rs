//! `rankwright place`.

mod files;
mod populations;

use std::process::ExitCode;

use clap::Args;
use rankwright::choose::Candidate;
use rankwright::launch::Launcher;
use rankwright::map::Problem;
use rankwright::placement::PREDICTED_RUN_TIME;
use rankwright::report::Answer;
use rankwright::report::page::{Names, Report};

use files::FileOptions;
use populations::PopulationOptions;

use crate::host::signals::interrupt;
use crate::launching::lab;
use crate::launching::preview::with_launches;
use crate::options::{Format, Given, ReportOption, programs, refuse, strategy_help};
use crate::output::exit_code::UsageError;
use crate::output::{self, Verbosity};
use crate::planning::placing::{Job, PlacingOptions};
use crate::planning::plan::Planning;
use crate::planning::reports::{Placed, program_text};
use crate::planning::{accuracy, comparison, devices, plan, reports};

const EXAMPLES: &str = "\
Examples: rankwright place app.rwp --on cluster.toml -- ./app input.dat
          rankwright place app.rwp --on cluster.toml --nodes 4 --ranks-per-node 16
          rankwright place app.rwp --on cluster.toml --nodes 4..16
          rankwright place cg.rwp ep.rwp --on cluster.toml --report report.html";

const COLUMNS: &str = "\
Columns of the result:
  run time       expected, of the whole program; recorded run time plus simulated difference
  gain           share of the run time that is saved against the launcher's default
  communication  run time without the computing time of the rank that computes longest
  waiting, end   without a recorded run: waiting summed over all messages, arrival of the last one
  between nodes  bytes between nodes, and their share of all bytes
  busiest NIC    share of the run in which it is busy; without message timing the time for its bytes
  nodes, ranks/node, hops/byte
                 nodes with ranks; ranks on each of them; links and buses that a byte passes";

/// Options of `rankwright place`.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{COLUMNS}\n\n{}", strategy_help()))]
pub(crate) struct Place {
    #[command(flatten)]
    given: Given,
    #[command(flatten)]
    placing: PlacingOptions,
    #[command(flatten)]
    populations: PopulationOptions,
    /// At the first Ctrl-C end the search and write the best placement so far, instead of nothing; the
    /// second one ends at once
    #[arg(long)]
    keep_best: bool,
    /// Format of the comparison
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
    #[command(flatten)]
    files: FileOptions,
    #[command(flatten)]
    report: ReportOption,
    /// The program and its arguments, for the launch files; or several programs: -n 2 ./a x : -n 6
    /// ./b y
    #[arg(last = true, value_name = "PROGRAM")]
    program: Vec<String>,
}

/// A placement with its expected run time, seconds, if that is known, and its report if the user wants one.
struct Best {
    candidate: Candidate,
    run_time: Option<f64>,
    report: Option<Report>,
}

impl Place {
    pub(crate) fn run(mut self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        // `place .. | head` must not end before the files are written.
        interrupt::survive_closed_pipe();
        self.files.launcher.take_defaults()?;
        self.check()?;
        let line = (!self.program.is_empty()).then(|| programs(&self.program)).transpose()?;
        let strategies = self.placing.strategies()?;
        let several = self.placing.cluster.read_several()?;
        self.refuse_options(several.is_some())?;
        let (whole, counts) = match several {
            Some((of_most, counts)) => (of_most, Some(counts)),
            None => (self.placing.cluster.read()?, None),
        };
        let mut job = self.placing.job(whole, strategies, line.as_ref(), verbosity)?;
        let launcher = self.files.launcher.find_for_all(&job.workload, verbosity);
        let best = match counts {
            Some(counts) => {
                let candidate = self.best_of(&counts, &mut job, launcher, verbosity)?;
                Best { candidate, run_time: None, report: None }
            }
            None => self.best(&mut job, launcher, verbosity)?,
        };
        let mut file = self.placing.file(&job, &best.candidate, verbosity)?;
        // Below the answer, whose error it is to be read with.
        accuracy::quote(&file, &self.program, verbosity);
        let run_time = best.run_time.map(|seconds| (PREDICTED_RUN_TIME.to_owned(), seconds));
        file.predicted.extend(run_time);
        let table = devices::ranks_of_gpus(&self.placing.rank_size, &job.cluster, &file, verbosity);
        if self.format == Format::Table {
            let table = table.unwrap_or_else(|| devices::ranks_of_nodes(&file, verbosity));
            output::print_unless_closed(&table, false)?;
        }
        let strategy = best.candidate.strategy.to_string();
        let names = Names {
            placement: self.files.output.display().to_string(),
            ..reports::names(
                &self.placing,
                &job,
                program_text(&self.program, &job.workload),
                lab::entry_to(&job.cluster),
            )
        };
        let report = best.report.map(|report| {
            let launches = self.files.preview(&file, launcher, line.as_ref());
            with_launches(report, launches, &self.files.output, &names.program)
        });
        self.files.write(file, (&strategy, launcher), line.as_ref(), verbosity)?;
        report.map_or(Ok(()), |report| self.report.write(report, &names, verbosity))?;
        Ok(ExitCode::SUCCESS)
    }

    /// Whether the files can be written, and the programs be those of the jobs; before the work.
    fn check(&self) -> anyhow::Result<()> {
        self.files.check()?;
        self.report.check(&[Some(&self.files.output)])?;
        self.placing.refuse_misplaced()?;
        if !self.program.is_empty() && self.placing.workloads.len() > 1 {
            let text = "one program for several jobs: leave out `-- PROGRAM`, and write the launch \
                        files of each with `rankwright launch --job NAME`";
            return Err(UsageError(text.to_owned()).into());
        }
        Ok(())
    }

    /// Refuses options that have no effect for several numbers of nodes, or for one.
    fn refuse_options(&self, several: bool) -> Result<(), UsageError> {
        match several {
            false => {
                let why = " needs several numbers of nodes, like --nodes 4..16";
                refuse(&[(self.given.first_of::<PopulationOptions>(), why)])
            }
            true => {
                let why = ": a report is of one number of nodes, not of several";
                refuse(&[(self.given.first_of::<ReportOption>(), why)])
            }
        }
    }

    /// Prints what the best placement gains against the launcher's default; returns the best.
    fn best(
        &self,
        job: &mut Job,
        launcher: &'static Launcher,
        verbosity: &Verbosity,
    ) -> anyhow::Result<Best> {
        let entry = lab::entry_to(&job.cluster);
        let how = (self.keep_best, entry.as_str());
        let (mut plan, comparison) = self.placing.plan(job, launcher, how, verbosity)?;
        let answer = comparison::show_answer(&comparison, self.format, verbosity);
        output::print_unless_closed(&answer, false)?;
        let placed = Placed { options: &self.placing, job };
        let wanted = self.report.is_wanted();
        let report = wanted.then(|| reports::of_plan(placed, (&plan, &comparison), verbosity));
        let report = report.transpose()?;
        let candidate = plan.candidates.swap_remove(plan.ranking.best());
        // The number repeats a search under --time, unless that ended its first assignments.
        if verbosity.verbose || self.placing.search.is_timed() {
            plan::note_moves(verbosity, &candidate.made_by, candidate.moves);
        }
        let run_time = comparison.answer.as_ref().and_then(Answer::run_time_s);
        Ok(Best { candidate, run_time, report })
    }

    /// Prints a row per number of nodes; returns the best placement.
    fn best_of(
        &self,
        counts: &[usize],
        job: &mut Job,
        launcher: &'static Launcher,
        verbosity: &Verbosity,
    ) -> anyhow::Result<Candidate> {
        let default = self.placing.launcher_default(job, launcher, verbosity)?;
        let job = &*job;
        // Others have the fluid, which needs no simulation.
        let planner = default.planner(self.placing.planner(job, verbosity)?);
        let planner = planner.evaluate_all(job.workload.is_recorded());
        let planning = Planning::new(&self.placing.search, verbosity).keep_best(self.keep_best);
        let mut plan = |problem: Problem, (number, count)| {
            let nodes = format!("{} nodes", problem.cluster.node_ids().len());
            planning.clone().part(number, count, &nodes).plan_in(problem, &planner)
        };
        let Job { cluster, workload, granularity, .. } = job;
        let (jobs, default) = ((cluster, workload), default.strategy());
        let compared =
            self.populations.compare(jobs, granularity.clone(), counts, &mut plan, default);
        let text = compared.show(self.format);
        let best = compared.best()?;
        output::print_unless_closed(&text, false)?;
        for weakness in &job.unsteady {
            output::warn(verbosity, weakness);
        }
        Ok(best)
    }
}
