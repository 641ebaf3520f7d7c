//! What each rank handed to the kernel and took from it on TCP connections, and when: the tracer's files of a
//! run, and the tables of the profile. `tracer/src/format/transport_format.h` and `docs/src/formats.md`
//! describe them.
//!
//! The two ends of a connection name each other by address and port; so the ranks at both ends are known
//! once the files of all are read. Connections to others (launchers, daemons) are left out.

use std::io::Read;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, params};
use rustc_hash::FxHashMap;

use super::profile_file;
use super::trace_constants::{
    TRANSPORT_CONNECTION, TRANSPORT_MAGIC, TRANSPORT_RECEIVED, TRANSPORT_VERSION,
};
use super::varints::{put, take};
use crate::files::{self, InputError, WriteError};
use crate::ids::Rank;

const EXPECTED_FILE: &str = "the TCP connections of a rank as rankwright's tracer writes them";
const EXPECTED: &str = "a profile with what went over TCP connections";
const HEAD_BYTES: usize = 48;
const ROW_BYTES: usize = 16;
/// Rows of a connection's ends.
const ENDS_ROWS: usize = 3;
/// Passages in a row of `transport_blocks`.
const BLOCK: usize = 1 << 15;
const TABLES: &str = "
DROP TABLE IF EXISTS transport_blocks;
DROP TABLE IF EXISTS transport_streams;
CREATE TABLE transport_streams (
  rank INTEGER PRIMARY KEY, passages INTEGER NOT NULL, start_unix_ns INTEGER NOT NULL);
CREATE TABLE transport_blocks (
  rank INTEGER NOT NULL, part INTEGER NOT NULL, payload BLOB NOT NULL,
  PRIMARY KEY (rank, part));
";

/// An end of a connection: address and port.
type End = ([u8; 16], u32);

/// The tracer's file of a rank.
#[derive(Debug)]
struct File {
    rank: u32,
    run: u64,
    start_unix_ns: i64,
    /// The own and the other end of each connection.
    connections: Vec<(End, End)>,
    /// Nanoseconds, connection, whether it was received, bytes.
    rows: Vec<(u64, u32, bool, u32)>,
}

/// Bytes that pass between a rank and another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passage {
    /// Nanoseconds since MPI started on the rank.
    pub time: u64,
    /// The other rank.
    pub peer: Rank,
    /// True: from the other rank to this one.
    pub received: bool,
    /// Their number, with the headers of the library.
    pub bytes: u64,
}

/// What was added to a profile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Added {
    /// Passages between ranks.
    pub passages: u64,
    /// Ranks.
    pub ranks: usize,
}

/// Why nothing was added to a profile, which is then unchanged.
#[derive(Debug, thiserror::Error)]
pub enum AddError {
    /// A file is invalid.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The profile could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Adds the files of all ranks to the profile, replacing earlier ones. `hosts` are those of the ranks:
/// connections inside a host may have the same addresses as those inside another.
///
/// # Errors
/// If a file is damaged or of another run, or the profile cannot be written.
pub fn add(profile: &Path, files: &[PathBuf], hosts: &[String]) -> Result<Added, AddError> {
    let mut read: Vec<File> = Vec::new();
    for path in files {
        let file = File::read(path)?;
        if read.first().is_some_and(|first| first.run != file.run) {
            let error = InputError::new(path.display(), "a rank of another run", EXPECTED_FILE);
            return Err(error.into());
        }
        read.push(file);
    }
    read.sort_by_key(|file| file.rank);
    let host = |rank: u32| hosts.get(rank as usize).map_or("", String::as_str);
    let mut rank_of: FxHashMap<(End, End, &str), u32> = FxHashMap::default();
    for file in &read {
        for (own, other) in &file.connections {
            rank_of.insert((*own, *other, scope(own, host(file.rank))), file.rank);
        }
    }
    let passages: Vec<Vec<Passage>> = read
        .iter()
        .map(|file| {
            let peers: Vec<Option<u32>> = (file.connections.iter())
                .map(|(own, other)| {
                    rank_of.get(&(*other, *own, scope(other, host(file.rank)))).copied()
                })
                .collect();
            let passage = |(time, connection, received, bytes): &(u64, u32, bool, u32)| {
                let peer = Rank((*peers.get(*connection as usize)?)?);
                Some(Passage { time: *time, peer, received: *received, bytes: u64::from(*bytes) })
            };
            file.rows.iter().filter_map(passage).collect()
        })
        .collect();
    let added = Added {
        passages: passages.iter().map(|passages| passages.len() as u64).sum(),
        ranks: read.len(),
    };
    profile_file::add_tables(profile, TABLES, |file| write(file, &read, &passages))?;
    Ok(added)
}

/// Within what an address is unique: a loopback address within its host.
fn scope<'a>((address, _): &End, host: &'a str) -> &'a str {
    // 127.0.0.0/8, mapped into IPv6, and ::1.
    let mapped = address[..12] == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
    let loopback = (mapped && address[12] == 127) || u128::from_be_bytes(*address) == 1;
    if loopback { host } else { "" }
}

