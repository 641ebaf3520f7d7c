//! `contention`: the least predicted waiting.
//!
//! It begins with the answers of all other strategies and anneals from the best of them, first by
//! the offered load ([`OfferedLoad`]: many steps), then by the fluid ([`Fluid`]: exact ones). Where
//! ranks wait for their messages, both also see how long that takes ([`RoundTrips`]).
//!
//! Where network devices go by load, it goes on from these answers and all others, each with the
//! devices that `by-load` gives it, and moves ranks between slots and devices together.

mod berths;
mod burst;
mod chain;
#[cfg(test)]
mod device_tests;
mod layout;
mod neighbourhood;
mod starts;
#[cfg(test)]
mod tests;

use crate::estimate::{Fluid, OfferedLoad, RoundTrips};
use crate::map::options::{EFFORT, MOVES, OBJECTIVE, OptionEntry, Options, SEED};
use crate::map::{Budget, DeviceMapping, Effort, MapError, Mapper, Problem, StrategyError};
use crate::parallel;
use crate::placement::{JobShape, Mapping, Placement, PlacementError};
use crate::rails;
use crate::ranking::{Objective, Rule, Score, SmoothObjective, rank};
use berths::Berths;
use chain::{Chain, exactly, roughly};

pub(in crate::map) const OPTIONS: &[OptionEntry] = &[OBJECTIVE, EFFORT, SEED, MOVES];

/// Searches for the placement with the least predicted waiting.
#[derive(Debug, Clone)]
pub(in crate::map) struct Contention {
    objective: Objective,
    effort: Effort,
    seed: u64,
    /// Steps of all chains together.
    moves: Option<u64>,
}

/// The temperatures at which chains begin, in parts of what a step usually costs. Without a clock
/// each is walked once.
const HEATS: [f64; 4] = [0.1, 0.03, 0.3, 1.0];
/// How many times as much later every other chain lets the end be by the offered load: that is often wrong
/// about it, and what the fluid takes for late is not kept.
const PATIENCE: f64 = 4.0;

/// With more messages of a tick that are evaluated one by one, round trips take too long to be seen in
/// steps by the offered load.
const MOST_MESSAGES: usize = 1024;

/// All that the chains have in common.
struct Search<'a> {
    problem: &'a Problem<'a>,
    budget: &'a Budget<'a>,
    berths: &'a Berths,
    /// What placements cost by the fluid, and by the offered load.
    objective: SmoothObjective,
    rough: SmoothObjective,
    fluid: Fluid,
    offered: OfferedLoad,
    trips: Option<RoundTrips>,
    rough_trips: Option<RoundTrips>,
    /// What the search begins with, as the berth of each rank, the best first.
    starts: Vec<(Score, Vec<usize>)>,
}

impl Contention {
    pub(in crate::map) fn from_options(options: &Options) -> Result<Self, StrategyError> {
        Ok(Self {
            objective: options.objective()?,
            effort: options.effort()?,
            seed: options.seed()?,
            moves: options.moves()?,
        })
    }

    /// Steps of one chain: for each rank so many, but not more than fit into a while.
    fn steps(&self, ranks: usize) -> u64 {
        let (of_each_rank, most) = match self.effort {
            Effort::Fast => (400, 1 << 18),
            Effort::Normal => (4_000, 1 << 21),
            Effort::Best => (40_000, 1 << 26),
        };
        match self.moves {
            Some(moves) => moves.div_ceil(HEATS.len() as u64),
            None => (of_each_rank * ranks as u64).min(most),
        }
    }

    /// The best of each chain and the best start, the one with the least cost first, as the berth of
    /// each rank.
    fn search(
        &self,
        problem: &Problem,
        berths: &Berths,
        budget: &Budget,
        starts: Vec<Vec<usize>>,
    ) -> Result<Vec<Vec<usize>>, MapError> {
        let mut search = Search::new(self.objective, problem, berths, budget, starts)?;
        let steps = self.steps(problem.rank_count());
        let chain = |_: usize, number: &usize| {
            let number = *number;
            // The best two in turn.
            let start = &search.starts[(number % 2).min(search.starts.len() - 1)].1;
            let seed = self.seed.wrapping_mul(1 << 16).wrapping_add(number as u64);
            match berths.on_same_rails(start.clone()) {
                Some(start) => search.chain(number, steps, seed).walk(&start),
                None => start.clone(),
            }
        };
        let threads = budget.threads();
        // All chains look at the same clock.
        let chains = if budget.time_passed().is_some() { threads.get() } else { HEATS.len() };
        let numbers: Vec<usize> = (0..chains).collect();
        let found = parallel::map(&numbers, threads, chain);
        Ok(search.in_order(found))
    }
}

impl Mapper for Contention {
    fn map(&self, problem: &Problem, budget: &Budget) -> Result<Mapping, MapError> {
        let mut mappings = self.mappings(problem, budget)?;
        Ok(mappings.swap_remove(0))
    }

    /// The best of each chain and the best start, the one with the least cost first.
    fn mappings(&self, problem: &Problem, budget: &Budget) -> Result<Vec<Mapping>, MapError> {
        let starts = starts::starts(problem, budget)?;
        if problem.rank_count() < 2 {
            return Ok(starts);
        }
        let berths = Berths::of_slots(problem);
        let starts = starts.into_iter().map(Mapping::into_indices).collect();
        let found = self.search(problem, &berths, budget, starts)?;
        Ok(found.into_iter().map(Mapping::from).collect())
    }

