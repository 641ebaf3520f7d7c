//! Cartesian grids among graphs: where each vertex is in a grid, found from who its neighbours are.
//!
//! Stencils couple a vertex with the next one on each axis, often also with those that differ in
//! several axes. The latter edges are found as Hammack and Imrich ("On Cartesian skeletons of graphs",
//! 2009) find those of a strong product that its Cartesian skeleton has not. In what is left, each
//! square tells which edges belong to the same axis.

use super::csr::Graph;

/// Where the vertices of a grid are in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::map) struct Grid {
    /// How many vertices there are along each axis.
    lengths: Vec<usize>,
    /// Vertex by vertex its place on each axis.
    places: Vec<u32>,
}

/// No vertex of a grid in three dimensions has more neighbours.
const MOST_NEIGHBOURS: usize = 26;
/// Inside, and at the border of one, two, three or four axes.
const MOST_DEGREES: usize = 5;
const MOST_AXES: usize = 4;
/// No vertex.
const NONE: u32 = u32::MAX;

impl Grid {
    /// The grid that a graph is; `None` if it is none, or one with an axis so short that its edges
    /// cannot be told apart. Axes may be closed to rings of five vertices or more.
    pub(in crate::map) fn find(graph: &Graph) -> Option<Self> {
        if !has_degrees_of_a_grid(graph) {
            return None;
        }
        let skeleton = Neighbourhoods::new(graph).skeleton();
        Directions::find(&skeleton)?.walk()
    }

    pub(in crate::map) fn vertex_count(&self) -> usize {
        self.places.len() / self.lengths.len()
    }

    pub(in crate::map) fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    /// Where a vertex is on each axis.
    pub(in crate::map) fn places(&self, vertex: usize) -> &[u32] {
        &self.places[vertex * self.lengths.len()..][..self.lengths.len()]
    }
}

/// Cheap to see, and true of hardly any other graph.
fn has_degrees_of_a_grid(graph: &Graph) -> bool {
    let mut counts = [0_usize; MOST_NEIGHBOURS + 1];
    for vertex in 0..graph.vertex_count() {
        match counts.get_mut(graph.row(vertex).len()) {
            Some(count) => *count += 1,
            None => return false,
        }
    }
    let several = counts.iter().filter(|count| **count > 0).count();
    graph.vertex_count() > 1 && counts[0] == 0 && several <= MOST_DEGREES
}

/// Rows of vertices, ascending.
#[derive(Debug, Default)]
struct Rows {
    offsets: Vec<usize>,
    vertices: Vec<u32>,
}

impl Rows {
    fn row(&self, vertex: u32) -> &[u32] {
        &self.vertices[self.offsets[vertex as usize]..self.offsets[vertex as usize + 1]]
    }

    fn count(&self) -> u32 {
        self.offsets.len() as u32 - 1
    }
}

/// What two ascending lists share.
fn shared<'a>(a: &'a [u32], b: &'a [u32]) -> impl Iterator<Item = u32> + 'a {
    let mut b = b.iter().peekable();
    a.iter().copied().filter(move |wanted| {
        while b.next_if(|next| *next < wanted).is_some() {}
        b.peek() == Some(&wanted)
    })
}

/// Each vertex with its neighbours, and how many vertices it shares with each of them.
struct Neighbourhoods {
    closed: Rows,
    /// Beside the vertices of the rows.
    shared: Vec<u8>,
}

impl Neighbourhoods {
    fn new(graph: &Graph) -> Self {
        let mut closed = Rows { offsets: vec![0], vertices: Vec::new() };
        for vertex in 0..graph.vertex_count() {
            let first = closed.vertices.len();
            closed.vertices.extend(graph.row(vertex).map(|(other, _)| other as u32));
            let place = closed.vertices[first..].partition_point(|other| *other < vertex as u32);
            closed.vertices.insert(first + place, vertex as u32);
            closed.offsets.push(closed.vertices.len());
        }
        let of_vertex = |vertex: u32| {
            let row = closed.row(vertex);
            row.iter().map(|other| shared(row, closed.row(*other)).count() as u8)
        };
        let shared = (0..closed.count()).flat_map(of_vertex).collect();
        Self { closed, shared }
    }

