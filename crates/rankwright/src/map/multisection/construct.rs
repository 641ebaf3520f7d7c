//! A first assignment by multisection along the tree: the vertices are divided among the groups of
//! the highest level, those of each group among the groups inside it, and so on.

use std::num::NonZeroUsize;
use std::ops::Range;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::super::graph::{Compact, Graph, Trials, bisect};
use super::super::repair::repair;
use super::super::tree::{Codes, Tree};
use super::super::{Effort, MapError};
use super::annealing::Shares;
use super::cycle::{Bins, Search, improve};
use super::local_search::{Limit, LocalSearch};

/// What the bins may hold, and how to search.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) tree: &'a Tree,
    /// What each bin may hold.
    pub(super) capacity: &'a [u64],
    pub(super) effort: Effort,
    /// Whether divisions are annealed from a temperature that leaves little of how they began.
    pub(super) hot: bool,
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
    let compact = Compact::new(graph, loads)
        .map_err(|_| MapError::TooLarge { library: "multisection", what: "the graph" })?;
    let multisection = Multisection::new(request, &compact);
    let mut bin_of = in_pool(request.threads, || multisection.assign(compact))?;
    repair(request.tree, request.capacity, graph, loads, &mut bin_of);
    Ok(bin_of)
}

/// How long to search.
#[derive(Debug, Clone, Copy)]
struct Plan {
    /// For each bisection on the way from all bins to the highest groups, where a division counts
    /// most.
    highest: Trials,
    /// For each bisection between.
    between: Trials,
    /// For each bisection among single bins.
    lowest: Trials,
    /// For each division, where no vertices share bins.
    annealing: Option<Annealing>,
    /// For each division into several groups, where vertices share bins.
    division: Search,
    /// For the whole, where vertices share bins.
    whole: Search,
}

/// How a division is annealed.
#[derive(Debug, Clone, Copy)]
struct Annealing {
    /// How many trial swaps each vertex makes.
    length: u64,
    shares: Shares,
    /// Divisions into fewer groups stay as they are.
    groups: usize,
}

impl Plan {
    fn new(request: Request<'_>, one_each: bool) -> Self {
        let trials =
            |starts, cycles, branch_after| Trials { starts, cycles, branch_after, passes: 4 };
        let [highest, between, lowest] = match (request.effort, one_each) {
            (Effort::Fast, true) => [trials(8, 4, 2), trials(8, 2, 2), trials(8, 1, 0)],
            (_, true) => [trials(8, 8, 2), trials(8, 2, 2), trials(8, 1, 0)],
            (Effort::Fast, false) => [trials(4, 1, 2); 3],
            (Effort::Normal, false) => [trials(4, 2, 2); 3],
            (Effort::Best, false) => [trials(4, 3, 1); 3],
        };
        let annealing = match (request.effort, request.hot) {
            (Effort::Fast, _) => None,
            (_, false) => Some(Annealing { length: 300, shares: [0.02, 0.0005], groups: 2 }),
            (_, true) => Some(Annealing { length: 1000, shares: [0.1, 0.0005], groups: 3 }),
        };
        let search = |cycles, rounds, patience, work| Search { cycles, rounds, patience, work };
        let (division, whole) = match request.effort {
            Effort::Fast => (search(0, 0, 0, 0), search(1, 1, 15, 50)),
            Effort::Normal => (search(1, 1, 10, 20), search(2, 1, 15, 50)),
            Effort::Best => (search(2, 3, 40, 200), search(3, 2, 25, 100)),
        };
        Self { highest, between, lowest, annealing, division, whole }
    }
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
    /// What the bins before each can take whatever the sizes of the vertices.
    room_before: Vec<u128>,
    /// Whether no bin can take two vertices.
    one_each: bool,
}

impl<'a> Multisection<'a> {
    fn new(request: Request<'a>, graph: &Compact) -> Self {
        let largest = graph.largest_load().max(1);
        let mut room_before = vec![0];
        let mut sum = 0;
        for capacity in request.capacity {
            sum += u128::from(capacity.saturating_sub(largest - 1));
            room_before.push(sum);
        }
        let smallest = (0..graph.vertex_count()).map(|vertex| graph.load(vertex)).min();
        let most = request.capacity.iter().max().copied().unwrap_or(0);
        let one_each = smallest.is_some_and(|smallest| most < smallest.saturating_mul(2));
        let plan = Plan::new(request, one_each);
        Self { request, plan, room_before, one_each }
    }

