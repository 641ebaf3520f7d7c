//! The tracer's event file of one rank, `rank-N.events`: a header, then blocks of events.
//! `tracer/src/format/events_format.h` describes it byte by byte.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::files::{self, InputError, InputFile, describe};
use crate::traffic::read::trace_constants::{
    CLOCK_OFF, CLOCK_TSC, EVENTS_BLOCK_MAGIC, EVENTS_CLOSED, EVENTS_LAST, EVENTS_MAGIC,
    EVENTS_VERSION,
};

/// The oldest version that is read: without what ranks waited for a PU.
const FIRST_VERSION: u32 = 1;
const HEAD_BYTES: usize = 64;
const BLOCK_BYTES: usize = 56;
/// Shortest span over which the tick length is measured, in nanoseconds.
const SHORTEST_MEASURE: u64 = 1_000_000;
const EXPECTED: &str = "the events of a rank as rankwright's tracer writes them";

/// The event file of one rank, read block by block.
#[derive(Debug)]
pub struct EventFile {
    path: PathBuf,
    reader: InputFile,
    /// World rank.
    pub rank: u32,
    /// Number of ranks in the job.
    pub world_size: u32,
    /// Random number shared by all ranks of a run.
    pub run: u64,
    /// Start of MPI on this rank, in nanoseconds since 1970.
    pub start_unix_ns: i64,
    clock: u32,
    begin: Instant,
    latest: Instant,
    /// Whether the last block marks `MPI_Finalize`.
    whole: bool,
    ended: bool,
}

/// One moment on both clocks of the tracer.
#[derive(Debug, Clone, Copy)]
struct Instant {
    ticks: u64,
    nanoseconds: u64,
}

/// A block of events.
#[derive(Debug)]
pub struct Block {
    /// Number of events.
    pub events: u64,
    /// Encoded events.
    pub payload: Vec<u8>,
}

impl EventFile {
    /// Opens a file and reads its header.
    ///
    /// # Errors
    /// If it cannot be read, is not an event file, or has a newer version.
    pub fn open(path: &Path) -> Result<Self, InputError> {
        let wrong = |found: String| InputError::new(path.display(), found, EXPECTED);
        let mut reader = files::open(path, EXPECTED)?;
        let mut head = [0; HEAD_BYTES];
        reader.read_exact(&mut head).map_err(|error| wrong(cut_or(&error)))?;
        if head[..8] != *EVENTS_MAGIC {
            return Err(wrong("another kind of file".to_owned()));
        }
        let version = u32_at(&head, 8);
        if !(FIRST_VERSION..=EVENTS_VERSION).contains(&version) {
            return Err(wrong(format!("format version {version}")).with_advice(format!(
                "this rankwright reads versions {FIRST_VERSION} to {EVENTS_VERSION}"
            )));
        }
        let (rank, world_size) = (u32_at(&head, 16), u32_at(&head, 20));
        if rank >= world_size {
            return Err(wrong(format!("rank {rank} of {world_size}")));
        }
        let begin = Instant { ticks: u64_at(&head, 48), nanoseconds: u64_at(&head, 56) };
        let mut file = Self {
            path: path.to_owned(),
            reader,
            rank,
            world_size,
            run: u64_at(&head, 24),
            start_unix_ns: u64_at(&head, 40).cast_signed(),
            clock: u32_at(&head, 32),
            begin,
            latest: begin,
            whole: false,
            ended: false,
        };
        let more = u64::from(u32_at(&head, 12)).saturating_sub(HEAD_BYTES as u64);
        file.skip(more)?;
        Ok(file)
    }

    /// The next block; `None` at the end, or at the first incomplete block of a truncated file.
    ///
    /// # Errors
    /// If the file cannot be read or is damaged.
    pub(crate) fn next_block(&mut self) -> Result<Option<Block>, InputError> {
        let mut head = [0; BLOCK_BYTES];
        if self.ended || !self.fill(&mut head)? || u32_at(&head, 0) == 0 {
            self.ended = true;
            return Ok(None);
        }
        let flags = u32_at(&head, 4);
        let (size, length) = (u64_at(&head, 8), u64_at(&head, 16));
        let rest = size.checked_sub(BLOCK_BYTES as u64).and_then(|rest| rest.checked_sub(length));
        let (EVENTS_BLOCK_MAGIC, Some(rest)) = (u32_at(&head, 0), rest) else {
            return Err(self.wrong("a damaged block".to_owned()));
        };
        let mut payload = Vec::new();
        let read = (&mut self.reader).take(length).read_to_end(&mut payload);
        read.map_err(|error| self.wrong(describe(&error)))?;
        if payload.len() as u64 != length {
            self.ended = true;
            return Ok(None);
        }
        if flags & EVENTS_CLOSED != 0 && crc32fast::hash(&payload) != u32_at(&head, 48) {
            return Err(self.wrong("a damaged block: its checksum does not match".to_owned()));
        }
        self.latest = Instant { ticks: u64_at(&head, 32), nanoseconds: u64_at(&head, 40) };
        self.whole = flags & EVENTS_LAST != 0;
        self.ended = self.whole || flags & EVENTS_CLOSED == 0;
        self.skip(rest)?;
        Ok(Some(Block { events: u64_at(&head, 24), payload }))
    }

    /// Whether the rank reached `MPI_Finalize` and the file is complete; valid after the last
    /// block.
    #[must_use]
    pub(crate) fn is_whole(&self) -> bool {
        self.whole
    }

    /// Tick length in seconds; valid after the last block. `None` if the rank's life was too short
    /// to measure it.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "53 bits of ticks or nanoseconds are a month")]
    pub(crate) fn seconds_per_tick(&self) -> Option<f64> {
        let ticks = self.latest.ticks.saturating_sub(self.begin.ticks);
        let nanoseconds = self.latest.nanoseconds.saturating_sub(self.begin.nanoseconds);
        match self.clock {
            CLOCK_OFF => Some(0.0),
            CLOCK_TSC if ticks == 0 || nanoseconds < SHORTEST_MEASURE => None,
            CLOCK_TSC => Some(nanoseconds as f64 * 1e-9 / ticks as f64),
            _ => Some(1e-9),
        }
    }

    /// An error about this file.
    pub(super) fn wrong(&self, found: String) -> InputError {
        InputError::new(self.path.display(), found, EXPECTED)
    }

    /// Fills the buffer; false at the end of the file.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<bool, InputError> {
        match self.reader.read_exact(bytes) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(self.wrong(describe(&error))),
        }
    }

    fn skip(&mut self, bytes: u64) -> Result<(), InputError> {
        let skipped = io::copy(&mut (&mut self.reader).take(bytes), &mut io::sink());
        skipped.map(drop).map_err(|error| self.wrong(describe(&error)))
    }
}

fn cut_or(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "a file that was cut short".to_owned(),
        _ => describe(error),
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
