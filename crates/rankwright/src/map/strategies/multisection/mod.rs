//! `multisection`: divide the ranks along the tree of the cluster, then search on traffic times
//! distance itself.
//!
//! | file | what it has |
//! |---|---|
//! | `mapper` | the strategy: what it minimises, sources, options |
//! | `search` | the whole search: first assignments, then successive halving |
//! | `effort` | how much work each effort is; makes the first assignments |
//! | `construct/` | first assignments by division along the tree |
//! | `tilings` | first assignments of grids by boxes |
//! | `halving` | successive halving among candidates within a move budget |
//! | `swaps/` | descent and annealing by swaps: few vertices per bin |
//! | `multilevel/` | moves of single vertices on coarser graphs: many vertices per bin |
//! | `bin_codes` | paths in the tree as numbers, for distances in a few instructions |
//! | `generator` | random numbers for annealing |

mod bin_codes;
mod construct;
mod effort;
mod halving;
mod mapper;
mod multilevel;
mod search;
mod swaps;
#[cfg(test)]
mod testing;
mod tilings;

pub(in crate::map) use mapper::{Multisection, OPTIONS};
