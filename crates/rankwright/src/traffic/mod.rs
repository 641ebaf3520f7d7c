//! Traffic: which ranks send how much to whom, and when.
//!
//! A [`Workload`] holds the jobs that run at the same time. A [`Job`] holds its point-to-point
//! traffic as a sparse list of [`Flow`]s and, with message timing, the [`Source`]s: clocks by which
//! its ranks send.
//!
//! [`open`] reads files and makes built-in workloads; a job can also be built of its flows:
//!
//! ```
//! use rankwright::ids::Rank;
//! use rankwright::traffic::{self, Flow, Job, Workload};
//!
//! let flow = |source, destination| Flow {
//!     source: Rank(source),
//!     destination: Rank(destination),
//!     messages: 10,
//!     bytes: 80_000,
//!     largest: 8_000,
//! };
//! let ring = Job::new("ring", 4, (0..4).map(|rank| flow(rank, (rank + 1) % 4)))?;
//! let mut workload = Workload::single(ring);
//! workload.push(traffic::open("nas:cg.A.16")?.jobs.remove(0));
//! assert_eq!(workload.rank_count(), 20);
//! # Ok::<(), traffic::OpenError>(())
//! ```

// | module | holds |
// |---|---|
// | this file, `source` | `Workload`, `Job`, `Flow`; `Source` and `Send` |
// | `profile`, `communicator`, `collectives`, `topology` | a recorded run as it is stored: a profile |
// | `expansion` | how a collective operation becomes messages |
// | `clocks` | how recorded times become `Source`s |
// | `demand`, `classes` | figures of a job that strategies read |
// | `merge`, `redact` | profiles joined, and stripped of names |
// | `read` | readers: trace, events, profile, `jobs.toml`, formats of other tools |
// | `generate` | generators: patterns, NAS benchmarks, workloads of papers |

pub(crate) mod classes;
mod clocks;
pub(crate) mod demand;
mod open;
mod source;

// For the command line; may change in any version.
#[doc(hidden)]
pub mod collectives;
#[doc(hidden)]
pub mod communicator;
#[doc(hidden)]
pub mod expansion;
#[doc(hidden)]
pub mod generate;
#[doc(hidden)]
pub mod merge;
#[doc(hidden)]
pub mod profile;
#[doc(hidden)]
pub mod read;
#[doc(hidden)]
pub mod redact;
#[doc(hidden)]
pub mod topology;

use std::path::PathBuf;

use serde::Serialize;

pub use open::{OpenError, open};
pub use source::{LARGEST_CV, OUTSIDE, RATES, Send, Source};

// For the command line; may change in any version.
#[doc(hidden)]
pub use open::{FilesOnly, Outside, imported, is_path, is_profile, named, split};

use crate::ids::{GlobalRank, Rank};
use crate::units::Seconds;
use collectives::Collectives;

/// Jobs that run at the same time on one cluster.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Workload {
    /// Display name.
    pub name: String,
    /// The jobs.
    pub jobs: Vec<Job>,
}

/// A parallel program: its ranks and the messages between them.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Job {
    /// Name, unique in the workload.
    pub name: String,
    /// MPI library of the recorded run, in its own words; empty if unknown.
    pub mpi_library: String,
    /// Number of ranks.
    pub ranks: u32,
    /// Point-to-point traffic: one entry per pair that communicates, ordered by source, then
    /// destination. Self messages are kept; they use no network.
    pub flows: Vec<Flow>,
    /// Message timing, ordered by rank: clocks that together send exactly the flows. Empty without
    /// timing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Source>,
    /// Compute time of each rank (time outside MPI) on a node of speed 1, by rank; empty if
    /// unknown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub compute: Vec<Seconds>,
    /// The collective operations whose messages are among the flows; empty if unknown.
    #[serde(skip)]
    pub collectives: Collectives,
    /// Facts of a recorded run other than its traffic.
    #[serde(skip)]
    pub seen: Seen,
}

