//! A search space for swaps: a graph and a tree of bins with their lower bounds.

use super::annealing::{AcceptanceRatios, Annealing};
use super::assignment::Assignment;
use super::descent::descend;
use super::locations::{Loads, Locations};
use super::scaled_graph::ScaledGraph;
use crate::map::search::graph::{CompactGraph, Graph, VertexId};
use crate::map::search::tree::{BinId, Tree};
use crate::map::strategies::multisection::bin_codes::BinCodes;

/// A graph and a tree of bins, prepared for local search. Memory is linear in vertices, edges and
/// bins.
#[derive(Debug)]
pub(in super::super) struct LocalSearch {
    graph: ScaledGraph,
    locations: Locations,
    /// The least cost of the edges of each vertex, 0 for the dummy. Index: [`VertexId`].
    lower_bounds: Vec<i64>,
}

/// An assignment with its cost.
#[derive(Debug, Clone)]
pub(in super::super) struct Solution {
    /// The sum over all edges of weight times distance; scaled down where it is huge.
    pub(in super::super) cost: i64,
    /// Index: [`VertexId`].
    pub(in super::super) bin_of: Vec<BinId>,
}

/// When an annealing ends.
pub(in super::super) struct CoolingLimit<'a> {
    /// Trial swaps from the first temperature to the last.
    pub(in super::super) length: u64,
    /// Trial swaps after which it is cut off.
    pub(in super::super) moves: u64,
    /// Gets the trial swaps since it was last called. Whether they were the last: that cuts it off too.
    pub(in super::super) advance: &'a Advance<'a>,
}

/// Counts trial swaps as made. Whether the search must end.
pub(in super::super) type Advance<'a> = dyn Fn(u64) -> bool + Sync + 'a;

impl LocalSearch {
    /// The search space around some assignments: a bin may come to hold a few vertices more than in
    /// any of them. `None` for a graph without edges, and for trees or graphs that are too large
    /// (2^32 ends of edges).
    pub(in super::super) fn new(
        tree: &Tree,
        graph: &Graph,
        loads: &[u64],
        capacity: &[u64],
        starts: &[Vec<BinId>],
    ) -> Option<Self> {
        let even = loads.iter().all(|load| *load == loads[0] && *load > 0);
        let mut most = vec![0_usize; capacity.len()];
        for start in starts {
            let mut held = vec![0; capacity.len()];
            start.iter().for_each(|bin| held[*bin as usize] += 1);
            most.iter_mut().zip(held).for_each(|(most, held)| *most = held.max(*most));
        }
        let count = |(capacity, most): (&u64, usize)| {
            let fitting = if even { capacity / loads[0] } else { u64::MAX };
            usize::try_from(fitting).unwrap_or(usize::MAX).min(most + most / 10 + 8)
        };
        let counts: Vec<usize> = capacity.iter().zip(most).map(count).collect();
        let codes = BinCodes::new(tree, counts.iter().max().copied()?)?;
        let graph = ScaledGraph::new(graph, &codes)?;
        let uneven = || Loads { of_vertex: loads.to_vec(), capacity: capacity.to_vec() };
        Self::with(graph, Locations::new(tree, &codes, &counts, (!even).then(uneven)))
    }

    /// The search space of divisions of vertices of equal load: `sizes` is how many each group
    /// holds, and the cost is the weight of the edges between groups.
    pub(in super::super) fn for_division(graph: &CompactGraph, sizes: &[usize]) -> Option<Self> {
        let tree = Tree::flat(sizes.len());
        let codes = BinCodes::new(&tree, sizes.iter().max().copied()?)?;
        let graph = ScaledGraph::for_division(graph, &codes)?;
        Self::with(graph, Locations::new(&tree, &codes, sizes, None))
    }

    fn with(graph: ScaledGraph, locations: Locations) -> Option<Self> {
        let lower_bounds = lower_bounds(&graph, &locations);
        (graph.edge_ends() > 0).then_some(Self { graph, locations, lower_bounds })
    }

    /// Whether no assignment can cost less.
    pub(in super::super) fn is_least(&self, cost: i64) -> bool {
        self.lower_bounds.iter().sum::<i64>() == 2 * cost
    }

    /// Descends from an assignment to one that no swap beside a neighbour improves.
    pub(in super::super) fn descend(&self, start: &[BinId]) -> Solution {
        let mut assignment = Assignment::new(&self.graph, &self.locations, start);
        descend(&mut assignment, &self.lower_bounds);
        Solution { cost: assignment.cost(), bin_of: assignment.bins() }
    }

