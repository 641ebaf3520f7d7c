//! Multisection: the vertices are divided among the groups of the highest level of the tree, those of
//! each group among the groups inside it, and so on. A division is a recursive bisection.

use std::num::NonZeroUsize;
use std::ops::Range;

use super::capacities::{Capacities, split_position};
use super::plan::DivisionPlan;
use crate::map::search::graph::{BisectionEffort, CompactGraph, Graph, VertexId, bisect};
use crate::map::search::repair::repair;
use crate::map::search::tree::{BinId, Tree};
use crate::map::strategies::multisection::bin_codes::BinCodes;
use crate::map::strategies::multisection::multilevel::{Bins, improve};
use crate::map::strategies::multisection::swaps::{CoolingLimit, LocalSearch};
use crate::map::{Effort, MapError};
use crate::parallel::Forks;
use crate::random::Generator;

/// The capacities of bins, and how to divide.
#[derive(Clone, Copy)]
pub(in super::super) struct Request<'a> {
    pub(in super::super) tree: &'a Tree,
    /// The load that each bin may hold. Index: [`BinId`].
    pub(in super::super) capacity: &'a [u64],
    pub(in super::super) effort: Effort,
    /// Whether divisions are annealed from a temperature that keeps little of the bisection.
    pub(in super::super) hot: bool,
    /// Whether groups are bisected at random positions. Halves of halves are even blocks in a grid,
    /// which no exchange of single vertices turns into anything better.
    pub(in super::super) uneven: bool,
    /// An assignment to improve instead of a division.
    pub(in super::super) start: Option<&'a [BinId]>,
    pub(in super::super) seed: u64,
    pub(in super::super) threads: NonZeroUsize,
    /// Whether the search must end: what is left is then divided with the least effort.
    pub(in super::super) is_over: &'a (dyn Fn() -> bool + Sync),
}

/// The bin of each vertex. No bin holds more than its capacity, if all bins could take all vertices
/// even if each had capacity left for the largest vertex less 1.
///
/// # Errors
/// If the graph has 2^30 edges or more.
pub(in super::super) fn construct(
    request: Request<'_>,
    graph: &Graph,
    loads: &[u64],
) -> Result<Vec<BinId>, MapError> {
    let too_large = |_| MapError::TooLarge { library: "multisection", what: "the graph" };
    let compact = CompactGraph::new(graph, loads).map_err(too_large)?;
    let division = Division::new(request, &compact);
    let mut bin_of = match request.start {
        Some(start) => start.to_vec(),
        None => division.assign(compact),
    };
    if division.improves_whole() {
        // The division consumed its graph: only one exists at a time.
        let compact = CompactGraph::new(graph, loads).map_err(too_large)?;
        bin_of = division.improve_whole(&compact, bin_of);
    }
    repair(request.tree, request.capacity, graph, loads, &mut bin_of);
    Ok(bin_of)
}

/// Smaller graphs are not worth another thread.
const PARALLEL: usize = 500;

/// Smaller graphs are divided well enough without annealing.
const SMALLEST_ANNEALED: usize = 16;

/// The groups of a recursive bisection.
#[derive(Debug, Clone, Copy)]
struct GroupRange<'a> {
    /// The load that each group may hold.
    capacities: &'a [u64],
    /// The number of the first group.
    first: u32,
    effort: BisectionEffort,
}

struct Division<'a> {
    request: Request<'a>,
    whole_plan: DivisionPlan,
    /// With the least effort.
    hurried_plan: DivisionPlan,
    capacities: Capacities<'a>,
    forks: Forks,
}

impl<'a> Division<'a> {
    fn new(request: Request<'a>, graph: &CompactGraph) -> Self {
        let capacities = Capacities::new(request.tree, request.capacity, graph);
        let hurried = Request { effort: Effort::Fast, ..request };
        let [whole_plan, hurried_plan] =
            [request, hurried].map(|request| DivisionPlan::new(request, capacities.one_each));
        let forks = Forks::new(request.threads);
        Self { request, whole_plan, hurried_plan, capacities, forks }
    }

    fn plan(&self) -> &DivisionPlan {
        if (self.request.is_over)() { &self.hurried_plan } else { &self.whole_plan }
    }

