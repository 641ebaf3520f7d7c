use super::Grid;
use crate::map::search::graph::Graph;
use crate::random::Generator;

/// A grid with renumbered vertices; with corners also neighbours that differ in several axes.
fn stencil(lengths: &[u32], corners: bool, closed: bool, seed: u64) -> (Graph, Vec<u32>) {
    let count = lengths.iter().product::<u32>();
    let mut number: Vec<u32> = (0..count).collect();
    Generator::new(seed).shuffle(&mut number);
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
    let grid = Grid::recognise(&graph).unwrap_or_else(|| panic!("{lengths:?} {corners} {closed}"));
    let mut lengths_found = grid.lengths().to_vec();
    let mut wanted: Vec<usize> = lengths.iter().map(|length| *length as usize).collect();
    lengths_found.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(lengths_found, wanted);
    for vertex in 0..graph.vertex_count() {
        for (other, _) in graph.row(vertex) {
            let pairs =
                grid.coordinates(vertex).iter().zip(grid.coordinates(other)).zip(grid.lengths());
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
fn stencils_are_recognised_whatever_their_numbers() {
    for lengths in [&[9][..], &[5, 4], &[3, 3], &[2, 7], &[6, 5, 4], &[3, 3, 3], &[3, 4, 3, 3]] {
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
fn other_graphs_are_not_taken_for_grids() {
    let mut rng = Generator::new(3);
    for trial in 0..200 {
        let (graph, _) = stencil(&[5, 4], trial % 2 == 0, false, trial);
        let mut edges: Vec<(u32, u32, u64)> = (0..20)
            .flat_map(|a| graph.row(a).map(move |(b, weight)| (a as u32, b as u32, weight)))
            .filter(|(a, b, _)| a < b)
            .collect();
        let lost = rng.below(edges.len());
        edges.swap_remove(lost);
        if let Some(grid) = Grid::recognise(&Graph::from_edges(20, edges)) {
            assert_eq!(grid.lengths().iter().product::<usize>(), 20);
        }
    }
    let complete = (0..9).flat_map(|a| (0..a).map(move |b| (a, b, 1))).collect();
    assert_eq!(Grid::recognise(&Graph::from_edges(9, complete)), None);
    let two_rings = [0, 5]
        .iter()
        .flat_map(|first| (0..5).map(move |place| (first + place, first + (place + 1) % 5, 1)));
    assert_eq!(Grid::recognise(&Graph::from_edges(10, two_rings.collect())), None);
    assert_eq!(Grid::recognise(&Graph::from_edges(1, Vec::new())), None);
    assert_eq!(Grid::recognise(&Graph::from_edges(4, vec![(0, 1, 1)])), None);
}
