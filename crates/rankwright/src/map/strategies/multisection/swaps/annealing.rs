//! Simulated annealing (Kirkpatrick, Gelatt and Vecchi 1983): swaps that raise the cost are accepted
//! with a probability that falls with the temperature.

use super::assignment::Assignment;
use super::locations::LocationId;
use crate::map::search::graph::VertexId;
use crate::random::{Generator, below_u32};

/// The shares of trial swaps that raise the cost and are accepted: at the first temperature and at
/// the last.
pub(in super::super) type AcceptanceRatios = [f64; 2];

/// A search by annealing.
#[derive(Debug)]
pub(super) struct Annealing<'s, 'a> {
    assignment: &'s mut Assignment<'a>,
    /// The least cost of the edges of each vertex. Index: [`VertexId`].
    lower_bounds: &'s [i64],
    generator: Generator,
    /// -ln of evenly spread numbers from 0 to 1.
    logarithms: Vec<f32>,
}

const LOGARITHMS: usize = 4096;

impl<'s, 'a> Annealing<'s, 'a> {
    pub(super) fn new(
        assignment: &'s mut Assignment<'a>,
        lower_bounds: &'s [i64],
        seed: u64,
    ) -> Self {
        let logarithm = |i: usize| -((i as f32 + 0.5) / LOGARITHMS as f32).ln();
        Self {
            assignment,
            lower_bounds,
            generator: Generator::new(seed),
            logarithms: (0..LOGARITHMS).map(logarithm).collect(),
        }
    }

    pub(super) fn assignment(&self) -> &Assignment<'a> {
        self.assignment
    }

    /// The temperatures with these acceptance ratios, by a sample of trial swaps; `None` if none of
    /// them raises the cost.
    pub(super) fn temperatures(
        &mut self,
        trials: u32,
        ratios: AcceptanceRatios,
    ) -> Option<[f64; 2]> {
        let mut rises = Vec::new();
        for _ in 0..trials {
            let Some((vertex, location)) = self.propose() else { continue };
            let other = self.assignment.vertex_at(location);
            let before = self.assignment.cost_of(vertex) + self.assignment.cost_of(other);
            let Some((a, b)) = self.assignment.try_swap(vertex, location, 0, i64::MAX / 2) else {
                continue;
            };
            if a + b > before {
                rises.push((a + b - before) as f64);
            }
        }
        let least = rises.iter().copied().reduce(f64::min)?;
        let most = rises.iter().copied().reduce(f64::max)?;
        let ratio =
            |t: f64| rises.iter().map(|rise| (-rise / t).exp()).sum::<f64>() / f64::from(trials);
        Some(ratios.map(|wanted| {
            let (mut low, mut high) = ((least / 50.0).ln(), (most * 2.0).ln());
            for _ in 0..30 {
                let middle = f64::midpoint(low, high);
                *if ratio(middle.exp()) < wanted { &mut low } else { &mut high } = middle;
            }
            high.exp()
        }))
    }

    /// Makes trial swaps at one temperature.
    pub(super) fn run(&mut self, moves: u64, temperature: f64) {
        let temperature = temperature as f32;
        for _ in 0..moves {
            let Some((vertex, location)) = self.propose() else { continue };
            let bits = self.generator.bits();
            let max_rise = temperature * self.logarithms[bits as usize % LOGARITHMS];
            let least = self.lower_bounds[self.assignment.vertex_at(location) as usize];
            let costs = self.assignment.try_swap(vertex, location, least, max_rise as i64);
            let Some(costs) = costs else { continue };
            if self.assignment.fits(vertex, location) {
                self.assignment.swap(vertex, location, costs);
            }
        }
    }

    /// A vertex and a location nearer to one of its neighbours.
    #[inline]
    fn propose(&mut self) -> Option<(VertexId, LocationId)> {
        let assignment = &self.assignment;
        let graph = assignment.graph();
        let bits = self.generator.bits();
        let vertex = below_u32(bits as u32, graph.vertex_count() as u32);
        let range = graph.range(vertex);
        if range.is_empty() {
            return None;
        }
        let edge = below_u32((bits >> 32) as u32, range.len() as u32);
        let neighbour = graph.neighbours()[range.start + edge as usize];
        let height = assignment.height(vertex, neighbour) as u32;
        let lowest = assignment.locations().lowest_shared_height();
        if height <= lowest {
            return None;
        }
        let bits = self.generator.bits();
        let nearer = lowest + below_u32((bits >> 32) as u32, height - lowest);
        let (first, count) =
            assignment.locations().group(nearer as usize, assignment.location(neighbour));
        Some((vertex, first + below_u32(bits as u32, count)))
    }
}
