//! One chain of simulated annealing over placements.

use super::device_slots::DeviceSlots;
use super::layout::Layout;
use super::neighbourhood::Neighbourhood;
use crate::estimate::{Fluid, OfferedLoad, RoundTripTimes, RoundTrips};
use crate::map::{Budget, Problem};
use crate::random::Generator;
use crate::ranking::{Score, SmoothObjective, Waiting};
use crate::units::Seconds;

/// The inputs of a chain.
pub(super) struct Chain<'a> {
    pub(super) problem: &'a Problem<'a>,
    pub(super) budget: &'a Budget<'a>,
    pub(super) device_slots: &'a DeviceSlots,
    /// The cost of placements by the fluid.
    pub(super) objective: SmoothObjective,
    /// The cost of placements by the offered load.
    pub(super) rough: SmoothObjective,
    pub(super) fluid: Fluid,
    pub(super) offered: OfferedLoad,
    /// Round trips for evaluations by the fluid; `None` in an open loop.
    pub(super) trips: Option<RoundTrips>,
    /// Round trips for steps by the offered load; `None` in an open loop, or if they take too long.
    pub(super) rough_trips: Option<RoundTrips>,
    /// Number of steps of the first part, by the offered load.
    pub(super) steps: u64,
    /// Number of evaluations by the fluid in the second part.
    pub(super) evaluations: u64,
    /// The first temperature, as a multiple of the median cost of an uphill step.
    pub(super) heat: f64,
    pub(super) seed: u64,
    /// The share of the search that this chain is.
    pub(super) share: f64,
}

/// The first temperature of the second part, in the unit of [`Chain::heat`].
const HEAT_OF_FLUID: f64 = 0.01;
/// The last temperature of a part, relative to its first.
pub(super) const COLD: f64 = 1e-3;
/// Number of steps sampled for the median cost of an uphill step.
pub(super) const SAMPLE: u64 = 400;
/// Number of steps between two readings of the clock.
pub(super) const STEPS_PER_READING: u64 = 1 << 7;
/// Number of steps after which sums are computed again, because rounding errors accumulate in them.
pub(super) const RENEWED: u64 = 1 << 17;
/// Number of steps that take as long as one evaluation of a small workload.
const STEPS_PER_EVALUATION: u64 = 100;
/// The cost of one more evaluation: this many server steps of the fluid, members of multicasts that it counts, or
/// paths of round trips.
const LARGE_EVALUATION: u64 = 10_000;
/// The cost of one more step by the offered load: this many paths of round trips.
const PATHS_PER_STEP: u64 = 256;

/// The state of a chain.
struct Walk<'a> {
    chain: Chain<'a>,
    layout: Layout<'a>,
    neighbourhood: Neighbourhood,
    random: Generator,
    /// The cost of the present placement by the offered load.
    rough: f64,
    /// The cost of the present placement by the fluid.
    cost: f64,
    /// How far the present part of the chain is, 0 to 1.
    reached: f64,
}

/// The score of the placement of `offered` by the offered load and the round trips.
pub(super) fn roughly(offered: &OfferedLoad, trips: &mut Option<RoundTrips>) -> Score {
    let score = without_trips(offered);
    match trips {
        Some(trips) => or_later(&score, trips.evaluate(offered.mapping())),
        None => score,
    }
}

/// The score by the offered load alone. Waiting includes the extra work of cores for far devices.
fn without_trips(offered: &OfferedLoad) -> Score {
    timed(offered.waiting().0 + offered.far().0, offered.latest(), offered.finish())
}

fn timed(waiting: f64, finish: Seconds, smooth_finish: Seconds) -> Score {
    Score {
        waiting: Some(Waiting { total: Seconds(waiting), ..Waiting::default() }),
        finish: Some(finish),
        smooth_finish: Some(smooth_finish),
        ..Score::default()
    }
}

/// The score with the finish delayed to what the round trips of each source need.
fn or_later(score: &Score, trips: RoundTripTimes) -> Score {
    let finish = score.last_arrival().0.max(trips.longest.0);
    let smooth = score.smooth_finish.unwrap_or_default().0;
    Score {
        finish: Some(Seconds(finish)),
        smooth_finish: Some(Seconds((smooth.powi(8) + trips.powers).powf(0.125))),
        ..*score
    }
}