impl File {
    fn read(path: &Path) -> Result<Self, InputError> {
        let wrong = |found: String| InputError::new(path.display(), found, EXPECTED_FILE);
        let mut bytes = Vec::new();
        let mut file = files::open(path, EXPECTED_FILE)?;
        file.read_to_end(&mut bytes).map_err(|error| wrong(files::describe(&error)))?;
        let head =
            bytes.get(..HEAD_BYTES).ok_or_else(|| wrong("a file that was cut short".into()))?;
        if head[..8] != *TRANSPORT_MAGIC {
            return Err(wrong("another kind of file".to_owned()));
        }
        let version = u32_at(head, 8);
        if version != TRANSPORT_VERSION {
            return Err(wrong(format!("format version {version}"))
                .with_advice(format!("this rankwright reads version {TRANSPORT_VERSION}")));
        }
        let mut read = Self {
            rank: u32_at(head, 16),
            run: u64_at(head, 24),
            start_unix_ns: u64_at(head, 32).cast_signed(),
            connections: Vec::new(),
            rows: Vec::new(),
        };
        let rows = bytes.get(u32_at(head, 12) as usize..).unwrap_or_default();
        let mut rows = rows.chunks_exact(ROW_BYTES);
        while let Some(row) = rows.next() {
            let (time, connection, bytes) = (u64_at(row, 0), u32_at(row, 8), u32_at(row, 12));
            if time == 0 {
                break;
            }
            if bytes != TRANSPORT_CONNECTION {
                let received = connection & TRANSPORT_RECEIVED != 0;
                read.rows.push((time, connection & !TRANSPORT_RECEIVED, received, bytes));
                continue;
            }
            let ends: Vec<u8> = rows.by_ref().take(ENDS_ROWS).flatten().copied().collect();
            if ends.len() < ENDS_ROWS * ROW_BYTES {
                break;
            }
            if connection as usize != read.connections.len() {
                let expected = read.connections.len();
                return Err(wrong(format!("connection {connection}, expected {expected}")));
            }
            let address =
                |at: usize| -> [u8; 16] { ends[at..at + 16].try_into().expect("16 bytes") };
            let (own, other) = ((address(8), u32_at(&ends, 0)), (address(24), u32_at(&ends, 4)));
            read.connections.push((own, other));
        }
        Ok(read)
    }
}

fn write(database: &Connection, files: &[File], passages: &[Vec<Passage>]) -> rusqlite::Result<()> {
    for (file, passages) in files.iter().zip(passages) {
        let count = i64::try_from(passages.len()).unwrap_or(i64::MAX);
        let insert = "INSERT OR REPLACE INTO transport_streams VALUES (?,?,?)";
        database.execute(insert, params![file.rank, count, file.start_unix_ns])?;
        let mut before = 0_u64;
        for (part, passages) in (0_i64..).zip(passages.chunks(BLOCK)) {
            let mut payload = Vec::new();
            for passage in passages {
                // Threads may write their rows a little out of order.
                let later = passage.time.saturating_sub(before);
                before += later;
                put(&mut payload, later);
                put(&mut payload, u64::from(passage.peer.0) * 2 + u64::from(passage.received));
                put(&mut payload, passage.bytes);
            }
            let insert = "INSERT OR REPLACE INTO transport_blocks VALUES (?,?,?)";
            database.execute(insert, params![file.rank, part, payload])?;
        }
    }
    Ok(())
}

/// The passages of each rank that has some recorded, by rank; none if none were recorded.
///
/// # Errors
/// If the profile cannot be read or is damaged.
pub fn read(profile: &Path) -> Result<Vec<(Rank, Vec<Passage>)>, InputError> {
    let name = profile.display().to_string();
    let wrong = |error: rusqlite::Error| InputError::new(&name, error, EXPECTED);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let file = Connection::open_with_flags(profile, flags).map_err(wrong)?;
    let tables = "SELECT count(*) FROM sqlite_master WHERE name = 'transport_streams'";
    if file.query_row(tables, [], |row| row.get::<_, u32>(0)).map_err(wrong)? == 0 {
        return Ok(Vec::new());
    }
    let ranks: u32 =
        file.query_row("SELECT count(*) FROM ranks", [], |row| row.get(0)).map_err(wrong)?;
    let streams = || -> rusqlite::Result<Vec<u32>> {
        let mut select = file.prepare("SELECT rank FROM transport_streams ORDER BY rank")?;
        select.query_map([], |row| row.get(0))?.collect()
    };
    let mut read = Vec::new();
    for rank in streams().map_err(wrong)? {
        let damaged = || InputError::new(&name, "damaged records of TCP connections", EXPECTED);
        let passages = passages(&file, rank, ranks).map_err(wrong)?;
        let passages = passages.filter(|_| rank < ranks).ok_or_else(damaged)?;
        read.push((Rank(rank), passages));
    }
    Ok(read)
}

