//! Descent: swaps that lower the cost, until none is found.

use std::collections::VecDeque;

use super::seating::Seating;

/// Lets vertices change places with those beside their neighbours as long as that lowers the cost,
/// each with the best one.
///
/// A vertex is tried again when it or a neighbour has moved. `floors` are lower bounds of what the
/// edges of each vertex can cost.
pub(super) fn descend(seating: &mut Seating, floors: &[i64]) {
    let count = seating.rows().vertex_count() as u32;
    let mut queue: VecDeque<u32> = (0..count).collect();
    let mut queued = vec![true; count as usize];
    let mut groups = Vec::new();
    while let Some(vertex) = queue.pop_front() {
        queued[vertex as usize] = false;
        if seating.cost_of(vertex) == floors[vertex as usize] {
            continue;
        }
        groups.clear();
        for (neighbour, _) in seating.rows().row(vertex) {
            let height = seating.height(vertex, neighbour);
            if height as u32 > seating.lowest() {
                let at = seating.places().group(seating.lowest() as usize, seating.seat(neighbour));
                groups.push(at);
            }
        }
        groups.sort_unstable();
        groups.dedup();
        let mut best: Option<(i64, u32, (i64, i64))> = None;
        for seat in groups.iter().flat_map(|(first, count)| *first..first + count) {
            let other = seating.vertex_on(seat);
            let most = best.map_or(-1, |(growth, ..)| growth - 1);
            let least = floors[other as usize];
            if let Some(costs) = seating.try_swap(vertex, seat, least, most)
                && seating.has_room(vertex, seat)
            {
                let before = seating.cost_of(vertex) + seating.cost_of(other);
                best = Some((costs.0 + costs.1 - before, seat, costs));
            }
        }
        let Some((_, seat, costs)) = best else { continue };
        let other = seating.vertex_on(seat);
        seating.swap(vertex, seat, costs);
        for moved in [vertex, other] {
            if moved < count {
                let neighbours = seating.rows().row(moved).map(|(neighbour, _)| neighbour);
                for again in neighbours.chain([moved]) {
                    if !std::mem::replace(&mut queued[again as usize], true) {
                        queue.push_back(again);
                    }
                }
            }
        }
    }
}
