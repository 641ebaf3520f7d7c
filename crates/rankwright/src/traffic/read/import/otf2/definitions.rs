//! Definitions that events refer to by id: processes and their hosts, communicators, windows,
//! regions.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::date;
use super::line::{Line, leading_number, name, reference, split};
use crate::ids::Rank;
use crate::traffic::read::import::MOST_RANKS;
use crate::traffic::read::import::mpi_functions::Call;

/// The definitions of an archive.
#[derive(Default)]
pub(super) struct Definitions {
    /// Writer of the archive, such as `Score-P 7.1`; empty if unknown.
    pub(super) creator: String,
    /// Whether the writer states that messages are missing.
    pub(super) incomplete: bool,
    pub(super) ticks_per_second: f64,
    /// First tick of the trace.
    begin: u64,
    /// Time of `begin`, in nanoseconds since 1970.
    date: Option<i64>,
    tree: HashMap<u64, TreeNode>,
    /// System tree node of each process.
    processes: HashMap<u64, Option<u64>>,
    pub(super) locations: BTreeMap<u64, Location>,
    /// Location that called `MPI_Init`, by world rank.
    world: Vec<u64>,
    groups: HashMap<u64, Group>,
    pub(super) communicators: BTreeMap<u64, Communicator>,
    windows: HashMap<u64, u64>,
    calls: HashMap<u64, Call>,
    /// Communication paradigms, by name.
    paradigms: BTreeSet<String>,
    /// Property of the anchor file whose value is on the next line.
    property: String,
}

/// A thread, or another stream of events.
pub(super) struct Location {
    process: Option<u64>,
    /// Number of events.
    pub(super) events: u64,
    /// World rank of its process.
    pub(super) rank: Option<Rank>,
}

/// A node of the system tree: a host, a part of one, or a set of hosts.
struct TreeNode {
    name: String,
    class: String,
    parent: Option<u64>,
}

/// A group of a communicator.
enum Group {
    Ranks(Vec<Rank>),
    /// Each rank on its own, as in `MPI_COMM_SELF`.
    Itself,
}

/// A communicator.
pub(super) struct Communicator {
    pub(super) name: String,
    group: u64,
    /// Second group of an intercommunicator, by id.
    remote: Option<u64>,
}

/// The groups of a communicator from the point of view of one member.
pub(super) enum Members<'a> {
    Itself,
    Ranks { mine: &'a [Rank], other: Option<&'a [Rank]> },
}

impl Definitions {
    /// Reads a line of the anchor file.
    pub(super) fn anchor_line(&mut self, text: &str) {
        let value = |title: &str| text.strip_prefix(title).map(|value| value.trim().to_owned());
        if let Some(creator) = value("Creator ") {
            self.creator = creator;
        } else if let Some(property) = value("Property name ") {
            self.property = property;
        } else if let Some(value) = value("Property value ") {
            self.incomplete |=
                self.property == "OTF2::MPI_COMMUNICATION_COMPLETE" && value == "false";
        }
    }

    /// Adds a definition. The error says what was found.
    pub(super) fn add(&mut self, line: &Line<'_>) -> Result<(), String> {
        let taken = match line.record {
            "CLOCK_PROPERTIES" => self.clock(line),
            "SYSTEM_TREE_NODE" => self.tree_node(line),
            "LOCATION_GROUP" => self.process(line),
            "LOCATION" => self.location(line),
            "GROUP" => self.group(line),
            "COMM" => self.communicator(line),
            "INTER_COMM" => self.intercommunicator(line),
            "RMA_WIN" => self.window(line),
            "REGION" => self.region(line),
            _ => Some(()),
        };
        let id = line.id.unwrap_or_default();
        taken.ok_or_else(|| format!("a definition {} {id} with `{}`", line.record, line.attributes))
    }

    /// Resolves references between definitions.
    pub(super) fn finish(&mut self) -> Result<(), String> {
        if self.world.is_empty() {
            let paradigms: Vec<&str> = self.paradigms.iter().map(String::as_str).collect();
            return Err(match paradigms.is_empty() {
                true => "no communication".to_owned(),
                false => format!("no MPI, but {}", paradigms.join(", ")),
            });
        }
        if self.world.len() > MOST_RANKS as usize {
            return Err(format!("{} ranks", self.world.len()));
        }
        if self.ticks_per_second < 1.0 {
            return Err("a clock with less than 1 tick per second".to_owned());
        }
        let mut ranks = HashMap::new();
        for (index, location) in self.world.iter().enumerate() {
            let entry = self.locations.get(location);
            let entry = entry.ok_or_else(|| format!("rank {index} at no location ({location})"))?;
            ranks.insert(entry.process, Rank::from_index(index));
        }
        for location in self.locations.values_mut() {
            location.rank = location.process.and_then(|_| ranks.get(&location.process).copied());
        }
        for (id, Communicator { name, group, remote }) in &self.communicators {
            for group in [Some(*group), *remote].into_iter().flatten() {
                if !self.groups.contains_key(&group) {
                    return Err(format!("communicator {id} (`{name}`) of no group ({group})"));
                }
            }
        }
        Ok(())
    }

