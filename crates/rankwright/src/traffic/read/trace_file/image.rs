//! The image of one rank: a header and records.

use std::collections::BTreeMap;

use super::bytes::{Bytes, CUT_SHORT};
use crate::ids::{LARGEST_INDEX, PuId, Rank};
use crate::traffic::Flow;
use crate::traffic::collectives::{CollectiveCalls, Form, Operation, RowEntry};
use crate::traffic::profile::{Ended, FlowKind, FlowRecord, FlowTimes, RankRecord, TimeInMpi};
use crate::traffic::read::import::MOST_RANKS;
use crate::traffic::read::trace_constants::{
    CLOCK_OFF, CLOCK_TSC, FORMAT_VERSION, HISTOGRAM_BINS, IMAGE_LOST_RECORDS, IMAGE_MAGIC,
    IMAGE_SPOOL_ENDED, NAME_BYTES, RECORD_BINDING, RECORD_COLLECTIVE, RECORD_COMMUNICATOR,
    RECORD_MEMBERS, RECORD_PAIR, RECORD_ROW, RECORD_SETTING, RECORD_TEXT, RECORD_TOPOLOGY,
    STATE_ABORTED, STATE_EXITED, STATE_FINALIZED, STATE_RUNNING, TEXT_BESIDE_MPI,
    TEXT_CALLED_THROUGH, TEXT_HOST, TEXT_LIBRARY, TEXT_PROGRAM, TEXT_TRACER, THREAD_MULTIPLE,
    WAITING_RUN_DELAY, WAITING_UNKNOWN,
};
use crate::traffic::topology::{DeclaredTopology, Neighbour, TopologyKind};
use crate::units::{Bytes as Size, Seconds};

/// The data recorded by one rank. `collectives` and `topologies` refer to communicators by index
/// within this image.
#[derive(Debug, Default)]
pub(super) struct Image {
    pub(super) rank: u32,
    pub(super) world_size: u32,
    /// Random number shared by all ranks of a run.
    pub(super) run: u64,
    pub(super) program: String,
    pub(super) library: String,
    pub(super) tracer: String,
    pub(super) record: RankRecord,
    /// Records are missing: out of memory, or the spool file could not grow.
    pub(super) incomplete: bool,
    /// `MPI_THREAD_MULTIPLE` was in effect.
    pub(super) several_threads: bool,
    /// The library that calls MPI for the program; empty if none is known.
    pub(super) called_through: String,
    /// Names of libraries beside MPI, with commas between them.
    pub(super) beside_mpi: String,
    pub(super) members: Vec<Members>,
    pub(super) communicators: Vec<LocalCommunicator>,
    pub(super) flows: Vec<FlowRecord>,
    pub(super) collectives: Vec<CollectiveCalls>,
    pub(super) topologies: Vec<DeclaredTopology>,
    /// Control variables of the MPI library, by name; of rank 0 only.
    pub(super) library_settings: BTreeMap<String, String>,
}

/// Groups of a communicator as runs of world ranks.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Members {
    pub(super) first: Vec<Run>,
    pub(super) second: Vec<Run>,
}

/// World ranks `first`, `first + stride`, ..., `count` of them; negative ranks are outside the
/// world.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Run {
    pub(super) first: i32,
    pub(super) stride: i32,
    pub(super) count: u32,
}

#[derive(Debug)]
pub(super) struct LocalCommunicator {
    /// Index into the image's member lists.
    pub(super) members: usize,
    pub(super) slot: u32,
    pub(super) created: u32,
    pub(super) name: String,
}

/// Tick length and start of the rank's clock.
#[derive(Debug, Clone, Copy)]
struct Clock {
    begin: u64,
    seconds_per_tick: f64,
    off: bool,
}

impl Clock {
    fn time(&self, ticks: u64) -> Seconds {
        Seconds(self.duration(ticks.saturating_sub(self.begin) as f64))
    }

    fn duration(&self, ticks: f64) -> f64 {
        ticks * self.seconds_per_tick
    }
}

