//! How much and by how many the network is used.

use serde::Serialize;

use super::occupation::Transfer;
use super::{Device, union};

/// The shortest large message, in bytes. The paper gives shares of large messages (FT 24 %, LU 0.6 %) but
/// no limit; those of these programs are far from it on both sides. MPI libraries send longer messages by
/// rendezvous.
pub const LARGE: u64 = 16 << 10;

/// Idle times below this share of the run do not end a phase.
const PAUSE: f64 = 1e-3;

/// How the network is used. Shares are from 0 to 1.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Measures {
    /// Share of the run in which some device sends or receives.
    pub used: f64,
    /// Share of the run in which a device sends, on average over the devices.
    pub utilisation: f64,
    /// Seconds, summed over devices, in which k processes send at once. Index: k; that of 0 is not counted.
    pub by_senders: Vec<f64>,
    /// Share of the time in which a device sends that several processes do so at once.
    pub overlap: f64,
    /// Messages between nodes.
    pub messages: u64,
    /// Bytes between nodes.
    pub bytes: u64,
    /// Share of the messages with [`LARGE`] bytes or more.
    pub large_messages: f64,
    /// Share of the bytes in large messages.
    pub large_bytes: f64,
    /// Phases of communication.
    pub phases: Phases,
}

/// Phases: times in which some device is busy, with pauses of less than a thousandth of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Phases {
    /// Their number.
    pub count: usize,
    /// Their mean length, in seconds.
    pub length_s: f64,
    /// The mean time from the begin of one to that of the next, in seconds; 0 for fewer than two.
    pub period_s: f64,
    /// The coefficient of variation of these times.
    pub period_cv: f64,
}

/// Large messages among all.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Large {
    messages: [u64; 2],
    bytes: [u64; 2],
}

impl Large {
    pub(super) fn of<'a>(sends: impl Iterator<Item = &'a Transfer>) -> Self {
        let mut large = Self::default();
        for send in sends {
            let kind = usize::from(send.bytes >= LARGE);
            large.messages[kind] += 1;
            large.bytes[kind] += send.bytes;
        }
        large
    }
}

impl Measures {
    pub(super) fn of(devices: &[Device], span: f64, large: Large) -> Self {
        let mut by_senders = Vec::new();
        for occupation in devices.iter().map(|device| &device.out.occupation) {
            by_senders.resize(occupation.by_senders.len().max(by_senders.len()), 0.0);
            for (sum, time) in by_senders.iter_mut().zip(&occupation.by_senders) {
                *sum += time;
            }
        }
        let sending: f64 = by_senders.iter().sum();
        let several = by_senders.iter().skip(2).fold(0.0, |sum, time| sum + time);
        let both = devices.iter().flat_map(|device| [&device.out, &device.into]);
        let intervals = both.flat_map(|direction| direction.occupation.busy.iter().copied());
        // What is left over at the end of the run is not part of it.
        let busy: Vec<(f64, f64)> = union(intervals.collect());
        let inside = |(begin, end): &(f64, f64)| (end.min(span) - begin.max(0.0)).max(0.0);
        let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let sum = |values: [u64; 2]| values[0] + values[1];
        Self {
            used: ratio(busy.iter().map(inside).sum(), span),
            utilisation: ratio(sending, span * devices.len() as f64).min(1.0),
            overlap: ratio(several, sending),
            by_senders,
            messages: sum(large.messages),
            bytes: sum(large.bytes),
            large_messages: ratio(large.messages[1] as f64, sum(large.messages) as f64),
            large_bytes: ratio(large.bytes[1] as f64, sum(large.bytes) as f64),
            phases: Phases::of(&busy, span * PAUSE),
        }
    }
}

impl Phases {
    pub(super) fn of(busy: &[(f64, f64)], pause: f64) -> Self {
        let mut phases: Vec<(f64, f64)> = Vec::new();
        for interval in busy {
            match phases.last_mut() {
                Some(last) if interval.0 - last.1 < pause => last.1 = last.1.max(interval.1),
                _ => phases.push(*interval),
            }
        }
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let lengths: Vec<f64> = phases.iter().map(|(begin, end)| end - begin).collect();
        let periods: Vec<f64> = phases.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
        let period = mean(&periods);
        let squares: Vec<f64> = periods.iter().map(|time| (time - period).powi(2)).collect();
        Self {
            count: phases.len(),
            length_s: mean(&lengths),
            period_s: period,
            period_cv: if period > 0.0 { mean(&squares).sqrt() / period } else { 0.0 },
        }
    }
}
