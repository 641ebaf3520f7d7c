//! Coarser graphs for multilevel methods: pairs of vertices that talk much become one.

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::compact::Compact;

const NONE: u32 = u32::MAX;

/// Which neighbour a vertex is joined with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::map) enum Rating {
    /// That of the largest edge weight per load.
    Weight,
    /// That of the largest squared edge weight per load (Holtgrewe, Sanders and Schulz 2010): coarse
    /// vertices become more alike, which pays where shares need not be exact.
    SquaredWeight,
}

/// A coarser graph and the coarse vertex of each vertex.
#[derive(Debug)]
pub(in crate::map) struct Coarse {
    pub(in crate::map) graph: Compact,
    pub(in crate::map) vertex_of: Vec<u32>,
}

impl Coarse {
    /// Joins pairs of vertices by heavy-edge matching (Karypis and Kumar 1998): in random order,
    /// vertices of low degree first, each free vertex takes the free neighbour of the best rating. Vertices that find none take another that has the same heaviest neighbour,
    /// so that stars shrink as well. No pair has a load above `largest`, and where `kind_of` is given its
    /// vertices are of one kind.
    pub(in crate::map) fn new(
        graph: &Compact,
        largest: u64,
        kind_of: Option<&[u32]>,
        rating: Rating,
        rng: &mut ChaCha8Rng,
    ) -> Self {
        let mut mates =
            Matching { graph, largest, kind_of, rating, mate: vec![NONE; graph.vertex_count()] };
        let order = visiting_order(graph, rng);
        for vertex in &order {
            mates.join_heaviest(*vertex);
        }
        mates.join_leaves(&order);
        let mate = mates.mate;
        let mut vertex_of = vec![NONE; mate.len()];
        let mut members = Vec::with_capacity(mate.len());
        for (vertex, mate) in (0..).zip(&mate) {
            if *mate == NONE || vertex <= *mate {
                vertex_of[vertex as usize] = members.len() as u32;
                if *mate != NONE {
                    vertex_of[*mate as usize] = members.len() as u32;
                }
                members.push((vertex, *mate));
            }
        }
        Self { graph: contract(graph, &vertex_of, &members), vertex_of }
    }
}

impl Coarse {
    /// What is known of each coarse vertex if it is the same for all vertices in it.
    pub(in crate::map) fn project(&self, known: &[u32]) -> Vec<u32> {
        let mut projected = vec![0; self.graph.vertex_count()];
        for (coarse, known) in self.vertex_of.iter().zip(known) {
            projected[*coarse as usize] = *known;
        }
        projected
    }
}

/// Vertices in random order, those of low degree first.
fn visiting_order(graph: &Compact, rng: &mut ChaCha8Rng) -> Vec<u32> {
    let mut order: Vec<u32> = (0..).take(graph.vertex_count()).collect();
    order.shuffle(rng);
    let mean = graph.edges.len() / graph.vertex_count().max(1);
    let class = |vertex: &u32| graph.row(*vertex as usize).len().min(mean * 7 / 10 + 1);
    let mut counts = vec![0_usize; mean * 7 / 10 + 3];
    for vertex in &order {
        counts[class(vertex) + 1] += 1;
    }
    for index in 1..counts.len() {
        counts[index] += counts[index - 1];
    }
    let mut sorted = vec![0; order.len()];
    for vertex in order {
        let place = &mut counts[class(&vertex)];
        sorted[*place] = vertex;
        *place += 1;
    }
    sorted
}

struct Matching<'a> {
    graph: &'a Compact,
    largest: u64,
    kind_of: Option<&'a [u32]>,
    rating: Rating,
    mate: Vec<u32>,
}

