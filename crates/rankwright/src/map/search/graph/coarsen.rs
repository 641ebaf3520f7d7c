//! Coarser graphs for multilevel methods, by heavy-edge matching (Karypis and Kumar 1998).

use super::VertexId;
use super::compact::CompactGraph;
use crate::random::Generator;

/// No vertex.
const NONE: VertexId = VertexId::MAX;

/// Which neighbour a vertex is matched with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::map) enum Rating {
    /// The one with the largest edge weight per load.
    Weight,
    /// The one with the largest squared edge weight per load (Holtgrewe, Sanders and Schulz 2010):
    /// loads of coarse vertices differ less, which is better where shares need not be exact.
    SquaredWeight,
}

/// A coarser graph.
#[derive(Debug)]
pub(in crate::map) struct Coarsening {
    pub(in crate::map) graph: CompactGraph,
    /// The coarse vertex of each vertex. Index: [`VertexId`].
    pub(in crate::map) coarse_of: Vec<VertexId>,
}

impl Coarsening {
    /// Matches vertices in random order, those of low degree first: each free vertex takes the free
    /// neighbour of the best rating. Vertices without one are matched with another that has the same
    /// heaviest neighbour, so that stars shrink as well. No pair has a load above `largest`, and where
    /// `kind_of` is given its vertices are of one kind. Takes time in vertices and edges.
    pub(in crate::map) fn new(
        graph: &CompactGraph,
        largest: u64,
        kind_of: Option<&[u32]>,
        rating: Rating,
        rng: &mut Generator,
    ) -> Self {
        let mate = vec![NONE; graph.vertex_count()];
        let mut matching = Matching { graph, largest, kind_of, rating, mate };
        let order = visiting_order(graph, rng);
        for vertex in &order {
            matching.match_heaviest(*vertex);
        }
        matching.match_leaves(&order);
        let mate = matching.mate;
        let mut coarse_of = vec![NONE; mate.len()];
        let mut members = Vec::with_capacity(mate.len());
        for (vertex, mate) in (0..).zip(&mate) {
            if *mate == NONE || vertex <= *mate {
                coarse_of[vertex as usize] = members.len() as VertexId;
                if *mate != NONE {
                    coarse_of[*mate as usize] = members.len() as VertexId;
                }
                members.push((vertex, *mate));
            }
        }
        Self { graph: contract(graph, &coarse_of, &members), coarse_of }
    }

    /// The value of each coarse vertex, from values that are the same for all vertices in it.
    pub(in crate::map) fn project(&self, values: &[u32]) -> Vec<u32> {
        let mut projected = vec![0; self.graph.vertex_count()];
        for (coarse, value) in self.coarse_of.iter().zip(values) {
            projected[*coarse as usize] = *value;
        }
        projected
    }
}

/// Vertices in random order, those of low degree first.
fn visiting_order(graph: &CompactGraph, rng: &mut Generator) -> Vec<VertexId> {
    let mut order: Vec<VertexId> = (0..).take(graph.vertex_count()).collect();
    rng.shuffle(&mut order);
    let mean = graph.edges.len() / graph.vertex_count().max(1);
    let class = |vertex: &VertexId| graph.row(*vertex as usize).len().min(mean * 7 / 10 + 1);
    let mut counts = vec![0_usize; mean * 7 / 10 + 3];
    for vertex in &order {
        counts[class(vertex) + 1] += 1;
    }
    for index in 1..counts.len() {
        counts[index] += counts[index - 1];
    }
    let mut sorted = vec![0; order.len()];
    for vertex in order {
        let position = &mut counts[class(&vertex)];
        sorted[*position] = vertex;
        *position += 1;
    }
    sorted
}

struct Matching<'a> {
    graph: &'a CompactGraph,
    /// The largest load of a pair.
    largest: u64,
    /// Index: [`VertexId`].
    kind_of: Option<&'a [u32]>,
    rating: Rating,
    /// The vertex that each is matched with, or [`NONE`]. Index: [`VertexId`].
    mate: Vec<VertexId>,
}

