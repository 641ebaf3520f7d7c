//! What runs: jobs of ranks, and who sends how much to whom.
//!
//! A [`Workload`] holds the jobs that run at the same time; a [`Job`] its point-to-point traffic as
//! a sparse list of [`Flow`]s, and, where that is known, the clocks by which its ranks send
//! ([`source`]). Collective calls of a profile become flows by [`expansion`].

pub mod classes;
mod clocks;
pub mod collectives;
pub mod communicator;
pub mod demand;
pub mod expansion;
pub mod generate;
pub mod merge;
pub mod profile;
pub mod read;
pub mod redact;
pub mod source;
pub mod topology;

use serde::Serialize;

pub use source::{Send, Source};

use crate::ids::Rank;
use crate::units::Seconds;
use collectives::Collectives;

/// Jobs that run at the same time on one cluster.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Workload {
    /// Its name, for people.
    pub name: String,
    /// The jobs.
    pub jobs: Vec<Job>,
}

/// A parallel program: its ranks and their traffic.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Job {
    /// Its name; no other job of the workload has it.
    pub name: String,
    /// The MPI library it was seen with, as that names itself; empty where unknown.
    pub mpi_library: String,
    /// How many ranks it has.
    pub ranks: u32,
    /// Point-to-point traffic: one entry per pair that communicates, ordered by source, then
    /// destination. Self messages are kept; they use no network.
    pub flows: Vec<Flow>,
    /// When its ranks send: clocks that together send exactly the flows, ordered by rank. Empty where
    /// nobody says.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Source>,
    /// How long each rank computes outside MPI, on a node of speed 1; empty where nobody says.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub compute: Vec<Seconds>,
    /// The collective operations whose messages are among the flows; empty where nobody says.
    #[serde(skip)]
    pub collectives: Collectives,
    /// What a recorded run was seen to be beside its traffic.
    #[serde(skip)]
    pub seen: Seen,
}

/// What was seen of a recorded run beside its traffic.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seen {
    /// The host of each rank; empty unless all are known.
    pub hosts: Vec<String>,
}

/// All messages from one rank to another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Flow {
    /// The sender.
    pub source: Rank,
    /// The receiver.
    pub destination: Rank,
    /// How many messages.
    pub messages: u64,
    /// How many bytes in all.
    pub bytes: u64,
    /// The largest message, in bytes.
    pub largest: u64,
}

/// Why traffic is not that of a job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TrafficError {
    /// A rank that the job does not have.
    #[error("job `{job}`: a message from rank {source_rank} to rank {destination}, but the job has {ranks} ranks (0 to {})", ranks.saturating_sub(1))]
    RankOutOfRange {
        /// The job.
        job: String,
        /// The sender.
        source_rank: Rank,
        /// The receiver.
        destination: Rank,
        /// How many ranks the job has.
        ranks: u32,
    },
    /// A source that cannot be.
    #[error("job `{job}`: rank {rank} sends by a clock with {found}, expected {expected}")]
    BadSource {
        /// The job.
        job: String,
        /// The sender.
        rank: Rank,
        /// What it has.
        found: String,
        /// What it could have.
        expected: &'static str,
    },
    /// No rank at all.
    #[error("job `{job}`: found 0 ranks, expected at least 1")]
    NoRanks {
        /// The job.
        job: String,
    },
}

impl Workload {
    /// A workload of one job, named as the job.
    #[must_use]
    pub fn single(job: Job) -> Self {
        Self { name: job.name.clone(), jobs: vec![job] }
    }

    /// Adds a job. A name that is there already gets a number: `app`, `app-2`.
    pub fn push(&mut self, mut job: Job) {
        let taken = |name: &str| self.jobs.iter().any(|known| known.name == name);
        let plain = job.name.clone();
        let mut numbers = 2_u64..;
        while taken(&job.name) {
            job.name = format!("{plain}-{}", numbers.next().unwrap_or_default());
        }
        self.jobs.push(job);
    }

    /// How many ranks all jobs have together.
    #[must_use]
    pub fn rank_count(&self) -> usize {
        self.jobs.iter().map(|job| job.ranks as usize).sum()
    }

    /// The position of each job's rank 0 when the ranks of all jobs are counted through, and the
    /// number of ranks at the end.
    #[must_use]
    pub fn rank_offsets(&self) -> Vec<usize> {
        let mut offsets = vec![0];
        for job in &self.jobs {
            offsets.push(offsets[offsets.len() - 1] + job.ranks as usize);
        }
        offsets
    }
}

impl Job {
    /// A job from flows in any order; flows of the same pair are joined.
    ///
    /// # Errors
    /// If the job has no rank, or a flow names a rank that it does not have.
    pub fn new(
        name: impl Into<String>,
        ranks: u32,
        flows: impl IntoIterator<Item = Flow>,
    ) -> Result<Self, TrafficError> {
        let name = name.into();
        if ranks == 0 {
            return Err(TrafficError::NoRanks { job: name });
        }
        let mut flows: Vec<Flow> = flows.into_iter().collect();
        if let Some(wrong) = flows.iter().find(|f| f.source.0.max(f.destination.0) >= ranks) {
            return Err(TrafficError::RankOutOfRange {
                job: name,
                source_rank: wrong.source,
                destination: wrong.destination,
                ranks,
            });
        }
        add_up(&mut flows);
        Ok(Self { name, ranks, flows, ..Self::default() })
    }
}

/// One flow per pair, ordered by source, then destination.
pub(crate) fn add_up(flows: &mut Vec<Flow>) {
    flows.sort_by_key(|flow| (flow.source, flow.destination));
    flows.dedup_by(|next, kept| {
        let same = (next.source, next.destination) == (kept.source, kept.destination);
        if same {
            kept.messages = kept.messages.saturating_add(next.messages);
            kept.bytes = kept.bytes.saturating_add(next.bytes);
            kept.largest = kept.largest.max(next.largest);
        }
        same
    });
}
