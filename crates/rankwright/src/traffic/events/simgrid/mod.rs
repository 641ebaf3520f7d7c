//! Time-independent traces of [SimGrid], which its SMPI replays (`smpirun -replay`): one file of
//! actions per rank and a list of these files. Checked with SimGrid 3.32; the actions are those of
//! its `smpi_replay.cpp`.
//!
//! All amounts are bytes. Time outside MPI becomes computation on a host of a stated speed; time
//! inside MPI is what the replay finds out. Receives name the source and tag that matched in the
//! run, so that the replay repeats it. Tests and probes are left out: a test that found something is
//! a wait. The format knows neither communicators nor nonblocking collectives: those become
//! messages (`schedule`), and tags of messages on different communicators are kept apart by
//! numbering them anew.
//!
//! [SimGrid]: https://simgrid.org

mod native;
mod schedule;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::matching::Matching;
use super::store::Recording;
use super::{Call, CallClass, Completed, Message, Peer, SendMode};
use crate::files::{self, InputError, WriteError};
use crate::ids::Rank;
use schedule::Phase;

/// The name of the list of files, which `smpirun -replay` is given.
pub const LIST: &str = "ranks.txt";

/// What was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exported {
    /// The list of files.
    pub list: PathBuf,
    /// Actions of all ranks.
    pub actions: u64,
    /// What the format cannot express, and how often it was left out.
    pub left_out: BTreeMap<&'static str, u64>,
}

/// Why there is no trace.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The events are damaged, or not such that they could be replayed.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A file could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Writes the events for hosts that compute `speed` floating-point operations per second. The folder
/// is made if it is missing; the list is written last.
///
/// # Errors
/// If the events are damaged or incomplete, several threads of a rank call MPI, or a file cannot be
/// written.
pub fn export(recording: &Recording, folder: &Path, speed: f64) -> Result<Exported, ExportError> {
    let matching = Matching::of(recording)?;
    let tags = Tags::new(&matching);
    let mut exported = Exported { list: folder.join(LIST), ..Exported::default() };
    files::make_folder(folder)?;
    let mut list = String::new();
    for rank in (0..recording.ranks()).map(Rank) {
        let path = folder.join(format!("rank-{rank}.txt"));
        let mut failed = None;
        let written = files::stream_atomically(&path, |file| {
            let mut writer = Writer::new(recording, &matching, &tags, rank, speed, file);
            match writer.write_rank()? {
                Ok(()) => exported.add(&writer),
                Err(error) => {
                    let why = io::Error::other(error.to_string());
                    failed = Some(error);
                    return Err(why);
                }
            }
            Ok(())
        });
        if let Some(error) = failed {
            return Err(error.into());
        }
        written?;
        list.push_str(&path.display().to_string());
        list.push('\n');
    }
    files::write_atomically(&exported.list, list.as_bytes())?;
    Ok(exported)
}

impl Exported {
    fn add<W: Write>(&mut self, writer: &Writer<'_, W>) {
        self.actions += writer.actions;
        for (what, count) in &writer.left_out {
            *self.left_out.entry(what).or_default() += count;
        }
    }
}

/// Tags that keep the messages of different communicators apart.
struct Tags {
    /// Empty where all messages are on `MPI_COMM_WORLD`: then tags stay as they are.
    numbers: BTreeMap<(usize, i32), i32>,
    /// The tag of the messages of collective operations is this and the communicator's number.
    of_collectives: i32,
}

impl Tags {
    fn new(matching: &Matching) -> Self {
        let largest = matching.tags.iter().map(|(_, tag)| *tag).max().unwrap_or_default();
        let room = i32::try_from(matching.communicators.len()).unwrap_or(i32::MAX);
        let on_world = matching.tags.iter().all(|(communicator, _)| *communicator == 0);
        match largest.checked_add(1).filter(|after| on_world && after.checked_add(room).is_some()) {
            Some(of_collectives) => Self { numbers: BTreeMap::new(), of_collectives },
            None => {
                let numbers: BTreeMap<_, _> = matching.tags.iter().copied().zip(0..).collect();
                let of_collectives = i32::try_from(numbers.len()).unwrap_or(i32::MAX);
                Self { numbers, of_collectives }
            }
        }
    }

    fn of_message(&self, communicator: usize, tag: i32) -> i32 {
        self.numbers.get(&(communicator, tag)).copied().unwrap_or(tag)
    }

    fn of_collectives(&self, communicator: usize) -> i32 {
        self.of_collectives.saturating_add(i32::try_from(communicator).unwrap_or(i32::MAX))
    }
}

/// What a wait names: source, destination, tag.
type Wait = (Rank, Rank, i32);

/// A message with its communicator and wildcards resolved.
#[derive(Debug, Clone, Copy)]
struct Resolved {
    peer: Rank,
    tag: i32,
    bytes: u64,
}

