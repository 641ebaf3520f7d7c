//! Replay of recorded runs: every rank repeats its recorded calls, and its messages pass the servers of
//! another placement.
//!
//! A rank computes as long as it did between its MPI calls, sends and receives what it did, and waits
//! for what it waited for: a closed loop, in which a late message delays what depends on it. A message
//! up to the eager limit is sent at once and its sender continues; a longer or synchronous one is sent
//! when its receive is posted (rendezvous), and the sender continues when the message has left the last
//! server on the sender's node. Collective operations are the messages of the algorithms that the MPI
//! library of the run chooses under the new placement. Time inside MPI that is not waiting for messages is not replayed, but
//! for the overheads of sender and receiver where they were measured.
//!
//! Which receive takes which message does not depend on time: of one sender and one channel the first
//! posted takes the first sent. So a rank runs ahead of the agenda until it needs the completion of a
//! message that is not known yet, and the only events are arrivals of messages at servers.

mod agenda;
mod background;
mod engine;
mod matching;
mod nonblocking;
mod program;
mod protocol;
mod rank;
mod routes;
mod script;
mod shares;
mod sharing;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use super::Progress;
use super::statistics::Outcome;
use crate::cluster::Cluster;
use crate::files::InputError;
use crate::ids::{GlobalRank, JobId, Rank};
use crate::placement::Placement;
use crate::traffic::Job;
use crate::traffic::expansion::schedule::Group;
use crate::units::{Bytes, Seconds, counted};
use engine::Replay;
use routes::picoseconds;
use script::Script;

pub use program::Program;

/// How messages share a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Discipline {
    /// One after the other, in the order of their first bytes.
    #[default]
    Fifo,
    /// All at once, by max-min fair shares of bytes per second.
    MaxMin,
}

/// How messages are sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReplayOptions {
    /// How messages share a server.
    pub discipline: Discipline,
    /// The longest message that is sent before its receive is posted. `None`: as measured on the
    /// cluster, else 16 KiB.
    pub eager_limit: Option<Bytes>,
}

/// Why a replay is not possible.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The events are damaged or cannot be replayed.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The placement belongs to other jobs.
    #[error("the placement has jobs of {found:?} ranks, expected {expected:?} as recorded")]
    RanksDiffer {
        /// The ranks of each job of the placement.
        found: Vec<usize>,
        /// The ranks of each recorded run.
        expected: Vec<usize>,
    },
    /// Ranks wait for messages that are never sent.
    #[error(
        "rank {rank}{} waits forever for {}{}: the events are not those of one complete run",
        job.map_or(String::new(), |job| format!(" of job {job}")),
        counted(*messages, "message"),
        if *stuck > 1 { format!(", {} more too", stuck - 1) } else { String::new() }
    )]
    Stuck {
        /// The number of ranks that wait.
        stuck: usize,
        /// The index of the job of the first of them; `None` if there is one job.
        job: Option<usize>,
        /// The first of them, in its job.
        rank: Rank,
        /// The number of messages that it waits for.
        messages: usize,
    },
}

/// The result of a replay.
#[derive(Debug, Clone, PartialEq)]
pub struct Replayed {
    /// Waiting and service as in a simulation; a job's finish is the end of its last rank.
    pub outcome: Outcome,
    /// Index: [`GlobalRank`](crate::ids::GlobalRank).
    pub ranks: Vec<RankTimes>,
    /// The calls that were not replayed, and how often each was left out.
    pub left_out: BTreeMap<&'static str, u64>,
}

/// The times of a rank.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankTimes {
    /// The time that it waited for messages.
    pub waited: Seconds,
    /// When it finished its last step.
    pub end: Seconds,
}

/// One end of a message of a replay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MessageEnd {
    /// When it is handed to the network, or has arrived.
    pub time: Seconds,
    /// Its length.
    pub bytes: Bytes,
    /// The rank at this end.
    pub rank: GlobalRank,
    /// The rank at the other end.
    pub peer: GlobalRank,
}

/// The messages of a replay, in no particular order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReplayedMessages {
    /// At their senders.
    pub sends: Vec<MessageEnd>,
    /// At their receivers.
    pub receives: Vec<MessageEnd>,
}

/// A job that is replayed by its clocks, not by its calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ByClocks {
    /// Its position among the jobs.
    pub job: usize,
    /// Why, in words.
    pub why: String,
}

/// Why a run is better left to its clocks, which have what these calls send; `None` if the replay leaves out
/// no call.
#[must_use]
pub fn why_by_clocks(left_out: &BTreeMap<&'static str, u64>) -> Option<String> {
    let (what, count) = left_out.iter().next()?;
    Some(format!("the replay would leave out {count} {what}"))
}

/// Runs, one for each job, that are replayed under one placement after the other.
#[derive(Debug)]
pub struct Replayer {
    scripts: Vec<Script>,
}

/// A run that is measured while others run beside it: these begin again whenever they end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Its position among the jobs that are replayed.
    pub job: usize,
    /// When it begins; the others begin at 0.
    pub begins: Seconds,
}

impl Replayer {
    /// Opens the profiles of all jobs, in their order.
    ///
    /// # Errors
    /// If a file cannot be read or has no events, or the events are damaged or incomplete, or several
    /// threads of a rank call MPI.
    pub fn open(profiles: &[impl AsRef<Path>]) -> Result<Self, InputError> {
        let opened = Self::open_while(profiles, &mut || true)?;
        Ok(opened.expect("nothing ends it"))
    }

