//! `treematch` minimises, on each level of the machine from the leaves up, the bytes that leave the
//! groups of ranks: TreeMatch (Jeannot, Mercier, "Near-optimal placement of MPI processes on
//! multicore NUMA architectures", 2010; Jeannot, Mercier, Tessier, "Process placement in multicore
//! clusters: algorithmic issues and practical techniques", 2014, Algorithms 1 and 2).
//!
//! A level with m edges takes O(m log m) for groups that grow; where all possible groups are
//! enumerated there are at most 30 000, sorted once and scanned 50 times.

use super::groups::{self, Clusters, Groups};
use super::machine::{self, Level, Machine};
use super::{exhaustive, greedy};
use crate::map::search::graph::{EdgeWeights, Graph};
use crate::map::{Budget, MapError, Mapper, Problem};
use crate::placement::Mapping;

/// Grouping from the leaves of the machine up.
///
/// Ranks are divided into groups as large as the lowest level of the machine has children; then the
/// groups are the vertices of a smaller graph, which is grouped for the next level, up to the root.
/// Where the counts do not divide, the last group of a level is filled with vertices without edges.
///
/// As in the paper of 2014, a level with many children becomes several with few (the prime factors
/// of their number), all possible groups are enumerated where they are few, and otherwise groups
/// grow from the heaviest edges. The papers leave open levels whose parts differ (nodes of several
/// kinds, taken cores): there a group has as many vertices of every kind as its part, the largest
/// parts are filled first, and groups always grow. With several ranks per slot, the ranks of a slot
/// are one more level. With more slots than ranks it uses the fewest nodes, in the order of the
/// cluster, that hold all ranks.
#[derive(Debug, Clone, Copy)]
pub(in crate::map) struct TreeMatch {
    pub(in crate::map) weights: EdgeWeights,
}

impl Mapper for TreeMatch {
    fn map(&self, problem: &Problem, _: &Budget) -> Result<Mapping, MapError> {
        let (tree, slot_of_bin) = problem.tree_of_fewest_nodes();
        let graph = problem.weighted_graph(self.weights).into_owned();
        let alike = problem.loads().iter().all(|load| *load == 1);
        // Ranks of equal load take one place each; others are first grouped into the loads of bins.
        let places = if alike { places_per_bin(problem) } else { 1 };
        let machine = Machine::new(&tree, places);
        let mut grouping = Grouping::new(graph);
        if !alike {
            grouping.fill(problem, tree.bin_count());
        }
        for level in machine.levels() {
            grouping.group(level);
        }
        let place_of = grouping.unfold(&machine, problem.rank_count());
        let slots = place_of.into_iter().map(|place| slot_of_bin[place / places]).collect();
        Ok(problem.balanced(slots).into())
    }
}

/// How many places a bin has: of the first numbers from its share to its limit, the one with the
/// smallest prime factors, because small groups are grouped best.
fn places_per_bin(problem: &Problem) -> usize {
    let numbers =
        problem.share()..=problem.limit().min(problem.share().saturating_add(MAX_EXTRA_PLACES));
    let largest = |places: &u64| machine::prime_factors(*places as usize).last().copied();
    numbers.min_by_key(largest).unwrap_or(1) as usize
}

/// How many places more than its share a bin may have.
const MAX_EXTRA_PLACES: u64 = 16;

/// The grouping from the ranks up to a level.
struct Grouping {
    /// The groups of the highest level so far, as vertices.
    clusters: Clusters,
    /// Index: level, from the lowest.
    levels: Vec<Groups>,
    /// Whether the lowest level is the filling of bins.
    filled: bool,
}

impl Grouping {
    fn new(graph: Graph) -> Self {
        let kind_of = vec![0; graph.vertex_count()];
        let clusters = Clusters { graph, kind_of };
        Self { clusters, levels: Vec::new(), filled: false }
    }

    /// Groups ranks of different loads for the bins: each group but the last has at least the share of
    /// a bin, and each at most its limit.
    fn fill(&mut self, problem: &Problem, bins: usize) {
        let parts = [groups::Part { kind: 0, count: bins, capacity: vec![problem.share()] }];
        let groups = greedy::grow(&self.clusters, Some(problem.loads()), &parts);
        self.filled = true;
        self.add(groups);
    }

    fn group(&mut self, level: &Level) {
        let grown = greedy::grow(&self.clusters, None, level.parts());
        let listed = level.arity().and_then(|arity| exhaustive::group(&self.clusters.graph, arity));
        let groups = match listed {
            Some(listed) if self.clusters.cut(&listed) < self.clusters.cut(&grown) => listed,
            _ => grown,
        };
        self.add(groups);
    }

    fn add(&mut self, groups: Groups) {
        self.clusters = self.clusters.contracted(&groups);
        self.levels.push(groups);
    }

    /// The place of each rank: from the root down, every group takes a part of the machine.
    fn unfold(&self, machine: &Machine, ranks: usize) -> Vec<usize> {
        // Index: cluster of a level; the root has one.
        let mut place_of = vec![0; self.clusters.kind_of.len()];
        let (filling, levels) = self.levels.split_at(usize::from(self.filled));
        for (index, (groups, level)) in levels.iter().zip(machine.levels()).enumerate().rev() {
            let below = match index.checked_sub(1) {
                Some(below) => levels[below].count(),
                None => filling.first().map_or(ranks, Groups::count),
            };
            let mut places_below = vec![0; below];
            for (group, place) in place_of.iter().enumerate() {
                let mut children = level.children(*place);
                for member in groups.members(group) {
                    let kind = if index == 0 { 0 } else { levels[index - 1].kind(*member) };
                    places_below[*member as usize] = children.take(kind);
                }
            }
            place_of = places_below;
        }
        let Some(bins) = filling.first() else { return place_of };
        let mut place_of_rank = vec![0; ranks];
        for (bin, place) in place_of.iter().enumerate() {
            for rank in bins.members(bin) {
                place_of_rank[*rank as usize] = *place;
            }
        }
        place_of_rank
    }
}
