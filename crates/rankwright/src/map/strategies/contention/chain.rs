//! Annealing: one way through the placements.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::berths::Berths;
use super::layout::Layout;
use super::neighbourhood::Neighbourhood;
use crate::estimate::{Fluid, OfferedLoad, RoundTripTimes, RoundTrips};
use crate::map::{Budget, Problem};
use crate::random::share;
use crate::ranking::{Score, SmoothObjective, Waiting};
use crate::units::Seconds;

/// What a chain is given.
pub(super) struct Chain<'a> {
    pub(super) problem: &'a Problem<'a>,
    pub(super) budget: &'a Budget<'a>,
    pub(super) berths: &'a Berths,
    /// What placements cost by the fluid, and by the offered load.
    pub(super) objective: SmoothObjective,
    pub(super) rough: SmoothObjective,
    pub(super) fluid: Fluid,
    pub(super) offered: OfferedLoad,
    /// Where ranks wait for their messages.
    pub(super) trips: Option<RoundTrips>,
    /// The same, if steps by the offered load see them too.
    pub(super) rough_trips: Option<RoundTrips>,
    /// Steps by the offered load, and evaluations of the fluid.
    pub(super) steps: u64,
    pub(super) evaluations: u64,
    /// The temperature at the beginning, in parts of what a step usually costs.
    pub(super) heat: f64,
    pub(super) seed: u64,
}

/// The temperature at the beginning of the second part, as [`Chain::heat`].
const HEAT_OF_FLUID: f64 = 0.01;
/// The temperature at the end of a part, in parts of that at its beginning.
const COLD: f64 = 1e-3;
/// How many steps tell what a step usually costs.
const SAMPLE: u64 = 400;
/// After so many steps the clock is asked, and after so many the sums of the offered load, which
/// rounding blurs, are added up anew.
const ROUND: u64 = 1 << 7;
const RENEWED: u64 = 1 << 17;
/// Steps that take as long as one evaluation of a small workload.
const STEPS_PER_EVALUATION: u64 = 100;
/// An evaluation counts once more for each so many steps of servers.
const LARGE_EVALUATION: u64 = 10_000;

/// Where a chain is.
struct Walk<'a> {
    chain: Chain<'a>,
    layout: Layout<'a>,
    neighbourhood: Neighbourhood,
    random: ChaCha8Rng,
    /// What the present placement costs by the offered load, and by the fluid.
    rough: f64,
    cost: f64,
}

/// What a model says of the placement of `offered`, with what the offered load and the round trips
/// say.
pub(super) fn roughly(offered: &OfferedLoad, trips: &mut Option<RoundTrips>) -> Score {
    let score = without_trips(offered);
    match trips {
        Some(trips) => or_later(&score, trips.evaluate(offered.mapping())),
        None => score,
    }
}

/// Waiting includes what cores have to do more because of where devices are.
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

/// A score where the rounds of each source take at least so long.
fn or_later(score: &Score, trips: RoundTripTimes) -> Score {
    let finish = score.last_arrival().0.max(trips.longest.0);
    let smooth = score.smooth_finish.unwrap_or_default().0;
    Score {
        finish: Some(Seconds(finish)),
        smooth_finish: Some(Seconds((smooth.powi(8) + trips.powers).powf(0.125))),
        ..*score
    }
}

/// What the fluid says of the placement of `offered`, with what the round trips say.
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
    /// Walks from a placement; the best one by the fluid on the way.
    ///
    /// The first part anneals by the offered load alone, the second by the fluid.
    pub(super) fn walk(self, berth_of: &[usize]) -> Vec<usize> {
        let (problem, berths, heat, seed) = (self.problem, self.berths, self.heat, self.seed);
        let mut walk = Walk {
            chain: self,
            layout: Layout::new(problem, berths, berth_of),
            neighbourhood: Neighbourhood::new(problem),
            random: ChaCha8Rng::seed_from_u64(seed),
            rough: 0.0,
            cost: 0.0,
        };
        walk.jump(berth_of);
        let begin = walk.cost;
        let Some(usual) = walk.usual_rise() else {
            return berth_of.to_vec();
        };
        let rough = walk.anneal_roughly(heat * usual);
        walk.jump(&rough);
        if walk.cost >= begin {
            walk.jump(berth_of);
        }
        let usual = walk.usual_rise().unwrap_or(usual);
        walk.anneal(HEAT_OF_FLUID * usual)
    }

    /// What the placement of `offered` costs roughly, if a step to it is taken from one that costs
    /// `present`. Round trips take long to add up and only add to the cost: without them it must be
    /// little enough already.
    fn step_is_taken(
        &mut self,
        present: f64,
        temperature: f64,
        random: &mut ChaCha8Rng,
    ) -> Option<f64> {
        let cost = self.rough.cost(&without_trips(&self.offered));
        if self.rough_trips.is_none() {
            return accepts(cost - present, temperature, random).then_some(cost);
        }
        let most = present - temperature * share(random.next_u64()).ln();
        if cost > most {
            return None;
        }
        let cost = self.rough.cost(&roughly(&self.offered, &mut self.rough_trips));
        (cost <= most).then_some(cost)
    }
}

