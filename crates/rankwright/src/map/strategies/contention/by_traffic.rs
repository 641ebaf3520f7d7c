//! The search without message timing: simulated annealing for the least time of the busiest network
//! device and, to a lesser degree, for the least hop-bytes: the numbers by which mappings are then
//! ranked ([`Rule::Static`]). That rule does not compare mappings on different numbers of nodes, so
//! each chain keeps to the nodes of its start, which is on the fewest.

use std::collections::BTreeSet;
use std::ops::Range;

use super::chain::{COLD, RENEWED, SAMPLE, STEPS_PER_READING, accepts, median_rise};
use super::device_slots::DeviceSlots;
use super::layout::Layout;
use super::neighbourhood::Neighbourhood;
use super::{ChainPlan, HEATS, Rounds, best_first};
use crate::estimate::MovingLoad;
use crate::map::{Budget, Problem};
use crate::placement::Mapping;
use crate::random::Generator;
use crate::ranking::{Rule, Score};

/// The weight of the logarithm of the hop-bytes beside that of the smooth busiest time.
const HOP_WEIGHT: f64 = 0.1;
/// What all chains share.
pub(super) struct TrafficSearch<'a> {
    problem: &'a Problem<'a>,
    budget: &'a Budget<'a>,
    device_slots: &'a DeviceSlots,
    load: MovingLoad,
    /// Starting placements on the fewest nodes, the best first; by global rank the device slot.
    starts: Vec<(Score, Vec<usize>)>,
}

/// The state of a chain.
struct Walk<'a> {
    load: MovingLoad,
    layout: Layout<'a>,
    neighbourhood: Neighbourhood,
    random: Generator,
    /// The cost of the present placement.
    cost: f64,
}

impl<'a> TrafficSearch<'a> {
    pub(super) fn new(
        problem: &'a Problem,
        device_slots: &'a DeviceSlots,
        budget: &'a Budget<'a>,
        starts: Vec<Vec<usize>>,
    ) -> Self {
        let (cluster, slots) = (problem.cluster, device_slots.slots());
        let first = Mapping::from(&starts[0][..]);
        let load = MovingLoad::new(cluster, problem.levels(), problem.workload, slots, &first);
        let mut search = Self { problem, budget, device_slots, load, starts: Vec::new() };
        let mut scored = Vec::new();
        for start in starts {
            if scored.is_empty() || !budget.is_over() {
                scored.push((search.score(&start), start));
            }
        }
        search.starts = best_first(&Rule::Static, scored);
        let fewest = search.starts[0].0.nodes;
        search.starts.retain(|(score, _)| score.nodes == fewest);
        search
    }

    /// The nodes of a placement, each as its range of slots.
    fn nodes(&self, device_slot_of: &[usize]) -> Vec<Range<usize>> {
        let slots: BTreeSet<usize> =
            device_slot_of.iter().map(|slot| self.device_slots.slot(*slot)).collect();
        let mut nodes = self.problem.slots_of_nodes();
        nodes.retain(|node| slots.range(node.clone()).next().is_some());
        nodes
    }
}

impl Rounds for TrafficSearch<'_> {
    fn starts(&self) -> &[(Score, Vec<usize>)] {
        &self.starts
    }

    fn walk(&self, chain: &ChainPlan, start: &[usize]) -> Vec<usize> {
        if self.budget.is_over() {
            return start.to_vec();
        }
        let mut load = self.load.clone();
        load.restart(&start.into());
        let walk = Walk {
            cost: cost(&load),
            load,
            layout: Layout::new(self.problem, self.device_slots, start),
            neighbourhood: Neighbourhood::new(self.problem, self.nodes(start)),
            random: Generator::new(chain.seed),
        };
        walk.anneal(HEATS[chain.number % HEATS.len()], chain, self.budget)
    }

    fn rule(&self) -> Rule {
        Rule::Static
    }

    fn score(&mut self, placement: &[usize]) -> Score {
        self.load.restart(&placement.into());
        Score {
            busiest_nic: Some(self.load.busiest()),
            hop_bytes: Some(self.load.hop_bytes() as u128),
            nodes: Some(self.nodes(placement).len()),
            ..Score::default()
        }
    }

    fn cost(&mut self, placement: &(Score, Vec<usize>)) -> f64 {
        self.load.restart(&placement.1[..].into());
        cost(&self.load)
    }
}

impl Walk<'_> {
    /// The best placement on the way.
    fn anneal(mut self, heat: f64, chain: &ChainPlan, budget: &Budget) -> Vec<usize> {
        let mut best = (self.layout.device_slot_of().to_vec(), self.cost);
        let Some(usual) = self.usual_rise() else {
            return best.0;
        };
        let (steps, mut reached) = (chain.steps, 0.0);
        let (mut temperature, mut step) = (heat * usual, 0);
        loop {
            if step % STEPS_PER_READING == 0 {
                let of_work = if steps == 0 { 1.0 } else { step as f64 / steps as f64 };
                let progress = budget.time_passed().unwrap_or(of_work).min(1.0);
                let ended = budget.advance((progress - reached) * chain.share);
                if ended || progress >= 1.0 {
                    break;
                }
                reached = progress;
                temperature = heat * usual * COLD.powf(progress);
                if step % RENEWED == 0 {
                    self.load.restart(&self.layout.device_slot_of().into());
                }
            }
            step += 1;
            let moves = self.neighbourhood.step(&self.layout, &self.load, &mut self.random);
            if moves.is_empty() {
                self.neighbourhood.was_taken(false);
                continue;
            }
            self.load.change(moves);
            let cost = cost(&self.load);
            if !accepts(cost - self.cost, temperature, &mut self.random) {
                self.load.undo();
                self.neighbourhood.was_taken(false);
                continue;
            }
            self.layout.apply(moves);
            self.neighbourhood.was_taken(true);
            self.cost = cost;
            if cost < best.1 - 1e-9 {
                best.1 = cost;
                best.0.copy_from_slice(self.layout.device_slot_of());
            }
        }
        budget.count_moves(step);
        best.0
    }

    /// The median rise of the cost of sampled steps; `None` if no sampled step changes the cost.
    fn usual_rise(&mut self) -> Option<f64> {
        let (mut rises, mut falls) = (Vec::new(), false);
        for _ in 0..SAMPLE {
            let moves = self.neighbourhood.step(&self.layout, &self.load, &mut self.random);
            self.load.change(moves);
            let rise = cost(&self.load) - self.cost;
            self.load.undo();
            falls |= rise < -1e-12;
            if rise > 1e-12 {
                rises.push(rise);
            }
        }
        median_rise(rises, falls)
    }
}

/// The cost of a placement, to be minimised: a weighted sum of logarithms, so that a change by 1 %
/// counts the same at the beginning and at the end of a search.
fn cost(load: &MovingLoad) -> f64 {
    let least = f64::MIN_POSITIVE;
    load.smooth_busiest().0.max(least).ln() + HOP_WEIGHT * load.hop_bytes().max(1.0).ln()
}
