//! A profile: the traffic recorded from one run of a parallel program, and its time inside MPI.

mod computing;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::Serialize;

use super::clocks;
use super::collectives::{CollectiveCalls, Collectives};
use super::communicator::Communicator;
use super::expansion::library::Library;
use super::expansion::{self, Expansion};
use super::topology::DeclaredTopology;
use super::{Flow, Job, Seen, TrafficError};
use crate::ids::{PuId, PuSet, Rank};
use crate::units::{Bytes, Seconds};
pub use computing::RoughComputing;

/// A recorded run. Written by the tracer, an importer or a generator; `docs/src/formats.md`
/// describes the file.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Profile {
    /// Facts about the whole run.
    pub run: Run,
    /// One record per rank; the index is the rank.
    pub ranks: Vec<RankRecord>,
    /// Communicators that collective calls refer to by index; the first is `MPI_COMM_WORLD`, if
    /// there are any.
    pub communicators: Vec<Communicator>,
    /// Point-to-point and one-sided traffic: one entry per pair and kind, ordered by source, then
    /// destination, then kind.
    pub flows: Vec<FlowRecord>,
    /// Collective calls as the program made them.
    pub collectives: Vec<CollectiveCalls>,
    /// Topologies declared by the program, ordered by communicator, then rank.
    pub topologies: Vec<DeclaredTopology>,
    /// What the MPI library said about its collective algorithms and message limits: the control variables
    /// of MPI_T that `tracer/src/mpi/settings.c` selects, by name. A value is a number in decimal digits
    /// (false and true: 0 and 1) or a text. Empty if it did not say.
    pub library_settings: BTreeMap<String, String>,
}

/// Facts about a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Run {
    /// File name of the program, or of the script that an interpreter ran (with Python also the module),
    /// without folder and arguments; of a job of several programs all, with a `+` between them; or a
    /// description of the traffic's origin.
    pub program: String,
    /// Origin of the traffic: `tracer 0.1.0`, `imported from csv`, `generated`.
    pub origin: String,
    /// MPI library in its own words; empty if there was none.
    pub mpi_library: String,
    /// Whether the run asked for `MPI_THREAD_MULTIPLE`: times inside MPI are then sums over
    /// threads.
    pub several_threads: bool,
    /// The library through which the program called MPI and which chose the thread level:
    /// `mpi4py`; empty otherwise.
    pub called_through: String,
    /// Libraries that the program had loaded by which it may send past MPI, in alphabetical order:
    /// `NCCL`, `NVSHMEM`, `RCCL`, `oneCCL`; `UCX` and `libfabric` if the executable itself names them.
    /// What is sent through them is in no flow.
    pub beside_mpi: Vec<String>,
    /// The profile itself, if it has the calls of all ranks in order.
    #[serde(skip)]
    pub events: Option<PathBuf>,
}

/// The record of one rank. Imported traffic leaves every field at its default.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RankRecord {
    /// Host name; empty if unknown.
    pub host: String,
    /// CPU affinity (P#) when MPI started; empty if unknown.
    #[serde(serialize_with = "as_text")]
    pub pus: PuSet,
    /// NUMA nodes (P#, ascending) of these PUs; empty if unknown.
    pub numa: Vec<u32>,
    /// How the process ended.
    pub ended: Ended,
    /// The record is incomplete: the disk or the memory was full.
    pub cut: bool,
    /// Peak resident set size; 0 if unknown.
    pub peak_memory: Bytes,
    /// Start of MPI on this rank, in nanoseconds since 1970; 0 if unknown.
    pub start_unix_ns: i64,
    /// Wall time from the end of `MPI_Init` to the start of `MPI_Finalize`.
    pub wall: Seconds,
    /// Sends, receives and probes.
    pub point_to_point: TimeInMpi,
    /// Waits and tests.
    pub wait: TimeInMpi,
    /// Collective operations.
    pub collective: TimeInMpi,
    /// One-sided communication and the synchronisation of windows.
    pub one_sided: TimeInMpi,
    /// Creating and freeing communicators, windows and requests.
    pub other: TimeInMpi,
    /// Time outside MPI in which it was ready to run and waited for a PU; `None` if not recorded. Of the
    /// thread that called `MPI_Init`.
    pub waited_for_pu: Option<Seconds>,
    /// Whether the kernel tells waiting for a PU from sleep. If not, sleep counts as waiting.
    pub sleep_is_known: bool,
    /// Processor time of the thread that called `MPI_Init`, in MPI and outside; 0 if unknown.
    pub processor: Seconds,
    /// Processor time of all other threads of the process; 0 if unknown.
    pub other_threads: Seconds,
    /// Number of messages to processes outside `MPI_COMM_WORLD`; no flow contains them.
    pub outside_messages: u64,
    /// Bytes of the messages to processes outside `MPI_COMM_WORLD`.
    pub outside_bytes: u64,
}

