//! `contention`: simulated annealing for the least predicted waiting.
//!
//! The search starts from the mappings of all other strategies and anneals from the best of them,
//! first by the offered load ([`OfferedLoad`]: many cheap steps), then by the fluid ([`Fluid`]: fewer,
//! accurate steps). In a closed loop both also count round trips ([`RoundTrips`]). Short searches come
//! before the whole one, which is left out where they find nothing. Without message timing there is
//! nothing to predict, and the search is by traffic (`by_traffic`).
//!
//! With devices by load, a second search starts from these mappings and from those of the other
//! strategies, each with the devices that `by-load` gives it, and moves ranks between slots and
//! devices together.

mod assumed_clocks;
mod by_traffic;
mod chain;
mod device_slots;
#[cfg(test)]
mod device_tests;
mod layout;
mod neighbourhood;
mod starts;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod traffic_tests;

use std::borrow::Cow;

use crate::estimate::{Fluid, OfferedLoad, RoundTrips};
use crate::map::options::{EFFORT, MOVES, OBJECTIVE, OptionEntry, Options, SEED};
use crate::map::search::alike_nodes::FewerNodes;
use crate::map::{Budget, DeviceMapping, Effort, MapError, Mapper, Problem, StrategyError};
use crate::parallel;
use crate::placement::{JobShape, Mapping, Placement, PlacementError};
use crate::rails;
use crate::ranking::{Objective, Rule, Score, SmoothObjective, rank};
use by_traffic::TrafficSearch;
use chain::{Chain, exactly, roughly};
use device_slots::DeviceSlots;

pub(in crate::map) const OPTIONS: &[OptionEntry] = &[OBJECTIVE, EFFORT, SEED, MOVES];

/// Searches for the placement with the least predicted waiting.
#[derive(Debug, Clone)]
pub(in crate::map) struct Contention {
    objective: Objective,
    effort: Effort,
    seed: u64,
    /// Number of steps of all chains together; `None`: by `effort`.
    moves: Option<u64>,
}

/// The first temperatures of the chains, as multiples of the median cost of an uphill step. Without a
/// clock there is one chain for each.
const HEATS: [f64; 4] = [0.1, 0.03, 0.3, 1.0];
/// The factor by which every other chain lets the finish be later by the offered load, whose finish is
/// often wrong. The fluid rejects placements that really finish late.
const PATIENCE: f64 = 4.0;

/// The rounds of a search, and the ways to walk each: the first whose `least_gain` the round before reached,
/// if there is one. Where the first round finds no better mapping than the starts, a longer one rarely does.
/// The third is for searches that were still finding better mappings when the second ended. One in twelve of
/// those with few ranks finds much better ones and gets a few seconds; one in twenty finds somewhat better
/// ones and gets as long again as both rounds before.
const ROUNDS: [&[Round]; 3] = [
    &[Round { share: 0.25, chains: usize::MAX, least_gain: 0.0 }],
    &[Round { share: 1.0, chains: usize::MAX, least_gain: 2e-3 }],
    &[
        Round { share: 4.0, chains: usize::MAX, least_gain: 0.05 },
        Round { share: 2.0, chains: 2, least_gain: 0.015 },
    ],
];

/// With how many ranks there is a third round at most.
const FEW_RANKS: usize = 160;

/// A round of a search.
#[derive(Clone, Copy)]
struct Round {
    /// The length of its chains, as a share of the steps of one chain.
    share: f64,
    /// The number of its chains at most: those that ended best in the round before.
    chains: usize,
    /// By how much the round before must lower the cost: a share of the waiting or of the finish.
    least_gain: f64,
}

/// With more ranks only the chains that ended best in the first round walk in the second, which is the
/// last then: this many of them. With few ranks others may overtake them.
const MANY_RANKS: (usize, usize) = (256, 2);

/// Steps by the offered load count how long messages of one tick wait for each other where that is more
/// than this part of all waiting of every start. Elsewhere it took searches a third longer, for waiting
/// that was 1 % less in the mean and much more in a few cases.
const IN_TICKS: f64 = 0.8;

/// The largest number of single messages of a tick with which steps by the offered load count round
/// trips. With more messages, round trips take too long to compute.
const MOST_MESSAGES: usize = 1024;

/// A search in rounds of several chains. Placements are the device slots of ranks, by global rank.
trait Rounds: Sync {
    /// Where chains start, the best first. Not from what shorter rounds found: a long chain from a
    /// start mostly ends at a lower cost.
    fn starts(&self) -> &[(Score, Vec<usize>)];

    /// The best placement of a chain from a start.
    fn walk(&self, chain: &ChainPlan, start: &[usize]) -> Vec<usize>;