impl Walk<'_> {
    fn jump(&mut self, berth_of: &[usize]) {
        let chain = &mut self.chain;
        self.layout = Layout::new(chain.problem, chain.berths, berth_of);
        chain.offered.restart(&berth_of.into());
        self.rough = chain.rough.cost(&roughly(&chain.offered, &mut chain.rough_trips));
        let exact = exactly(&mut chain.fluid, &chain.offered, &mut chain.trips);
        self.cost = chain.objective.cost(&exact);
    }

    /// The median of what steps that make it worse cost by the offered load; `None` if no step makes
    /// any difference.
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
        let middle = rises.len() / 2;
        match rises.is_empty() {
            true => falls.then_some(1e-6),
            false => Some(*rises.select_nth_unstable_by(middle, f64::total_cmp).1),
        }
    }

    /// Which part of the time, or of the work, of a part of the walk is over.
    fn passed(&self, second: bool, work: u64, of: u64) -> f64 {
        match self.chain.budget.time_passed() {
            Some(passed) if second => 2.0 * passed - 1.0,
            Some(passed) => 2.0 * passed,
            None if of == 0 => 1.0,
            None => work as f64 / of as f64,
        }
    }

    /// Anneals by the offered load alone; the best placement by it.
    fn anneal_roughly(&mut self, heat: f64) -> Vec<usize> {
        let mut best = (self.layout.berth_of().to_vec(), self.rough);
        let (mut temperature, mut step) = (heat, 0);
        loop {
            if step % ROUND == 0 {
                let passed = self.passed(false, step, self.chain.steps);
                if passed >= 1.0 {
                    break;
                }
                temperature = heat * COLD.powf(passed.max(0.0));
                if step % RENEWED == 0 {
                    self.chain.offered.restart(&self.layout.berth_of().into());
                }
            }
            step += 1;
            let offered = &mut self.chain.offered;
            let moves = self.neighbourhood.step(&self.layout, offered, &mut self.random);
            if moves.is_empty() {
                continue;
            }
            offered.change(moves);
            let taken = self.chain.step_is_taken(self.rough, temperature, &mut self.random);
            let Some(cost) = taken else {
                self.chain.offered.undo();
                continue;
            };
            self.layout.exchange(moves);
            self.rough = cost;
            if cost < best.1 - 1e-9 {
                best.1 = cost;
                best.0.copy_from_slice(self.layout.berth_of());
            }
        }
        self.chain.budget.count_moves(step);
        best.0
    }

    /// Anneals by the fluid; the best placement by it. A step is taken in two stages (Christen and
    /// Fox 2005, "Markov chain Monte Carlo using an approximation"): the offered load sorts out what
    /// is hardly ever taken, and the fluid puts right what it is wrong about.
    fn anneal(&mut self, heat: f64) -> Vec<usize> {
        let mut best = (self.layout.berth_of().to_vec(), self.cost);
        let (mut temperature, mut step, mut evaluations) = (heat, 0, 0);
        loop {
            if step % ROUND == 0 {
                let work = evaluations + step / STEPS_PER_EVALUATION;
                let passed = self.passed(true, work, self.chain.evaluations);
                if passed >= 1.0 {
                    break;
                }
                temperature = heat * COLD.powf(passed.max(0.0));
            }
            step += 1;
            let offered = &mut self.chain.offered;
            let moves = self.neighbourhood.step(&self.layout, offered, &mut self.random);
            if moves.is_empty() {
                continue;
            }
            offered.change(moves);
            let taken = self.chain.step_is_taken(self.rough, temperature, &mut self.random);
            let Some(rough) = taken else {
                self.chain.offered.undo();
                continue;
            };
            let expected = rough - self.rough;
            let Chain { offered, fluid, trips, objective, .. } = &mut self.chain;
            let cost = objective.cost(&exactly(fluid, offered, trips));
            evaluations += 1 + fluid.server_steps() / LARGE_EVALUATION;
            if !accepts(cost - self.cost - expected, temperature, &mut self.random) {
                offered.undo();
                continue;
            }
            self.layout.exchange(moves);
            self.rough += expected;
            self.cost = cost;
            if cost < best.1 {
                best.1 = cost;
                best.0.copy_from_slice(self.layout.berth_of());
            }
        }
        self.chain.budget.count_moves(step);
        best.0
    }
}

/// Whether a step that costs so much more is taken (Metropolis).
fn accepts(rise: f64, temperature: f64, random: &mut ChaCha8Rng) -> bool {
    rise <= 0.0 || share(random.next_u64()) < (-rise / temperature).exp()
}
