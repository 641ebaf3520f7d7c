//! A first assignment by multisection along the tree: the vertices are divided among the groups of
//! the highest level, those of each group among the groups inside it, and so on.

mod plan;
mod rooms;
#[cfg(test)]
mod tests;

use std::num::NonZeroUsize;
use std::ops::Range;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::bin_codes::BinCodes;
use super::cycle::{Bins, improve};
use super::local_search::{Limit, LocalSearch};
use crate::map::search::graph::{Compact, Graph, Trials, bisect};
use crate::map::search::repair::repair;
use crate::map::search::tree::Tree;
use crate::map::{Effort, MapError};
use plan::Plan;
use rooms::{Rooms, cut};

/// What the bins may hold, and how to search.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) tree: &'a Tree,
    /// What each bin may hold.
    pub(super) capacity: &'a [u64],
    pub(super) effort: Effort,
    /// Whether divisions are annealed from a temperature that leaves little of how they began.
    pub(super) hot: bool,
    /// Whether groups are bisected at random places. Halves of halves are even blocks in a grid,
    /// which no exchange of single vertices turns into anything better.
    pub(super) uneven: bool,
    /// Bins to begin with instead of a division.
    pub(super) start: Option<&'a [u32]>,
    pub(super) seed: u64,
    pub(super) threads: NonZeroUsize,
}

/// The bin of each vertex. No bin holds more than its capacity, if all bins could take all vertices
/// even if each left room for the largest vertex less 1.
///
/// # Errors
/// If the graph has 2^30 edges or more, or threads cannot be started.
pub(super) fn construct(
    request: Request<'_>,
    graph: &Graph,
    loads: &[u64],
) -> Result<Vec<u32>, MapError> {
    let too_large = |_| MapError::TooLarge { library: "multisection", what: "the graph" };
    let compact = Compact::new(graph, loads).map_err(too_large)?;
    let multisection = Multisection::new(request, &compact);
    let mut bin_of = match request.start {
        Some(start) => start.to_vec(),
        None => in_pool(request.threads, || multisection.assign(compact))?,
    };
    if multisection.improves_whole() {
        // The division took its graph apart; until here there is one at a time.
        let compact = Compact::new(graph, loads).map_err(too_large)?;
        bin_of = multisection.improve_whole(&compact, bin_of);
    }
    repair(request.tree, request.capacity, graph, loads, &mut bin_of);
    Ok(bin_of)
}

/// Runs something on so many threads.
fn in_pool<T: Send>(threads: NonZeroUsize, run: impl FnOnce() -> T + Send) -> Result<T, MapError> {
    if threads.get() == 1 {
        return Ok(run());
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.get()).build();
    let pool =
        pool.map_err(|error| MapError::Library { library: "rayon", what: error.to_string() })?;
    Ok(pool.install(run))
}

/// Smaller graphs are not worth another thread.
const PARALLEL: usize = 500;

/// Smaller graphs are divided well enough without annealing.
const SMALLEST_ANNEALED: usize = 16;

/// What vertices are shared out among.
#[derive(Debug, Clone, Copy)]
struct Share<'a> {
    /// What each group may hold.
    rooms: &'a [u64],
    /// The number of the first group.
    first: u32,
    trials: Trials,
}

#[derive(Debug)]
struct Multisection<'a> {
    request: Request<'a>,
    plan: Plan,
    rooms: Rooms<'a>,
}

impl<'a> Multisection<'a> {
    fn new(request: Request<'a>, graph: &Compact) -> Self {
        let rooms = Rooms::new(request.tree, request.capacity, graph);
        Self { request, plan: Plan::new(request, rooms.one_each), rooms }
    }

    fn assign(&self, graph: Compact) -> Vec<u32> {
        let tree = self.request.tree;
        let mut order: Vec<u32> = (0..).take(graph.vertex_count()).collect();
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
        !self.rooms.one_each && self.plan.whole.cycles > 0
    }

    fn improve_whole(&self, graph: &Compact, bin_of: Vec<u32>) -> Vec<u32> {
        let Some(codes) = BinCodes::new(self.request.tree, 1) else { return bin_of };
        let bins = Bins { codes: &codes, capacity: self.request.capacity };
        improve(graph, bins, bin_of, self.plan.whole, &mut self.generator(&(0..0)))
    }

