//! Turns events into a profile.

use std::collections::{BTreeMap, HashMap};

use super::collectives::{Collectives, Span};
use super::definitions::Definitions;
use super::line::{Line, leading_number, name, reference, split};
use super::pairs::Pairs;
use crate::ids::Rank;
use crate::traffic::profile::{FlowKind, Profile, RankRecord, Run, TimeInMpi};
use crate::traffic::read::import::mpi_functions::Call;
use crate::units::Seconds;

/// State after the events read so far.
pub(super) struct Events<'a> {
    definitions: &'a Definitions,
    /// File name of the program; empty until an event has it.
    program: String,
    ranks: Vec<RankEvents>,
    threads: BTreeMap<u64, Thread>,
    pairs: Pairs,
    collectives: Collectives,
}

/// Times of a rank, in ticks.
#[derive(Default, Clone)]
struct RankEvents {
    first: Option<u64>,
    last: u64,
    /// Ticks at the end of `MPI_Init` and the start of `MPI_Finalize`.
    initialised: Option<u64>,
    finalised: Option<u64>,
    point_to_point: InMpi,
    wait: InMpi,
    collective: InMpi,
    one_sided: InMpi,
    other: InMpi,
}

#[derive(Default, Clone, Copy)]
struct InMpi {
    calls: u64,
    ticks: u64,
}

/// State of a location.
#[derive(Default)]
struct Thread {
    rank: Option<Rank>,
    /// Number of events read.
    events: u64,
    /// Nesting depth of MPI functions, the outermost one, and its start.
    depth: u32,
    outermost: Option<Call>,
    since: u64,
    /// Start of the current collective operation, in ticks.
    collective: Option<u64>,
    /// Start of each incomplete nonblocking collective operation, in ticks, by request.
    open: HashMap<u64, u64>,
}

impl<'a> Events<'a> {
    pub(super) fn new(definitions: &'a Definitions) -> Self {
        let thread = |(id, location): (&u64, &super::definitions::Location)| {
            (*id, Thread { rank: location.rank, ..Thread::default() })
        };
        Self {
            definitions,
            program: String::new(),
            ranks: vec![RankEvents::default(); definitions.world_size()],
            threads: definitions.locations.iter().map(thread).collect(),
            pairs: Pairs::default(),
            collectives: Collectives::default(),
        }
    }

