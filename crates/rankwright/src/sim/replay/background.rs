//! The jobs of a replay: one may be measured while the others, in the background, begin again whenever
//! they end.

use super::engine::{JobOfRank, OF_RANK, Replay};
use super::rank::RankState;
use super::script::Script;
use crate::files::InputError;
use crate::ids::{GlobalRank, JobId, Rank};
use crate::sim::statistics::JobCount;
use crate::sim::time::Time;
use crate::traffic::expansion::schedule::Group;

/// A job, and how far it is.
#[derive(Debug)]
pub(super) struct RunningJob<'a> {
    script: &'a Script,
    groups: &'a [Group],
    first: GlobalRank,
    ranks: usize,
    /// The number of ranks that have not ended.
    running: usize,
    /// When this run of it began, and when its last rank so far ended.
    began: Time,
    ended: Time,
}

impl<'a> Replay<'a> {
    /// Adds the ranks of the next job, with its communicators on their nodes. It begins at `began`.
    pub(super) fn add_job(
        &mut self,
        script: &'a Script,
        groups: &'a [Group],
        began: Time,
    ) -> Result<(), InputError> {
        let job = JobId::from_index(self.counts.len());
        let first = GlobalRank::from_index(self.ranks.len());
        let ranks = script.ranks();
        self.counts.push(JobCount::new());
        for rank in (0..ranks).map(Rank::from_index) {
            self.steps.push(script.acts(rank, groups)?);
            let mut state = RankState::new();
            state.restart(began);
            self.ranks.push(state);
            self.job_of.push(JobOfRank { job, first });
        }
        let running = ranks;
        self.jobs.push(RunningJob { script, groups, first, ranks, running, began, ended: 0 });
        Ok(())
    }

    /// The replay ends with this job; the others begin again whenever they end.
    pub(super) fn measure(&mut self, job: JobId) {
        self.measured = Some(job);
    }

    /// Whether the job that is measured has ended.
    pub(super) fn is_over(&self) -> bool {
        self.measured.is_some_and(|job| self.jobs[job.index()].running == 0)
    }

    /// A rank has finished its last step. Background jobs begin again with the end of their last rank.
    pub(super) fn end(&mut self, rank: GlobalRank) -> Result<(), InputError> {
        let state = &mut self.ranks[rank.index()];
        state.ended = true;
        let job = self.job_of[rank.index()].job;
        let RunningJob { script, groups, first, ranks, running, began, ended } =
            &mut self.jobs[job.index()];
        *running -= 1;
        *ended = (*ended).max(state.clock);
        let background = self.measured.is_some_and(|measured| measured != job);
        // A program without time would begin again for ever.
        if !background || *running > 0 || *ended <= *began {
            return Ok(());
        }
        (*running, *began) = (*ranks, *ended);
        let (script, groups, first, ranks, began) = (*script, *groups, *first, *ranks, *began);
        let end = GlobalRank::from_index(first.index() + ranks);
        self.matching.forget(first, end);
        self.nonblocking.forget(first, end);
        for (local, rank) in (first.index()..end.index()).enumerate() {
            self.steps[rank] = script.acts(Rank::from_index(local), groups)?;
            self.ranks[rank].restart(began);
            self.agenda.add(began, OF_RANK | GlobalRank::from_index(rank).0);
        }
        Ok(())
    }
}