/// Reads one image from the start of `file` and leaves the rest.
pub(super) fn take(file: &mut Bytes<'_>) -> Result<Image, String> {
    let whole = *file;
    if file.take(8).ok() != Some(IMAGE_MAGIC) {
        return Err("another kind of file".to_owned());
    }
    let version = file.u32()?;
    if version != FORMAT_VERSION {
        return Err(format!("format version {version} (this rankwright reads {FORMAT_VERSION})"));
    }
    let head_bytes = file.u32()? as usize;
    let mut head = Bytes { rest: whole.rest.get(16..head_bytes).ok_or(CUT_SHORT)? };
    let (mut image, clock, length) = read_head(&mut head)?;
    if image.world_size > MOST_RANKS || image.rank >= image.world_size {
        return Err(format!("rank {} of {}", image.rank, image.world_size));
    }
    let length = usize::try_from(length).map_err(|_| CUT_SHORT)?;
    let mut records = Bytes { rest: whole.rest.get(head_bytes..length).ok_or(CUT_SHORT)? };
    *file = Bytes { rest: &whole.rest[length..] };
    let mut rows = Vec::new();
    while !records.rest.is_empty() {
        read_record(&mut records, &mut image, &clock, &mut rows)?;
    }
    for (collective, entry) in rows {
        let calls = image.collectives.get_mut(collective as usize);
        calls.ok_or_else(|| format!("a row of collective {collective}"))?.row.push(entry);
    }
    Ok(image)
}

fn read_head(head: &mut Bytes<'_>) -> Result<(Image, Clock, u64), String> {
    let mut image = Image { rank: head.u32()?, world_size: head.u32()?, ..Image::default() };
    image.run = head.u64()?;
    image.record.ended = match head.u32()? {
        STATE_RUNNING => Ended::Killed,
        STATE_FINALIZED => Ended::Finalized,
        STATE_ABORTED => Ended::Aborted,
        STATE_EXITED => Ended::Exited,
        state => return Err(format!("state {state} of rank {}", image.rank)),
    };
    let flags = head.u32()?;
    // A rank whose later records were gathered although the spool file was full has cleared the
    // second flag.
    image.incomplete = flags & (IMAGE_LOST_RECORDS | IMAGE_SPOOL_ENDED) != 0;
    image.several_threads = head.u32()? == THREAD_MULTIPLE;
    let clock = head.u32()?;
    let length = head.u64()?;
    image.record.start_unix_ns = i64::from_le_bytes(head.array()?);
    let (begin, begin_ns) = (head.u64()?, head.u64()?);
    let (latest, latest_ns) = (head.u64()?, head.u64()?);
    let wall = latest_ns.saturating_sub(begin_ns) as f64 * 1e-9;
    image.record.wall = Seconds(wall);
    if clock == CLOCK_OFF && image.record.ended == Ended::Killed {
        // Without a clock the rank's wall time is unknown.
        image.record.wall = Seconds(0.0);
    }
    let ticks = latest.saturating_sub(begin) as f64;
    let seconds_per_tick = if clock == CLOCK_TSC && ticks > 0.0 { wall / ticks } else { 1e-9 };
    let clock = Clock { begin, seconds_per_tick, off: clock == CLOCK_OFF };
    image.record.peak_memory = Size(head.u64()?);
    image.record.outside_messages = head.u64()?;
    image.record.outside_bytes = head.u64()?;
    let mut class = || -> Result<TimeInMpi, String> {
        let calls = head.u64()?;
        Ok(TimeInMpi { calls, time: Seconds(clock.duration(head.u64()? as f64)) })
    };
    image.record.point_to_point = class()?;
    image.record.wait = class()?;
    image.record.collective = class()?;
    image.record.one_sided = class()?;
    image.record.other = class()?;
    if !head.rest.is_empty() {
        read_waiting(head, &mut image.record, &clock)?;
    }
    Ok((image, clock, length))
}

fn read_waiting(
    head: &mut Bytes<'_>,
    record: &mut RankRecord,
    clock: &Clock,
) -> Result<(), String> {
    let waited = Seconds(clock.duration(head.u64()? as f64));
    record.processor = Seconds(head.u64()? as f64 * 1e-9);
    record.other_threads = Seconds(head.u64()? as f64 * 1e-9);
    let waiting = head.u32()?;
    record.waited_for_pu = (waiting != WAITING_UNKNOWN).then_some(waited);
    record.sleep_is_known = waiting == WAITING_RUN_DELAY;
    Ok(())
}

