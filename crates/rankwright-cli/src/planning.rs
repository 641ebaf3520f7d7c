//! What `place`, `compare` and `map` share: their options, and the way from inputs to candidates.

use std::mem::discriminant;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::time::Instant;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use rankwright::choose::{
    Candidate, CandidateError, ChooseOptions, Evaluation, NotSimulated, RankedCandidates,
    candidates, rank_candidates,
};
use rankwright::cluster::Cluster;
use rankwright::map::{Clock, DEFAULT_BALANCE, MAPPERS, Problem, Strategy, StrategyId};
use rankwright::placement::Granularity;
use rankwright::ranking::{Objective, ObjectiveRule};
use rankwright::report::Comparison;
use rankwright::sim::{Options, Pacing};
use rankwright::traffic::Workload;
use rankwright::units::{Seconds, UnitError, counted};

use crate::cli::Verbosity;
use crate::exit_code::UsageError;
use crate::node_counts::NodeCounts;
use crate::termination::ended_by_sigterm;
use crate::{inputs, interrupt, output};

/// Options of every search.
#[derive(Debug, Clone, Args)]
pub(crate) struct SearchOptions {
    /// What random numbers are drawn from: those of strategies without a seed of their own, and the
    /// clocks of simulations
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u32>,
    /// How many strategies or simulations may run at the same time; the result does not depend on it
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    pub(crate) threads: NonZeroUsize,
    /// How long strategies that search may do so, and how much is simulated to choose among answers:
    /// `fast` (nothing), `normal` or `best`, counted in work
    #[arg(long, value_name = "EFFORT", conflicts_with = "time")]
    effort: Option<String>,
    /// How long searching and choosing may take by the clock, like 10s, over all strategies; the
    /// result then depends on the machine
    #[arg(long, value_name = "TIME", value_parser = parse_time, allow_hyphen_values = true)]
    time: Option<Seconds>,
    /// What should be small where jobs say when they send: `waiting` of all messages, the `finish` of
    /// the run, or `balanced`, both
    #[arg(long, value_name = "WHAT")]
    objective: Option<String>,
    /// After how many moves strategies that search end
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["time", "effort"])]
    moves: Option<u64>,
    /// Where nodes differ in speed: by which share the rank that computes longest may take longer
    /// than it must
    #[arg(long, value_name = "SHARE", default_value_t = DEFAULT_BALANCE, value_parser = parse_balance)]
    balance: f64,
}

fn parse_balance(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1000.0).contains(share));
    share.ok_or_else(|| format!("found `{text}`, expected a share from 0 to 1000, like 0.02"))
}

fn parse_time(text: &str) -> Result<Seconds, UnitError> {
    text.parse()
}

/// On what cluster.
#[derive(Debug, Clone, Args)]
pub(crate) struct ClusterOptions {
    /// The cluster: a cluster.toml, an hwloc XML file, synthetic:STRING or a built-in name
    #[arg(long, value_name = "CLUSTER")]
    on: String,
    /// How many nodes, where the cluster is one node's hwloc description; `place` also takes a range
    /// like 4..16 or a list like 4,8,16, and compares them
    #[arg(long, value_name = "NUMBER")]
    nodes: Option<NodeCounts>,
}

impl ClusterOptions {
    /// Reads the cluster.
    pub(crate) fn read(&self) -> anyhow::Result<Cluster> {
        match &self.nodes {
            None => inputs::cluster(&self.on, None),
            Some(NodeCounts::One(count)) => inputs::cluster(&self.on, Some(*count)),
            Some(NodeCounts::Several { text, .. }) => Err(UsageError(format!(
                "--nodes {text}: expected one number; `place` compares several"
            ))
            .into()),
        }
    }

    /// The numbers of nodes that are to be compared, if any, and a cluster with as many as the
    /// largest.
    pub(crate) fn read_several(&self) -> anyhow::Result<Option<(Cluster, Vec<usize>)>> {
        let Some(NodeCounts::Several { text, counts }) = &self.nodes else { return Ok(None) };
        let counts: Vec<u32> = counts.iter().map(|count| count.get()).collect();
        let most = counts.last().copied().unwrap_or(1);
        let cluster = inputs::cluster_of_at_least(&self.on, most)?;
        let there = cluster.nodes.len();
        if there < most as usize {
            return Err(UsageError(format!(
                "--nodes {text}: `{}` has {}, expected at most that many",
                self.on,
                counted(there, "node")
            ))
            .into());
        }
        Ok(Some((cluster, counts.into_iter().map(|count| count as usize).collect())))
    }
}

