//! The multi-partition scheme of BT and SP: p² ranks share a cube of p³ cells. Each rank has p
//! cells along a diagonal, so that in every sweep along an axis all ranks have a cell in every
//! slice (Bailey et al. 1995, NAS-95-020; van der Wijngaart 2002, NAS-02-007).

use super::program::doubles;
use crate::ids::Rank;
use crate::traffic::Send;

/// A cube of points on p² ranks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Multipartition {
    /// p: cells along each axis.
    pub(super) side: u32,
    /// Points along each axis.
    pub(super) points: u32,
}

/// Index of a cell along x, y and z, from 0.
pub(super) type Cell = [u32; 3];

impl Multipartition {
    /// The cells of a rank in order of z.
    pub(super) fn cells(self, rank: Rank) -> impl Iterator<Item = Cell> {
        let p = self.side;
        let (i, j) = (rank.0 % p, rank.0 / p);
        (0..p).map(move |layer| [(i + layer) % p, (j + p - layer) % p, layer])
    }

    /// Number of points of a cell along one axis; the first cells take the remainder.
    pub(super) fn extent(self, place: u32) -> u64 {
        u64::from(self.points / self.side + u32::from(place < self.points % self.side))
    }

    /// The rank with the next cells along an axis, periodic.
    pub(super) fn successor(self, rank: Rank, axis: usize) -> Rank {
        self.moved(rank, [(1, 0), (0, 1), (self.side - 1, 1)][axis])
    }

    /// The rank with the previous cells along an axis, periodic.
    pub(super) fn predecessor(self, rank: Rank, axis: usize) -> Rank {
        let back = self.side - 1;
        self.moved(rank, [(back, 0), (0, back), (1, back)][axis])
    }

    fn moved(self, rank: Rank, (right, up): (u32, u32)) -> Rank {
        let p = self.side;
        Rank((rank.0 % p + right) % p + p * ((rank.0 / p + up) % p))
    }

    /// Messages of a rank before each right-hand side: two layers of 5 numbers per point over every
    /// face inside the cube; faces with the same neighbour share a message.
    pub(super) fn faces(self, rank: Rank) -> Vec<Send> {
        let mut sends = Vec::new();
        for axis in 0..3 {
            let face = |cell: &Cell| {
                let across = (0..3).filter(|other| *other != axis);
                across.map(|other| self.extent(cell[other])).product::<u64>()
            };
            let beside = |inside: &dyn Fn(u32) -> bool| -> u64 {
                let cells = self.cells(rank).filter(|cell| inside(cell[axis]));
                2 * 5 * cells.map(|cell| face(&cell)).sum::<u64>()
            };
            let (up, down) = (beside(&|place| place + 1 < self.side), beside(&|place| place > 0));
            sends.push(doubles(self.successor(rank, axis), up));
            sends.push(doubles(self.predecessor(rank, axis), down));
        }
        sends
    }
}
