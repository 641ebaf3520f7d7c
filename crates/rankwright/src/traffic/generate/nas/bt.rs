//! BT: block tridiagonal systems along x, y and z (NAS-95-020, RNR-91-002).

use super::multipartition::Multipartition;
use super::program::{Program, doubles};
use super::{Class, Model};
use crate::traffic::collectives::Operation;

/// Points along each axis, by class.
const POINTS: [u32; 6] = [12, 24, 64, 102, 162, 408];

pub(super) const MODEL: Model = Model {
    iterations: [60, 200, 200, 200, 200, 250],
    rule: "a square number of processes",
    takes: |class, ranks| takes(POINTS[class as usize], ranks),
    operations,
    seconds: 198.22,
    clocks,
};

/// Whether `ranks` is a square and every cell has at least 3 points along each axis.
pub(super) fn takes(points: u32, ranks: u32) -> bool {
    let side = ranks.isqrt();
    side * side == ranks && points >= 3 * side
}

fn operations(class: Class, iterations: f64) -> f64 {
    let n = f64::from(POINTS[class as usize]);
    iterations * (3478.8 * n.powi(3) - 17655.7 * n.powi(2) + 28023.7 * n)
}

fn clocks(program: &mut Program, class: Class) {
    let points = POINTS[class as usize];
    let cube = Multipartition { side: program.ranks.isqrt(), points };
    let iterations = program.iterations;
    if cube.side == 1 {
        return;
    }
    // One untimed step at the start; the verification needs the faces once more.
    for rank in program.all() {
        program.clock(rank, 1, iterations + 2, cube.faces(rank));
    }
    // After each cell except the last of a sweep, the 5x5 block and the right-hand side of each
    // line are sent on; on the way back, 5 numbers. The buffers have the size of the largest cell,
    // plus 1.
    let lines = u64::from(points / cube.side + 1).pow(2);
    let stages = u64::from(cube.side - 1);
    for rank in program.all() {
        for axis in 0..3 {
            let forward = doubles(cube.successor(rank, axis), (25 + 5) * lines);
            let back = doubles(cube.predecessor(rank, axis), 5 * lines);
            for send in [forward, back] {
                program.clock(rank, stages, stages * (iterations + 1), vec![send]);
            }
        }
    }
    // Iterations, step, points, two file intervals, timers; two norms; the time.
    let mut calls = vec![(Operation::Bcast, 4), (Operation::Bcast, 8), (Operation::Bcast, 12)];
    calls.extend([(Operation::Bcast, 4); 3]);
    calls.extend([(Operation::Allreduce, 40); 2]);
    calls.push((Operation::Reduce, 8));
    program.once(&calls);
}
