//! METIS graph files: vertices are ranks, an edge weight is the number of bytes in both directions
//! together.

use std::fmt::Write;

use super::{OneJobOnly, only_job};
use crate::files::InputError;
use crate::ids::Rank;
use crate::traffic::{Flow, Job, Workload};

/// Most vertices accepted, one line each; more is a damaged file.
const MOST_VERTICES: u32 = 1 << 27;

/// Most weights per vertex; more is a damaged file.
const MOST_WEIGHTS: usize = 1 << 16;

const EXPECTED: &str = "a METIS graph (first line: vertices, edges, and optionally the format)";

/// Whether the first line is two to four numbers, or a comment.
#[must_use]
pub fn sniff(text: &str) -> bool {
    let first_line = super::first_line(text);
    let cells: Vec<&str> = first_line.split_whitespace().collect();
    let numbers = cells.iter().all(|cell| cell.bytes().all(|byte| byte.is_ascii_digit()));
    (2..=4).contains(&cells.len()) && numbers
        || (first_line.starts_with('%') && !first_line.starts_with("%%"))
}

/// Reads a graph. Each undirected edge becomes one flow, from the lower rank to the higher, with
/// the whole weight. Vertex sizes and weights are ignored.
///
/// # Errors
/// If the first line, a vertex or a weight is wrong, an edge is listed at one end only or with two
/// weights, or the number of edges differs from the first line.
pub fn read(text: &str, file: &str) -> Result<Workload, InputError> {
    let wrong = |line: usize, found: String, expected: &str| {
        InputError::new(file, found, expected).at_line(line)
    };
    let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.starts_with('%'));
    let (number, first) = lines.next().ok_or_else(|| wrong(1, "no line".into(), EXPECTED))?;
    let header = Header::new(first).ok_or_else(|| wrong(number, format!("`{first}`"), EXPECTED))?;
    let (mut up, mut down) = (Vec::new(), Vec::new());
    let mut vertices = 0_u32;
    for (number, line) in lines {
        if vertices == header.vertices {
            if line.trim().is_empty() {
                continue;
            }
            let expected = format!("{} lines of vertices", header.vertices);
            return Err(wrong(number, "an additional vertex".to_owned(), &expected));
        }
        for edge in header.edges_of(line) {
            let (neighbour, weight) = edge.map_err(|cell| {
                let expected =
                    format!("a vertex from 1 to {}{}", header.vertices, header.weight_hint());
                wrong(number, format!("`{cell}`"), &expected)
            })?;
            match neighbour.cmp(&vertices) {
                std::cmp::Ordering::Less => down.push((neighbour, vertices, weight)),
                std::cmp::Ordering::Greater => up.push((vertices, neighbour, weight)),
                std::cmp::Ordering::Equal => {
                    let found = format!("an edge from vertex {} to itself", vertices + 1);
                    return Err(wrong(number, found, "edges between two vertices"));
                }
            }
        }
        vertices += 1;
    }
    if vertices != header.vertices {
        let expected = format!("{}, as in its first line", header.vertices);
        return Err(InputError::new(file, format!("{vertices} lines of vertices"), expected));
    }
    up.sort_unstable();
    down.sort_unstable();
    if let Some((a, b, _)) = first_difference(&up, &down) {
        let found = format!("edge {}-{} at one end only or with two weights", a + 1, b + 1);
        return Err(InputError::new(file, found, "every edge at both ends with the same weight"));
    }
    if up.len() as u64 != header.edges {
        let expected = format!("{}, as in its first line", header.edges);
        return Err(InputError::new(file, format!("{} edges", up.len()), expected));
    }
    let flow = |(source, destination, bytes)| Flow {
        source: Rank(source),
        destination: Rank(destination),
        messages: 1,
        bytes,
        largest: bytes,
    };
    let job = Job::new(super::job_name(file), header.vertices, up.into_iter().map(flow))
        .map_err(|error| InputError::new(file, error, EXPECTED))?;
    Ok(Workload::single(job))
}

