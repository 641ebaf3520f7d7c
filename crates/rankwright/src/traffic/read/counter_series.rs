//! What the network devices of each node counted during a run, every 10 ms: the tracer's file of a node, and
//! the tables of the profile. `tracer/src/format/counters_format.h` and `docs/src/formats.md` describe them.

use std::io::Read;
use std::path::Path;

use rusqlite::{Connection, OpenFlags, params};

use super::profile_file;
use super::trace_constants::{COUNTERS_MAGIC, COUNTERS_VERSION};
use super::varints::{put, take};
use crate::files::{self, InputError, WriteError};
use crate::ids::Rank;

/// A year: the longest run, in nanoseconds.
const LONGEST_NS: u64 = 366 * 86_400 * 1_000_000_000;
const EXPECTED_FILE: &str = "the counters of a node as rankwright's tracer writes them";
const EXPECTED: &str = "a profile with counters of network devices";
const HEAD_BYTES: usize = 80;
/// No node has more devices and files.
const MOST_COLUMNS: usize = 1 << 12;
const UNKNOWN: u64 = u64::MAX;
/// Rows in a row of `counter_blocks`.
const BLOCK: usize = 4096;
const TABLES: &str = "
DROP TABLE IF EXISTS counter_blocks;
DROP TABLE IF EXISTS counter_nodes;
CREATE TABLE counter_nodes (
  rank INTEGER PRIMARY KEY, host TEXT NOT NULL, devices TEXT NOT NULL, samples INTEGER NOT NULL,
  period_s REAL NOT NULL, start_unix_ns INTEGER NOT NULL, clock_offset_s REAL NOT NULL,
  clock_error_s REAL NOT NULL);
CREATE TABLE counter_blocks (
  rank INTEGER NOT NULL, part INTEGER NOT NULL, payload BLOB NOT NULL,
  PRIMARY KEY (rank, part));
";

/// When a node was sampled, and by whose clock.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampling {
    /// The rank that read the counters.
    pub rank: Rank,
    /// From sample to sample, in seconds.
    pub period_s: f64,
    /// When MPI started on the rank, in nanoseconds since 1970 by the clock of its host.
    pub start_unix_ns: i64,
    /// What the clock of rank 0's host is ahead of that of this host, in seconds.
    pub clock_offset_s: f64,
    /// The offset is right within this, in seconds.
    pub clock_error_s: f64,
}

/// The tracer's file of a node: files of the kernel, and their numbers over time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CounterFile {
    /// When, and by whose clock.
    pub sampling: Sampling,
    /// Identifies the run.
    pub run: u64,
    /// The columns: `net/eth0/tx_bytes`, `infiniband/mlx5_0:mlx5_core/ports/1/counters/port_xmit_data`.
    pub names: Vec<String>,
    /// By sample: nanoseconds since MPI started on the rank.
    pub times: Vec<u64>,
    /// By sample, then by column; `None` if it could not be read.
    pub values: Vec<Vec<Option<u64>>>,
}

/// What the devices of a node carried.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NodeSeries {
    /// When, and by whose clock.
    pub sampling: Sampling,
    /// The host.
    pub host: String,
    /// The devices, by name.
    pub devices: Vec<String>,
    /// The samples.
    pub samples: Vec<Growth>,
}

/// What devices carried since the sample before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Growth {
    /// Nanoseconds since MPI started on the rank.
    pub time: u64,
    /// By device: bytes out of the node and into it.
    pub bytes: Vec<[u64; 2]>,
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            rank: Rank(0),
            period_s: 0.0,
            start_unix_ns: 0,
            clock_offset_s: 0.0,
            clock_error_s: 0.0,
        }
    }
}

