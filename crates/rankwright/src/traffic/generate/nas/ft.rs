//! FT: a partial differential equation by three-dimensional Fourier transforms (NAS-95-020,
//! RNR-91-002). The grid is cut into slabs, or into pencils where there are more ranks than planes;
//! each transform transposes it.

use super::program::{Program, collective};
use super::{Class, Model};
use crate::ids::Rank;
use crate::traffic::Send;
use crate::traffic::collectives::Operation;

/// Points along x, y and z, by class.
const POINTS: [[u32; 3]; 6] = [
    [64, 64, 64],
    [128, 128, 32],
    [256, 256, 128],
    [512, 256, 256],
    [512, 512, 512],
    [2048, 1024, 1024],
];
/// Bytes of a complex number.
const COMPLEX: u64 = 16;

pub(super) const MODEL: Model = Model {
    iterations: [6, 6, 6, 20, 20, 25],
    rule: "a power of two of processes",
    takes,
    operations,
    seconds: 44.19,
    clocks,
};

/// Slabs for up to as many ranks as planes along z, else pencils with at least one plane for each
/// of their rows.
fn takes(class: Class, ranks: u32) -> bool {
    let [_, _, z] = POINTS[class as usize];
    ranks.is_power_of_two() && ranks / z <= z
}

fn operations(class: Class, iterations: f64) -> f64 {
    let points: f64 = POINTS[class as usize].into_iter().map(f64::from).product();
    let logarithm = points.ln();
    points * (14.8157 + 7.19641 * logarithm + (5.23518 + 7.21113 * logarithm) * iterations)
}

fn clocks(program: &mut Program, class: Class) {
    let [x, y, z] = POINTS[class as usize].map(u64::from);
    let (ranks, iterations) = (program.ranks, program.iterations);
    if ranks == 1 {
        return;
    }
    let local = x * y * z / u64::from(ranks) * COMPLEX;
    let rows = if u64::from(ranks) <= z { 1 } else { z as u32 };
    let columns = ranks / rows;
    // Adjacent ranks of a row exchange y and z; ranks of a column exchange x and y.
    let of_row = |row: u32| (0..columns).map(move |column| Rank(row * columns + column));
    let of_column = |column: u32| (0..rows).map(move |row| Rank(row * columns + column));
    let mut sends: Vec<Vec<Send>> = vec![Vec::new(); ranks as usize];
    let groups = (0..columns).map(|column| of_column(column).collect());
    let groups = groups.chain((0..rows).map(|row| of_row(row).collect::<Vec<Rank>>()));
    for group in groups {
        program.called(&group, Operation::Alltoall, local, iterations + 2);
        for (rank, send) in collective(&group, Operation::Alltoall, local) {
            sends[rank.index()].push(send);
        }
    }
    // One transform untimed, one before the iterations.
    for (rank, sends) in program.all().into_iter().zip(sends) {
        program.clock(rank, 1, iterations + 2, sends);
    }
    program.collectives(1, iterations, &[(Operation::Reduce, COMPLEX)]);
    // Grid of ranks, layout, iterations, timers.
    program.once(&[(Operation::Bcast, 4); 5]);
}