/// What one rank gets.
#[derive(Debug, Clone, Args)]
pub(crate) struct RankSize {
    /// Whole cores for each rank
    #[arg(long, value_name = "NUMBER", default_value = "1", conflicts_with = "per")]
    cores_per_rank: std::num::NonZeroU32,
    /// One rank per core with all its PUs, or one per PU
    #[arg(long, value_enum, default_value_t)]
    per: Per,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Per {
    #[default]
    Core,
    Pu,
}

impl RankSize {
    /// An error if the user gave any of them, where nothing is placed.
    pub(crate) fn refuse(&self, why: &str) -> Result<(), UsageError> {
        match self.granularity() {
            Granularity::Cores(1) => Ok(()),
            _ => Err(UsageError(format!("--cores-per-rank and --per are {why}"))),
        }
    }

    /// The same as the library names it.
    pub(crate) fn granularity(&self) -> Granularity {
        match self.per {
            Per::Core => Granularity::Cores(self.cores_per_rank.get()),
            Per::Pu => Granularity::Pu,
        }
    }
}

/// An error for the first option that the user gave.
fn refuse_given(options: &[(&str, bool)], why: &str) -> Result<(), UsageError> {
    match options.iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(UsageError(format!("{option} is {why}"))),
        None => Ok(()),
    }
}

impl SearchOptions {
    /// An error if the user gave any of them, where nothing is searched.
    pub(crate) fn refuse(&self, why: &str) -> Result<(), UsageError> {
        let given = [
            ("--seed", self.seed.is_some()),
            ("--threads", self.threads != NonZeroUsize::MIN),
            ("--effort", self.effort.is_some()),
            ("--time", self.time.is_some()),
            ("--objective", self.objective.is_some()),
            ("--moves", self.moves.is_some()),
            ("--balance", self.balance != DEFAULT_BALANCE),
        ];
        refuse_given(&given, why)
    }

    /// An error if the user gave any that says nothing about a bare graph: all cores are equally fast
    /// there, and only strategies with an objective of their own have one.
    pub(crate) fn refuse_for_graph(&self, strategy: &Strategy) -> Result<(), UsageError> {
        let objective = self.objective.is_some() && strategy.objective().is_none();
        refuse_given(
            &[("--objective", objective)],
            "for workloads and for strategies that take it",
        )?;
        refuse_given(&[("--balance", self.balance != DEFAULT_BALANCE)], "for workloads")
    }

    /// What random numbers are drawn from beside the strategies.
    pub(crate) fn seed(&self) -> u64 {
        self.seed.map_or(1, u64::from)
    }

    /// One strategy by the name the user gave it.
    pub(crate) fn strategy(&self, text: &str) -> anyhow::Result<Strategy> {
        let for_all = [
            ("seed", self.seed.map(|seed| seed.to_string())),
            ("effort", self.effort.clone()),
            ("moves", self.moves.map(|moves| moves.to_string())),
            ("objective", self.objective.clone()),
        ];
        let set = |strategy: Strategy, (option, value): (&str, Option<String>)| match value {
            Some(value) => strategy.with_default(option, &value),
            None => Ok(strategy),
        };
        let parsed = text.parse().and_then(|strategy| for_all.into_iter().try_fold(strategy, set));
        parsed.map_err(|error| UsageError(error.to_string()).into())
    }

