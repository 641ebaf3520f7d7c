//! Events in the profile: tables of the SQLite file described in `docs/src/formats.md`. A row holds
//! many events as the tracer wrote them: one row per event would make the file ten times
//! larger, and queries for single events are not needed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

use super::decode::{CUT_SHORT, Decoder, KnownCommunicators};
use super::spool::EventFile;
use super::{CommunicatorIdentity, Event};
use crate::files::{InputError, WriteError, replace_atomically};
use crate::ids::Rank;
use crate::traffic::expansion::library::Library;
use crate::traffic::read::profile_file;

const TABLES: &str = "
DROP TABLE IF EXISTS event_blocks;
DROP TABLE IF EXISTS event_streams;
CREATE TABLE event_streams (
  rank INTEGER PRIMARY KEY, events INTEGER NOT NULL, whole INTEGER NOT NULL,
  seconds_per_tick REAL NOT NULL, start_unix_ns INTEGER NOT NULL);
CREATE TABLE event_blocks (
  rank INTEGER NOT NULL, part INTEGER NOT NULL, payload BLOB NOT NULL,
  PRIMARY KEY (rank, part));
";
const EXPECTED: &str = "a profile with the events of every rank";
const ADVICE: &str = "record them with `rankwright profile --events`";

/// The result of [`add`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Added {
    /// Number of events of all ranks.
    pub events: u64,
    /// Ranks that did not reach `MPI_Finalize`, or whose events could not be written completely.
    pub partial: Vec<Rank>,
}