    fn clock(&mut self, line: &Line<'_>) -> Option<()> {
        let (rest, date) = line.split("Date").unwrap_or((line.attributes, "UNDEFINED"));
        self.date = date::unix_ns(date);
        self.begin = leading_number(split(rest, "Global Offset")?.1)?;
        let ticks = leading_number(split(rest, "Ticks per Seconds")?.1)?;
        self.ticks_per_second = ticks as f64;
        Some(())
    }

    fn tree_node(&mut self, line: &Line<'_>) -> Option<()> {
        let (rest, parent) = line.split("Parent")?;
        let (rest, class) = split(rest, "Class")?;
        let node = TreeNode {
            name: name(split(rest, "Name")?.1).to_owned(),
            class: name(class).to_owned(),
            parent: reference(parent),
        };
        self.tree.insert(line.id?, node);
        Some(())
    }

    fn process(&mut self, line: &Line<'_>) -> Option<()> {
        let (rest, _) = line.split("Creator").unwrap_or((line.attributes, ""));
        self.processes.insert(line.id?, reference(split(rest, "Parent")?.1));
        Some(())
    }

    fn location(&mut self, line: &Line<'_>) -> Option<()> {
        let (rest, process) = line.split("Group")?;
        let events = leading_number(split(rest, "# Events")?.1)?;
        let location = Location { process: reference(process), events, rank: None };
        self.locations.insert(line.id?, location);
        Some(())
    }

    fn group(&mut self, line: &Line<'_>) -> Option<()> {
        let (rest, members) = line.split("Flags")?;
        let (rest, paradigm) = split(rest, "Paradigm")?;
        let kind = split(rest, "Type")?.1;
        if !kind.starts_with("COMM_") {
            return Some(());
        }
        self.paradigms.insert(name(paradigm).to_owned());
        if name(paradigm) != "MPI" {
            return Some(());
        }
        let (count, members) = members.rsplit_once(" Member").map_or((members, ""), |_| {
            let place = members.find(" Member").unwrap_or_default();
            (&members[..place], &members[place..])
        });
        let count: usize = count.rsplit_once(' ')?.1.parse().ok()?;
        let members = members.split_once(": ").map_or("", |(_, members)| members);
        match kind {
            "COMM_LOCATIONS" => self.world = locations(members, count)?,
            "COMM_SELF" => {
                self.groups.insert(line.id?, Group::Itself);
            }
            _ => {
                let ranks = ranks(members, count)?;
                let exist = ranks.iter().all(|rank| rank.index() < self.world.len());
                self.groups.insert(line.id?, Group::Ranks(exist.then_some(ranks)?));
            }
        }
        Some(())
    }

    fn communicator(&mut self, line: &Line<'_>) -> Option<()> {
        let (rest, _) = line.split("Parent")?;
        let (rest, group) = split(rest, "Group")?;
        let name = name(split(rest, "Name")?.1).to_owned();
        // A communicator of another paradigm if its group is unknown; no MPI event refers to it.
        let group = reference(group)?;
        if self.groups.contains_key(&group) {
            self.communicators.insert(line.id?, Communicator { name, group, remote: None });
        }
        Some(())
    }

    fn intercommunicator(&mut self, line: &Line<'_>) -> Option<()> {
        let (rest, _) = line.split("Common Communicator")?;
        let (rest, remote) = split(rest, "Group B")?;
        let (rest, group) = split(rest, "Group A")?;
        let name = name(split(rest, "name").or_else(|| split(rest, "Name"))?.1).to_owned();
        let (group, remote) = (reference(group)?, Some(reference(remote)?));
        self.communicators.insert(line.id?, Communicator { name, group, remote });
        Some(())
    }

    fn window(&mut self, line: &Line<'_>) -> Option<()> {
        let (rest, _) = line.split("Flags").unwrap_or((line.attributes, ""));
        self.windows.insert(line.id?, reference(split(rest, "Communicator")?.1)?);
        Some(())
    }

    fn region(&mut self, line: &Line<'_>) -> Option<()> {
        let (rest, paradigm) = line.split("Paradigm")?;
        let paradigm = paradigm.split_once(", ").map_or(paradigm, |(paradigm, _)| paradigm);
        if name(paradigm) == "MPI" {
            let called = split(rest, "Name")?.1;
            let called = called.split_once(" (Aka. ").map_or(called, |(called, _)| called);
            self.calls.insert(line.id?, Call::named(name(called)));
        }
        Some(())
    }

    /// Number of ranks.
    pub(super) fn world_size(&self) -> usize {
        self.world.len()
    }

    /// Class of the MPI function of a region.
    pub(super) fn call(&self, region: u64) -> Option<Call> {
        self.calls.get(&region).copied()
    }

