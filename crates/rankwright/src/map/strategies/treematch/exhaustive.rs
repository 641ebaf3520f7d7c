//! Groups chosen from a list of all possible ones, where these are few.

use super::greedy::weighted_degrees;
use super::groups::Groups;
use crate::map::search::graph::{Graph, VertexId};

/// Groups in a list, at most.
const MAX_GROUPS: usize = 30_000;

/// Selections that are tried, each beginning with another group of the list.
const MAX_SELECTIONS: usize = 50;

/// Vertices in a bit set; no list within the limit has more of them.
const MAX_VERTICES: usize = 256;

/// Disjoint groups of `arity` vertices from a list of all possible ones, sorted by the weight that
/// leaves them. A selection begins with one of the first groups and takes every group that is
/// disjoint from those before; the best selection counts. `None` if there are too many groups.
pub(super) fn group(graph: &Graph, arity: usize) -> Option<Groups> {
    let real = graph.vertex_count();
    // The vertices that fill the last group have no edges.
    let count = real.div_ceil(arity) * arity;
    if count > MAX_VERTICES || binomial(count, arity)? > MAX_GROUPS {
        return None;
    }
    let mut list = Listing::new(graph, arity, count).list();
    list.sort_unstable();
    let firsts = list.iter().take(MAX_SELECTIONS);
    let selections = firsts.map(|first| select(first, &list, count / arity));
    let (_, mut best) = selections.min_by_key(|(cut, _)| *cut)?;
    // Groups that are filled up come last: on the levels above, the places behind them are empty.
    best.sort_by_key(|candidate| candidate.vertices.count_from(real));
    let mut groups = Groups::default();
    for candidate in best {
        groups.add(0, candidate.vertices.iter().filter(|v| (*v as usize) < real));
    }
    Some(groups)
}

/// Disjoint groups: this one, then the first possible ones of the list; with the weight that leaves
/// them.
fn select<'a>(
    first: &'a CandidateGroup,
    list: &'a [CandidateGroup],
    groups: usize,
) -> (u128, Vec<&'a CandidateGroup>) {
    let (mut cut, mut taken, mut selected) = (first.cut, first.vertices, vec![first]);
    for candidate in list {
        if selected.len() < groups && taken.is_disjoint(&candidate.vertices) {
            taken.add_all(&candidate.vertices);
            cut += candidate.cut;
            selected.push(candidate);
        }
    }
    (cut, selected)
}

/// How many groups there are; `None` if more than a machine word holds.
fn binomial(count: usize, arity: usize) -> Option<usize> {
    (0..arity.min(count - arity))
        .try_fold(1_usize, |groups, index| Some(groups.checked_mul(count - index)? / (index + 1)))
}

/// A possible group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct CandidateGroup {
    /// The weight of the edges that leave it.
    cut: u128,
    vertices: BitSet,
}

/// The list of all possible groups, while it is built.
struct Listing {
    /// Vertices in a group.
    arity: usize,
    /// All vertices.
    count: usize,
    /// The weight of all edges of each vertex. Index: vertex.
    degree: Vec<u128>,
    /// The weight between each two vertices. Index: vertex × count + vertex.
    between: Vec<u64>,
    list: Vec<CandidateGroup>,
}

impl Listing {
    fn new(graph: &Graph, arity: usize, count: usize) -> Self {
        let mut degree = weighted_degrees(graph);
        degree.resize(count, 0);
        let mut between = vec![0; count * count];
        for vertex in 0..graph.vertex_count() {
            for (neighbour, weight) in graph.row(vertex) {
                between[vertex * count + neighbour] = weight;
            }
        }
        Self { arity, count, degree, between, list: Vec::new() }
    }

    fn list(mut self) -> Vec<CandidateGroup> {
        self.extend(&mut Vec::with_capacity(self.arity), 0);
        self.list
    }

    /// Lists all groups that begin with these vertices, which edges of the weight `cut` leave.
    fn extend(&mut self, begin: &mut Vec<usize>, cut: u128) {
        if begin.len() == self.arity {
            let mut vertices = BitSet::default();
            begin.iter().for_each(|vertex| vertices.add(*vertex));
            self.list.push(CandidateGroup { cut, vertices });
            return;
        }
        let next = begin.last().map_or(0, |last| last + 1);
        for vertex in next..=self.count - (self.arity - begin.len()) {
            let row = &self.between[vertex * self.count..];
            let inside: u128 = begin.iter().map(|other| u128::from(row[*other])).sum();
            begin.push(vertex);
            // An edge into the group was in both sums, and is in the cut no more.
            self.extend(begin, cut + self.degree[vertex] - 2 * inside);
            begin.pop();
        }
    }
}

/// A set of vertices.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct BitSet([u64; MAX_VERTICES / 64]);

impl BitSet {
    fn add(&mut self, vertex: usize) {
        self.0[vertex / 64] |= 1 << (vertex % 64);
    }

    fn add_all(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }

    fn is_disjoint(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(word, other)| word & other == 0)
    }

    fn iter(&self) -> impl Iterator<Item = VertexId> + '_ {
        (0..MAX_VERTICES as VertexId).filter(|v| self.0[*v as usize / 64] >> (v % 64) & 1 == 1)
    }

    /// How many vertices from `first` on are in the set.
    fn count_from(&self, first: usize) -> usize {
        self.iter().filter(|vertex| *vertex as usize >= first).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(groups: &Groups) -> Vec<&[VertexId]> {
        (0..groups.count()).map(|group| groups.members(group)).collect()
    }

    #[test]
    fn the_selection_with_the_smallest_cut_is_taken() {
        // A path 0-1-2-3-4-5: beginning with the lightest edges or in the middle would leave single
        // vertices at both ends.
        let path = (0..5).map(|v| (v, v + 1, [7, 1, 9, 1, 7][v as usize])).collect();
        let groups = group(&Graph::from_edges(6, path), 2).unwrap();
        assert_eq!(members(&groups), [[0, 1], [4, 5], [2, 3]]);
    }

    #[test]
    fn the_last_group_is_filled_with_nothing() {
        let triangles = vec![(0, 2, 5), (2, 4, 5), (0, 4, 5), (1, 3, 5), (3, 0, 1)];
        let groups = group(&Graph::from_edges(5, triangles), 3).unwrap();
        assert_eq!(members(&groups), [&[0, 2, 4][..], &[1, 3][..]]);
    }

    #[test]
    fn too_many_groups_are_not_listed() {
        assert_eq!((binomial(245, 2), binomial(6, 6)), (Some(29_890), Some(1)));
        assert_eq!(binomial(200, 100), None);
        assert!(group(&Graph::from_edges(246, Vec::new()), 2).is_none());
        assert!(group(&Graph::from_edges(58, Vec::new()), 3).is_none());
    }
}