    /// Random numbers for the division of some bins: the same whatever happens elsewhere.
    fn generator(&self, bins: &Range<usize>) -> ChaCha8Rng {
        let bins = bins.start as u64 ^ (bins.end as u64) << 32;
        ChaCha8Rng::seed_from_u64(self.request.seed ^ bins.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// Divides vertices among the bins of a group of `level`: brings them into the order of their
    /// bins and writes down the bin of each.
    fn divide(
        &self,
        graph: Compact,
        order: &mut [u32],
        bins: &mut [u32],
        level: usize,
        group: Range<usize>,
    ) {
        if group.len() <= 1 || order.is_empty() {
            bins.fill(group.start as u32);
            return;
        }
        let (level, groups) = self.request.tree.divide(level, group.clone());
        let singles = groups.len() == group.len();
        if singles && self.rooms.one_each && order.len() <= groups.len() {
            // All are equally far from each other.
            bins.iter_mut().zip(group).for_each(|(bin, place)| *bin = place as u32);
            return;
        }
        let rooms = self.rooms.of_groups(graph.total_load(), level, &groups);
        let mut rng = self.generator(&group);
        let mut part_of = vec![0; order.len()];
        let trials = match group.len() {
            whole if whole == self.request.tree.bin_count() => self.plan.highest,
            _ if singles => self.plan.lowest,
            _ => self.plan.between,
        };
        self.share_out(&graph, Share { rooms: &rooms, first: 0, trials }, &mut part_of, &mut rng);
        if self.rooms.one_each {
            part_of = self.anneal(&graph, &rooms, part_of, &mut rng);
        }
        if groups.len() > 2
            && !self.rooms.one_each
            && let Some(codes) = BinCodes::new(&Tree::flat(groups.len()), 1)
        {
            let bins = Bins { codes: &codes, capacity: &rooms };
            part_of = improve(&graph, bins, part_of, self.plan.division, &mut rng);
        }
        let parts = graph.split(&part_of, groups.len());
        drop(graph);
        sort_by_part(order, &part_of, groups.len());
        self.divide_all(parts, order, bins, level, &groups);
    }

    fn divide_all(
        &self,
        mut graphs: Vec<Compact>,
        order: &mut [u32],
        bins: &mut [u32],
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
        let first: usize = graphs.iter().map(Compact::vertex_count).sum();
        let parallel = order.len() > PARALLEL && self.request.threads.get() > 1;
        let (order, later_order) = order.split_at_mut(first);
        let (bins, later_bins) = bins.split_at_mut(first);
        let (groups, later_groups) = groups.split_at(middle);
        both(
            parallel,
            || self.divide_all(graphs, order, bins, level, groups),
            || self.divide_all(later, later_order, later_bins, level, later_groups),
        );
    }

    /// A division among a few groups with less weight between them, where all vertices have the
    /// same load.
    fn anneal(
        &self,
        graph: &Compact,
        rooms: &[u64],
        part_of: Vec<u32>,
        rng: &mut ChaCha8Rng,
    ) -> Vec<u32> {
        let vertices = graph.vertex_count();
        let Some(plan) = self.plan.annealing.filter(|plan| rooms.len() >= plan.groups) else {
            return part_of;
        };
        let load = graph.largest_load();
        let even = load > 0 && (0..vertices).all(|vertex| graph.load(vertex) == load);
        if vertices < SMALLEST_ANNEALED || !even {
            return part_of;
        }
        let size = |room: &u64| usize::try_from(room / load).unwrap_or(vertices).min(vertices);
        let sizes: Vec<usize> = rooms.iter().map(size).collect();
        let Some(search) = LocalSearch::of_division(graph, &sizes) else { return part_of };
        let length = plan.length * vertices as u64;
        let limit = Limit { length, moves: length, over: &|| false };
        search.anneal(&search.descend(&part_of), plan.shares, &limit, rng.random()).0.bin_of
    }

    /// Which of some groups each vertex goes to, by
    /// recursive bisection.
    fn share_out(
        &self,
        graph: &Compact,
        share: Share<'_>,
        part_of: &mut [u32],
        rng: &mut ChaCha8Rng,
    ) {
        let Share { rooms, first, trials } = share;
        if rooms.len() == 1 || graph.vertex_count() == 0 {
            part_of.fill(first);
            return;
        }
        let percent = if self.request.uneven { rng.random_range(20..=50) } else { 50 };
        let middle = cut(rooms, percent);
        let (before, after) = rooms.split_at(middle);
        let sides = self.rooms.sides(graph.total_load(), before, after);
        let side_of = bisect(graph, sides, trials, rng);
        let side_of: Vec<u32> = side_of.into_iter().map(u32::from).collect();
        if rooms.len() == 2 {
            part_of.iter_mut().zip(side_of).for_each(|(part, side)| *part = first + side);
            return;
        }
        let mut graphs = graph.split(&side_of, 2);
        let (Some(second), Some(one)) = (graphs.pop(), graphs.pop()) else { return };
        let mut parts = [vec![0; one.vertex_count()], vec![0; second.vertex_count()]];
        let [first_parts, second_parts] = &mut parts;
        let mut second_rng = ChaCha8Rng::from_rng(rng);
        let later = Share { rooms: after, first: first + middle as u32, trials };
        both(
            graph.vertex_count() > PARALLEL && self.request.threads.get() > 1,
            || self.share_out(&one, Share { rooms: before, ..share }, first_parts, rng),
            || self.share_out(&second, later, second_parts, &mut second_rng),
        );
        let [first_parts, second_parts] = parts;
        let mut next = [first_parts.into_iter(), second_parts.into_iter()];
        for (part, side) in part_of.iter_mut().zip(side_of) {
            *part = next[side as usize].next().unwrap_or(first);
        }
    }
}

fn both(parallel: bool, first: impl FnOnce() + Send, second: impl FnOnce() + Send) {
    if parallel {
        rayon::join(first, second);
    } else {
        first();
        second();
    }
}

/// Brings vertices into the order of their parts; those of a part keep their order.
fn sort_by_part(order: &mut [u32], part_of: &[u32], parts: usize) {
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
