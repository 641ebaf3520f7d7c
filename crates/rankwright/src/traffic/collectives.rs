//! Collective operations as the program called them, before their [`expansion`](super::expansion)
//! into messages.

use serde::Serialize;

use super::communicator::Communicator;
use super::expansion::library::Library;
use super::expansion::{ExpandedOperation, Expansion, rounds_of_each};
use crate::ids::Rank;

/// The recorded collective operations of a job. Their messages are among its flows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Collectives {
    /// The calls.
    pub calls: Vec<CollectiveCalls>,
    /// Communicators that calls refer to by index.
    pub communicators: Vec<Communicator>,
    /// The expansion that turned the calls into messages.
    pub expansion: Expansion,
    /// The MPI library of the run.
    pub library: Library,
}

impl Collectives {
    /// Messages of all calls, by operation and round.
    #[must_use]
    pub fn rounds(&self) -> Vec<ExpandedOperation> {
        rounds_of_each(&self.calls, &self.communicators, self.expansion, &self.library)
    }
}

/// The calls of one rank to one operation on one communicator with one root.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CollectiveCalls {
    /// The calling rank.
    pub rank: Rank,
    /// Index into the profile's communicators.
    pub communicator: usize,
    /// The operation.
    pub operation: Operation,
    /// Blocking, nonblocking or persistent.
    pub form: Form,
    /// Root, if the operation has one and the rank knows it.
    pub root: Option<Rank>,
    /// Number of calls.
    pub calls: u64,
    /// Bytes contributed by this rank's arguments, summed over all calls.
    pub bytes: u64,
    /// Time inside these calls, in seconds.
    pub seconds: f64,
    /// Time of the first call, in seconds since MPI started on this rank.
    pub first: f64,
    /// Time of the last call, in seconds since MPI started on this rank.
    pub last: f64,
    /// Amount sent to each destination, for operations whose arguments state it: those with a count
    /// per destination, and neighbourhood collectives.
    pub row: Vec<RowEntry>,
}

/// The form of a collective call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// `MPI_Bcast`.
    #[default]
    Blocking,
    /// `MPI_Ibcast`.
    Nonblocking,
    /// `MPI_Bcast_init`: each start counts as one call.
    Persistent,
}

impl Form {
    /// Decodes the flags of a trace record.
    #[must_use]
    pub(crate) fn from_flags(flags: u16) -> Self {
        match flags {
            0 => Self::Blocking,
            flags if flags & 2 != 0 => Self::Persistent,
            _ => Self::Nonblocking,
        }
    }

    /// Its name in a profile.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Blocking => "blocking",
            Self::Nonblocking => "nonblocking",
            Self::Persistent => "persistent",
        }
    }

    /// The form with this name.
    #[must_use]
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        [Self::Blocking, Self::Nonblocking, Self::Persistent].into_iter().find(|f| f.name() == name)
    }
}

/// Amount sent by one rank to one destination in collective calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RowEntry {
    /// Receiving rank.
    pub destination: Rank,
    /// Number of calls that send at least one byte.
    pub messages: u64,
    /// Bytes of all calls.
    pub bytes: u64,
}

macro_rules! operations {
    ($($name:ident = $number:literal $text:literal),* $(,)?) => {
        /// A collective operation of MPI. Its blocking, nonblocking and persistent forms are one
        /// operation.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Operation {
            $(#[doc = concat!("`MPI_", $text, "`")] $name),*
        }

        impl Operation {
            /// The operation with this number in a trace file.
            #[must_use]
            pub fn from_number(number: u16) -> Option<Self> {
                match number { $($number => Some(Self::$name),)* _ => None }
            }

            /// The operation with this name (`Alltoallv`).
            #[must_use]
            pub(crate) fn from_name(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$name),)* _ => None }
            }

            /// Whether each member's part of its buffer, a block for every member, is what
            /// libraries choose by and divide.
            #[must_use]
            pub const fn divides_buffer(self) -> bool {
                matches!(self, Self::Alltoall | Self::Scatter | Self::ReduceScatterBlock)
            }

            /// Its name without `MPI_`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }
        }
    };
}
operations! {
    Barrier = 0 "Barrier",
    Bcast = 1 "Bcast",
    Gather = 2 "Gather",
    Gatherv = 3 "Gatherv",
    Scatter = 4 "Scatter",
    Scatterv = 5 "Scatterv",
    Allgather = 6 "Allgather",
    Allgatherv = 7 "Allgatherv",
    Alltoall = 8 "Alltoall",
    Alltoallv = 9 "Alltoallv",
    Alltoallw = 10 "Alltoallw",
    Reduce = 11 "Reduce",
    Allreduce = 12 "Allreduce",
    ReduceScatter = 13 "Reduce_scatter",
    ReduceScatterBlock = 14 "Reduce_scatter_block",
    Scan = 15 "Scan",
    Exscan = 16 "Exscan",
    NeighborAllgather = 17 "Neighbor_allgather",
    NeighborAllgatherv = 18 "Neighbor_allgatherv",
    NeighborAlltoall = 19 "Neighbor_alltoall",
    NeighborAlltoallv = 20 "Neighbor_alltoallv",
    NeighborAlltoallw = 21 "Neighbor_alltoallw",
}