    /// The clock of a search that begins now: what of `--time` has passed.
    pub(crate) fn start_clock(&self) -> Option<Box<Clock<'static>>> {
        let (time, begin) = (self.time?.0, Instant::now());
        Some(Box::new(move || match time > 0.0 {
            true => begin.elapsed().as_secs_f64() / time,
            false => 1.0,
        }))
    }

    /// The strategies of a list like `blocked,drb:seed=3,kway`; where there is none, all that take
    /// part in every comparison.
    pub(crate) fn strategies(&self, list: Option<&str>) -> anyhow::Result<Vec<Strategy>> {
        let Some(list) = list else {
            let all = MAPPERS.iter().filter(|entry| entry.role.is_candidate());
            return all.map(|entry| self.strategy(entry.name)).collect();
        };
        let mut texts: Vec<String> = Vec::new();
        for part in list.split(',') {
            // `seed=3` behind a comma is one more option of the strategy before it.
            match texts.last_mut().filter(|_| part.contains('=') && !part.contains(':')) {
                Some(last) => *last = format!("{last},{part}"),
                None => texts.push(part.to_owned()),
            }
        }
        texts.iter().map(|text| self.strategy(text)).collect()
    }

    /// What should be small.
    fn objective(&self) -> anyhow::Result<Objective> {
        let objective = self.objective.as_deref().map_or(Ok(Objective::default()), str::parse);
        objective.map_err(|expected| {
            let found = self.objective.as_deref().unwrap_or_default();
            UsageError(format!("--objective: found `{found}`, {expected}")).into()
        })
    }

    /// How many messages may be simulated to choose among answers, and with how many seeds. In closed
    /// loops and with very many ranks a message takes longer, so there are fewer.
    fn simulated(&self, closed_loop: bool, ranks: usize) -> (u64, usize) {
        let (messages, seeds): (u64, usize) = match (self.effort.as_deref(), self.time) {
            (Some("fast"), _) => return (0, 0),
            (_, Some(_)) => return (u64::MAX, 10),
            (Some("best"), _) => (2_000_000_000, 10),
            _ => (100_000_000, 3),
        };
        let of_loop = if closed_loop { messages / 5 } else { messages };
        (of_loop * 2000 / (ranks as u64).max(2000), seeds)
    }

    /// Runs all strategies and evaluates their mappings. One that fails is warned of; an error if none
    /// is left.
    pub(crate) fn candidates(
        &self,
        (cluster, workload): (&Cluster, &Workload),
        rank_size: &RankSize,
        strategies: &[Strategy],
        request: EvaluationRequest,
        verbosity: &Verbosity,
    ) -> anyhow::Result<EvaluatedCandidates> {
        let problem = Problem::new(cluster, workload, rank_size.granularity())?;
        self.candidates_of(problem, strategies, request, verbosity)
    }

    /// The same for a problem that is made already.
    pub(crate) fn candidates_of(
        &self,
        problem: Problem,
        strategies: &[Strategy],
        request: EvaluationRequest,
        verbosity: &Verbosity,
    ) -> anyhow::Result<EvaluatedCandidates> {
        let closed = request.simulation.pacing != Pacing::Open;
        let problem = problem.with_balance(self.balance).with_closed_loop(closed);
        let spinner =
            output::spinner(verbosity, format!("strategies to try: {}", strategies.len()));
        let observer = |messages: u64| {
            // Until the first simulation an interrupt ends the program at once.
            interrupt::watch();
            if messages > 0 {
                spinner.set_message(format!("{} million messages simulated", messages / 1_000_000));
            }
            if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let clock = self.start_clock();
        let (messages, seeds) = self.simulated(closed, problem.rank_count());
        let options = ChooseOptions {
            threads: self.threads,
            clock: clock.as_deref(),
            objective: self.objective()?,
            simulation: request.simulation,
            messages,
            seeds,
            evaluate_all: request.all,
            observer: &observer,
        };
        let rule = options.rule(&problem);
        let made = ended_by_sigterm(|| candidates(&problem, strategies, &options));
        spinner.finish_and_clear();
        if let Some(why) = &made.not_simulated {
            if *why == NotSimulated::Stopped {
                bail!("interrupted");
            }
            let by = if made.evaluation.is_some() { "the model" } else { "static estimates" };
            output::warn(verbosity, format_args!("judged by {by}, not by simulation: {why}"));
        }
        let (mut candidates, mut left_out) = (Vec::new(), Vec::new());
        for (strategy, candidate) in strategies.iter().zip(made.results) {
            match candidate {
                Ok(candidate) => candidates.push(candidate),
                Err(error) => left_out.push((strategy.to_string(), error)),
            }
        }
        if candidates.is_empty() {
            let first = left_out.into_iter().next();
            return Err(first.context("no strategy was named")?.1.into());
        }
        for text in by_reason(&left_out) {
            output::warn(verbosity, format_args!("left out: {text}"));
        }
        Ok(EvaluatedCandidates { candidates, evaluation: made.evaluation, rule })
    }
}