/// Facts of a recorded run other than its traffic.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seen {
    /// Host name of each rank, by rank; empty unless known for every rank.
    pub hosts: Vec<String>,
    /// Longest wall time of any rank, from the end of `MPI_Init` to the start of `MPI_Finalize`;
    /// `None` unless every rank has a complete record.
    pub wall: Option<Seconds>,
    /// Whether ranks shared PUs, and how long they waited for one was not recorded, so that times include it.
    pub shared_pus: bool,
    /// The longest computing time of any rank, if the run was disturbed and its clocks are those of the
    /// computing ([`profile::Profile::undisturbed`]); then `wall` says little about the program.
    pub undisturbed: Option<Seconds>,
    /// Why `undisturbed` is only roughly known; `None` if it is well known, or is `None`.
    pub rough: Option<profile::RoughComputing>,
    /// Whether ranks computed with several threads, by processor time.
    pub threaded: bool,
    /// Names of libraries that carried traffic beside MPI, such as NCCL.
    pub beside_mpi: Vec<String>,
    /// The profile that has the calls of all ranks in order, if they were recorded.
    pub events: Option<PathBuf>,
}

/// All messages from one rank to another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Flow {
    /// Sending rank.
    pub source: Rank,
    /// Receiving rank.
    pub destination: Rank,
    /// Number of messages.
    pub messages: u64,
    /// Sum of all messages, in bytes.
    pub bytes: u64,
    /// Largest single message, in bytes.
    pub largest: u64,
}

/// Why traffic does not form a job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TrafficError {
    /// A rank outside the job.
    #[error("job `{job}`: a message from rank {source_rank} to rank {destination}, but the job has {ranks} ranks (0 to {})", ranks.saturating_sub(1))]
    RankOutOfRange {
        /// Name of the job.
        job: String,
        /// Sending rank.
        source_rank: Rank,
        /// Receiving rank.
        destination: Rank,
        /// Number of ranks in the job.
        ranks: u32,
    },
    /// A source with a value out of range.
    #[error("job `{job}`: the message timing of rank {rank} has {found}, expected {expected}")]
    BadSource {
        /// Name of the job.
        job: String,
        /// Sending rank.
        rank: Rank,
        /// The value found.
        found: String,
        /// The range expected.
        expected: &'static str,
    },
    /// A job without ranks.
    #[error("job `{job}`: found 0 ranks, expected at least 1")]
    NoRanks {
        /// Name of the job.
        job: String,
    },
}

impl Workload {
    /// A workload of a single job, with the name of the job.
    #[must_use]
    pub fn single(job: Job) -> Self {
        Self { name: job.name.clone(), jobs: vec![job] }
    }

    /// The jobs of several workloads. Its name is that of the jobs, with `+` between them: it does not depend
    /// on how the workloads were named.
    #[must_use]
    pub fn together(workloads: impl IntoIterator<Item = Self>) -> Self {
        let mut together = Self::default();
        workloads.into_iter().flat_map(|workload| workload.jobs).for_each(|job| together.push(job));
        let names: Vec<&str> = together.jobs.iter().map(|job| job.name.as_str()).collect();
        together.name = names.join("+");
        together
    }

    /// Adds a job. A name that is already taken gets a number: `app`, `app-2`.
    pub fn push(&mut self, mut job: Job) {
        let taken = |name: &str| self.jobs.iter().any(|other| other.name == name);
        let plain = job.name.clone();
        let mut numbers = 2_u64..;
        while taken(&job.name) {
            job.name = format!("{plain}-{}", numbers.next().unwrap_or_default());
        }
        self.jobs.push(job);
    }

    /// Whether all jobs are recorded runs.
    #[must_use]
    pub fn is_recorded(&self) -> bool {
        self.jobs.iter().all(|job| !job.seen.hosts.is_empty())
    }

    /// Number of ranks of all jobs.
    #[must_use]
    pub fn rank_count(&self) -> usize {
        self.jobs.iter().map(|job| job.ranks as usize).sum()
    }

    /// The global rank of each job's rank 0, followed by the first one that no job has.
    ///
    /// # Panics
    /// If the number of ranks of all jobs does not fit 32 bits.
    #[must_use]
    pub fn rank_offsets(&self) -> Vec<GlobalRank> {
        let mut next = GlobalRank(0);
        let mut offsets = vec![next];
        for job in &self.jobs {
            next = Rank(job.ranks).global(next);
            offsets.push(next);
        }
        offsets
    }
}

impl Job {
    /// Builds a job from flows in any order; flows of the same pair are added up.
    ///
    /// # Errors
    /// If the job has 0 ranks, or a flow names a rank outside the job.
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

/// Adds up flows of the same pair, in place; sorts by source, then destination.
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
