//! Inputs that users name on the command line: clusters and workloads, as files or by built-in
//! name.

mod cluster;
mod placement;
mod printed;
mod text;
mod workload;

pub(crate) use cluster::{cluster, cluster_of, stands_for_many};
pub(crate) use placement::is_placement;
pub(crate) use rankwright::traffic::{is_profile, split};
pub(crate) use text::read_text_or_stdin;
pub(crate) use workload::{WORKLOAD_HELP, imported, named, refuse_misplaced, workload};
