//! GOAL schedules for [LogGOPSim]: the calls of every rank as a graph of operations in one text file.
//! Checked with LogGOPSim of 2025.
//!
//! Time outside MPI is a `calc` in nanoseconds; collective operations are messages, as in a replay with each
//! rank on a node of its own. An operation that continues before its message is complete is followed by one
//! that needs only its begin (`irequires`), any other by one that needs its end (`requires`). The phases of
//! a nonblocking collective operation need each other. LogGOPSim charges its G for one byte less than the
//! length, so a message without bytes gets one.
//!
//! [LogGOPSim]: https://github.com/spcl/LogGOPSim

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use super::export::{ExportError, Tags};
use super::matching::Matching;
use super::steps::{Exchange, Step, Steps};
use super::store::Recording;
use crate::files::{self, InputError};
use crate::ids::Rank;

/// The result of [`export`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exported {
    /// Number of calls left out, by kind: the format cannot express them.
    pub left_out: BTreeMap<&'static str, u64>,
}

/// Writes the schedule of all ranks.
///
/// # Errors
/// If the events are damaged or incomplete, several threads of a rank call MPI, or the file cannot be
/// written.
pub fn export(recording: &Recording, path: &Path) -> Result<Exported, ExportError> {
    let (matching, library) = (Matching::new(recording)?, recording.library()?);
    let tags = Tags::new(&matching);
    let mut exported = Exported::default();
    let mut failed = None;
    let written = files::stream_atomically(path, |mut file| {
        writeln!(file, "num_ranks {}", recording.ranks())?;
        for rank in (0..recording.ranks()).map(Rank) {
            writeln!(file, "\nrank {rank} {{")?;
            let mut writer = Writer::new(&tags, &mut file);
            let error = match Steps::new(recording, &matching, rank, |_| false) {
                Ok(steps) => {
                    let steps = steps.with_library(&library, matching.groups());
                    let mut steps = steps.in_background();
                    let error = writer.write_rank(&mut steps)?.err();
                    for (what, count) in steps.left_out() {
                        *exported.left_out.entry(what).or_default() += count;
                    }
                    error
                }
                Err(error) => Some(error),
            };
            if let Some(error) = error {
                let why = io::Error::other(error.to_string());
                failed = Some(error);
                return Err(why);
            }
            writeln!(file, "}}")?;
        }
        Ok(())
    });
    if let Some(error) = failed {
        return Err(error.into());
    }
    written?;
    Ok(exported)
}

/// An operation of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    /// The number of a computation.
    Calc(u64),
    /// The number of a message.
    Message(u64),
    /// The number of a message of a nonblocking collective operation.
    Background(u64),
}

/// What an operation waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Needs {
    Begin(Operation),
    End(Operation),
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Calc(number) => write!(f, "c{number}"),
            Self::Message(number) => write!(f, "m{number}"),
            Self::Background(number) => write!(f, "b{number}"),
        }
    }
}

/// Writes the operations of one rank.
struct Writer<'a, W> {
    tags: &'a Tags,
    file: W,
    /// What the next operation waits for.
    after: Vec<Needs>,
    /// Number of computations so far.
    calculated: u64,
    /// The last messages of nonblocking collective operations, by their number.
    background: BTreeMap<u64, Vec<Operation>>,
    /// Number of messages of these so far.
    in_background: u64,
}

impl<'a, W: Write> Writer<'a, W> {
    fn new(tags: &'a Tags, file: W) -> Self {
        let background = BTreeMap::new();
        Self { tags, file, after: Vec::new(), calculated: 0, background, in_background: 0 }
    }

    /// Outer error: writing failed. Inner error: the events are invalid.
    fn write_rank(&mut self, steps: &mut Steps) -> io::Result<Result<(), InputError>> {
        // Below one nanosecond, carried over.
        let mut rest = 0.0;
        while let Some(step) = steps.next() {
            match step {
                Err(error) => return Ok(Err(error)),
                Ok(Step::Compute(time)) => {
                    rest += time.0 * 1e9;
                    if rest >= 1.0 {
                        self.calc(rest.floor())?;
                        rest = rest.fract();
                    }
                }
                Ok(Step::Exchange(exchange)) => self.exchange(exchange)?,
                Ok(Step::Wait(count)) => {
                    for Exchange { number, .. } in steps.awaited(count) {
                        match self.background.remove(&number) {
                            Some(last) => self.after.extend(last.into_iter().map(Needs::End)),
                            None => self.after.push(Needs::End(Operation::Message(number))),
                        }
                    }
                }
                Ok(Step::Begin(number)) => self.begin(number, steps)?,
                // Blocking operations have been expanded to messages.
                Ok(Step::Collective(_)) => {}
            }
        }
        Ok(Ok(()))
    }

    fn calc(&mut self, nanoseconds: f64) -> io::Result<()> {
        let operation = Operation::Calc(self.calculated);
        self.calculated += 1;
        writeln!(self.file, "{operation}: calc {nanoseconds:.0}")?;
        self.follow(operation, Needs::End(operation))
    }

    fn exchange(&mut self, exchange: Exchange) -> io::Result<()> {
        let operation = Operation::Message(exchange.number);
        self.message(operation, &exchange)?;
        let blocks = exchange.blocking;
        let needs = if blocks { Needs::End(operation) } else { Needs::Begin(operation) };
        self.follow(operation, needs)
    }