    fn assign(&self, graph: CompactGraph) -> Vec<BinId> {
        let tree = self.request.tree;
        let mut order: Vec<VertexId> = (0..).take(graph.vertex_count()).collect();
        let mut bins = vec![0; order.len()];
        self.divide(graph, &mut order, &mut bins, tree.level_count(), 0..tree.bin_count());
        let mut bin_of = vec![0; order.len()];
        for (vertex, bin) in order.into_iter().zip(bins) {
            bin_of[vertex as usize] = bin;
        }
        bin_of
    }

    /// Whether vertices are moved among all bins once these are assigned.
    fn improves_whole(&self) -> bool {
        !self.capacities.one_each && self.plan().whole.cycles > 0
    }

    fn improve_whole(&self, graph: &CompactGraph, bin_of: Vec<BinId>) -> Vec<BinId> {
        let Some(codes) = BinCodes::new(self.request.tree, 1) else { return bin_of };
        let bins = Bins { codes: &codes, capacity: self.request.capacity };
        improve(graph, bins, bin_of, self.plan().whole, &mut self.generator(&(0..0)))
    }

    /// Random numbers for the division of some bins: a stream of their own, so that threads change
    /// nothing.
    fn generator(&self, bins: &Range<usize>) -> Generator {
        let bins = bins.start as u64 ^ (bins.end as u64) << 32;
        // Not the increment of SplitMix64, whose multiples as seeds give overlapping states.
        Generator::new(self.request.seed ^ bins.wrapping_mul(0xD1B5_4A32_D192_ED03))
    }

    /// Divides vertices among the bins of a group of `level`: sorts `order` by bin and writes the bin of
    /// each vertex to `bins`.
    fn divide(
        &self,
        graph: CompactGraph,
        order: &mut [VertexId],
        bins: &mut [BinId],
        level: usize,
        group: Range<usize>,
    ) {
        if group.len() <= 1 || order.is_empty() {
            bins.fill(group.start as BinId);
            return;
        }
        let (level, groups) = self.request.tree.divide(level, group.clone());
        let singles = groups.len() == group.len();
        if singles && self.capacities.one_each && order.len() <= groups.len() {
            // All are equally far from each other.
            bins.iter_mut().zip(group).for_each(|(bin, place)| *bin = place as BinId);
            return;
        }
        let capacities = self.capacities.of_groups(graph.total_load(), level, &groups);
        let mut rng = self.generator(&group);
        let mut part_of = vec![0; order.len()];
        let plan = self.plan();
        let effort = match group.len() {
            whole if whole == self.request.tree.bin_count() => plan.highest,
            _ if singles => plan.lowest,
            _ => plan.between,
        };
        let range = GroupRange { capacities: &capacities, first: 0, effort };
        self.bisect_recursively(&graph, range, &mut part_of, &mut rng);
        if self.capacities.one_each {
            part_of = self.anneal(&graph, &capacities, part_of, &mut rng);
        }
        if groups.len() > 2
            && !self.capacities.one_each
            && let Some(codes) = BinCodes::new(&Tree::flat(groups.len()), 1)
        {
            let bins = Bins { codes: &codes, capacity: &capacities };
            part_of = improve(&graph, bins, part_of, self.plan().division, &mut rng);
        }
        let parts = graph.split(&part_of, groups.len());
        drop(graph);
        sort_by_part(order, &part_of, groups.len());
        self.divide_all(parts, order, bins, level, &groups);
    }

    fn divide_all(
        &self,
        mut graphs: Vec<CompactGraph>,
        order: &mut [VertexId],
        bins: &mut [BinId],
        level: usize,
        groups: &[Range<usize>],
    ) {
        if groups.len() == 1 {
            let graph = graphs.pop().unwrap_or_default();
            self.divide(graph, order, bins, level, groups[0].clone());
            return;
        }
        let middle = groups.len() / 2;
        let later = graphs.split_off(middle);
        let first: usize = graphs.iter().map(CompactGraph::vertex_count).sum();
        let vertices = order.len();
        let (order, later_order) = order.split_at_mut(first);
        let (bins, later_bins) = bins.split_at_mut(first);
        let (groups, later_groups) = groups.split_at(middle);
        self.both(
            vertices,
            || self.divide_all(graphs, order, bins, level, groups),
            || self.divide_all(later, later_order, later_bins, level, later_groups),
        );
    }

