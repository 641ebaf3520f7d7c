//! Descent: swaps that lower the cost, until there is none.

use std::collections::VecDeque;

use super::assignment::Assignment;
use super::locations::LocationId;
use crate::map::search::graph::VertexId;

/// Swaps vertices to locations beside their neighbours as long as that lowers the cost; each vertex
/// takes the best swap. A vertex is tried again when it or a neighbour has moved.
///
/// `lower_bounds` is what the edges of each vertex cost at least.
pub(super) fn descend(assignment: &mut Assignment, lower_bounds: &[i64]) {
    let count = assignment.graph().vertex_count() as u32;
    let lowest = assignment.locations().lowest_shared_height();
    let mut queue: VecDeque<VertexId> = (0..count).collect();
    let mut queued = vec![true; count as usize];
    let mut groups = Vec::new();
    while let Some(vertex) = queue.pop_front() {
        queued[vertex as usize] = false;
        if assignment.cost_of(vertex) == lower_bounds[vertex as usize] {
            continue;
        }
        groups.clear();
        for neighbour in assignment.graph().row(vertex).0 {
            if assignment.height(vertex, *neighbour) as u32 > lowest {
                let location = assignment.location(*neighbour);
                groups.push(assignment.locations().group(lowest as usize, location));
            }
        }
        groups.sort_unstable();
        groups.dedup();
        let mut best: Option<(i64, LocationId, (i64, i64))> = None;
        for location in groups.iter().flat_map(|(first, count)| *first..first + count) {
            let other = assignment.vertex_at(location);
            let max_rise = best.map_or(-1, |(growth, ..)| growth - 1);
            let least = lower_bounds[other as usize];
            if let Some(costs) = assignment.try_swap(vertex, location, least, max_rise)
                && assignment.fits(vertex, location)
            {
                let before = assignment.cost_of(vertex) + assignment.cost_of(other);
                best = Some((costs.0 + costs.1 - before, location, costs));
            }
        }
        let Some((_, location, costs)) = best else { continue };
        let other = assignment.vertex_at(location);
        assignment.swap(vertex, location, costs);
        for moved in [vertex, other] {
            if moved < count {
                let neighbours = assignment.graph().row(moved).0.iter().copied();
                for again in neighbours.chain([moved]) {
                    if !std::mem::replace(&mut queued[again as usize], true) {
                        queue.push_back(again);
                    }
                }
            }
        }
    }
}