    /// Whether a communicator consists of all ranks in order.
    pub(super) fn is_world(&self, communicator: &Communicator) -> bool {
        let Some(Group::Ranks(ranks)) = self.groups.get(&communicator.group) else { return false };
        communicator.remote.is_none()
            && ranks.len() == self.world.len()
            && ranks.iter().enumerate().all(|(index, rank)| rank.index() == index)
    }

    /// The two groups of a communicator; the second is empty for an intracommunicator. `None` for
    /// `MPI_COMM_SELF`.
    pub(super) fn groups_of(&self, communicator: &Communicator) -> Option<(&[Rank], &[Rank])> {
        let ranks = |group: u64| match self.groups.get(&group) {
            Some(Group::Ranks(ranks)) => Some(ranks.as_slice()),
            _ => None,
        };
        Some((ranks(communicator.group)?, communicator.remote.map_or(Some(&[][..]), ranks)?))
    }

    /// The groups of a communicator from the point of view of `rank`. The error says what was
    /// found.
    pub(super) fn members(&self, id: Option<u64>, rank: Rank) -> Result<Members<'_>, String> {
        let communicator = id.and_then(|id| self.communicators.get(&id));
        let communicator = communicator.ok_or_else(|| match id {
            Some(id) => format!("communicator {id}, which the definitions do not have"),
            None => "no communicator".to_owned(),
        })?;
        let Some((first, second)) = self.groups_of(communicator) else {
            return Ok(Members::Itself);
        };
        Ok(match communicator.remote {
            None => Members::Ranks { mine: first, other: None },
            Some(_) if second.contains(&rank) && !first.contains(&rank) => {
                Members::Ranks { mine: second, other: Some(first) }
            }
            Some(_) => Members::Ranks { mine: first, other: Some(second) },
        })
    }

    /// The communicator of a window.
    pub(super) fn communicator_of_window(&self, window: Option<u64>) -> Result<u64, String> {
        let communicator = window.and_then(|window| self.windows.get(&window).copied());
        communicator.ok_or_else(|| match window {
            Some(window) => format!("window {window}, which the definitions do not have"),
            None => "no window".to_owned(),
        })
    }

    /// Host of each rank; empty if unknown.
    pub(super) fn hosts(&self) -> Vec<String> {
        let host = |location: &u64| {
            let process = self.locations.get(location)?.process?;
            let lowest = self.processes.get(&process).copied().flatten()?;
            let mut place = Some(lowest);
            // Depth limit, which also ends a cycle.
            for _ in 0..64 {
                let node = self.tree.get(&place?)?;
                if node.class == "node" {
                    return Some(node.name.clone());
                }
                place = node.parent;
                if place.is_none() {
                    break;
                }
            }
            self.tree.get(&lowest).map(|node| node.name.clone())
        };
        self.world.iter().map(|location| host(location).unwrap_or_default()).collect()
    }

    /// Converts a tick to nanoseconds since 1970; 0 if the trace has no date.
    pub(super) fn unix_ns(&self, ticks: u64) -> i64 {
        let since = self.seconds(ticks.saturating_sub(self.begin)) * 1e9;
        self.date.map_or(0, |date| date.saturating_add(since as i64))
    }

    /// Converts a number of ticks to seconds.
    pub(super) fn seconds(&self, ticks: u64) -> f64 {
        ticks as f64 / self.ticks_per_second
    }
}

impl Members<'_> {
    /// World rank of the member at `position`, seen from `rank`, as a destination or root.
    pub(super) fn partner(&self, position: Option<u64>, rank: Rank) -> Option<Rank> {
        let position = usize::try_from(position?).ok()?;
        match self {
            Self::Itself => (position == 0).then_some(rank),
            Self::Ranks { mine, other } => other.unwrap_or(mine).get(position).copied(),
        }
    }
}

/// Parses `"Master thread" <4>, "Master thread" <3>`.
fn locations(mut text: &str, count: usize) -> Option<Vec<u64>> {
    let mut locations = Vec::new();
    while !text.is_empty() {
        let end = text.find(">, \"").map_or(text.len(), |place| place + 1);
        locations.push(reference(&text[..end])?);
        text = text[end..].strip_prefix(", ").unwrap_or_default();
    }
    (locations.len() == count).then_some(locations)
}

/// Parses `0 ("Master thread" <4>), 3 ("Master thread" <3>)`.
fn ranks(mut text: &str, count: usize) -> Option<Vec<Rank>> {
    const BETWEEN: &str = "), ";
    let mut ranks = Vec::new();
    while !text.is_empty() {
        ranks.push(Rank(u32::try_from(leading_number(text)?).ok()?));
        let next = text.match_indices(BETWEEN).find(|(place, _)| {
            let after = &text[place + BETWEEN.len()..];
            text[..*place].ends_with('>') && after.starts_with(|c: char| c.is_ascii_digit())
        });
        text = next.map_or("", |(place, _)| &text[place + BETWEEN.len()..]);
    }
    (ranks.len() == count).then_some(ranks)
}
