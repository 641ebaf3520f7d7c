//! Ranks that have to share a node, and strategies within that constraint.
//!
//! | file | what it has |
//! |---|---|
//! | `groups` | [`NodeGroups`]: which ranks share a node, recorded or in block order |
//! | `keep` | any strategy under the constraint: groups among nodes, then ranks inside each node |
//! | `packing` | a node for each group: bin packing with conflicts |
//! | `quotient` | the workload of groups, or of some of the ranks |

mod groups;
mod keep;
mod packing;
mod quotient;

pub use groups::{GroupOrigin, NodeGroups};
pub(in crate::map) use keep::KeptGroups;