    fn row(&self, vertex: u32) -> impl Iterator<Item = (u32, u8)> + '_ {
        let row = self.closed.offsets[vertex as usize]..self.closed.offsets[vertex as usize + 1];
        self.closed.vertices[row.clone()].iter().copied().zip(self.shared[row].iter().copied())
    }

    /// The position of a neighbour in all rows.
    fn position(&self, vertex: u32, neighbour: u32) -> usize {
        let place = self.closed.row(vertex).partition_point(|other| *other < neighbour);
        self.closed.offsets[vertex as usize] + place
    }

    fn size(&self, vertex: u32) -> u8 {
        self.closed.row(vertex).len() as u8
    }

    /// Whether an edge is only there because its ends differ in several axes: some third vertex has
    /// more in common with each end than the ends have with each other, or lies between them.
    fn is_dispensable(&self, a: u32, b: u32, common: &mut Vec<Common>) -> bool {
        common.clear();
        let mut of_b = self.row(b).peekable();
        for (vertex, with_a) in self.row(a) {
            while of_b.next_if(|(other, _)| *other < vertex).is_some() {}
            if let Some((_, with_b)) = of_b.next_if(|(other, _)| *other == vertex) {
                common.push(Common { vertex, with_a, with_b });
            }
        }
        let count = common.len() as u8;
        let (of_a, of_b) = (self.size(a), self.size(b));
        let third = |third: &Common| {
            let Common { vertex, with_a, with_b } = *third;
            let own = self.size(vertex);
            let within = |inner, with_inner, outer, with_outer| {
                inner < own && own < outer && with_inner == inner && with_outer == own
            };
            let between = [within(of_a, with_a, of_b, with_b), within(of_b, with_b, of_a, with_a)];
            let more = [with_a > count, with_b > count];
            if !(between[0] || more[0]) || !(between[1] || more[1]) {
                return false;
            }
            between == [true; 2] || {
                let mut row = self.closed.row(vertex).iter();
                common.iter().all(|wanted| row.any(|other| *other == wanted.vertex))
            }
        };
        common.iter().filter(|common| common.vertex != a && common.vertex != b).any(third)
    }

    /// The edges along the axes.
    fn skeleton(&self) -> Rows {
        let mut is_kept = vec![false; self.shared.len()];
        let mut common = Vec::new();
        for vertex in 0..self.closed.count() {
            for (other, shared) in self.row(vertex).filter(|(other, _)| *other > vertex) {
                if shared == 2 || !self.is_dispensable(vertex, other, &mut common) {
                    is_kept[self.position(vertex, other)] = true;
                    is_kept[self.position(other, vertex)] = true;
                }
            }
        }
        let mut skeleton = Rows { offsets: vec![0], vertices: Vec::new() };
        for vertex in 0..self.closed.count() as usize {
            let row = self.closed.offsets[vertex]..self.closed.offsets[vertex + 1];
            let kept = row.filter(|position| is_kept[*position]);
            skeleton.vertices.extend(kept.map(|position| self.closed.vertices[position]));
            skeleton.offsets.push(skeleton.vertices.len());
        }
        skeleton
    }
}

/// A vertex next to both ends of an edge, and how many vertices it shares with each.
struct Common {
    vertex: u32,
    with_a: u8,
    with_b: u8,
}

/// Per vertex its neighbours by direction: forwards and backwards on each axis, or [`NONE`].
struct Directions {
    axes: usize,
    next: Vec<u32>,
    /// Where they were first known.
    start: u32,
}

/// The opposite of a direction.
fn back(direction: usize) -> usize {
    direction ^ 1
}

impl Directions {
    fn row(&self, vertex: u32) -> &[u32] {
        &self.next[vertex as usize * 2 * self.axes..][..2 * self.axes]
    }

    fn row_mut(&mut self, vertex: u32) -> &mut [u32] {
        &mut self.next[vertex as usize * 2 * self.axes..][..2 * self.axes]
    }