    /// As [`open`](Self::open) while `keeps_on` says so, which is asked all the time; `None` if it
    /// ended before.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_while(
        profiles: &[impl AsRef<Path>],
        keeps_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Self>, InputError> {
        let mut scripts = Vec::new();
        for profile in profiles {
            let Some(script) = Script::open_while(profile.as_ref(), keeps_on)? else {
                return Ok(None);
            };
            scripts.push(script);
        }
        Ok(Some(Self { scripts }))
    }

    /// The same runs for another thread, with open files of its own.
    ///
    /// # Errors
    /// If a file cannot be opened again.
    pub fn again(&self) -> Result<Self, InputError> {
        let scripts: Result<Vec<Script>, InputError> =
            self.scripts.iter().map(Script::again).collect();
        Ok(Self { scripts: scripts? })
    }

    /// One more job, which does what a program says.
    #[must_use]
    pub fn with_program(mut self, program: Program) -> Self {
        self.scripts.push(Script::Program(program));
        self
    }

    /// Jobs, each by its calls where those were recorded and a replay has its one-sided ones, else by its clocks;
    /// and which ones are replayed by clocks.
    ///
    /// # Errors
    /// As [`Replayer::open`], or if a job has neither calls nor message timing.
    pub fn of_jobs(jobs: &[Job], names: &[String]) -> Result<(Self, Vec<ByClocks>), InputError> {
        let (mut scripts, mut by_clocks) = (Vec::new(), Vec::new());
        for (position, (job, name)) in jobs.iter().zip(names).enumerate() {
            let (script, why) = Script::of_job(job, name)?;
            scripts.push(script);
            by_clocks.extend(why.map(|why| ByClocks { job: position, why }));
        }
        Ok((Self { scripts }, by_clocks))
    }

    /// The number of ranks of each job.
    #[must_use]
    pub fn ranks(&self) -> Vec<usize> {
        self.scripts.iter().map(Script::ranks).collect()
    }

    /// Replays the runs under a placement of their jobs.
    ///
    /// The observer is called about every hundred thousand events; if it breaks, the replay stops, and
    /// the outcome has the numbers so far.
    ///
    /// # Errors
    /// If the jobs of the placement have other numbers of ranks, if events are damaged, or if ranks
    /// wait for messages that are never sent.
    pub fn replay(
        &self,
        cluster: &Cluster,
        placement: &Placement,
        options: ReplayOptions,
        observer: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<Replayed, ReplayError> {
        let all: Vec<usize> = (0..self.scripts.len()).collect();
        self.replay_some((&all, None), (cluster, placement), options, observer)
    }

    /// Replays some of the runs under a placement of these, a run perhaps several times; with
    /// `measured` until that one ends.
    ///
    /// # Errors
    /// As [`Replayer::replay`].
    pub fn replay_some(
        &self,
        (jobs, measured): (&[usize], Option<Measured>),
        (cluster, placement): (&Cluster, &Placement),
        options: ReplayOptions,
        observer: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<Replayed, ReplayError> {
        Ok(self.run((jobs, measured), (cluster, placement), options, None, observer)?.0)
    }

    /// As [`Replayer::replay_some`], with all messages that were sent: 64 bytes for each.
    ///
    /// # Errors
    /// As [`Replayer::replay`].
    pub fn replay_with_messages(
        &self,
        jobs: (&[usize], Option<Measured>),
        (cluster, placement): (&Cluster, &Placement),
        options: ReplayOptions,
        observer: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<(Replayed, ReplayedMessages), ReplayError> {
        let recorded = Some(ReplayedMessages::default());
        self.run(jobs, (cluster, placement), options, recorded, observer)
    }

    fn run(
        &self,
        (jobs, measured): (&[usize], Option<Measured>),
        (cluster, placement): (&Cluster, &Placement),
        options: ReplayOptions,
        recorded: Option<ReplayedMessages>,
        observer: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<(Replayed, ReplayedMessages), ReplayError> {
        let placed: Vec<usize> = placement.jobs().iter().map(|job| job.ranks.len()).collect();
        let expected: Vec<usize> = jobs.iter().map(|job| self.scripts[*job].ranks()).collect();
        if placed != expected {
            return Err(ReplayError::RanksDiffer { found: placed, expected });
        }
        let groups: Vec<Vec<Group>> = (placement.jobs().iter().zip(jobs))
            .map(|(placed, job)| {
                self.scripts[*job].groups_on(&|rank| placed.ranks[rank.index()].node.0)
            })
            .collect();
        let mut replay = Replay::new(cluster, placement, options);
        replay.recorded = recorded;
        for (position, (job, groups)) in jobs.iter().zip(&groups).enumerate() {
            let late = measured.filter(|measured| measured.job == position);
            let begins = late.map_or(Seconds(0.0), |measured| measured.begins);
            replay.add_job(&self.scripts[*job], groups, picoseconds(begins))?;
        }
        if let Some(measured) = measured {
            replay.measure(JobId::from_index(measured.job));
        }
        let stopped = replay.run(observer)?;
        let names = placement.jobs().iter().map(|job| job.name.as_str());
        let recorded = replay.recorded.take().unwrap_or_default();
        Ok((replay.replayed(stopped, names), recorded))
    }
}

#[cfg(test)]
mod tests;
