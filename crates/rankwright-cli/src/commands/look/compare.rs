//! `rankwright compare`.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::bail;
use clap::{Args, ValueEnum};
use rankwright::choose::{Basis, Candidate, Plan, rank_by_bytes};
use rankwright::cluster::Cluster;
use rankwright::estimate::{Fluid, Prediction};
use rankwright::launch::Launcher;
use rankwright::map::Strategy;
use rankwright::parallel;
use rankwright::ranking::{Rule, Score, rank};
use rankwright::report::page::Report;
use rankwright::report::waiting::{WaitingComparison, WaitingRow};
use rankwright::report::{Comparison, LauncherDefault};
use rankwright::sim::{Progress, SimulationError, simulate};
use rankwright::traffic::{Job, Workload};
use rankwright::units::Seconds;

use crate::host::signals::interrupt;
use crate::launching::lab;
use crate::options::{
    ClusterOptions, Format, Given, LAUNCHER_NAME, RankSize, ReportOption, ResultOptions,
    SearchOptions, SimulationOptions, inputs, refuse, strategy_help,
};
use crate::output::{self, Verbosity};
use crate::planning::simulations::Watch;
use crate::planning::{comparison, launcher_default, plan, reports};

const COLUMNS: &str = "\
Columns of the result:
  waiting        summed over all messages, so that it can exceed the run time
  finish         arrival of the last message
  seeds          longest simulations that include the strategy; replayed: whether its calls were
  model: ..      the same by the queueing model
  between nodes  bytes between nodes
  busiest NIC    time that it needs for its bytes
  hops/byte      links and buses that a byte passes, on average";

/// Options of `rankwright compare`.
#[derive(Debug, Args)]
#[command(after_help = format!("{COLUMNS}\n\n{}", strategy_help()))]
pub(crate) struct Compare {
    #[command(flatten)]
    given: Given,
    #[arg(help = inputs::WORKLOAD_HELP)]
    workload: String,
    #[command(flatten)]
    cluster: ClusterOptions,
    /// Evaluation to rank the strategies by [default: the one that `place` would use]
    #[arg(long, value_enum)]
    by: Option<By>,
    /// Strategies to compare, separated by commas, like blocked,drb:seed=3 [default: all]
    #[arg(long, value_name = "LIST", alias = "strategy")]
    strategies: Option<String>,
    /// Compare with what this launcher does by default, as `place` does [default: blocked]
    #[arg(long = "for", value_name = "LAUNCHER", value_parser = LAUNCHER_NAME)]
    launcher: Option<&'static Launcher>,
    #[command(flatten)]
    rank_size: RankSize,
    #[command(flatten)]
    search: SearchOptions,
    #[command(flatten)]
    result: ResultOptions,
    #[command(flatten)]
    report: ReportOption,
    #[command(flatten)]
    simulation: SimulationOptions,
}

/// One evaluation of each candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    /// Static estimates: bytes through network devices and memories, and their hops
    Static,
    /// Waiting of messages by the queueing model; needs message timing
    Model,
    /// Waiting of messages by simulation; needs message timing
    Simulation,
}