/// Writes the actions of one rank.
struct Writer<'a, W> {
    recording: &'a Recording,
    matching: &'a Matching,
    tags: &'a Tags,
    rank: Rank,
    speed: f64,
    file: W,
    /// Operations to compute before the next action.
    flops: f64,
    /// What came for the receives that were posted.
    received: HashMap<u64, Completed>,
    /// What the completion of a request waits for.
    waits: HashMap<u64, Vec<Wait>>,
    /// How many collective operations were called on each communicator.
    collectives: HashMap<usize, usize>,
    actions: u64,
    left_out: BTreeMap<&'static str, u64>,
}

/// A failure to write, or what is wrong with the events.
type Written<T = ()> = io::Result<Result<T, InputError>>;

impl<'a, W: Write> Writer<'a, W> {
    fn new(
        recording: &'a Recording,
        matching: &'a Matching,
        tags: &'a Tags,
        rank: Rank,
        speed: f64,
        file: W,
    ) -> Self {
        Self {
            recording,
            matching,
            tags,
            rank,
            speed,
            file,
            flops: 0.0,
            received: HashMap::new(),
            waits: HashMap::new(),
            collectives: HashMap::new(),
            actions: 0,
            left_out: BTreeMap::new(),
        }
    }

    fn write_rank(&mut self) -> Written {
        if let Err(error) = self.look_ahead() {
            return Ok(Err(error));
        }
        let stream = match self.recording.stream(self.rank) {
            Ok(stream) => stream,
            Err(error) => return Ok(Err(error)),
        };
        self.action(format_args!("init"))?;
        for event in stream {
            let event = match event {
                Ok(event) => event,
                Err(error) => return Ok(Err(error)),
            };
            self.flops += event.gap.0 * self.speed;
            if let Call::Polls { inside, .. } = event.call {
                self.flops += (event.duration.0 - inside.0).max(0.0) * self.speed;
            }
            if let Err(found) = self.write_call(event.call)? {
                return Ok(Err(self.recording.wrong(found)));
            }
        }
        self.action(format_args!("finalize"))?;
        Ok(Ok(()))
    }

    /// What the receives get is known only when they complete.
    fn look_ahead(&mut self) -> Result<(), InputError> {
        let stream = self.recording.stream(self.rank)?;
        let rank = self.rank;
        if !stream.is_whole() {
            let found = format!("events of rank {rank} that end before MPI_Finalize");
            return Err(self.recording.wrong(found).with_advice("a cut run cannot be replayed"));
        }
        for event in stream {
            let event = event?;
            if event.thread > 0 {
                let found = format!("MPI calls of several threads on rank {rank}");
                let advice = "SimGrid's format knows one thread per rank";
                return Err(self.recording.wrong(found).with_advice(advice));
            }
            if let Call::Completion { completed, .. } = event.call {
                let told = completed.into_iter().filter(|c| c.cancelled || c.received.is_some());
                self.received.extend(told.map(|completed| (completed.request, completed)));
            }
        }
        Ok(())
    }

    fn write_call(&mut self, call: Call) -> io::Result<Result<(), String>> {
        match call {
            Call::Send { message, mode, request, .. } => {
                let cancelled = |request| self.received.get(&request).is_some_and(|c| c.cancelled);
                if !request.is_some_and(cancelled) {
                    return self.send(message, mode, request);
                }
            }
            Call::Receive { message, .. } => {
                if let Some(message) = self.resolve(message) {
                    return self.transfer("recv", message);
                }
            }
            Call::PostedReceive { message, request, .. } => {
                if let Some(message) = self.resolve_posted(message, request) {
                    return self.post("irecv", message, Some(request));
                }
            }
            Call::SendReceive { send, receive, request, .. } => {
                return self.send_receive(send, receive, request);
            }
            Call::Completion { completed, .. } => {
                for completed in completed {
                    self.wait_for(completed.request)?;
                }
            }
            Call::Collective { communicator, request, .. } => {
                return self
                    .collective(self.matching.communicator(self.rank, communicator), request);
            }
            Call::Other(CallClass::OneSided) => self.leave_out("one-sided calls"),
            Call::Free { request } => drop(self.waits.remove(&request)),
            Call::Polls { .. } | Call::Probe(_) | Call::Creation { .. } | Call::Other(_) => {}
        }
        Ok(Ok(()))
    }

    fn send(
        &mut self,
        message: Message,
        mode: SendMode,
        request: Option<u64>,
    ) -> io::Result<Result<(), String>> {
        let Some(message) = self.resolve(message) else { return Ok(Ok(())) };
        match (request, mode) {
            (Some(_), _) => self.post("isend", message, request),
            // It is over when the message is copied: nothing waits for it.
            (None, SendMode::Buffered) => self.post("isend", message, None),
            (None, _) => self.transfer("send", message),
        }
    }

