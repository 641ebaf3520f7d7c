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
mod engine;
mod matching;
mod nonblocking;
mod protocol;
mod rank;
mod routes;
mod shares;
mod sharing;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use super::Progress;
use super::statistics::Outcome;
use crate::cluster::Cluster;
use crate::files::InputError;
use crate::ids::Rank;
use crate::placement::Placement;
use crate::traffic::expansion::library::Library;
use crate::traffic::expansion::schedule::Group;
use crate::traffic::read::events::matching as recorded;
use crate::traffic::read::events::store::Recording;
use crate::units::{Bytes, Seconds, counted};
use engine::Replay;

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

/// Recorded runs, one for each job, that are replayed under one placement after the other.
#[derive(Debug)]
pub struct Replayer {
    recordings: Vec<Recording>,
    runs: Arc<Runs>,
}

/// What all replays of the same runs share.
#[derive(Debug)]
struct Runs {
    /// What belongs together across the ranks of each run.
    matchings: Vec<recorded::Matching>,
    /// The MPI library of each run.
    libraries: Vec<Library>,
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
        let recordings: Result<Vec<Recording>, InputError> =
            profiles.iter().map(|profile| Recording::open(profile.as_ref())).collect();
        let recordings = recordings?;
        let mut matchings = Vec::new();
        for recording in &recordings {
            let Some(matching) = recorded::Matching::new_while(recording, keeps_on)? else {
                return Ok(None);
            };
            matchings.push(matching);
        }
        let libraries: Result<Vec<Library>, InputError> =
            recordings.iter().map(Recording::library).collect();
        Ok(Some(Self { runs: Arc::new(Runs { matchings, libraries: libraries? }), recordings }))
    }

    /// The same runs for another thread, with open files of its own.
    ///
    /// # Errors
    /// If a file cannot be opened again.
    pub fn again(&self) -> Result<Self, InputError> {
        let recordings: Result<Vec<Recording>, InputError> =
            self.recordings.iter().map(Recording::again).collect();
        Ok(Self { recordings: recordings?, runs: Arc::clone(&self.runs) })
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
        let placed: Vec<usize> = placement.jobs().iter().map(|job| job.ranks.len()).collect();
        let expected: Vec<usize> = self.recordings.iter().map(|run| run.ranks() as usize).collect();
        if placed != expected {
            return Err(ReplayError::RanksDiffer { found: placed, expected });
        }
        let groups: Vec<Vec<Group>> = (placement.jobs().iter().zip(&self.runs.matchings))
            .map(|(job, matching)| matching.groups_on(&|rank| job.ranks[rank.index()].node.0))
            .collect();
        let mut replay = Replay::new(cluster, placement, options);
        let jobs = self.recordings.iter().zip(&self.runs.matchings).zip(&self.runs.libraries);
        for (((recording, matching), library), groups) in jobs.zip(&groups) {
            replay.add_job(recording, matching, (library, groups))?;
        }
        let stopped = replay.run(observer)?;
        let names = placement.jobs().iter().map(|job| job.name.as_str());
        Ok(replay.replayed(stopped, names))
    }
}

#[cfg(test)]
mod tests;
