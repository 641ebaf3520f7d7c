//! The rounds of a race: which mappings are simulated with how many messages, and which are
//! eliminated.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::NotSimulated;
use super::run::{Run, seed};
use crate::choose::evaluate::fluid_scores;
use crate::choose::{ChooseOptions, Evaluation, MappingEvaluation, PlacedMapping, PlanProgress};
use crate::map::Problem;
use crate::parallel;
use crate::ranking::{ObjectiveRule, Ranking, Rule, Score, rank};
use crate::sim::{Options, Progress, simulate};
use crate::statistics::Estimate;

/// The smallest number of rounds of each clock in a shortened run: with fewer, messages of different
/// clocks would not meet as in a whole run.
const FEWEST_ROUNDS: u64 = 4;

/// The share of the remaining budget that a run of all messages of all survivors may use.
const BUDGET_OF_WHOLE_RUN: f64 = 0.6;
/// The share of the remaining budget that a run of a part of the messages of all survivors may use.
const BUDGET_OF_PART: f64 = 0.3;

/// With a time limit: the number of messages of the first run, over all mappings. It shows how long
/// messages take.
const FIRST_MESSAGES: f64 = 2e6;

/// The ratio of losses to the best mapping from which a mapping is eliminated after one run.
const CLEARLY_WORSE: f64 = 2.0;

/// The ratio of losses to the best mapping, both in the run and by the fluid, from which a mapping is
/// eliminated after one run if more runs would cost too much.
const WORSE_TWICE: f64 = 1.1;

/// Runs are cheap while they have used less than one part in this number of the budget.
const CHEAP: u64 = 5;

/// The factor on the number of seeds while runs are cheap, because short runs vary more.
const MORE_SEEDS: usize = 16;

/// The ratio of losses within which survivors count as the same, so that more seeds are of no use.
const SAME: f64 = 1.002;

pub(super) struct Race<'a> {
    problem: &'a Problem<'a>,
    mappings: &'a [PlacedMapping],
    options: &'a ChooseOptions<'a>,
    rule: ObjectiveRule,
    /// Number of messages of the whole workload.
    messages: u64,
    /// The runs so far, in ascending order of their number of messages.
    runs: Vec<Run<'a>>,
    /// Indices of the mappings that have not been eliminated, ascending.
    survivors: Vec<usize>,
    /// By mapping: its score by the fluid; `None` in a closed loop.
    fluid: Option<Vec<Score>>,
    /// Number of messages simulated so far, over all mappings and runs.
    simulated: AtomicU64,
    /// Number of simulations begun so far.
    begun: AtomicUsize,
    planned: Planned,
    /// The elapsed share of the time limit at the beginning of the race.
    begin: f64,
}

/// What is simulated at most, with what has been.
#[derive(Debug, Clone, Copy, Default)]
struct Planned {
    simulations: usize,
    messages: f64,
}

impl<'a> Race<'a> {
    pub(super) fn new(
        problem: &'a Problem<'a>,
        mappings: &'a [PlacedMapping],
        fluid: Option<Vec<Score>>,
        options: &'a ChooseOptions<'a>,
    ) -> Self {
        Self {
            problem,
            mappings,
            options,
            rule: options.rule(problem),
            messages: problem.workload.clocked_messages(),
            runs: Vec::new(),
            survivors: (0..mappings.len()).collect(),
            fluid,
            simulated: AtomicU64::new(0),
            begun: AtomicUsize::new(0),
            planned: Planned::default(),
            begin: options.clock.map_or(0.0, |clock| clock()),
        }
    }

    pub(super) fn run(mut self) -> Result<Evaluation, NotSimulated> {
        while let Some(share) = self.next_share() {
            self.planned = self.planned_with(share);
            if !self.simulate_all(share)? {
                break;
            }
            self.eliminate();
        }
        if self.runs.is_empty() {
            return Err(match self.options.is_late() {
                _ if self.stopped() => NotSimulated::Stopped,
                true => NotSimulated::Late,
                false => NotSimulated::TooMany,
            });
        }
        self.evaluation()
    }

