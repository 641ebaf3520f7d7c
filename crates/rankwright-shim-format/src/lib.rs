//! The interface between rankwright and its per-rank shim `rankwright-exec`: the table of ranks
//! that the shim reads, the line in which it reports, its options, and functions that both must
//! share. Uses only the standard library, because the shim starts on every node and is linked
//! statically.

pub mod devices;
mod escape;
mod host_name;
pub mod pu_list;
mod rank_variables;
pub mod ranks_map;
mod report_line;
pub mod shim_options;
pub mod visible_gpus;

pub use host_name::same_host;
pub use rank_variables::{RANK_VARIABLES, first_set};
pub use report_line::{ReportLine, Variable};

/// The file name of the shim.
pub const SHIM: &str = "rankwright-exec";