    fn find(skeleton: &Rows) -> Option<Self> {
        let start = (0..skeleton.count())
            .max_by_key(|vertex| (skeleton.row(*vertex).len(), std::cmp::Reverse(*vertex)))?;
        let mut axes: Vec<[u32; 2]> = Vec::new();
        for neighbour in skeleton.row(start) {
            let opposite = |axis: &&mut [u32; 2]| {
                let both = shared(skeleton.row(axis[0]), skeleton.row(*neighbour));
                axis[1] == NONE && both.eq([start])
            };
            match axes.iter_mut().find(opposite) {
                Some(axis) => axis[1] = *neighbour,
                None => axes.push([*neighbour, NONE]),
            }
        }
        if axes.is_empty() || axes.len() > MOST_AXES {
            return None;
        }
        let next = vec![NONE; skeleton.count() as usize * 2 * axes.len()];
        let mut directions = Self { axes: axes.len(), next, start };
        directions.row_mut(start).copy_from_slice(axes.as_flattened());
        directions.spread(skeleton).then_some(directions)
    }

    /// From the first vertex to all others, along the edges; whether everything fits.
    fn spread(&mut self, skeleton: &Rows) -> bool {
        let mut is_known = vec![false; skeleton.count() as usize];
        is_known[self.start as usize] = true;
        let mut known = vec![self.start];
        let mut done = 0;
        while let Some(vertex) = known.get(done).copied() {
            done += 1;
            for direction in 0..2 * self.axes {
                let neighbour = self.row(vertex)[direction];
                if neighbour == NONE {
                    continue;
                }
                if !is_known[neighbour as usize] {
                    if !self.carry(skeleton, vertex, direction) {
                        return false;
                    }
                    is_known[neighbour as usize] = true;
                    known.push(neighbour);
                }
                if self.row(neighbour)[back(direction)] != vertex {
                    return false;
                }
            }
        }
        done == is_known.len()
    }

    /// Finds the directions of a neighbour from those of a vertex; whether there is just one way.
    fn carry(&mut self, skeleton: &Rows, vertex: u32, direction: usize) -> bool {
        let neighbour = self.row(vertex)[direction];
        let mut row = [NONE; 2 * MOST_AXES];
        row[back(direction)] = vertex;
        for (side, beside) in self.row(vertex).iter().enumerate() {
            if side / 2 == direction / 2 || *beside == NONE {
                continue;
            }
            let mut corners = shared(skeleton.row(neighbour), skeleton.row(*beside));
            let mut corners = corners.by_ref().filter(|corner| *corner != vertex);
            match (corners.next(), corners.next()) {
                (Some(corner), None) => row[side] = corner,
                _ => return false,
            }
        }
        let mut ahead = skeleton.row(neighbour).iter().filter(|other| !row.contains(other));
        let found = (ahead.next(), ahead.next());
        row[direction] = found.0.copied().unwrap_or(NONE);
        let axes = 2 * self.axes;
        self.row_mut(neighbour).copy_from_slice(&row[..axes]);
        found.1.is_none()
    }

    /// The vertices from one on, until there is none or it comes round again.
    fn line(&self, from: u32, direction: usize) -> Vec<u32> {
        let mut line = vec![from];
        let mut at = self.row(from)[direction];
        while at != NONE && at != from && line.len() * 2 * self.axes <= self.next.len() {
            line.push(at);
            at = self.row(at)[direction];
        }
        line
    }

    /// Counts the places along the axes from a corner; `None` if the vertices do not fill a box.
    fn walk(&self) -> Option<Grid> {
        let mut corner = self.start;
        for axis in 0..self.axes {
            let line = self.line(corner, 2 * axis + 1);
            let last = line[line.len() - 1];
            if self.row(last)[2 * axis + 1] == NONE {
                corner = last;
            }
        }
        let count = self.next.len() / (2 * self.axes);
        let (mut vertices, mut lengths) = (vec![corner], Vec::new());
        let mut places = vec![NONE; count * self.axes];
        places[corner as usize * self.axes..][..self.axes].fill(0);
        for axis in 0..self.axes {
            let mut further = Vec::new();
            let length = self.line(corner, 2 * axis).len();
            for vertex in vertices {
                let line = self.line(vertex, 2 * axis);
                if line.len() != length {
                    return None;
                }
                let row = vertex as usize * self.axes;
                for (place, other) in (0..).zip(&line).skip(1) {
                    let other = *other as usize * self.axes;
                    if places[other] != NONE {
                        return None;
                    }
                    places.copy_within(row..row + self.axes, other);
                    places[other + axis] = place;
                }
                further.extend(line);
            }
            vertices = further;
            lengths.push(length);
        }
        (vertices.len() == count).then_some(Grid { lengths, places })
    }
}

