//! A profile: what a run of a parallel program was seen to send, and how long it spent inside MPI.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::collectives::CollectiveCalls;
use super::communicator::Communicator;
use super::expansion::{self, Expansion};
use super::{Flow, Job, TrafficError};
use crate::ids::{PuId, PuSet, Rank};
use crate::units::Seconds;

/// What was recorded of one run. Made by the tracer, by an importer or by a generator; the file it
/// lives in is described in `docs/src/formats.md`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Profile {
    /// Facts of the run as a whole.
    pub run: Run,
    /// What each rank did; position is rank.
    pub ranks: Vec<RankRecord>,
    /// The communicators that collective calls name; the first is `MPI_COMM_WORLD` if there is any.
    pub communicators: Vec<Communicator>,
    /// Point-to-point traffic: one entry per pair, ordered by source, then destination.
    pub flows: Vec<FlowRecord>,
    /// Collective calls as the program made them.
    pub collectives: Vec<CollectiveCalls>,
}

/// Facts of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Run {
    /// The program's file name, without folder and arguments; or what the traffic was made from.
    pub program: String,
    /// How the traffic came to be known: `tracer 0.1.0`, `imported from csv`, `generated`.
    pub origin: String,
    /// The MPI library, as it names itself; empty where there was none.
    pub mpi_library: String,
}

/// What one rank did. Everything but its number is unknown where the traffic was imported.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RankRecord {
    /// The host it ran on; empty where unknown.
    pub host: String,
    /// The PUs it was allowed to run on, P#, when MPI started; empty where unknown.
    #[serde(serialize_with = "as_text")]
    pub pus: PuSet,
    /// When MPI started on this rank, nanoseconds since 1970; 0 where unknown.
    pub start_unix_ns: i64,
    /// From the end of `MPI_Init` to the begin of `MPI_Finalize`.
    pub wall: Seconds,
    /// Sends, receives and probes.
    pub point_to_point: TimeInMpi,
    /// Waits and tests.
    pub wait: TimeInMpi,
    /// Collective operations.
    pub collective: TimeInMpi,
    /// Making and freeing communicators and requests.
    pub other: TimeInMpi,
    /// Messages to processes outside `MPI_COMM_WORLD`; in no flow.
    pub outside_messages: u64,
    /// Their bytes.
    pub outside_bytes: u64,
}

fn as_text<S: serde::Serializer>(pus: &PuSet, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(pus)
}

/// Time spent inside MPI calls of one class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct TimeInMpi {
    /// How many calls.
    pub calls: u64,
    /// How long, summed over threads.
    pub time: Seconds,
}

/// The point-to-point messages of one pair, with their times. Times are seconds since MPI started
/// on the source.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlowRecord {
    /// Who, to whom, how much.
    #[serde(flatten)]
    pub flow: Flow,
    /// When; `None` where the traffic was imported.
    pub times: Option<FlowTimes>,
    /// Messages by size: bin 0 holds empty messages, bin k + 1 those of 2^k to 2^(k+1) - 1 bytes.
    /// Empty where unknown.
    pub size_histogram: Vec<u64>,
}

/// When the messages of one pair were sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct FlowTimes {
    /// The first send.
    pub first: Seconds,
    /// The last send.
    pub last: Seconds,
    /// Mean time between the beginnings of successive sends; 0 for a single message.
    pub gap_mean: Seconds,
    /// Coefficient of variation of these times (standard deviation over mean).
    pub gap_cv: f64,
}

impl Profile {
    /// A profile that holds only who sends how much to whom.
    #[must_use]
    pub fn of_job(job: &Job, origin: impl Into<String>) -> Self {
        let record =
            |flow: &Flow| FlowRecord { flow: *flow, times: None, size_histogram: Vec::new() };
        Self {
            run: Run {
                program: job.name.clone(),
                origin: origin.into(),
                mpi_library: String::new(),
            },
            ranks: vec![RankRecord::default(); job.ranks as usize],
            flows: job.flows.iter().map(record).collect(),
            ..Self::default()
        }
    }

    /// The job that ran: its point-to-point traffic, and that of its collective calls as
    /// `expansion` turns them into messages.
    ///
    /// # Errors
    /// If the profile has no rank.
    pub fn job(&self, expansion: Expansion) -> Result<Job, TrafficError> {
        let expanded = expansion::expand(&self.collectives, &self.communicators, expansion);
        let flows = self.flows.iter().map(|record| record.flow).chain(expanded);
        let ranks = Rank::from_index(self.ranks.len()).0;
        let job = Job::new(self.run.program.clone(), ranks, flows)?;
        Ok(Job { mpi_library: self.run.mpi_library.clone(), ..job })
    }

    /// The host whose PUs were shared by the most ranks, where some had to share: its name, how many
    /// ranks it had and how many PUs they were allowed to run on.
    #[must_use]
    pub fn shared_pus(&self) -> Option<(&str, usize, usize)> {
        let mut hosts: BTreeMap<&str, (usize, BTreeSet<PuId>)> = BTreeMap::new();
        for rank in self.ranks.iter().filter(|rank| !rank.pus.is_empty()) {
            let (ranks, pus) = hosts.entry(&rank.host).or_default();
            *ranks += 1;
            pus.extend(rank.pus.as_slice());
        }
        let shared = hosts.into_iter().map(|(host, (ranks, pus))| (host, ranks, pus.len()));
        shared.filter(|(_, ranks, pus)| ranks > pus).max_by_key(|(_, ranks, _)| *ranks)
    }

    /// The largest part of the run time that any rank spent inside MPI, from 0 to 1: no placement
    /// can gain more. `None` where no times were recorded.
    #[must_use]
    pub fn share_of_time_in_mpi(&self) -> Option<ShareOfTime> {
        let wall: f64 = self.ranks.iter().map(|rank| rank.wall.0).sum();
        if wall <= 0.0 {
            return None;
        }
        let share = |rank: &RankRecord| (rank.time_in_mpi().0 / rank.wall.0).clamp(0.0, 1.0);
        let in_mpi: f64 = self.ranks.iter().map(|rank| rank.time_in_mpi().0).sum();
        let timed = self.ranks.iter().filter(|rank| rank.wall.0 > 0.0);
        let largest = timed.map(share).fold(0.0, f64::max);
        Some(ShareOfTime { mean: (in_mpi / wall).clamp(0.0, 1.0), largest })
    }
}

/// How much of the run time was spent inside MPI, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ShareOfTime {
    /// Over all ranks.
    pub mean: f64,
    /// Of the rank with the largest share.
    pub largest: f64,
}

impl RankRecord {
    /// The time inside MPI calls of all classes.
    #[must_use]
    pub fn time_in_mpi(&self) -> Seconds {
        let classes = [self.point_to_point, self.wait, self.collective, self.other];
        Seconds(classes.iter().map(|class| class.time.0).sum())
    }
}