    /// By what placements are ordered.
    fn rule(&self) -> Rule;

    fn score(&mut self, placement: &[usize]) -> Score;

    /// What chains minimise: a logarithm.
    fn cost(&mut self, placement: &(Score, Vec<usize>)) -> f64;
}

/// A chain of a round.
struct ChainPlan {
    number: usize,
    steps: u64,
    seed: u64,
    /// The share of the search that this chain is.
    share: f64,
}

/// What all chains share.
struct Search<'a> {
    problem: &'a Problem<'a>,
    budget: &'a Budget<'a>,
    device_slots: &'a DeviceSlots,
    /// The cost of placements by the fluid.
    objective: SmoothObjective,
    /// The cost of placements by the offered load.
    rough: SmoothObjective,
    fluid: Fluid,
    offered: OfferedLoad,
    /// Round trips for evaluations by the fluid; `None` in an open loop.
    trips: Option<RoundTrips>,
    /// Round trips for steps by the offered load; `None` in an open loop, or if they take too long.
    rough_trips: Option<RoundTrips>,
    /// Whether messages wait mostly for others of their tick: servers are nearly idle.
    in_ticks: bool,
    /// Starting placements with their scores by the fluid, the best first; by global rank the device
    /// slot.
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

    /// Number of steps of one chain. Each rank counts four times up to `few` steps.
    fn steps(&self, ranks: usize) -> u64 {
        let (per_rank, few, most) = match self.effort {
            Effort::Fast => (100, 1 << 13, 1 << 16),
            Effort::Normal => (1_000, 1 << 17, 1 << 19),
            Effort::Best => (10_000, 1 << 20, 1 << 26),
        };
        let by_ranks = per_rank * ranks as u64;
        match self.moves {
            Some(moves) => moves.div_ceil(HEATS.len() as u64),
            None => (4 * by_ranks).min(few).max(by_ranks).min(most),
        }
    }

    /// The rounds. One if the user gave the steps or the time, or wants the best at any price; two with
    /// little effort or more ranks.
    fn rounds(&self, ranks: usize, budget: &Budget) -> &'static [&'static [Round]] {
        const ONCE: [&[Round]; 1] = [&[Round { share: 1.0, chains: usize::MAX, least_gain: 0.0 }]];
        match self.effort {
            Effort::Best => &ONCE,
            _ if self.moves.is_some() || budget.time_passed().is_some() => &ONCE,
            Effort::Normal if ranks <= FEW_RANKS => &ROUNDS,
            Effort::Normal | Effort::Fast => &ROUNDS[..2],
        }
    }

    /// As [`Mapper::mappings`], from these starts.
    fn slots_by_search(
        &self,
        problem: &Problem,
        budget: &Budget,
        starts: Vec<Mapping>,
    ) -> Result<Vec<Mapping>, MapError> {
        let device_slots = DeviceSlots::of_slots(problem);
        let starts = starts.into_iter().map(Mapping::into_indices).collect();
        let mappings = self.search(problem, &device_slots, budget, starts)?;
        Ok(mappings.into_iter().map(Mapping::from).collect())
    }

    /// As [`Mapper::with_devices`], from these starts.
    fn devices_by_search(
        &self,
        problem: &Problem,
        budget: &Budget,
        mappings: &[Mapping],
    ) -> Result<Vec<DeviceMapping>, MapError> {
        let device_slots = DeviceSlots::with_devices(problem)?;
        if !device_slots.has_choice() {
            return Ok(Vec::new());
        }
        let mut starts: Vec<Vec<usize>> = Vec::new();
        for slot_of in mappings.iter().map(Mapping::as_indices) {
            // Other mappings may have a device for every rank where this one does not.
            let Some(nics) = by_load(problem, slot_of)? else { continue };
            let start = device_slots.find(slot_of, &nics);
            starts.extend(start.filter(|device_slot_of| !starts.contains(device_slot_of)));
        }
        if starts.is_empty() {
            return Ok(Vec::new());
        }
        let placements = self.search(problem, &device_slots, budget, starts)?;
        Ok(placements.iter().map(|device_slot_of| device_slots.mapping(device_slot_of)).collect())
    }

    /// The best placement of each chain and the best start, in ascending order of their cost; by global
    /// rank the device slot.
    fn search(
        &self,
        problem: &Problem,
        device_slots: &DeviceSlots,
        budget: &Budget,
        starts: Vec<Vec<usize>>,
    ) -> Result<Vec<Vec<usize>>, MapError> {
        if problem.workload.jobs.iter().all(|job| job.sources.is_empty()) {
            let search = TrafficSearch::new(problem, device_slots, budget, starts);
            return Ok(self.in_rounds(problem, device_slots, budget, search));
        }
        let search = Search::new(self.objective, problem, device_slots, budget, starts)?;
        Ok(self.in_rounds(problem, device_slots, budget, search))
    }

    fn in_rounds(
        &self,
        problem: &Problem,
        device_slots: &DeviceSlots,
        budget: &Budget,
        mut search: impl Rounds,
    ) -> Vec<Vec<usize>> {
        let threads = budget.threads();
        // With a clock all chains end at the same time, so there is one for each thread.
        let chains = if budget.time_passed().is_some() { threads.get() } else { HEATS.len() };
        let mut found = search.starts()[..1].to_vec();
        let (rounds, steps) =
            (self.rounds(problem.rank_count(), budget), self.steps(problem.rank_count()));
        let many = problem.rank_count() > MANY_RANKS.0;
        let limit = |at: usize| if many && at > 0 { MANY_RANKS.1 } else { usize::MAX };
        // A third round is rare: progress does not wait for it.
        let usual = rounds.iter().enumerate().take(2);
        let length: f64 =
            usual.map(|(at, ways)| ways[0].share * chains.min(limit(at)) as f64).sum();
        let mut numbers: Vec<usize> = (0..chains).collect();
        let (mut scores, mut gain) = (Vec::new(), f64::INFINITY);
        for (at, ways) in rounds.iter().enumerate() {
            let way = ways.iter().find(|way| gain >= way.least_gain);
            let Some(round) = way.filter(|_| !budget.is_over() || at == 0) else { break };
            let most = round.chains.min(limit(at));
            if most < numbers.len() {
                let ranking = rank(&scores, &search.rule());
                numbers = ranking.order().iter().map(|at| numbers[*at]).take(most).collect();
            }
            let steps = (round.share * steps as f64) as u64;
            let share = round.share / length;
            let chain = |_: usize, number: &usize| {
                // From the best and the second best start in turn.
                let starts = search.starts();
                let start = &starts[(number % 2).min(starts.len() - 1)].1;
                let seed = self.seed.wrapping_mul(1 << 16).wrapping_add(*number as u64);
                match device_slots.on_same_rails(start.clone()) {
                    Some(start) => {
                        search.walk(&ChainPlan { number: *number, steps, seed, share }, &start)
                    }
                    None => start.clone(),
                }
            };
            let placements = parallel::map(&numbers, threads, chain);
            let before = search.cost(&found[0]);
            scores = placements.iter().map(|placement| search.score(placement)).collect();
            for (score, placement) in scores.iter().zip(placements) {
                if found.iter().all(|(_, other)| *other != placement) {
                    found.push((*score, placement));
                }
            }
            found = best_first(&search.rule(), found);
            // The best by simulation may be one that the third round beats by the fluid.
            if at + 1 < ROUNDS.len() {
                found.truncate(chains + 1);
            }
            gain = before - search.cost(&found[0]);
        }
        found.into_iter().map(|(_, placement)| placement).collect()
    }
}

