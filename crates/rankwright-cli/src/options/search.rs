//! Options of every search: seed, threads, effort, objective; and the strategies that they apply
//! to.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use clap::Args;
use rankwright::choose::{Planner, end_of_search};
use rankwright::cluster::Cluster;
use rankwright::map::{
    Clock, DEFAULT_BALANCE, EFFORTS, Effort, MAPPERS, Strategy, list_of_strategies,
};
use rankwright::ranking::Objective;
use rankwright::traffic::Workload;
use rankwright::units::{Seconds, UnitError};

use super::count::parse_count;
use crate::host::started;
use crate::host::this_host::usable_pus;
use crate::output::exit_code::UsageError;

/// Options of every search.
#[derive(Debug, Clone, Args)]
pub(crate) struct SearchOptions {
    /// Seed of all random numbers: of strategies without `seed=` and of simulations [default: 1]
    #[arg(
        long,
        value_name = "NUMBER",
        value_parser = parse_count::<u32>,
        allow_negative_numbers = true,
    )]
    seed: Option<u32>,
    /// Number of strategies or simulations to run in parallel; does not change the result
    /// [default: the number of PUs that this process may use]
    #[arg(
        long,
        value_name = "NUMBER",
        value_parser = parse_count::<NonZeroUsize>,
        allow_negative_numbers = true,
    )]
    threads: Option<NonZeroUsize>,
    /// Amount of search and of simulation to rank candidates: `fast` (seconds, no simulation),
    /// `normal`, or `best` (for jobs that run for days) [default: normal]
    #[arg(long, value_name = "EFFORT", conflicts_with = "time", value_parser = parse_effort)]
    effort: Option<Effort>,
    /// End the whole command within this time, like 10s, with the best placement so far; the result
    /// then depends on the speed of this machine
    #[arg(long, value_name = "TIME", value_parser = parse_time, allow_hyphen_values = true)]
    time: Option<Seconds>,
    /// What to minimise for workloads with message timing: `waiting` (sum over all messages),
    /// `finish` (end of the run) or `balanced` (both) [default: balanced]
    #[arg(long, value_name = "WHAT")]
    objective: Option<String>,
    /// Number of trial moves of each search, like 100000 [default: by --effort]. For comparisons of
    /// searches: unlike --time, the result is the same on any machine; for daily use take --effort
    #[arg(
        long,
        value_name = "NUMBER",
        conflicts_with_all = ["time", "effort"],
        value_parser = parse_count::<u64>,
        allow_negative_numbers = true,
    )]
    moves: Option<u64>,
    /// On nodes of different speed: share by which the longest computing time of a rank may exceed the
    /// shortest possible one
    #[arg(long, value_name = "SHARE", default_value_t = DEFAULT_BALANCE, value_parser = parse_balance)]
    pub(crate) balance: f64,
}

fn parse_balance(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1000.0).contains(share));
    share.ok_or_else(|| format!("found `{text}`, expected a share from 0 to 1000, like 0.02"))
}

/// An effort by its name.
pub(crate) fn parse_effort(text: &str) -> Result<Effort, String> {
    let found = EFFORTS.iter().find(|(name, _)| *name == text);
    found.map(|(_, effort)| *effort).ok_or_else(|| {
        let names: Vec<String> = EFFORTS.iter().map(|(name, _)| format!("`{name}`")).collect();
        format!("expected {}", names.join(" or "))
    })
}

fn parse_time(text: &str) -> Result<Seconds, UnitError> {
    text.parse()
}

impl SearchOptions {
    /// The seed of simulations.
    pub(crate) fn seed(&self) -> u64 {
        self.seed.map_or(1, u64::from)
    }

    /// A strategy by name, with these options as its defaults.
    pub(crate) fn strategy(&self, text: &str) -> anyhow::Result<Strategy> {
        // As an option of a strategy, a wrong one would be blamed on that strategy.
        self.objective()?;
        let for_all = [
            ("seed", self.seed.map(|seed| seed.to_string())),
            ("effort", self.effort.map(|effort| effort.name().to_owned())),
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

    /// Whether the clock limits the search.
    pub(crate) fn is_timed(&self) -> bool {
        self.time.is_some()
    }

    /// By when the command ends, under `--time`.
    pub(crate) fn end(&self) -> Option<Instant> {
        // A `--time` beyond the range of the clock means no limit.
        self.time.and_then(|time| started().checked_add(Duration::try_from_secs_f64(time.0).ok()?))
    }

    /// The clock of a search that begins now, one of several (its number from 0, their count): the share
    /// that has passed of the part of `--time` that is left to it.
    pub(crate) fn clock(
        &self,
        workload: &Workload,
        (number, count): (usize, usize),
    ) -> Option<Box<Clock<'static>>> {
        let end = end_of_search(self.time?, workload).0;
        let begin = started().elapsed().as_secs_f64();
        let mine = if count == 1 { end } else { (end - begin) / (count - number) as f64 };
        let begin = if count == 1 { 0.0 } else { begin };
        Some(Box::new(move || match mine > 0.0 {
            true => (started().elapsed().as_secs_f64() - begin) / mine,
            false => 1.0,
        }))
    }

    /// The strategies of a list like `blocked,drb:seed=3,kway`; without a list, all that are
    /// candidates by default.
    pub(crate) fn strategies(&self, list: Option<&str>) -> anyhow::Result<Vec<Strategy>> {
        let Some(list) = list else {
            let all = MAPPERS.iter().filter(|entry| entry.role.is_candidate());
            return all.map(|entry| self.strategy(entry.name)).collect();
        };
        let mut strategies: Vec<Strategy> = Vec::new();
        for text in list_of_strategies(list) {
            let strategy = self.strategy(&text)?;
            if strategies.iter().any(|other| other.id() == strategy.id()) {
                let twice = format!("found {} twice, expected each strategy once", strategy.id());
                return Err(UsageError(twice).into());
            }
            strategies.push(strategy);
        }
        Ok(strategies)
    }

    /// The quantity to minimise.
    fn objective(&self) -> anyhow::Result<Objective> {
        let objective = self.objective.as_deref().map_or(Ok(Objective::default()), str::parse);
        objective.map_err(|expected| {
            let text = self.objective.as_deref().unwrap_or_default();
            UsageError(format!("--objective: found `{text}`, {expected}")).into()
        })
    }

    /// Number of threads of searches and simulations.
    pub(crate) fn threads(&self) -> NonZeroUsize {
        self.threads.unwrap_or_else(usable_pus)
    }

    /// A planner with these options, for strategies that were parsed with them.
    pub(crate) fn planner<'a>(
        &self,
        cluster: &'a Cluster,
        workload: &'a Workload,
        strategies: &'a [Strategy],
    ) -> anyhow::Result<Planner<'a>> {
        let planner = Planner::new(cluster, workload)
            .strategies(strategies)
            .objective(self.objective()?)
            .threads(self.threads())
            .balance(self.balance);
        Ok(match self.effort {
            Some(effort) => planner.effort(effort),
            None => planner,
        })
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