    /// The share of the messages in the next run; `None` if there is no next run.
    fn next_share(&mut self) -> Option<f64> {
        let last = self.runs.last().map_or(0.0, |run| self.share(run));
        if !self.runs.is_empty() && self.survivors.len() < 2 {
            return None;
        }
        let budget = self.messages_left();
        if last >= 1.0 {
            let most = (budget / self.messages.max(1) as f64) as usize;
            if self.enough_seeds() || most < 2 {
                return None;
            }
            self.keep(most);
            return Some(1.0);
        }
        let whole = (self.messages as f64 * self.survivors.len() as f64).max(1.0);
        let (for_whole, for_part) = match (self.options.clock, self.runs.len()) {
            (Some(_), 0) => (FIRST_MESSAGES.min(budget), FIRST_MESSAGES.min(budget)),
            _ => (BUDGET_OF_WHOLE_RUN * budget, BUDGET_OF_PART * budget),
        };
        if whole <= for_whole {
            return Some(1.0);
        }
        let sends = self.problem.workload.jobs.iter().flat_map(|job| &job.sources);
        let sends: u64 = sends.map(|source| source.sends.len() as u64).sum();
        let fewest = sends.saturating_mul(FEWEST_ROUNDS) as f64 / self.messages.max(1) as f64;
        let share = (for_part / whole).max(fewest).min(1.0);
        // A run that is hardly longer than the last gives no new information.
        let pays = share >= 1.5 * last || share >= 1.0;
        (pays && share * whole <= budget).then_some(share)
    }

    /// Whether there are enough seeds; more are used while runs are cheap.
    fn enough_seeds(&self) -> bool {
        let seeds = self.longest().len();
        seeds >= self.options.seeds * if self.is_cheap() { MORE_SEEDS } else { 1 }
    }

    fn is_cheap(&self) -> bool {
        self.simulated.load(Ordering::Relaxed) < self.options.messages / CHEAP
    }

    /// The number of messages that may still be simulated.
    fn messages_left(&self) -> f64 {
        let simulated = self.simulated.load(Ordering::Relaxed);
        let left = self.options.messages.saturating_sub(simulated) as f64;
        match self.time_passed() {
            None => left,
            Some(passed) if passed >= 1.0 => 0.0,
            Some(_) if simulated == 0 => left,
            Some(passed) => {
                let per_message = (passed - self.begin).max(1e-9) / simulated as f64;
                left.min((1.0 - passed) / per_message)
            }
        }
    }

    fn time_passed(&self) -> Option<f64> {
        self.options.clock.map(|clock| clock())
    }

    fn share(&self, run: &Run) -> f64 {
        if self.messages == 0 { 1.0 } else { run.messages as f64 / self.messages as f64 }
    }

    /// The runs with the most messages.
    fn longest(&self) -> &[Run<'a>] {
        let most = self.runs.last().map_or(0, |run| run.messages);
        let first = self.runs.partition_point(|run| run.messages < most);
        &self.runs[first..]
    }

    /// What is simulated at most if the next run simulates a share of the messages.
    fn planned_with(&self, share: f64) -> Planned {
        let most_seeds = self.options.seeds * if self.is_cheap() { MORE_SEEDS } else { 1 };
        let whole_before = self.runs.last().is_some_and(|run| run.messages == self.messages);
        let seeds = if share >= 1.0 && whole_before { self.longest().len() } else { 0 };
        let runs = most_seeds.saturating_sub(seeds).max(1) * self.survivors.len();
        let simulated = self.simulated.load(Ordering::Relaxed) as f64;
        let messages = simulated + self.messages as f64 * runs as f64;
        Planned {
            simulations: self.begun.load(Ordering::Relaxed) + runs,
            messages: messages.min(self.options.messages as f64).max(1.0),
        }
    }

    /// Simulates all survivors with another seed. Returns whether that ended in time.
    fn simulate_all(&mut self, share: f64) -> Result<bool, NotSimulated> {
        let mut run = self.prepare(share);
        let scores = self.simulate(&run, &self.survivors)?;
        let Some(scores) = scores else { return Ok(false) };
        for (at, score) in self.survivors.iter().zip(scores) {
            run.scores[*at] = Some(score);
        }
        self.runs.push(run);
        Ok(true)
    }

