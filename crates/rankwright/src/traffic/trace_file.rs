//! The file that the tracer leaves at `MPI_Finalize`; `tracer/trace_format.h` describes it byte by
//! byte.

use std::path::Path;

use super::Flow;
use super::collectives::{CollectiveCalls, Operation, RowEntry};
use super::communicator::Communicator;
use super::profile::{FlowRecord, FlowTimes, Profile, RankRecord, Run, TimeInMpi};
use crate::files::{InputError, read_bytes};
use crate::ids::{PuId, Rank};
use crate::units::Seconds;

const MAGIC: &[u8; 8] = b"RWTRACE\n";
const FORMAT_VERSION: u32 = 1;
const EXPECTED: &str = "a trace that rankwright's tracer wrote";

/// Reads a trace whole; `program` is the file name of the program that ran.
///
/// # Errors
/// If it cannot be read, was cut short, is damaged, or is of another version.
pub fn read(path: &Path, program: &str) -> Result<Profile, InputError> {
    parse(&read_bytes(path, EXPECTED)?, program)
        .map_err(|found| InputError::new(path.display(), found, EXPECTED))
}

/// As [`read`], from the bytes of the file. The error says what was found.
///
/// # Errors
/// As [`read`].
pub fn parse(bytes: &[u8], program: &str) -> Result<Profile, String> {
    let mut file = Bytes { rest: bytes };
    if file.take(8).ok() != Some(MAGIC) {
        return Err("another kind of file".to_owned());
    }
    let version = file.u32()?;
    if version != FORMAT_VERSION {
        return Err(format!("format version {version} (this rankwright reads {FORMAT_VERSION})"));
    }
    let sections = file.u32()?;
    let mut profile = Profile::default();
    profile.run.program = program.to_owned();
    let mut world_size = 0;
    for _ in 0..sections {
        let before = bytes.len() - file.rest.len();
        let tag: [u8; 4] = file.array()?;
        if file.u32()? != 0 {
            return Err("a damaged file".to_owned());
        }
        let length = usize::try_from(file.u64()?).map_err(|_| CUT_SHORT.to_owned())?;
        let mut section = Bytes { rest: file.take(length)? };
        match &tag {
            b"FACT" => world_size = facts(&mut section, &mut profile.run)?,
            b"RANK" => profile.ranks = section.records(|s, index| rank_record(s, index))?,
            b"COMM" => profile.communicators = section.records(communicator)?,
            b"PAIR" => profile.flows = section.records(|s, _| pair(s))?,
            b"COLL" => profile.collectives = section.records(|s, _| collective(s))?,
            b"END " => {
                let wanted = section.u32()?;
                return checked(profile, world_size, wanted == crc32fast::hash(&bytes[..before]));
            }
            _ => {}
        }
    }
    Err(CUT_SHORT.to_owned())
}

const CUT_SHORT: &str = "a file that was cut short";

fn checked(profile: Profile, world_size: u32, sum_is_right: bool) -> Result<Profile, String> {
    if !sum_is_right {
        return Err("a damaged file (its checksum does not fit)".to_owned());
    }
    let in_world = |rank: Rank| rank.0 < world_size;
    let members = profile.communicators.iter().flat_map(|communicator| {
        communicator.members.iter().chain(&communicator.remote_members).copied().flatten()
    });
    let ranks_exist = profile.ranks.len() == world_size as usize
        && members.into_iter().all(in_world)
        && profile.flows.iter().all(|r| in_world(r.flow.source) && in_world(r.flow.destination))
        && profile.collectives.iter().all(|call| {
            in_world(call.rank)
                && call.communicator < profile.communicators.len()
                && call.root.is_none_or(in_world)
                && call.row.iter().all(|entry| in_world(entry.destination))
        });
    if world_size == 0 || !ranks_exist {
        return Err(format!("records of ranks outside a world of {world_size}"));
    }
    Ok(profile)
}

fn facts(section: &mut Bytes<'_>, run: &mut Run) -> Result<u32, String> {
    let world_size = section.u32()?;
    let _thread_level = section.u32()?;
    let _clock = section.u32()?;
    // Libraries append details of their build: `Open MPI v4.1.4, package: ...`.
    let library = section.string()?;
    let short = library.split([',', '\n']).next().unwrap_or_default();
    run.mpi_library = short.split_whitespace().collect::<Vec<_>>().join(" ");
    run.origin = format!("tracer {}", section.string()?);
    Ok(world_size)
}