    fn assign(&self, graph: Compact) -> Vec<u32> {
        let tree = self.request.tree;
        let codes = Codes::new(tree).filter(|_| !self.one_each && self.plan.whole.cycles > 0);
        let whole = codes.map(|codes| (codes, graph.clone()));
        let mut order: Vec<u32> = (0..).take(graph.vertex_count()).collect();
        let mut bins = vec![0; order.len()];
        self.divide(graph, &mut order, &mut bins, tree.level_count(), 0..tree.bin_count());
        let mut bin_of = vec![0; order.len()];
        for (vertex, bin) in order.into_iter().zip(bins) {
            bin_of[vertex as usize] = bin;
        }
        let Some((codes, graph)) = whole else { return bin_of };
        let bins = Bins { codes: &codes, capacity: self.request.capacity };
        improve(&graph, bins, bin_of, self.plan.whole, &mut self.generator(&(0..0)))
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
        if singles && self.one_each && order.len() <= groups.len() {
            // All are equally far from each other.
            bins.iter_mut().zip(group).for_each(|(bin, place)| *bin = place as u32);
            return;
        }
        let rooms = self.rooms(graph.total_load(), level, &groups);
        let mut rng = self.generator(&group);
        let mut part_of = vec![0; order.len()];
        let trials = match group.len() {
            whole if whole == self.request.tree.bin_count() => self.plan.highest,
            _ if singles => self.plan.lowest,
            _ => self.plan.between,
        };
        self.share_out(&graph, Share { rooms: &rooms, first: 0, trials }, &mut part_of, &mut rng);
        if self.one_each {
            part_of = self.anneal(&graph, &rooms, part_of, &mut rng);
        }
        if groups.len() > 2
            && !self.one_each
            && let Some(codes) = Codes::new(&Tree::flat(groups.len()))
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
        let middle = middle(rooms);
        let (before, after) = rooms.split_at(middle);
        let sides = self.sides(graph.total_load(), before, after);
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

    /// What the groups can take whatever the sizes of the vertices, with some of the room that is to
    /// spare: each level on the way down to the bins takes an equal part of it.
    fn rooms(&self, load: u64, level: usize, groups: &[Range<usize>]) -> Vec<u64> {
        let room = |group: &Range<usize>| match group.len() {
            1 => u128::from(self.request.capacity[group.start]),
            _ => self.room_before[group.end] - self.room_before[group.start],
        };
        let rooms: Vec<u128> = groups.iter().map(room).collect();
        let whole: u128 = rooms.iter().sum::<u128>().max(1);
        let spare = (whole as f64 / load.max(1) as f64).max(1.0);
        let spare = spare.powf(1.0 / self.levels_below(level, &groups[0]) as f64);
        let limited = |room: u128| {
            let share = (u128::from(load) * room).div_ceil(whole);
            if self.one_each { room } else { room.min(share.max((share as f64 * spare) as u128)) }
        };
        let clamp = |room: u128| u64::try_from(room).unwrap_or(u64::MAX);
        rooms.into_iter().map(|room| clamp(limited(room))).collect()
    }

    /// How many divisions there are on the way from the group above `group` down to the bins.
    fn levels_below(&self, level: usize, group: &Range<usize>) -> usize {
        let (mut level, mut group, mut count) = (level, group.clone(), 1);
        while group.len() > 1 {
            let (below, groups) = self.request.tree.divide(level, group);
            (level, group, count) = (below, groups[0].clone(), count + 1);
        }
        count
    }

    /// What the two sides of a bisection may hold; of the room to spare each bisection takes an
    /// equal part.
    fn sides(&self, load: u64, before: &[u64], after: &[u64]) -> [u64; 2] {
        let sum = |rooms: &[u64]| rooms.iter().map(|room| u128::from(*room)).sum::<u128>();
        let rooms = [sum(before), sum(after)];
        let clamp = |room: u128| u64::try_from(room).unwrap_or(u64::MAX);
        if self.one_each {
            return rooms.map(clamp);
        }
        let depth = usize::BITS - (before.len() + after.len() - 1).leading_zeros();
        let whole = (rooms[0] + rooms[1]).max(1);
        let spare = (whole as f64 / load.max(1) as f64).max(1.0).powf(1.0 / f64::from(depth));
        rooms.map(|room| {
            let share = (u128::from(load) * room).div_ceil(whole);
            clamp(room.min(share.max((share as f64 * spare) as u128)))
        })
    }
}

/// Where to cut a list so that both halves have about the same room.
fn middle(rooms: &[u64]) -> usize {
    let whole: u128 = rooms.iter().map(|room| u128::from(*room)).sum();
    let mut before = 0;
    let mut imbalances = rooms.iter().map(|room| {
        before += u128::from(*room);
        (2 * before).abs_diff(whole)
    });
    let mut best = (u128::MAX, 1);
    for place in 1..rooms.len() {
        best = best.min((imbalances.next().unwrap_or(u128::MAX), place));
    }
    best.1
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

#[cfg(test)]
mod tests;
