//! The calls of every rank in their order, as `rankwright profile --events` records them.
//!
//! The tracer writes one file per rank ([`spool`]), which become tables of the profile ([`store`]).
//! They are read rank by rank, one block at a time: there may be many millions of events. What
//! belongs together on several ranks is matched in [`matching`]; [`steps`] is what a replay needs of
//! them; [`simgrid`] writes them for another simulator.

mod decode;
pub mod matching;
#[cfg(test)]
pub(crate) mod sample;
mod schedule;
pub mod sent;
pub mod simgrid;
pub mod spool;
pub mod steps;
pub mod store;

use serde::Serialize;

use crate::ids::Rank;
use crate::traffic::collectives::Operation;
use crate::traffic::communicator::Communicator;
use crate::units::Seconds;

/// One call that a rank made.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Event {
    /// The thread that called, numbered in the order of their first calls.
    pub thread: u32,
    /// What passed outside MPI before: since this thread's event before, or since MPI started on the
    /// rank.
    pub gap: Seconds,
    /// How long the call took.
    pub duration: Seconds,
    /// What was called.
    pub call: Call,
}

/// What was called. Requests are numbered in the order in which the rank made them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Call {
    /// A send, by any call but `MPI_Sendrecv`.
    Send {
        /// What is sent, and to whom.
        message: Message,
        /// How.
        mode: SendMode,
        /// Set where the send goes on after the call.
        request: Option<u64>,
        /// Whether it is a persistent send that was started.
        persistent: bool,
    },
    /// A receive that is over.
    Receive {
        /// What came, and from whom.
        message: Message,
        /// What the receive would have taken.
        wildcards: Wildcards,
    },
    /// A receive that goes on after the call; a [`Completed`] tells what came.
    PostedReceive {
        /// What may come: the bytes are those that it can take.
        message: Message,
        /// Where anyone may send it, or any tag is taken.
        wildcards: Wildcards,
        /// Its number.
        request: u64,
        /// Whether it is a persistent receive that was started.
        persistent: bool,
    },
    /// A send and a receive in one call. With a request the second is what may come, else what came.
    SendReceive {
        /// What is sent, and to whom.
        send: Message,
        /// What comes, and from whom.
        receive: Message,
        /// What the receive takes.
        wildcards: Wildcards,
        /// Set where both go on after the call.
        request: Option<u64>,
    },
    /// A wait, or a test that found something complete.
    Completion {
        /// Which call.
        call: CompletingCall,
        /// How many active requests it was given.
        active: u64,
        /// Those that it completed.
        completed: Vec<Completed>,
    },
    /// Tests and probes that found nothing.
    Polls {
        /// How many.
        count: u64,
        /// The time inside them; the event's duration is that from the first to the last.
        inside: Seconds,
    },
    /// A probe that found a message.
    Probe(Message),
    /// A collective operation.
    Collective {
        /// Which.
        operation: Operation,
        /// On which communicator, by its number within the rank.
        communicator: u32,
        /// The root, where the operation has one and the rank knows it.
        root: Option<Rank>,
        /// The bytes that the rank's own arguments put into it.
        bytes: u64,
        /// What the arguments send to each destination, where they say it.
        row: Option<Vec<(Rank, u64)>>,
        /// Set where it goes on after the call.
        request: Option<u64>,
    },
    /// The making of a communicator.
    Creation {
        /// From which.
        old: Option<u32>,
        /// Which; `None` where this rank is not in it or it is not yet to be used.
        new: Option<u32>,
        /// Set where it goes on after the call.
        request: Option<u64>,
    },
    /// A request was given back before it was complete.
    Free {
        /// Its number.
        request: u64,
    },
    /// A call that has no event of its own.
    Other(CallClass),
}

/// One direction of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Message {
    /// The other side.
    pub peer: Peer,
    /// The tag; 0 where any is taken.
    pub tag: i32,
    /// The communicator, by its number within the rank ([`store::Stream::communicators`]).
    pub communicator: u32,
    /// Its bytes.
    pub bytes: u64,
}

/// The other side of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Peer {
    /// `MPI_PROC_NULL`.
    None,
    /// A process outside the job.
    Outside,
    /// `MPI_ANY_SOURCE`.
    Any,
    /// A rank.
    Rank(Rank),
}

/// The modes of a send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum SendMode {
    /// `MPI_Send`.
    Standard,
    /// `MPI_Bsend`.
    Buffered,
    /// `MPI_Ssend`.
    Synchronous,
    /// `MPI_Rsend`.
    Ready,
}

/// What a receive leaves open when it is posted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Wildcards {
    /// `MPI_ANY_SOURCE`.
    pub source: bool,
    /// `MPI_ANY_TAG`.
    pub tag: bool,
}

/// A completed request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Completed {
    /// Its number.
    pub request: u64,
    /// Whether it was cancelled.
    pub cancelled: bool,
    /// From whom, with which tag and how many bytes, for a receive.
    pub received: Option<(Peer, i32, u64)>,
}

/// Calls that complete requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum CompletingCall {
    /// `MPI_Wait`.
    Wait,
    /// `MPI_Waitall`.
    Waitall,
    /// `MPI_Waitany`.
    Waitany,
    /// `MPI_Waitsome`.
    Waitsome,
    /// `MPI_Test`.
    Test,
    /// `MPI_Testall`.
    Testall,
    /// `MPI_Testany`.
    Testany,
    /// `MPI_Testsome`.
    Testsome,
}

/// Classes of calls, as the times of a rank have them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum CallClass {
    /// Sends, receives and probes.
    PointToPoint,
    /// Waits and tests.
    Wait,
    /// Collective operations.
    Collective,
    /// One-sided communication.
    OneSided,
    /// Making and freeing communicators, windows and requests.
    Other,
}

/// What tells communicators apart: two ranks speak of the same one when all of this agrees.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct CommunicatorIdentity {
    /// The members in the order of their rank in it; `None` for a process outside the job.
    pub members: Vec<Option<Rank>>,
    /// The other group of an intercommunicator; empty for an intracommunicator.
    pub remote_members: Vec<Option<Rank>>,
    /// The lowest number that no other living communicator with these members had.
    pub slot: u32,
    /// How many communicators had had it, this one counted.
    pub created: u32,
}

impl CommunicatorIdentity {
    /// The same without what tells it from others with the same members.
    #[must_use]
    pub fn communicator(&self) -> Communicator {
        Communicator {
            name: String::new(),
            members: self.members.clone(),
            remote_members: self.remote_members.clone(),
            created: 1,
        }
    }
}
