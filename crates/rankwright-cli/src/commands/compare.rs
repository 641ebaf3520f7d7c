//! `rankwright compare`.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::bail;
use clap::{Args, ValueEnum};
use rankwright::choose::{Basis, Candidate, rank_by_bytes};
use rankwright::cluster::Cluster;
use rankwright::estimate::{Fluid, Prediction};
use rankwright::map::Strategy;
use rankwright::parallel::side_by_side;
use rankwright::ranking::{Rule, Score, rank};
use rankwright::report::Comparison;
use rankwright::report::waiting::{WaitingComparison, WaitingRow};
use rankwright::sim::{Progress, SimulationError, simulate};
use rankwright::traffic::{Job, Workload};
use rankwright::units::Seconds;

use crate::cli::Verbosity;
use crate::output::{self, Format, ResultOptions};
use crate::planning::{
    self, ClusterOptions, EvaluatedCandidates, EvaluationRequest, RankSize, SearchOptions,
};
use crate::simulating::{SimulationOptions, Watch};
use crate::{inputs, interrupt};

/// Options of `rankwright compare`.
#[derive(Debug, Args)]
#[command(after_help = planning::strategy_help())]
pub(crate) struct Compare {
    #[arg(help = inputs::WORKLOAD_HELP)]
    workload: String,
    #[command(flatten)]
    cluster: ClusterOptions,
    /// By what the strategies are judged
    #[arg(long, value_enum, default_value_t)]
    by: By,
    /// The strategies, separated by commas; all of them by default
    #[arg(long, value_name = "LIST")]
    strategies: Option<String>,
    #[command(flatten)]
    rank_size: RankSize,
    #[command(flatten)]
    search: SearchOptions,
    #[command(flatten)]
    result: ResultOptions,
    #[command(flatten)]
    simulation: SimulationOptions,
}

/// One evaluation of each candidate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum By {
    /// Bytes through network devices and memories, and how far they travel
    #[default]
    Static,
    /// How long messages wait, predicted by the queueing model; needs jobs that say when they send
    Model,
    /// How long messages wait, simulated; needs jobs that say when they send
    Simulation,
}

impl Compare {
    pub(crate) fn run(self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        let strategies = self.search.strategies(self.strategies.as_deref())?;
        let simulates = |strategy: &Strategy| strategy.chooses() || strategy.starts_from_others();
        let unused = matches!(self.by, By::Static | By::Model);
        if unused && !strategies.iter().any(simulates) {
            self.simulation.refuse("for `--by simulation` and for strategies that simulate")?;
        }
        let cluster = self.cluster.read()?;
        let workload = inputs::workload(&self.workload, verbosity)?;
        let simulation =
            self.simulation.options(self.search.seed(), &inputs::split(&self.workload));
        let request = EvaluationRequest { simulation, all: false };
        let inputs = (&cluster, &workload);
        let made =
            self.search.candidates(inputs, &self.rank_size, &strategies, request, verbosity)?;
        let (text, caveat) = self.compared(&cluster, &workload, &made, verbosity)?;
        self.result.write(&text)?;
        if interrupt::requested() {
            bail!(
                "interrupted: the numbers of strategies that were stopped are not those of the whole"
            );
        }
        if self.result.format != Format::Table {
            output::note(verbosity, caveat);
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The comparison as it is shown, and what must be said with it.
    fn compared(
        &self,
        cluster: &Cluster,
        workload: &Workload,
        made: &EvaluatedCandidates,
        verbosity: &Verbosity,
    ) -> anyhow::Result<(String, String)> {
        let candidates = &made.candidates;
        let (basis, rows) = match self.by {
            By::Static => {
                let ranked = rank_by_bytes(candidates);
                let comparison = Comparison::new(cluster, candidates, &ranked, None);
                return Ok((show(&comparison, self.result.format), comparison.caveat()));
            }
            By::Model => {
                warn_of_clocks_in_step(workload, verbosity);
                (Basis::Model, self.predicted(cluster, workload, candidates)?)
            }
            By::Simulation => {
                (Basis::Simulation, self.simulated(cluster, workload, candidates, verbosity)?)
            }
        };
        let scores: Vec<Score> = rows.iter().map(|row| row.score).collect();
        let ranking = rank(&scores, &Rule::Objective(made.rule));
        let comparison = WaitingComparison::new(cluster, basis, rows, &ranking);
        Ok((show_waiting(&comparison, self.result.format), comparison.caveat()))
    }

    fn predicted(
        &self,
        cluster: &Cluster,
        workload: &Workload,
        candidates: &[Candidate],
    ) -> anyhow::Result<Vec<WaitingRow>> {
        let rows = side_by_side(candidates, self.search.threads, |_, candidate| {
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
        let rows = side_by_side(candidates, self.search.threads, |position, candidate| {
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
            format!("{table}\n{}\n", comparison.caveat())
        }
    }
}

/// A comparison in one of the formats.
pub(crate) fn show(comparison: &Comparison, format: Format) -> String {
    let timed = comparison.evaluation.is_some();
    match format {
        Format::Table => {
            let (header, rows) =
                if timed { comparison.evaluated_table() } else { comparison.table() };
            let mut tables = output::table(&header, &rows);
            if !timed {
                let (header, rows) = comparison.cut_table();
                let header: Vec<&str> = header.iter().map(String::as_str).collect();
                tables += &format!("\n{}", output::table(&header, &rows));
            }
            let (reason, caveat) = (&comparison.reason, comparison.caveat());
            let collectives = comparison.collectives_sentence().map(|text| text + "\n");
            let collectives = collectives.unwrap_or_default();
            format!("{tables}\n{reason}\n{collectives}{caveat}\n")
        }
        Format::Json => comparison.to_json(),
        Format::Csv => {
            let (header, rows) = if timed { comparison.evaluated_csv() } else { comparison.csv() };
            let header: Vec<&str> = header.iter().map(String::as_str).collect();
            output::csv(&header, &rows)
        }
    }
}
