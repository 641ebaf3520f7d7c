//! When a network device is occupied: the completion of sends from their start times, by processor
//! sharing.
//!
//! The modified leaky bucket of Koop et al. 2009, section V.B.3: processes that send at once share the
//! bandwidth that was measured for their number. One process sends its messages one after the other.
//! In virtual time (Parekh and Gallager 1993) this takes O(log n) per send: V grows by B(k)/k per second
//! while k processes send; a message gets the finish tag V(arrival) + length, or the tag of the process's
//! message before it + length if that is later, and ends when V reaches its tag. V begins anew whenever
//! the device is idle, so that no precision is lost over time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::bins::Bins;
use super::curve::Curve;

/// A message at one end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transfer {
    /// Seconds: when it was handed over for sending, or when it was completely received.
    pub time: f64,
    /// Its length.
    pub bytes: u64,
    /// The process at this end.
    pub process: u32,
    /// The process at the other end.
    pub peer: u32,
}

/// How transfers occupy one direction of a device.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Occupation {
    /// By transfer: the other end of its time on the device, in seconds. Of sends it is the completion,
    /// of receives the begin.
    pub other_end: Vec<f64>,
    /// Seconds with k processes at once. Index: k; that of 0 is not counted.
    pub by_senders: Vec<f64>,
    /// When the device is busy: disjoint intervals, ascending.
    pub busy: Vec<(f64, f64)>,
    /// Bytes over time, if wanted.
    pub bins: Option<Bins>,
}

impl Occupation {
    /// Sends through a device, in ascending order of time.
    #[must_use]
    pub fn of_sends(sends: &[Transfer], curve: &Curve, bins: Option<Bins>) -> Self {
        Sweep::new(curve, bins, sends).run(sends.iter().copied())
    }

    /// Receives from a device, in ascending order of time: the same, backwards from their completion.
    #[must_use]
    pub fn of_receives(receives: &[Transfer], curve: &Curve, bins: Option<Bins>) -> Self {
        let backwards =
            receives.iter().rev().map(|receive| Transfer { time: -receive.time, ..*receive });
        let mut found = Sweep::new(curve, bins.map(Bins::mirrored), receives).run(backwards);
        found.other_end.reverse();
        found.other_end.iter_mut().for_each(|time| *time = -*time);
        found.busy.reverse();
        found.busy.iter_mut().for_each(|(begin, end)| (*begin, *end) = (-*end, -*begin));
        found.bins = found.bins.map(Bins::mirrored);
        found
    }

    /// Seconds in which it is busy.
    #[must_use]
    pub fn busy_time(&self) -> f64 {
        self.by_senders.iter().sum()
    }

    /// Seconds in which several processes use it at once.
    #[must_use]
    pub fn overlap_time(&self) -> f64 {
        self.by_senders.iter().skip(2).fold(0.0, |sum, time| sum + time)
    }
}

/// A process at the device.
#[derive(Debug, Clone, Copy, Default)]
struct Process {
    /// Messages that have not ended.
    pending: u32,
    /// The finish tag of its last message.
    tag: f64,
}

struct Sweep<'a> {
    curve: &'a Curve,
    now: f64,
    virtual_time: f64,
    /// Processes with messages.
    senders: usize,
    /// Index: process.
    processes: Vec<Process>,
    process_of: Vec<u32>,
    /// Finish tags, as bits (they are not negative, so bits have their order), with the transfers.
    tags: BinaryHeap<Reverse<(u64, u32)>>,
    found: Occupation,
}

impl<'a> Sweep<'a> {
    fn new(curve: &'a Curve, bins: Option<Bins>, transfers: &[Transfer]) -> Self {
        let processes = transfers.iter().map(|transfer| transfer.process as usize + 1).max();
        let other_end = vec![0.0; transfers.len()];
        Self {
            curve,
            now: f64::NEG_INFINITY,
            virtual_time: 0.0,
            senders: 0,
            processes: vec![Process::default(); processes.unwrap_or(0)],
            process_of: Vec::with_capacity(transfers.len()),
            tags: BinaryHeap::new(),
            found: Occupation { other_end, by_senders: vec![0.0; 2], busy: Vec::new(), bins },
        }
    }

    fn run(mut self, transfers: impl Iterator<Item = Transfer>) -> Occupation {
        for (number, transfer) in (0..).zip(transfers) {
            self.advance(transfer.time);
            self.begin(number, transfer);
        }
        self.advance(f64::INFINITY);
        self.found
    }

    fn begin(&mut self, number: u32, transfer: Transfer) {
        if self.senders == 0 {
            (self.now, self.virtual_time) = (transfer.time, 0.0);
            if self.found.busy.last().is_none_or(|(_, end)| *end < self.now) {
                self.found.busy.push((self.now, self.now));
            }
        }
        let process = &mut self.processes[transfer.process as usize];
        let from = if process.pending > 0 { process.tag } else { self.virtual_time };
        process.tag = from + transfer.bytes as f64;
        self.senders += usize::from(process.pending == 0);
        process.pending += 1;
        self.process_of.push(transfer.process);
        self.tags.push(Reverse((process.tag.to_bits(), number)));
    }

    /// Ends what ends until `time`.
    fn advance(&mut self, time: f64) {
        while let Some(&Reverse((tag, number))) = self.tags.peek() {
            let tag = f64::from_bits(tag);
            let rate = self.curve.rate(self.senders) / self.senders as f64;
            let end = self.now + (tag - self.virtual_time).max(0.0) / rate;
            if end > time {
                self.pass(time);
                self.virtual_time += (time - self.now) * rate;
                self.now = time;
                return;
            }
            self.pass(end);
            (self.now, self.virtual_time) = (end, tag);
            self.tags.pop();
            self.found.other_end[number as usize] = end;
            let process = &mut self.processes[self.process_of[number as usize] as usize];
            process.pending -= 1;
            self.senders -= usize::from(process.pending == 0);
        }
    }

    /// Time passes with the same senders.
    fn pass(&mut self, until: f64) {
        let Some(last) = self.found.busy.last_mut() else { return };
        last.1 = until;
        let by_senders = &mut self.found.by_senders;
        if by_senders.len() <= self.senders {
            by_senders.resize(self.senders + 1, 0.0);
        }
        by_senders[self.senders] += until - self.now;
        if let Some(bins) = &mut self.found.bins {
            bins.add(self.now, until, (until - self.now) * self.curve.rate(self.senders));
        }
    }
}
