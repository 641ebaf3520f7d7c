//! The state of a rank of a replay.

use std::collections::VecDeque;

use crate::sim::time::Time;
use crate::traffic::read::events::steps::Steps;

/// A rank on its way through its steps.
#[derive(Debug)]
pub(super) struct RankState<'a> {
    pub(super) steps: Steps<'a>,
    /// The time that it has reached.
    pub(super) clock: Time,
    /// Its messages from number `first` on.
    messages: VecDeque<State>,
    first: u64,
    /// The number of messages that it waits for and whose completion is not known.
    pub(super) awaited: usize,
    /// The latest completion of those that it waits for, as far as known.
    ready: Time,
    /// How long it has waited so far.
    pub(super) waited: Time,
    /// The earliest time at which its next message can leave (g of LogGP).
    pub(super) next_send: Time,
    /// Whether it has finished its last step.
    pub(super) ended: bool,
}

/// A message of a rank, sent or received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// Open, and the rank waits for it.
    Awaited,
    /// Complete at this time; the rank has not waited for it yet. Then the core's time for it.
    Complete(Time, Time),
    /// The rank has waited for it, or will not.
    Over,
}

impl<'a> RankState<'a> {
    pub(super) fn new(steps: Steps<'a>) -> Self {
        Self {
            steps,
            clock: 0,
            messages: VecDeque::new(),
            first: 1,
            awaited: 0,
            ready: 0,
            waited: 0,
            next_send: 0,
            ended: false,
        }
    }

    /// A message begins; numbers come in ascending order. `waits`: the rank will wait for it.
    pub(super) fn begin(&mut self, waits: bool) {
        if waits || !self.messages.is_empty() {
            self.messages.push_back(if waits { State::Open } else { State::Over });
        } else {
            self.first += 1;
        }
    }

    /// Begins to wait for these messages. Returns whether the completion of any is not known.
    pub(super) fn has_to_wait(&mut self, numbers: impl Iterator<Item = u64>) -> bool {
        self.ready = self.clock;
        for number in numbers {
            let Some(place) = number.checked_sub(self.first) else { continue };
            let Some(state) = self.messages.get_mut(place as usize) else { continue };
            match *state {
                State::Open => {
                    *state = State::Awaited;
                    self.awaited += 1;
                }
                State::Complete(time, overhead) => {
                    *state = State::Over;
                    self.ready = self.ready.max(time).saturating_add(overhead);
                }
                State::Awaited | State::Over => {}
            }
        }
        self.retire();
        self.awaited > 0
    }

    /// The rank continues when all that it waits for is complete.
    pub(super) fn resume(&mut self) {
        self.waited += self.ready - self.clock;
        self.clock = self.ready;
    }

    /// A message is complete at `time`, and the core spends `overhead` on it when the rank waits for
    /// it. Returns whether the rank continues.
    pub(super) fn complete(&mut self, number: u64, time: Time, overhead: Time) -> bool {
        let Some(place) = number.checked_sub(self.first) else { return false };
        let Some(state) = self.messages.get_mut(place as usize) else { return false };
        match *state {
            State::Open => {
                *state = State::Complete(time, overhead);
                false
            }
            State::Awaited => {
                *state = State::Over;
                self.ready = self.ready.max(time).saturating_add(overhead);
                self.awaited -= 1;
                self.retire();
                self.awaited == 0
            }
            State::Complete(..) | State::Over => false,
        }
    }

    fn retire(&mut self) {
        while self.messages.front() == Some(&State::Over) {
            self.messages.pop_front();
            self.first += 1;
        }
    }
}
