//! `--map-by`, `--rank-by`, `--bind-to`, `-N` and the like of Open MPI for whole hosts, and its default without
//! them. Follows what 4.1.4 and 5.0.11 do on invented hosts.

mod five;
mod four;
mod number;
mod options;
mod parts;
mod policy;

use super::slot_list::Version;
use crate::cluster::Machine;
use crate::lint::{Arguments, PUS_UNKNOWN, Place, Reading, traps};
use crate::units::counted;
use parts::{Resource, Topology};
use policy::{Map, Policy, RankBy};

pub(in crate::lint) use options::has_own;
pub(in crate::lint) use policy::Unread;

/// A host with its slots.
pub(in crate::lint) struct Host<'a> {
    pub(in crate::lint) name: &'a str,
    pub(in crate::lint) slots: usize,
    pub(in crate::lint) line: usize,
    pub(in crate::lint) machine: Option<&'a Machine>,
}

/// Where the ranks of one host are, in the order in which they are mapped.
#[derive(Debug)]
struct HostPlan {
    places: Vec<Place>,
}

/// Where all ranks are.
#[derive(Debug, Default)]
struct Plan {
    hosts: Vec<HostPlan>,
    /// Host and position on it of every rank.
    order: number::Order,
    /// What ranks are bound to, `None` if to nothing.
    unit: Option<Resource>,
    /// Why mpirun ends.
    refusal: Option<String>,
    /// The number of ranks that are mapped; 5.0 can map more than it is to start.
    mapped: usize,
}

/// How ranks are mapped, numbered and bound.
#[derive(Debug)]
pub(in crate::lint) struct MapBy<'a>(Policy<'a>);

impl<'a> MapBy<'a> {
    /// The mapping that the arguments ask for.
    ///
    /// # Errors
    /// What is not predicted, or what mpirun refuses.
    pub(in crate::lint) fn of(arguments: Arguments<'a>, version: Version) -> Result<Self, Unread> {
        Policy::of(arguments, version).map(Self)
    }

    /// The mapping without any argument.
    pub(in crate::lint) fn by_default(version: Version) -> Self {
        Self(Policy::by_default(version))
    }

    /// Whether the mapping says how many ranks each part of a host gets.
    pub(in crate::lint) fn is_per_part(&self) -> bool {
        matches!(self.0.map, Some(Map::Ppr(..)))
    }

    /// Whether hosts may have more ranks than slots.
    pub(in crate::lint) fn oversubscribes(&self) -> bool {
        self.0.oversubscribe
    }

    /// Whether a host without `slots=` has a slot per hardware thread.
    pub(in crate::lint) fn counts_threads(&self) -> bool {
        self.0.slots_are_threads
    }

    /// The number of ranks without `-np`.
    pub(in crate::lint) fn ranks(&self, hosts: &[Host<'_>]) -> usize {
        let slots = hosts.iter().fold(0_usize, |sum, host| sum.saturating_add(host.slots));
        let four = self.0.version == Version::Four;
        match self.0.map {
            // 4.1 counts hosts and packages only.
            Some(Map::Ppr(_, part)) if four && part.depth() > Resource::Package.depth() => slots,
            Some(Map::Ppr(each, part)) => {
                let topologies = self.topologies(hosts, slots);
                let parts = topologies.iter().map(|(topology, _)| topology.parts(part).len());
                parts.fold(0, |sum, parts| sum.saturating_add(parts.saturating_mul(each)))
            }
            Some(Map::List(list)) => list.split(',').count(),
            _ => match self.0.cpus {
                Some(each) if each > 1 && !four => {
                    let topologies = self.topologies(hosts, slots);
                    let room = |(topology, slots): &(Topology<'_>, usize)| match topology.is_known()
                    {
                        true => topology.cpus() / each,
                        false => *slots,
                    };
                    let ranks = topologies.iter().map(room).fold(0, usize::saturating_add);
                    ranks.clamp(1, slots.max(1))
                }
                _ => slots,
            },
        }
    }

    /// The parts of the hosts.
    fn topologies<'b>(&self, hosts: &[Host<'b>], ranks: usize) -> Vec<(Topology<'b>, usize)> {
        let mut needed = vec![Resource::Package];
        let map = self.map(ranks);
        needed.extend(match map {
            Map::Part(part) | Map::Ppr(_, part) => Some(part),
            _ => None,
        });
        if let Some(RankBy::Part(Some(part), _)) = self.0.rank_by {
            needed.push(part);
        }
        if let Some(policy::Bind::To(part)) = self.0.bind {
            needed.push(part);
        }
        let topology =
            |host: &Host<'b>| (Topology::new(host.machine, self.0.threads, &needed), host.slots);
        hosts.iter().map(topology).collect()
    }

