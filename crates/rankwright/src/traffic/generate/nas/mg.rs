//! MG: a Poisson equation by multigrid V-cycles (NAS-95-020, RNR-91-002). Every level is divided
//! among a grid of ranks. On coarse levels some ranks have no points: they pause, and their
//! neighbours exchange data directly.

use super::program::{Program, doubles};
use super::{Class, Model};
use crate::ids::Rank;
use crate::traffic::Send;
use crate::traffic::collectives::Operation;

/// log2 of the points along each axis, by class; the coarsest level has 2.
const LEVELS: [u32; 6] = [5, 7, 8, 8, 9, 10];

pub(super) const MODEL: Model = Model {
    iterations: [4, 4, 4, 20, 20, 50],
    rule: "a power of two of processes",
    takes,
    operations,
    seconds: 15.14,
    clocks,
};

/// Whether every rank has at least one point along each axis.
fn takes(class: Class, ranks: u32) -> bool {
    ranks.is_power_of_two() && sides(ranks)[2] <= 1 << LEVELS[class as usize]
}

/// The grid of ranks.
fn sides(ranks: u32) -> [u32; 3] {
    let bits = ranks.ilog2();
    let x = bits / 3;
    let y = (bits - x) / 2;
    [1 << x, 1 << y, 1 << (bits - x - y)]
}

fn operations(class: Class, iterations: f64) -> f64 {
    58.0 * iterations * 8_f64.powi(LEVELS[class as usize] as i32)
}

fn clocks(program: &mut Program, class: Class) {
    if program.ranks == 1 {
        return;
    }
    let iterations = program.iterations;
    let finest = LEVELS[class as usize];
    for rank in program.all() {
        let levels = levels(rank, program.ranks, finest);
        let mut expansions = Vec::new();
        for (number, level) in (1..=finest).zip(&levels) {
            // A cycle smooths on every level, restricts to all except the finest, and computes the
            // residual on all except the coarsest; on the finest once more after the cycle. One
            // cycle is not timed; the charges are set twice and two residuals computed before
            // cycles.
            let times = if number == 1 { 2 } else { 3 };
            let before = if number == finest { 4 } else { 0 };
            let rounds = times * (iterations + 1) + before;
            program.clock(rank, times, rounds, level.borders());
            expansions.extend(level.expansion());
        }
        program.clock(rank, 1, iterations + 1, expansions);
    }
    // The ten largest and ten smallest charges, twice: their value and place.
    let charges = [8, 16, 8, 16].map(|bytes| (Operation::Allreduce, bytes));
    program.collectives(20, 20, &charges);
    // Levels, iterations, points, options, timers; four norms of two numbers; the time.
    let inputs = [4, 4, 4, 4, 4, 32, 4].map(|bytes| (Operation::Bcast, bytes));
    let norms = [(Operation::Allreduce, 8); 8];
    program.once(&[&inputs[..], &norms, &[(Operation::Reduce, 8)]].concat());
}

/// A rank's part of one level. Arrays are indexed by axis.
#[derive(Debug, Clone)]
struct Level {
    /// Number of points, including the two halo layers: 2 means none of its own.
    extents: [u64; 3],
    /// Next rank up and down that has points on this level.
    neighbours: [[Rank; 2]; 3],
    /// Whether it sends data to a neighbour that paused on the next coarser level.
    gives: [bool; 3],
}

/// All levels, the coarsest first.
fn levels(rank: Rank, ranks: u32, finest: u32) -> Vec<Level> {
    let sides = sides(ranks);
    let place = [rank.0 % sides[0], rank.0 / sides[0] % sides[1], rank.0 / sides[0] / sides[1]];
    let mut distance = [1; 3];
    let mut levels: Vec<Level> = Vec::new();
    for level in (1..=finest).rev() {
        let mut extents = [0; 3];
        for axis in 0..3 {
            // Number of points before the part of a rank.
            let begin = |place: u32| (u64::from(place) << level) / u64::from(sides[axis]);
            let extent = |place: u32| 2 + begin(place + 1) - begin(place);
            let (mine, next) = (extent(place[axis]), extent(place[axis] + distance[axis]));
            extents[axis] = mine;
            if mine == 2 || next == 2 {
                distance[axis] *= 2;
            }
            if let Some(finer) = levels.last_mut() {
                finer.gives[axis] = next == 2 && mine == 3;
            }
        }
        let neighbour = |axis: usize, up: bool| {
            let (side, step) = (sides[axis], distance[axis] % sides[axis]);
            let mut coordinates = place;
            coordinates[axis] = (place[axis] + if up { step } else { side - step }) % side;
            Rank(coordinates[0] + sides[0] * (coordinates[1] + sides[1] * coordinates[2]))
        };
        let neighbours = [0, 1, 2].map(|axis| [true, false].map(|up| neighbour(axis, up)));
        levels.push(Level { extents, neighbours, gives: [false; 3] });
    }
    levels.reverse();
    levels
}

impl Level {
    /// Halo exchange: borders up and down each axis; later axes include the borders received.
    fn borders(&self) -> Vec<Send> {
        let [x, y, z] = self.extents;
        if x == 2 || y == 2 || z == 2 {
            return Vec::new();
        }
        let counts = [(y - 2) * (z - 2), x * (z - 2), x * y];
        let both = |(neighbours, count): (&[Rank; 2], u64)| neighbours.map(|to| doubles(to, count));
        self.neighbours.iter().zip(counts).flat_map(both).collect()
    }

    /// Messages to neighbours that paused: two layers up, one down.
    fn expansion(&self) -> Vec<Send> {
        let [x, y, z] = self.extents;
        let counts = [y * z, x * z, x * y];
        let axes = (0..3).filter(|axis| self.gives[*axis]);
        let both = |axis: usize| {
            let [up, down] = self.neighbours[axis];
            [doubles(up, 2 * counts[axis]), doubles(down, counts[axis])]
        };
        axes.flat_map(both).collect()
    }
}
