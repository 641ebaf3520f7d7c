//! First assignments of grids: boxes of the grid on every level of the tree.
//!
//! Bisection finds good blocks, but not the tiling that is best on all levels together, and no
//! exchange of single vertices turns one tiling into another. All factorisations of the number of
//! groups over the axes are enumerated, ranked by an estimate, and the best evaluated.

use std::ops::Range;

use crate::map::search::graph::{Graph, Grid, VertexId};
use crate::map::search::tree::{BinId, Tree};

/// Beyond this number of tilings none is enumerated.
const MAX_TILINGS: usize = 1 << 18;
/// The best tilings by the estimate that are evaluated, at most.
const MAX_EVALUATED: usize = 64;
/// The vertices of all evaluated tilings together, at most; one tiling is always evaluated.
const MAX_EVALUATED_VERTICES: usize = 1 << 20;

/// How the groups of a level lie in their tile: the number along each axis.
type Factors = Vec<usize>;

/// How a tree divides on a level, if all groups do so alike.
struct Level {
    /// Groups in each group of the level above.
    groups: usize,
    /// The distance between bins of different groups.
    distance: u64,
}

/// Assignments of a grid to bins by tiles, the one with the least cost first. None if the graph is
/// not a grid, or if groups of a level of the tree divide differently. Bins hold vertices as evenly
/// as possible.
pub(super) fn tilings(tree: &Tree, graph: &Graph, most: usize) -> Vec<Vec<BinId>> {
    let Some(levels) = uniform_levels(tree) else { return Vec::new() };
    let Some(grid) = Grid::recognise(graph) else { return Vec::new() };
    let axes = grid.lengths().len();
    let choices: Vec<Vec<Factors>> =
        levels.iter().map(|level| factorisations(level.groups, axes)).collect();
    let count = choices.iter().try_fold(1_usize, |count, level| count.checked_mul(level.len()));
    let Some(count) = count.filter(|count| *count <= MAX_TILINGS) else { return Vec::new() };
    let faces = face_weights(graph, &grid);
    let mut ranked: Vec<(f64, usize)> = (0..count)
        .map(|number| (estimate(&levels, &tiling(&choices, number), &grid, &faces), number))
        .collect();
    let evaluated =
        (MAX_EVALUATED_VERTICES / graph.vertex_count()).clamp(1, MAX_EVALUATED).min(count);
    ranked.select_nth_unstable_by(evaluated - 1, |a, b| {
        a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal)
    });
    ranked.truncate(evaluated);
    let assigned = ranked.into_iter().map(|(_, number)| {
        let bin_of = assign(&grid, &tiling(&choices, number), tree.bin_count());
        (graph.cost(|a, b| tree.distance(bin_of[a] as usize, bin_of[b] as usize)), bin_of)
    });
    let mut assigned: Vec<(u128, Vec<BinId>)> = assigned.collect();
    assigned.sort_unstable();
    assigned.dedup();
    assigned.into_iter().take(most).map(|(_, bin_of)| bin_of).collect()
}

/// The tiling with a number: its digits, each in the base of a level's choices, select the factors.
fn tiling(choices: &[Vec<Factors>], number: usize) -> Vec<&Factors> {
    let mut rest = number;
    let digit = |factors: &'_ Vec<Factors>| {
        let digit = rest % factors.len();
        rest /= factors.len();
        digit
    };
    let digits: Vec<usize> = choices.iter().map(digit).collect();
    choices.iter().zip(digits).map(|(factors, digit)| &factors[digit]).collect()
}

/// The levels on which the tree divides, from the top.
fn uniform_levels(tree: &Tree) -> Option<Vec<Level>> {
    let (mut levels, mut level) = (Vec::new(), tree.level_count());
    let mut all: Vec<Range<usize>> = std::iter::once(0..tree.bin_count()).collect();
    while all[0].len() > 1 {
        let (below, first) = tree.divide(level, all[0].clone());
        let alike = |bins: &Range<usize>| {
            let (level_below, groups) = tree.divide(level, bins.clone());
            let same = level_below == below && groups.len() == first.len();
            (same && groups.iter().all(|group| group.len() == first[0].len())).then_some(groups)
        };
        let groups: Option<Vec<_>> = all.iter().map(alike).collect();
        all = groups?.concat();
        let distance = tree.distance(first[0].start, first[1].start);
        levels.push(Level { groups: first.len(), distance });
        level = below;
    }
    Some(levels)
}

/// All factorisations of a number into one factor per axis.
fn factorisations(number: usize, axes: usize) -> Vec<Factors> {
    if axes == 1 {
        return vec![vec![number]];
    }
    let factors = (1..=number).filter(|factor| number.is_multiple_of(*factor));
    factors
        .flat_map(|factor| {
            factorisations(number / factor, axes - 1).into_iter().map(move |mut rest| {
                rest.insert(0, factor);
                rest
            })
        })
        .collect()
}

/// The mean weight that crosses the face of a vertex. Index: axis.
fn face_weights(graph: &Graph, grid: &Grid) -> Vec<f64> {
    let mut weights = vec![0.0; grid.lengths().len()];
    for vertex in 0..graph.vertex_count() {
        for (other, weight) in graph.row(vertex) {
            let ends = grid.coordinates(vertex).iter().zip(grid.coordinates(other));
            for (sum, (a, b)) in weights.iter_mut().zip(ends) {
                *sum += if a == b { 0.0 } else { 0.5 * weight as f64 };
            }
        }
    }
    let count = graph.vertex_count() as f64;
    let per_face = |(weight, length): (f64, &usize)| {
        let length = *length as f64;
        weight * length / (count * (length - 1.0).max(1.0))
    };
    weights.into_iter().zip(grid.lengths()).map(per_face).collect()
}