impl Compare {
    pub(crate) fn run(self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        self.result.check()?;
        self.report.check(&[self.result.file()])?;
        let mut strategies = self.search.strategies(self.strategies.as_deref())?;
        let simulates = |strategy: &Strategy| strategy.chooses() || strategy.starts_from_others();
        let unused = matches!(self.by, Some(By::Static | By::Model));
        if unused && !strategies.iter().any(simulates) {
            let why = " applies to `--by simulation` and to strategies that simulate";
            refuse(&[(self.given.first_of::<SimulationOptions>(), why)])?;
        }
        let whole = self.cluster.read()?;
        let workload = inputs::workload(&self.workload, verbosity)?;
        let granularity = self.rank_size.granularity();
        let cluster =
            self.cluster.nodes.chosen(&whole, workload.rank_count(), &granularity, verbosity)?;
        let simulation =
            self.simulation.options(self.search.seed(), &inputs::split(&self.workload));
        let default = self.launcher.map(|launcher| {
            let default = launcher_default::strategy(launcher, workload.rank_count(), verbosity);
            LauncherDefault::add(&mut strategies, launcher, default, false)
        });
        let default = default.transpose()?;
        let mut planner = self
            .search
            .planner(&cluster, &workload, &strategies)?
            .granularity(granularity)
            .simulation(simulation)
            .evaluate_all(self.by.is_none());
        if let Some(default) = &default {
            planner = default.planner(planner);
        }
        let plan = plan::plan(&self.search, &planner, verbosity)?;
        let compared = self.compared(&cluster, &workload, &plan, verbosity)?;
        self.result.write(&compared.show(self.result.format))?;
        if self.report.is_wanted() {
            let report = compared.page((&cluster, &workload), &plan);
            let report =
                reports::with_inputs(report, &whole, std::slice::from_ref(&self.workload))?;
            let on = (self.cluster.name(), lab::entry_to(&cluster));
            let ranks = workload.rank_count();
            let program = reports::program_text(&[], &workload);
            let names = reports::names_of(&self.workload, on, ranks, program);
            self.report.write(report, &names, verbosity)?;
        }
        if interrupt::requested() {
            bail!("interrupted: the numbers of strategies that were stopped are incomplete");
        }
        if self.result.format != Format::Table {
            output::note(verbosity, compared.caveat());
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The comparison with its caveats.
    fn compared(
        &self,
        cluster: &Cluster,
        workload: &Workload,
        plan: &Plan,
        verbosity: &Verbosity,
    ) -> anyhow::Result<Compared> {
        let candidates = &plan.candidates;
        let (basis, rows) = match self.by {
            None => return Ok(Compared::AsPlaced(Comparison::of_plan(cluster, plan))),
            Some(By::Static) => return Ok(Compared::AsPlaced(by_bytes(cluster, candidates))),
            Some(By::Model) => {
                warn_of_clocks_in_step(workload, verbosity);
                (Basis::Model, self.predicted(cluster, workload, candidates)?)
            }
            Some(By::Simulation) => {
                (Basis::Simulation, self.simulated(cluster, workload, candidates, verbosity)?)
            }
        };
        let scores: Vec<Score> = rows.iter().map(|row| row.score).collect();
        let ranking = rank(&scores, &Rule::Objective(plan.rule));
        let comparison = WaitingComparison::new(cluster, basis, rows, &ranking);
        Ok(Compared::ByWaiting(comparison, by_bytes(cluster, candidates)))
    }

    fn predicted(
        &self,
        cluster: &Cluster,
        workload: &Workload,
        candidates: &[Candidate],
    ) -> anyhow::Result<Vec<WaitingRow>> {
        let rows = parallel::map(candidates, self.search.threads(), |_, candidate| {
            let begin = Instant::now();
            let prediction = Prediction::new(cluster, workload, &candidate.placement)?;
            let fluid = Fluid::of_placement(cluster, workload, &candidate.placement)?;
            let wall = Seconds(begin.elapsed().as_secs_f64());
            Ok(WaitingRow::predicted(candidate, &fluid, &prediction, wall))
        });
        rows.into_iter().collect()
    }

    fn simulated(
        &self,
        cluster: &Cluster,
        workload: &Workload,
        candidates: &[Candidate],
        verbosity: &Verbosity,
    ) -> anyhow::Result<Vec<WaitingRow>> {
        let workloads = inputs::split(&self.workload);
        let options = self.simulation.options(self.search.seed(), &workloads);
        let watch = Watch::new(verbosity, candidates.len());
        let rows = parallel::map(candidates, self.search.threads(), |position, candidate| {
            let begin = Instant::now();
            let mut observer = |progress: &Progress| watch.observe(position, progress);
            let placement = &candidate.placement;
            let outcome = simulate(cluster, workload, placement, &options, &mut observer)?;
            let wall = Seconds(begin.elapsed().as_secs_f64());
            Ok(WaitingRow::simulated(candidate, &outcome, wall))
        });
        drop(watch);
        Ok(rows.into_iter().collect::<Result<_, SimulationError>>()?)
    }
}

/// A comparison of strategies.
enum Compared {
    /// As `place` compares, or by bytes.
    AsPlaced(Comparison),
    /// By waiting; and by bytes.
    ByWaiting(WaitingComparison, Comparison),
}

impl Compared {
    fn show(&self, format: Format) -> String {
        match self {
            Self::AsPlaced(comparison) => comparison::show(comparison, format),
            Self::ByWaiting(comparison, _) => show_waiting(comparison, format),
        }
    }

    fn caveat(&self) -> String {
        match self {
            Self::AsPlaced(comparison) => comparison.caveat(),
            Self::ByWaiting(comparison, _) => comparison.caveat(),
        }
    }

    fn page(&self, job: (&Cluster, &Workload), plan: &Plan) -> Report {
        match self {
            Self::AsPlaced(comparison) => Report::of_plan(job, plan, comparison),
            Self::ByWaiting(waiting, by_bytes) => {
                Report::of_waiting(job, &plan.candidates, waiting, by_bytes)
            }
        }
    }
}

fn by_bytes(cluster: &Cluster, candidates: &[Candidate]) -> Comparison {
    Comparison::new(cluster, candidates, &rank_by_bytes(candidates), None)
}

fn warn_of_clocks_in_step(workload: &Workload, verbosity: &Verbosity) {
    let in_step = |job: &Job| job.sources.iter().any(|source| source.in_step.is_some());
    if workload.jobs.iter().any(in_step) {
        let text = "the model takes clocks that tick in step for independent ones: \
                    `--by simulation` does not";
        output::warn(verbosity, text);
    }
}

fn show_waiting(comparison: &WaitingComparison, format: Format) -> String {
    match format {
        Format::Json => comparison.to_json(),
        Format::Csv => {
            let (header, rows) = comparison.csv();
            output::csv(&header, &rows)
        }
        Format::Table => {
            let (header, rows) = comparison.table();
            let table = output::table(&header, &rows);
            format!("{}\n\n{table}\n{}\n", comparison.reason(), comparison.caveat())
        }
    }
}
