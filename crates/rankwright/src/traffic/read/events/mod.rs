//! Event recordings: every MPI call of every rank in program order (`rankwright profile --events`).
//!
//! | module | does |
//! |---|---|
//! | [`spool`] | reads `rank-N.events`, the tracer's file of one rank |
//! | `decode` | bytes to [`Event`]s |
//! | [`store`] | events in the profile: written once, streamed rank by rank |
//! | [`matching`] | finds communicators and collective operations across ranks |
//! | [`steps`], `expanded` | what a replay executes: compute, messages, waits |
//! | [`sent`] | the messages of one rank in order |
//! | [`simgrid`], [`goal`] | exports for SimGrid and LogGOPSim; `export` has what they share |
//!
//! There may be many millions of events, so they are read in blocks.

mod decode;
mod expanded;
pub mod export;
pub mod goal;
pub mod matching;
mod requests;
#[cfg(test)]
pub(crate) mod sample;
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

/// One MPI call of a rank.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Event {
    /// Calling thread, numbered from 0 in order of first call.
    pub thread: u32,
    /// Time outside MPI before the call: since the previous event of this thread, or since MPI
    /// started on the rank.
    pub gap: Seconds,
    /// The part of the gap in which the thread waited for a PU, as far as it was recorded (from version 2
    /// on, in gaps of more than 60 us); of [`Call::Polls`] also between the calls.
    pub waited: Seconds,
    /// Time inside the call.
    pub duration: Seconds,
    /// The call.
    pub call: Call,
}

/// A call and its arguments. Requests are numbered per rank, from 0, in order of creation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Call {
    /// A send by any call except `MPI_Sendrecv`.
    Send {
        /// Receiver and length of the message sent.
        message: Message,
        /// Send mode.
        mode: SendMode,
        /// Request number if nonblocking.
        request: Option<u64>,
        /// Whether a persistent request was started.
        persistent: bool,
    },
    /// A blocking receive.
    Receive {
        /// The message received.
        message: Message,
        /// Wildcards of the posted receive.
        wildcards: Wildcards,
    },
    /// A nonblocking receive; its [`Completed`] entry has the message received.
    PostedReceive {
        /// What was posted: `bytes` is the size of the buffer.
        message: Message,
        /// Wildcards of the posted receive.
        wildcards: Wildcards,
        /// Request number.
        request: u64,
        /// Whether a persistent request was started.
        persistent: bool,
    },
    /// `MPI_Sendrecv` and variants. With a request, `receive` is what was posted, otherwise what
    /// was received.
    SendReceive {
        /// Receiver and length of the message sent.
        send: Message,
        /// The receive.
        receive: Message,
        /// Wildcards of the receive.
        wildcards: Wildcards,
        /// Request number if nonblocking.
        request: Option<u64>,
    },
    /// A wait, or a test that completed at least one request.
    Completion {
        /// The function.
        call: CompletingCall,
        /// Number of active requests passed.
        active: u64,
        /// Requests that it completed.
        completed: Vec<Completed>,
    },
    /// Successive unsuccessful tests and probes.
    Polls {
        /// Number of calls.
        count: u64,
        /// Time inside these calls; the event's duration spans from the first to the last.
        inside: Seconds,
    },
    /// A successful probe.
    Probe(Message),
    /// A collective operation.
    Collective {
        /// The operation.
        operation: Operation,
        /// Communicator, by index within the rank.
        communicator: u32,
        /// Root, if the operation has one and the rank knows it.
        root: Option<Rank>,
        /// Bytes contributed by this rank's arguments.
        bytes: u64,
        /// Bytes per destination, if the arguments state them.
        row: Option<Vec<(Rank, u64)>>,
        /// Request number if nonblocking.
        request: Option<u64>,
    },
    /// Creation of a communicator.
    Creation {
        /// Parent communicator, by index within the rank.
        old: Option<u32>,
        /// New communicator, by index within the rank; `None` if this rank is not a member or it is
        /// not usable yet.
        new: Option<u32>,
        /// Request number if nonblocking.
        request: Option<u64>,
    },
    /// `MPI_Request_free` of an incomplete request.
    Free {
        /// Request number.
        request: u64,
    },
    /// A call that has no event of its own.
    Other(CallClass),
}

impl Call {
    /// The request that it creates.
    fn request(&self) -> Option<u64> {
        match self {
            Self::Send { request, .. }
            | Self::SendReceive { request, .. }
            | Self::Collective { request, .. }
            | Self::Creation { request, .. } => *request,
            Self::PostedReceive { request, .. } => Some(*request),
            Self::Receive { .. }
            | Self::Completion { .. }
            | Self::Polls { .. }
            | Self::Probe(_)
            | Self::Free { .. }
            | Self::Other(_) => None,
        }
    }
}

/// One direction of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Message {
    /// Source or destination.
    pub peer: Peer,
    /// Tag; 0 for `MPI_ANY_TAG`.
    pub tag: i32,
    /// Communicator, by index within the rank ([`store::Stream::communicators`]).
    pub communicator: u32,
    /// Length, in bytes.
    pub bytes: u64,
}

/// Source or destination of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Peer {
    /// `MPI_PROC_NULL`.
    None,
    /// A process outside the job.
    Outside,
    /// `MPI_ANY_SOURCE`.
    Any,
    /// A rank of the job.
    Rank(Rank),
}

/// Send modes.
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

/// Wildcards of a receive when it is posted.
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
    /// Request number.
    pub request: u64,
    /// Whether it was cancelled.
    pub cancelled: bool,
    /// Source, tag and bytes, for a receive.
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

/// Classes of calls, as in the times of a profile's ranks.
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
    /// Creating and freeing communicators, windows and requests.
    Other,
}

/// Identity of a communicator: two ranks mean one communicator if all fields are equal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct CommunicatorIdentity {
    /// World rank of each member, by rank in the communicator; `None` for a process outside the
    /// job.
    pub members: Vec<Option<Rank>>,
    /// Remote group of an intercommunicator; empty for an intracommunicator.
    pub remote_members: Vec<Option<Rank>>,
    /// Lowest number not used by another live communicator with these members.
    pub slot: u32,
    /// Number of communicators that have used this slot, including this one.
    pub created: u32,
}

impl CommunicatorIdentity {
    /// The communicator as a profile stores it.
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