/// The score of the placement of `offered` by the fluid and the round trips.
pub(super) fn exactly(
    fluid: &mut Fluid,
    offered: &OfferedLoad,
    trips: &mut Option<RoundTrips>,
) -> Score {
    let outcome = fluid.evaluate(offered.mapping());
    let rough = roughly(offered, trips);
    let finish = match trips {
        Some(_) => rough.last_arrival().0.max(outcome.workload_finish.0),
        None => outcome.workload_finish.0,
    };
    let waiting = outcome.total_waiting.0 + offered.far().0;
    timed(waiting, Seconds(finish), rough.smooth_finish.unwrap_or_default())
}

impl<'a> Chain<'a> {
    /// Anneals from a placement: first by the offered load alone, then by the fluid. Returns the best
    /// placement by the fluid.
    pub(super) fn walk(self, device_slot_of: &[usize]) -> Vec<usize> {
        if self.budget.is_over() {
            return device_slot_of.to_vec();
        }
        let (problem, device_slots, heat, seed) =
            (self.problem, self.device_slots, self.heat, self.seed);
        let mut walk = Walk {
            chain: self,
            layout: Layout::new(problem, device_slots, device_slot_of),
            neighbourhood: Neighbourhood::new(problem, problem.slots_of_nodes()),
            random: Generator::new(seed),
            rough: 0.0,
            cost: 0.0,
            reached: 0.0,
        };
        walk.jump(device_slot_of);
        let begin = walk.cost;
        let Some(usual) = walk.usual_rise() else {
            return device_slot_of.to_vec();
        };
        let rough = walk.anneal_roughly(heat * usual);
        walk.jump(&rough);
        if walk.cost >= begin {
            walk.jump(device_slot_of);
        }
        let usual = walk.usual_rise().unwrap_or(usual);
        walk.anneal(HEAT_OF_FLUID * usual)
    }

    /// The cost of the placement of `offered` by the offered load if the step to it, from a placement
    /// with cost `present`, is accepted. Round trips are slow to compute and can only raise the cost,
    /// so a step that is too expensive without them is rejected at once.
    fn accepted_cost(
        &mut self,
        present: f64,
        temperature: f64,
        random: &mut Generator,
    ) -> Option<f64> {
        let cost = self.rough.cost(&without_trips(&self.offered));
        if self.rough_trips.is_none() {
            return accepts(cost - present, temperature, random).then_some(cost);
        }
        let highest = present - temperature * random.share().ln();
        if cost > highest {
            return None;
        }
        let cost = self.rough.cost(&roughly(&self.offered, &mut self.rough_trips));
        (cost <= highest).then_some(cost)
    }
}

/// The work of round trips so far, paths.
fn paths(trips: &Option<RoundTrips>) -> u64 {
    trips.as_ref().map_or(0, RoundTrips::computed_paths)
}