impl Mapper for Contention {
    fn map(&self, problem: &Problem, budget: &Budget) -> Result<Mapping, MapError> {
        let mut mappings = self.mappings(problem, budget)?;
        Ok(mappings.swap_remove(0))
    }

    /// The best mapping of each chain and the best start, in ascending order of their cost.
    fn mappings(&self, problem: &Problem, budget: &Budget) -> Result<Vec<Mapping>, MapError> {
        let starts = starts::starts(problem, budget)?;
        if problem.rank_count() < 2 || budget.is_over() {
            return Ok(starts);
        }
        let Some(fewer) = FewerNodes::new(problem, &starts) else {
            return self.slots_by_search(problem, budget, starts);
        };
        let starts = starts.iter().filter_map(|start| fewer.part_of(start)).collect();
        let mappings = self.slots_by_search(&fewer.problem, budget, starts)?;
        Ok(mappings.iter().map(|mapping| fewer.whole_of(mapping)).collect())
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
        if budget.is_over() || problem.rank_count() < 2 {
            return Ok(Vec::new());
        }
        let starts: Vec<Mapping> =
            mappings.iter().cloned().chain(starts::starts(problem, budget)?).collect();
        let Some(fewer) = FewerNodes::new(problem, &starts) else {
            return self.devices_by_search(problem, budget, &starts);
        };
        let starts: Vec<Mapping> = starts.iter().filter_map(|start| fewer.part_of(start)).collect();
        let mut found = self.devices_by_search(&fewer.problem, budget, &starts)?;
        for found in &mut found {
            found.mapping = fewer.whole_of(&found.mapping);
        }
        Ok(found)
    }
}

