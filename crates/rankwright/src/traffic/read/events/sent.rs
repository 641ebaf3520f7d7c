//! The messages of one rank in the order sent; shows whether its behaviour is stable during the run
//! (Fig. 7, Soryani et al. 2013).

use serde::Serialize;

use super::store::{Recording, Stream};
use super::{Call, Peer};
use crate::files::InputError;
use crate::ids::Rank;
use crate::units::Seconds;

/// One message sent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SentMessage {
    /// Start of the call, since MPI started on the rank.
    #[serde(serialize_with = "in_seconds", rename = "time_s")]
    pub time: Seconds,
    /// Receiving rank.
    pub destination: Rank,
    /// Length, in bytes.
    pub bytes: u64,
}

fn in_seconds<S: serde::Serializer>(time: &Seconds, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.0)
}

/// Iterator over the point-to-point messages of a rank to ranks of its job.
#[derive(Debug)]
pub struct SentMessages<'a> {
    events: Stream<'a>,
    /// End of the last call, in seconds, by thread.
    clocks: Vec<f64>,
}

impl<'a> SentMessages<'a> {
    /// The messages sent by `rank`.
    ///
    /// # Errors
    /// If the profile is damaged.
    pub fn new(recording: &'a Recording, rank: Rank) -> Result<Self, InputError> {
        Ok(Self { events: recording.stream(rank)?, clocks: Vec::new() })
    }
}

impl Iterator for SentMessages<'_> {
    type Item = Result<SentMessage, InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let event = match self.events.next()? {
                Ok(event) => event,
                Err(error) => return Some(Err(error)),
            };
            let thread = event.thread as usize;
            if self.clocks.len() <= thread {
                self.clocks.resize(thread + 1, 0.0);
            }
            let begin = self.clocks[thread] + event.gap.0;
            self.clocks[thread] = begin + event.duration.0;
            if let Call::Send { message, .. } | Call::SendReceive { send: message, .. } = event.call
                && let Peer::Rank(destination) = message.peer
            {
                let time = Seconds(begin);
                return Some(Ok(SentMessage { time, destination, bytes: message.bytes }));
            }
        }
    }
}
