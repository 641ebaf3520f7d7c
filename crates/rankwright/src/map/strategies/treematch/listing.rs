//! All possible groups, where they are not too many.

use super::greedy::exchanged;
use super::groups::Groups;
use crate::map::search::graph::Graph;

/// The most groups that are listed.
const MOST_GROUPS: usize = 30_000;

/// From so many groups of the list a choice begins.
const MOST_BEGINNINGS: usize = 50;

/// Vertices in a set of bits; no list within the limit has more of them.
const MOST_VERTICES: usize = 256;

/// Groups of `arity` vertices from a list of all possible ones: those that the least leaves, each
/// without a vertex of the others. The choice begins once with each of the first groups of the
/// list; the best is taken. `None` if there are too many groups.
pub(super) fn group(graph: &Graph, arity: usize) -> Option<Groups> {
    let real = graph.vertex_count();
    // The vertices that fill the last group talk with none.
    let count = real.div_ceil(arity) * arity;
    if count > MOST_VERTICES || choices(count, arity)? > MOST_GROUPS {
        return None;
    }
    let mut list = Listing::new(graph, arity, count).list();
    list.sort_unstable();
    let beginnings = list.iter().take(MOST_BEGINNINGS);
    let choices = beginnings.map(|first| choose(first, &list, count / arity));
    let (_, mut best) = choices.min_by_key(|(leaves, _)| *leaves)?;
    // Groups that are filled up come last: above, the places behind them stay empty.
    best.sort_by_key(|candidate| candidate.vertices.count_from(real));
    let mut groups = Groups::default();
    for candidate in best {
        groups.add(0, candidate.vertices.iter().filter(|v| (*v as usize) < real));
    }
    Some(groups)
}

/// So many candidates without a common vertex: this one, then the first possible ones of the list.
/// With what leaves them.
fn choose<'a>(
    first: &'a Candidate,
    list: &'a [Candidate],
    groups: usize,
) -> (u128, Vec<&'a Candidate>) {
    let (mut leaves, mut taken, mut chosen) = (first.leaves, first.vertices, vec![first]);
    for candidate in list {
        if chosen.len() < groups && taken.is_disjoint(&candidate.vertices) {
            taken.add_all(&candidate.vertices);
            leaves += candidate.leaves;
            chosen.push(candidate);
        }
    }
    (leaves, chosen)
}

/// How many groups there are; `None` if more than a machine word holds.
fn choices(count: usize, arity: usize) -> Option<usize> {
    (0..arity.min(count - arity))
        .try_fold(1_usize, |choices, index| Some(choices.checked_mul(count - index)? / (index + 1)))
}

/// A possible group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    /// What its vertices exchange with others.
    leaves: u128,
    vertices: Set,
}

struct Listing {
    arity: usize,
    count: usize,
    exchanged: Vec<u128>,
    /// What each two vertices exchange.
    between: Vec<u64>,
    list: Vec<Candidate>,
}

impl Listing {
    fn new(graph: &Graph, arity: usize, count: usize) -> Self {
        let mut exchanged = exchanged(graph);
        exchanged.resize(count, 0);
        let mut between = vec![0; count * count];
        for vertex in 0..graph.vertex_count() {
            for (neighbour, weight) in graph.row(vertex) {
                between[vertex * count + neighbour] = weight;
            }
        }
        Self { arity, count, exchanged, between, list: Vec::new() }
    }

    fn list(mut self) -> Vec<Candidate> {
        self.extend(&mut Vec::with_capacity(self.arity), 0);
        self.list
    }

    /// Lists all groups that begin with these vertices, which exchange `leaves` with others.
    fn extend(&mut self, begin: &mut Vec<usize>, leaves: u128) {
        if begin.len() == self.arity {
            let mut vertices = Set::default();
            begin.iter().for_each(|vertex| vertices.add(*vertex));
            self.list.push(Candidate { leaves, vertices });
            return;
        }
        let next = begin.last().map_or(0, |last| last + 1);
        for vertex in next..=self.count - (self.arity - begin.len()) {
            let row = &self.between[vertex * self.count..];
            let inside: u128 = begin.iter().map(|other| u128::from(row[*other])).sum();
            begin.push(vertex);
            // An edge into the group leaves neither its vertex nor the group any more.
            self.extend(begin, leaves + self.exchanged[vertex] - 2 * inside);
            begin.pop();
        }
    }
}

/// Which of the vertices are there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Set([u64; MOST_VERTICES / 64]);

impl Set {
    fn add(&mut self, vertex: usize) {
        self.0[vertex / 64] |= 1 << (vertex % 64);
    }

    fn add_all(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(word, other)| *word |= other);
    }

    fn is_disjoint(&self, other: &Self) -> bool {
        self.0.iter().zip(other.0).all(|(word, other)| word & other == 0)
    }

    fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..MOST_VERTICES as u32).filter(|v| self.0[*v as usize / 64] >> (v % 64) & 1 == 1)
    }

    /// How many vertices from this one on are there.
    fn count_from(&self, first: usize) -> usize {
        self.iter().filter(|vertex| *vertex as usize >= first).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(groups: &Groups) -> Vec<&[u32]> {
        (0..groups.count()).map(|group| groups.members(group)).collect()
    }

    #[test]
    fn the_beginning_that_lets_least_out_is_taken() {
        // A path 0-1-2-3-4-5: to begin with the lightest edges or in the middle would leave a
        // vertex over at both ends.
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
    fn long_lists_are_not_made() {
        assert_eq!((choices(245, 2), choices(6, 6)), (Some(29_890), Some(1)));
        assert_eq!(choices(200, 100), None);
        assert!(group(&Graph::from_edges(246, Vec::new()), 2).is_none());
        assert!(group(&Graph::from_edges(58, Vec::new()), 3).is_none());
    }
}