impl Matching<'_> {
    fn may_match(&self, a: VertexId, b: VertexId) -> bool {
        let (a, b) = (a as usize, b as usize);
        self.graph.loads[a].saturating_add(self.graph.loads[b]) <= self.largest
            && self.kind_of.is_none_or(|kinds| kinds[a] == kinds[b])
    }

    fn pair(&mut self, a: VertexId, b: VertexId) {
        self.mate[a as usize] = b;
        self.mate[b as usize] = a;
    }

    fn match_heaviest(&mut self, vertex: VertexId) {
        if self.mate[vertex as usize] != NONE {
            return;
        }
        let mut best: Option<(VertexId, u64, u64)> = None;
        for (other, weight) in self.graph.row(vertex as usize) {
            if self.mate[*other as usize] != NONE || !self.may_match(vertex, *other) {
                continue;
            }
            let load = self.graph.loads[*other as usize].max(1);
            let weight = match self.rating {
                Rating::Weight => u64::from(*weight),
                Rating::SquaredWeight => u64::from(*weight) * u64::from(*weight),
            };
            let better = best.is_none_or(|(_, heaviest, heaviest_load)| {
                u128::from(weight) * u128::from(heaviest_load)
                    > u128::from(heaviest) * u128::from(load)
            });
            if better {
                best = Some((*other, weight, load));
            }
        }
        if let Some((other, _, _)) = best {
            self.pair(vertex, other);
        }
    }

    /// Matches free vertices that have the same heaviest neighbour, or none.
    fn match_leaves(&mut self, order: &[VertexId]) {
        let free = order.iter().filter(|vertex| self.mate[**vertex as usize] == NONE);
        let free: Vec<VertexId> = free.copied().collect();
        if free.len() * 10 < order.len() {
            return;
        }
        // Index: the heaviest neighbour; the last entry is for vertices without one.
        let mut waiting = vec![NONE; order.len() + 1];
        for vertex in free {
            let row = self.graph.row(vertex as usize);
            let heaviest = row.iter().max_by_key(|(other, weight)| (*weight, *other));
            let entry = heaviest.map_or(order.len(), |(other, _)| *other as usize);
            let first = std::mem::replace(&mut waiting[entry], NONE);
            if first != NONE && self.may_match(first, vertex) {
                self.pair(first, vertex);
            } else {
                waiting[entry] = vertex;
            }
        }
    }
}

/// The graph of the pairs: the weights of parallel edges are added.
fn contract(
    graph: &CompactGraph,
    coarse_of: &[VertexId],
    members: &[(VertexId, VertexId)],
) -> CompactGraph {
    let mut coarse = CompactGraph {
        offsets: Vec::with_capacity(members.len() + 1),
        edges: Vec::with_capacity(graph.edges.len() / 2),
        loads: Vec::with_capacity(members.len()),
    };
    coarse.offsets.push(0);
    // The end of the edge to each vertex; those of earlier rows are not above the start of a row.
    let mut end_of = vec![0_usize; members.len()];
    for (vertex, (first, second)) in (0..).zip(members) {
        let start = coarse.edges.len();
        let mut load = 0_u64;
        for member in [*first, *second].into_iter().filter(|member| *member != NONE) {
            load = load.saturating_add(graph.loads[member as usize]);
            for (other, weight) in graph.row(member as usize) {
                let other = coarse_of[*other as usize];
                if other == vertex {
                    continue;
                }
                let end = &mut end_of[other as usize];
                if *end > start {
                    coarse.edges[*end - 1].1 += weight;
                } else {
                    coarse.edges.push((other, *weight));
                    *end = coarse.edges.len();
                }
            }
            if *first == *second {
                break;
            }
        }
        coarse.offsets.push(coarse.edges.len());
        coarse.loads.push(load);
    }
    coarse
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::map::Graph;

    fn coarsen(graph: &CompactGraph, largest: u64, kinds: Option<&[u32]>) -> Coarsening {
        Coarsening::new(graph, largest, kinds, Rating::Weight, &mut Generator::new(1))
    }

    #[test]
    fn stars_and_vertices_without_edges_shrink() {
        let star = Graph::from_edges(101, (1..101).map(|leaf| (0, leaf, 1)).collect());
        let star = CompactGraph::new(&star, &[1; 101]).unwrap();
        assert!(coarsen(&star, 2, None).graph.vertex_count() <= 52);
        let alone = CompactGraph::new(&Graph::from_edges(100, Vec::new()), &[1; 100]).unwrap();
        assert_eq!(coarsen(&alone, 2, None).graph.vertex_count(), 50);
        assert_eq!(coarsen(&alone, 1, None).graph.vertex_count(), 100);
    }

    proptest! {
        #[test]
        fn loads_and_the_weights_between_are_kept(
            edges in prop::collection::vec((0_u32..40, 0_u32..40, 1_u64..9), 0..120),
        ) {
            let graph = Graph::from_edges(40, edges);
            let fine = CompactGraph::new(&graph, &[2; 40]).unwrap();
            let kinds: Vec<u32> = (0..40).map(|vertex| vertex % 3).collect();
            let coarse = coarsen(&fine, 4, Some(&kinds));
            prop_assert_eq!(coarse.graph.total_load(), 80);
            prop_assert!(coarse.graph.largest_load() <= 4);
            let projected = coarse.project(&kinds);
            let coarse_of = &coarse.coarse_of;
            for (vertex, coarse) in coarse_of.iter().enumerate() {
                prop_assert_eq!(projected[*coarse as usize], kinds[vertex]);
            }
            let between = graph.cost(|a, b| u64::from(coarse_of[a] != coarse_of[b]));
            let weights = coarse.graph.edges.iter().map(|(_, weight)| u128::from(*weight));
            prop_assert_eq!(weights.sum::<u128>(), 2 * between);
        }
    }
}
