//! Which network devices each rank uses ("rails" where it uses several): selected after the ranks have
//! their cores, from where devices and cores are and from the traffic between nodes.
//!
//! ```
//! use rankwright::map::{Budget, Problem, Strategy};
//! use rankwright::placement::{Granularity, JobShape, Placement};
//! use rankwright::rails::{Selection, select};
//! use rankwright::{cluster, traffic};
//!
//! let (cluster, workload) = (cluster::open("paper:2017")?, traffic::open("nas:cg.A.16")?);
//! let problem = Problem::new(&cluster, &workload, Granularity::Cores(1))?;
//! let cyclic = "cyclic".parse::<Strategy>()?.map(&problem, &Budget::default())?;
//! let (shapes, slots) = (JobShape::of(&workload), problem.slots());
//! let placement = Placement::from_slots(&cluster, &shapes, "cyclic", slots, cyclic.as_indices())?;
//! let by_load: Selection = "by-load".parse()?;
//! let placement = select(&cluster, &workload, placement, &by_load)?;
//! assert!(placement.ranks().all(|rank| rank.nics.len() == 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`SELECTIONS`] has the policies by name.

// | file | what it has |
// |---|---|
// | `select` | the devices of all ranks of a placement, by any policy |
// | `policies` | the table of policies, and how users name them |
// | `node_view` | a node as its ranks see it: devices, distances, prices of far devices |
// | `by_load/` | `by-load`: the least makespan of the devices |
// | `device_affinity`, `multirail` | the algorithms of Ganapathi et al. 2017, as printed and corrected |
// | `psm2_modes` | the selection modes of PSM2 |
// | `internode_traffic` | what ranks send to and receive from other nodes |
// | `usable_slots` | which slots can hold ranks that all get devices |
// | `gpus/` | the GPUs of ranks, and the order of ranks by GPU |
// | `counters/` | what the counters of devices say after a job, beside what was predicted |
// | `fabric/` | the environment variables that give each network stack the devices of a rank |

mod by_load;
mod device_affinity;
mod internode_traffic;
mod multirail;
mod node_view;
mod policies;
mod psm2_modes;
mod select;
#[cfg(test)]
mod tests;
mod usable_slots;

// For the command line; may change in any version.
#[doc(hidden)]
pub mod counters;
#[doc(hidden)]
pub mod fabric;
#[doc(hidden)]
pub mod gpus;

pub(crate) use by_load::DeviceSets;
pub use policies::{SELECTIONS, Selection, SelectionEntry, SelectionParseError};
pub use select::{SelectionError, select};
pub(crate) use usable_slots::UsableSlots;

// For the command line; may change in any version.
#[doc(hidden)]
pub use node_view::distance_from_numa_nodes;
#[doc(hidden)]
pub use policies::Rails;
#[doc(hidden)]
pub use select::{lower_bound, selectable};
