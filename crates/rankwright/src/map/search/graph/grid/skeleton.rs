//! The Cartesian skeleton of a graph: without the edges of a strong product that differ in several
//! axes, found by the dispensable edges of Hammack and Imrich ("On Cartesian skeletons of graphs",
//! 2009).

use crate::map::search::graph::{Graph, VertexId};

/// Rows of vertices, each ascending.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// Where each row begins, then the end of the last row. Index: [`VertexId`].
    offsets: Vec<usize>,
    /// Row after row.
    vertices: Vec<VertexId>,
}

impl Rows {
    pub(super) fn row(&self, vertex: VertexId) -> &[VertexId] {
        &self.vertices[self.offsets[vertex as usize]..self.offsets[vertex as usize + 1]]
    }

    pub(super) fn count(&self) -> u32 {
        self.offsets.len() as u32 - 1
    }
}

/// The intersection of two ascending lists.
pub(super) fn intersection<'a>(
    a: &'a [VertexId],
    b: &'a [VertexId],
) -> impl Iterator<Item = VertexId> + 'a {
    let mut b = b.iter().peekable();
    a.iter().copied().filter(move |wanted| {
        while b.next_if(|next| *next < wanted).is_some() {}
        b.peek() == Some(&wanted)
    })
}

/// The closed neighbourhood N[v] of each vertex v: its neighbours and v itself.
pub(super) struct ClosedNeighbourhoods {
    rows: Rows,
    /// |N[v] ∩ N[w]| of each vertex v with each w in N[v]. Index: as in the rows.
    common_counts: Vec<u8>,
}

impl ClosedNeighbourhoods {
    pub(super) fn new(graph: &Graph) -> Self {
        let mut rows = Rows { offsets: vec![0], vertices: Vec::new() };
        for vertex in 0..graph.vertex_count() {
            let first = rows.vertices.len();
            rows.vertices.extend(graph.row(vertex).map(|(other, _)| other as VertexId));
            let position =
                rows.vertices[first..].partition_point(|other| *other < vertex as VertexId);
            rows.vertices.insert(first + position, vertex as VertexId);
            rows.offsets.push(rows.vertices.len());
        }
        let counts = |vertex: VertexId| {
            let row = rows.row(vertex);
            row.iter().map(|other| intersection(row, rows.row(*other)).count() as u8)
        };
        let common_counts = (0..rows.count()).flat_map(counts).collect();
        Self { rows, common_counts }
    }

    /// The vertices of a closed neighbourhood, each with its common count.
    fn row(&self, vertex: VertexId) -> impl Iterator<Item = (VertexId, u8)> + '_ {
        let row = self.rows.offsets[vertex as usize]..self.rows.offsets[vertex as usize + 1];
        let vertices = self.rows.vertices[row.clone()].iter().copied();
        vertices.zip(self.common_counts[row].iter().copied())
    }

    /// The position of a neighbour in all rows.
    fn position(&self, vertex: VertexId, neighbour: VertexId) -> usize {
        let position = self.rows.row(vertex).partition_point(|other| *other < neighbour);
        self.rows.offsets[vertex as usize] + position
    }

    fn size(&self, vertex: VertexId) -> u8 {
        self.rows.row(vertex).len() as u8
    }

    /// Whether the edge ab is dispensable: there is a vertex z such that N[a] ∩ N[b] ⊂ N[a] ∩ N[z] or
    /// N[a] ⊂ N[z] ⊂ N[b], and the same holds with a and b exchanged; all inclusions are strict.
    /// `common` is scratch space.
    fn is_dispensable(&self, a: VertexId, b: VertexId, common: &mut Vec<CommonNeighbour>) -> bool {
        common.clear();
        let mut row_of_b = self.row(b).peekable();
        for (vertex, with_a) in self.row(a) {
            while row_of_b.next_if(|(other, _)| *other < vertex).is_some() {}
            if let Some((_, with_b)) = row_of_b.next_if(|(other, _)| *other == vertex) {
                common.push(CommonNeighbour { vertex, with_a, with_b });
            }
        }
        let count = common.len() as u8;
        let (size_of_a, size_of_b) = (self.size(a), self.size(b));
        let is_third = |third: &CommonNeighbour| {
            let CommonNeighbour { vertex, with_a, with_b } = *third;
            let size = self.size(vertex);
            let within = |inner, with_inner, outer, with_outer| {
                inner < size && size < outer && with_inner == inner && with_outer == size
            };
            let between = [
                within(size_of_a, with_a, size_of_b, with_b),
                within(size_of_b, with_b, size_of_a, with_a),
            ];
            let more = [with_a > count, with_b > count];
            if !(between[0] || more[0]) || !(between[1] || more[1]) {
                return false;
            }
            between == [true; 2] || {
                let mut row = self.rows.row(vertex).iter();
                common.iter().all(|wanted| row.any(|other| *other == wanted.vertex))
            }
        };
        common.iter().filter(|common| common.vertex != a && common.vertex != b).any(is_third)
    }

    /// The edges along the axes.
    pub(super) fn skeleton(&self) -> Rows {
        let mut is_kept = vec![false; self.common_counts.len()];
        let mut common = Vec::new();
        for vertex in 0..self.rows.count() {
            for (other, count) in self.row(vertex).filter(|(other, _)| *other > vertex) {
                if count == 2 || !self.is_dispensable(vertex, other, &mut common) {
                    is_kept[self.position(vertex, other)] = true;
                    is_kept[self.position(other, vertex)] = true;
                }
            }
        }
        let mut skeleton = Rows { offsets: vec![0], vertices: Vec::new() };
        for vertex in 0..self.rows.count() as usize {
            let row = self.rows.offsets[vertex]..self.rows.offsets[vertex + 1];
            let kept = row.filter(|position| is_kept[*position]);
            skeleton.vertices.extend(kept.map(|position| self.rows.vertices[position]));
            skeleton.offsets.push(skeleton.vertices.len());
        }
        skeleton
    }
}

/// A vertex in the closed neighbourhoods of both ends of an edge, with its common counts.
struct CommonNeighbour {
    vertex: VertexId,
    with_a: u8,
    with_b: u8,
}
