//! Reading a profile.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, Statement};

use super::{APPLICATION_ID, FORMAT_VERSION};
use crate::files::InputError;
use crate::ids::{PuSet, Rank, parse_index_list};
use crate::traffic::Flow;
use crate::traffic::collectives::{CollectiveCalls, Form, Operation, RowEntry};
use crate::traffic::communicator::Communicator;
use crate::traffic::expansion::library::Library;
use crate::traffic::profile::{
    Ended, FlowKind, FlowRecord, FlowTimes, Profile, RankRecord, TimeInMpi,
};
use crate::traffic::read::events::store::Recording;
use crate::traffic::topology::{DeclaredTopology, Neighbour, TopologyKind};
use crate::units::{Bytes, Seconds};

const EXPECTED: &str = "a profile as `rankwright profile` writes it";
const CUT_SHORT: &str = "a file that was cut short or is damaged";
/// Most ranks accepted; a larger number is a damaged file.
const MOST_RANKS: usize = 1 << 24;

/// Reads a complete profile.
///
/// # Errors
/// If the file is missing, is not a profile, was truncated, is damaged, or has a newer version.
pub fn read(path: &Path) -> Result<Profile, InputError> {
    let wrong = |found: String| InputError::new(path.display(), found, EXPECTED);
    // SQLite's error for a missing file does not mention that.
    let size = std::fs::File::open(path).and_then(|file| file.metadata());
    let unreadable = |error| InputError::of_reading(path.display(), &error, EXPECTED);
    let size = size.map_err(unreadable)?.len();
    if size == 0 {
        return Err(wrong("an empty file".to_owned()));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let file = Connection::open_with_flags(path, flags).map_err(|error| wrong(explain(&error)))?;
    let pragma = |name: &str| {
        let value: Result<i32, _> = file.pragma_query_value(None, name, |row| row.get(0));
        value.map_err(|error| wrong(explain(&error)))
    };
    if pragma("application_id")? != APPLICATION_ID {
        return Err(wrong("a database of another program".to_owned()));
    }
    let version = pragma("user_version")?;
    if version != FORMAT_VERSION {
        let way_out = if version < FORMAT_VERSION { "measure again" } else { "update it" };
        return Err(wrong(format!("a profile of format version {version}"))
            .with_advice(format!("this rankwright reads version {FORMAT_VERSION}: {way_out}")));
    }
    // SQLite does not notice a truncated last page.
    let pages = pragma("page_count")?;
    let whole = i64::from(pages) * i64::from(pragma("page_size")?);
    if i64::try_from(size) != Ok(whole) {
        return Err(wrong(CUT_SHORT.to_owned()));
    }
    let mut profile = read_tables(&file).map_err(|error| wrong(explain(&error)))?;
    check(&profile).map_err(wrong)?;
    if Recording::open(path).is_ok() {
        profile.run.events = Some(path.to_owned());
    }
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
    let in_communicators = profile.communicators.iter().flat_map(|communicator| {
        communicator.members.iter().chain(&communicator.remote_members).copied().flatten()
    });
    let in_topologies = profile.topologies.iter().flat_map(|topology| {
        let neighbours = topology.neighbours.iter().map(|neighbour| neighbour.rank);
        neighbours.chain([topology.rank])
    });
    let mut named = in_flows.chain(in_collectives).chain(in_communicators).chain(in_topologies);
    if let Some(rank) = named.find(|rank| missing(*rank)) {
        return Err(format!("rank {rank} in a profile of {ranks} ranks"));
    }
    let communicators = profile.communicators.len();
    let of_calls = profile.collectives.iter().map(|calls| calls.communicator);
    let of_topologies = profile.topologies.iter().map(|topology| topology.communicator);
    match of_calls.chain(of_topologies).find(|communicator| *communicator >= communicators) {
        Some(communicator) => Err(format!("communicator {communicator} of {communicators}")),
        None => Ok(()),
    }
}

/// The number of ranks of a profile, without reading the rest; `None` if it cannot be read.
#[must_use]
pub fn rank_count(path: &Path) -> Option<usize> {
    let file = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).ok()?;
    let count: i64 = file.query_row("SELECT count(*) FROM ranks", [], |row| row.get(0)).ok()?;
    usize::try_from(count).ok()
}