    fn send_receive(
        &mut self,
        send: Message,
        receive: Message,
        request: Option<u64>,
    ) -> io::Result<Result<(), String>> {
        let receive = match request {
            Some(request) => self.resolve_posted(receive, request),
            None => self.resolve(receive),
        };
        let messages = [("irecv", receive), ("isend", self.resolve(send))];
        let mut waits = Vec::new();
        for (name, message) in messages {
            let Some(message) = message else { continue };
            if let Err(found) = self.post(name, message, None)? {
                return Ok(Err(found));
            }
            waits.push(self.wait_of(name, message));
        }
        self.wait_now_or_later(waits, request).map(Ok)
    }

    fn collective(
        &mut self,
        communicator: usize,
        request: Option<u64>,
    ) -> io::Result<Result<(), String>> {
        let matching = self.matching;
        let number = self.collectives.entry(communicator).or_default();
        let collective = &matching.collectives(communicator)[*number];
        *number += 1;
        if communicator == 0 && !collective.nonblocking {
            let action = native::action(collective, self.recording.ranks(), self.rank);
            if let Some(action) = action {
                return self.action(format_args!("{action}")).map(Ok);
            }
        }
        let identity = &matching.communicators[communicator];
        let tag = self.tags.of_collectives(communicator);
        let mut later = Vec::new();
        for phase in schedule::phases(collective, identity, self.rank) {
            let waits = match self.phase(&phase, tag)? {
                Ok(waits) => waits,
                Err(found) => return Ok(Err(found)),
            };
            match request {
                Some(_) => later.extend(waits),
                None => self.wait_now_or_later(waits, None)?,
            }
        }
        self.wait_now_or_later(later, request).map(Ok)
    }

    fn phase(&mut self, phase: &Phase, tag: i32) -> io::Result<Result<Vec<Wait>, String>> {
        let receives = phase.receives.iter().map(|message| ("irecv", message));
        let sends = phase.sends.iter().map(|message| ("isend", message));
        let mut waits = Vec::new();
        for (name, &(peer, bytes)) in receives.chain(sends) {
            let message = Resolved { peer, tag, bytes };
            if let Err(found) = self.post(name, message, None)? {
                return Ok(Err(found));
            }
            waits.push(self.wait_of(name, message));
        }
        Ok(Ok(waits))
    }

    /// A message of which both sides are ranks of the job.
    fn resolve(&mut self, message: Message) -> Option<Resolved> {
        let communicator = self.matching.communicator(self.rank, message.communicator);
        let tag = self.tags.of_message(communicator, message.tag);
        match message.peer {
            Peer::Rank(peer) => Some(Resolved { peer, tag, bytes: message.bytes }),
            Peer::Outside => {
                self.leave_out("messages from or to processes outside the job");
                None
            }
            Peer::None | Peer::Any => None,
        }
    }

    /// A receive with what came; none if nothing ever did.
    fn resolve_posted(&mut self, message: Message, request: u64) -> Option<Resolved> {
        let (peer, tag, bytes) = self.received.get(&request)?.received?;
        self.resolve(Message { peer, tag, bytes, ..message })
    }

    fn wait_of(&self, name: &str, message: Resolved) -> Wait {
        match name {
            "isend" => (self.rank, message.peer, message.tag),
            _ => (message.peer, self.rank, message.tag),
        }
    }

    fn transfer(&mut self, name: &str, message: Resolved) -> io::Result<Result<(), String>> {
        let Resolved { peer, tag, bytes } = message;
        if bytes > native::LARGEST {
            return Ok(Err(format!("a message of {bytes} bytes; SimGrid counts them in 32 bits")));
        }
        self.action(format_args!("{name} {peer} {tag} {bytes}")).map(Ok)
    }

    /// A message that goes on; `request` waits for it.
    fn post(
        &mut self,
        name: &str,
        message: Resolved,
        request: Option<u64>,
    ) -> io::Result<Result<(), String>> {
        if let Some(request) = request {
            self.waits.insert(request, vec![self.wait_of(name, message)]);
        }
        self.transfer(name, message)
    }

    fn wait_now_or_later(&mut self, waits: Vec<Wait>, request: Option<u64>) -> io::Result<()> {
        if let Some(request) = request {
            self.waits.insert(request, waits);
            return Ok(());
        }
        waits.into_iter().try_for_each(|wait| self.wait(wait))
    }

    fn wait_for(&mut self, request: u64) -> io::Result<()> {
        let waits = self.waits.remove(&request).unwrap_or_default();
        waits.into_iter().try_for_each(|wait| self.wait(wait))
    }

    fn wait(&mut self, (source, destination, tag): Wait) -> io::Result<()> {
        self.action(format_args!("wait {source} {destination} {tag}"))
    }

    fn leave_out(&mut self, what: &'static str) {
        *self.left_out.entry(what).or_default() += 1;
    }

    /// The action, after what was computed before it.
    fn action(&mut self, action: std::fmt::Arguments<'_>) -> io::Result<()> {
        if self.flops >= 1.0 {
            writeln!(self.file, "{} compute {:.0}", self.rank, self.flops.floor())?;
            self.flops = self.flops.fract();
            self.actions += 1;
        }
        self.actions += 1;
        writeln!(self.file, "{} {action}", self.rank)
    }
}
