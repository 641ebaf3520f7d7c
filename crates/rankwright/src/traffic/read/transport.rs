//! What each rank handed to the network and took from it, and when: the tracer's files of a
//! run, and the tables of the profile. `tracer/src/format/transport_format.h` and `docs/src/formats.md`
//! describe them.
//!
//! The two ends of a TCP connection name each other by address and port, an endpoint of UCX names a worker of the
//! other process, and what is handed to Open MPI's point-to-point layer (PML) the rank; so the ranks at both ends are
//! known once the files of all are read. Connections to others (launchers, daemons) are left out.

use std::io::Read;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, params};
use rustc_hash::{FxHashMap, FxHashSet};

use super::profile_file;
use super::trace_constants::{
    TRANSPORT_CONNECTION, TRANSPORT_MAGIC, TRANSPORT_PML, TRANSPORT_RECEIVED, TRANSPORT_UCX,
    TRANSPORT_VERSION,
};
use super::varints::{put, take};
use crate::files::{self, InputError, WriteError};
use crate::ids::Rank;

const EXPECTED_FILE: &str = "what a rank sent as rankwright's tracer writes it";
const EXPECTED: &str = "a profile with what ranks sent (`--timeline transport`)";
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

/// An end of a connection: address and port, worker and [`TRANSPORT_UCX`], or rank and [`TRANSPORT_PML`].
type End = ([u8; 16], u32);

/// The remote worker in an entry that announces a rank's own UCX worker.
const NO_WORKER: [u8; 16] = [0; 16];

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

/// Bytes that pass between a rank and another one. On a TCP connection both ends record them; a message that is
/// handed to UCX or Open MPI is recorded by its sender only, and when it arrives is not known.
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
    /// Messages that were handed to UCX; each is a passage at its sender only.
    pub of_ucx: usize,
    /// Messages that were handed to Open MPI's point-to-point layer (PML), likewise.
    pub of_pml: usize,
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
    let tcp = over_tcp(&read, hosts);
    let handed = [through_ucx(&read), through_pml(&read, hosts.len())];
    let (passages, [of_ucx, of_pml]) = merged(&read, tcp, handed);
    let added = Added {
        passages: passages.iter().map(|passages| passages.len() as u64).sum(),
        of_ucx,
        of_pml,
        ranks: read.len(),
    };
    profile_file::add_tables(profile, TABLES, |file| write(file, &read, &passages))?;
    Ok(added)
}

/// What goes over TCP connections between ranks, of each file.
fn over_tcp(files: &[File], hosts: &[String]) -> Vec<Vec<Passage>> {
    let host = |rank: u32| hosts.get(rank as usize).map_or("", String::as_str);
    let mut rank_of: FxHashMap<(End, End, &str), u32> = FxHashMap::default();
    for file in files {
        for (own, other) in file.connections.iter().filter(|(own, _)| is_tcp(own)) {
            rank_of.insert((*own, *other, scope(own, host(file.rank))), file.rank);
        }
    }
    let of_file = |file: &File| {
        let peer = |(own, other): &(End, End)| {
            rank_of.get(&(*other, *own, scope(other, host(file.rank)))).copied()
        };
        file.passages(&file.connections.iter().map(peer).collect::<Vec<_>>())
    };
    files.iter().map(of_file).collect()
}

/// The messages that are handed to UCX for other ranks, of each file: only the sender knows of them.
fn through_ucx(files: &[File]) -> Vec<Vec<Passage>> {
    let mut rank_of: FxHashMap<[u8; 16], u32> = FxHashMap::default();
    for file in files {
        for (own, other) in file.connections.iter().filter(|(own, _)| own.1 == TRANSPORT_UCX) {
            if other.0 == NO_WORKER {
                rank_of.insert(own.0, file.rank);
            }
        }
    }
    let of_file = |file: &File| {
        let peer = |(own, other): &(End, End)| {
            let peer = rank_of.get(&other.0).filter(|_| own.1 == TRANSPORT_UCX).copied();
            peer.filter(|peer| *peer != file.rank)
        };
        file.passages(&file.connections.iter().map(peer).collect::<Vec<_>>())
    };
    files.iter().map(of_file).collect()
}

