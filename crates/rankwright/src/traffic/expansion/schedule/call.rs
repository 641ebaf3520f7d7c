//! Calls to collective operations as the algorithms see them.

use super::Group;
use crate::ids::Rank;
use crate::traffic::collectives::Operation;

/// Amounts that may differ between the members of one call.
pub trait Amounts {
    /// For operations in which contributions differ (Allgatherv): the bytes contributed by all members
    /// before each, then by all. Empty if all contribute the same.
    fn contributions(&self) -> &[u64];

    /// Bytes of each message from one rank to another, if the arguments state them (Alltoallv,
    /// neighbourhood collectives).
    fn stated(&self, source: Rank, destination: Rank) -> &[u64];
}

/// One call to a collective operation, merged from the arguments of all members.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// The operation.
    pub operation: Operation,
    /// Root, if the operation has one: index into the [`Group`].
    pub root: Option<usize>,
    /// Largest contribution of a member, in bytes: the whole buffer of operations in which all
    /// members, or the root, contribute equally.
    pub bytes: u64,
    /// Length of an element, in bytes: libraries divide buffers between elements, never within one.
    /// [`element`] guesses it.
    pub element: u64,
    /// Whether the form is nonblocking.
    pub nonblocking: bool,
    /// Amounts that differ.
    pub amounts: &'a dyn Amounts,
}

impl std::fmt::Debug for Call<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { operation, root, bytes, .. } = self;
        write!(formatter, "{operation:?} of {bytes} B from {root:?}")
    }
}

/// Length of the elements of a buffer of `bytes`, or of blocks of this length. Recorded calls do not
/// state the datatype: 8 bytes if that divides the length, otherwise 4, otherwise 1.
#[must_use]
pub fn element(bytes: u64) -> u64 {
    [8, 4].into_iter().find(|size| bytes.is_multiple_of(*size)).unwrap_or(1)
}

impl<'a> Call<'a> {
    /// A blocking call on a group, with the largest contribution of a member, in bytes.
    #[must_use]
    pub fn new(
        operation: Operation,
        root: Option<Rank>,
        largest: u64,
        group: &Group,
        amounts: &'a dyn Amounts,
    ) -> Self {
        let blocks = if operation.divides_buffer() { group.members().max(1) as u64 } else { 1 };
        Self {
            operation,
            root: root.and_then(|root| group.place(root)),
            bytes: largest,
            element: element(largest / blocks),
            nonblocking: false,
            amounts,
        }
    }

    /// Bytes contributed by `members` members from `first` on.
    pub(in super::super) fn contributed(&self, first: usize, members: usize) -> u64 {
        match self.amounts.contributions() {
            [] => self.bytes.saturating_mul(members as u64),
            before => before[first + members] - before[first],
        }
    }
}
