//! Local search on the sum of weight times distance.

use super::annealing::{Annealing, Shares};
use super::bin_codes::BinCodes;
use super::descent::descend;
use super::seating::{Loads, Places, Rows, Seating};
use crate::map::search::graph::{Compact, Graph};
use crate::map::search::tree::Tree;

/// A graph and a tree of bins, made ready for local search. It takes memory for each vertex, edge
/// and bin, and none for pairs of them.
#[derive(Debug)]
pub(super) struct LocalSearch {
    rows: Rows,
    places: Places,
    /// Lower bounds of what the edges of each vertex can cost; 0 for the ghost.
    floors: Vec<i64>,
}

/// An assignment found by a search.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    /// The sum over all edges of weight times distance; scaled down where it is huge.
    pub(super) cost: i64,
    /// The bin of each vertex.
    pub(super) bin_of: Vec<u32>,
}

/// When an annealing ends.
pub(super) struct Limit<'a> {
    /// So many trial swaps bring it from hot to cold.
    pub(super) length: u64,
    /// It is cut off after so many.
    pub(super) moves: u64,
    /// It is cut off when this says so.
    pub(super) over: &'a (dyn Fn() -> bool + Sync),
}

impl LocalSearch {
    /// For assignments like some that exist: a bin may come to hold a few vertices more than in any
    /// of them. `None` where nothing can be won, and for trees or graphs that are too large to be
    /// searched (2^32 ends of edges).
    pub(super) fn new(
        tree: &Tree,
        graph: &Graph,
        loads: &[u64],
        capacity: &[u64],
        starts: &[Vec<u32>],
    ) -> Option<Self> {
        let even = loads.iter().all(|load| *load == loads[0] && *load > 0);
        let mut most = vec![0_usize; capacity.len()];
        for start in starts {
            let mut held = vec![0; capacity.len()];
            start.iter().for_each(|bin| held[*bin as usize] += 1);
            most.iter_mut().zip(held).for_each(|(most, held)| *most = held.max(*most));
        }
        let seats = |(capacity, most): (&u64, usize)| {
            let fitting = if even { capacity / loads[0] } else { u64::MAX };
            usize::try_from(fitting).unwrap_or(usize::MAX).min(most + most / 10 + 8)
        };
        let seats: Vec<usize> = capacity.iter().zip(most).map(seats).collect();
        let codes = BinCodes::new(tree, seats.iter().max().copied()?)?;
        let rows = Rows::new(graph, &codes)?;
        let uneven = || Loads { of_vertex: loads.to_vec(), capacity: capacity.to_vec() };
        let places = Places::new(tree, &codes, &seats, (!even).then(uneven));
        let floors = floors(&rows, &places);
        let search = Self { rows, places, floors };
        (search.rows.edge_ends() > 0).then_some(search)
    }

    /// For divisions of vertices of equal load among groups that hold so many of them; what
    /// counts is the weight of the edges between groups.
    pub(super) fn of_division(graph: &Compact, sizes: &[usize]) -> Option<Self> {
        let tree = Tree::flat(sizes.len());
        let codes = BinCodes::new(&tree, sizes.iter().max().copied()?)?;
        let rows = Rows::of_division(graph, &codes)?;
        let places = Places::new(&tree, &codes, sizes, None);
        let floors = floors(&rows, &places);
        let search = Self { rows, places, floors };
        (search.rows.edge_ends() > 0).then_some(search)
    }

    /// Whether no assignment can cost less.
    pub(super) fn is_least(&self, cost: i64) -> bool {
        self.floors.iter().sum::<i64>() == 2 * cost
    }

    /// Goes down from an assignment to one that no swap beside a neighbour makes better.
    pub(super) fn descend(&self, start: &[u32]) -> Answer {
        let mut seating = Seating::new(&self.rows, &self.places, start);
        descend(&mut seating, &self.floors);
        Answer { cost: seating.cost(), bin_of: seating.bin_of() }
    }

    /// An assignment as it is.
    pub(super) fn answer(&self, bin_of: &[u32]) -> Answer {
        let seating = Seating::new(&self.rows, &self.places, bin_of);
        Answer { cost: seating.cost(), bin_of: seating.bin_of() }
    }

    /// Anneals from an assignment; the best that was met, or the start, and how many trial swaps
    /// were made.
    pub(super) fn anneal(
        &self,
        start: &Answer,
        shares: Shares,
        limit: &Limit,
        seed: u64,
    ) -> (Answer, u64) {
        let mut seating = Seating::new(&self.rows, &self.places, &start.bin_of);
        let mut annealing = Annealing::new(&mut seating, &self.floors, seed);
        let mut best: Option<Answer> = None;
        let least = |best: &Option<Answer>| best.as_ref().map_or(start.cost, |best| best.cost);
        let end = limit.length.min(limit.moves);
        let samples = (limit.length / 16).clamp(64, 2048);
        let Some([hot, cold]) = annealing.temperatures(samples as u32, shares) else {
            return (start.clone(), 0); // nothing to win
        };
        let step = (limit.length / STEPS).max(self.rows.vertex_count() as u64 / 4).max(64);
        let mut done = 0;
        while done < end && !(limit.over)() {
            let passed = done as f64 / limit.length as f64;
            let moves = step.min(end - done);
            annealing.run(moves, hot * (cold / hot).powf(passed));
            done += moves;
            let seating = annealing.seating();
            if seating.cost() < least(&best) {
                best = Some(Answer { cost: seating.cost(), bin_of: seating.bin_of() });
            }
        }
        let best = best.map(|best| self.descend(&best.bin_of));
        (best.unwrap_or_else(|| start.clone()), done)
    }
}

/// The temperature falls in so many steps.
const STEPS: u64 = 128;

/// What the edges of each vertex would cost if its heaviest neighbours sat nearest.
fn floors(rows: &Rows, places: &Places) -> Vec<i64> {
    let most = places.most_at_each_distance(rows);
    let mut weights = Vec::new();
    let mut floor = |vertex: u32| {
        weights.clear();
        weights.extend(rows.row(vertex).map(|(_, weight)| weight));
        weights.sort_unstable_by(|a, b| b.cmp(a));
        let mut rest = &weights[..];
        let mut floor = 0;
        for (distance, seats) in &most {
            let (now, later) = rest.split_at(rest.len().min(*seats));
            floor += distance * now.iter().sum::<i64>();
            rest = later;
        }
        floor
    };
    (0..=rows.vertex_count() as u32).map(&mut floor).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::map::strategies::multisection::testing::{bins, problem};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn searches_tell_what_their_answers_cost_and_never_raise_it(
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
            let limit = Limit { length: 2000, moves: 1999, over: &|| false };
            let (annealed, moves) = search.anneal(&down, [0.2, 0.001], &limit, seed);
            prop_assert!(moves == 1999 || moves == 0);
            prop_assert_eq!(annealed.cost as u128, case.cost(&annealed.bin_of));
            prop_assert!(annealed.cost <= down.cost);
            for answer in [&down, &annealed] {
                for (bin, vertices) in bins(&answer.bin_of, capacity.len()).iter().enumerate() {
                    let filled: u64 = vertices.iter().map(|vertex| loads[*vertex]).sum();
                    prop_assert!(filled <= capacity[bin]);
                }
            }
            prop_assert!(!search.is_least(annealed.cost + 1));
        }
    }
}
