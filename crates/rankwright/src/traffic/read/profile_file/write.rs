//! Writing a profile.

use std::path::Path;

use rusqlite::{Connection, params};

use super::{APPLICATION_ID, FORMAT_VERSION};
use crate::files::{WriteError, replace_atomically};
use crate::ids::format_index_list;
use crate::traffic::Flow;
use crate::traffic::profile::Profile;

const TABLES: &str = "
CREATE TABLE run (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE ranks (
  rank INTEGER PRIMARY KEY, host TEXT NOT NULL, pus TEXT NOT NULL, start_unix_ns INTEGER NOT NULL,
  wall_s REAL NOT NULL, numa TEXT NOT NULL, ended TEXT NOT NULL, cut INTEGER NOT NULL,
  peak_memory_bytes INTEGER NOT NULL,
  point_to_point_calls INTEGER NOT NULL, point_to_point_s REAL NOT NULL,
  wait_calls INTEGER NOT NULL, wait_s REAL NOT NULL,
  collective_calls INTEGER NOT NULL, collective_s REAL NOT NULL,
  one_sided_calls INTEGER NOT NULL, one_sided_s REAL NOT NULL,
  other_calls INTEGER NOT NULL, other_s REAL NOT NULL,
  outside_messages INTEGER NOT NULL, outside_bytes INTEGER NOT NULL,
  waited_for_pu_s REAL, sleep_is_known INTEGER NOT NULL,
  processor_s REAL NOT NULL, other_threads_s REAL NOT NULL);
CREATE TABLE communicators (
  communicator INTEGER PRIMARY KEY, name TEXT NOT NULL, created INTEGER NOT NULL);
CREATE TABLE communicator_members (
  communicator INTEGER NOT NULL, remote INTEGER NOT NULL, position INTEGER NOT NULL, rank INTEGER,
  PRIMARY KEY (communicator, remote, position)) WITHOUT ROWID;
CREATE TABLE flows (
  source INTEGER NOT NULL, destination INTEGER NOT NULL, kind TEXT NOT NULL,
  messages INTEGER NOT NULL, bytes INTEGER NOT NULL, largest INTEGER NOT NULL,
  first_s REAL, last_s REAL, gap_mean_s REAL, gap_cv REAL,
  PRIMARY KEY (source, destination, kind)) WITHOUT ROWID;
CREATE TABLE flow_sizes (
  source INTEGER NOT NULL, destination INTEGER NOT NULL, kind TEXT NOT NULL, bin INTEGER NOT NULL,
  messages INTEGER NOT NULL, PRIMARY KEY (source, destination, kind, bin)) WITHOUT ROWID;
CREATE TABLE collectives (
  id INTEGER PRIMARY KEY, rank INTEGER NOT NULL, communicator INTEGER NOT NULL,
  operation TEXT NOT NULL, form TEXT NOT NULL, root INTEGER,
  calls INTEGER NOT NULL, bytes INTEGER NOT NULL,
  seconds REAL NOT NULL, first_s REAL NOT NULL, last_s REAL NOT NULL);
CREATE TABLE collective_rows (
  collective INTEGER NOT NULL, destination INTEGER NOT NULL,
  messages INTEGER NOT NULL, bytes INTEGER NOT NULL,
  PRIMARY KEY (collective, destination)) WITHOUT ROWID;
CREATE TABLE topologies (
  communicator INTEGER NOT NULL, rank INTEGER NOT NULL, kind TEXT NOT NULL, extents TEXT NOT NULL,
  periodic TEXT NOT NULL, PRIMARY KEY (communicator, rank)) WITHOUT ROWID;
CREATE TABLE topology_neighbours (
  communicator INTEGER NOT NULL, rank INTEGER NOT NULL, position INTEGER NOT NULL,
  neighbour INTEGER NOT NULL, weight INTEGER NOT NULL,
  PRIMARY KEY (communicator, rank, position)) WITHOUT ROWID;
CREATE TABLE library_settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
";

/// Writes a profile atomically.
///
/// # Errors
/// If the file cannot be written, or an amount is 2^63 or more, the limit of SQLite.
pub fn write(profile: &Profile, path: &Path) -> Result<(), WriteError> {
    replace_atomically(path, |temporary| {
        write_tables(profile, temporary).map_err(std::io::Error::other)
    })
}

fn write_tables(profile: &Profile, path: &Path) -> rusqlite::Result<()> {
    let mut file = Connection::open(path)?;
    // The temporary file is renamed only when complete, so no journal is needed.
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
    write_topologies(&transaction, profile)?;
    for setting in &profile.library_settings {
        transaction.execute("INSERT INTO library_settings VALUES (?, ?)", setting)?;
    }
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
    if run.several_threads {
        file.execute("INSERT INTO run VALUES ('threads', 'multiple')", [])?;
    }
    let beside_mpi = run.beside_mpi.join(",");
    for (key, value) in [("called_through", &run.called_through), ("beside_mpi", &beside_mpi)] {
        if !value.is_empty() {
            file.execute("INSERT INTO run VALUES (?, ?)", [key, value])?;
        }
    }
    let places = ["?"; 25].join(",");
    let mut insert = file.prepare(&format!("INSERT INTO ranks VALUES ({places})"))?;
    for (rank, record) in (0_i64..).zip(&profile.ranks) {
        insert.execute(params![
            rank,
            record.host,
            record.pus.to_string(),
            record.start_unix_ns,
            record.wall.0,
            format_index_list(&record.numa),
            record.ended.name(),
            record.cut,
            integer(record.peak_memory.0)?,
            integer(record.point_to_point.calls)?,
            record.point_to_point.time.0,
            integer(record.wait.calls)?,
            record.wait.time.0,
            integer(record.collective.calls)?,
            record.collective.time.0,
            integer(record.one_sided.calls)?,
            record.one_sided.time.0,
            integer(record.other.calls)?,
            record.other.time.0,
            integer(record.outside_messages)?,
            integer(record.outside_bytes)?,
            record.waited_for_pu.map(|waited| waited.0),
            record.sleep_is_known,
            record.processor.0,
            record.other_threads.0,
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
    let mut insert = file.prepare("INSERT INTO flows VALUES (?,?,?,?,?,?,?,?,?,?)")?;
    let mut insert_size = file.prepare("INSERT INTO flow_sizes VALUES (?,?,?,?,?)")?;
    for record in &profile.flows {
        let Flow { source, destination, messages, bytes, largest } = record.flow;
        let times = record.times;
        insert.execute(params![
            source.0,
            destination.0,
            record.kind.name(),
            integer(messages)?,
            integer(bytes)?,
            integer(largest)?,
            times.map(|times| times.first.0),
            times.map(|times| times.last.0),
            times.map(|times| times.gap_mean.0),
            times.map(|times| times.gap_cv),
        ])?;
        for (bin, count) in (0_i64..).zip(&record.size_histogram).filter(|(_, count)| **count > 0) {
            let (kind, count) = (record.kind.name(), integer(*count)?);
            insert_size.execute(params![source.0, destination.0, kind, bin, count])?;
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
            calls.form.name(),
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

fn write_topologies(file: &Connection, profile: &Profile) -> rusqlite::Result<()> {
    let mut insert = file.prepare("INSERT INTO topologies VALUES (?,?,?,?,?)")?;
    let mut insert_neighbour =
        file.prepare("INSERT INTO topology_neighbours VALUES (?,?,?,?,?)")?;
    for topology in &profile.topologies {
        let communicator = i64::try_from(topology.communicator).unwrap_or(i64::MAX);
        let rank = topology.rank.0;
        let list = |number: &dyn Fn(&(u32, bool)) -> u32| {
            let numbers: Vec<String> =
                topology.grid.iter().map(|extent| number(extent).to_string()).collect();
            numbers.join(",")
        };
        let (extents, periodic) = (list(&|(extent, _)| *extent), list(&|(_, p)| u32::from(*p)));
        insert.execute(params![communicator, rank, topology.kind.name(), extents, periodic])?;
        for (position, neighbour) in (0_i64..).zip(&topology.neighbours) {
            let (neighbour, weight) = (neighbour.rank.0, neighbour.weight);
            insert_neighbour.execute(params![communicator, rank, position, neighbour, weight])?;
        }
    }
    Ok(())
}

/// SQLite's integers are signed, 64 bits.
fn integer(amount: u64) -> rusqlite::Result<i64> {
    i64::try_from(amount).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}
