//! The events inside a zone.

use super::{BATCH, Engine, NO_ZONE, STRETCH};
use crate::sim::network::{Lane, NONE, PathStart, SendTable, Stream};
use crate::sim::queue::{Arrival, Train};
use crate::sim::time::NEVER;

impl<const PLAIN: bool> Engine<'_, PLAIN> {
    /// Advances a zone: processes its ticks and local arrivals up to the time `until`, but not more
    /// than a stretch. If `for_exports`, outbound arrivals too, and it ends once a batch is done and
    /// the next export is known.
    pub(super) fn advance(&mut self, zone: usize, until: u64, for_exports: bool) {
        self.advancing = zone;
        let tick_slot = self.network.zones[zone].local.len();
        let (batch, stretch) = (self.work + BATCH, self.work + STRETCH);
        while self.work < stretch {
            if for_exports {
                self.run_outbound(zone);
                let through = !self.network.zones[zone].through_servers.is_empty();
                let done = through || self.exports_known(zone);
                if self.work >= batch && done && !self.remote_release {
                    break;
                }
            }
            let (time, slot) = self.zones[zone].local.first();
            if time > until || time == NEVER {
                break;
            }
            if slot == tick_slot {
                self.tick(zone, time);
            } else {
                self.run_local(zone, slot, until);
            }
        }
        self.advancing = NO_ZONE;
        self.refresh(zone);
    }

    /// Runs of the outbound streams of a zone, merged, about a batch: up to the next tick or local
    /// arrival, which can send messages to outbound servers only later.
    fn run_outbound(&mut self, zone: usize) {
        let network = self.network;
        let mut until = self.zones[zone].local.first().0;
        if self.remote_release {
            // An arrival in another zone may start a round here, but not before now.
            until = until.min(self.now);
        }
        let batch = self.work + BATCH;
        while self.work < batch {
            let (time, slot) = self.zones[zone].outbound.first();
            if time > until || time == NEVER {
                break;
            }
            let stream = network.zones[zone].outbound[slot];
            let beside = self.zones[zone].outbound.first_beside(slot);
            let bound = beside.min(until.saturating_add(1));
            self.interrupted = false;
            let Train { mut time, step, sent, first, count } = *self.trains[stream].front();
            let mut taken = 0;
            loop {
                let hop = network.train_hops[(first + taken) as usize];
                self.arrive(Arrival { time, sent, hop });
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
                *self.trains[stream].front() = Train { time, step, sent, first, count };
            }
            self.zones[zone].outbound.set(slot, self.trains[stream].first());
        }
    }

    /// A run of the local stream in a slot: its arrivals up to the time `until` and before the heads
    /// of other local streams and the next tick, at least one.
    fn run_local(&mut self, zone: usize, slot: usize, until: u64) {
        let network = self.network;
        let stream = network.zones[zone].local[slot];
        let Stream { from, to, .. } = network.streams[stream];
        let bound = self.zones[zone].local.first_beside(slot).min(until.saturating_add(1));
        self.interrupted = false;
        loop {
            let arrival = self.queues[stream].pop();
            self.run_final(to as usize, arrival.time, from);
            self.arrive(arrival);
            self.work += 1;
            if self.queues[stream].first() >= bound || self.interrupted {
                break;
            }
        }
        let head = self.queues[stream].first();
        self.zones[zone].local.set(slot, head);
    }

    /// Processes the arrivals in the final streams of a server up to the time `until`; at that time
    /// only those from servers with lower numbers than `from`.
    #[inline]
    pub(super) fn run_final(&mut self, server: usize, until: u64, from: u32) {
        let streams = &self.network.final_streams[server];
        if !streams.is_empty() {
            self.run_final_streams(streams, until, from);
        }
    }

    fn run_final_streams(&mut self, streams: &[usize], until: u64, from: u32) {
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
            let after = time == until && self.network.streams[stream].from >= from;
            if time > until || time == NEVER || after {
                return;
            }
            let bound = beside.min(until);
            loop {
                let arrival = self.queues[stream].pop();
                self.arrive(arrival);
                self.work += 1;
                if self.queues[stream].first() >= bound {
                    break;
                }
            }
        }
    }

    /// The next source of a zone sends.
    fn tick(&mut self, zone: usize, time: u64) {
        let network = self.network;
        let state = &mut self.zones[zone];
        let slot = if self.closed { state.rounds.first().1 } else { state.ticks.first().1 };
        let number = network.zones[zone].sources[slot];
        let table = &network.sources[number];
        self.ticks += 1;
        self.work += 1;
        self.one_message_tick = table.messages == 1;
        let round = self.sources[number].round;
        self.sources[number].round += 1;
        if self.closed {
            self.sources[number].outstanding = table.messages;
            self.sources[number].begun = time;
            self.set_round(zone, slot, NEVER);
        } else {
            state.ticks.pop();
            self.schedule_tick(zone);
        }
        let mut up_to_date = NONE;
        for send in &table.sends {
            let PathStart { hop, delayed } = match send {
                SendTable::Single(hop) | SendTable::Train { hop, .. } => {
                    PathStart { hop: *hop, delayed: NONE }
                }
                SendTable::Delayed(start) => *start,
                SendTable::InTurn { paths, first_turn, step } => {
                    let turn = first_turn.wrapping_add(round.wrapping_mul(*step));
                    paths[(turn % paths.len() as u64) as usize]
                }
                SendTable::WithoutServer(end) => {
                    self.deliver(&network.ends[*end as usize], time, time);
                    continue;
                }
            };
            if delayed != NONE {
                let later = time.saturating_add(network.streams[delayed as usize].latency);
                self.enqueue(delayed as usize, Arrival { time: later, sent: time, hop });
                continue;
            }
            let server = network.hops[hop as usize].server;
            if server != up_to_date {
                self.run_final(server as usize, time, NONE);
                up_to_date = server;
            }
            match send {
                SendTable::Train { first, count, .. } => self.send_train(time, hop, *first, *count),
                _ => self.arrive(Arrival { time, sent: time, hop }),
            }
        }
    }

    /// A train arrives at its first server.
    fn send_train(&mut self, now: u64, hop: u32, first: u32, count: u32) {
        let hop = &self.network.hops[hop as usize];
        let step = hop.service;
        let server = &mut self.servers[hop.server as usize];
        let Some(time) = server.serve_train(now, step, u64::from(count)) else {
            return;
        };
        let stream = &self.network.streams[hop.stream as usize];
        let time = time.saturating_add(stream.latency);
        self.enqueue_train(hop.stream as usize, Train { time, step, sent: now, first, count });
    }

    /// Appends to an outbound stream.
    #[inline]
    pub(super) fn enqueue_train(&mut self, stream: usize, train: Train) {
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

    /// In an open loop: puts the next tick of a zone into its last slot.
    pub(super) fn schedule_tick(&mut self, zone: usize) {
        let state = &mut self.zones[zone];
        state.local.set(self.network.zones[zone].local.len(), state.ticks.first().0);
    }

    /// In a closed loop: sets when the next round of a source begins.
    pub(super) fn schedule_round(&mut self, source: usize) {
        let state = &mut self.sources[source];
        let time = match state.clock.as_mut().and_then(Iterator::next) {
            Some(tick) => tick.saturating_add(state.stood).max(state.ready),
            None => NEVER,
        };
        let table = &self.network.sources[source];
        self.set_round(table.zone, table.slot, time);
        if self.advancing != table.zone {
            self.refresh(table.zone);
        }
    }

    /// `slot`: position of the source among those of the zone.
    fn set_round(&mut self, zone: usize, slot: usize, time: u64) {
        let state = &mut self.zones[zone];
        state.rounds.set(slot, time);
        state.local.set(self.network.zones[zone].local.len(), state.rounds.first().0);
    }
}
