//! Communication graphs, and multilevel bisection of them.
//!
//! | file | what it has |
//! |---|---|
//! | `csr` | [`Graph`]: undirected, 64-bit weights, compressed sparse rows |
//! | `weights` | scales weights to the 32 bits that partitioners take |
//! | `compact` | [`CompactGraph`]: with vertex loads and 32-bit weights, for multilevel methods |
//! | `coarsen` | heavy-edge matching and contraction |
//! | `bisect` | multilevel bisection with unequal shares |
//! | `refine` | Fiduccia-Mattheyses refinement of a bisection |
//! | `gain_buckets` | vertices by gain, in buckets: for `refine` |
//! | `gain_heap` | vertices by gain, in an indexed heap: for k-way local search |
//! | `grid/` | recognises Cartesian grids |

mod bisect;
mod coarsen;
mod compact;
mod csr;
mod gain_buckets;
mod gain_heap;
mod grid;
mod refine;
mod weights;

pub(in crate::map) use bisect::{BisectionEffort, bisect};
pub(in crate::map) use coarsen::{Coarsening, Rating};
pub(in crate::map) use compact::CompactGraph;
pub(in crate::map) use csr::EdgeWeights;
pub use csr::Graph;
pub(in crate::map) use gain_heap::GainHeap;
pub(in crate::map) use grid::Grid;
pub(in crate::map) use weights::{TooManyWeights, scale_weights};

/// A vertex of a graph as it is stored in rows and lists: its number, from 0 up. Loops that index
/// with it widen it to `usize`.
pub(in crate::map) type VertexId = u32;
