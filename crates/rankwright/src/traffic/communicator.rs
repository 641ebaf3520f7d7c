//! Communicators: who takes part in a collective operation.

use serde::Serialize;

use crate::ids::Rank;

/// A communicator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Communicator {
    /// The name the program gave it; empty for none.
    pub name: String,
    /// Its members in the order of their rank in it; `None` for a process outside the job.
    pub members: Vec<Option<Rank>>,
    /// The other group of an intercommunicator; empty for an intracommunicator.
    pub remote_members: Vec<Option<Rank>>,
    /// How many communicators with these members stood in its place one after the other.
    pub created: u32,
}