/// The devices that `by-load` gives each rank of a mapping; `None` if the devices cannot serve all
/// ranks there.
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
        device_slots: &'a DeviceSlots,
        budget: &'a Budget,
        starts: Vec<Vec<usize>>,
    ) -> Result<Self, MapError> {
        let mut workload = assumed_clocks::with_clocks(problem.workload);
        if problem.is_closed_loop() {
            workload = Cow::Owned(workload.into_owned().in_computing_time());
        }
        let (cluster, slots) = (problem.cluster, device_slots.slots());
        let mut fluid = Fluid::new(cluster, &workload, slots).map_err(invalid)?;
        let first = Mapping::from(&starts[0][..]);
        let mut offered = OfferedLoad::new(cluster, &workload, slots, &first).map_err(invalid)?;
        let trips = problem.is_closed_loop();
        let trips = trips.then(|| RoundTrips::new(cluster, &workload, slots)).transpose();
        let mut trips = trips.map_err(invalid)?;
        let mut rough_trips = trips.clone().filter(|_| offered.single_messages() <= MOST_MESSAGES);
        offered.count_ticks(true);
        let (mut exact, mut ratios) = (Vec::new(), Vec::new());
        for (number, start) in starts.iter().enumerate() {
            if number > 0 && budget.is_over() {
                break;
            }
            offered.restart(&Mapping::from(&start[..]));
            exact.push(exactly(&mut fluid, &offered, &mut trips));
            ratios.push(offered.tick_waiting().0 / offered.waiting().0);
        }
        let mut starts = starts;
        starts.truncate(exact.len());
        let in_ticks = ratios.iter().all(|ratio| *ratio > IN_TICKS);
        offered.count_ticks(in_ticks);
        let mut roughly = |start: &Vec<usize>| {
            offered.restart(&Mapping::from(&start[..]));
            roughly(&offered, &mut rough_trips)
        };
        let rough: Vec<Score> = starts.iter().map(&mut roughly).collect();
        let closed_loop = problem.is_closed_loop();
        let relative_to = |scores: &[Score]| SmoothObjective::new(objective, closed_loop, scores);
        let (objective, rough) = (relative_to(&exact), relative_to(&rough).with_smooth_end());
        let starts = best_first(&Rule::Smooth(objective), exact.into_iter().zip(starts).collect());
        Ok(Self {
            problem,
            budget,
            device_slots,
            objective,
            rough,
            fluid,
            offered,
            trips,
            rough_trips,
            in_ticks,
            starts,
        })
    }

    /// The inputs of a chain.
    fn chain(&self, &ChainPlan { number, steps, seed, share }: &ChainPlan) -> Chain<'_> {
        let patience = if number % 2 == 1 { PATIENCE } else { 1.0 };
        let messages = self.offered.single_messages() as u64;
        // Each takes longer, and there is less to gain.
        let steps = if self.in_ticks { steps / 2 } else { steps };
        Chain {
            problem: self.problem,
            budget: self.budget,
            device_slots: self.device_slots,
            objective: self.objective,
            rough: self.rough.with_patience(patience),
            fluid: self.fluid.clone(),
            offered: self.offered.clone(),
            trips: self.trips.clone(),
            rough_trips: self.rough_trips.clone(),
            steps,
            // Fewer where each takes longer.
            evaluations: steps / (50 + messages / 8),
            heat: HEATS[number % HEATS.len()],
            seed,
            share,
        }
    }
}

impl Rounds for Search<'_> {
    fn starts(&self) -> &[(Score, Vec<usize>)] {
        &self.starts
    }

    fn walk(&self, chain: &ChainPlan, start: &[usize]) -> Vec<usize> {
        self.chain(chain).walk(start)
    }

    fn rule(&self) -> Rule {
        Rule::Smooth(self.objective)
    }

    fn score(&mut self, placement: &[usize]) -> Score {
        self.offered.restart(&placement.into());
        exactly(&mut self.fluid, &self.offered, &mut self.trips)
    }

    fn cost(&mut self, placement: &(Score, Vec<usize>)) -> f64 {
        self.objective.cost(&placement.0)
    }
}

/// Placements in the order of their scores, the best first.
fn best_first(rule: &Rule, placements: Vec<(Score, Vec<usize>)>) -> Vec<(Score, Vec<usize>)> {
    let scores: Vec<Score> = placements.iter().map(|(score, _)| *score).collect();
    let mut placements: Vec<_> = placements.into_iter().map(Some).collect();
    let ranking = rank(&scores, rule);
    ranking.order().iter().filter_map(|at| placements[*at].take()).collect()
}