/// Why events were not added to a profile, which is then unchanged.
#[derive(Debug, thiserror::Error)]
pub enum AddError {
    /// An event file is invalid.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The profile could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Adds the event files of all ranks to the profile, replacing earlier events.
///
/// # Errors
/// If a file is damaged or from another run, a rank occurs twice, or the profile cannot be written.
pub fn add(profile: &Path, files: &[PathBuf]) -> Result<Added, AddError> {
    let mut added = Ok(Added::default());
    let written = replace_atomically(profile, |temporary| {
        added = add_to_copy(profile, temporary, files).map_err(std::io::Error::other)?;
        match &added {
            Ok(_) => Ok(()),
            Err(error) => Err(std::io::Error::other(error.to_string())),
        }
    });
    let added = added?;
    written?;
    Ok(added)
}

fn add_to_copy(
    profile: &Path,
    copy: &Path,
    files: &[PathBuf],
) -> rusqlite::Result<Result<Added, InputError>> {
    let original = Connection::open_with_flags(profile, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    original.execute("VACUUM INTO ?", [copy.to_string_lossy()])?;
    let mut file = Connection::open(copy)?;
    // The temporary file is renamed only when complete, so no journal is needed.
    file.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")?;
    file.execute_batch(TABLES)?;
    let transaction = file.transaction()?;
    let added = match write_streams(&transaction, files)? {
        Ok(added) => added,
        Err(error) => return Ok(Err(error)),
    };
    transaction.commit()?;
    Ok(Ok(added))
}

/// SQLite's integers are signed, 64 bits.
fn integer(amount: u64) -> i64 {
    i64::try_from(amount).unwrap_or(i64::MAX)
}

/// A row of `event_streams`.
struct StreamRow {
    rank: u32,
    events: u64,
    whole: bool,
    seconds_per_tick: Option<f64>,
    start_unix_ns: i64,
}

fn write_streams(
    file: &Connection,
    files: &[PathBuf],
) -> rusqlite::Result<Result<Added, InputError>> {
    let mut rows: Vec<StreamRow> = Vec::new();
    let mut run = None;
    let known = KnownCommunicators::default();
    for path in files {
        let row = EventFile::open(path).and_then(|events| {
            let first = *run.get_or_insert((events.run, events.world_size));
            if first != (events.run, events.world_size) {
                return Err(events.wrong("a rank of another run".to_owned()));
            }
            if rows.iter().any(|row| row.rank == events.rank) {
                return Err(events.wrong(format!("rank {} twice", events.rank)));
            }
            Ok(events)
        });
        match row {
            Ok(events) => match write_blocks(file, events, &known)? {
                Ok(row) => rows.push(row),
                Err(error) => return Ok(Err(error)),
            },
            Err(error) => return Ok(Err(error)),
        }
    }
    // A rank that was killed early has not measured its tick: use that of another rank.
    let tick = rows.iter().find_map(|row| row.seconds_per_tick).unwrap_or(1e-9);
    let mut insert = file.prepare("INSERT INTO event_streams VALUES (?,?,?,?,?)")?;
    for row in &rows {
        let tick = row.seconds_per_tick.unwrap_or(tick);
        insert.execute(params![
            row.rank,
            integer(row.events),
            row.whole,
            tick,
            row.start_unix_ns
        ])?;
    }
    let partial = rows.iter().filter(|row| !row.whole).map(|row| Rank(row.rank)).collect();
    Ok(Ok(Added { events: rows.iter().map(|row| row.events).sum(), partial }))
}

/// Copies the blocks of a rank. Each is decoded once, so that whatever is stored can be read.
fn write_blocks(
    file: &Connection,
    mut events: EventFile,
    known: &KnownCommunicators,
) -> rusqlite::Result<Result<StreamRow, InputError>> {
    let mut insert = file.prepare("INSERT INTO event_blocks VALUES (?,?,?)")?;
    let mut decoder = Decoder::new(events.world_size, 0.0, known.clone());
    let (mut part, mut count) = (0_i64, 0);
    loop {
        let block = match events.next_block() {
            Ok(Some(block)) => block,
            Ok(None) => break,
            Err(error) => return Ok(Err(error)),
        };
        let cuts = match decode_all(&mut decoder, &block.payload) {
            Ok((decoded, cuts)) if decoded == block.events => cuts,
            Ok((decoded, _)) => {
                let text = format!("{decoded} events in a block of {}", block.events);
                return Ok(Err(events.wrong(text)));
            }
            Err(found) => return Ok(Err(events.wrong(found))),
        };
        count += block.events;
        for piece in cuts.windows(2) {
            insert.execute(params![events.rank, part, &block.payload[piece[0]..piece[1]]])?;
            part += 1;
        }
    }
    Ok(Ok(StreamRow {
        rank: events.rank,
        events: count,
        whole: events.is_whole(),
        seconds_per_tick: events.seconds_per_tick(),
        start_unix_ns: events.start_unix_ns,
    }))
}

/// Decodes a block: the number of its events, and where it is cut into pieces, with begin and end.
fn decode_all(decoder: &mut Decoder, payload: &[u8]) -> Result<(u64, Vec<usize>), String> {
    let (mut position, mut count, mut cuts) = (0, 0, vec![0]);
    while decoder.next(payload, &mut position)?.is_some() {
        count += 1;
        if position >= cuts.last().unwrap_or(&0) + PIECE {
            cuts.push(position);
        }
    }
    if cuts.last() != Some(&payload.len()) {
        cuts.push(payload.len());
    }
    Ok((count, cuts))
}

/// The events in a profile.
#[derive(Debug)]
pub struct Recording {
    name: String,
    file: Connection,
    ranks: u32,
    known: KnownCommunicators,
}

/// About the size of a stored block, in bytes. SQLite reads a whole one even where a part is wanted.
const PIECE: usize = 64 << 10;

/// The encoded events of all ranks that are in memory at once, in bytes; each rank has a share.
const WINDOWS: usize = 256 << 20;
/// The least and the most of a rank.
const WINDOW: std::ops::RangeInclusive<usize> = 4 << 10..=1 << 20;

impl Recording {
    /// Opens the profile.
    ///
    /// # Errors
    /// If it cannot be read, or does not hold the events of every rank.
    pub fn open(profile: &Path) -> Result<Self, InputError> {
        let name = profile.display().to_string();
        let wrong = |error: rusqlite::Error| InputError::new(&name, error, EXPECTED);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let file = Connection::open_with_flags(profile, flags).map_err(wrong)?;
        let count = |query| file.query_row(query, [], |row| row.get::<_, u32>(0));
        let tables = "SELECT count(*) FROM sqlite_master WHERE name = 'event_streams'";
        if count(tables).map_err(wrong)? == 0 {
            let error = InputError::new(&name, "a profile without events", EXPECTED);
            return Err(error.with_advice(ADVICE));
        }
        let ranks = count("SELECT count(*) FROM ranks").map_err(wrong)?;
        let streams =
            count("SELECT count(*) FROM event_streams JOIN ranks USING (rank)").map_err(wrong)?;
        if streams != ranks {
            let found = format!("the events of {streams} of {ranks} ranks");
            return Err(InputError::new(&name, found, EXPECTED));
        }
        Ok(Self { name, file, ranks, known: KnownCommunicators::default() })
    }

    /// The same profile, opened once more.
    ///
    /// # Errors
    /// If it can no longer be read.
    pub fn again(&self) -> Result<Self, InputError> {
        Self::open(Path::new(&self.name))
    }

    /// Number of ranks.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// The MPI library of the run, as far as it chooses algorithms of collective operations.
    ///
    /// # Errors
    /// If the profile is damaged.
    pub fn library(&self) -> Result<Library, InputError> {
        profile_file::library(&self.file).map_err(|error| self.wrong(error.to_string()))
    }

    /// When MPI started on each rank, in nanoseconds since 1970: by the clock of rank 0's host where the
    /// clocks were compared (`profile --timeline device`), else of its own.
    ///
    /// # Errors
    /// If the profile is damaged.
    pub fn starts(&self) -> Result<Vec<i64>, InputError> {
        let compared = "SELECT start_unix_ns + CAST(1e9 * coalesce(clock_offset_s, 0) AS INTEGER) \
                        FROM event_streams JOIN (SELECT rank, host FROM ranks) USING (rank) \
                        LEFT JOIN (SELECT host, clock_offset_s FROM counter_nodes GROUP BY host) \
                        USING (host) ORDER BY rank";
        let own = "SELECT start_unix_ns FROM event_streams ORDER BY rank";
        let tables = "SELECT count(*) FROM sqlite_master WHERE name = 'counter_nodes'";
        let read = || -> rusqlite::Result<Vec<i64>> {
            let has_offsets = self.file.query_row(tables, [], |row| row.get::<_, u32>(0))? > 0;
            let select = if has_offsets { compared } else { own };
            let mut select = self.file.prepare(select)?;
            select.query_map([], |row| row.get(0))?.collect()
        };
        read().map_err(|error| self.wrong(error.to_string()))
    }

    /// The events of a rank.
    ///
    /// # Errors
    /// If the profile is damaged.
    pub fn stream(&self, rank: Rank) -> Result<Stream<'_>, InputError> {
        let select = "SELECT events, whole, seconds_per_tick FROM event_streams WHERE rank = ?";
        let row = self.file.query_row(select, [rank.0], |row| {
            Ok((
                row.get::<_, i64>(0)?.unsigned_abs(),
                row.get::<_, bool>(1)?,
                row.get::<_, f64>(2)?,
            ))
        });
        let (events, whole, tick) = row.map_err(|error| self.wrong(error.to_string()))?;
        Ok(Stream {
            recording: self,
            rank,
            events,
            whole,
            window: (WINDOWS / self.ranks.max(1) as usize).clamp(*WINDOW.start(), *WINDOW.end()),
            part: 0,
            read: 0,
            is_rest: false,
            payload: Vec::new(),
            position: 0,
            decoder: Decoder::new(self.ranks, tick, self.known.clone()),
        })
    }

    /// An error about this profile.
    pub(crate) fn wrong(&self, found: String) -> InputError {
        InputError::new(&self.name, found, EXPECTED)
    }
}

/// Iterator over the events of a rank.
#[derive(Debug)]
pub struct Stream<'a> {
    recording: &'a Recording,
    rank: Rank,
    events: u64,
    whole: bool,
    /// Bytes that are read at once.
    window: usize,
    /// The block that is being read, and how many bytes of it have been read.
    part: u32,
    read: usize,
    /// Whether these are all.
    is_rest: bool,
    /// Bytes of the block, decoded up to `position`.
    payload: Vec<u8>,
    position: usize,
    decoder: Decoder,
}

