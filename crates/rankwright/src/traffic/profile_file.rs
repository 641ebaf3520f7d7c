//! `app.rwp`: a profile as one SQLite file. `docs/src/formats.md` describes its tables, which
//! people read with `sqlite3`, pandas or DuckDB.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, Row, Statement, params};

use super::Flow;
use super::collectives::{CollectiveCalls, Operation, RowEntry};
use super::profile::{Communicator, FlowRecord, FlowTimes, Profile, RankRecord, TimeInMpi};
use crate::files::{InputError, WriteError, describe, replace_atomically};
use crate::ids::{PuSet, Rank};
use crate::units::Seconds;

/// Marks the file as ours ("RWPR"); `file` shows it.
const APPLICATION_ID: i32 = 0x5257_5052;
/// The newest version of the tables that is read, and the one that is written.
const FORMAT_VERSION: i32 = 1;
const EXPECTED: &str = "a profile as `rankwright profile` writes it";
const CUT_SHORT: &str = "a file that was cut short or is damaged";
/// The first bytes of every SQLite file.
pub const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";
/// More ranks than any machine has; a larger number is a damaged file.
const MOST_RANKS: usize = 1 << 27;

const TABLES: &str = "
CREATE TABLE run (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE ranks (
  rank INTEGER PRIMARY KEY, host TEXT NOT NULL, pus TEXT NOT NULL, start_unix_ns INTEGER NOT NULL,
  wall_s REAL NOT NULL,
  point_to_point_calls INTEGER NOT NULL, point_to_point_s REAL NOT NULL,
  wait_calls INTEGER NOT NULL, wait_s REAL NOT NULL,
  collective_calls INTEGER NOT NULL, collective_s REAL NOT NULL,
  other_calls INTEGER NOT NULL, other_s REAL NOT NULL,
  outside_messages INTEGER NOT NULL, outside_bytes INTEGER NOT NULL);
CREATE TABLE communicators (
  communicator INTEGER PRIMARY KEY, name TEXT NOT NULL, created INTEGER NOT NULL);
CREATE TABLE communicator_members (
  communicator INTEGER NOT NULL, remote INTEGER NOT NULL, position INTEGER NOT NULL, rank INTEGER,
  PRIMARY KEY (communicator, remote, position)) WITHOUT ROWID;
CREATE TABLE flows (
  source INTEGER NOT NULL, destination INTEGER NOT NULL,
  messages INTEGER NOT NULL, bytes INTEGER NOT NULL, largest INTEGER NOT NULL,
  first_s REAL, last_s REAL, gap_mean_s REAL, gap_cv REAL,
  PRIMARY KEY (source, destination)) WITHOUT ROWID;
CREATE TABLE flow_sizes (
  source INTEGER NOT NULL, destination INTEGER NOT NULL, bin INTEGER NOT NULL,
  messages INTEGER NOT NULL, PRIMARY KEY (source, destination, bin)) WITHOUT ROWID;
CREATE TABLE collectives (
  id INTEGER PRIMARY KEY, rank INTEGER NOT NULL, communicator INTEGER NOT NULL,
  operation TEXT NOT NULL, nonblocking INTEGER NOT NULL, root INTEGER,
  calls INTEGER NOT NULL, bytes INTEGER NOT NULL,
  seconds REAL NOT NULL, first_s REAL NOT NULL, last_s REAL NOT NULL);
CREATE TABLE collective_rows (
  collective INTEGER NOT NULL, destination INTEGER NOT NULL,
  messages INTEGER NOT NULL, bytes INTEGER NOT NULL,
  PRIMARY KEY (collective, destination)) WITHOUT ROWID;
";

/// Writes a profile, whole or not at all.
///
/// # Errors
/// If the file cannot be written, or an amount is 2^63 or more, which SQLite cannot hold.
pub fn write(profile: &Profile, path: &Path) -> Result<(), WriteError> {
    replace_atomically(path, |temporary| {
        write_tables(profile, temporary).map_err(std::io::Error::other)
    })
}

fn write_tables(profile: &Profile, path: &Path) -> rusqlite::Result<()> {
    let mut file = Connection::open(path)?;
    // The file is renamed only when it is whole: no journal is needed on the way.
    file.execute_batch(&format!(
        "PRAGMA journal_mode = OFF; PRAGMA application_id = {APPLICATION_ID}; \
         PRAGMA user_version = {FORMAT_VERSION};"
    ))?;
    let transaction = file.transaction()?;
    transaction.execute_batch(TABLES)?;
    write_run(&transaction, profile)?;
    write_communicators(&transaction, profile)?;
    write_flows(&transaction, profile)?;
    write_collectives(&transaction, profile)?;
    transaction.commit()?;
    file.close().map_err(|(_, error)| error)
}

fn write_run(file: &Connection, profile: &Profile) -> rusqlite::Result<()> {
    let run = &profile.run;
    let facts =
        [("program", &run.program), ("origin", &run.origin), ("mpi_library", &run.mpi_library)];
    for (key, value) in facts {
        file.execute("INSERT INTO run VALUES (?, ?)", [key, value])?;
    }
    let mut insert = file.prepare("INSERT INTO ranks VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")?;
    for (rank, record) in (0_i64..).zip(&profile.ranks) {
        insert.execute(params![
            rank,
            record.host,
            record.pus.to_string(),
            record.start_unix_ns,
            record.wall.0,
            integer(record.point_to_point.calls)?,
            record.point_to_point.time.0,
            integer(record.wait.calls)?,
            record.wait.time.0,
            integer(record.collective.calls)?,
            record.collective.time.0,
            integer(record.other.calls)?,
            record.other.time.0,
            integer(record.outside_messages)?,
            integer(record.outside_bytes)?,
        ])?;
    }
    Ok(())
}

fn write_communicators(file: &Connection, profile: &Profile) -> rusqlite::Result<()> {
    let mut insert = file.prepare("INSERT INTO communicators VALUES (?,?,?)")?;
    let mut insert_member = file.prepare("INSERT INTO communicator_members VALUES (?,?,?,?)")?;
    for (id, communicator) in (0_i64..).zip(&profile.communicators) {
        insert.execute(params![id, communicator.name, communicator.created])?;
        for (remote, members) in [(0, &communicator.members), (1, &communicator.remote_members)] {
            for (position, member) in (0_i64..).zip(members) {
                let member = member.map(|rank| rank.0);
                insert_member.execute(params![id, remote, position, member])?;
            }
        }
    }
    Ok(())
}

fn write_flows(file: &Connection, profile: &Profile) -> rusqlite::Result<()> {
    let mut insert = file.prepare("INSERT INTO flows VALUES (?,?,?,?,?,?,?,?,?)")?;
    let mut insert_size = file.prepare("INSERT INTO flow_sizes VALUES (?,?,?,?)")?;
    for record in &profile.flows {
        let Flow { source, destination, messages, bytes, largest } = record.flow;
        let times = record.times;
        insert.execute(params![
            source.0,
            destination.0,
            integer(messages)?,
            integer(bytes)?,
            integer(largest)?,
            times.map(|times| times.first.0),
            times.map(|times| times.last.0),
            times.map(|times| times.gap_mean.0),
            times.map(|times| times.gap_cv),
        ])?;
        for (bin, count) in (0_i64..).zip(&record.size_histogram).filter(|(_, count)| **count > 0) {
            insert_size.execute(params![source.0, destination.0, bin, integer(*count)?])?;
        }
    }
    Ok(())
}

fn write_collectives(file: &Connection, profile: &Profile) -> rusqlite::Result<()> {
    let mut insert = file.prepare("INSERT INTO collectives VALUES (?,?,?,?,?,?,?,?,?,?,?)")?;
    let mut insert_row = file.prepare("INSERT INTO collective_rows VALUES (?,?,?,?)")?;
    for (id, calls) in (0_i64..).zip(&profile.collectives) {
        insert.execute(params![
            id,
            calls.rank.0,
            i64::try_from(calls.communicator).unwrap_or(i64::MAX),
            calls.operation.name(),
            calls.nonblocking,
            calls.root.map(|root| root.0),
            integer(calls.calls)?,
            integer(calls.bytes)?,
            calls.seconds,
            calls.first,
            calls.last,
        ])?;
        for entry in &calls.row {
            let (messages, bytes) = (integer(entry.messages)?, integer(entry.bytes)?);
            insert_row.execute(params![id, entry.destination.0, messages, bytes])?;
        }
    }
    Ok(())
}

/// SQLite's integers have 63 bits and a sign.
fn integer(amount: u64) -> rusqlite::Result<i64> {
    i64::try_from(amount).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}

/// Reads a profile whole.
///
/// # Errors
/// If there is no such file, it is no profile, was cut short, is damaged, or is of a newer version.
pub fn read(path: &Path) -> Result<Profile, InputError> {
    let wrong = |found: String| InputError::new(path.display(), found, EXPECTED);
    // SQLite's own message for a missing file does not say so.
    let size = std::fs::File::open(path).and_then(|file| file.metadata());
    let size = size.map_err(|error| wrong(describe(&error)))?.len();
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let file = Connection::open_with_flags(path, flags).map_err(|error| wrong(explain(&error)))?;
    let pragma = |name: &str| {
        let value: Result<i32, _> = file.pragma_query_value(None, name, |row| row.get(0));
        value.map_err(|error| wrong(explain(&error)))
    };
    if pragma("application_id")? != APPLICATION_ID {
        return Err(wrong("another kind of SQLite file".to_owned()));
    }
    let version = pragma("user_version")?;
    if version != FORMAT_VERSION {
        return Err(wrong(format!("a profile of format version {version}"))
            .with_advice(format!("this rankwright reads version {FORMAT_VERSION}: update it")));
    }
    // SQLite itself overlooks a missing end of the last page.
    let pages = pragma("page_count")?;
    let whole = i64::from(pages) * i64::from(pragma("page_size")?);
    if i64::try_from(size) != Ok(whole) {
        return Err(wrong(CUT_SHORT.to_owned()));
    }
    let profile = read_tables(&file).map_err(|error| wrong(explain(&error)))?;
    check(&profile).map_err(wrong)?;
    Ok(profile)
}

fn explain(error: &rusqlite::Error) -> String {
    use rusqlite::ErrorCode;
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => "another kind of file".to_owned(),
        Some(ErrorCode::DatabaseCorrupt) => CUT_SHORT.to_owned(),
        _ => format!("a damaged profile ({error})"),
    }
}