impl CounterFile {
    /// Reads a file; of a truncated one, what is whole.
    ///
    /// # Errors
    /// If it cannot be read, or is not such a file.
    pub fn read(path: &Path) -> Result<Self, InputError> {
        let wrong = |found: String| InputError::new(path.display(), found, EXPECTED_FILE);
        let mut bytes = Vec::new();
        let mut file = files::open(path, EXPECTED_FILE)?;
        file.read_to_end(&mut bytes).map_err(|error| wrong(files::describe(&error)))?;
        let head =
            bytes.get(..HEAD_BYTES).ok_or_else(|| wrong("a file that was cut short".into()))?;
        if head[..8] != *COUNTERS_MAGIC {
            return Err(wrong("another kind of file".to_owned()));
        }
        let version = u32_at(head, 8);
        if version != COUNTERS_VERSION {
            return Err(wrong(format!("format version {version}"))
                .with_advice(format!("this rankwright reads version {COUNTERS_VERSION}")));
        }
        let columns = u32_at(head, 72) as usize;
        let names_from = u32_at(head, 12) as usize;
        let names_to = names_from.saturating_add(u32_at(head, 76) as usize);
        let names = bytes.get(names_from..names_to).unwrap_or_default().split(|byte| *byte == 0);
        let names: Vec<String> =
            names.take(columns).map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        if columns > MOST_COLUMNS || names.len() != columns || names.iter().any(String::is_empty) {
            return Err(wrong(format!("{columns} columns with {} names", names.len())));
        }
        let mut read =
            Self { sampling: sampling(head), run: u64_at(head, 24), names, ..Self::default() };
        let rows = bytes.get(names_to..).unwrap_or_default();
        for row in rows.chunks_exact(8 * (columns + 1)) {
            let time = u64_at(row, 0);
            if time == 0 {
                break;
            }
            let value =
                |column: usize| Some(u64_at(row, 8 * (column + 1))).filter(|v| *v != UNKNOWN);
            read.times.push(time);
            read.values.push((0..columns).map(value).collect());
        }
        Ok(read)
    }
}

fn sampling(head: &[u8]) -> Sampling {
    Sampling {
        rank: Rank(u32_at(head, 16)),
        start_unix_ns: u64_at(head, 32).cast_signed(),
        period_s: u64_at(head, 48) as f64 * 1e-9,
        clock_offset_s: u64_at(head, 56).cast_signed() as f64 * 1e-9,
        clock_error_s: u64_at(head, 64) as f64 * 1e-9,
    }
}

/// Adds the series of all nodes to the profile, replacing earlier ones. Hosts are those of the ranks.
///
/// # Errors
/// If the profile cannot be written.
pub fn add(profile: &Path, nodes: &[NodeSeries]) -> Result<(), WriteError> {
    profile_file::add_tables(profile, TABLES, |file| write(file, nodes))
}

fn write(file: &Connection, nodes: &[NodeSeries]) -> rusqlite::Result<()> {
    for node in nodes {
        let Sampling { rank, period_s, start_unix_ns, clock_offset_s, clock_error_s } =
            node.sampling;
        let devices = serde_json::to_string(&node.devices).unwrap_or_default();
        let samples = i64::try_from(node.samples.len()).unwrap_or(i64::MAX);
        file.execute(
            "INSERT INTO counter_nodes VALUES (?,?,?,?,?,?,?,?)",
            params![
                rank.0,
                node.host,
                devices,
                samples,
                period_s,
                start_unix_ns,
                clock_offset_s,
                clock_error_s
            ],
        )?;
        let mut before = 0;
        for (part, samples) in (0_i64..).zip(node.samples.chunks(BLOCK)) {
            let mut payload = Vec::new();
            for sample in samples {
                put(&mut payload, sample.time.saturating_sub(before));
                before = sample.time;
                sample.bytes.iter().flatten().for_each(|bytes| put(&mut payload, *bytes));
            }
            let insert = "INSERT INTO counter_blocks VALUES (?,?,?)";
            file.execute(insert, params![rank.0, part, payload])?;
        }
    }
    Ok(())
}

/// The series of all nodes of a profile, by rank; none if it has none.
///
/// # Errors
/// If the profile cannot be read or is damaged.
pub fn read(profile: &Path) -> Result<Vec<NodeSeries>, InputError> {
    let name = profile.display().to_string();
    let wrong = |error: rusqlite::Error| InputError::new(&name, error, EXPECTED);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let file = Connection::open_with_flags(profile, flags).map_err(wrong)?;
    let tables = "SELECT count(*) FROM sqlite_master WHERE name = 'counter_nodes'";
    if file.query_row(tables, [], |row| row.get::<_, u32>(0)).map_err(wrong)? == 0 {
        return Ok(Vec::new());
    }
    let read = || -> rusqlite::Result<Vec<NodeSeries>> {
        let select = "SELECT rank, host, devices, period_s, start_unix_ns, clock_offset_s, \
                      clock_error_s FROM counter_nodes ORDER BY rank";
        let mut select = file.prepare(select)?;
        let nodes = select.query_map([], |row| {
            let devices: String = row.get(2)?;
            let sampling = Sampling {
                rank: Rank(row.get(0)?),
                period_s: row.get(3)?,
                start_unix_ns: row.get(4)?,
                clock_offset_s: row.get(5)?,
                clock_error_s: row.get(6)?,
            };
            let devices = serde_json::from_str(&devices).unwrap_or_default();
            Ok(NodeSeries { sampling, host: row.get(1)?, devices, samples: Vec::new() })
        })?;
        nodes.collect()
    };
    let mut nodes = read().map_err(wrong)?;
    for node in &mut nodes {
        let damaged = || InputError::new(&name, "damaged counters of a node", EXPECTED);
        let samples = samples(&file, node).map_err(wrong)?.ok_or_else(damaged)?;
        let last = samples.last().map_or(0, |sample| sample.time);
        let sampling = &node.sampling;
        let is_sane = (1e-4..=10.0).contains(&sampling.period_s)
            && last <= LONGEST_NS
            && sampling.start_unix_ns >= 0
            && sampling.clock_offset_s.abs() <= 1e9;
        if !is_sane {
            return Err(damaged());
        }
        node.samples = samples;
    }
    Ok(nodes)
}