fn read_record(
    records: &mut Bytes<'_>,
    image: &mut Image,
    clock: &Clock,
    rows: &mut Vec<(u32, RowEntry)>,
) -> Result<(), String> {
    let (kind, length) = (records.u32()?, records.u32()? as usize);
    if length < 8 || length % 8 != 0 {
        return Err(format!("a record of {length} bytes"));
    }
    let mut record = Bytes { rest: records.take(length - 8)? };
    match kind {
        RECORD_TEXT => text(&mut record, image)?,
        RECORD_BINDING => binding(&mut record, &mut image.record)?,
        RECORD_MEMBERS => {
            let id = record.u32()?;
            in_order(id, image.members.len(), "member list")?;
            image.members.push(members(&mut record)?);
        }
        RECORD_COMMUNICATOR => {
            let id = record.u32()?;
            in_order(id, image.communicators.len(), "communicator")?;
            image.communicators.push(communicator(&mut record)?);
        }
        RECORD_PAIR => image.flows.extend(pair(&mut record, Rank(image.rank), clock)?),
        RECORD_COLLECTIVE => {
            let id = record.u32()?;
            in_order(id, image.collectives.len(), "collective")?;
            image.collectives.push(collective(&mut record, Rank(image.rank), clock)?);
        }
        RECORD_ROW => rows.push(row(&mut record)?),
        RECORD_TOPOLOGY => {
            let topology = topology(&mut record, Rank(image.rank))?;
            // The last declaration for a communicator counts.
            image.topologies.retain(|earlier| earlier.communicator != topology.communicator);
            image.topologies.push(topology);
        }
        RECORD_SETTING => image.library_settings.extend([setting(&mut record)?]),
        _ => {}
    }
    Ok(())
}

fn setting(record: &mut Bytes<'_>) -> Result<(String, String), String> {
    let (name, value) = (record.u32()? as usize, record.u32()? as usize);
    Ok((record.text(name)?, record.text(value)?))
}

fn in_order(id: u32, next: usize, what: &str) -> Result<(), String> {
    if id as usize == next {
        return Ok(());
    }
    Err(format!("{what} {id} instead of {what} {next}"))
}

fn text(record: &mut Bytes<'_>, image: &mut Image) -> Result<(), String> {
    let (which, length) = (record.u32()?, record.u32()? as usize);
    let text = record.text(length)?;
    match which {
        TEXT_HOST => image.record.host = text,
        TEXT_LIBRARY => image.library = text,
        TEXT_TRACER => image.tracer = text,
        TEXT_PROGRAM => image.program = text,
        TEXT_BESIDE_MPI => image.beside_mpi = text,
        TEXT_CALLED_THROUGH => image.called_through = text,
        _ => {}
    }
    Ok(())
}

fn binding(record: &mut Bytes<'_>, rank: &mut RankRecord) -> Result<(), String> {
    let (pus, numa) = (record.u32()?, record.u32()?);
    let pus = record.u32s(pus)?;
    rank.numa = record.u32s(numa)?;
    match pus.iter().chain(&rank.numa).find(|number| **number > LARGEST_INDEX) {
        Some(number) => return Err(format!("a PU or NUMA node P#{number}")),
        None => rank.pus = pus.into_iter().map(PuId).collect(),
    }
    Ok(())
}

fn members(record: &mut Bytes<'_>) -> Result<Members, String> {
    let _intercommunicator = record.u32()?;
    let (first, second) = (record.u32()?, record.u32()?);
    let mut runs = |count: u32| -> Result<Vec<Run>, String> {
        // The count is untrusted: no memory is reserved before its runs are read.
        (0..count)
            .map(|_| Ok(Run { first: record.i32()?, stride: record.i32()?, count: record.u32()? }))
            .collect()
    };
    Ok(Members { first: runs(first)?, second: runs(second)? })
}

