//! Undirected graphs of ranks for the mappers, and the 32-bit weights that partitioners take.

mod csr;
mod weights;

pub(super) use csr::EdgeWeights;
pub use csr::Graph;
#[cfg(feature = "scotch")]
pub(super) use weights::TooManyWeights;
pub(super) use weights::scale_weights;
