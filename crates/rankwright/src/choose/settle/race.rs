//! Which answer is simulated how often.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use super::run::{Run, seed};
use super::{Contender, Measure, Settled, Settling, Times, Unsettled, fluid_of};
use crate::estimate::FluidOutcome;
use crate::map::{Cost, Criterion, Problem};
use crate::parallel;
use crate::sim::{Options, Pacing, Progress, simulate};
use crate::statistics::Estimate;

/// Rounds of each clock that a shortened run has at least: fewer would not meet each other as those
/// of the whole do.
const FEWEST_ROUNDS: u64 = 4;

/// What part of the messages that may be simulated one run of all answers may take: of all messages,
/// and of a part of them.
const PART: (f64, f64) = (0.6, 0.3);

/// With a time limit the first run of all answers has so many messages: it shows how long they take.
const FIRST: f64 = 2e6;

/// An answer drops out after one run if it is so many times worse; with the fluid as a second witness,
/// if both say the latter, where more runs would cost too much.
const WORSE: (f64, f64) = (2.0, 1.1);

/// While less than one part in so many of the budget is used up, so many times as many seeds are tried:
/// short runs differ much.
const CHEAP: u64 = 5;
const MORE_SEEDS: usize = 16;

/// If all answers that are left are so close with all seeds, more seeds tell nothing.
const SAME: f64 = 1.002;

pub(super) struct Race<'a> {
    problem: &'a Problem<'a>,
    contenders: &'a [Contender<'a>],
    settling: &'a Settling<'a>,
    criterion: Criterion,
    messages: u64,
    runs: Vec<Run<'a>>,
    /// Those that have not dropped out, in their order.
    left: Vec<usize>,
    /// What the fluid says of each; only of open loops.
    fluid: Option<Vec<FluidOutcome>>,
    simulated: AtomicU64,
    /// What of the time had passed at the begin.
    begin: f64,
}

