//! Undirected graphs of ranks for the mappers, and the 32-bit weights that partitioners take.

mod csr;
mod weights;

pub use csr::Graph;
pub(super) use weights::{TooManyWeights, scale_weights};
