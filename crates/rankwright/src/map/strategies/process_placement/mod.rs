//! The placement policies of Mercier and Clet-Ortega, "Towards an efficient process placement policy
//! for MPI applications in multicore environments", 2009: for comparison, not candidates.
//!
//! | file | strategies |
//! |---|---|
//! | `placed` | `regroup`, `placed`, `placed-core-reverse` |
//! | `round_robin` | `round-robin`, `round-robin-core-binding` |

#[cfg(feature = "scotch")]
pub(in crate::map) mod placed;
pub(in crate::map) mod round_robin;