fn rank_record(section: &mut Bytes<'_>, index: usize) -> Result<RankRecord, String> {
    let rank = section.u32()?;
    if rank as usize != index {
        return Err(format!("rank {rank} in the place of rank {index}"));
    }
    let host = section.string()?;
    let pus = section.u32s()?.into_iter().map(PuId).collect();
    let start_unix_ns = i64::from_le_bytes(section.array()?);
    let wall = section.seconds()?;
    let mut time = || -> Result<TimeInMpi, String> {
        Ok(TimeInMpi { calls: section.u64()?, time: section.seconds()? })
    };
    let (point_to_point, wait, collective, other) = (time()?, time()?, time()?, time()?);
    Ok(RankRecord {
        host,
        pus,
        start_unix_ns,
        wall,
        point_to_point,
        wait,
        collective,
        other,
        outside_messages: section.u64()?,
        outside_bytes: section.u64()?,
    })
}

fn communicator(section: &mut Bytes<'_>, index: usize) -> Result<Communicator, String> {
    const OUTSIDE: u32 = u32::MAX;
    let identifier = section.u32()?;
    if identifier as usize != index {
        return Err(format!("communicator {identifier} in the place of communicator {index}"));
    }
    let _kind = section.u32()?;
    let _slot = section.u32()?;
    let created = section.u32()?;
    let name = section.string()?;
    let mut members = || -> Result<Vec<Option<Rank>>, String> {
        let members = section.u32s()?;
        Ok(members.into_iter().map(|rank| (rank != OUTSIDE).then_some(Rank(rank))).collect())
    };
    Ok(Communicator { name, members: members()?, remote_members: members()?, created })
}

fn pair(section: &mut Bytes<'_>) -> Result<FlowRecord, String> {
    let flow = Flow {
        source: Rank(section.u32()?),
        destination: Rank(section.u32()?),
        messages: section.u64()?,
        bytes: section.u64()?,
        largest: section.u64()?,
    };
    let (first, last) = (section.seconds()?, section.seconds()?);
    let (gap_mean, squares) = (section.seconds()?, section.seconds()?.0);
    let gaps = flow.messages.saturating_sub(1).max(1) as f64;
    let gap_cv = if gap_mean.0 > 0.0 { (squares / gaps).sqrt() / gap_mean.0 } else { 0.0 };
    let first_bin = section.u32()? as usize;
    let bins = section.u32()? as usize;
    if first_bin + bins > 64 {
        return Err(format!("a size histogram of {} bins", first_bin + bins));
    }
    let mut size_histogram = vec![0; first_bin];
    for _ in 0..bins {
        size_histogram.push(section.u64()?);
    }
    let times = Some(FlowTimes { first, last, gap_mean, gap_cv });
    Ok(FlowRecord { flow, times, size_histogram })
}

fn collective(section: &mut Bytes<'_>) -> Result<CollectiveCalls, String> {
    let rank = Rank(section.u32()?);
    let communicator = section.u32()? as usize;
    let number = u16::from_le_bytes(section.array()?);
    let operation = Operation::from_number(number)
        .ok_or_else(|| format!("collective operation number {number}"))?;
    let flags = u16::from_le_bytes(section.array()?);
    let root = i32::from_le_bytes(section.array()?);
    let (calls, bytes) = (section.u64()?, section.u64()?);
    let (seconds, first, last) = (section.seconds()?.0, section.seconds()?.0, section.seconds()?.0);
    let entries = section.u32()?;
    let mut row = Vec::new();
    for _ in 0..entries {
        let destination = Rank(section.u32()?);
        row.push(RowEntry { destination, messages: section.u64()?, bytes: section.u64()? });
    }
    Ok(CollectiveCalls {
        rank,
        communicator,
        operation,
        nonblocking: flags & 1 != 0,
        root: u32::try_from(root).ok().map(Rank),
        calls,
        bytes,
        seconds,
        first,
        last,
        row,
    })
}

/// What is left to read.
struct Bytes<'a> {
    rest: &'a [u8],
}

