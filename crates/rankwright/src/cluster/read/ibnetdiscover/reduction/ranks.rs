//! The tree of a fabric that is not one, built rank by rank.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::joined::Joined;
use super::{Graph, Rate, Vertex, listed, new_name};

/// The tree. Its vertices are first the groups of the graph, then the vertices that replace several
/// of them.
pub(super) fn tree(graph: &Graph) -> Vec<Vertex> {
    let ranks = ranks(graph);
    let mut builder = Builder {
        graph,
        vertex_of: (0..ranks.len()).collect(),
        ranks,
        vertices: graph.names.iter().map(|name| Vertex::new(name.clone())).collect(),
    };
    let mut current = builder.at_rank(0);
    let mut rank = 0;
    while !current.is_empty() {
        current = builder.put_above(rank, &current);
        rank += 1;
    }
    builder.vertices
}

/// By group: its distance from the nearest hosts, in links.
fn ranks(graph: &Graph) -> Vec<usize> {
    let neighbours = graph.neighbours();
    let mut ranks: Vec<usize> =
        graph.hosted.iter().map(|hosted| if *hosted { 0 } else { usize::MAX }).collect();
    let mut waiting: VecDeque<usize> = (0..ranks.len()).filter(|v| ranks[*v] == 0).collect();
    while let Some(vertex) = waiting.pop_front() {
        for &next in &neighbours[vertex] {
            if ranks[next] == usize::MAX {
                ranks[next] = ranks[vertex] + 1;
                waiting.push_back(next);
            }
        }
    }
    ranks
}

struct Builder<'a> {
    graph: &'a Graph,
    /// By group.
    ranks: Vec<usize>,
    /// By group: its vertex in the tree.
    vertex_of: Vec<usize>,
    vertices: Vec<Vertex>,
}

/// The links that lead up from the vertices of a rank.
struct Links {
    /// Vertices with a link: two of the rank, or one of the rank and one above.
    pairs: Vec<(usize, usize)>,
    /// By vertex: the rate of all its links up or sideways together.
    up: BTreeMap<usize, Rate>,
    /// The vertices with links to others of their rank.
    sideways: BTreeSet<usize>,
    /// By vertex: the number of links to itself.
    inside: BTreeMap<usize, usize>,
}

impl Builder<'_> {
    /// The groups of a rank.
    fn at_rank(&self, rank: usize) -> Vec<usize> {
        (0..self.ranks.len()).filter(|group| self.ranks[*group] == rank).collect()
    }

    /// Adds the vertices above those of a rank (`current`), and returns them.
    fn put_above(&mut self, rank: usize, current: &[usize]) -> Vec<usize> {
        let links = self.links(rank);
        for (&vertex, count) in &links.inside {
            let loss = format!("links inside {} are lost: {count}", self.vertices[vertex].name);
            self.vertices[vertex].losses.push(loss);
        }
        let all: Vec<usize> = current.iter().copied().chain(self.at_rank(rank + 1)).collect();
        let place: BTreeMap<usize, usize> = all.iter().copied().zip(0..).collect();
        let mut joined = Joined::new(all.len());
        links.pairs.iter().for_each(|(a, b)| joined.join(place[a], place[b]));
        let mut next = Vec::new();
        for set in joined.groups() {
            let set: Vec<usize> = set.iter().map(|index| all[*index]).collect();
            let split = set.partition_point(|vertex| place[vertex] < current.len());
            let (below, members) = set.split_at(split);
            if set.len() < 2 {
                continue;
            }
            let above = self.vertex_for(members);
            let sideways: Vec<&str> = below
                .iter()
                .filter(|vertex| links.sideways.contains(vertex))
                .map(|vertex| self.vertices[*vertex].name.as_str())
                .collect();
            if !sideways.is_empty() {
                let loss = format!(
                    "{} are linked to each other: it is as if these links met in one switch, {}",
                    listed(&sideways),
                    self.vertices[above].name
                );
                self.vertices[above].losses.push(loss);
            }
            for vertex in below {
                self.vertices[*vertex].parent = Some(above);
                self.vertices[*vertex].uplink = links.up.get(vertex).copied().flatten();
            }
            next.push(above);
        }
        next
    }

    fn links(&self, rank: usize) -> Links {
        let mut links = Links {
            pairs: Vec::new(),
            up: BTreeMap::new(),
            sideways: BTreeSet::new(),
            inside: BTreeMap::new(),
        };
        for (&(a, b), &rate) in &self.graph.links {
            let (low, high) = if self.ranks[a] <= self.ranks[b] { (a, b) } else { (b, a) };
            if self.ranks[low] != rank {
                continue;
            }
            let (low_vertex, high_vertex) = (self.vertex_of[low], self.vertex_of[high]);
            if low_vertex == high_vertex {
                *links.inside.entry(low_vertex).or_default() += 1;
                continue;
            }
            links.pairs.push((low_vertex, high_vertex));
            let mut add = |vertex: usize| {
                let sum = links.up.entry(vertex).or_insert(Some(0.0));
                *sum = sum.zip(rate).map(|(sum, rate)| sum + rate);
            };
            add(low_vertex);
            if self.ranks[high] == rank {
                add(high_vertex);
                links.sideways.extend([low_vertex, high_vertex]);
            }
        }
        links
    }

    /// The vertex for these groups of the next rank: that of a single group, or a new one for several
    /// groups or none.
    fn vertex_for(&mut self, members: &[usize]) -> usize {
        if let [only] = members {
            return *only;
        }
        let start = if members.is_empty() { "links" } else { "spines" };
        let name = new_name(start, self.vertices.iter().map(|vertex| &vertex.name));
        let names: Vec<&str> =
            members.iter().map(|member| self.vertices[*member].name.as_str()).collect();
        let mut vertex = Vertex::new(name);
        if !members.is_empty() {
            vertex.losses.push(format!(
                "{} are taken as one switch, {}, with all their links: which way a message takes \
                 is lost",
                listed(&names),
                vertex.name
            ));
        }
        self.vertices.push(vertex);
        let above = self.vertices.len() - 1;
        for member in members {
            self.vertex_of[*member] = above;
            self.vertices[*member].absorbed = true;
        }
        above
    }
}
