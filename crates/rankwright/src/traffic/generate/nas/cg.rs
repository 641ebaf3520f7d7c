//! CG: the smallest eigenvalue of a sparse matrix by conjugate gradients (NAS-95-020, RNR-91-002).
//! The ranks form a grid of 2^k columns and 2^k or 2^(k-1) rows; each holds a block of the matrix,
//! and the vectors are summed along the rows of the grid.

use super::program::{Program, doubles};
use super::{Class, Model};
use crate::ids::Rank;
use crate::traffic::Send;
use crate::traffic::collectives::Operation;

/// Rows of the matrix, by class.
const ROWS: [u32; 6] = [1400, 7000, 14_000, 75_000, 150_000, 1_500_000];
/// Non-zeros drawn per row, by class.
const NON_ZEROS: [u32; 6] = [7, 8, 11, 13, 15, 21];
/// Matrix products per iteration: the conjugate gradient steps, and the residual after them.
const PRODUCTS: u64 = 25 + 1;

pub(super) const MODEL: Model = Model {
    iterations: [15, 15, 15, 75, 75, 100],
    rule: "a power of two of processes",
    takes: |_, ranks| ranks.is_power_of_two(),
    operations,
    seconds: 34.82,
    clocks,
};

fn operations(class: Class, iterations: f64) -> f64 {
    let (rows, drawn) = (ROWS[class as usize], f64::from(NON_ZEROS[class as usize]));
    let squared = drawn * (drawn + 1.0);
    2.0 * iterations * f64::from(rows) * (3.0 + squared + 25.0 * (5.0 + squared) + 3.0)
}

fn clocks(program: &mut Program, class: Class) {
    let grid = Grid::new(program.ranks, ROWS[class as usize]);
    let iterations = program.iterations + 1;
    if program.ranks == 1 {
        return;
    }
    for rank in program.all() {
        let partners = grid.partners(rank);
        // A product of the matrix with a vector, and two scalar products.
        let mut sends = grid.sum_of_product(rank);
        for _ in 0..2 {
            sends.extend(partners.iter().map(|partner| doubles(*partner, 1)));
        }
        program.clock(rank, PRODUCTS, PRODUCTS * iterations, sends);
        let norms = partners.iter().map(|partner| doubles(*partner, 2)).collect();
        program.clock(rank, 1, iterations, norms);
    }
    program.once(&[(Operation::Bcast, 4), (Operation::Reduce, 8)]);
}

/// The grid of ranks, with as many columns as rows, or twice that.
#[derive(Debug, Clone, Copy)]
struct Grid {
    columns: u32,
    rows: u32,
    matrix_rows: u32,
}

impl Grid {
    fn new(ranks: u32, matrix_rows: u32) -> Self {
        let rows = 1 << (ranks.ilog2() / 2);
        Self { columns: ranks / rows, rows, matrix_rows }
    }

    /// Partners of a rank in its row of the grid for recursive halving, the farthest first.
    fn partners(self, rank: Rank) -> Vec<Rank> {
        let distances = (0..self.columns.ilog2()).rev().map(|bit| 1 << bit);
        distances.map(|distance: u32| Rank(rank.0 ^ distance)).collect()
    }

    /// Messages of a rank for one product: its part of the sum to each partner, the nearest first,
    /// then the sum to the rank that needs it for the transposed vector (possibly itself).
    fn sum_of_product(self, rank: Rank) -> Vec<Send> {
        let row = rank.0 / self.columns;
        let rows =
            u64::from(self.matrix_rows / self.rows + u32::from(row < self.matrix_rows % self.rows));
        let mut partners = self.partners(rank).into_iter().rev();
        let square = self.columns == self.rows;
        let odd = u64::from(rank.0 % 2);
        // In a grid that is not square, two columns share a part of the vector.
        let (part, other_part) =
            if square { (rows, rows) } else { ((rows + 1 - odd) / 2, (rows + odd) / 2) };
        let mut sends = Vec::new();
        sends.extend(partners.next().map(|nearest| doubles(nearest, other_part)));
        sends.extend(partners.map(|partner| doubles(partner, part)));
        sends.push(doubles(self.transposed(rank), part));
        sends
    }

    fn transposed(self, rank: Rank) -> Rank {
        let n = self.rows;
        let transpose = |place: u32| place % n * n + place / n;
        match self.columns == n {
            true => Rank(transpose(rank.0)),
            false => Rank(2 * transpose(rank.0 / 2) + rank.0 % 2),
        }
    }
}
