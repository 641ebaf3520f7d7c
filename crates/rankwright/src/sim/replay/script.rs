//! What the ranks of a job do in a replay: as recorded, or by a program made of clocks.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::program::{Play, Program, computing};
use super::rank::RankState;
use super::why_by_clocks;
use crate::files::InputError;
use crate::ids::Rank;
use crate::traffic::Job;
use crate::traffic::expansion::library::Library;
use crate::traffic::expansion::schedule::Group;
use crate::traffic::read::events::matching::Matching;
use crate::traffic::read::events::steps::{Exchange, ONE_SIDED, Step, Steps};
use crate::traffic::read::events::store::Recording;

/// The most messages of a job that is replayed by its clocks; of longer ones a part is replayed.
const MOST_MESSAGES_OF_CLOCKS: u64 = 200_000;

/// What the ranks of a job do.
#[derive(Debug)]
pub(super) enum Script {
    Recorded(Box<Recorded>),
    Program(Program),
}

/// A recorded run.
#[derive(Debug)]
pub(super) struct Recorded {
    recording: Recording,
    shared: Arc<Shared>,
}

/// What all replays of a run share.
#[derive(Debug)]
struct Shared {
    /// What belongs together across its ranks.
    matching: Matching,
    /// Its MPI library chooses the algorithms of collective operations.
    library: Library,
}

impl Script {
    /// Opens a profile with its events; `None` if `keeps_on`, which is asked all the time, ended it.
    pub(super) fn open_while(
        profile: &Path,
        keeps_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Self>, InputError> {
        let recording = Recording::open(profile)?;
        let Some(matching) = Matching::new_while(&recording, keeps_on)? else { return Ok(None) };
        let shared = Arc::new(Shared { matching, library: recording.library()? });
        Ok(Some(Self::Recorded(Box::new(Recorded { recording, shared }))))
    }

    /// A job by its calls where those were recorded and the replay has its one-sided ones, else by its clocks, and
    /// why.
    pub(super) fn of_job(job: &Job, name: &str) -> Result<(Self, Option<String>), InputError> {
        let mut why = "the calls were not recorded (profile --events)".to_owned();
        if let Some(profile) = &job.seen.events {
            let script = Self::open_while(profile, &mut || true)?.expect("nothing ends it");
            let mut left_out = script.left_out()?;
            // Programs of clocks have no messages to other jobs either.
            left_out.retain(|what, _| *what == ONE_SIDED);
            match why_by_clocks(&left_out) {
                // Without clocks nothing is sent.
                Some(lacks) if !job.sources.is_empty() => why = lacks,
                _ => return Ok((script, None)),
            }
        }
        if job.sources.is_empty() {
            let expected =
                "a profile made with `rankwright profile --events`, or another with message timing";
            return Err(InputError::new(format!("job `{name}`"), "no message timing", expected));
        }
        let program = Program::of_clocks(job, computing(job), MOST_MESSAGES_OF_CLOCKS, 1);
        Ok((Self::Program(program), Some(why)))
    }

    /// The same for another thread, with an open file of its own.
    pub(super) fn again(&self) -> Result<Self, InputError> {
        Ok(match self {
            Self::Recorded(run) => {
                let shared = Arc::clone(&run.shared);
                Self::Recorded(Box::new(Recorded { recording: run.recording.again()?, shared }))
            }
            Self::Program(program) => Self::Program(program.clone()),
        })
    }

    /// The number of ranks.
    pub(super) fn ranks(&self) -> usize {
        match self {
            Self::Recorded(run) => run.recording.ranks() as usize,
            Self::Program(program) => program.ranks(),
        }
    }

    /// The calls that a replay leaves out, and how often.
    fn left_out(&self) -> Result<BTreeMap<&'static str, u64>, InputError> {
        let mut left_out = BTreeMap::new();
        let Self::Recorded(run) = self else { return Ok(left_out) };
        for rank in (0..run.recording.ranks()).map(Rank) {
            let mut steps = Steps::new(&run.recording, &run.shared.matching, rank, |_| true)?;
            while let Some(step) = steps.next() {
                if let Step::Wait(count) = step? {
                    drop(steps.awaited(count));
                }
            }
            for (what, count) in steps.left_out() {
                *left_out.entry(*what).or_default() += count;
            }
        }
        Ok(left_out)
    }

    /// Its communicators with the nodes of their ranks.
    pub(super) fn groups_on(&self, node: &dyn Fn(Rank) -> u32) -> Vec<Group> {
        match self {
            Self::Recorded(run) => run.shared.matching.groups_on(node),
            Self::Program(_) => Vec::new(),
        }
    }

    /// What a rank does.
    pub(super) fn acts<'a>(
        &'a self,
        rank: Rank,
        groups: &'a [Group],
    ) -> Result<Acts<'a>, InputError> {
        match self {
            Self::Recorded(run) => {
                let Shared { matching, library } = &*run.shared;
                let steps = Steps::new(&run.recording, matching, rank, |_| false)?;
                let steps = steps.with_library(library, groups).in_background();
                Ok(Acts::Recorded(Box::new(steps)))
            }
            Self::Program(program) => Ok(Acts::Program(program.play(rank))),
        }
    }
}

/// A rank on its way through what it does.
#[derive(Debug)]
pub(super) enum Acts<'a> {
    Recorded(Box<Steps<'a>>),
    Program(Play<'a>),
}

static NOTHING: BTreeMap<&str, u64> = BTreeMap::new();

impl<'a> Acts<'a> {
    pub(super) fn next(&mut self) -> Option<Result<Step<'a>, InputError>> {
        match self {
            Self::Recorded(steps) => steps.next(),
            Self::Program(play) => play.next().map(Ok),
        }
    }

    /// The rank begins to wait for its next messages, as many as this. Returns whether it has to.
    pub(super) fn wait(&mut self, count: usize, rank: &mut RankState) -> bool {
        match self {
            Self::Recorded(steps) => {
                rank.has_to_wait(steps.awaited(count).map(|exchange| exchange.number))
            }
            Self::Program(play) => rank.has_to_wait(play.awaited(count)),
        }
    }

    /// The messages of the next phase of a nonblocking operation; false after the last.
    pub(super) fn next_of(&mut self, number: u64, exchanges: &mut Vec<Exchange>) -> bool {
        match self {
            Self::Recorded(steps) => steps.next_of(number, exchanges),
            Self::Program(_) => false,
        }
    }

    /// Calls that no step represents, with their number so far.
    pub(super) fn left_out(&self) -> &BTreeMap<&'static str, u64> {
        match self {
            Self::Recorded(steps) => steps.left_out(),
            Self::Program(_) => &NOTHING,
        }
    }
}
