//! The state of a rank of a replay.

use std::collections::VecDeque;

use crate::sim::time::Time;

/// A rank on its way through its steps.
#[derive(Debug)]
pub(super) struct RankState {
    /// The time that it has reached.
    pub(super) clock: Time,
    messages: Messages,
    /// The number of messages that it waits for and whose completion is not known.
    pub(super) awaited: usize,
    /// The latest completion of those that it waits for, as far as known.
    ready: Time,
    /// Those that take time of the core: when they are complete, that time.
    handled: Vec<(Time, Time)>,
    /// How long it has waited so far.
    pub(super) waited: Time,
    /// The earliest time at which its next message can leave (g of LogGP).
    pub(super) next_send: Time,
    /// Whether it has finished its last step.
    pub(super) ended: bool,
    /// The number of messages of earlier runs of its program.
    base: u64,
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

impl RankState {
    pub(super) fn new() -> Self {
        Self {
            clock: 0,
            messages: Messages { states: VecDeque::new(), first: 1 },
            awaited: 0,
            ready: 0,
            handled: Vec::new(),
            waited: 0,
            next_send: 0,
            ended: false,
            base: 0,
        }
    }

    /// The number of a message from its number in this run of the program.
    pub(super) fn numbered(&self, number: u64) -> u64 {
        self.base + number
    }

    /// As [`numbered`](Self::numbered), back.
    pub(super) fn number_in_run(&self, number: u64) -> u64 {
        number - self.base
    }

    /// Begins the program again at `time`. Completions of messages of the run before change nothing any
    /// more.
    pub(super) fn restart(&mut self, time: Time) {
        let base = self.messages.first + self.messages.states.len() as u64 - 1;
        let messages = Messages { states: VecDeque::new(), first: base + 1 };
        *self = Self {
            clock: time,
            next_send: time,
            waited: self.waited,
            messages,
            base,
            ..Self::new()
        };
    }

    /// A message begins; numbers come in ascending order. `waits`: the rank will wait for it.
    pub(super) fn begin(&mut self, waits: bool) {
        self.messages.states.push_back(if waits { State::Open } else { State::Over });
        self.messages.retire();
    }

    /// Begins to wait for these messages, by their numbers in this run of the program. Returns whether
    /// the completion of any is not known.
    pub(super) fn has_to_wait(&mut self, numbers: impl Iterator<Item = u64>) -> bool {
        self.ready = self.clock;
        let base = self.base;
        for number in numbers.map(|number| base + number) {
            match self.messages.wait_for(number) {
                Known::Complete(time, overhead) => self.handle(time, overhead),
                Known::Open => self.awaited += 1,
                Known::Over => {}
            }
        }
        self.messages.retire();
        self.awaited > 0
    }

    fn handle(&mut self, time: Time, overhead: Time) {
        self.ready = self.ready.max(time);
        if overhead > 0 {
            self.handled.push((time, overhead));
        }
    }

    /// The rank continues when all that it waits for is complete. The core takes up messages in the
    /// order in which they are.
    pub(super) fn resume(&mut self) {
        self.handled.sort_unstable();
        let mut core = self.clock;
        for (time, overhead) in self.handled.drain(..) {
            core = core.max(time).saturating_add(overhead);
        }
        self.ready = self.ready.max(core);
        self.waited += self.ready - self.clock;
        self.clock = self.ready;
    }

    /// A message is complete at `time`, and the core spends `overhead` on it when the rank waits for
    /// it. Returns whether the rank continues.
    pub(super) fn complete(&mut self, number: u64, time: Time, overhead: Time) -> bool {
        let Some(state) = self.messages.get(number) else { return false };
        match *state {
            State::Open => {
                *state = State::Complete(time, overhead);
                false
            }
            State::Awaited => {
                *state = State::Over;
                self.awaited -= 1;
                self.messages.retire();
                self.handle(time, overhead);
                self.awaited == 0
            }
            State::Complete(..) | State::Over => false,
        }
    }
}

/// What is known of a message's completion.
enum Known {
    Open,
    Complete(Time, Time),
    Over,
}

/// A window over the messages of a rank: those from `first` on.
#[derive(Debug)]
struct Messages {
    states: VecDeque<State>,
    first: u64,
}

impl Messages {
    fn get(&mut self, number: u64) -> Option<&mut State> {
        self.states.get_mut(number.checked_sub(self.first)? as usize)
    }

    /// Waits for a message. Says what is known of its completion.
    fn wait_for(&mut self, number: u64) -> Known {
        let Some(state) = self.get(number) else { return Known::Over };
        match *state {
            State::Open => {
                *state = State::Awaited;
                Known::Open
            }
            State::Complete(time, overhead) => {
                *state = State::Over;
                Known::Complete(time, overhead)
            }
            State::Awaited | State::Over => Known::Over,
        }
    }

    fn retire(&mut self) {
        while self.states.front() == Some(&State::Over) {
            self.states.pop_front();
            self.first += 1;
        }
    }
}
