//! Undirected graphs of ranks for the mappers, and the 32-bit weights that partitioners take.

mod bisect;
mod buckets;
mod coarsen;
mod compact;
mod csr;
mod grid;
mod queue;
mod refine;
mod weights;

pub(super) use bisect::{Trials, bisect};
pub(super) use coarsen::{Coarse, Rating};
pub(super) use compact::Compact;
pub(super) use csr::EdgeWeights;
pub use csr::Graph;
pub(super) use grid::Grid;
pub(super) use queue::GainQueue;
#[cfg(feature = "scotch")]
pub(super) use weights::TooManyWeights;
pub(super) use weights::scale_weights;