fn check(profile: &Profile) -> Result<(), String> {
    let ranks = profile.ranks.len();
    if ranks == 0 {
        return Err("a profile of 0 ranks".to_owned());
    }
    let missing = |rank: Rank| rank.index() >= ranks;
    let flows = profile.flows.iter().map(|record| record.flow);
    let in_flows = flows.flat_map(|flow| [flow.source, flow.destination]);
    let in_collectives = profile.collectives.iter().flat_map(|calls| {
        let row = calls.row.iter().map(|entry| entry.destination);
        [Some(calls.rank), calls.root].into_iter().flatten().chain(row)
    });
    if let Some(rank) = in_flows.chain(in_collectives).find(|rank| missing(*rank)) {
        return Err(format!("rank {rank} in a profile of {ranks} ranks"));
    }
    let communicators = profile.communicators.len();
    match profile.collectives.iter().find(|calls| calls.communicator >= communicators) {
        Some(calls) => Err(format!("communicator {} of {communicators}", calls.communicator)),
        None => Ok(()),
    }
}

fn read_tables(file: &Connection) -> rusqlite::Result<Profile> {
    let mut profile = Profile { ranks: read_ranks(file)?, ..Profile::default() };
    let mut facts = file.prepare("SELECT key, value FROM run")?;
    for fact in facts.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))? {
        let (key, value): (String, String) = fact?;
        match key.as_str() {
            "program" => profile.run.program = value,
            "origin" => profile.run.origin = value,
            "mpi_library" => profile.run.mpi_library = value,
            _ => {}
        }
    }
    profile.communicators = read_communicators(file)?;
    profile.flows = read_flows(file)?;
    profile.collectives = read_collectives(file)?;
    Ok(profile)
}