/// The messages that are handed to Open MPI's point-to-point layer, of each file: only the sender knows of them.
fn through_pml(files: &[File], ranks: usize) -> Vec<Vec<Passage>> {
    let of_file = |file: &File| {
        let peer = |(own, other): &(End, End)| {
            let peer = (own.1 == TRANSPORT_PML).then(|| u32_at(&other.0, 0));
            peer.filter(|peer| *peer != file.rank && (*peer as usize) < ranks)
        };
        file.passages(&file.connections.iter().map(peer).collect::<Vec<_>>())
    };
    files.iter().map(of_file).collect()
}

/// UCX and Open MPI may send over TCP: of two ranks whose TCP connections carry at least half of what they hand to
/// these, what the connections carry is taken, of others the messages. Returns the passages of each file, and how many
/// of them are messages of either.
fn merged(
    files: &[File],
    mut tcp: Vec<Vec<Passage>>,
    handed: [Vec<Vec<Passage>>; 2],
) -> (Vec<Vec<Passage>>, [usize; 2]) {
    let mut place_of: FxHashMap<u32, usize> = FxHashMap::default();
    for (place, file) in files.iter().enumerate() {
        place_of.insert(file.rank, place);
    }
    let is_handed = pairs_beside_tcp(files, &tcp, &handed);
    for (file, passages) in files.iter().zip(&mut tcp) {
        passages.retain(|passage| !is_handed.contains(&between(file.rank, passage.peer.0)));
    }
    let mut messages = [0; 2];
    for (layer, lists) in handed.into_iter().enumerate() {
        for (place, passages) in lists.into_iter().enumerate() {
            let file = &files[place];
            for passage in passages {
                if !is_handed.contains(&between(file.rank, passage.peer.0)) {
                    continue;
                }
                let (sender, message) = match place_of.get(&passage.peer.0) {
                    Some(&other) if passage.received => {
                        (other, read_from(file, passage, &files[other]))
                    }
                    _ => (place, passage),
                };
                tcp[sender].push(message);
                messages[layer] += 1;
            }
        }
    }
    for passages in &mut tcp {
        passages.sort_by_key(|passage| passage.time);
    }
    (tcp, messages)
}

/// Two ranks, the lower one first.
fn between(a: u32, b: u32) -> (u32, u32) {
    (a.min(b), a.max(b))
}

/// The pairs of ranks whose TCP connections carry less than half of what they hand to UCX and Open MPI.
fn pairs_beside_tcp(
    files: &[File],
    tcp: &[Vec<Passage>],
    handed: &[Vec<Vec<Passage>>; 2],
) -> FxHashSet<(u32, u32)> {
    let mut bytes: FxHashMap<(u32, u32), [u64; 2]> = FxHashMap::default();
    let mut count = |way: usize, lists: &[Vec<Passage>]| {
        for (file, passages) in files.iter().zip(lists) {
            // Of a connection both ends tell the bytes.
            for passage in passages.iter().filter(|passage| way == 1 || !passage.received) {
                let both = bytes.entry(between(file.rank, passage.peer.0)).or_default();
                both[way] = both[way].saturating_add(passage.bytes);
            }
        }
    };
    count(0, tcp);
    handed.iter().for_each(|lists| count(1, lists));
    let beside = |[tcp, handed]: [u64; 2]| tcp < handed.div_ceil(2);
    bytes.into_iter().filter(|(_, both)| beside(*both)).map(|(pair, _)| pair).collect()
}

