//! The messages of one member in one collective operation, phase by phase.
//!
//! An algorithm is written as the library runs it on one member, an `async` function that adds messages
//! and waits for them (`member.rs`). A [`Schedule`] runs it until it waits: no executor, no thread, nothing
//! kept of earlier phases. A pairwise all-to-all of 16 384 ranks costs no more memory than a barrier of two.

mod call;
mod group;
pub(super) mod linear;
mod member;

use std::cell::RefCell;
use std::fmt;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Waker};

pub use call::{Amounts, Call, element};
pub use group::Group;
pub(super) use group::Layout;
pub(super) use member::Member;

use super::algorithms;
use super::library::Library;

/// A message of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Transfer {
    /// The other member: index into [`Group`].
    pub peer: usize,
    /// Length, in bytes.
    pub bytes: u64,
}

/// Messages of one member that overlap; its next phase starts when all are complete.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Phase {
    /// What it receives.
    pub receives: Vec<Transfer>,
    /// What it sends.
    pub sends: Vec<Transfer>,
}

impl Phase {
    fn clear(&mut self) {
        self.receives.clear();
        self.sends.clear();
    }

    /// Number of messages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.receives.len() + self.sends.len()
    }

    /// Whether there is no message.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.receives.is_empty() && self.sends.is_empty()
    }

    fn send(&mut self, peer: usize, bytes: u64) {
        self.sends.push(Transfer { peer, bytes });
    }

    fn receive(&mut self, peer: usize, bytes: u64) {
        self.receives.push(Transfer { peer, bytes });
    }
}

/// The phases of one member in one operation.
pub struct Schedule<'a> {
    /// `None` after its end.
    algorithm: Option<Pin<Box<dyn Future<Output = ()> + 'a>>>,
    /// Where the algorithm puts its messages.
    phase: Rc<RefCell<Phase>>,
}

impl<'a> Schedule<'a> {
    /// The phases of member `me` (index into `group`) with the algorithm that `library` chooses.
    #[must_use]
    pub fn new(library: &'a Library, call: Call<'a>, group: &'a Group, me: usize) -> Self {
        let phase = Rc::<RefCell<Phase>>::default();
        let member = Member::new(group, me, Rc::clone(&phase));
        Self { algorithm: Some(Box::pin(algorithms::run(library, call, member))), phase }
    }

    /// Fills the next phase that has messages; false after the last.
    pub fn next(&mut self, phase: &mut Phase) -> bool {
        phase.clear();
        let Some(algorithm) = &mut self.algorithm else { return false };
        self.phase.replace(std::mem::take(phase));
        let polled = algorithm.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        *phase = self.phase.take();
        if polled.is_ready() {
            self.algorithm = None;
        }
        !phase.is_empty()
    }
}

impl fmt::Debug for Schedule<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Schedule").field("ended", &self.algorithm.is_none()).finish()
    }
}
