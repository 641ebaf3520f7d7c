//! `--map-by OBJECT[:PE=n]` of Open MPI for whole hosts, and its default without `--map-by`. Follows the
//! maps that 4.1.4 (`--display-devel-map`) and 5.0.11 (`--display map`) show.

use std::collections::BTreeSet;

use super::ppr::{Host, Resource, cores_of, groups, resource};
use super::slot_list::Version;
use crate::cluster::Machine;
use crate::ids::CoreId;
use crate::lint::{Arguments, PUS_UNKNOWN, Place, Reading, traps};
use crate::units::counted;

/// How ranks follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// The slots of one host after the other.
    Slot,
    /// The hosts in turn.
    Node,
    /// The slots of one host after the other; on a host its parts in turn (4.1), or as many ranks on each
    /// part, numbered part after part (5.0).
    Part(Resource),
    /// The slots of one host after the other; what they get there is not predicted.
    Unknown,
}

/// How ranks are mapped and bound.
#[derive(Debug, Clone, Copy)]
pub(in crate::lint) struct MapBy<'a> {
    version: Version,
    /// What `--map-by` says, with modifiers.
    policy: Option<&'a str>,
    /// `None` for the default.
    order: Option<Order>,
    /// Cores of a rank, by `PE=`.
    cores: Option<usize>,
    /// What `--bind-to` says, without modifiers.
    binding: Option<&'a str>,
    /// Whether a modifier leaves the ranks unbound.
    drops: bool,
    /// Why cores are not predicted.
    unknown: Option<&'static str>,
}

impl<'a> MapBy<'a> {
    /// The mapping that the arguments ask for; the error is what is not read.
    pub(in crate::lint) fn of(arguments: Arguments<'a>, version: Version) -> Result<Self, String> {
        let per_node = ["-N", "--npernode", "-npernode", "--npersocket", "-npersocket"];
        if let Some(option) = per_node.into_iter().find(|option| arguments.has(option)) {
            return Err(option.to_owned());
        }
        let binding = arguments.value(&["--bind-to", "-bind-to"]);
        let by_node = arguments.has("--bynode") || arguments.has("-bynode");
        let mut map = Self {
            policy: arguments.value(&["--map-by", "-map-by"]),
            order: by_node.then_some(Order::Node),
            binding: binding.and_then(|binding| binding.split(':').next()),
            ..Self::by_default(version)
        };
        let threads = ["--use-hwthread-cpus", "-use-hwthread-cpus"];
        if threads.into_iter().any(|option| arguments.has(option)) {
            map.unknown = Some("what mpirun does with hardware threads is not predicted");
        }
        if let Some(rank_by) = arguments.value(&["--rank-by", "-rank-by"]) {
            if !rank_by.eq_ignore_ascii_case("slot") {
                return Err(format!("--rank-by {rank_by}"));
            }
            map.unknown = Some("the ranks of a host under --rank-by are not predicted");
        }
        if let Some(policy) = map.policy {
            map.read(policy)?;
        }
        Ok(map)
    }

    /// The mapping without any argument.
    pub(in crate::lint) fn by_default(version: Version) -> Self {
        Self {
            version,
            policy: None,
            order: None,
            cores: None,
            binding: None,
            drops: false,
            unknown: None,
        }
    }

    fn read(&mut self, policy: &str) -> Result<(), String> {
        let wrong = || format!("--map-by {policy}");
        let lower = policy.to_ascii_lowercase();
        let mut words = lower.split(':');
        self.order = Some(match words.next().unwrap_or_default() {
            // `:PE=2` alone.
            "" | "slot" => Order::Slot,
            "node" => Order::Node,
            "hwthread" | "l1cache" | "l2cache" => Order::Unknown,
            name => Order::Part(resource(name, Some(self.version)).ok_or_else(wrong)?),
        });
        for word in words {
            match word.strip_prefix("pe=").map(str::parse) {
                Some(Ok(cores)) if cores > 0 => self.cores = Some(cores),
                Some(_) => return Err(wrong()),
                None if ["nooversubscribe", "corecpus"].contains(&word) => {}
                None if word == "oversubscribe"
                    && self.version == Version::Five
                    && self.binding.is_none() =>
                {
                    self.drops = true;
                }
                None if ["oversubscribe", "hwtcpus"].contains(&word) => {
                    self.unknown = Some("what mpirun binds to with this modifier is not predicted");
                }
                None => return Err(wrong()),
            }
        }
        Ok(())
    }