impl Walk<'_> {
    /// Makes a placement the present one.
    fn jump(&mut self, device_slot_of: &[usize]) {
        let chain = &mut self.chain;
        self.layout = Layout::new(chain.problem, chain.device_slots, device_slot_of);
        chain.offered.restart(&device_slot_of.into());
        self.rough = chain.rough.cost(&roughly(&chain.offered, &mut chain.rough_trips));
        let exact = exactly(&mut chain.fluid, &chain.offered, &mut chain.trips);
        self.cost = chain.objective.cost(&exact);
    }

    /// The median cost, by the offered load, of steps to worse placements; `None` if no sampled step
    /// changes the cost.
    fn usual_rise(&mut self) -> Option<f64> {
        let (mut rises, mut falls) = (Vec::new(), false);
        for _ in 0..SAMPLE {
            let Chain { offered, rough_trips, rough, .. } = &mut self.chain;
            let moves = self.neighbourhood.step(&self.layout, offered, &mut self.random);
            offered.change(moves);
            let rise = rough.cost(&roughly(offered, rough_trips)) - self.rough;
            offered.undo();
            falls |= rise < -1e-12;
            if rise > 1e-12 {
                rises.push(rise);
            }
        }
        median_rise(rises, falls)
    }

    /// The fraction of the time, or without a clock of the work, that is used up in the first or the
    /// second part of the chain; 1 if the search must end.
    fn progress(&mut self, second: bool, work: u64, total: u64) -> f64 {
        let budget = self.chain.budget;
        let progress = match budget.time_passed() {
            Some(passed) if second => 2.0 * passed - 1.0,
            Some(passed) => 2.0 * passed,
            None if total == 0 => 1.0,
            None => work as f64 / total as f64,
        };
        let progress = progress.clamp(0.0, 1.0);
        let more = (progress - self.reached).max(0.0);
        self.reached = if progress < 1.0 { self.reached + more } else { 0.0 };
        let ended = budget.advance(0.5 * more * self.chain.share);
        if ended { 1.0 } else { progress }
    }

    /// Anneals by the offered load alone. Returns the best placement by the offered load.
    fn anneal_roughly(&mut self, heat: f64) -> Vec<usize> {
        let mut best = (self.layout.device_slot_of().to_vec(), self.rough);
        let (mut temperature, mut step) = (heat, 0);
        let before = paths(&self.chain.rough_trips);
        loop {
            if step % STEPS_PER_READING == 0 {
                let work = step + (paths(&self.chain.rough_trips) - before) / PATHS_PER_STEP;
                let progress = self.progress(false, work, self.chain.steps);
                if progress >= 1.0 {
                    break;
                }
                temperature = heat * COLD.powf(progress);
                if step % RENEWED == 0 {
                    self.chain.offered.restart(&self.layout.device_slot_of().into());
                }
            }
            step += 1;
            let offered = &mut self.chain.offered;
            let moves = self.neighbourhood.step(&self.layout, offered, &mut self.random);
            if moves.is_empty() {
                self.neighbourhood.was_taken(false);
                continue;
            }
            offered.change(moves);
            let taken = self.chain.accepted_cost(self.rough, temperature, &mut self.random);
            let Some(cost) = taken else {
                self.chain.offered.undo();
                self.neighbourhood.was_taken(false);
                continue;
            };
            self.layout.apply(moves);
            self.neighbourhood.was_taken(true);
            self.rough = cost;
            if cost < best.1 - 1e-9 {
                best.1 = cost;
                best.0.copy_from_slice(self.layout.device_slot_of());
            }
        }
        self.chain.budget.count_moves(step);
        best.0
    }

    /// Anneals by the fluid. Returns the best placement by the fluid. A step is accepted in two stages
    /// (Christen and Fox 2005, "Markov chain Monte Carlo using an approximation"): the offered load
    /// rejects most steps that the fluid would reject, and the fluid corrects the errors of the offered
    /// load.
    fn anneal(&mut self, heat: f64) -> Vec<usize> {
        let mut best = (self.layout.device_slot_of().to_vec(), self.cost);
        let (mut temperature, mut step, mut evaluations) = (heat, 0, 0);
        let counting = self.chain.offered.multicast_members() as u64 / LARGE_EVALUATION;
        let computed = |chain: &Chain| paths(&chain.trips) + paths(&chain.rough_trips);
        let before = computed(&self.chain);
        loop {
            if step % STEPS_PER_READING == 0 {
                let paths = (computed(&self.chain) - before) / LARGE_EVALUATION;
                let work = evaluations + step / STEPS_PER_EVALUATION + paths;
                let progress = self.progress(true, work, self.chain.evaluations);
                if progress >= 1.0 {
                    break;
                }
                temperature = heat * COLD.powf(progress);
            }
            step += 1;
            let offered = &mut self.chain.offered;
            let moves = self.neighbourhood.step(&self.layout, offered, &mut self.random);
            if moves.is_empty() {
                self.neighbourhood.was_taken(false);
                continue;
            }
            offered.change(moves);
            let taken = self.chain.accepted_cost(self.rough, temperature, &mut self.random);
            let Some(rough) = taken else {
                self.chain.offered.undo();
                self.neighbourhood.was_taken(false);
                continue;
            };
            let expected = rough - self.rough;
            let Chain { offered, fluid, trips, objective, .. } = &mut self.chain;
            let cost = objective.cost(&exactly(fluid, offered, trips));
            evaluations += 1 + counting + fluid.server_steps() / LARGE_EVALUATION;
            if !accepts(cost - self.cost - expected, temperature, &mut self.random) {
                offered.undo();
                self.neighbourhood.was_taken(false);
                continue;
            }
            self.layout.apply(moves);
            self.neighbourhood.was_taken(true);
            self.rough += expected;
            self.cost = cost;
            if cost < best.1 {
                best.1 = cost;
                best.0.copy_from_slice(self.layout.device_slot_of());
            }
        }
        self.chain.budget.count_moves(step);
        best.0
    }
}

/// The median of the rises of sampled steps. Where no step rises but some fall, a small one; `None`
/// if no step changes the cost.
pub(super) fn median_rise(mut rises: Vec<f64>, falls: bool) -> Option<f64> {
    let middle = rises.len() / 2;
    match rises.is_empty() {
        true => falls.then_some(1e-6),
        false => Some(*rises.select_nth_unstable_by(middle, f64::total_cmp).1),
    }
}

/// Whether a step that raises the cost by `rise` is accepted (Metropolis).
pub(super) fn accepts(rise: f64, temperature: f64, random: &mut Generator) -> bool {
    rise <= 0.0 || random.share() < (-rise / temperature).exp()
}