impl<'a> Race<'a> {
    pub(super) fn new(
        problem: &'a Problem<'a>,
        contenders: &'a [Contender<'a>],
        settling: &'a Settling<'a>,
    ) -> Self {
        let mut race = Self {
            problem,
            contenders,
            settling,
            criterion: settling.criterion(problem),
            messages: problem.workload.clocked_messages(),
            runs: Vec::new(),
            left: (0..contenders.len()).collect(),
            fluid: None,
            simulated: AtomicU64::new(0),
            begin: settling.clock.map_or(0.0, |clock| clock()),
        };
        if settling.simulation.pacing == Pacing::Open {
            race.fluid = fluid_of(problem, problem.workload, contenders);
        }
        race
    }

    pub(super) fn run(mut self) -> Result<Settled, Unsettled> {
        while let Some(share) = self.next_share() {
            if !self.simulate_all(share)? {
                break;
            }
            self.drop_out();
        }
        if self.runs.is_empty() {
            let late = self.time_passed().is_some_and(|passed| passed >= 1.0);
            return Err(if late { Unsettled::Late } else { Unsettled::TooMany });
        }
        self.settled()
    }

    /// What part of the messages the next run has; `None` if there is none.
    fn next_share(&mut self) -> Option<f64> {
        let last = self.runs.last().map_or(0.0, |run| self.share(run));
        if !self.runs.is_empty() && self.left.len() < 2 {
            return None;
        }
        let may = self.messages_left();
        if last >= 1.0 {
            let most = (may / self.messages.max(1) as f64) as usize;
            if self.enough_seeds() || most < 2 {
                return None;
            }
            self.keep(most);
            return Some(1.0);
        }
        let whole = (self.messages as f64 * self.left.len() as f64).max(1.0);
        let (all, part) = match (self.settling.clock, self.runs.len()) {
            (Some(_), 0) => (FIRST.min(may), FIRST.min(may)),
            _ => (PART.0 * may, PART.1 * may),
        };
        if whole <= all {
            return Some(1.0);
        }
        let sends = self.problem.workload.jobs.iter().flat_map(|job| &job.sources);
        let sends: u64 = sends.map(|source| source.sends.len() as u64).sum();
        let fewest = sends.saturating_mul(FEWEST_ROUNDS) as f64 / self.messages.max(1) as f64;
        let share = (part / whole).max(fewest).min(1.0);
        // A run that is hardly longer than the last tells nothing new.
        let pays = share >= 1.5 * last || share >= 1.0;
        (pays && share * whole <= may).then_some(share)
    }

    /// Whether more seeds are not worth their time: there may be more where they cost next to nothing.
    fn enough_seeds(&self) -> bool {
        let seeds = self.longest().len();
        seeds >= self.settling.seeds * if self.is_cheap() { MORE_SEEDS } else { 1 }
    }

    fn is_cheap(&self) -> bool {
        self.simulated.load(Ordering::Relaxed) < self.settling.messages / CHEAP
    }

    /// How many messages may still be simulated.
    fn messages_left(&self) -> f64 {
        let simulated = self.simulated.load(Ordering::Relaxed);
        let left = self.settling.messages.saturating_sub(simulated) as f64;
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
        self.settling.clock.map(|clock| clock())
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

    /// Simulates all that are left with another seed; whether that could be ended in time.
    fn simulate_all(&mut self, share: f64) -> Result<bool, Unsettled> {
        let mut run = self.prepare(share);
        let found = self.simulate(&run, &self.left)?;
        let Some(found) = found else { return Ok(false) };
        for (at, times) in self.left.iter().zip(found) {
            run.times[*at] = Some(times);
        }
        self.runs.push(run);
        Ok(true)
    }

    fn prepare(&self, share: f64) -> Run<'a> {
        let seed = seed(self.settling.simulation.seed, self.runs.len() as u64);
        let mut run = Run::new(self.problem.workload, share, seed, self.contenders.len());
        if let (Some(all), true) = (&self.fluid, run.messages < self.messages) {
            let part = fluid_of(self.problem, &run.workload, self.contenders);
            run.extrapolate(all, &part.unwrap_or_default());
        }
        run
    }

    /// The outcomes of some answers; `None` if the time is over.
    fn simulate(&self, run: &Run, of: &[usize]) -> Result<Option<Vec<Times>>, Unsettled> {
        let options = Options { seed: run.seed, ..self.settling.simulation };
        let results = parallel::map(of, self.settling.threads, |_, at| {
            let mut seen = 0;
            let mut observer = |progress: &Progress| {
                self.simulated.fetch_add(progress.delivered - seen, Ordering::Relaxed);
                seen = progress.delivered;
                self.observe()
            };
            if self.observe().is_break() {
                return Ok(None);
            }
            let (cluster, placement) = (self.problem.cluster, self.contenders[*at].placement);
            let outcome = simulate(cluster, &run.workload, placement, &options, &mut observer)?;
            self.simulated.fetch_add(outcome.messages.saturating_sub(seen), Ordering::Relaxed);
            Ok(outcome.stopped.is_none().then(|| Times::new(&outcome, run.factors[*at])))
        });
        let times: Result<Option<Vec<Times>>, Unsettled> = results.into_iter().collect();
        let times = times?;
        if times.is_none() && self.stopped() {
            return Err(Unsettled::Stopped);
        }
        Ok(times)
    }

    fn observe(&self) -> ControlFlow<()> {
        let late = self.time_passed().is_some_and(|passed| passed >= 1.0);
        if late || self.stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn stopped(&self) -> bool {
        (self.settling.observer)(self.simulated.load(Ordering::Relaxed)).is_break()
    }

    /// Those that are clearly worse drop out.
    fn drop_out(&mut self) {
        let runs: Vec<Vec<f64>> = self.longest().iter().map(|run| self.losses(run)).collect();
        let means = self.means();
        let best = self.criterion.best(&means);
        let fluid = self.fluid.as_ref().map(|fluid| {
            let costs: Vec<Cost> = self.left.iter().map(|at| cost(&fluid[*at])).collect();
            self.criterion.losses(&costs)
        });
        let whole = self.longest().iter().all(|run| run.messages == self.messages);
        let cheap = self.is_cheap();
        let stays = |at: usize| {
            let logs: Vec<f64> = runs.iter().map(|run| (run[at] / run[best]).ln()).collect();
            let worse = Estimate::of(&logs);
            let both = fluid.as_ref().is_some_and(|fluid| fluid[at] > fluid[best] * WORSE.1);
            at == best
                || !(worse.mean > WORSE.0.ln()
                    || (both && !cheap && worse.mean > WORSE.1.ln())
                    || worse.mean > worse.half_width
                    // The same to the last bit: the placements are the same by symmetry.
                    || (whole && means[at] == means[best]))
        };
        let same = |at: usize| {
            let logs: Vec<f64> = runs.iter().map(|run| (run[at] / run[best]).ln()).collect();
            let worse = Estimate::of(&logs);
            worse.mean.abs() + worse.half_width < SAME.ln()
        };
        let stay: Vec<usize> = (0..self.left.len()).filter(|at| stays(*at)).collect();
        let enough = stay.iter().all(|at| same(*at));
        let best = self.left[best];
        self.left = stay.into_iter().map(|at| self.left[at]).collect();
        if enough {
            self.left = vec![best];
        }
        if !whole {
            self.keep(self.left.len().div_ceil(2).max(2));
        }
    }

    /// Keeps the best so many of those that are left.
    fn keep(&mut self, count: usize) {
        if count >= self.left.len() {
            return;
        }
        let losses = self.criterion.losses(&self.means());
        let mut order: Vec<usize> = (0..self.left.len()).collect();
        order.sort_by(|a, b| losses[*a].total_cmp(&losses[*b]));
        order.truncate(count);
        order.sort_unstable();
        self.left = order.into_iter().map(|at| self.left[at]).collect();
    }

    /// How much worse those that are left are in a run.
    fn losses(&self, run: &Run) -> Vec<f64> {
        let cost = |at: &usize| run.times[*at].unwrap_or_default().cost();
        let costs: Vec<Cost> = self.left.iter().map(cost).collect();
        self.criterion.losses(&costs)
    }

    /// What those that are left cost in the longest runs.
    fn means(&self) -> Vec<Cost> {
        let runs = self.longest();
        let mean = |at: &usize| Times::mean(runs.iter().filter_map(|run| run.times[*at].as_ref()));
        self.left.iter().map(|at| mean(at).cost()).collect()
    }

    /// The measures of all. If by them an answer wins that has dropped out, it is run as often as the
    /// winner.
    fn settled(mut self) -> Result<Settled, Unsettled> {
        let criterion = self.criterion;
        let mut witness = self.left[criterion.best(&self.means())];
        loop {
            let times = self.estimates(witness);
            let costs: Vec<Cost> = times.iter().map(Times::cost).collect();
            let best = criterion.best(&costs);
            if best != witness && self.run_again(best)? {
                witness = best;
                continue;
            }
            let losses = criterion.losses(&costs);
            let measure = |at: usize| Measure {
                times: times[at],
                loss: losses[at],
                runs: self.longest().iter().map(|run| run.times[at]).collect(),
                predicted: self.fluid.as_ref().map(|fluid| fluid[at]),
            };
            return Ok(Settled {
                best,
                measures: (0..self.contenders.len()).map(measure).collect(),
                share: self.runs.last().map_or(0.0, |run| self.share(run)),
                simulated: self.simulated.load(Ordering::Relaxed),
                criterion,
            });
        }
    }

    /// Simulates what an answer lacks of the longest runs. Whether there was any and it came to its end.
    fn run_again(&mut self, at: usize) -> Result<bool, Unsettled> {
        let first = self.runs.len() - self.longest().len();
        let mut any = false;
        for number in first..self.runs.len() {
            if self.runs[number].times[at].is_none() {
                let Some(found) = self.simulate(&self.runs[number], &[at])? else {
                    return Ok(false);
                };
                self.runs[number].times[at] = found.first().copied();
                any = true;
            }
        }
        Ok(any)
    }

    /// What each answer costs as a mean over the longest runs, by its ratio to a witness that has them
    /// all.
    fn estimates(&self, witness: usize) -> Vec<Times> {
        let longest = self.longest();
        let there = Times::mean(longest.iter().filter_map(|run| run.times[witness].as_ref()));
        let estimate = |at: usize| {
            let both = |run: &&Run| run.times[at].is_some() && run.times[witness].is_some();
            let mut shared: Vec<&Run> = longest.iter().filter(both).collect();
            if shared.is_empty() {
                shared = self.runs.iter().rev().find(both).into_iter().collect();
            }
            let mean =
                |of: usize| Times::mean(shared.iter().filter_map(|run| run.times[of].as_ref()));
            if shared.is_empty() {
                let own = self.runs.iter().rev().find_map(|run| run.times[at]);
                return own.unwrap_or_default();
            }
            if shared.len() == longest.len() {
                return mean(at);
            }
            mean(at).carried(&mean(witness), &there)
        };
        (0..self.contenders.len()).map(estimate).collect()
    }
}

fn cost(fluid: &FluidOutcome) -> Cost {
    Cost { waiting: fluid.total_waiting.0, finish: fluid.workload_finish.0 }
}