impl Matching<'_> {
    fn may_join(&self, a: u32, b: u32) -> bool {
        let (a, b) = (a as usize, b as usize);
        self.graph.loads[a].saturating_add(self.graph.loads[b]) <= self.largest
            && self.kind_of.is_none_or(|kinds| kinds[a] == kinds[b])
    }

    fn join(&mut self, a: u32, b: u32) {
        self.mate[a as usize] = b;
        self.mate[b as usize] = a;
    }

    fn join_heaviest(&mut self, vertex: u32) {
        if self.mate[vertex as usize] != NONE {
            return;
        }
        let mut best: Option<(u32, u64, u64)> = None;
        for (other, weight) in self.graph.row(vertex as usize) {
            if self.mate[*other as usize] != NONE || !self.may_join(vertex, *other) {
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
            self.join(vertex, other);
        }
    }

    /// Pairs free vertices with the same heaviest neighbour, or without any.
    fn join_leaves(&mut self, order: &[u32]) {
        let free = order.iter().filter(|vertex| self.mate[**vertex as usize] == NONE);
        let free: Vec<u32> = free.copied().collect();
        if free.len() * 10 < order.len() {
            return;
        }
        // The last entry is for vertices without a neighbour.
        let mut waiting = vec![NONE; order.len() + 1];
        for vertex in free {
            let row = self.graph.row(vertex as usize);
            let heaviest = row.iter().max_by_key(|(other, weight)| (*weight, *other));
            let place = heaviest.map_or(order.len(), |(other, _)| *other as usize);
            let first = std::mem::replace(&mut waiting[place], NONE);
            if first != NONE && self.may_join(first, vertex) {
                self.join(first, vertex);
            } else {
                waiting[place] = vertex;
            }
        }
    }
}

/// The graph of the pairs: parallel edges become one.
fn contract(graph: &Compact, vertex_of: &[u32], members: &[(u32, u32)]) -> Compact {
    let mut coarse = Compact {
        offsets: Vec::with_capacity(members.len() + 1),
        edges: Vec::with_capacity(graph.edges.len() / 2),
        loads: Vec::with_capacity(members.len()),
    };
    coarse.offsets.push(0);
    // Behind which edge to each vertex; those of earlier rows are not above the start of a row.
    let mut place_of = vec![0_usize; members.len()];
    for (own, (first, second)) in (0..).zip(members) {
        let start = coarse.edges.len();
        let mut load = 0_u64;
        for member in [*first, *second].into_iter().filter(|member| *member != NONE) {
            load = load.saturating_add(graph.loads[member as usize]);
            for (other, weight) in graph.row(member as usize) {
                let other = vertex_of[*other as usize];
                if other == own {
                    continue;
                }
                let place = &mut place_of[other as usize];
                if *place > start {
                    coarse.edges[*place - 1].1 += weight;
                } else {
                    coarse.edges.push((other, *weight));
                    *place = coarse.edges.len();
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
    use rand::SeedableRng;

    use super::*;
    use crate::map::Graph;

    fn coarse(graph: &Compact, largest: u64, kinds: Option<&[u32]>) -> Coarse {
        Coarse::new(graph, largest, kinds, Rating::Weight, &mut ChaCha8Rng::seed_from_u64(1))
    }

    #[test]
    fn stars_and_vertices_without_edges_shrink() {
        let star = Graph::from_edges(101, (1..101).map(|leaf| (0, leaf, 1)).collect());
        let star = Compact::new(&star, &[1; 101]).unwrap();
        assert!(coarse(&star, 2, None).graph.vertex_count() <= 52);
        let alone = Compact::new(&Graph::from_edges(100, Vec::new()), &[1; 100]).unwrap();
        assert_eq!(coarse(&alone, 2, None).graph.vertex_count(), 50);
        assert_eq!(coarse(&alone, 1, None).graph.vertex_count(), 100);
    }

    proptest! {
        #[test]
        fn loads_and_the_weights_between_are_kept(
            edges in prop::collection::vec((0_u32..40, 0_u32..40, 1_u64..9), 0..120),
        ) {
            let graph = Graph::from_edges(40, edges);
            let fine = Compact::new(&graph, &[2; 40]).unwrap();
            let kinds: Vec<u32> = (0..40).map(|vertex| vertex % 3).collect();
            let coarse = coarse(&fine, 4, Some(&kinds));
            prop_assert_eq!(coarse.graph.total_load(), 80);
            prop_assert!(coarse.graph.largest_load() <= 4);
            let projected = coarse.project(&kinds);
            for (vertex, own) in coarse.vertex_of.iter().enumerate() {
                prop_assert_eq!(projected[*own as usize], kinds[vertex]);
            }
            let of = &coarse.vertex_of;
            let between = graph.cost(|a, b| u64::from(of[a] != of[b]));
            let weights = coarse.graph.edges.iter().map(|(_, weight)| u128::from(*weight));
            prop_assert_eq!(weights.sum::<u128>(), 2 * between);
        }
    }
}
