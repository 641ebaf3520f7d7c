//! Simulated annealing: swaps that cost something are accepted less and less often.

use super::generator::{Generator, below};
use super::seating::Seating;

/// The shares of trial swaps that the first and the last temperature accept although they cost
/// something.
pub(super) type Shares = [f64; 2];

/// A search by annealing.
#[derive(Debug)]
pub(super) struct Annealing<'s, 'a> {
    seating: &'s mut Seating<'a>,
    floors: &'s [i64],
    generator: Generator,
    /// -ln of evenly spread numbers from 0 to 1.
    logarithms: Vec<f32>,
}

const LOGARITHMS: usize = 4096;

impl<'s, 'a> Annealing<'s, 'a> {
    pub(super) fn new(seating: &'s mut Seating<'a>, floors: &'s [i64], seed: u64) -> Self {
        let logarithm = |i: usize| -((i as f32 + 0.5) / LOGARITHMS as f32).ln();
        Self {
            seating,
            floors,
            generator: Generator::new(seed),
            logarithms: (0..LOGARITHMS).map(logarithm).collect(),
        }
    }

    pub(super) fn seating(&self) -> &Seating<'a> {
        self.seating
    }

    /// The temperatures at which such shares of trial swaps are accepted although they cost
    /// something; `None` if none costs anything.
    pub(super) fn temperatures(&mut self, trials: u32, shares: Shares) -> Option<[f64; 2]> {
        let mut costs = Vec::new();
        for _ in 0..trials {
            let Some((vertex, seat)) = self.propose() else { continue };
            let before =
                self.seating.cost_of(vertex) + self.seating.cost_of(self.seating.vertex_on(seat));
            let Some((a, b)) = self.seating.try_swap(vertex, seat, 0, i64::MAX / 2) else {
                continue;
            };
            if a + b > before {
                costs.push((a + b - before) as f64);
            }
        }
        let least = costs.iter().copied().reduce(f64::min)?;
        let most = costs.iter().copied().reduce(f64::max)?;
        let share =
            |t: f64| costs.iter().map(|cost| (-cost / t).exp()).sum::<f64>() / f64::from(trials);
        Some(shares.map(|wanted| {
            let (mut low, mut high) = ((least / 50.0).ln(), (most * 2.0).ln());
            for _ in 0..30 {
                let middle = f64::midpoint(low, high);
                *if share(middle.exp()) < wanted { &mut low } else { &mut high } = middle;
            }
            high.exp()
        }))
    }

    /// Tries so many swaps at a temperature.
    pub(super) fn run(&mut self, moves: u64, temperature: f64) {
        let temperature = temperature as f32;
        for _ in 0..moves {
            let Some((vertex, seat)) = self.propose() else { continue };
            let bits = self.generator.next();
            let most = temperature * self.logarithms[bits as usize % LOGARITHMS];
            let least = self.floors[self.seating.vertex_on(seat) as usize];
            let Some(costs) = self.seating.try_swap(vertex, seat, least, most as i64) else {
                continue;
            };
            if self.seating.has_room(vertex, seat) {
                self.seating.swap(vertex, seat, costs);
            }
        }
    }

    /// A vertex and a seat nearer to one of its neighbours.
    #[inline]
    fn propose(&mut self) -> Option<(u32, u32)> {
        let seating = &self.seating;
        let rows = seating.rows();
        let bits = self.generator.next();
        let vertex = below(bits as u32, rows.vertex_count() as u32);
        let range = rows.range(vertex);
        if range.is_empty() {
            return None;
        }
        let edge = below((bits >> 32) as u32, range.len() as u32);
        let neighbour = rows.neighbours()[range.start + edge as usize];
        let height = seating.height(vertex, neighbour) as u32;
        let lowest = seating.lowest();
        if height <= lowest {
            return None;
        }
        let bits = self.generator.next();
        let nearer = lowest + below((bits >> 32) as u32, height - lowest);
        let (first, count) = seating.places().group(nearer as usize, seating.seat(neighbour));
        Some((vertex, first + below(bits as u32, count)))
    }
}
