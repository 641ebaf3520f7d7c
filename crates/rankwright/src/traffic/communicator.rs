//! Communicators: the ranks that take part in a collective operation.

use serde::Serialize;

use crate::ids::Rank;

/// A communicator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Communicator {
    /// Name given by `MPI_Comm_set_name`; empty if unnamed.
    pub name: String,
    /// World rank of each member, by rank in the communicator; `None` for a process outside the
    /// job.
    pub members: Vec<Option<Rank>>,
    /// Remote group of an intercommunicator; empty for an intracommunicator.
    pub remote_members: Vec<Option<Rank>>,
    /// Number of communicators with these members that were created and freed one after the other.
    pub created: u32,
}