fn read_ranks(file: &Connection) -> rusqlite::Result<Vec<RankRecord>> {
    let mut select = file.prepare("SELECT * FROM ranks ORDER BY rank")?;
    let record = |row: &Row<'_>| -> rusqlite::Result<RankRecord> {
        let time = |calls, time| -> rusqlite::Result<TimeInMpi> {
            Ok(TimeInMpi { calls: amount(row, calls)?, time: Seconds(row.get(time)?) })
        };
        let pus: String = row.get("pus")?;
        let wrong = |error| {
            rusqlite::Error::FromSqlConversionFailure(2, rusqlite::types::Type::Text, error)
        };
        let pus: PuSet = pus.parse().map_err(|error| wrong(Box::new(error)))?;
        Ok(RankRecord {
            host: row.get("host")?,
            pus,
            start_unix_ns: row.get("start_unix_ns")?,
            wall: Seconds(row.get("wall_s")?),
            point_to_point: time("point_to_point_calls", "point_to_point_s")?,
            wait: time("wait_calls", "wait_s")?,
            collective: time("collective_calls", "collective_s")?,
            other: time("other_calls", "other_s")?,
            outside_messages: amount(row, "outside_messages")?,
            outside_bytes: amount(row, "outside_bytes")?,
        })
    };
    let mut records = Vec::new();
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let rank: i64 = row.get("rank")?;
        if usize::try_from(rank) != Ok(records.len()) || records.len() >= MOST_RANKS {
            return Err(rusqlite::Error::IntegralValueOutOfRange(0, rank));
        }
        records.push(record(row)?);
    }
    Ok(records)
}

