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

pub(in crate::map) use bisect::{Trials, bisect};
pub(in crate::map) use coarsen::{Coarse, Rating};
pub(in crate::map) use compact::Compact;
pub(in crate::map) use csr::EdgeWeights;
pub use csr::Graph;
pub(in crate::map) use grid::Grid;
pub(in crate::map) use queue::GainQueue;
#[cfg(feature = "scotch")]
pub(in crate::map) use weights::TooManyWeights;
pub(in crate::map) use weights::scale_weights;
