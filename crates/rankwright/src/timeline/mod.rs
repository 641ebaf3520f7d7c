//! When the network is used, by whom, and by how many at once: the time line of a recorded run.
//!
//! | module | has |
//! |---|---|
//! | `recorded`, `clocks` | the messages of the recorded calls, on one clock |
//! | [`Counted`] | what network devices counted |
//! | [`Sites`], [`Curve`] | the network devices of ranks; bandwidth by number of senders |
//! | [`Occupation`] | when a device is busy: completion of sends, begin of receives |
//! | [`Measures`], [`Steadiness`], [`Efficiency`] | what follows from that |
//!
//! The method is that of Koop, Luo and Panda, "Reducing network contention with mixed workloads on modern
//! multicore clusters", 2009, section V.B: it needs the moments when messages are handed to the network,
//! and what concurrent processes can send.

mod bins;
mod clocks;
mod counted;
mod curve;
mod efficiency;
mod measures;
mod occupation;
mod recorded;
mod sites;
mod steadiness;
#[cfg(test)]
mod tests;

use std::path::Path;

pub use bins::Bins;
pub use counted::{Counted, counted, counted_span, measures_of_counters};
pub use curve::Curve;
pub use efficiency::Efficiency;
pub use measures::{LARGE, Measures, Phases};
pub use occupation::{Occupation, Transfer};
pub use recorded::{Messages, Passed};
pub use sites::{DeviceSite, Sites};
pub use steadiness::Steadiness;

use rustc_hash::FxHashSet;

use crate::files::InputError;
use crate::ids::Rank;
use crate::traffic::read::events::matching::Matching;
use crate::traffic::read::events::store::Recording;
use crate::traffic::read::transport::{self, Passage};
use crate::units::BytesPerSecond;
use clocks::Clocks;

/// One direction of a network device.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Direction {
    /// The messages between nodes that pass it, by time.
    pub transfers: Vec<Transfer>,
    /// How they occupy it.
    pub occupation: Occupation,
}

/// A network device over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Device {
    /// Which one.
    pub site: DeviceSite,
    /// Sends.
    pub out: Direction,
    /// Receives.
    pub into: Direction,
}

/// The time line of a run. Times are seconds since MPI started on the first rank.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// The length of the run.
    pub span: f64,
    /// The devices with ranks.
    pub devices: Vec<Device>,
    /// By rank: when it sends to other nodes; disjoint intervals, ascending.
    pub ranks: Vec<Vec<(f64, f64)>>,
    /// By rank: the bytes that it sends to other nodes.
    pub sent: Vec<u64>,
    /// What follows.
    pub measures: Measures,
    /// Whether the traffic between all ranks is steady; `None` without messages.
    pub steadiness: Option<Steadiness>,
    /// The figures of windows of equal length.
    pub efficiency: Vec<Efficiency>,
    /// How often calls were left out, by what they are.
    pub left_out: std::collections::BTreeMap<&'static str, u64>,
}

/// A recorded run whose time lines can be made.
#[derive(Debug)]
pub struct RecordedRun {
    recording: Recording,
    matching: Matching,
    clocks: Clocks,
    /// What ranks handed to the network; empty if that was not recorded.
    passages: Vec<(Rank, Vec<Passage>)>,
}

/// What tells when messages are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendTimes {
    /// The calls of MPI: when messages are handed to the library.
    Mpi,
    /// When bytes are handed to the kernel on TCP connections, or messages to UCX or Open MPI's PML.
    Transport,
}

impl RecordedRun {
    /// Opens a profile with events.
    ///
    /// # Errors
    /// If it cannot be read or has no events, or they are damaged or incomplete.
    pub fn open(profile: &Path) -> Result<Self, InputError> {
        let recording = Recording::open(profile)?;
        let matching = Matching::new(&recording)?;
        let clocks = Clocks::of(&recording)?;
        let passages = transport::read(profile)?;
        Ok(Self { recording, matching, clocks, passages })
    }