fn read_communicators(file: &Connection) -> rusqlite::Result<Vec<Communicator>> {
    let mut select = file
        .prepare("SELECT communicator, name, created FROM communicators ORDER BY communicator")?;
    let communicator = |row: &Row<'_>| {
        Ok(Communicator { name: row.get(1)?, created: row.get(2)?, ..Communicator::default() })
    };
    let mut communicators: Vec<Communicator> =
        select.query_map([], communicator)?.collect::<Result<_, _>>()?;
    let mut select = file.prepare(
        "SELECT communicator, remote, rank FROM communicator_members \
         ORDER BY communicator, remote, position",
    )?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let id: i64 = row.get(0)?;
        let communicator = usize::try_from(id)
            .ok()
            .and_then(|index| communicators.get_mut(index))
            .ok_or(rusqlite::Error::IntegralValueOutOfRange(0, id))?;
        let remote: bool = row.get(1)?;
        let members =
            if remote { &mut communicator.remote_members } else { &mut communicator.members };
        members.push(row.get::<_, Option<u32>>(2)?.map(Rank));
    }
    Ok(communicators)
}

fn read_flows(file: &Connection) -> rusqlite::Result<Vec<FlowRecord>> {
    let mut select = file.prepare("SELECT * FROM flows ORDER BY source, destination")?;
    let record = |row: &Row<'_>| -> rusqlite::Result<FlowRecord> {
        let first: Option<f64> = row.get("first_s")?;
        let times = match first {
            None => None,
            Some(first) => Some(FlowTimes {
                first: Seconds(first),
                last: Seconds(row.get("last_s")?),
                gap_mean: Seconds(row.get("gap_mean_s")?),
                gap_cv: row.get("gap_cv")?,
            }),
        };
        let flow = Flow {
            source: Rank(row.get("source")?),
            destination: Rank(row.get("destination")?),
            messages: amount(row, "messages")?,
            bytes: amount(row, "bytes")?,
            largest: amount(row, "largest")?,
        };
        Ok(FlowRecord { flow, times, size_histogram: Vec::new() })
    };
    let mut records: Vec<FlowRecord> = select.query_map([], record)?.collect::<Result<_, _>>()?;
    let mut select =
        file.prepare("SELECT source, destination, bin, messages FROM flow_sizes ORDER BY 1, 2, 3")?;
    let mut rows = select.query([])?;
    let mut position = 0;
    while let Some(row) = rows.next()? {
        let pair = (Rank(row.get(0)?), Rank(row.get(1)?));
        let before = |record: &FlowRecord| (record.flow.source, record.flow.destination) < pair;
        position += records[position..].iter().take_while(|record| before(record)).count();
        let bin: usize = row.get::<_, u8>(2)?.into();
        let Some(record) = records.get_mut(position) else { break };
        if record.size_histogram.len() <= bin {
            record.size_histogram.resize(bin + 1, 0);
        }
        record.size_histogram[bin] = amount(row, "messages")?;
    }
    Ok(records)
}

