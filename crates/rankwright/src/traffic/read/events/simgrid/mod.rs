//! Time-independent traces of [SimGrid], which its SMPI replays (`smpirun -replay`): one file of
//! actions per rank and a list of these files. Checked with SimGrid 3.32; the actions are those of
//! its `smpi_replay.cpp`.
//!
//! All amounts are bytes. Time outside MPI becomes computation on a host of a given speed. The
//! format has neither communicators nor nonblocking collectives: those become messages
//! ([`steps`](super::steps)), as in a replay with each rank on a node of its own, whose tags are renumbered to keep communicators apart.
//!
//! [SimGrid]: https://simgrid.org

mod native;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::export::{ExportError, Tags};
use super::matching::{Collective, Matching};
use super::steps::{Exchange, Step, Steps};
use super::store::Recording;
use crate::files::{self, InputError};
use crate::ids::Rank;

/// File name of the list, the argument of `smpirun -replay`.
pub const LIST: &str = "ranks.txt";

/// The result of [`export`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exported {
    /// Path of the list of files.
    pub list: PathBuf,
    /// Number of actions of all ranks.
    pub actions: u64,
    /// Number of calls left out, by kind: the format cannot express them.
    pub left_out: BTreeMap<&'static str, u64>,
}

/// Writes the events for hosts of `speed` floating-point operations per second. Creates the folder
/// if needed; the list is written last.
///
/// # Errors
/// If the events are damaged or incomplete, several threads of a rank call MPI, or a file cannot be
/// written.
pub fn export(recording: &Recording, folder: &Path, speed: f64) -> Result<Exported, ExportError> {
    let (matching, library) = (Matching::new(recording)?, recording.library()?);
    let tags = Tags::new(&matching);
    let mut exported = Exported { list: folder.join(LIST), ..Exported::default() };
    files::make_folder(folder)?;
    let mut list = String::new();
    for rank in (0..recording.ranks()).map(Rank) {
        let path = folder.join(format!("rank-{rank}.txt"));
        let keeps = |collective: &Collective| native::action(collective, 1, Rank(0)).is_some();
        let steps = Steps::new(recording, &matching, rank, keeps)?;
        let mut steps = steps.with_library(&library, matching.groups());
        let mut failed = None;
        let written = files::stream_atomically(&path, |file| {
            let (tags, flops, actions) = (&tags, 0.0, 0);
            let mut writer = Writer { recording, tags, rank, speed, file, flops, actions };
            match writer.write_rank(&mut steps)? {
                Ok(()) => exported.add(writer.actions, steps.left_out()),
                Err(error) => {
                    let why = io::Error::other(error.to_string());
                    failed = Some(error);
                    return Err(why);
                }
            }
            Ok(())
        });
        if let Some(error) = failed {
            return Err(error.into());
        }
        written?;
        list.push_str(&path.display().to_string());
        list.push('\n');
    }
    files::write_atomically(&exported.list, list.as_bytes())?;
    Ok(exported)
}

impl Exported {
    fn add(&mut self, actions: u64, left_out: &BTreeMap<&'static str, u64>) {
        self.actions += actions;
        for (what, count) in left_out {
            *self.left_out.entry(what).or_default() += count;
        }
    }
}

/// Writes the actions of one rank.
struct Writer<'a, W> {
    recording: &'a Recording,
    tags: &'a Tags,
    rank: Rank,
    speed: f64,
    file: W,
    /// Floating-point operations to write before the next action.
    flops: f64,
    actions: u64,
}

/// Outer error: writing failed. Inner error: the events are invalid.
type Written<T = ()> = io::Result<Result<T, InputError>>;

impl<W: Write> Writer<'_, W> {
    fn write_rank(&mut self, steps: &mut Steps) -> Written {
        self.action(format_args!("init"))?;
        while let Some(step) = steps.next() {
            let step = match step {
                Ok(step) => step,
                Err(error) => return Ok(Err(error)),
            };
            match step {
                Step::Compute(time) => self.flops += time.0 * self.speed,
                Step::Exchange(exchange) => {
                    if let Err(found) = self.exchange(exchange)? {
                        return Ok(Err(self.recording.wrong(found)));
                    }
                }
                Step::Wait(count) => {
                    steps.awaited(count).try_for_each(|exchange| self.wait(exchange))?;
                }
                Step::Collective(collective) => {
                    let action = native::action(collective, self.recording.ranks(), self.rank);
                    if let Some(action) = action {
                        self.action(format_args!("{action}"))?;
                    }
                }
                // Messages of nonblocking operations start with the call.
                Step::Begin(_) => {}
            }
        }
        self.action(format_args!("finalize"))?;
        Ok(Ok(()))
    }

    fn exchange(&mut self, exchange: Exchange) -> io::Result<Result<(), String>> {
        let Exchange { sends, peer, bytes, blocking, .. } = exchange;
        if bytes > native::LARGEST {
            return Ok(Err(format!("a message of {bytes} bytes; SimGrid counts them in 32 bits")));
        }
        let name = match (sends, blocking) {
            (true, true) => "send",
            (true, false) => "isend",
            (false, true) => "recv",
            (false, false) => "irecv",
        };
        let tag = self.tags.tag(exchange.channel);
        self.action(format_args!("{name} {peer} {tag} {bytes}")).map(Ok)
    }

    fn wait(&mut self, exchange: Exchange) -> io::Result<()> {
        let (peer, tag) = (exchange.peer, self.tags.tag(exchange.channel));
        let (source, destination) =
            if exchange.sends { (self.rank, peer) } else { (peer, self.rank) };
        self.action(format_args!("wait {source} {destination} {tag}"))
    }

    /// Writes the pending computation, then the action.
    fn action(&mut self, action: std::fmt::Arguments<'_>) -> io::Result<()> {
        if self.flops >= 1.0 {
            writeln!(self.file, "{} compute {:.0}", self.rank, self.flops.floor())?;
            self.flops = self.flops.fract();
            self.actions += 1;
        }
        self.actions += 1;
        writeln!(self.file, "{} {action}", self.rank)
    }
}