fn as_text<S: serde::Serializer>(pus: &PuSet, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(pus)
}

/// A host whose ranks were allowed fewer PUs than there were ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OversubscribedHost<'a> {
    /// Host name.
    pub host: &'a str,
    /// Number of ranks on the host.
    pub ranks: usize,
    /// Number of PUs in the union of their affinity masks.
    pub pus: usize,
}

/// How a rank's process ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// Not recorded: the traffic was imported or generated.
    #[default]
    Unknown,
    /// It called `MPI_Finalize`: its record is complete.
    Finalized,
    /// It called `MPI_Abort`.
    Aborted,
    /// It left by `exit` or the end of `main`, without `MPI_Finalize`.
    Exited,
    /// It was killed, or left by `_exit`.
    Killed,
    /// It left no record.
    Missing,
}

impl Ended {
    const ALL: [(Self, &'static str); 6] = [
        (Self::Unknown, "unknown"),
        (Self::Finalized, "finalized"),
        (Self::Aborted, "aborted"),
        (Self::Exited, "exited"),
        (Self::Killed, "killed"),
        (Self::Missing, "missing"),
    ];

    /// Name in a profile file.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(ended, _)| *ended == self).map_or("unknown", |(_, name)| name)
    }

    /// The one with this name.
    #[must_use]
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, other)| *other == name).map(|(ended, _)| *ended)
    }

    /// Whether the record is complete.
    #[must_use]
    pub(crate) fn is_whole(self) -> bool {
        matches!(self, Self::Unknown | Self::Finalized)
    }
}

/// Time spent inside MPI calls of one class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct TimeInMpi {
    /// Number of calls.
    pub calls: u64,
    /// Time inside these calls, summed over threads.
    pub time: Seconds,
}

/// The messages of one pair and kind. Times are in seconds since MPI started on the rank that made
/// the calls: the destination of a get, otherwise the source.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlowRecord {
    /// Pair and amounts, in the direction of the data.
    #[serde(flatten)]
    pub flow: Flow,
    /// Class of the calls that sent them.
    pub kind: FlowKind,
    /// Send times; `None` for imported traffic.
    pub times: Option<FlowTimes>,
    /// Number of messages by size: bin 0 counts empty messages, bin k + 1 those of 2^k to 2^(k+1) -
    /// 1 bytes. Empty if unknown.
    pub size_histogram: Vec<u64>,
}

/// Class of calls that move data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FlowKind {
    /// Sends of all modes.
    #[default]
    PointToPoint,
    /// One-sided, called by the source: `MPI_Put`, `MPI_Accumulate`, ...
    Put,
    /// One-sided, called by the destination: `MPI_Get`, ...
    Get,
}

impl FlowKind {
    /// The kind with this number in a trace.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        [Self::PointToPoint, Self::Put, Self::Get].get(usize::from(number)).copied()
    }

    /// Name in a profile file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PointToPoint => "point_to_point",
            Self::Put => "put",
            Self::Get => "get",
        }
    }

    /// The kind with this name.
    #[must_use]
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        [Self::PointToPoint, Self::Put, Self::Get].into_iter().find(|kind| kind.name() == name)
    }
}

/// Send times of one pair.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct FlowTimes {
    /// Time of the first send.
    pub first: Seconds,
    /// Time of the last send.
    pub last: Seconds,
    /// Mean gap between the starts of successive sends; 0 for a single message.
    pub gap_mean: Seconds,
    /// Coefficient of variation of the gaps (standard deviation over mean).
    pub gap_cv: f64,
}

impl Profile {
    /// A profile with traffic only.
    #[must_use]
    pub fn of_job(job: &Job, origin: impl Into<String>) -> Self {
        Self {
            run: Run { program: job.name.clone(), origin: origin.into(), ..Run::default() },
            ranks: vec![RankRecord::default(); job.ranks as usize],
            flows: job.flows.iter().map(|flow| FlowRecord::of_flow(*flow)).collect(),
            ..Self::default()
        }
    }