    /// The order, also that of the default for this number of ranks.
    fn order(&self, ranks: usize) -> Order {
        let default = || match (self.version, self.binding) {
            (Version::Four, _) if ranks <= 2 => Order::Part(Resource::Core),
            (Version::Four, _) => Order::Part(Resource::Numa),
            (Version::Five, None) => Order::Part(Resource::Core),
            (Version::Five, Some(name)) => {
                resource(name, Some(self.version)).map_or(Order::Slot, Order::Part)
            }
        };
        self.order.unwrap_or_else(default)
    }

    /// Adds the ranks; there are no more than slots.
    pub(in crate::lint) fn add(&self, hosts: &[Host<'_>], ranks: usize, reading: &mut Reading) {
        let order = self.order(ranks);
        let room: Vec<usize> = hosts.iter().map(|host| self.room(host, order)).collect();
        let host_of_rank = host_of_rank(&room, ranks, order == Order::Node);
        if host_of_rank.len() < ranks {
            let text = format!(
                "{} for --map-by {}: the hosts have room for {}",
                counted(ranks, "rank"),
                self.policy.unwrap_or_default(),
                counted(host_of_rank.len(), "rank")
            );
            reading.refuse(&traps::PPR_FULL, None, text);
        }
        let unit = self.unit(order, ranks);
        let mut places: Vec<_> = (0..hosts.len())
            .map(|host| {
                let count = host_of_rank.iter().filter(|other| **other == host).count();
                self.places(hosts[host].machine, (order, &unit), count).into_iter()
            })
            .collect();
        for (rank, host) in host_of_rank.into_iter().enumerate() {
            let place = places[host].next().unwrap_or(Place::Unknown);
            reading.add(rank, hosts[host].name, place, hosts[host].line);
        }
        reading.objects_are_shared = matches!(&unit, Ok(Some(unit)) if *unit != Resource::Core);
        if self.drops {
            let policy = self.policy.unwrap_or_default();
            let text = format!("`--map-by {policy}` without --bind-to: no rank is bound");
            reading.warn(&traps::OVERSUBSCRIBE, None, text);
        }
        self.tell(&unit, hosts, reading);
    }

    /// The number of ranks that a host takes: its slots; for 5.0 no more than its packages (or other parts)
    /// have cores for, if it binds to these or by `PE=`.
    fn room(&self, host: &Host<'_>, order: Order) -> usize {
        let (Version::Five, Some(machine)) = (self.version, host.machine) else {
            return host.slots;
        };
        let part = match order {
            Order::Part(part) if self.binding != Some("none") && !self.drops => part,
            Order::Slot | Order::Node if self.cores.is_some() => Resource::Package,
            _ => return host.slots,
        };
        let Some(parts) = groups(machine, part) else { return host.slots };
        host.slots.min(parts.iter().map(|part| part.len() / self.cores.unwrap_or(1)).sum())
    }

    /// What ranks are bound to, `None` if to nothing; the error is why it is not predicted.
    fn unit(&self, order: Order, ranks: usize) -> Result<Option<Resource>, &'static str> {
        if self.binding == Some("none") || self.drops {
            return Ok(None);
        }
        if let Some(why) = self.unknown {
            return Err(why);
        }
        let unit = match (self.binding, order) {
            (_, Order::Unknown) => {
                return Err("mappings to hardware threads and small caches are not predicted");
            }
            (Some(name), _) => resource(name, Some(self.version))
                .ok_or("--bind-to of this kind is not predicted")?,
            (None, _) if self.cores.is_some() => Resource::Core,
            (None, Order::Part(part)) => part,
            (None, _) if ranks <= 2 => Resource::Core,
            (None, _) => Resource::Numa,
        };
        match order {
            Order::Part(part) if part == unit => {}
            _ if unit == Resource::Core => {}
            _ if self.cores.is_some() => {
                return Err("--bind-to together with PE= is predicted for cores only");
            }
            // 4.1 does not display which of the parts below a host or package a rank gets.
            _ if self.version == Version::Four => {
                return Err(
                    "which NUMA nodes 4.1 binds to under this --map-by is not predicted; add \
                            --bind-to core, or --map-by numa",
                );
            }
            Order::Part(Resource::Package) if unit == Resource::Numa => {}
            Order::Slot | Order::Node => {}
            _ => return Err("--bind-to of this kind is not predicted for this --map-by"),
        }
        Ok(Some(unit))
    }