    /// An assignment as it is.
    pub(in super::super) fn evaluate(&self, bin_of: &[BinId]) -> Solution {
        let assignment = Assignment::new(&self.graph, &self.locations, bin_of);
        Solution { cost: assignment.cost(), bin_of: assignment.bins() }
    }

    /// Anneals from an assignment. Returns the best solution on the way, or the start, and how many
    /// trial swaps were made.
    pub(in super::super) fn anneal(
        &self,
        start: &Solution,
        ratios: AcceptanceRatios,
        limit: &CoolingLimit,
        seed: u64,
    ) -> (Solution, u64) {
        let mut assignment = Assignment::new(&self.graph, &self.locations, &start.bin_of);
        let mut annealing = Annealing::new(&mut assignment, &self.lower_bounds, seed);
        let mut best: Option<Solution> = None;
        let least = |best: &Option<Solution>| best.as_ref().map_or(start.cost, |best| best.cost);
        let end = limit.length.min(limit.moves);
        let samples = (limit.length / 16).clamp(64, 2048);
        let Some([hot, cold]) = annealing.temperatures(samples as u32, ratios) else {
            return (start.clone(), 0); // no swap changes the cost
        };
        let step = (limit.length / STEPS).max(self.graph.vertex_count() as u64 / 4).max(64);
        let (mut done, mut counted) = (0, 0);
        while done < end && !(limit.advance)(done - counted) {
            counted = done;
            let passed = done as f64 / limit.length as f64;
            let moves = step.min(end - done);
            annealing.run(moves, hot * (cold / hot).powf(passed));
            done += moves;
            let assignment = annealing.assignment();
            if assignment.cost() < least(&best) {
                best = Some(Solution { cost: assignment.cost(), bin_of: assignment.bins() });
            }
        }
        if counted < done {
            (limit.advance)(done - counted);
        }
        let best = best.map(|best| self.descend(&best.bin_of));
        (best.unwrap_or_else(|| start.clone()), done)
    }
}

/// How many temperatures an annealing has.
const STEPS: u64 = 128;

/// What the edges of each vertex would cost if its heaviest neighbours were at the nearest locations
/// (the bound of Gilmore 1962 and Lawler 1963, for each vertex alone).
fn lower_bounds(graph: &ScaledGraph, locations: &Locations) -> Vec<i64> {
    let most = locations.most_at_each_distance(graph);
    let mut weights = Vec::new();
    let mut bound = |vertex: VertexId| {
        weights.clear();
        weights.extend_from_slice(graph.row(vertex).1);
        weights.sort_unstable_by(|a, b| b.cmp(a));
        let mut rest = &weights[..];
        let mut bound = 0;
        for (distance, count) in &most {
            let (now, later) = rest.split_at(rest.len().min(*count));
            bound += distance * now.iter().sum::<i64>();
            rest = later;
        }
        bound
    };
    (0..=graph.vertex_count() as VertexId).map(&mut bound).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::map::strategies::multisection::testing::{bins, problem};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn solutions_have_the_cost_that_they_state_and_it_never_rises(
            case in problem(),
            unequal in any::<bool>(),
            seed in any::<u64>(),
        ) {
            let loads: Vec<u64> = (0..case.start.len() as u64)
                .map(|vertex| if unequal { 1 + vertex % 3 } else { 1 })
                .collect();
            let capacity = case.capacity(&loads);
            let start = vec![case.start.clone()];
            let search = LocalSearch::new(&case.tree, &case.graph, &loads, &capacity, &start);
            let Some(search) = search else { return Ok(()) };
            let before = case.cost(&case.start);
            let down = search.descend(&case.start);
            prop_assert_eq!(down.cost as u128, case.cost(&down.bin_of));
            prop_assert!(down.cost as u128 <= before);
            let limit = CoolingLimit { length: 2000, moves: 1999, advance: &|_| false };
            let (annealed, moves) = search.anneal(&down, [0.2, 0.001], &limit, seed);
            prop_assert!(moves == 1999 || moves == 0);
            prop_assert_eq!(annealed.cost as u128, case.cost(&annealed.bin_of));
            prop_assert!(annealed.cost <= down.cost);
            for solution in [&down, &annealed] {
                for (bin, vertices) in bins(&solution.bin_of, capacity.len()).iter().enumerate() {
                    let filled: u64 = vertices.iter().map(|vertex| loads[*vertex]).sum();
                    prop_assert!(filled <= capacity[bin]);
                }
            }
            prop_assert!(!search.is_least(annealed.cost + 1));
        }
    }
}