impl Stream<'_> {
    /// Number of events in the whole stream.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Whether the rank reached `MPI_Finalize` and its events are complete.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// Communicators named by the events read so far, by index within the rank; the first is
    /// `MPI_COMM_WORLD`.
    #[must_use]
    pub fn communicators(&self) -> &[Arc<CommunicatorIdentity>] {
        &self.decoder.communicators
    }

    fn next_event(&mut self) -> Result<Option<Event>, InputError> {
        loop {
            match self.decoder.next(&self.payload, &mut self.position) {
                Ok(Some(event)) => return Ok(Some(event)),
                Ok(None) => {}
                Err(found) if found == CUT_SHORT && !self.is_rest => {}
                Err(found) => {
                    let found = format!("in the events of rank {}: {found}", self.rank);
                    return Err(self.recording.wrong(found));
                }
            }
            if !self.read_on().map_err(|error| self.recording.wrong(error.to_string()))? {
                return Ok(None);
            }
        }
    }

    /// Reads more of the block, or the begin of the next one; false after the last.
    fn read_on(&mut self) -> rusqlite::Result<bool> {
        if self.is_rest {
            self.part += 1;
            (self.read, self.is_rest) = (0, false);
        }
        let select = "SELECT substr(payload, ?, ?) FROM event_blocks WHERE rank = ? AND part = ?";
        let mut select = self.recording.file.prepare(select)?;
        let wanted = params![
            integer(self.read as u64 + 1),
            integer(self.window as u64),
            self.rank.0,
            self.part
        ];
        self.payload.drain(..self.position);
        self.position = 0;
        let bytes = select.query_row(wanted, |row| {
            let bytes = row.get_ref(0)?.as_blob()?;
            self.payload.extend_from_slice(bytes);
            Ok(bytes.len())
        });
        let Some(bytes) = bytes.optional()? else { return Ok(false) };
        self.read += bytes;
        self.is_rest = bytes < self.window;
        Ok(true)
    }
}

