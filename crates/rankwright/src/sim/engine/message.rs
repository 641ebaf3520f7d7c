//! What happens to one message: it comes to a server, goes on to the next or arrives.

use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp1};

use super::{CROWD, Engine};
use crate::sim::network::{End, Hop, Lane, NONE, Stream};
use crate::sim::queue::{Entry, NEVER, Train};

impl<const PLAIN: bool> Engine<'_, PLAIN> {
    /// A message comes to a server.
    #[inline(always)]
    pub(super) fn arrive(&mut self, entry: Entry) {
        let network = self.network;
        let hop = &network.hops[entry.hop as usize];
        let service = match &mut self.random {
            Some(random) if !PLAIN => exponential(hop.service, &mut random[hop.server as usize]),
            _ => hop.service,
        };
        let (departure, wait) = self.servers[hop.server as usize].serve(entry.time, service);
        if !PLAIN && self.random.is_some() {
            self.jobs[network.hop_jobs[entry.hop as usize] as usize].waiting += u128::from(wait);
        }
        if !PLAIN && self.closed {
            self.release(network.hop_releases[entry.hop as usize], departure);
        }
        if hop.next == NONE {
            self.deliver(&network.ends[hop.stream as usize], entry.birth, departure);
        } else {
            self.forward(hop, departure, entry.birth);
        }
    }

    #[inline(always)]
    fn forward(&mut self, hop: &Hop, departure: u64, birth: u64) {
        let number = hop.stream as usize;
        let stream = &self.network.streams[number];
        let time = departure.saturating_add(stream.latency);
        match stream.lane {
            Lane::Outbound { .. } => {
                if PLAIN && self.is_next(stream.zone, time) {
                    self.work += 1;
                    return self.pass(Entry { time, birth, hop: hop.next });
                }
                self.board(number, Train { time, step: 0, birth, first: hop.next, count: 1 });
                return;
            }
            Lane::Through => return self.pass(Entry { time, birth, hop: hop.next }),
            _ => (),
        }
        self.enqueue(number, Entry { time, birth, hop: hop.next });
    }

    /// Appends to a stream that is not outbound.
    #[inline(always)]
    pub(super) fn enqueue(&mut self, stream: usize, entry: Entry) {
        let queue = &mut self.queues[stream];
        let length = queue.len();
        queue.push(entry);
        if length & (CROWD - 1) == 0 {
            self.notice(stream, length, entry.time);
        }
    }

    /// Whether what enters an outbound stream is sure to be the next message out of them: what comes
    /// of later ticks is later. Of several messages of a tick a later one may be the first.
    #[inline]
    fn is_next(&self, zone: usize, time: u64) -> bool {
        let state = &self.zones[zone];
        self.single
            && zone == self.active
            && state.outbound.first().0 == NEVER
            && time <= state.prompt.first().0
    }

    /// A message comes to a server and is the next one there, whatever happens elsewhere until then.
    #[inline(never)]
    fn pass(&mut self, entry: Entry) {
        self.arrive(entry);
    }

    /// A queue that was empty has its first message, or one more crowd.
    #[inline(never)]
    fn notice(&mut self, stream: usize, length: usize, time: u64) {
        let Stream { zone, to, lane, .. } = self.network.streams[stream];
        match lane {
            Lane::Final if length > 0 && zone != self.active => {
                self.crowded.push((zone, to as usize));
                self.interrupted = true;
            }
            Lane::Prompt { slot } if length == 0 => {
                self.zones[zone].prompt.set(slot, time);
                self.interrupted = true;
                if zone != self.active {
                    self.refresh(zone);
                }
            }
            Lane::Export if length == 0 && zone != self.active => {
                self.interrupted = true;
                self.refresh(zone);
            }
            _ => (),
        }
    }

    /// A message leaves its last server, or its sender if it passes none.
    #[inline(always)]
    pub(super) fn deliver(&mut self, end: &End, birth: u64, departure: u64) {
        let time = departure.saturating_add(end.latency);
        let latency = time - birth;
        let job = &mut self.jobs[end.job as usize];
        job.arrived(latency, time);
        if PLAIN || self.random.is_none() {
            job.waiting += u128::from(latency - end.base);
        }
        if !PLAIN && self.closed {
            self.release(end.releases, time);
        }
    }

    /// A source waits for one message less.
    fn release(&mut self, source: u32, time: u64) {
        if source == NONE {
            return;
        }
        let state = &mut self.sources[source as usize];
        state.ready = state.ready.max(time);
        state.outstanding -= 1;
        if state.outstanding == 0 {
            self.interrupted = true;
            self.schedule(source as usize);
        }
    }
}

/// At least one picosecond, as all services.
fn exponential(mean: u64, random: &mut ChaCha8Rng) -> u64 {
    let part: f64 = Exp1.sample(random);
    ((mean as f64 * part).round() as u64).max(1)
}