    /// The number of ranks.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.recording.ranks()
    }

    /// When MPI started on the first rank, in nanoseconds since 1970 by the clock of rank 0's host.
    #[must_use]
    pub fn first_start(&self) -> i64 {
        self.clocks.first_start()
    }

    /// Whether it was recorded what ranks sent to each other over TCP connections, through UCX or Open MPI's PML.
    #[must_use]
    pub fn has_transport(&self) -> bool {
        self.passages.iter().any(|(_, passages)| !passages.is_empty())
    }

    /// The messages of the run. Collective operations are those of its MPI library for ranks on these
    /// nodes.
    ///
    /// # Errors
    /// If the events are damaged, the clocks of hosts disagree, or there are more than 100 million messages.
    pub fn messages(&self, sites: &Sites) -> Result<Messages, InputError> {
        self.messages_up_to(sites, MOST_MESSAGES)?.ok_or_else(|| {
            let found = format!("a run of more than {MOST_MESSAGES} messages");
            let advice = "record a shorter run, or with `--timeline device` alone";
            self.recording.wrong(found).with_advice(advice)
        })
    }

    /// As `messages`; `None` if there are more than `most`.
    fn messages_up_to(&self, sites: &Sites, most: usize) -> Result<Option<Messages>, InputError> {
        let node = |rank| sites.node(rank);
        Messages::of_calls(&self.recording, &self.matching, &self.clocks, &node, most)
    }

    /// The time line of the run with its ranks on these devices, with the figures of this many windows.
    ///
    /// # Errors
    /// As [`RecordedRun::messages`].
    pub fn timeline(
        &self,
        sites: &Sites,
        times: SendTimes,
        windows: usize,
    ) -> Result<Timeline, InputError> {
        let messages = self.messages(sites)?;
        let span = messages.span;
        let efficiency =
            efficiency::efficiencies(&self.recording, &self.matching, &self.clocks, span, windows)?;
        let passed = match times {
            SendTimes::Mpi => None,
            SendTimes::Transport => Some(Passed::of(&self.passages, &self.clocks, span)),
        };
        Ok(Timeline { efficiency, ..Timeline::new(messages, passed, sites) })
    }
}

/// The most messages of a time line: 48 bytes each.
const MOST_MESSAGES: usize = 100_000_000;

/// The number of calls of a recorded run, over all ranks.
///
/// # Errors
/// If the profile cannot be read or has no events, or they are damaged.
pub fn calls_of(profile: &Path) -> Result<u64, InputError> {
    let recording = Recording::open(profile)?;
    let mut calls = 0;
    for rank in (0..recording.ranks()).map(Rank) {
        calls += recording.stream(rank)?.events();
    }
    Ok(calls)
}

/// Whether the traffic of a recorded run is steady; `None` with very few messages, or if the run has more calls or
/// messages than this: reading them takes about a second for some millions.
///
/// # Errors
/// As [`RecordedRun::open`] and [`RecordedRun::messages`].
pub fn steadiness_of(profile: &Path, most_calls: u64) -> Result<Option<Steadiness>, InputError> {
    if calls_of(profile)? > most_calls {
        return Ok(None);
    }
    let run = RecordedRun::open(profile)?;
    let nodes: Vec<String> = (0..run.ranks()).map(|rank| rank.to_string()).collect();
    let sites = Sites::recorded(&nodes, BytesPerSecond(1.0));
    let most = usize::try_from(most_calls).unwrap_or(usize::MAX);
    let messages = run.messages_up_to(&sites, most)?;
    let messages = messages.filter(|messages| messages.sends.len() >= FEW_SENDS);
    Ok(messages.and_then(|messages| Steadiness::of(&messages.sends, messages.span)))
}

/// With fewer sends nothing can be said of their course.
const FEW_SENDS: usize = 20;

impl Timeline {
    /// The time line of messages between ranks on these devices; `passed` is what really went to the network,
    /// where that is known.
    ///
    /// # Panics
    /// If there are fewer sites than ranks.
    #[must_use]
    pub fn new(messages: Messages, passed: Option<Passed>, sites: &Sites) -> Self {
        let Messages { ranks, span, sends, receives, left_out } = messages;
        let steadiness = Steadiness::of(&sends, span);
        let mut sent = vec![0; ranks as usize];
        for send in sends.iter().filter(|send| leaves(send, sites)) {
            sent[send.process as usize] += send.bytes;
        }
        let large = measures::Large::of(sends.iter().filter(|send| leaves(send, sites)));
        let passed =
            passed.unwrap_or(Passed { sends, receives, told_by_sender: FxHashSet::default() });
        let devices = devices(passed, sites);
        let measures = Measures::of(&devices, span, large);
        let ranks = busy_ranks(&devices, ranks as usize);
        let efficiency = Vec::new();
        Self { span, devices, ranks, sent, measures, steadiness, efficiency, left_out }
    }
}