/// Memory that a rank reads from another one is a message of the latter, at the same time by its clock.
fn read_from(file: &File, passage: Passage, other: &File) -> Passage {
    let later = i128::from(file.start_unix_ns) - i128::from(other.start_unix_ns);
    let time = u64::try_from((i128::from(passage.time) + later).max(0));
    Passage {
        time: time.unwrap_or(u64::MAX),
        peer: Rank(file.rank),
        received: false,
        bytes: passage.bytes,
    }
}

fn is_tcp((_, port): &End) -> bool {
    ![TRANSPORT_UCX, TRANSPORT_PML].contains(port)
}

/// Within what an address is unique: a loopback address within its host.
fn scope<'a>((address, _): &End, host: &'a str) -> &'a str {
    // 127.0.0.0/8, mapped into IPv6, and ::1.
    let mapped = address[..12] == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
    let loopback = (mapped && address[12] == 127) || u128::from_be_bytes(*address) == 1;
    if loopback { host } else { "" }
}

impl File {
    /// The rows of connections to ranks; `peers`: of each connection.
    fn passages(&self, peers: &[Option<u32>]) -> Vec<Passage> {
        let passage = |(time, connection, received, bytes): &(u64, u32, bool, u32)| {
            let peer = Rank((*peers.get(*connection as usize)?)?);
            Some(Passage { time: *time, peer, received: *received, bytes: u64::from(*bytes) })
        };
        self.rows.iter().filter_map(passage).collect()
    }

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
        let damaged = || InputError::new(&name, "damaged records of what ranks sent", EXPECTED);
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