fn communicator(record: &mut Bytes<'_>) -> Result<LocalCommunicator, String> {
    let members = record.u32()? as usize;
    let (slot, created) = (record.u32()?, record.u32()?);
    let name = record.take(NAME_BYTES)?;
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    let name = String::from_utf8_lossy(&name[..end]).into_owned();
    Ok(LocalCommunicator { members, slot, created, name })
}

/// `None` for a pair without messages: the rank was killed between creating and counting it.
fn pair(record: &mut Bytes<'_>, rank: Rank, clock: &Clock) -> Result<Option<FlowRecord>, String> {
    let peer = Rank(record.u32()?);
    let class = record.u8()?;
    let kind = FlowKind::from_number(class).ok_or_else(|| format!("a pair of class {class}"))?;
    let (first_bin, bins) = (usize::from(record.u8()?), usize::from(record.u16()?));
    if first_bin + bins > HISTOGRAM_BINS {
        return Err(format!("a size histogram of {} bins", first_bin + bins));
    }
    let (source, destination) = if kind == FlowKind::Get { (peer, rank) } else { (rank, peer) };
    let flow = Flow {
        source,
        destination,
        messages: record.u64()?,
        bytes: record.u64()?,
        largest: record.u64()?,
    };
    let (first, last) = (clock.time(record.u64()?), clock.time(record.u64()?));
    let (gap_mean, squares) = (record.f64()?, record.f64()?);
    let gaps = flow.messages.saturating_sub(1).max(1) as f64;
    let gap_cv = if gap_mean > 0.0 { (squares / gaps).sqrt() / gap_mean } else { 0.0 };
    let gap_mean = Seconds(clock.duration(gap_mean));
    let mut size_histogram = vec![0; first_bin];
    for _ in 0..bins {
        size_histogram.push(record.u64()?);
    }
    let used = size_histogram.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
    size_histogram.truncate(used);
    let times = (!clock.off).then_some(FlowTimes { first, last, gap_mean, gap_cv });
    Ok((flow.messages > 0).then_some(FlowRecord { flow, kind, times, size_histogram }))
}

fn collective(
    record: &mut Bytes<'_>,
    rank: Rank,
    clock: &Clock,
) -> Result<CollectiveCalls, String> {
    let communicator = record.u32()? as usize;
    let number = record.u16()?;
    let operation = Operation::from_number(number)
        .ok_or_else(|| format!("collective operation number {number}"))?;
    let form = Form::from_flags(record.u16()?);
    let root = u32::try_from(record.i32()?).ok().map(Rank);
    let (calls, bytes) = (record.u64()?, record.u64()?);
    let seconds = clock.duration(record.u64()? as f64);
    let (first, last) = (clock.time(record.u64()?).0, clock.time(record.u64()?).0);
    let row = Vec::new();
    Ok(CollectiveCalls {
        rank,
        communicator,
        operation,
        form,
        root,
        calls,
        bytes,
        seconds,
        first,
        last,
        row,
    })
}

fn row(record: &mut Bytes<'_>) -> Result<(u32, RowEntry), String> {
    let (collective, destination) = (record.u32()?, Rank(record.u32()?));
    Ok((collective, RowEntry { destination, messages: record.u64()?, bytes: record.u64()? }))
}

fn topology(record: &mut Bytes<'_>, rank: Rank) -> Result<DeclaredTopology, String> {
    let communicator = record.u32()? as usize;
    let number = record.u32()?;
    let kind =
        TopologyKind::from_number(number).ok_or_else(|| format!("a topology of kind {number}"))?;
    let (dimensions, neighbours) = (record.u32()?, record.u32()?);
    let mut grid = Vec::new();
    for _ in 0..dimensions {
        grid.push((record.u32()?, record.u32()? != 0));
    }
    let mut list = Vec::new();
    for _ in 0..neighbours {
        let (peer, weight) = (record.i32()?, record.u32()?);
        list.extend(u32::try_from(peer).ok().map(|peer| Neighbour { rank: Rank(peer), weight }));
    }
    Ok(DeclaredTopology { communicator, rank, kind, grid, neighbours: list })
}