/// The devices with their transfers. A message that only its sender recorded arrives when the sender's device has
/// sent it.
fn devices(passed: Passed, sites: &Sites) -> Vec<Device> {
    let Passed { sends, mut receives, told_by_sender } = passed;
    let outs = by_device(&sends, sites).into_iter().zip(&sites.devices).map(|(transfers, site)| {
        let occupation = Occupation::of_sends(&transfers, &site.curve, None);
        Direction { transfers, occupation }
    });
    let outs: Vec<Direction> = outs.collect();
    if !told_by_sender.is_empty() {
        for out in &outs {
            for (sent, end) in out.transfers.iter().zip(&out.occupation.other_end) {
                if told_by_sender.contains(&(sent.process, sent.peer)) {
                    let (process, peer) = (sent.peer, sent.process);
                    receives.push(Transfer { time: *end, process, peer, ..*sent });
                }
            }
        }
        receives.sort_by(|a, b| a.time.total_cmp(&b.time));
    }
    let intos = by_device(&receives, sites);
    let device = |((site, out), into): ((&DeviceSite, Direction), Vec<Transfer>)| {
        let occupation = Occupation::of_receives(&into, &site.curve, None);
        Device { site: site.clone(), out, into: Direction { transfers: into, occupation } }
    };
    sites.devices.iter().zip(outs).zip(intos).map(device).collect()
}

impl Device {
    /// Bytes that pass it by bins of time: out of the node, into it.
    #[must_use]
    pub fn bins(&self, bins: &Bins) -> [Bins; 2] {
        let curve = &self.site.curve;
        let out = Occupation::of_sends(&self.out.transfers, curve, Some(bins.clone()));
        let into = Occupation::of_receives(&self.into.transfers, curve, Some(bins.clone()));
        [out, into].map(|occupation| occupation.bins.unwrap_or_else(|| bins.clone()))
    }
}

/// Whether a message passes network devices.
fn leaves(transfer: &Transfer, sites: &Sites) -> bool {
    sites.node(Rank(transfer.process)) != sites.node(Rank(transfer.peer))
}

/// The messages of each device, in their order; ranks with several devices use them in turn.
fn by_device(transfers: &[Transfer], sites: &Sites) -> Vec<Vec<Transfer>> {
    let mut devices = vec![Vec::new(); sites.devices.len()];
    let mut turns = vec![0_usize; sites.ranks()];
    for transfer in transfers.iter().filter(|transfer| leaves(transfer, sites)) {
        let of_rank = sites.devices_of(Rank(transfer.process));
        let turn = &mut turns[transfer.process as usize];
        devices[of_rank[*turn % of_rank.len()] as usize].push(*transfer);
        *turn += 1;
    }
    devices
}

/// When each rank sends to other nodes.
fn busy_ranks(devices: &[Device], ranks: usize) -> Vec<Vec<(f64, f64)>> {
    let mut busy: Vec<Vec<(f64, f64)>> = vec![Vec::new(); ranks];
    for direction in devices.iter().map(|device| &device.out) {
        for (send, end) in direction.transfers.iter().zip(&direction.occupation.other_end) {
            add(&mut busy[send.process as usize], (send.time, *end));
        }
    }
    // With several devices the intervals of one follow those of another.
    busy.iter_mut().for_each(|intervals| *intervals = union(std::mem::take(intervals)));
    busy
}

/// Adds an interval that begins after all others, or joins the last.
fn add(intervals: &mut Vec<(f64, f64)>, (begin, end): (f64, f64)) {
    match intervals.last_mut() {
        Some(last) if last.0 <= begin && begin <= last.1 => last.1 = last.1.max(end),
        _ => intervals.push((begin, end)),
    }
}

/// The union of intervals, disjoint and ascending.
fn union(mut intervals: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    intervals.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut joined = Vec::with_capacity(intervals.len());
    intervals.into_iter().for_each(|interval| add(&mut joined, interval));
    joined
}