/// The weight of each vertex, 1 if the file has no weights; the first of several.
///
/// # Errors
/// If the first line is wrong, a weight is missing, or the weights add up to 2^63 or more.
pub fn vertex_weights(text: &str, file: &str) -> Result<Vec<u64>, InputError> {
    let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.starts_with('%'));
    let header = lines.next().and_then(|(_, first)| Header::new(first));
    let header =
        header.ok_or_else(|| InputError::new(file, "another first line", EXPECTED).at_line(1))?;
    let Some(column) = header.weight_column else {
        return Ok(vec![1; header.vertices as usize]);
    };
    let mut sum = 0_u64;
    let weight = |(number, line): (usize, &str)| {
        let cell = line.split_whitespace().nth(column).unwrap_or("nothing");
        let weight = cell.parse::<u64>().ok();
        let weight = weight.filter(|w| sum.checked_add(*w).is_some_and(|sum| sum < 1 << 63));
        let Some(weight) = weight else {
            let expected = "a vertex weight, with a sum below 2^63";
            return Err(InputError::new(file, format!("`{cell}`"), expected).at_line(number));
        };
        sum += weight;
        Ok(weight)
    };
    lines.take(header.vertices as usize).map(weight).collect()
}

type Edge = (u32, u32, u64);

fn first_difference(up: &[Edge], down: &[Edge]) -> Option<Edge> {
    let differing = up.iter().zip(down).find(|(a, b)| a != b).map(|(a, b)| *a.min(b));
    let longer = if up.len() > down.len() { up } else { down };
    differing.or_else(|| longer.get(up.len().min(down.len())).copied())
}

struct Header {
    vertices: u32,
    edges: u64,
    edge_weights: bool,
    /// Number of cells before the edges of a vertex: its size and weights.
    skipped: usize,
    /// Index of the first weight on a vertex's line.
    weight_column: Option<usize>,
}

impl Header {
    fn new(line: &str) -> Option<Self> {
        let cells: Vec<&str> = line.split_whitespace().collect();
        let vertices = cells.first()?.parse().ok().filter(|v| (1..=MOST_VERTICES).contains(v))?;
        let edges = cells.get(1)?.parse().ok()?;
        let format = cells.get(2).copied().unwrap_or("0");
        if cells.len() > 4 || format.len() > 3 || format.bytes().any(|b| !matches!(b, b'0' | b'1'))
        {
            return None;
        }
        let flag = |place: usize| format.bytes().rev().nth(place) == Some(b'1');
        let weights = match cells.get(3) {
            Some(count) => count.parse().ok().filter(|count| *count <= MOST_WEIGHTS)?,
            None => usize::from(flag(1)),
        };
        let skipped = usize::from(flag(2)) + if flag(1) { weights } else { 0 };
        let weight_column = (flag(1) && weights > 0).then_some(usize::from(flag(2)));
        Some(Self { vertices, edges, edge_weights: flag(0), skipped, weight_column })
    }

    /// What follows a neighbour, for error messages.
    fn weight_hint(&self) -> &'static str {
        if self.edge_weights { " and its edge's weight, from 0 to 2^63 - 1" } else { "" }
    }

    /// Neighbours (from 0) and weights on a vertex's line; the error is the invalid cell.
    fn edges_of<'a>(
        &self,
        line: &'a str,
    ) -> impl Iterator<Item = Result<(u32, u64), &'a str>> + use<'a> {
        let (vertices, weighted) = (self.vertices, self.edge_weights);
        let mut cells = line.split_whitespace().skip(self.skipped);
        std::iter::from_fn(move || {
            let cell = cells.next()?;
            let neighbour = cell.parse().ok().filter(|n| (1..=vertices).contains(n));
            let Some(neighbour) = neighbour else { return Some(Err(cell)) };
            if !weighted {
                return Some(Ok((neighbour - 1, 1)));
            }
            let cell = cells.next().unwrap_or_default();
            let weight = cell.parse().ok().filter(|w| *w <= i64::MAX as u64);
            Some(weight.map(|weight| (neighbour - 1, weight)).ok_or(cell))
        })
    }
}