    fn chooses_devices(&self) -> bool {
        true
    }

    fn with_devices(
        &self,
        problem: &Problem,
        budget: &Budget,
        mappings: &[Mapping],
    ) -> Result<Vec<DeviceMapping>, MapError> {
        let berths = Berths::with_devices(problem)?;
        if !berths.is_choice() || problem.rank_count() < 2 {
            return Ok(Vec::new());
        }
        let others = starts::starts(problem, budget)?;
        let mut starts: Vec<Vec<usize>> = Vec::new();
        for slot_of in mappings.iter().chain(&others).map(Mapping::as_indices) {
            // Another answer may leave every rank a device where this one does not.
            let Some(nics) = by_load(problem, slot_of)? else { continue };
            let found = berths.find(slot_of, &nics);
            starts.extend(found.filter(|berth_of| !starts.contains(berth_of)));
        }
        if starts.is_empty() {
            return Ok(Vec::new());
        }
        let found = self.search(problem, &berths, budget, starts)?;
        Ok(found.iter().map(|berth_of| berths.mapping(berth_of)).collect())
    }
}

/// The devices of each rank by load, if the ranks have these slots; `None` if the devices there do not
/// suffice.
fn by_load(problem: &Problem, slot_of: &[usize]) -> Result<Option<Vec<Vec<String>>>, MapError> {
    let (cluster, workload) = (problem.cluster, problem.workload);
    let shapes = JobShape::of(workload);
    let placement = Placement::from_slots(cluster, &shapes, "", problem.slots(), slot_of);
    let placement = placement.map_err(invalid)?;
    let selected = rails::select(cluster, workload, placement, problem.selection()).ok();
    Ok(selected.map(|placement| placement.ranks().map(|place| place.nics.clone()).collect()))
}

fn invalid(error: PlacementError) -> MapError {
    MapError::Invalid { what: error.to_string() }
}

impl<'a> Search<'a> {
    fn new(
        objective: Objective,
        problem: &'a Problem,
        berths: &'a Berths,
        budget: &'a Budget,
        starts: Vec<Vec<usize>>,
    ) -> Result<Self, MapError> {
        let workload = burst::with_clocks(problem.workload);
        let (cluster, slots) = (problem.cluster, berths.slots());
        let mut fluid = Fluid::new(cluster, &workload, slots).map_err(invalid)?;
        let first = Mapping::from(&starts[0][..]);
        let mut offered = OfferedLoad::new(cluster, &workload, slots, &first).map_err(invalid)?;
        let trips = problem.is_closed_loop();
        let trips = trips.then(|| RoundTrips::new(cluster, &workload, slots)).transpose();
        let mut trips = trips.map_err(invalid)?;
        let mut rough_trips = trips.clone().filter(|_| offered.single_messages() <= MOST_MESSAGES);
        let (mut exact, mut rough) = (Vec::new(), Vec::new());
        for start in &starts {
            offered.restart(&Mapping::from(&start[..]));
            exact.push(exactly(&mut fluid, &offered, &mut trips));
            rough.push(roughly(&offered, &mut rough_trips));
        }
        let closed_loop = problem.is_closed_loop();
        let relative_to = |scores: &[Score]| SmoothObjective::new(objective, closed_loop, scores);
        let (objective, rough) = (relative_to(&exact), relative_to(&rough).with_smooth_end());
        let starts = best_first(&objective, exact.into_iter().zip(starts).collect());
        Ok(Self {
            problem,
            budget,
            berths,
            objective,
            rough,
            fluid,
            offered,
            trips,
            rough_trips,
            starts,
        })
    }

    /// The chain with a number.
    fn chain(&self, number: usize, steps: u64, seed: u64) -> Chain<'_> {
        let patience = if number % 2 == 1 { PATIENCE } else { 1.0 };
        let messages = self.offered.single_messages() as u64;
        Chain {
            problem: self.problem,
            budget: self.budget,
            berths: self.berths,
            objective: self.objective,
            rough: self.rough.with_patience(patience),
            fluid: self.fluid.clone(),
            offered: self.offered.clone(),
            trips: self.trips.clone(),
            rough_trips: self.rough_trips.clone(),
            steps,
            // Longer ones where they take longer.
            evaluations: steps / (50 + messages / 8),
            heat: HEATS[number % HEATS.len()],
            seed,
        }
    }

    /// Placements and the best start, each once, the best first.
    fn in_order(&mut self, found: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
        let mut candidates = vec![self.starts.swap_remove(0)];
        for berth_of in found {
            self.offered.restart(&Mapping::from(&berth_of[..]));
            let score = exactly(&mut self.fluid, &self.offered, &mut self.trips);
            if candidates.iter().all(|(_, other)| *other != berth_of) {
                candidates.push((score, berth_of));
            }
        }
        let candidates = best_first(&self.objective, candidates);
        candidates.into_iter().map(|(_, berth_of)| berth_of).collect()
    }
}

/// Placements in the order of their scores.
fn best_first(
    objective: &SmoothObjective,
    placements: Vec<(Score, Vec<usize>)>,
) -> Vec<(Score, Vec<usize>)> {
    let scores: Vec<Score> = placements.iter().map(|(score, _)| *score).collect();
    let mut placements: Vec<_> = placements.into_iter().map(Some).collect();
    let ranking = rank(&scores, &Rule::Smooth(*objective));
    ranking.order().iter().filter_map(|at| placements[*at].take()).collect()
}