impl Iterator for Stream<'_> {
    type Item = Result<Event, InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_event().transpose()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::traffic::read::events::sample::{self, Payload};
    use crate::traffic::read::events::{Call, CallClass};
    use crate::units::Seconds;

    fn others(count: usize) -> Payload {
        (0..count).fold(Payload::new(2), |payload, _| payload.event(12, &[4]))
    }

    #[test]
    fn events_come_back_in_order_and_may_be_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let profile = sample::write_profile(folder.path(), 2);
        let before = crate::traffic::read::profile_file::read(&profile).unwrap();
        for count in [3, 5] {
            let files = sample::write_files(folder.path(), &[others(count), others(1)]);
            let added = add(&profile, &files).unwrap();
            assert_eq!(added, Added { events: count as u64 + 1, partial: Vec::new() });
            let recording = Recording::open(&profile).unwrap();
            let stream = recording.stream(Rank(0)).unwrap();
            assert!(stream.is_whole() && stream.events() == count as u64);
            let events: Vec<Event> = stream.map(Result::unwrap).collect();
            assert_eq!(events.len(), count);
            assert_eq!(events[0].call, Call::Other(CallClass::Other));
            assert_eq!(events[0].gap, Seconds(1000.0 * 1e-9));
        }
        let mut after = crate::traffic::read::profile_file::read(&profile).unwrap();
        assert_eq!(after.run.events.take(), Some(profile));
        assert_eq!(after, before);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    fn a_profile_without_events_says_how_to_get_them() {
        let folder = tempfile::tempdir().unwrap();
        let profile = sample::write_profile(folder.path(), 2);
        let message = Recording::open(&profile).unwrap_err().to_string();
        assert!(message.contains("without events") && message.contains("--events"), "{message}");
        let files = sample::write_files(folder.path(), &[others(1), others(1)]);
        add(&profile, &files[..1]).unwrap();
        let message = Recording::open(&profile).unwrap_err().to_string();
        assert!(message.contains("the events of 1 of 2 ranks"), "{message}");
    }

    #[test]
    fn a_file_that_was_cut_is_partial_and_a_damaged_one_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let profile = sample::write_profile(folder.path(), 2);
        let files = sample::write_files(folder.path(), &[others(9), others(1)]);
        let whole = fs::read(&files[0]).unwrap();
        for length in (0..whole.len()).step_by(7) {
            fs::write(&files[0], &whole[..length]).unwrap();
            match add(&profile, &files) {
                Ok(added) => assert_eq!(added.partial, [Rank(0)], "cut at {length}"),
                Err(error) => assert!(length < 64 && error.to_string().contains("cut short")),
            }
        }
        for place in 120..whole.len() {
            let mut damaged = whole.clone();
            damaged[place] ^= 0xff;
            fs::write(&files[0], &damaged).unwrap();
            let message = add(&profile, &files).unwrap_err().to_string();
            assert!(message.contains("checksum"), "{message}");
        }
        for place in 0..120 {
            let mut damaged = whole.clone();
            damaged[place] = !damaged[place];
            fs::write(&files[0], &damaged).unwrap();
            let _ = add(&profile, &files);
        }
    }

    #[test]
    fn the_ranks_are_of_one_run_and_each_is_there_once() {
        let folder = tempfile::tempdir().unwrap();
        let profile = sample::write_profile(folder.path(), 2);
        let files = sample::write_files(folder.path(), &[others(1), others(1)]);
        let message = add(&profile, &[files[0].clone(), files[0].clone()]).unwrap_err().to_string();
        assert!(message.contains("rank 0 twice"), "{message}");
        let other = sample::file(1, 3, &others(1), true);
        fs::write(&files[1], other).unwrap();
        let message = add(&profile, &files).unwrap_err().to_string();
        assert!(message.contains("another run"), "{message}");
        assert!(Recording::open(&profile).is_err(), "nothing was added");
    }
}