    fn prepare(&self, share: f64) -> Run<'a> {
        let seed = seed(self.options.simulation.seed, self.runs.len() as u64);
        let mut run = Run::new(self.problem.workload, share, seed, self.mappings.len());
        if let (Some(all), true) = (&self.fluid, run.messages < self.messages) {
            let part = fluid_scores(self.problem, &run.workload, self.mappings);
            run.extrapolate(all, &part.unwrap_or_default());
        }
        run
    }

    /// The scores of mappings, given by their indices; `None` if the time limit was reached.
    fn simulate(&self, run: &Run, mappings: &[usize]) -> Result<Option<Vec<Score>>, NotSimulated> {
        let options = Options { seed: run.seed, ..self.options.simulation };
        let results = parallel::map(mappings, self.options.threads, |_, at| {
            let mut seen = 0;
            let mut observer = |progress: &Progress| {
                self.simulated.fetch_add(progress.delivered - seen, Ordering::Relaxed);
                seen = progress.delivered;
                self.observe()
            };
            self.begun.fetch_add(1, Ordering::Relaxed);
            if self.observe().is_break() {
                return Ok(None);
            }
            let (cluster, placement) = (self.problem.cluster, &self.mappings[*at].placement);
            let outcome = simulate(cluster, &run.workload, placement, &options, &mut observer)?;
            self.simulated.fetch_add(outcome.messages.saturating_sub(seen), Ordering::Relaxed);
            let (waiting, finish) = run.factors[*at];
            let whole = outcome.stopped.is_none();
            Ok(whole.then(|| Score::from(&outcome).stretched(waiting, finish)))
        });
        results.into_iter().collect()
    }

    fn observe(&self) -> ControlFlow<()> {
        let ended = self.stopped() || self.options.is_late();
        if ended { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn stopped(&self) -> bool {
        let simulated = self.simulated.load(Ordering::Relaxed) as f64;
        let progress = PlanProgress::Simulation {
            number: self.begun.load(Ordering::Relaxed),
            most: self.planned.simulations,
            done: (simulated / self.planned.messages.max(1.0)).min(1.0),
        };
        (self.options.observer)(&progress).is_break()
    }

    /// Eliminates mappings that are significantly worse than the best.
    fn eliminate(&mut self) {
        let runs: Vec<Vec<f64>> = self.longest().iter().map(|run| self.losses(run)).collect();
        let means = self.means();
        let best = self.rank(&means).best();
        let fluid = self.fluid.as_ref().map(|fluid| {
            let scores: Vec<Score> = self.survivors.iter().map(|at| fluid[*at]).collect();
            losses(&self.rank(&scores), scores.len())
        });
        let whole = self.longest().iter().all(|run| run.messages == self.messages);
        let cheap = self.is_cheap();
        let log_ratio = |at: usize| {
            let logs: Vec<f64> = runs.iter().map(|run| (run[at] / run[best]).ln()).collect();
            Estimate::of(&logs)
        };
        let times = |at: usize| (means[at].total_waiting(), means[at].last_arrival());
        let is_kept = |at: usize| {
            let worse = log_ratio(at);
            let also_in_fluid =
                fluid.as_ref().is_some_and(|fluid| fluid[at] > fluid[best] * WORSE_TWICE);
            at == best
                || !(worse.mean > CLEARLY_WORSE.ln()
                    || (also_in_fluid && !cheap && worse.mean > WORSE_TWICE.ln())
                    || worse.mean > worse.half_width
                    // Equal to the last bit: the placements are symmetric.
                    || (whole && times(at) == times(best)))
        };
        let is_same = |at: usize| {
            let worse = log_ratio(at);
            worse.mean.abs() + worse.half_width < SAME.ln()
        };
        let kept: Vec<usize> = (0..self.survivors.len()).filter(|at| is_kept(*at)).collect();
        let enough = kept.iter().all(|at| is_same(*at));
        let best = self.survivors[best];
        self.survivors = kept.into_iter().map(|at| self.survivors[at]).collect();
        if enough {
            self.survivors = vec![best];
        }
        if !whole {
            self.keep(self.survivors.len().div_ceil(2).max(2));
        }
    }

    /// Keeps the best `count` survivors.
    fn keep(&mut self, count: usize) {
        if count < self.survivors.len() {
            let kept = self.rank(&self.means()).survivors(count);
            self.survivors = kept.into_iter().map(|at| self.survivors[at]).collect();
        }
    }

    fn rank(&self, scores: &[Score]) -> Ranking {
        rank(scores, &Rule::Objective(self.rule))
    }

    /// By survivor: its loss in a run.
    fn losses(&self, run: &Run) -> Vec<f64> {
        let score = |at: &usize| run.scores[*at].unwrap_or_default();
        let scores: Vec<Score> = self.survivors.iter().map(score).collect();
        losses(&self.rank(&scores), scores.len())
    }

    /// By survivor: its mean score over the longest runs.
    fn means(&self) -> Vec<Score> {
        let runs = self.longest();
        let mean = |at: &usize| Score::mean(runs.iter().filter_map(|run| run.scores[*at].as_ref()));
        self.survivors.iter().map(mean).collect()
    }

    /// The evaluation of all mappings. If an eliminated mapping has the best score, it is simulated as
    /// often as the survivors.
    fn evaluation(mut self) -> Result<Evaluation, NotSimulated> {
        let mut reference = self.survivors[self.rank(&self.means()).best()];
        loop {
            let scores = self.estimates(reference);
            let ranking = self.rank(&scores);
            let best = ranking.best();
            if best != reference && self.run_again(best)? {
                reference = best;
                continue;
            }
            let evaluation = |at: usize| MappingEvaluation {
                score: scores[at],
                loss: ranking.loss(at),
                runs: self.longest().iter().map(|run| run.scores[at]).collect(),
                fluid: self.fluid.as_ref().map(|fluid| fluid[at]),
            };
            return Ok(Evaluation {
                best,
                mappings: (0..self.mappings.len()).map(evaluation).collect(),
                share: self.runs.last().map_or(0.0, |run| self.share(run)),
                simulated_messages: self.simulated.load(Ordering::Relaxed),
                rule: self.rule,
                replayed: false,
                replay_to_simulation: 1.0,
                not_replayed: None,
            });
        }
    }

    /// Simulates a mapping in those of the longest runs that it lacks. Returns whether it lacked any
    /// and all ended in time.
    fn run_again(&mut self, at: usize) -> Result<bool, NotSimulated> {
        let first = self.runs.len() - self.longest().len();
        let mut any = false;
        for number in first..self.runs.len() {
            if self.runs[number].scores[at].is_none() {
                let Some(scores) = self.simulate(&self.runs[number], &[at])? else {
                    return Ok(false);
                };
                self.runs[number].scores[at] = scores.first().copied();
                any = true;
            }
        }
        Ok(any)
    }

    /// By mapping: its mean score over the longest runs. If it lacks some of them, the mean is
    /// extrapolated by its ratio to a reference mapping that has all.
    fn estimates(&self, reference: usize) -> Vec<Score> {
        let longest = self.longest();
        let of_all = Score::mean(longest.iter().filter_map(|run| run.scores[reference].as_ref()));
        let estimate = |at: usize| {
            let both = |run: &&Run| run.scores[at].is_some() && run.scores[reference].is_some();
            let mut shared: Vec<&Run> = longest.iter().filter(both).collect();
            let has_all = shared.len() == longest.len();
            if shared.is_empty() {
                shared = self.runs.iter().rev().find(both).into_iter().collect();
            }
            let mean =
                |at: usize| Score::mean(shared.iter().filter_map(|run| run.scores[at].as_ref()));
            if shared.is_empty() {
                let last = self.runs.iter().rev().find_map(|run| run.scores[at]);
                return last.unwrap_or_default();
            }
            if has_all {
                return mean(at);
            }
            let of_shared = mean(reference);
            let ratio = |time: fn(&Score) -> f64| {
                let (shared, all) = (time(&of_shared), time(&of_all));
                if shared > 0.0 { all / shared } else { 1.0 }
            };
            let waiting = ratio(|score| score.total_waiting().0);
            mean(at).stretched(waiting, ratio(|score| score.last_arrival().0))
        };
        (0..self.mappings.len()).map(estimate).collect()
    }
}

fn losses(ranking: &Ranking, count: usize) -> Vec<f64> {
    (0..count).map(|at| ranking.loss(at)).collect()
}