/// The name of the recorded program, without reading the profile; `None` if the file is not a profile, or has
/// none.
#[must_use]
pub fn program_name(path: &Path) -> Option<String> {
    let file = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).ok()?;
    let value = "SELECT value FROM run WHERE key = 'program'";
    file.query_row(value, [], |row| row.get(0)).ok()
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
            "threads" => profile.run.several_threads = value == "multiple",
            "called_through" => profile.run.called_through = value,
            "beside_mpi" => profile.run.beside_mpi = names(&value),
            _ => {}
        }
    }
    profile.communicators = read_communicators(file)?;
    profile.flows = read_flows(file)?;
    profile.collectives = read_collectives(file)?;
    profile.topologies = read_topologies(file)?;
    profile.library_settings = read_settings(file)?;
    Ok(profile)
}

/// The names in a list with commas.
fn names(list: &str) -> Vec<String> {
    list.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn read_ranks(file: &Connection) -> rusqlite::Result<Vec<RankRecord>> {
    let mut select = file.prepare("SELECT * FROM ranks ORDER BY rank")?;
    // These columns are younger than the format's version.
    let has_waiting = file.column_exists(None, "ranks", "waited_for_pu_s")?;
    let record = |row: &Row<'_>| -> rusqlite::Result<RankRecord> {
        let time = |calls, time| -> rusqlite::Result<TimeInMpi> {
            Ok(TimeInMpi { calls: amount(row, calls)?, time: Seconds(row.get(time)?) })
        };
        let pus: String = row.get("pus")?;
        let wrong = |error| {
            rusqlite::Error::FromSqlConversionFailure(2, rusqlite::types::Type::Text, error)
        };
        let pus: PuSet = pus.parse().map_err(|error| wrong(Box::new(error)))?;
        let numa: String = row.get("numa")?;
        let ended: String = row.get("ended")?;
        let younger = |column| if has_waiting { row.get(column) } else { Ok(0.0) };
        Ok(RankRecord {
            host: row.get("host")?,
            pus,
            start_unix_ns: row.get("start_unix_ns")?,
            wall: Seconds(row.get("wall_s")?),
            numa: parse_index_list(&numa).map_err(|error| wrong(Box::new(error)))?,
            ended: Ended::from_name(&ended).ok_or_else(|| unknown("ended", &ended))?,
            cut: row.get("cut")?,
            peak_memory: Bytes(amount(row, "peak_memory_bytes")?),
            point_to_point: time("point_to_point_calls", "point_to_point_s")?,
            wait: time("wait_calls", "wait_s")?,
            collective: time("collective_calls", "collective_s")?,
            one_sided: time("one_sided_calls", "one_sided_s")?,
            other: time("other_calls", "other_s")?,
            waited_for_pu: match has_waiting {
                true => row.get::<_, Option<f64>>("waited_for_pu_s")?.map(Seconds),
                false => None,
            },
            sleep_is_known: has_waiting && row.get("sleep_is_known")?,
            processor: Seconds(younger("processor_s")?),
            other_threads: Seconds(younger("other_threads_s")?),
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
        Ok(FlowRecord { flow, kind: kind(row)?, times, size_histogram: Vec::new() })
    };
    let mut records: Vec<FlowRecord> = select.query_map([], record)?.collect::<Result<_, _>>()?;
    let key = |record: &FlowRecord| (record.flow.source, record.flow.destination, record.kind);
    records.sort_by_key(key);
    let mut select = file.prepare("SELECT * FROM flow_sizes ORDER BY source, destination")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let pair = (Rank(row.get("source")?), Rank(row.get("destination")?), kind(row)?);
        let Ok(position) = records.binary_search_by_key(&pair, key) else { continue };
        let bin: usize = row.get::<_, u8>("bin")?.into();
        let record = &mut records[position];
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
        let operation = Operation::from_name(&name).ok_or_else(|| unknown("operation", &name))?;
        let form: String = row.get("form")?;
        let communicator: i64 = row.get("communicator")?;
        collectives.push(CollectiveCalls {
            rank: Rank(row.get("rank")?),
            communicator: usize::try_from(communicator).unwrap_or(usize::MAX),
            operation,
            form: Form::from_name(&form).ok_or_else(|| unknown("form", &form))?,
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

fn read_topologies(file: &Connection) -> rusqlite::Result<Vec<DeclaredTopology>> {
    let mut select = file.prepare("SELECT * FROM topologies ORDER BY communicator, rank")?;
    let topology = |row: &Row<'_>| -> rusqlite::Result<DeclaredTopology> {
        let kind: String = row.get("kind")?;
        let (extents, periodic): (String, String) = (row.get("extents")?, row.get("periodic")?);
        let periodic = numbers(&periodic)?.into_iter().map(|number| number != 0);
        Ok(DeclaredTopology {
            communicator: row.get::<_, u32>("communicator")? as usize,
            rank: Rank(row.get("rank")?),
            kind: TopologyKind::from_name(&kind).ok_or_else(|| unknown("kind", &kind))?,
            grid: numbers(&extents)?.into_iter().zip(periodic).collect(),
            neighbours: Vec::new(),
        })
    };
    let mut topologies: Vec<DeclaredTopology> =
        select.query_map([], topology)?.collect::<Result<_, _>>()?;
    let mut select =
        file.prepare("SELECT * FROM topology_neighbours ORDER BY communicator, rank, position")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let declared = (row.get::<_, u32>("communicator")? as usize, Rank(row.get("rank")?));
        let key = |topology: &DeclaredTopology| (topology.communicator, topology.rank);
        let Ok(position) = topologies.binary_search_by_key(&declared, key) else { continue };
        let neighbour = Neighbour { rank: Rank(row.get("neighbour")?), weight: row.get("weight")? };
        topologies[position].neighbours.push(neighbour);
    }
    Ok(topologies)
}

/// The MPI library of a profile's run.
pub(crate) fn library(file: &Connection) -> rusqlite::Result<Library> {
    let select = "SELECT value FROM run WHERE key = 'mpi_library'";
    let version: Option<String> = file.query_row(select, [], |row| row.get(0)).optional()?;
    Ok(Library::new(&version.unwrap_or_default(), &read_settings(file)?))
}

/// The table is younger than the format's version: a file without it says nothing about the library.
fn read_settings(file: &Connection) -> rusqlite::Result<BTreeMap<String, String>> {
    if !file.table_exists(None, "library_settings")? {
        return Ok(BTreeMap::new());
    }
    let mut select = file.prepare("SELECT name, value FROM library_settings")?;
    select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

fn kind(row: &Row<'_>) -> rusqlite::Result<FlowKind> {
    let kind: String = row.get("kind")?;
    FlowKind::from_name(&kind).ok_or_else(|| unknown("kind", &kind))
}

fn unknown(column: &str, found: &str) -> rusqlite::Error {
    rusqlite::Error::InvalidParameterName(format!("{column} {found}"))
}

/// Parses `0,3,4`, the form of lists in a column.
fn numbers(text: &str) -> rusqlite::Result<Vec<u32>> {
    let numbers = text.split(',').filter(|number| !number.is_empty()).map(str::parse);
    numbers.collect::<Result<_, _>>().map_err(|_| unknown("numbers", text))
}

fn amount(row: &Row<'_>, column: &str) -> rusqlite::Result<u64> {
    let value: i64 = row.get(column)?;
    u64::try_from(value).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(0, value))
}
