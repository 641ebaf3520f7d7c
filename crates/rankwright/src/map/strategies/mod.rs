//! The strategies, one file or folder each. [`super::MAPPERS`] is their table for users.
//!
//! | file | strategies | minimises |
//! |---|---|---|
//! | `blocked`, `cyclic`, `random` | of the same names | nothing |
//! | `drb` | `drb` | weight times distance (Scotch) |
//! | `kway` | `kway` | the cut on each level (METIS) |
//! | `treematch/` | `treematch` | the cut of groups, bottom-up |
//! | `multisection/` | `multisection` | weight times distance (own search) |
//! | `job_spreading/` | `mapping-2012`, `mapping-2013` | contention, by rules |
//! | `contention/` | `contention` | predicted waiting and finish |
//! | `auto` | `auto` | takes the best candidate of the others |
//! | `mixed_workloads` | `exclusive-full`, `exclusive-half`, `shared` | nothing |
//! | `process_placement/` | `round-robin`, `regroup`, `placed`, .. | policies of a paper, for comparison |

pub(super) mod auto;
pub(super) mod blocked;
pub(super) mod contention;
pub(super) mod cyclic;
#[cfg(feature = "scotch")]
pub(super) mod drb;
pub(super) mod job_spreading;
pub(super) mod kway;
pub(super) mod mixed_workloads;
pub(super) mod multisection;
pub(super) mod process_placement;
pub(super) mod random;
pub(super) mod treematch;