    /// The job that ran: its point-to-point traffic, and its collective calls expanded into
    /// messages by `expansion`. It has message timing if the profile has times. Each rank's compute
    /// time is its time outside MPI without waiting for a PU, as if all nodes of the run had speed 1. After
    /// a disturbed run the clocks are those of the program's computing ([`Profile::undisturbed`]).
    ///
    /// # Errors
    /// If the profile has 0 ranks.
    pub fn job(&self, expansion: Expansion) -> Result<Job, TrafficError> {
        let library = self.library();
        let (calls, communicators) = (&self.collectives, &self.communicators);
        let expanded = expansion::expand_each(calls, communicators, expansion, &library);
        let expanded = expanded.into_iter().flatten();
        let flows = self.flows.iter().map(|record| record.flow).chain(expanded);
        let ranks = Rank::from_index(self.ranks.len()).0;
        let job = Job::new(self.run.program.clone(), ranks, flows)?;
        let job = clocks::recorded(job, self, expansion);
        let collectives = Collectives {
            calls: self.collectives.clone(),
            communicators: self.communicators.clone(),
            expansion,
            library,
        };
        let mpi_library = self.run.mpi_library.clone();
        Ok(Job { mpi_library, collectives, seen: self.seen(), compute: self.compute(), ..job })
    }

    /// The MPI library of the run, as far as it chooses algorithms of collective operations.
    #[must_use]
    pub fn library(&self) -> Library {
        Library::new(&self.run.mpi_library, &self.library_settings)
    }

    fn seen(&self) -> Seen {
        let hosts = self.ranks.iter().all(|rank| !rank.host.is_empty());
        let ranks = if hosts { &self.ranks[..] } else { &[] };
        let complete = self.ranks.iter().all(RankRecord::is_complete);
        let walls = complete.then(|| self.ranks.iter().map(|rank| rank.wall.0));
        Seen {
            hosts: ranks.iter().map(|rank| rank.host.clone()).collect(),
            wall: walls.map(|walls| Seconds(walls.fold(0.0, f64::max))),
            shared_pus: self.shared_pus().is_some() && self.computing().is_none(),
            undisturbed: self.undisturbed(),
            rough: self.undisturbed().and_then(|_| self.rough_computing()),
            threaded: self.is_threaded(),
            beside_mpi: self.run.beside_mpi.clone(),
            events: self.run.events.clone(),
        }
    }

    /// Ranks with incomplete records, grouped by how they ended.
    #[must_use]
    pub fn partial(&self) -> Vec<(Ended, Vec<Rank>)> {
        let mut partial: Vec<(Ended, Vec<Rank>)> = Vec::new();
        for (index, rank) in self.ranks.iter().enumerate().filter(|(_, r)| !r.ended.is_whole()) {
            let rank_number = Rank::from_index(index);
            match partial.iter_mut().find(|(ended, _)| *ended == rank.ended) {
                Some((_, ranks)) => ranks.push(rank_number),
                None => partial.push((rank.ended, vec![rank_number])),
            }
        }
        partial
    }

    /// The host with the most ranks among those with more ranks than PUs.
    #[must_use]
    pub fn shared_pus(&self) -> Option<OversubscribedHost<'_>> {
        let mut hosts: BTreeMap<&str, (usize, BTreeSet<PuId>)> = BTreeMap::new();
        for rank in self.ranks.iter().filter(|rank| !rank.pus.is_empty()) {
            let (ranks, pus) = hosts.entry(&rank.host).or_default();
            *ranks += 1;
            pus.extend(rank.pus.as_slice());
        }
        let hosts = hosts.into_iter().map(|(host, (ranks, pus))| {
            let pus = pus.len();
            OversubscribedHost { host, ranks, pus }
        });
        hosts.filter(|host| host.ranks > host.pus).max_by_key(|host| host.ranks)
    }

    /// Whether time inside MPI was recorded: false for imported traffic and for `--gaps off`.
    #[must_use]
    pub(crate) fn calls_were_timed(&self) -> bool {
        self.ranks.iter().any(|rank| rank.time_in_mpi().0 > 0.0)
    }
}

impl FlowRecord {
    /// A record with amounts only.
    #[must_use]
    pub fn of_flow(flow: Flow) -> Self {
        let kind = FlowKind::PointToPoint;
        Self { flow, kind, times: None, size_histogram: Vec::new() }
    }
}

impl RankRecord {
    /// Whether the record is complete and has a wall time.
    fn is_complete(&self) -> bool {
        self.ended.is_whole() && self.wall.0 > 0.0
    }

    /// Wall time outside MPI.
    fn outside(&self) -> Seconds {
        Seconds((self.wall.0 - self.time_in_mpi().0).max(0.0))
    }

    /// Time inside MPI, summed over all classes of calls.
    #[must_use]
    pub(crate) fn time_in_mpi(&self) -> Seconds {
        let classes = [self.point_to_point, self.wait, self.collective, self.one_sided, self.other];
        Seconds(classes.iter().map(|class| class.time.0).sum())
    }
}
