//! SP: scalar pentadiagonal systems along x, y and z (NAS-95-020, RNR-91-002).

use std::collections::BTreeMap;

use super::multipartition::{Cell, Multipartition};
use super::program::{Program, doubles};
use super::{Class, Model, bt};
use crate::ids::Rank;
use crate::traffic::collectives::Operation;

/// Points along each axis, by class.
const POINTS: [u32; 6] = [12, 36, 64, 102, 162, 408];

pub(super) const MODEL: Model = Model {
    iterations: [100, 400, 400, 400, 400, 500],
    rule: "a square number of processes",
    takes: |class, ranks| bt::takes(POINTS[class as usize], ranks),
    operations,
    seconds: 196.29,
    clocks,
};

fn operations(class: Class, iterations: f64) -> f64 {
    let n = f64::from(POINTS[class as usize]);
    iterations * (881.174 * n.powi(3) - 4683.91 * n.powi(2) + 11484.5 * n - 19272.4)
}

fn clocks(program: &mut Program, class: Class) {
    let cube = Multipartition { side: program.ranks.isqrt(), points: POINTS[class as usize] };
    let iterations = program.iterations;
    if cube.side == 1 {
        return;
    }
    // One untimed step at the start; the verification needs the faces once more.
    for rank in program.all() {
        program.clock(rank, 1, iterations + 2, cube.faces(rank));
        for ((destination, numbers), times) in sweeps(cube, rank) {
            let sends = vec![doubles(destination, numbers)];
            program.clock(rank, times, times * (iterations + 1), sends);
        }
    }
    // Iterations, step, points, timers; two norms; the time.
    let mut calls = vec![(Operation::Bcast, 4), (Operation::Bcast, 8), (Operation::Bcast, 12)];
    calls.push((Operation::Bcast, 4));
    calls.extend([(Operation::Allreduce, 40); 2]);
    calls.push((Operation::Reduce, 8));
    program.once(&calls);
}

/// Number of messages per iteration, by destination and length (in numbers). After each cell except
/// the last of a sweep, 22 numbers per line inside the cube are sent on; on the way back, 10.
fn sweeps(cube: Multipartition, rank: Rank) -> BTreeMap<(Rank, u64), u64> {
    let last = cube.side - 1;
    // The outermost points of the cube are not part of a line.
    let inside = |place: u32| cube.extent(place) - u64::from(place == 0) - u64::from(place == last);
    let mut times = BTreeMap::new();
    for axis in 0..3 {
        let lines = |cell: &Cell| {
            let across = (0..3).filter(|other| *other != axis);
            across.map(|other| inside(cell[other])).product::<u64>()
        };
        for cell in cube.cells(rank) {
            if cell[axis] != last {
                *times.entry((cube.successor(rank, axis), 22 * lines(&cell))).or_default() += 1;
            }
            if cell[axis] != 0 {
                *times.entry((cube.predecessor(rank, axis), 10 * lines(&cell))).or_default() += 1;
            }
        }
    }
    times
}