/// Writes the graph of one job: both directions of a pair added up, self messages dropped.
///
/// # Errors
/// If there is more than one job.
pub fn write(workload: &Workload) -> Result<String, OneJobOnly> {
    let job = only_job(workload)?;
    let mut edges: Vec<(u32, u32, u64)> = Vec::new();
    for flow in job.flows.iter().filter(|flow| flow.source != flow.destination) {
        let (a, b) = (flow.source.0, flow.destination.0);
        edges.extend([(a, b, flow.bytes), (b, a, flow.bytes)]);
    }
    edges.sort_unstable_by_key(|(a, b, _)| (*a, *b));
    edges.dedup_by(|next, kept| {
        let same = (next.0, next.1) == (kept.0, kept.1);
        if same {
            // The largest weight that can be read back.
            kept.2 = kept.2.saturating_add(next.2).min(i64::MAX as u64);
        }
        same
    });
    let mut text = format!("{} {} 1\n", job.ranks, edges.len() / 2);
    let mut rest = edges.as_slice();
    for vertex in 0..job.ranks {
        let degree = rest.iter().take_while(|(a, _, _)| *a == vertex).count();
        for (position, (_, b, weight)) in rest[..degree].iter().enumerate() {
            let space = if position == 0 { "" } else { " " };
            let _ = write!(text, "{space}{} {weight}", b + 1);
        }
        text.push('\n');
        rest = &rest[degree..];
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphs_with_and_without_weights_are_read() {
        let plain = read("% a triangle\n3 3\n2 3\n1 3\n1 2\n", "g.graph").unwrap();
        assert_eq!(plain.jobs[0].flows.len(), 3);
        let weighted = read("3 2 011 2\n9 9 2 50\n9 9 1 50 3 7\n9 9 2 7\n", "g.graph").unwrap();
        let bytes: Vec<u64> = weighted.jobs[0].flows.iter().map(|flow| flow.bytes).collect();
        assert_eq!(bytes, [50, 7]);
    }

    #[test]
    fn weights_of_vertices_are_read_on_their_own() {
        let weights = |text: &str| vertex_weights(text, "g.graph");
        assert_eq!(weights("2 1\n2\n1\n"), Ok(vec![1, 1]));
        assert_eq!(weights("2 1 011\n7 2 5\n9 1 5\n"), Ok(vec![7, 9]));
        assert_eq!(weights("% sizes first\n2 1 110 2\n4 7 8 2\n4 9 8 1\n"), Ok(vec![7, 9]));
        let error = weights("2 1 10\n7 2\nx 1\n").unwrap_err().to_string();
        assert!(error.starts_with("g.graph:3: found `x`, expected a vertex weight"), "{error}");
        assert!(weights("2 1 10\n9223372036854775807 2\n1 1\n").is_err());
    }

    #[test]
    fn errors_name_the_line() {
        let cases = [
            ("", "x:1: found no line"),
            ("3\n", "x:1: found `3`"),
            ("0 0\n", "x:1: found `0 0`"),
            ("2 1\n3\n1\n", "x:2: found `3`"),
            ("2 1 111 18446744073709551615\n", "x:1: found `2 1 111"),
            ("2 1 1\n2 -5\n1 -5\n", "x:2: found `-5`, expected a vertex from 1 to 2 and its"),
            ("2 1 1\n2\n1\n", "x:2: found ``"),
            ("2 1\n1\n\n", "x:2: found an edge from vertex 1 to itself"),
            ("2 1\n2\n\n", "x: found edge 1-2 at one end"),
            ("2 1 1\n2 5\n1 6\n", "x: found edge 1-2 at one end"),
            ("2 2\n2\n1\n", "x: found 1 edges"),
            ("2 1\n2\n", "x: found 1 lines of vertices"),
            ("2 1\n2\n1\n1\n", "x:4: found an additional vertex"),
        ];
        for (text, message) in cases {
            let error = read(text, "x").unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