    /// A connection's ends, and its rows of a time, a direction and bytes.
    type Rows<'a> = ((End, End), &'a [(u64, bool, u32)]);

    /// A file with connections.
    fn file(rank: u32, start_unix_ns: u64, connections: &[Rows<'_>]) -> Vec<u8> {
        let mut bytes = TRANSPORT_MAGIC.to_vec();
        for number in [TRANSPORT_VERSION, 48, rank, 2] {
            bytes.extend(u32::to_le_bytes(number));
        }
        for number in [7, start_unix_ns, 0] {
            bytes.extend(u64::to_le_bytes(number));
        }
        for (connection, ((own, other), rows)) in (0_u32..).zip(connections) {
            bytes.extend(u64::to_le_bytes(1));
            bytes.extend(u32::to_le_bytes(connection));
            bytes.extend(u32::to_le_bytes(TRANSPORT_CONNECTION));
            bytes.extend(u32::to_le_bytes(own.1));
            bytes.extend(u32::to_le_bytes(other.1));
            bytes.extend([own.0, other.0].concat());
            bytes.extend([0; 8]);
            for (time, received, length) in *rows {
                let received = if *received { TRANSPORT_RECEIVED } else { 0 };
                bytes.extend(u64::to_le_bytes(*time));
                bytes.extend(u32::to_le_bytes(connection | received));
                bytes.extend(u32::to_le_bytes(*length));
            }
        }
        bytes
    }

    fn passage(time: u64, peer: u32, received: bool, bytes: u64) -> Passage {
        Passage { time, peer: Rank(peer), received, bytes }
    }

    /// What two ranks on two hosts told, as passages of each.
    fn of_two(files: [Vec<u8>; 2]) -> (Added, Vec<(Rank, Vec<Passage>)>) {
        let folder = tempfile::tempdir().unwrap();
        let profile = sample::write_profile(folder.path(), 2);
        let paths = [0, 1].map(|rank| folder.path().join(format!("rank-{rank}.transport")));
        for (path, file) in paths.iter().zip(files) {
            fs::write(path, file).unwrap();
        }
        let added = add(&profile, &paths, &["x".to_owned(), "y".to_owned()]).unwrap();
        (added, read(&profile).unwrap())
    }

    fn worker(number: u8) -> End {
        let mut worker = [0; 16];
        worker[3] = number;
        (worker, TRANSPORT_UCX)
    }

    fn pml(rank: u8) -> End {
        let mut end = [0; 16];
        end[0] = rank;
        (end, TRANSPORT_PML)
    }

    #[test]
    fn messages_of_ucx_are_noted_at_their_sender() {
        let none = (NO_WORKER, TRANSPORT_UCX);
        let first = [
            ((worker(1), none), &[][..]),
            ((none, worker(2)), &[(10, false, 100), (20, true, 5)]),
            // Messages to a process outside MPI_COMM_WORLD and to the rank itself are left out.
            ((none, worker(9)), &[(30, false, 7)]),
            ((none, worker(1)), &[(30, false, 8)]),
        ];
        // Its clock started 4 ns later. A second worker is its too.
        let second = [((worker(3), none), &[][..]), ((worker(2), none), &[])];
        let files = [file(0, 5_000, &first), file(1, 5_004, &second)];
        let (added, passages) = of_two(files);
        assert_eq!(added, Added { passages: 2, of_ucx: 2, of_pml: 0, ranks: 2 });
        // What rank 0 reads from rank 1 is sent by that.
        let expected = [
            (Rank(0), vec![passage(10, 1, false, 100)]),
            (Rank(1), vec![passage(16, 0, false, 5)]),
        ];
        assert_eq!(passages, expected);
    }

    #[test]
    fn where_messages_go_over_tcp_the_connections_count() {
        let none = (NO_WORKER, TRANSPORT_UCX);
        let (a, b) = (end(1, 4000), end(2, 5000));
        for (carried, messages) in [(49, 1), (50, 0)] {
            for through in [worker(2), pml(1)] {
                let own = (NO_WORKER, through.1);
                let first = [
                    ((worker(1), none), &[][..]),
                    ((own, through), &[(10, false, 100)]),
                    ((a, b), &[(15, false, carried)]),
                ];
                let second = [((worker(2), none), &[][..]), ((b, a), &[(20, true, carried)])];
                let (added, passages) = of_two([file(0, 0, &first), file(1, 0, &second)]);
                let told = (added.passages, added.of_ucx + added.of_pml);
                assert_eq!(told, (2 - messages as u64, messages));
                let sent = if messages == 1 { (10, 100) } else { (15, u64::from(carried)) };
                assert_eq!(passages[0].1, [passage(sent.0, 1, false, sent.1)]);
            }
        }
    }

    #[test]
    fn messages_of_open_mpi_name_the_rank() {
        let own = (NO_WORKER, TRANSPORT_PML);
        let first = [
            ((own, pml(1)), &[(10, false, 100)][..]),
            // No such rank, and the rank itself.
            ((own, pml(2)), &[(10, false, 7)]),
            ((own, pml(0)), &[(10, false, 8)]),
        ];
        let (added, passages) = of_two([file(0, 0, &first), file(1, 0, &[])]);
        assert_eq!(added, Added { passages: 1, of_ucx: 0, of_pml: 1, ranks: 2 });
        let expected = [(Rank(0), vec![passage(10, 1, false, 100)]), (Rank(1), vec![])];
        assert_eq!(passages, expected);
    }

    #[test]
    fn both_ends_of_a_connection_find_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let profile = sample::write_profile(folder.path(), 2);
        assert_eq!(read(&profile).unwrap(), []);
        let paths = [0, 1].map(|rank| folder.path().join(format!("rank-{rank}.transport")));
        let (a, b) = (end(1, 4000), end(2, 5000));
        let first = [((a, b), &[(10, false, 100), (20, true, 5)][..])];
        fs::write(&paths[0], file(0, 5_000, &first)).unwrap();
        fs::write(&paths[1], file(1, 5_000, &[((b, a), &[(15, true, 100)])])).unwrap();
        let hosts = ["x".to_owned(), "y".to_owned()];
        let added = add(&profile, &paths, &hosts).unwrap();
        assert_eq!(added, Added { passages: 3, of_ucx: 0, of_pml: 0, ranks: 2 });
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
        let rows = [(10, false, 100), (20, true, 5)];
        let whole = file(0, 5_000, &[((end(1, 1), end(2, 2)), &rows)]);
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