/// What a tiling would cost if all tiles were boxes.
fn estimate(levels: &[Level], tiling: &[&Factors], grid: &Grid, faces: &[f64]) -> f64 {
    let mut tile: Vec<f64> = grid.lengths().iter().map(|length| *length as f64).collect();
    let (mut tiles, mut cost) = (1.0, 0.0);
    for (level, factors) in levels.iter().zip(tiling) {
        let volume: f64 = tile.iter().product();
        for ((side, factor), face) in tile.iter_mut().zip(*factors).zip(faces) {
            let cuts = tiles * (factor - 1) as f64;
            cost += level.distance as f64 * cuts * face * volume / *side;
        }
        for (side, factor) in tile.iter_mut().zip(*factors) {
            *side /= *factor as f64;
        }
        tiles *= level.groups as f64;
    }
    cost
}

/// The bin of each vertex.
fn assign(grid: &Grid, tiling: &[&Factors], bins: usize) -> Vec<BinId> {
    let cuts: Vec<(usize, usize)> = tiling
        .iter()
        .flat_map(|factors| factors.iter().copied().enumerate())
        .filter(|(_, factor)| *factor > 1)
        .collect();
    let count = grid.vertex_count();
    let mut order: Vec<VertexId> = (0..count as VertexId).collect();
    let mut bin_of = vec![0; count];
    cut(grid, &cuts, &mut order, 0..bins, &mut bin_of);
    bin_of
}

/// Cuts a tile along the first of some axes, and the parts along the others. Where a cut falls inside
/// a layer of vertices, the layer is shared row by row.
fn cut(
    grid: &Grid,
    cuts: &[(usize, usize)],
    tile: &mut [VertexId],
    bins: Range<usize>,
    bin_of: &mut [BinId],
) {
    let Some(((axis, parts), rest)) = cuts.split_first() else {
        tile.iter().for_each(|vertex| bin_of[*vertex as usize] = bins.start as BinId);
        return;
    };
    tile.sort_unstable_by_key(|vertex| {
        let coordinates = grid.coordinates(*vertex as usize);
        (coordinates[*axis], coordinates)
    });
    let count = tile.len();
    let (mut tile, mut begin) = (tile, 0);
    for part in 0..*parts {
        let end = count * (part + 1) / parts;
        let (first, later) = tile.split_at_mut(end - begin);
        let bins =
            bins.start + bins.len() * part / parts..bins.start + bins.len() * (part + 1) / parts;
        cut(grid, rest, first, bins, bin_of);
        (tile, begin) = (later, end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::strategies::multisection::testing::uniform_tree;

    fn stencil(lengths: [u32; 2]) -> Graph {
        let number = |x: u32, y: u32| (y * lengths[0] + x) * 7 % (lengths[0] * lengths[1]);
        let mut edges = Vec::new();
        for (x, y) in (0..lengths[1]).flat_map(|y| (0..lengths[0]).map(move |x| (x, y))) {
            edges.extend((x > 0).then(|| (number(x - 1, y), number(x, y), 1)));
            edges.extend((y > 0).then(|| (number(x, y - 1), number(x, y), 1)));
        }
        Graph::from_edges((lengths[0] * lengths[1]) as usize, edges)
    }

    fn cost(tree: &Tree, graph: &Graph, bin_of: &[BinId]) -> u128 {
        graph.cost(|a, b| tree.distance(bin_of[a] as usize, bin_of[b] as usize))
    }

    #[test]
    fn the_best_boxes_on_all_levels_are_found() {
        // 2 nodes of 2 packages of 12 cores: 8 x 6 is cut once (6), then twice in 4 x 6 (4 each), and
        // 12 cores of 4 x 3 share nothing.
        let tree = uniform_tree("12:2:2", "1:10:100");
        let graph = stencil([8, 6]);
        let best = tilings(&tree, &graph, 2);
        let inside = 8 * 5 + 7 * 6 - 6 - 2 * 4;
        assert_eq!(cost(&tree, &graph, &best[0]), 6 * 100 + 2 * 4 * 10 + inside);
        assert!(cost(&tree, &graph, &best[1]) >= cost(&tree, &graph, &best[0]));
    }

    #[test]
    fn bins_hold_vertices_evenly() {
        for (hierarchy, lengths) in
            [("4:2:3", [8, 3]), ("5:2", [5, 2]), ("4:2:3", [4, 5]), ("2:3", [10, 13])]
        {
            let tree =
                uniform_tree(hierarchy, if hierarchy.len() > 3 { "1:10:100" } else { "1:10" });
            let (graph, bins) = (stencil(lengths), tree.bin_count());
            let count = graph.vertex_count();
            for bin_of in tilings(&tree, &graph, 3) {
                for bin in 0..bins as u32 {
                    let vertices = bin_of.iter().filter(|other| **other == bin).count();
                    assert!(
                        (count / bins..=count.div_ceil(bins)).contains(&vertices),
                        "{hierarchy}"
                    );
                }
            }
        }
    }

    #[test]
    fn trees_that_divide_differently_have_no_tilings() {
        let levels = [(1, vec![0, 0, 1, 2, 2, 2]), (10, vec![0; 6])];
        assert!(tilings(&Tree::from_levels(&levels), &stencil([3, 2]), 1).is_empty());
        let ring = Graph::from_edges(6, (0..6).map(|v| (v, (v + 1) % 6, 1)).collect());
        assert!(!tilings(&uniform_tree("2:3", "1:10"), &ring, 1).is_empty());
    }
}