#[cfg(test)]
mod tests {
    use rand::seq::SliceRandom;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// A grid with renumbered vertices; with corners also neighbours that differ in several axes.
    fn stencil(lengths: &[u32], corners: bool, closed: bool, seed: u64) -> (Graph, Vec<u32>) {
        let count = lengths.iter().product::<u32>();
        let mut number: Vec<u32> = (0..count).collect();
        number.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
        let mut edges = Vec::new();
        for vertex in 0..count {
            for code in 0..3_u32.pow(lengths.len() as u32) {
                let (mut rest, mut code, mut other, mut unit) = (vertex, code, Some(0), 1);
                let mut moved = 0;
                for length in lengths {
                    let place = (rest % length + code % 3).checked_sub(1);
                    let place = match place {
                        Some(place) if place < *length => Some(place),
                        place if closed => Some(place.map_or(length - 1, |_| 0)),
                        _ => None,
                    };
                    moved += usize::from(code % 3 != 1);
                    other = other.zip(place).map(|(other, place)| other + unit * place);
                    (rest, code, unit) = (rest / length, code / 3, unit * length);
                }
                if let Some(other) = other.filter(|_| moved == 1 || corners) {
                    edges.push((number[vertex as usize], number[other as usize], 1));
                }
            }
        }
        (Graph::from_edges(count as usize, edges), number)
    }

    fn check(lengths: &[u32], corners: bool, closed: bool) {
        let (graph, _) = stencil(lengths, corners, closed, 7);
        let grid = Grid::find(&graph).unwrap_or_else(|| panic!("{lengths:?} {corners} {closed}"));
        let mut found = grid.lengths().to_vec();
        let mut wanted: Vec<usize> = lengths.iter().map(|length| *length as usize).collect();
        found.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(found, wanted);
        for vertex in 0..graph.vertex_count() {
            for (other, _) in graph.row(vertex) {
                let pairs = grid.places(vertex).iter().zip(grid.places(other)).zip(grid.lengths());
                let steps = pairs.map(|((a, b), length)| {
                    let step = a.abs_diff(*b);
                    if closed { step.min(*length as u32 - step) } else { step }
                });
                let steps: Vec<u32> = steps.collect();
                assert!(steps.iter().all(|step| *step <= 1), "{steps:?}");
                assert!(corners || steps.iter().sum::<u32>() == 1, "{steps:?}");
            }
        }
    }

    #[test]
    fn stencils_are_found_whatever_their_numbers() {
        for lengths in [&[9][..], &[5, 4], &[3, 3], &[2, 7], &[6, 5, 4], &[3, 3, 3], &[3, 4, 3, 3]]
        {
            check(lengths, false, false);
        }
        for lengths in [&[5, 4][..], &[3, 3], &[12, 3], &[6, 5, 4], &[3, 3, 3]] {
            check(lengths, true, false);
        }
        for lengths in [&[5][..], &[5, 6], &[5, 6, 7]] {
            check(lengths, false, true);
        }
        check(&[6, 5], true, true);
    }

    #[test]
    fn nothing_else_is_taken_for_a_grid() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        for trial in 0..200 {
            let (graph, _) = stencil(&[5, 4], trial % 2 == 0, false, trial);
            let mut edges: Vec<(u32, u32, u64)> = (0..20)
                .flat_map(|a| graph.row(a).map(move |(b, weight)| (a as u32, b as u32, weight)))
                .filter(|(a, b, _)| a < b)
                .collect();
            let lost = rng.random_range(0..edges.len());
            edges.swap_remove(lost);
            if let Some(grid) = Grid::find(&Graph::from_edges(20, edges)) {
                assert_eq!(grid.lengths().iter().product::<usize>(), 20);
            }
        }
        let complete = (0..9).flat_map(|a| (0..a).map(move |b| (a, b, 1))).collect();
        assert_eq!(Grid::find(&Graph::from_edges(9, complete)), None);
        let two_rings = [0, 5]
            .iter()
            .flat_map(|first| (0..5).map(move |place| (first + place, first + (place + 1) % 5, 1)));
        assert_eq!(Grid::find(&Graph::from_edges(10, two_rings.collect())), None);
        assert_eq!(Grid::find(&Graph::from_edges(1, Vec::new())), None);
        assert_eq!(Grid::find(&Graph::from_edges(4, vec![(0, 1, 1)])), None);
    }
}