    /// Adds the next event. The error says what was found.
    pub(super) fn add(&mut self, line: &Line<'_>) -> Result<(), String> {
        let location = line.id.unwrap_or_default();
        let thread = self.threads.get_mut(&location).ok_or_else(|| {
            format!("an event of location {location}, which the definitions do not have")
        })?;
        thread.events += 1;
        let Some(rank) = thread.rank else { return Ok(()) };
        let times = &mut self.ranks[rank.index()];
        times.first.get_or_insert(line.ticks);
        times.last = times.last.max(line.ticks);
        match line.record {
            "ENTER" | "LEAVE" => {
                let region = line.split("Region").and_then(|(_, region)| reference(region));
                if let Some(call) = region.and_then(|region| self.definitions.call(region)) {
                    match line.record {
                        "ENTER" => thread.enter(call, line.ticks, times),
                        _ => thread.leave(call, line.ticks, times),
                    }
                }
                Ok(())
            }
            "MPI_SEND" | "MPI_ISEND" => self.message(line, rank),
            "RMA_PUT" | "RMA_GET" | "RMA_ATOMIC" => self.one_sided(line, rank),
            "MPI_COLLECTIVE_BEGIN" => {
                thread.collective = Some(line.ticks);
                Ok(())
            }
            "MPI_COLLECTIVE_END" => {
                let begin = thread.collective.take().unwrap_or(line.ticks);
                let inside = line.ticks.saturating_sub(begin);
                let span = Span { begin, inside, nonblocking: false };
                self.collectives.add(self.definitions, line, rank, &span)
            }
            "NON_BLOCKING_COLLECTIVE_REQUEST" => {
                thread.open.extend(request(line).map(|request| (request, line.ticks)));
                Ok(())
            }
            "NON_BLOCKING_COLLECTIVE_COMPLETE" => {
                let begin = request(line).and_then(|request| thread.open.remove(&request));
                let begin = begin.unwrap_or(line.ticks);
                let span = Span { begin, inside: 0, nonblocking: true };
                self.collectives.add(self.definitions, line, rank, &span)
            }
            "PROGRAM_BEGIN" if self.program.is_empty() => {
                let (rest, _) = line.attributes.rsplit_once(", ").unwrap_or((line.attributes, ""));
                let path = split(rest, "Name").map_or("", |(_, path)| name(path));
                path.rsplit('/').next().unwrap_or_default().clone_into(&mut self.program);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn message(&mut self, line: &Line<'_>, rank: Rank) -> Result<(), String> {
        let attributes = || {
            let (rest, length) = line.split("Length")?;
            let (rest, communicator) = split(split(rest, "Tag")?.0, "Communicator")?;
            Some((split(rest, "Receiver")?.1, communicator, leading_number(length)?))
        };
        let (receiver, communicator, length) = attributes().ok_or_else(|| broken(line))?;
        let destination = self.partner(reference(communicator), receiver, rank)?;
        self.pairs.add(FlowKind::PointToPoint, (rank, destination), length, line.ticks);
        Ok(())
    }

    fn one_sided(&mut self, line: &Line<'_>, rank: Rank) -> Result<(), String> {
        let amounts = |rest| -> Option<(&str, u64, u64)> {
            if line.record == "RMA_ATOMIC" {
                let (rest, received) = split(rest, "Received")?;
                let (rest, sent) = split(rest, "Sent")?;
                let rest = split(rest, "Type")?.0;
                return Some((rest, leading_number(sent)?, leading_number(received)?));
            }
            let (rest, bytes) = split(rest, "Bytes")?;
            let bytes = leading_number(bytes)?;
            Some(if line.record == "RMA_PUT" { (rest, bytes, 0) } else { (rest, 0, bytes) })
        };
        let attributes = || {
            let (rest, sent, received) = amounts(line.split("Matching")?.0)?;
            let (rest, remote) = split(rest, "Remote")?;
            Some((split(rest, "Window")?.1, remote, sent, received))
        };
        let (window, remote, sent, received) = attributes().ok_or_else(|| broken(line))?;
        let communicator = self.definitions.communicator_of_window(reference(window));
        let communicator = communicator.map_err(|found| format!("{} to {found}", line.record))?;
        let target = self.partner(Some(communicator), remote, rank)?;
        if sent > 0 || line.record == "RMA_PUT" {
            self.pairs.add(FlowKind::Put, (rank, target), sent, line.ticks);
        }
        if received > 0 || line.record == "RMA_GET" {
            self.pairs.add(FlowKind::Get, (target, rank), received, line.ticks);
        }
        Ok(())
    }

    /// World rank of a rank in a communicator.
    fn partner(&self, communicator: Option<u64>, text: &str, rank: Rank) -> Result<Rank, String> {
        let members = self.definitions.members(communicator, rank);
        let members = members.map_err(|found| format!("a message of rank {rank} in {found}"))?;
        members.partner(leading_number(text), rank).ok_or_else(|| {
            let communicator = communicator.unwrap_or_default();
            let name = &self.definitions.communicators[&communicator].name;
            format!(
                "a message of rank {rank} to {text} in communicator {communicator} (`{name}`), which \
                 has no such rank"
            )
        })
    }

    /// The profile; `name` is the program's name if no event has it. The error says what was found.
    pub(super) fn finish(self, name: &str) -> Result<Profile, String> {
        for (id, location) in &self.definitions.locations {
            let seen = self.threads[id].events;
            if seen < location.events {
                let events = location.events;
                return Err(format!(
                    "{seen} of the {events} events of location {id}: it was cut off"
                ));
            }
        }
        let definitions = self.definitions;
        let seconds = |ticks: u64| Seconds(definitions.seconds(ticks));
        let starts: Vec<u64> = self.ranks.iter().map(RankEvents::start).collect();
        let since_start =
            |rank: Rank, ticks: u64| seconds(ticks.saturating_sub(starts[rank.index()]));
        let in_mpi = |sum: InMpi| TimeInMpi {
            calls: sum.calls,
            time: Seconds(definitions.seconds(sum.ticks)),
        };
        let record = |(host, times): (String, &RankEvents)| RankRecord {
            host,
            start_unix_ns: definitions.unix_ns(times.start()),
            wall: seconds(times.finalised.unwrap_or(times.last).saturating_sub(times.start())),
            point_to_point: in_mpi(times.point_to_point),
            wait: in_mpi(times.wait),
            collective: in_mpi(times.collective),
            one_sided: in_mpi(times.one_sided),
            other: in_mpi(times.other),
            ..RankRecord::default()
        };
        let ranks = definitions.hosts().into_iter().zip(&self.ranks).map(record).collect();
        let flows =
            self.pairs.flows(since_start, |ticks| Seconds(ticks / definitions.ticks_per_second));
        let (collectives, communicators) =
            self.collectives.finish(definitions, |rank, ticks| since_start(rank, ticks).0);
        let program = if self.program.is_empty() { name.to_owned() } else { self.program };
        let run = Run { program, origin: origin(definitions), ..Run::default() };
        Ok(Profile { run, ranks, communicators, flows, collectives, ..Profile::default() })
    }
}

impl RankEvents {
    /// Start of MPI, or the first event if that was not recorded.
    fn start(&self) -> u64 {
        self.initialised.or(self.first).unwrap_or_default()
    }
}

impl Thread {
    fn enter(&mut self, call: Call, ticks: u64, times: &mut RankEvents) {
        if self.depth == 0 {
            (self.outermost, self.since) = (Some(call), ticks);
            if call == Call::Finalize {
                times.finalised = Some(ticks);
            }
        }
        self.depth += 1;
    }

    fn leave(&mut self, call: Call, ticks: u64, times: &mut RankEvents) {
        self.depth = self.depth.saturating_sub(1);
        let Some(outermost) = self.outermost.filter(|_| self.depth == 0) else { return };
        self.outermost = None;
        let sum = match outermost {
            Call::Init if call == Call::Init => {
                times.initialised = Some(ticks);
                return;
            }
            Call::Init | Call::Finalize => return,
            Call::PointToPoint => &mut times.point_to_point,
            Call::Wait => &mut times.wait,
            Call::Collective => &mut times.collective,
            Call::OneSided => &mut times.one_sided,
            Call::Other => &mut times.other,
        };
        // Calls before the start of MPI are only queries such as MPI_Initialized.
        sum.calls += 1;
        sum.ticks = sum.ticks.saturating_add(ticks.saturating_sub(self.since));
    }
}

fn request(line: &Line<'_>) -> Option<u64> {
    leading_number(line.split("Request")?.1)
}

fn origin(definitions: &Definitions) -> String {
    let writer = match definitions.creator.as_str() {
        "" => String::new(),
        creator => format!(" ({creator})"),
    };
    let left_out = if definitions.incomplete { ", which left out messages" } else { "" };
    format!("imported from otf2{writer}{left_out}")
}

fn broken(line: &Line<'_>) -> String {
    format!("{} with `{}`", line.record, line.attributes)
}