fn samples(file: &Connection, node: &NodeSeries) -> rusqlite::Result<Option<Vec<Growth>>> {
    let mut select =
        file.prepare("SELECT payload FROM counter_blocks WHERE rank = ? ORDER BY part")?;
    let mut blocks = select.query([node.sampling.rank.0])?;
    let (mut samples, mut time) = (Vec::new(), 0_u64);
    while let Some(row) = blocks.next()? {
        let mut rest = row.get_ref(0)?.as_blob()?;
        while !rest.is_empty() {
            let Some(later) = take(&mut rest) else { return Ok(None) };
            time = time.saturating_add(later);
            let mut growth = Growth { time, bytes: Vec::with_capacity(node.devices.len()) };
            for _ in &node.devices {
                let (Some(out), Some(into)) = (take(&mut rest), take(&mut rest)) else {
                    return Ok(None);
                };
                growth.bytes.push([out, into]);
            }
            samples.push(growth);
        }
    }
    Ok(Some(samples))
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

    /// A file with the columns `a` and `b`, and rows of a time and two values.
    fn file(rows: &[[u64; 3]]) -> Vec<u8> {
        let mut bytes = COUNTERS_MAGIC.to_vec();
        for number in [1, 80, 0, 2] {
            bytes.extend(u32::to_le_bytes(number));
        }
        for number in [7, 5_000, 0, 10_000_000, (-20_i64).cast_unsigned(), 30] {
            bytes.extend(u64::to_le_bytes(number));
        }
        for number in [2, 8] {
            bytes.extend(u32::to_le_bytes(number));
        }
        bytes.extend(b"a\0b\0\0\0\0\0");
        rows.iter().flatten().for_each(|number| bytes.extend(u64::to_le_bytes(*number)));
        bytes
    }

    #[test]
    fn a_file_is_read_as_far_as_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rank-0.counters");
        let whole = file(&[[10, 1, 2], [20, 3, u64::MAX], [0, 0, 0]]);
        fs::write(&path, &whole).unwrap();
        let read = CounterFile::read(&path).unwrap();
        assert_eq!(
            (read.names.as_slice(), read.times.as_slice()),
            (&["a".into(), "b".into()][..], &[10, 20][..])
        );
        assert_eq!(read.values, [[Some(1), Some(2)], [Some(3), None]]);
        assert!((read.sampling.clock_offset_s + 20e-9).abs() < 1e-18 && read.run == 7);
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            match CounterFile::read(&path) {
                Ok(read) => assert!(read.times.len() <= 2),
                Err(error) => assert!(length < 88, "{error}"),
            }
        }
        for place in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[place] = !damaged[place];
            fs::write(&path, &damaged).unwrap();
            let _ = CounterFile::read(&path);
        }
    }

    #[test]
    fn series_come_back_from_the_profile() {
        let folder = tempfile::tempdir().unwrap();
        let profile = sample::write_profile(folder.path(), 2);
        assert_eq!(read(&profile).unwrap(), []);
        let growth =
            |number: u64| Growth { time: 10 * number, bytes: vec![[number << 20, 0], [3, 1]] };
        let node = NodeSeries {
            sampling: Sampling { rank: Rank(1), period_s: 0.01, ..Sampling::default() },
            host: "n1".to_owned(),
            devices: vec!["eth0".to_owned(), "ib,0".to_owned()],
            samples: (1..10_000).map(growth).collect(),
        };
        add(&profile, std::slice::from_ref(&node)).unwrap();
        add(&profile, std::slice::from_ref(&node)).unwrap();
        assert_eq!(read(&profile).unwrap(), [node]);
    }
}
