//! What the ranks of a job do in a replay: as recorded, or by a program made of clocks.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::program::{Play, Program};
use super::rank::RankState;
use crate::files::InputError;
use crate::ids::Rank;
use crate::traffic::expansion::library::Library;
use crate::traffic::expansion::schedule::Group;
use crate::traffic::read::events::matching::Matching;
use crate::traffic::read::events::steps::{Exchange, Step, Steps};
use crate::traffic::read::events::store::Recording;

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