impl<'a> Bytes<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], String> {
        if length > self.rest.len() {
            return Err(CUT_SHORT.to_owned());
        }
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        Ok(self.take(N)?.try_into().expect("take returns what was asked for"))
    }

    fn u32(&mut self) -> Result<u32, String> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, String> {
        self.array().map(u64::from_le_bytes)
    }

    fn seconds(&mut self) -> Result<Seconds, String> {
        let seconds = f64::from_le_bytes(self.array()?);
        if seconds.is_finite() { Ok(Seconds(seconds)) } else { Err(format!("a time of {seconds}")) }
    }

    fn string(&mut self) -> Result<String, String> {
        let length = self.u32()? as usize;
        Ok(String::from_utf8_lossy(self.take(length)?).into_owned())
    }

    fn u32s(&mut self) -> Result<Vec<u32>, String> {
        let count = self.u32()? as usize;
        let bytes = self.take(count.saturating_mul(4))?;
        let number = |four: &[u8]| u32::from_le_bytes(four.try_into().expect("four bytes"));
        Ok(bytes.chunks_exact(4).map(number).collect())
    }

    /// A count, then that many records; the reader is also told the position.
    fn records<T>(
        &mut self,
        read: impl Fn(&mut Self, usize) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        let count = self.u64()?;
        let mut records = Vec::new();
        for index in 0..count {
            records.push(read(self, usize::try_from(index).unwrap_or(usize::MAX))?);
        }
        Ok(records)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A trace of one rank that sent three messages of 8 bytes to itself.
    fn trace() -> Vec<u8> {
        let string = |text: &str| [&(text.len() as u32).to_le_bytes(), text.as_bytes()].concat();
        let mut file = [&MAGIC[..], &1_u32.to_le_bytes(), &4_u32.to_le_bytes()].concat();
        let section = |file: &mut Vec<u8>, tag: &[u8; 4], payload: &[u8]| {
            file.extend_from_slice(tag);
            file.extend_from_slice(&[0; 4]);
            file.extend_from_slice(&(payload.len() as u64).to_le_bytes());
            file.extend_from_slice(payload);
        };
        let facts = [&[1_u32.to_le_bytes(); 3].concat()[..], &string("MPI\nx"), &string("0")];
        section(&mut file, b"FACT", &facts.concat());
        let rank = [
            &1_u64.to_le_bytes()[..],
            &0_u32.to_le_bytes(),
            &string("h"),
            &[1_u32.to_le_bytes(), 5_u32.to_le_bytes()].concat(),
            &[0; 8 + 8 + 4 * 16 + 16],
        ];
        section(&mut file, b"RANK", &rank.concat());
        let pair = [
            &1_u64.to_le_bytes()[..],
            &[0; 8],
            &[3_u64, 24, 8].map(u64::to_le_bytes).concat(),
            &[0.0_f64, 4.0, 2.0, 2.0].map(f64::to_le_bytes).concat(),
            &[4_u32, 1].map(u32::to_le_bytes).concat(),
            &3_u64.to_le_bytes(),
        ];
        section(&mut file, b"PAIR", &pair.concat());
        let sum = crc32fast::hash(&file);
        section(&mut file, b"END ", &sum.to_le_bytes());
        file
    }

    #[test]
    fn a_trace_is_read_whole() {
        let profile = parse(&trace(), "app").unwrap();
        assert_eq!(profile.run.mpi_library, "MPI");
        assert_eq!(profile.ranks[0].pus.to_string(), "5");
        let record = &profile.flows[0];
        assert_eq!((record.flow.messages, record.flow.bytes), (3, 24));
        assert_eq!(record.size_histogram, [0, 0, 0, 0, 3]);
        assert_eq!(record.times.unwrap().gap_cv, 0.5);
    }

    #[test]
    fn no_cut_or_changed_byte_gets_through() {
        let whole = trace();
        for length in 0..whole.len() {
            assert!(parse(&whole[..length], "app").is_err(), "cut at {length}");
        }
        for place in 0..whole.len() {
            let mut changed = whole.clone();
            changed[place] ^= 0x10;
            assert!(parse(&changed, "app").is_err(), "changed at {place}");
        }
    }
}