/// Strategies that failed for the same reason, with that: a line each. Where devices cannot be chosen
/// for several, only what is said of nodes and ranks differs: that of the first is told.
fn by_reason(failed: &[(String, CandidateError)]) -> Vec<String> {
    let why = |error: &CandidateError| match error {
        CandidateError::Map { error, .. } => error.to_string(),
        other => other.to_string(),
    };
    let alike = |a: &CandidateError, b: &CandidateError| match (a, b) {
        (
            CandidateError::Selection { error: a, .. },
            CandidateError::Selection { error: b, .. },
        ) => discriminant(a) == discriminant(b),
        _ => why(a) == why(b),
    };
    let mut reasons: Vec<Vec<&(String, CandidateError)>> = Vec::new();
    for one in failed {
        match reasons.iter_mut().find(|known| alike(&known[0].1, &one.1)) {
            Some(known) => known.push(one),
            None => reasons.push(vec![one]),
        }
    }
    let line = |of: &Vec<&(String, CandidateError)>| {
        let names: Vec<&str> = of.iter().map(|(strategy, _)| strategy.as_str()).collect();
        let (names, first) = (names.join(", "), why(&of[0].1));
        match of.iter().all(|(_, error)| why(error) == first) {
            true => format!("{names}: {first}"),
            false => format!("{names}; under {}: {first}", of[0].0),
        }
    };
    reasons.iter().map(line).collect()
}

/// How mappings are evaluated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EvaluationRequest {
    /// How they are simulated.
    pub(crate) simulation: Options,
    /// Whether all are evaluated, also where no strategy needs that.
    pub(crate) all: bool,
}

/// The candidates of the strategies that have one.
#[derive(Debug)]
pub(crate) struct EvaluatedCandidates {
    pub(crate) candidates: Vec<Candidate>,
    /// Their times, where they were evaluated.
    pub(crate) evaluation: Option<Evaluation>,
    /// By what they are compared where their times are known.
    pub(crate) rule: ObjectiveRule,
}

impl EvaluatedCandidates {
    /// Ranks them as `place` does: which to take, and the comparison that says why.
    pub(crate) fn ranked(&self, cluster: &Cluster) -> (RankedCandidates, Comparison) {
        let evaluation = self.evaluation.as_ref();
        let ranked = rank_candidates(&self.candidates, evaluation);
        let comparison = Comparison::new(cluster, &self.candidates, &ranked, evaluation);
        (ranked, comparison)
    }
}

/// Tells whose mapping a strategy chose, and how many moves were tried for it.
pub(crate) fn note_choice(verbosity: &Verbosity, candidate: &Candidate) {
    if candidate.made_by != candidate.strategy {
        let text = format!("{}: the answer of {}", candidate.strategy, candidate.made_by);
        output::note(verbosity, text);
    }
    note_moves(verbosity, &candidate.made_by, candidate.moves);
}

/// Tells how many moves a search made, so that it can be repeated.
pub(crate) fn note_moves(verbosity: &Verbosity, strategy: &StrategyId, moves: u64) {
    if moves > 0 {
        output::note(verbosity, format!("{strategy}: {moves} moves tried"));
    }
}

/// The strategies for help texts: one line each.
pub(crate) fn strategy_help() -> String {
    let line = |entry: &rankwright::map::MapperEntry| {
        let options: Vec<String> =
            entry.options.iter().map(|o| format!("{}={}", o.name, o.default)).collect();
        let options =
            if options.is_empty() { String::new() } else { format!(" [{}]", options.join(",")) };
        format!("  {:<25}{}{options}\n", entry.name, entry.summary)
    };
    let lines: String = MAPPERS.iter().map(line).collect();
    format!("Strategies, written as name or name:option=value:\n{lines}")
}