fn read_collectives(file: &Connection) -> rusqlite::Result<Vec<CollectiveCalls>> {
    let mut rows_of =
        file.prepare("SELECT * FROM collective_rows WHERE collective = ? ORDER BY destination")?;
    let entry = |row: &Row<'_>| {
        Ok(RowEntry {
            destination: Rank(row.get("destination")?),
            messages: amount(row, "messages")?,
            bytes: amount(row, "bytes")?,
        })
    };
    let row_entries = |statement: &mut Statement<'_>, id: i64| -> rusqlite::Result<Vec<RowEntry>> {
        statement.query_map([id], entry)?.collect()
    };
    let mut select = file.prepare("SELECT * FROM collectives ORDER BY id")?;
    let mut rows = select.query([])?;
    let mut collectives = Vec::new();
    while let Some(row) = rows.next()? {
        let name: String = row.get("operation")?;
        let operation = Operation::from_name(&name)
            .ok_or_else(|| rusqlite::Error::InvalidParameterName(format!("operation {name}")))?;
        let communicator: i64 = row.get("communicator")?;
        collectives.push(CollectiveCalls {
            rank: Rank(row.get("rank")?),
            communicator: usize::try_from(communicator).unwrap_or(usize::MAX),
            operation,
            nonblocking: row.get("nonblocking")?,
            root: row.get::<_, Option<u32>>("root")?.map(Rank),
            calls: amount(row, "calls")?,
            bytes: amount(row, "bytes")?,
            seconds: row.get("seconds")?,
            first: row.get("first_s")?,
            last: row.get("last_s")?,
            row: row_entries(&mut rows_of, row.get("id")?)?,
        });
    }
    Ok(collectives)
}

fn amount(row: &Row<'_>, column: &str) -> rusqlite::Result<u64> {
    let value: i64 = row.get(column)?;
    u64::try_from(value).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(0, value))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn profile() -> Profile {
        let flow =
            Flow { source: Rank(0), destination: Rank(1), messages: 2, bytes: 300, largest: 200 };
        let times = FlowTimes { first: Seconds(0.5), last: Seconds(1.0), ..FlowTimes::default() };
        let record = FlowRecord { flow, times: Some(times), size_histogram: vec![0, 0, 1, 1] };
        let other = Flow { source: Rank(1), destination: Rank(0), ..flow };
        let calls = CollectiveCalls {
            rank: Rank(1),
            communicator: 0,
            operation: Operation::Alltoallv,
            nonblocking: true,
            root: None,
            calls: 3,
            bytes: 12,
            seconds: 0.1,
            first: 0.2,
            last: 0.3,
            row: vec![RowEntry { destination: Rank(0), messages: 3, bytes: 12 }],
        };
        let members = vec![Some(Rank(0)), Some(Rank(1)), None];
        Profile {
            ranks: vec![RankRecord { host: "a".into(), ..RankRecord::default() }; 2],
            communicators: vec![Communicator { members, created: 1, ..Communicator::default() }],
            flows: vec![
                record,
                FlowRecord { flow: other, times: None, size_histogram: Vec::new() },
            ],
            collectives: vec![calls],
            ..Profile::default()
        }
    }

    #[test]
    fn a_profile_reads_back_as_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.rwp");
        write(&profile(), &path).unwrap();
        assert_eq!(read(&path).unwrap(), profile());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_cut_or_damaged_profile_is_an_error_and_never_a_panic() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.rwp");
        write(&profile(), &path).unwrap();
        let whole = fs::read(&path).unwrap();
        for length in (0..whole.len()).step_by(509) {
            fs::write(&path, &whole[..length]).unwrap();
            assert!(read(&path).is_err(), "cut at {length}");
        }
        for place in (0..whole.len()).step_by(97) {
            let mut changed = whole.clone();
            changed[place] = !changed[place];
            fs::write(&path, &changed).unwrap();
            // A changed byte of a name or a count is not detectable; it must only do no harm.
            let _ = read(&path);
        }
    }

    #[test]
    fn a_newer_profile_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.rwp");
        write(&profile(), &path).unwrap();
        Connection::open(&path).unwrap().pragma_update(None, "user_version", 9).unwrap();
        let message = read(&path).unwrap_err().to_string();
        assert!(message.contains("format version 9") && message.contains("update"), "{message}");
    }
}
