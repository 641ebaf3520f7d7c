//! Message timing: the clocks by which ranks send.

use std::ops::RangeInclusive;

use serde::Serialize;

use super::{Flow, Job, TrafficError, Workload};
use crate::ids::Rank;
use crate::units::{Bytes, PerSecond};

/// A clock of a rank. Each tick sends one message of each of its [`Send`]s, in order. A rank may
/// have several clocks, which tick independently.
///
/// The synthetic workloads of Soryani et al. 2012 and 2013 have one clock per process, with one
/// send to each destination of the pattern.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Source {
    /// Sending rank.
    pub rank: Rank,
    /// λ: ticks per second.
    pub rate: PerSecond,
    /// Ca: the coefficient of variation of the gaps between ticks. 0 is periodic, 1 is Poisson,
    /// above 1 is bursty.
    pub cv: f64,
    /// Group number. Sources of a job with equal group, rate, CV and rounds tick together, as in a
    /// bulk-synchronous program. `None` ticks independently.
    pub in_step: Option<u32>,
    /// Number of ticks.
    pub rounds: u64,
    /// Messages of each tick, in order.
    pub sends: Vec<Send>,
}

/// One message of each tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Send {
    /// Receiving rank, or [`OUTSIDE`].
    pub destination: Rank,
    /// Length of the message.
    pub length: Bytes,
}

/// Destination of messages that leave the cluster, such as the responses of a web server. They use
/// the memory and the NIC of their sender, and no flow contains them.
pub const OUTSIDE: Rank = Rank(u32::MAX);

/// The largest coefficient of variation that a source may have.
pub const LARGEST_CV: f64 = 100.0;

/// Valid tick rates, per second: from one tick in thirty years to more than a core can send.
pub const RATES: RangeInclusive<f64> = 1e-9..=1e12;

impl Job {
    /// The share of the recorded run in which the rank that computes longest computes; 1 if it is unknown,
    /// or the clocks are those of the computing already.
    pub(crate) fn computing_share(&self) -> f64 {
        let computing = self.compute.iter().map(|time| time.0).fold(0.0, f64::max);
        match self.seen.wall {
            Some(wall) if self.seen.undisturbed.is_none() && computing > 0.0 => {
                (computing / wall.0).min(1.0)
            }
            _ => 1.0,
        }
    }

    /// Builds a job from clocks. Its flows are the sums of what the sources send to ranks.
    ///
    /// # Errors
    /// If the job has 0 ranks, a source names a rank outside the job, or a source has a rate
    /// outside [`RATES`], a coefficient of variation outside 0 to [`LARGEST_CV`], 0 rounds, or 2^64
    /// bytes or more to one destination.
    pub fn from_sources(
        name: impl Into<String>,
        ranks: u32,
        mut sources: Vec<Source>,
    ) -> Result<Self, TrafficError> {
        let name = name.into();
        let mut flows = Vec::new();
        for source in &sources {
            source.check(&name)?;
            for send in source.sends.iter().filter(|send| send.destination != OUTSIDE) {
                let bytes = source.rounds.checked_mul(send.length.0);
                flows.push(Flow {
                    source: source.rank,
                    destination: send.destination,
                    messages: source.rounds,
                    bytes: bytes.ok_or_else(|| {
                        let found = format!("{} messages of {}", source.rounds, send.length);
                        source.wrong(&name, found, "fewer than 2^64 bytes to one rank")
                    })?,
                    largest: send.length.0,
                });
            }
        }
        // A stable sort: the sources of one rank keep their order.
        sources.sort_by_key(|source| source.rank);
        Ok(Self { sources, ..Self::new(name, ranks, flows)? })
    }
}

impl Workload {
    /// Multiplies all tick rates by `factor`; the messages stay.
    #[must_use]
    pub fn at_rates(mut self, factor: f64) -> Self {
        for source in self.jobs.iter_mut().flat_map(|job| &mut job.sources) {
            source.rate.0 *= factor;
        }
        self
    }

    /// The workload with the clocks of recorded jobs as a closed loop has them: they tick in the time that
    /// ranks compute, without the time inside MPI, which the messages then take. For estimates; the
    /// simulator does it itself.
    #[must_use]
    pub fn in_computing_time(mut self) -> Self {
        for job in &mut self.jobs {
            let share = job.computing_share();
            job.sources.iter_mut().for_each(|source| source.rate.0 /= share);
        }
        self
    }

    /// Number of messages sent by all clocks, [`OUTSIDE`] included.
    #[must_use]
    pub fn clocked_messages(&self) -> u64 {
        let messages = |source: &Source| source.rounds.saturating_mul(source.sends.len() as u64);
        let all = self.jobs.iter().flat_map(|job| &job.sources).map(messages);
        all.fold(0, u64::saturating_add)
    }