    /// Divides both parts of a graph, at the same time if it is worth another thread.
    fn both(&self, vertices: usize, first: impl FnOnce() + Send, second: impl FnOnce() + Send) {
        if vertices > PARALLEL {
            self.forks.join(first, second);
        } else {
            first();
            second();
        }
    }

    /// Anneals a division for the weight between its groups, where all vertices have the same load.
    fn anneal(
        &self,
        graph: &CompactGraph,
        capacities: &[u64],
        part_of: Vec<u32>,
        rng: &mut Generator,
    ) -> Vec<u32> {
        let vertices = graph.vertex_count();
        let Some(plan) = self.plan().annealing.filter(|plan| capacities.len() >= plan.groups)
        else {
            return part_of;
        };
        let load = graph.largest_load();
        let even = load > 0 && (0..vertices).all(|vertex| graph.load(vertex) == load);
        if vertices < SMALLEST_ANNEALED || !even {
            return part_of;
        }
        let size =
            |capacity: &u64| usize::try_from(capacity / load).unwrap_or(vertices).min(vertices);
        let sizes: Vec<usize> = capacities.iter().map(size).collect();
        let Some(search) = LocalSearch::for_division(graph, &sizes) else { return part_of };
        let length = plan.length * vertices as u64;
        let advance = |_| (self.request.is_over)();
        let limit = CoolingLimit { length, moves: length, advance: &advance };
        search.anneal(&search.descend(&part_of), plan.ratios, &limit, rng.bits()).0.bin_of
    }

    /// The group of each vertex, by recursive bisection.
    fn bisect_recursively(
        &self,
        graph: &CompactGraph,
        range: GroupRange<'_>,
        part_of: &mut [u32],
        rng: &mut Generator,
    ) {
        let GroupRange { capacities, first, effort } = range;
        if capacities.len() == 1 || graph.vertex_count() == 0 {
            part_of.fill(first);
            return;
        }
        let percent = if self.request.uneven { 20 + rng.below(31) as u8 } else { 50 };
        let middle = split_position(capacities, percent);
        let (before, after) = capacities.split_at(middle);
        let sides = self.capacities.of_sides(graph.total_load(), before, after);
        let side_of = bisect(graph, sides, effort, rng);
        let side_of: Vec<u32> = side_of.into_iter().map(u32::from).collect();
        if capacities.len() == 2 {
            part_of.iter_mut().zip(side_of).for_each(|(part, side)| *part = first + side);
            return;
        }
        let mut graphs = graph.split(&side_of, 2);
        let (Some(right), Some(left)) = (graphs.pop(), graphs.pop()) else { return };
        let mut parts = [vec![0; left.vertex_count()], vec![0; right.vertex_count()]];
        let [left_parts, right_parts] = &mut parts;
        let mut right_rng = Generator::new(rng.bits());
        let left_range = GroupRange { capacities: before, ..range };
        let right_range = GroupRange { capacities: after, first: first + middle as u32, effort };
        self.both(
            graph.vertex_count(),
            || self.bisect_recursively(&left, left_range, left_parts, rng),
            || self.bisect_recursively(&right, right_range, right_parts, &mut right_rng),
        );
        let [left_parts, right_parts] = parts;
        let mut next = [left_parts.into_iter(), right_parts.into_iter()];
        for (part, side) in part_of.iter_mut().zip(side_of) {
            *part = next[side as usize].next().unwrap_or(first);
        }
    }
}

/// Sorts vertices by their parts (a stable counting sort).
fn sort_by_part(order: &mut [VertexId], part_of: &[u32], parts: usize) {
    let mut next = vec![0_usize; parts + 1];
    for part in part_of {
        next[*part as usize + 1] += 1;
    }
    for part in 0..parts {
        next[part + 1] += next[part];
    }
    let vertices = order.to_vec();
    for (vertex, part) in vertices.into_iter().zip(part_of) {
        let place = &mut next[*part as usize];
        order[*place] = vertex;
        *place += 1;
    }
}
