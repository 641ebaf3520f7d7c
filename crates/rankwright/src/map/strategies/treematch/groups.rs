//! The groups of a level, and the graph of them for the next level.

use crate::map::search::graph::{Graph, VertexId};

/// The vertices of one level: ranks, or groups of the level below.
pub(super) struct Clusters {
    pub(super) graph: Graph,
    /// The kind of part of the machine that each takes. Index: [`VertexId`].
    pub(super) kind_of: Vec<u32>,
}

/// Equal parts of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    /// The number of their kind among the parts of their level.
    pub(super) kind: u32,
    /// How many of them there are.
    pub(super) count: usize,
    /// How many clusters a part takes. Index: kind of cluster.
    pub(super) capacity: Vec<u64>,
}

/// The groups of one level.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Groups {
    /// Group after group.
    members: Vec<VertexId>,
    /// Where the members of each group end in `members`. Index: group.
    ends: Vec<usize>,
    /// The kind of part that each group takes. Index: group.
    kinds: Vec<u32>,
}

impl Groups {
    pub(super) fn add(&mut self, kind: u32, members: impl IntoIterator<Item = VertexId>) {
        self.members.extend(members);
        self.ends.push(self.members.len());
        self.kinds.push(kind);
    }

    pub(super) fn count(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn kind(&self, group: u32) -> u32 {
        self.kinds[group as usize]
    }

    pub(super) fn members(&self, group: usize) -> &[VertexId] {
        let begin = group.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.members[begin..self.ends[group]]
    }
}

impl Clusters {
    /// The weight of the edges between groups.
    pub(super) fn cut(&self, groups: &Groups) -> u128 {
        let group_of = self.group_of(groups);
        self.graph.cost(|a, b| u64::from(group_of[a] != group_of[b]))
    }

    /// The groups as the vertices of the next level.
    pub(super) fn contracted(&self, groups: &Groups) -> Self {
        let group_of = self.group_of(groups);
        let mut edges = Vec::new();
        for vertex in 0..self.graph.vertex_count() {
            let higher = self.graph.row(vertex).filter(|(neighbour, _)| *neighbour > vertex);
            let ends = higher.map(|(n, weight)| (group_of[vertex], group_of[n], weight));
            edges.extend(ends.filter(|(a, b, _)| a != b));
        }
        Self { graph: Graph::from_edges(groups.count(), edges), kind_of: groups.kinds.clone() }
    }

    fn group_of(&self, groups: &Groups) -> Vec<u32> {
        let mut group_of = vec![0; self.kind_of.len()];
        for group in 0..groups.count() {
            for member in groups.members(group) {
                group_of[*member as usize] = group as u32;
            }
        }
        group_of
    }
}
