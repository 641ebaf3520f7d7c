//! What the exports of events to other simulators share.

use std::collections::BTreeMap;

use super::matching::Matching;
use super::steps::Channel;
use crate::files::{InputError, WriteError};

/// Why the export failed.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The events are damaged or cannot be replayed.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A file could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Tags that keep the messages of different communicators apart.
pub(super) struct Tags {
    /// New tag by (communicator, tag); empty if all messages are on `MPI_COMM_WORLD`, whose tags
    /// stay.
    numbers: BTreeMap<(usize, i32), i32>,
    /// Tag of collective messages on communicator 0; communicator n adds n.
    of_collectives: i32,
    communicators: i32,
}

/// So many nonblocking operations of a communicator may be under way, each with a tag of its own.
const UNDER_WAY: u32 = 1024;

impl Tags {
    pub(super) fn new(matching: &Matching) -> Self {
        let largest = matching.tags.iter().map(|(_, tag)| *tag).max().unwrap_or_default();
        let communicators = i32::try_from(matching.communicators.len()).unwrap_or(i32::MAX);
        let room = communicators.saturating_mul(1 + UNDER_WAY.cast_signed());
        let on_world = matching.tags.iter().all(|(communicator, _)| *communicator == 0);
        match largest.checked_add(1).filter(|after| on_world && after.checked_add(room).is_some()) {
            Some(of_collectives) => {
                Self { numbers: BTreeMap::new(), of_collectives, communicators }
            }
            None => {
                let numbers: BTreeMap<_, _> = matching.tags.iter().copied().zip(0..).collect();
                let of_collectives = i32::try_from(numbers.len()).unwrap_or(i32::MAX);
                Self { numbers, of_collectives, communicators }
            }
        }
    }

    pub(super) fn tag(&self, channel: Channel) -> i32 {
        match channel {
            Channel::Program(communicator, tag) => {
                self.numbers.get(&(communicator as usize, tag)).copied().unwrap_or(tag)
            }
            Channel::Collective(communicator) => {
                let number = i32::try_from(communicator).unwrap_or(i32::MAX);
                self.of_collectives.saturating_add(number)
            }
            Channel::Nonblocking(communicator, call) => {
                let before = (1 + call % UNDER_WAY).cast_signed();
                let before = self.communicators.saturating_mul(before);
                self.tag(Channel::Collective(communicator)).saturating_add(before)
            }
        }
    }
}