fn passages(file: &Connection, rank: u32, ranks: u32) -> rusqlite::Result<Option<Vec<Passage>>> {
    let select = "SELECT payload FROM transport_blocks WHERE rank = ? ORDER BY part";
    let mut select = file.prepare(select)?;
    let mut blocks = select.query([rank])?;
    let (mut passages, mut time) = (Vec::new(), 0_u64);
    while let Some(row) = blocks.next()? {
        let mut rest = row.get_ref(0)?.as_blob()?;
        while !rest.is_empty() {
            let numbers = [take(&mut rest), take(&mut rest), take(&mut rest)];
            let [Some(later), Some(peer), Some(bytes)] = numbers else { return Ok(None) };
            time = time.saturating_add(later);
            let Some(other) = u32::try_from(peer / 2).ok().filter(|other| *other < ranks) else {
                return Ok(None);
            };
            passages.push(Passage { time, peer: Rank(other), received: peer % 2 == 1, bytes });
        }
    }
    Ok(Some(passages))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::traffic::read::events::sample;

    fn end(host: u8, port: u32) -> End {
        let mut address = [0; 16];
        address[10..].copy_from_slice(&[0xff, 0xff, 10, 0, 0, host]);
        (address, port)
    }

    /// A file with one connection and rows of a time, a direction and bytes.
    fn file(rank: u32, (own, other): (End, End), rows: &[(u64, bool, u32)]) -> Vec<u8> {
        let mut bytes = TRANSPORT_MAGIC.to_vec();
        for number in [1, 48, rank, 2] {
            bytes.extend(u32::to_le_bytes(number));
        }
        for number in [7, 5_000, 0] {
            bytes.extend(u64::to_le_bytes(number));
        }
        bytes.extend(u64::to_le_bytes(1));
        bytes.extend(u32::to_le_bytes(0));
        bytes.extend(u32::to_le_bytes(TRANSPORT_CONNECTION));
        bytes.extend(u32::to_le_bytes(own.1));
        bytes.extend(u32::to_le_bytes(other.1));
        bytes.extend([own.0, other.0].concat());
        bytes.extend([0; 8]);
        for (time, received, length) in rows {
            bytes.extend(u64::to_le_bytes(*time));
            bytes.extend(u32::to_le_bytes(if *received { TRANSPORT_RECEIVED } else { 0 }));
            bytes.extend(u32::to_le_bytes(*length));
        }
        bytes
    }

    #[test]
    fn both_ends_of_a_connection_find_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let profile = sample::write_profile(folder.path(), 2);
        assert_eq!(read(&profile).unwrap(), []);
        let paths = [0, 1].map(|rank| folder.path().join(format!("rank-{rank}.transport")));
        let (a, b) = (end(1, 4000), end(2, 5000));
        fs::write(&paths[0], file(0, (a, b), &[(10, false, 100), (20, true, 5)])).unwrap();
        fs::write(&paths[1], file(1, (b, a), &[(15, true, 100)])).unwrap();
        let hosts = ["x".to_owned(), "y".to_owned()];
        let added = add(&profile, &paths, &hosts).unwrap();
        assert_eq!(added, Added { passages: 3, ranks: 2 });
        let passage =
            |time, peer, received, bytes| Passage { time, peer: Rank(peer), received, bytes };
        let expected = [
            (Rank(0), vec![passage(10, 1, false, 100), passage(20, 1, true, 5)]),
            (Rank(1), vec![passage(15, 0, true, 100)]),
        ];
        assert_eq!(read(&profile).unwrap(), expected);
        // Without the other end nothing is between ranks.
        assert_eq!(add(&profile, &paths[..1], &hosts).unwrap().passages, 0);
    }

    #[test]
    fn a_damaged_file_is_an_error_or_harmless() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rank-0.transport");
        let whole = file(0, (end(1, 1), end(2, 2)), &[(10, false, 100), (20, true, 5)]);
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            match File::read(&path) {
                Ok(file) => assert!(file.rows.len() <= 2),
                Err(error) => assert!(length < HEAD_BYTES, "{error}"),
            }
        }
        for place in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[place] = !damaged[place];
            fs::write(&path, &damaged).unwrap();
            let _ = File::read(&path);
        }
    }
}