    /// Writes a nonblocking collective operation: the first phase begins with the call, each other one
    /// when the one before is over, whatever the rank does.
    fn begin(&mut self, number: u64, steps: &mut Steps) -> io::Result<()> {
        let (mut phase, mut last) = (Vec::new(), Vec::new());
        while steps.next_of(number, &mut phase) {
            let begun: Vec<Operation> =
                (self.in_background..).map(Operation::Background).take(phase.len()).collect();
            for (operation, exchange) in begun.iter().zip(&phase) {
                self.in_background += 1;
                self.message(*operation, exchange)?;
                if last.is_empty() {
                    self.follow(*operation, Needs::Begin(*operation))?;
                }
                for earlier in &last {
                    writeln!(self.file, "{operation} requires {earlier}")?;
                }
            }
            if !begun.is_empty() {
                last = begun;
            }
        }
        self.background.insert(number, last);
        Ok(())
    }

    fn message(&mut self, operation: Operation, exchange: &Exchange) -> io::Result<()> {
        let Exchange { sends, peer, .. } = exchange;
        let (name, preposition) = if *sends { ("send", "to") } else { ("recv", "from") };
        let (bytes, tag) = (exchange.bytes.max(1), self.tags.tag(exchange.channel));
        writeln!(self.file, "{operation}: {name} {bytes}b {preposition} {peer} tag {tag}")
    }

    /// Writes what an operation waits for; the next one waits for `next`.
    fn follow(&mut self, operation: Operation, next: Needs) -> io::Result<()> {
        for needs in self.after.drain(..) {
            match needs {
                Needs::Begin(earlier) => writeln!(self.file, "{operation} irequires {earlier}")?,
                Needs::End(earlier) => writeln!(self.file, "{operation} requires {earlier}")?,
            }
        }
        self.after.push(next);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::traffic::read::events::sample::{Payload, write_files, write_profile};
    use crate::traffic::read::events::store;

    const WORLD: u64 = 0;

    #[test]
    fn the_order_of_calls_becomes_what_operations_require() {
        let folder = tempfile::tempdir().unwrap();
        let profile = write_profile(folder.path(), 2);
        // Posts a receive, sends, waits for both.
        let first = Payload::new(2)
            .event(4, &[4, 3 + 1, 14, WORLD, 100])
            .event(3, &[4, 3 + 1, 14, WORLD, 40])
            .event(6, &[1, 2, 2, 1 << 3 | 1, 3 + 1, 14, 0, 0])
            .event(12, &[4]);
        let second =
            Payload::new(2).event(3, &[0, 3, 14, WORLD, 0]).event(4, &[16, 3, 14, WORLD, 40]);
        store::add(&profile, &write_files(folder.path(), &[first, second])).unwrap();
        let path = folder.path().join("run.goal");
        export(&Recording::open(&profile).unwrap(), &path).unwrap();
        let expected = "num_ranks 2

rank 0 {
c0: calc 1000
m1: recv 1b from 1 tag 7
m1 requires c0
c1: calc 1000
c1 irequires m1
m2: send 40b to 1 tag 7
m2 requires c1
c2: calc 1000
c2 irequires m2
c3: calc 1000
c3 requires c2
c3 requires m1
c3 requires m2
}

rank 1 {
c0: calc 1000
m1: send 1b to 0 tag 7
m1 requires c0
c1: calc 1000
c1 requires m1
m2: recv 40b from 0 tag 7
m2 requires c1
}
";
        assert_eq!(fs::read_to_string(path).unwrap(), expected);
    }

    #[test]
    fn collectives_are_those_of_the_library() {
        let folder = tempfile::tempdir().unwrap();
        let profile = write_profile(folder.path(), 5);
        let rank = |number: u64| {
            let bytes = if number == 0 { 64 } else { 0 };
            Payload::new(5).event(9, &[1, 0, WORLD, 3, bytes])
        };
        let ranks: Vec<Payload> = (0..5).map(rank).collect();
        store::add(&profile, &write_files(folder.path(), &ranks)).unwrap();
        let path = folder.path().join("run.goal");
        export(&Recording::open(&profile).unwrap(), &path).unwrap();
        let text = fs::read_to_string(path).unwrap();
        // Open MPI broadcasts a short message to five ranks along a tree, not from the root to each.
        let senders = text.split("\nrank ").filter(|rank| rank.contains(": send 64b"));
        assert!(senders.count() > 1, "{text}");
        assert_eq!(text.matches(": send 64b").count(), 4, "{text}");
    }

    #[test]
    fn phases_of_a_nonblocking_operation_need_each_other_and_not_the_rank() {
        let folder = tempfile::tempdir().unwrap();
        let profile = write_profile(folder.path(), 5);
        let rank = |number: u64| {
            let bytes = if number == 0 { 64 } else { 0 };
            Payload::new(5)
                .event(9, &[1, 1, WORLD, 3, bytes])
                .event(12, &[4])
                .event(6, &[0, 1, 1, 0])
        };
        let ranks: Vec<Payload> = (0..5).map(rank).collect();
        store::add(&profile, &write_files(folder.path(), &ranks)).unwrap();
        let path = folder.path().join("run.goal");
        export(&Recording::open(&profile).unwrap(), &path).unwrap();
        let text = fs::read_to_string(path).unwrap();
        let passes_on = |rank: &&str| rank.contains("b0: recv") && rank.contains("b1: send");
        let inner: Vec<&str> = text.split("\nrank ").filter(passes_on).collect();
        assert!(!inner.is_empty(), "{text}");
        for rank in inner {
            assert!(rank.contains("b1 requires b0\n"), "{rank}");
            assert!(rank.contains("c1 irequires b0\n"), "{rank}");
        }
    }
}