    /// The mapping, also the default for this number of ranks.
    fn map(&self, ranks: usize) -> Map<'a> {
        self.0.map.unwrap_or_else(|| match self.0.version {
            Version::Four => four::default_map(&self.0, ranks),
            Version::Five => five::default_map(&self.0),
        })
    }

    /// Adds the ranks.
    ///
    /// # Errors
    /// What must be known of the hosts and is not.
    pub(in crate::lint) fn add(
        &self,
        hosts: &[Host<'_>],
        ranks: usize,
        reading: &mut Reading,
    ) -> Result<(), String> {
        let topologies = self.topologies(hosts, ranks);
        if let Some(host) = (0..hosts.len()).find(|host| !topologies[*host].0.is_known()) {
            self.check_known(&hosts[host], ranks)?;
        }
        let plan = match self.0.version {
            Version::Four => four::plan(&self.0, &topologies, ranks),
            Version::Five => five::plan(&self.0, &topologies, ranks),
        };
        if plan.mapped > ranks {
            let text = format!(
                "-np {ranks} ends within a part of {}: Open MPI 5.0 maps {}, starts none, and ends with \
                 exit code 0",
                self.0.shown(),
                counted(plan.mapped, "rank")
            );
            reading.refuse(&traps::PPR_NP, None, text);
        }
        if let Some(why) = &plan.refusal {
            let trap = if self.is_per_part() { &traps::PPR_FULL } else { &traps::MAP_FULL };
            let policy = self.0.shown();
            reading.refuse(trap, None, format!("{} for {policy}: {why}", counted(ranks, "rank")));
        }
        if plan.order.is_empty() {
            // The ranks of a mapping that mpirun refuses as a whole are shown by slot.
            let hosts = hosts.iter().flat_map(|host| std::iter::repeat_n(host, host.slots));
            for (rank, host) in hosts.take(ranks).enumerate() {
                reading.add(rank, host.name, Place::Unknown, host.line);
            }
        }
        for (rank, (host, position)) in plan.order.iter().take(ranks).enumerate() {
            let place = plan.hosts[*host].places[*position].clone();
            reading.add(rank, hosts[*host].name, place, hosts[*host].line);
        }
        let shared_list = matches!(self.0.map, Some(Map::List(_))) && !self.0.ordered;
        reading.objects_are_shared = shared_list
            || plan.unit.is_some_and(|unit| ![Resource::Core, Resource::Thread].contains(&unit));
        self.tell(plan.unit, hosts, reading);
        Ok(())
    }

    /// An error if the hosts of ranks depend on parts of this host.
    fn check_known(&self, host: &Host<'_>, ranks: usize) -> Result<(), String> {
        let spans =
            matches!(self.0.rank_by, Some(RankBy::Part(_, policy::Deal::Span))) || self.0.span;
        let counts = |part: Resource| part != Resource::Node;
        let per = self.0.per.is_some_and(|(_, part)| counts(part));
        match self.map(ranks) {
            Map::Ppr(_, part) if counts(part) => {}
            Map::List(_) => {}
            _ if spans || per => {}
            // 5.0 then goes on to the next host where the CPUs end, not the slots.
            Map::Part(_)
                if self.0.version == Version::Five
                    && self.0.oversubscribe
                    && matches!(self.0.bind, Some(policy::Bind::To(_))) => {}
            _ => return Ok(()),
        }
        let (shown, name) = (self.0.shown(), host.name);
        Err(match host.machine {
            None => format!("{shown}, which counts parts of {name}"),
            Some(_) => format!("{shown}, but {name} without caches"),
        })
    }

    /// Tells what mpirun binds to, and why cores are unknown.
    fn tell(&self, unit: Option<Resource>, hosts: &[Host<'_>], reading: &mut Reading) {
        let five = self.0.version == Version::Five;
        if let Some(ignored) = &self.0.ignored {
            let text = format!("Open MPI {} ignores {ignored}", self.0.version.name());
            reading.warn(&traps::PARAMETER_IGNORED, None, text);
        }
        if five && self.0.oversubscribe && self.0.bind.is_none() && unit.is_none() {
            let text = format!("`{}` without --bind-to: no rank is bound", self.0.shown());
            reading.warn(&traps::OVERSUBSCRIBE, None, text);
        } else if matches!(self.0.map, Some(Map::List(_))) {
            if let Some(rank) = reading.ranks.iter().find(|rank| !rank.bound) {
                let (shown, host) = (self.0.shown(), &rank.host);
                let text = format!("`{shown}` has no CPU of {host}: its ranks are not bound");
                reading.warn(&traps::SLOT_EMPTY, None, text);
            }
        } else if unit.is_some() && reading.ranks.iter().any(|rank| !rank.bound) {
            let text = "ranks of a host are not bound: it has too few CPUs for its ranks or slots";
            reading.notes.push(text.to_owned());
        } else if unit.is_none() && self.0.bind.is_none() {
            let text = "ranks are not bound: a host has more ranks than slots";
            reading.notes.push(text.to_owned());
        }
        let Some(unit) = unit else { return };
        if self.0.bind.is_none() && self.0.cpus.is_none() {
            let part = unit.name();
            reading
                .notes
                .push(format!("without --bind-to, mpirun binds each rank to a {part} here"));
        }
        let is_unknown = |rank: &&crate::lint::RankReading| {
            rank.bound && rank.cores.is_none() && rank.pus.is_none()
        };
        let Some(rank) = reading.ranks.iter().find(is_unknown) else { return };
        if hosts.iter().any(|host| host.name == rank.host && host.machine.is_some()) {
            let host = &rank.host;
            reading.notes.push(format!("{PUS_UNKNOWN}: the caches of {host} are not known"));
        }
    }
}
