//! What happens inside a zone, when it must.

use super::{BATCH, Engine, NO_ZONE, STRETCH};
use crate::sim::network::{First, Lane, NONE, SendTable, Stream};
use crate::sim::queue::{Entry, NEVER, Train};

impl<const PLAIN: bool> Engine<'_, PLAIN> {
    /// Does what happens in a zone up to a time: if there is a demand for exports until some are
    /// known, and not more than a stretch.
    pub(super) fn advance(&mut self, zone: usize, until: u64, demand: bool) {
        self.active = zone;
        let ticks = self.network.zones[zone].prompt.len();
        let (some, enough) = (self.work + BATCH, self.work + STRETCH);
        while self.work < enough {
            if demand {
                self.pull(zone);
                let done = !self.network.zones[zone].passed.is_empty() || self.is_known(zone);
                if self.work >= some && done && !self.remote_release {
                    break;
                }
            }
            let (time, slot) = self.zones[zone].prompt.first();
            if time > until || time == NEVER {
                break;
            }
            if slot == ticks {
                self.tick(zone, time);
            } else {
                self.follow(zone, slot, until);
            }
        }
        self.active = NO_ZONE;
        self.refresh(zone);
    }

    /// Takes messages out of the outbound streams of a zone, as long as no tick or other message
    /// that is not done yet can come before them.
    fn pull(&mut self, zone: usize) {
        let network = self.network;
        let mut until = self.zones[zone].prompt.first().0;
        if self.remote_release {
            // A message that arrives elsewhere may make a tick here, but no earlier one.
            until = until.min(self.now);
        }
        let enough = self.work + BATCH;
        while self.work < enough {
            let (time, slot) = self.zones[zone].outbound.first();
            if time > until || time == NEVER {
                break;
            }
            let stream = network.zones[zone].outbound[slot];
            let beside = self.zones[zone].outbound.first_beside(slot);
            let bound = beside.min(until.saturating_add(1));
            self.interrupted = false;
            let Train { mut time, step, birth, first, count } = *self.trains[stream].front();
            let mut taken = 0;
            loop {
                let hop = network.trains[(first + taken) as usize];
                self.arrive(Entry { time, birth, hop });
                time += step;
                taken += 1;
                if taken == count || time >= bound || self.interrupted {
                    break;
                }
            }
            self.work += u64::from(taken);
            if taken == count {
                self.trains[stream].pop();
            } else {
                let (first, count) = (first + taken, count - taken);
                *self.trains[stream].front() = Train { time, step, birth, first, count };
            }
            self.zones[zone].outbound.set(slot, self.trains[stream].first());
        }
    }

    /// Takes messages out of a prompt stream before others have their turn.
    fn follow(&mut self, zone: usize, slot: usize, until: u64) {
        let network = self.network;
        let stream = network.zones[zone].prompt[slot];
        let Stream { from, to, .. } = network.streams[stream];
        let bound = self.zones[zone].prompt.first_beside(slot).min(until.saturating_add(1));
        self.interrupted = false;
        loop {
            let entry = self.queues[stream].pop();
            self.flush(to as usize, entry.time, from);
            self.arrive(entry);
            self.work += 1;
            if self.queues[stream].first() >= bound || self.interrupted {
                break;
            }
        }
        let head = self.queues[stream].first();
        self.zones[zone].prompt.set(slot, head);
    }

    /// Does what waits in the final streams of a server up to a time; at that time only what comes
    /// from servers below `from`.
    #[inline]
    pub(super) fn flush(&mut self, server: usize, until: u64, from: u32) {
        let streams = &self.network.finals[server];
        if !streams.is_empty() {
            self.flush_streams(streams, until, from);
        }
    }

    fn flush_streams(&mut self, streams: &[usize], until: u64, from: u32) {
        loop {
            let (mut stream, mut time, mut beside) = (0, NEVER, NEVER);
            for &other in streams {
                let head = self.queues[other].first();
                if head < time {
                    (stream, time, beside) = (other, head, time);
                } else {
                    beside = beside.min(head);
                }
            }
            let waits = time == until && self.network.streams[stream].from >= from;
            if time > until || time == NEVER || waits {
                return;
            }
            let bound = beside.min(until);
            loop {
                let entry = self.queues[stream].pop();
                self.arrive(entry);
                self.work += 1;
                if self.queues[stream].first() >= bound {
                    break;
                }
            }
        }
    }

    /// A source sends.
    fn tick(&mut self, zone: usize, time: u64) {
        let network = self.network;
        let state = &mut self.zones[zone];
        let slot = if self.closed { state.rounds.first().1 } else { state.ticks.first().1 };
        let number = network.zones[zone].sources[slot];
        let table = &network.sources[number];
        self.ticks += 1;
        self.work += 1;
        self.single = table.messages == 1;
        let round = self.sources[number].round;
        self.sources[number].round += 1;
        if self.closed {
            self.sources[number].outstanding = table.messages;
            self.sources[number].ready = time;
            self.set_round(zone, slot, NEVER);
        } else {
            state.ticks.pop();
            self.await_tick(zone);
        }
        let mut flushed = NONE;
        for send in &table.sends {
            let First { hop, late } = match send {
                SendTable::Single(hop) | SendTable::Train { hop, .. } => {
                    First { hop: *hop, late: NONE }
                }
                SendTable::Late(first) => *first,
                SendTable::InTurn { paths, first, step } => {
                    let turn = first.wrapping_add(round.wrapping_mul(*step));
                    paths[(turn % paths.len() as u64) as usize]
                }
                SendTable::Direct(end) => {
                    self.deliver(&network.ends[*end as usize], time, time);
                    continue;
                }
            };
            if late != NONE {
                let later = time.saturating_add(network.streams[late as usize].latency);
                self.enqueue(late as usize, Entry { time: later, birth: time, hop });
                continue;
            }
            let server = network.hops[hop as usize].server;
            if server != flushed {
                self.flush(server as usize, time, NONE);
                flushed = server;
            }
            match send {
                SendTable::Train { first, count, .. } => self.depart(time, hop, *first, *count),
                _ => self.arrive(Entry { time, birth: time, hop }),
            }
        }
    }

    /// A train comes to its first server.
    fn depart(&mut self, now: u64, hop: u32, first: u32, count: u32) {
        let hop = &self.network.hops[hop as usize];
        let step = hop.service;
        let server = &mut self.servers[hop.server as usize];
        let Some(time) = server.serve_train(now, step, u64::from(count)) else {
            return;
        };
        let stream = &self.network.streams[hop.stream as usize];
        let time = time.saturating_add(stream.latency);
        self.board(hop.stream as usize, Train { time, step, birth: now, first, count });
    }

    /// Appends to an outbound stream.
    #[inline]
    pub(super) fn board(&mut self, stream: usize, train: Train) {
        let queue = &mut self.trains[stream];
        let is_first = queue.len() == 0;
        queue.push(train);
        if is_first {
            let stream = &self.network.streams[stream];
            if let Lane::Outbound { slot } = stream.lane {
                self.zones[stream.zone].outbound.set(slot, train.time);
                self.interrupted = true;
            }
        }
    }

    /// In an open loop, enters the next tick of a zone.
    pub(super) fn await_tick(&mut self, zone: usize) {
        let state = &mut self.zones[zone];
        state.prompt.set(self.network.zones[zone].prompt.len(), state.ticks.first().0);
    }

    /// In a closed loop, sets when the next round of a source begins.
    pub(super) fn schedule(&mut self, source: usize) {
        let state = &mut self.sources[source];
        let time = match state.clock.as_mut().and_then(Iterator::next) {
            Some(time) => time.max(state.ready),
            None => NEVER,
        };
        let table = &self.network.sources[source];
        self.set_round(table.zone, table.slot, time);
        if self.active != table.zone {
            self.refresh(table.zone);
        }
    }

    fn set_round(&mut self, zone: usize, slot: usize, time: u64) {
        let state = &mut self.zones[zone];
        state.rounds.set(slot, time);
        state.prompt.set(self.network.zones[zone].prompt.len(), state.rounds.first().0);
    }
}