    /// The places of the ranks of a host.
    fn places(
        &self,
        machine: Option<&Machine>,
        (order, unit): (Order, &Result<Option<Resource>, &'static str>),
        count: usize,
    ) -> Vec<Place> {
        let unit = match (unit, self.cores) {
            (Ok(None), _) => return vec![Place::Unbound; count],
            (Err(_), _) => return vec![Place::Unknown; count],
            (Ok(Some(unit)), _) => *unit,
        };
        let known = machine.and_then(|machine| self.known_places(machine, (order, unit), count));
        known.unwrap_or_else(|| vec![Place::Unknown; count])
    }

    /// `None` if the machine has too few cores or unknown caches.
    fn known_places(
        &self,
        machine: &Machine,
        (order, unit): (Order, Resource),
        count: usize,
    ) -> Option<Vec<Place>> {
        let each = self.cores.unwrap_or(1);
        if count.saturating_mul(each) > machine.cores.len() {
            return None;
        }
        let parts = match order {
            Order::Part(part) => groups(machine, part)?,
            // Cores of one rank are in one package.
            _ if self.cores.is_some() => groups(machine, Resource::Package)?,
            _ => groups(machine, Resource::Node)?,
        };
        let of_rank: Vec<usize> = match (order, self.version) {
            (Order::Part(_), Version::Four) => (0..count).map(|rank| rank % parts.len()).collect(),
            (Order::Part(_), Version::Five) => {
                let mut dealt: Vec<usize> = (0..count).map(|rank| rank % parts.len()).collect();
                dealt.sort_unstable();
                dealt
            }
            _ => {
                let room = parts.iter().map(|part| part.len() / each);
                host_of_rank(&room.collect::<Vec<_>>(), count, false)
            }
        };
        if of_rank.len() < count {
            return None;
        }
        let mut used: BTreeSet<CoreId> = BTreeSet::new();
        let place = |part: usize| {
            if order == Order::Part(unit) && unit != Resource::Core {
                return Some(Place::Cores(parts[part].clone()));
            }
            cores_of(machine, &parts[part], (unit, each), &mut used).map(Place::Cores)
        };
        of_rank.into_iter().map(place).collect()
    }

    /// Tells what mpirun binds to, and why cores are unknown.
    fn tell(
        &self,
        unit: &Result<Option<Resource>, &'static str>,
        hosts: &[Host<'_>],
        reading: &mut Reading,
    ) {
        let why = match unit {
            Ok(None) => return,
            Err(why) => (*why).to_owned(),
            Ok(Some(unit)) => {
                let part = unit.name();
                if self.binding.is_none() && self.cores.is_none() {
                    reading.notes.push(format!(
                        "without --bind-to, mpirun binds each rank to a {part} here"
                    ));
                }
                let unknown = |rank: &&crate::lint::RankReading| rank.bound && rank.cores.is_none();
                let Some(rank) = reading.ranks.iter().find(unknown) else { return };
                let host = hosts.iter().find(|host| host.name == rank.host);
                match host.and_then(|host| host.machine) {
                    None => return,
                    Some(_) if part == Resource::Cache.name() => {
                        format!("{} has unknown caches, or too few cores", rank.host)
                    }
                    Some(_) => format!("{} has too few cores for its ranks", rank.host),
                }
            }
        };
        reading.notes.push(format!("{PUS_UNKNOWN}: {why}"));
    }
}

/// The position of the host of every rank: one host after the other, or the hosts in turn. Hosts that are
/// full are skipped; ranks beyond the room of all are left out.
fn host_of_rank(room: &[usize], ranks: usize, in_turn: bool) -> Vec<usize> {
    let hosts = room.iter().enumerate();
    if !in_turn {
        return hosts.flat_map(|(host, n)| std::iter::repeat_n(host, *n)).take(ranks).collect();
    }
    let rounds = hosts.flat_map(|(host, n)| (0..(*n).min(ranks)).map(move |round| (round, host)));
    let mut rounds: Vec<(usize, usize)> = rounds.collect();
    rounds.sort_unstable();
    rounds.into_iter().take(ranks).map(|(_, host)| host).collect()
}