    /// A shorter run of the program: each clock keeps this `share` (0 to 1) of its rounds.
    /// Fractions of a round are rounded up or down in a fixed pattern, evenly over all clocks; a
    /// clock with 0 rounds is dropped. Clocks that tick together round alike.
    ///
    /// # Errors
    /// Never: part of a valid job is valid.
    pub fn shortened(&self, share: f64) -> Result<Self, TrafficError> {
        let mut jobs = Vec::new();
        for job in &self.jobs {
            let mut sources = Vec::new();
            for (position, source) in job.sources.iter().enumerate() {
                // A Weyl sequence, evenly spread over 0 to 1; clocks that tick together share a
                // number.
                let number = source.in_step.map_or(position, |step| step as usize);
                let fill = ((number + 1) as f64 * 0.618_033_988_749_895).fract();
                let rounds = (source.rounds as f64 * share + fill) as u64;
                if rounds > 0 {
                    sources.push(Source { rounds: rounds.min(source.rounds), ..source.clone() });
                }
            }
            let shorter = Job::from_sources(job.name.clone(), job.ranks, sources)?;
            jobs.push(Job { mpi_library: job.mpi_library.clone(), ..shorter });
        }
        Ok(Self { name: self.name.clone(), jobs })
    }
}

impl Source {
    fn check(&self, job: &str) -> Result<(), TrafficError> {
        let rate = self.rate.0;
        if !RATES.contains(&rate) {
            let expected = "a rate above 0 /s (from 1e-9 /s to 1e12 /s)";
            return Err(self.wrong(job, format!("a rate of {rate} /s"), expected));
        }
        if !(0.0..=LARGEST_CV).contains(&self.cv) {
            let found = format!("a coefficient of variation of {}", self.cv);
            return Err(self.wrong(job, found, "0 to 100"));
        }
        if self.rounds == 0 {
            return Err(self.wrong(job, "0 messages".to_owned(), "at least 1"));
        }
        Ok(())
    }

    fn wrong(&self, job: &str, found: String, expected: &'static str) -> TrafficError {
        TrafficError::BadSource { job: job.to_owned(), rank: self.rank, found, expected }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(rank: u32) -> Source {
        let sends = [1, 2].map(|to| Send { destination: Rank(to), length: Bytes(10) }).to_vec();
        Source { rank: Rank(rank), rate: PerSecond(5.0), cv: 1.0, in_step: None, rounds: 3, sends }
    }

    #[test]
    fn flows_are_what_the_sources_send_in_all() {
        let job = Job::from_sources("j", 4, vec![source(3), source(0), source(3)]).unwrap();
        let amount = |flow: &Flow| (flow.source.0, flow.destination.0, flow.messages, flow.bytes);
        let flows: Vec<_> = job.flows.iter().map(amount).collect();
        assert_eq!(flows, [(0, 1, 3, 30), (0, 2, 3, 30), (3, 1, 6, 60), (3, 2, 6, 60)]);
        let ranks: Vec<u32> = job.sources.iter().map(|source| source.rank.0).collect();
        assert_eq!(ranks, [0, 3, 3]);
    }

    #[test]
    fn a_shorter_run_has_its_share_of_the_messages() {
        let many = (0..100).map(|rank| Source { rounds: 1 + u64::from(rank % 7), ..source(rank) });
        let job = Job::from_sources("j", 100, many.collect()).unwrap();
        let workload = Workload::single(job);
        let all = workload.clocked_messages();
        assert_eq!(all, workload.jobs[0].flows.iter().map(|flow| flow.messages).sum::<u64>());
        for share in [0.0, 0.1, 0.5, 0.9] {
            let shorter = workload.shortened(share).unwrap().clocked_messages();
            assert!((shorter as f64 - share * all as f64).abs() <= 0.02 * all as f64, "{share}");
        }
        assert_eq!(workload.shortened(1.0).unwrap(), workload);
    }

    #[test]
    fn sources_that_cannot_be_are_rejected() {
        let wrong = [
            Source { rate: PerSecond(0.0), ..source(0) },
            Source { rate: PerSecond(-1.0), ..source(0) },
            Source { rate: PerSecond(f64::NAN), ..source(0) },
            Source { rate: PerSecond(f64::INFINITY), ..source(0) },
            Source { rate: PerSecond(1e18), ..source(0) },
            Source { rate: PerSecond(1e-300), ..source(0) },
            Source { cv: -0.5, ..source(0) },
            Source { cv: f64::NAN, ..source(0) },
            Source { cv: 1e9, ..source(0) },
            Source { rounds: 0, ..source(0) },
            Source { rounds: u64::MAX, ..source(0) },
            source(4),
        ];
        for source in wrong {
            assert!(Job::from_sources("j", 4, vec![source.clone()]).is_err(), "{source:?}");
        }
    }
}
