//! The events of one message: it arrives at a server and goes on to the next, or to its receiver.

use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp1};

use super::{CROWD, Engine};
use crate::sim::network::{Hop, Lane, NONE, PathEnd, Stream};
use crate::sim::queue::{Arrival, Train};
use crate::sim::time::NEVER;

impl<const PLAIN: bool> Engine<'_, PLAIN> {
    /// A message arrives at a server.
    #[inline(always)]
    pub(super) fn arrive(&mut self, arrival: Arrival) {
        let network = self.network;
        let hop = &network.hops[arrival.hop as usize];
        let service = match &mut self.random {
            Some(random) if !PLAIN => exponential(hop.service, &mut random[hop.server as usize]),
            _ => hop.service,
        };
        let (departure, wait) = self.servers[hop.server as usize].serve(arrival.time, service);
        if !PLAIN && self.random.is_some() {
            self.jobs[network.hop_jobs[arrival.hop as usize] as usize].waiting += u128::from(wait);
        }
        if !PLAIN && self.closed {
            self.release(network.hop_releases[arrival.hop as usize], departure, 0);
        }
        if hop.next == NONE {
            self.deliver(&network.ends[hop.stream as usize], arrival.sent, departure);
        } else {
            self.forward(hop, departure, arrival.sent);
        }
    }

    #[inline(always)]
    fn forward(&mut self, hop: &Hop, departure: u64, sent: u64) {
        let number = hop.stream as usize;
        let stream = &self.network.streams[number];
        let time = departure.saturating_add(stream.latency);
        match stream.lane {
            Lane::Outbound { .. } => {
                if PLAIN && self.is_next_outbound(stream.zone, time) {
                    self.work += 1;
                    return self.arrive_at_once(Arrival { time, sent, hop: hop.next });
                }
                self.enqueue_train(
                    number,
                    Train { time, step: 0, sent, first: hop.next, count: 1 },
                );
                return;
            }
            Lane::Through => return self.arrive_at_once(Arrival { time, sent, hop: hop.next }),
            _ => (),
        }
        self.enqueue(number, Arrival { time, sent, hop: hop.next });
    }

    /// Appends to a stream that is not outbound.
    #[inline(always)]
    pub(super) fn enqueue(&mut self, stream: usize, arrival: Arrival) {
        let queue = &mut self.queues[stream];
        let length = queue.len();
        queue.push(arrival);
        if length & (CROWD - 1) == 0 {
            self.head_or_crowd(stream, length, arrival.time);
        }
    }

    /// Whether an arrival in an outbound stream is the next one of all outbound streams of its zone:
    /// none of them has a head, and all later ticks and local arrivals come after it. Of several
    /// messages of one tick, a later one could be the next, so the tick must have sent only one.
    #[inline]
    fn is_next_outbound(&self, zone: usize, time: u64) -> bool {
        let state = &self.zones[zone];
        self.one_message_tick
            && zone == self.advancing
            && state.outbound.first().0 == NEVER
            && time <= state.local.first().0
    }

    /// An arrival that needs no queue: it is the next at its server, whatever happens elsewhere.
    #[inline(never)]
    fn arrive_at_once(&mut self, arrival: Arrival) {
        self.arrive(arrival);
    }

    /// A stream has got its head at `time`, or its length has passed a multiple of [`CROWD`].
    #[inline(never)]
    fn head_or_crowd(&mut self, stream: usize, length: usize, time: u64) {
        let Stream { zone, to, lane, .. } = self.network.streams[stream];
        match lane {
            Lane::Final if length > 0 && zone != self.advancing => {
                self.crowded.push((zone, to as usize));
                self.interrupted = true;
            }
            Lane::Local { slot } if length == 0 => {
                self.zones[zone].local.set(slot, time);
                self.interrupted = true;
                if zone != self.advancing {
                    self.refresh(zone);
                }
            }
            Lane::Export if length == 0 && zone != self.advancing => {
                self.interrupted = true;
                self.refresh(zone);
            }
            _ => (),
        }
    }

    /// A message leaves its last server, or its sender if it passes none.
    #[inline(always)]
    pub(super) fn deliver(&mut self, end: &PathEnd, sent: u64, departure: u64) {
        let time = departure.saturating_add(end.latency);
        let latency = time - sent;
        let job = &mut self.jobs[end.job as usize];
        job.arrived(latency, time);
        if PLAIN || self.random.is_none() {
            job.waiting += u128::from(latency - end.unloaded);
        }
        if !PLAIN && self.closed {
            self.release(end.releases, time, end.overlap);
        }
    }

    /// Counts one outstanding message less for a source; does nothing if `source` is [`NONE`]. `overlap`: the services of
    /// the message that real networks do at the same time as its longest, picoseconds.
    fn release(&mut self, source: u32, time: u64, overlap: u64) {
        if source == NONE {
            return;
        }
        let state = &mut self.sources[source as usize];
        state.ready = state.ready.max(time);
        // The overlap is computed from mean services; random ones may be shorter.
        let on_its_way = (time - state.begun).saturating_sub(overlap);
        state.stands = state.stands.max(state.stood.saturating_add(on_its_way));
        state.outstanding -= 1;
        if state.outstanding == 0 {
            state.stood = state.stands;
            self.interrupted = true;
            self.schedule_round(source as usize);
        }
    }
}

/// At least one picosecond, as all services.
fn exponential(mean: u64, random: &mut ChaCha8Rng) -> u64 {
    let part: f64 = Exp1.sample(random);
    ((mean as f64 * part).round() as u64).max(1)
}
