//! LU: symmetric successive over-relaxation (NAS-95-020, RNR-91-002). The x-y plane is divided
//! among a grid of ranks; the sweeps cross it diagonally, plane after plane along z, with one small
//! message to each neighbour per plane.

use super::program::{Program, doubles};
use super::{Class, Model};
use crate::ids::Rank;
use crate::traffic::Send;
use crate::traffic::collectives::Operation;

/// Points along each axis, by class.
const POINTS: [u32; 6] = [12, 33, 64, 102, 162, 408];

pub(super) const MODEL: Model = Model {
    iterations: [50, 300, 250, 250, 250, 300],
    rule: "a grid with sides at most twice each other",
    takes: |class, ranks| takes(POINTS[class as usize], ranks),
    operations,
    seconds: 180.46,
    clocks,
};

/// Whether every rank has at least 3 points along x and y.
fn takes(points: u32, ranks: u32) -> bool {
    sides(ranks).is_some_and(|(x, _)| points >= 3 * x)
}

/// The grid of ranks: as square as possible, the longer side along x.
fn sides(ranks: u32) -> Option<(u32, u32)> {
    let y = (1..=ranks.isqrt()).rev().find(|y| ranks.is_multiple_of(*y))?;
    (ranks / y <= 2 * y).then_some((ranks / y, y))
}

fn operations(class: Class, iterations: f64) -> f64 {
    let n = f64::from(POINTS[class as usize]);
    iterations * (1984.77 * n.powi(3) - 10923.3 * n.powi(2) + 27770.9 * n - 144_010.0)
}

fn clocks(program: &mut Program, class: Class) {
    let points = u64::from(POINTS[class as usize]);
    let Some(sides) = sides(program.ranks) else { return };
    let iterations = program.iterations;
    for rank in program.all() {
        let part = Part::new(rank, sides, points);
        // Every plane inside, in each iteration and an untimed one before: 5 numbers of each point
        // inside along the border, down the diagonal and then up.
        let planes = points - 2;
        let (along_x, along_y) = (5 * part.x.inside(points), 5 * part.y.inside(points));
        let lower =
            [part.south.map(|to| doubles(to, along_y)), part.east.map(|to| doubles(to, along_x))];
        let upper =
            [part.north.map(|to| doubles(to, along_y)), part.west.map(|to| doubles(to, along_x))];
        for sweep in [lower, upper] {
            let sends = sweep.into_iter().flatten().collect();
            program.pipelined(rank, planes, planes * (iterations + 1), sends);
        }
        // The forcing terms, the start of both runs, the untimed iteration, and all others.
        program.clock(rank, 1, iterations + 4, part.layers(points));
        program.clock(rank, 1, 1, part.surface_integrals(points));
    }
    // Ten inputs; norms at the start of both runs and at the end, the error; three integrals, the
    // time of both runs. Where there is one iteration, the untimed one too is the last of its run.
    let inputs = [4, 4, 4, 8, 8, 40, 4, 4, 4, 4].map(|bytes| (Operation::Bcast, bytes));
    let norms = vec![(Operation::Allreduce, 40); if iterations == 1 { 7 } else { 5 }];
    let sums = [(Operation::Allreduce, 8); 5];
    program.once(&[&inputs[..], &norms, &sums].concat());
}

/// A rank's part of the x-y plane, and its neighbours.
#[derive(Debug, Clone, Copy)]
struct Part {
    x: Extent,
    y: Extent,
    north: Option<Rank>,
    south: Option<Rank>,
    west: Option<Rank>,
    east: Option<Rank>,
}

/// First and last point along one axis, counted from 1.
#[derive(Debug, Clone, Copy)]
struct Extent {
    first: u64,
    count: u64,
}

impl Part {
    fn new(rank: Rank, (x, y): (u32, u32), points: u64) -> Self {
        let (row, column) = (rank.0 % x, rank.0 / x);
        Self {
            x: Extent::new(row, x, points),
            y: Extent::new(column, y, points),
            north: (row > 0).then(|| Rank(rank.0 - 1)),
            south: (row + 1 < x).then(|| Rank(rank.0 + 1)),
            west: (column > 0).then(|| Rank(rank.0 - x)),
            east: (column + 1 < y).then(|| Rank(rank.0 + x)),
        }
    }

    /// Messages before each right-hand side: two layers of 5 numbers per point, all planes.
    fn layers(self, points: u64) -> Vec<Send> {
        let (along_x, along_y) = (10 * self.x.count * points, 10 * self.y.count * points);
        let x = [self.south, self.north].into_iter().flatten().map(|to| doubles(to, along_y));
        let y = [self.east, self.west].into_iter().flatten().map(|to| doubles(to, along_x));
        x.chain(y).collect()
    }

    /// Messages for the surface integrals over a box in the cube: the borders of its faces.
    fn surface_integrals(self, points: u64) -> Vec<Send> {
        let (x, y) = ((2, points - 1), (2, points - 2));
        let mut sends = Vec::new();
        let west = self.west.filter(|_| self.y.begins_in(y));
        let north = self.north.filter(|_| self.x.begins_in(x));
        sends.extend(west.map(|to| doubles(to, 2 * self.x.count)));
        sends.extend(north.map(|to| doubles(to, 2 * (self.y.count + 2))));
        for face in [y.0, y.1] {
            sends.extend(north.filter(|_| self.y.has(face)).map(|to| doubles(to, points)));
        }
        for face in [x.0, x.1] {
            sends.extend(west.filter(|_| self.x.has(face)).map(|to| doubles(to, points)));
        }
        sends
    }
}

impl Extent {
    /// The first parts take the remainder.
    fn new(place: u32, parts: u32, points: u64) -> Self {
        let (place, parts) = (u64::from(place), u64::from(parts));
        let (each, rest) = (points / parts, points % parts);
        Self { first: 1 + place * each + place.min(rest), count: each + u64::from(place < rest) }
    }

    /// Number of points not on the surface of the cube.
    fn inside(self, points: u64) -> u64 {
        let at_end = self.first + self.count > points;
        self.count - u64::from(self.first == 1) - u64::from(at_end)
    }

    fn has(self, point: u64) -> bool {
        (self.first..self.first + self.count).contains(&point)
    }

    fn begins_in(self, (first, last): (u64, u64)) -> bool {
        (first..=last).contains(&self.first)
    }
}
