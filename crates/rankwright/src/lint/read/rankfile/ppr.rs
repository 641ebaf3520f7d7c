//! `--map-by ppr:N:RESOURCE[:PE=n]` of Open MPI: N ranks for each package, NUMA node, cache or core of
//! a host, one host after the other. Follows what 4.1.4 and 5.0.11 show of such maps.

use std::collections::BTreeSet;

use super::slot_list::Version;
use crate::cluster::{Core, Machine};
use crate::ids::CoreId;
use crate::lint::{Arguments, Place, Reading, traps};
use crate::units::counted;

/// What a host has N ranks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::lint) enum Resource {
    Node,
    Package,
    Numa,
    /// The last-level cache.
    Cache,
    Core,
}

impl Resource {
    /// Its name in texts.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Node => "host",
            Self::Package => "package",
            Self::Numa => "NUMA node",
            Self::Cache => "L3 cache",
            Self::Core => "core",
        }
    }
}

/// How ranks are mapped.
#[derive(Debug, Clone, Copy)]
pub(in crate::lint) struct Ppr<'a> {
    policy: &'a str,
    each: usize,
    resource: Resource,
    /// Cores of a rank, by `PE=`.
    cores: Option<usize>,
    oversubscribes: bool,
    /// Whether `PE=` counts hardware threads.
    threads: bool,
    /// What `--bind-to` says, without modifiers.
    binding: Option<&'a str>,
    /// The version, if it is known.
    version: Option<Version>,
}

/// A host with its slots.
pub(in crate::lint) struct Host<'a> {
    pub(in crate::lint) name: &'a str,
    pub(in crate::lint) slots: usize,
    pub(in crate::lint) line: usize,
    pub(in crate::lint) machine: Option<&'a Machine>,
}

/// A rank on its host.
struct Mapped {
    host: usize,
    /// The cores of its package, NUMA node and so on.
    object: Vec<CoreId>,
}

impl<'a> Ppr<'a> {
    /// The mapping that the arguments ask for, if it is this one; the error is what is not read.
    pub(in crate::lint) fn of(
        arguments: Arguments<'a>,
        version: Option<Version>,
    ) -> Option<Result<Self, String>> {
        let policy = arguments.value(&["--map-by", "-map-by"])?;
        let mut words = policy.split(':');
        words.next().filter(|word| word.eq_ignore_ascii_case("ppr"))?;
        if let Some(option) = ["--rank-by", "-rank-by"].into_iter().find(|it| {
            let is_slot = |value: &str| value.eq_ignore_ascii_case("slot");
            arguments.value(&[it]).is_some_and(|value| !is_slot(value))
        }) {
            return Some(Err(option.to_owned()));
        }
        let wrong = || Err(format!("--map-by {policy}"));
        let each = words.next().and_then(|each| each.parse().ok()).filter(|each| *each > 0);
        let resource = words.next().and_then(|name| resource(name, version));
        let (Some(each), Some(resource)) = (each, resource) else { return Some(wrong()) };
        let binding = arguments.value(&["--bind-to", "-bind-to"]);
        let mut ppr = Self {
            policy,
            each,
            resource,
            cores: None,
            oversubscribes: arguments.has("--oversubscribe") || arguments.has("-oversubscribe"),
            threads: arguments.has("--use-hwthread-cpus"),
            binding: binding.and_then(|binding| binding.split(':').next()),
            version,
        };
        for word in words.map(str::to_ascii_lowercase) {
            match (word.strip_prefix("pe="), word.as_str()) {
                (Some(cores), _) => match cores.parse().ok().filter(|cores| *cores > 0) {
                    Some(cores) => ppr.cores = Some(cores),
                    None => return Some(wrong()),
                },
                (None, "oversubscribe") => ppr.oversubscribes = true,
                (None, "hwtcpus") => ppr.threads = true,
                (None, "nooversubscribe" | "corecpus") => {}
                _ => return Some(wrong()),
            }
        }
        Some(Ok(ppr))
    }

    /// Adds the ranks; `ranks` is the number of `-np`. The error is what must be known and is not.
    pub(in crate::lint) fn add(
        &self,
        hosts: &[Host<'_>],
        ranks: Option<usize>,
        reading: &mut Reading,
    ) -> Result<(), String> {
        let objects: Result<Vec<_>, String> =
            hosts.iter().map(|host| self.objects(host.name, host.machine)).collect();
        let objects = objects?;
        let slots = hosts.iter().fold(0_usize, |sum, host| sum.saturating_add(host.slots));
        let most: usize = objects.iter().map(|objects| objects.len() * self.each).sum();
        // 4.1 counts NUMA nodes and caches only where -np says how many ranks there are.
        let counts = self.version != Some(Version::Four)
            || !matches!(self.resource, Resource::Numa | Resource::Cache);
        let ranks = ranks.unwrap_or(if counts { most } else { slots });
        let mapped = self.mapped(hosts, &objects, ranks);
        if mapped.len() < ranks {
            let policy = self.policy;
            let asked = match (counts, self.version) {
                (false, _) => " (4.1 starts a rank per slot without -np)",
                _ => "",
            };
            let text = format!(
                "{} for {policy}{asked}: the hosts have {}, and room for {}",
                counted(ranks, "rank"),
                counted(slots, "slot"),
                counted(most, "rank")
            );
            reading.refuse(&traps::PPR_FULL, None, text);
        }
        self.warn_of_part(hosts, &objects, ranks, reading);
        self.bind(hosts, mapped, reading);
        Ok(())
    }

    /// The cores of each package, NUMA node and so on of a host.
    fn objects(&self, name: &str, machine: Option<&Machine>) -> Result<Vec<Vec<CoreId>>, String> {
        let Some(machine) = machine else {
            return match self.resource {
                Resource::Node => Ok(vec![Vec::new()]),
                _ => Err(format!("--map-by {}, which counts parts of {name}", self.policy)),
            };
        };
        groups(machine, self.resource)
            .ok_or_else(|| format!("--map-by {}, but {name} without caches", self.policy))
    }

    /// The ranks in their order: host after host, each filled up to its slots.
    fn mapped(
        &self,
        hosts: &[Host<'_>],
        objects: &[Vec<Vec<CoreId>>],
        ranks: usize,
    ) -> Vec<Mapped> {
        let mut mapped: Vec<Mapped> = Vec::new();
        for (host, objects) in objects.iter().enumerate() {
            let all = objects.iter().flat_map(|object| std::iter::repeat_n(object, self.each));
            let room = self.room(&hosts[host], objects.len() * self.each);
            let some = all.take(room.min(ranks - mapped.len()));
            mapped.extend(some.map(|object| Mapped { host, object: object.clone() }));
            // 4.1 does not go on where a host has too few slots.
            if self.version == Some(Version::Four) && room < objects.len() * self.each {
                break;
            }
        }
        mapped
    }

    /// The number of ranks that fit on a host with room for `most`.
    fn room(&self, host: &Host<'_>, most: usize) -> usize {
        if self.oversubscribes { most } else { most.min(host.slots) }
    }

    /// 5.0 maps all ranks of the last package or NUMA node, more than it then starts.
    fn warn_of_part(
        &self,
        hosts: &[Host<'_>],
        objects: &[Vec<Vec<CoreId>>],
        ranks: usize,
        reading: &mut Reading,
    ) {
        if self.version == Some(Version::Four) || self.resource == Resource::Node {
            return;
        }
        let mut mapped = 0;
        for (host, objects) in hosts.iter().zip(objects) {
            let mut room = self.room(host, objects.len() * self.each);
            while mapped < ranks && room > 0 {
                let some = self.each.min(room);
                (mapped, room) = (mapped + some, room - some);
            }
        }
        if mapped <= ranks {
            return;
        }
        let text = format!(
            "-np {ranks} ends within a part of {}: Open MPI 5.0 maps {}, starts none, and ends with \
             exit code 0",
            self.policy,
            counted(mapped, "rank")
        );
        if self.version.is_some() {
            reading.refuse(&traps::PPR_NP, None, text);
        } else {
            reading.warn(&traps::PPR_NP, None, text);
        }
    }

    /// Adds the ranks with the cores that mpirun binds them to.
    fn bind(&self, hosts: &[Host<'_>], mapped: Vec<Mapped>, reading: &mut Reading) {
        let ranks = mapped.len();
        let drops =
            self.version == Some(Version::Five) && self.oversubscribes && self.binding.is_none();
        if drops {
            let text = format!("`--map-by {}` without --bind-to: no rank is bound", self.policy);
            reading.warn(&traps::OVERSUBSCRIBE, None, text);
        }
        let unit = self.unit(ranks);
        let is_unbound = drops || self.binding == Some("none");
        let mut full = None;
        let mut used: (usize, BTreeSet<CoreId>) = (0, BTreeSet::new());
        for (rank, Mapped { host, object }) in mapped.into_iter().enumerate() {
            if used.0 != host {
                used = (host, BTreeSet::new());
            }
            let machine = hosts[host].machine;
            let place = match (unit, machine) {
                _ if is_unbound => Place::Unbound,
                (Some(unit), Some(machine)) => {
                    let place =
                        cores_of(machine, &object, (unit, self.cores.unwrap_or(1)), &mut used.1);
                    if place.is_none() {
                        full.get_or_insert(rank);
                    }
                    place.map_or(Place::Unknown, Place::Cores)
                }
                _ => Place::Unknown,
            };
            reading.add(rank, hosts[host].name, place, hosts[host].line);
        }
        if let Some(rank) = full.filter(|_| self.version != Some(Version::Five)) {
            let text = "the cores of their package do not suffice";
            reading.notes.push(format!("the PUs of rank {rank} and others are unknown: {text}"));
        } else if let Some(rank) = full {
            let each = self.cores.unwrap_or(1);
            let text = format!(
                "--map-by {}: no {} left for rank {rank}",
                self.policy,
                counted(each, "core")
            );
            reading.refuse(&traps::PPR_FULL, None, text);
        }
        reading.objects_are_shared = unit.is_some_and(|unit| unit != Resource::Core);
        if unit.is_none() && !is_unbound {
            reading.notes.push(format!("the PUs are unknown: {}", self.why_unknown()));
        }
    }

    /// What ranks are bound to; `None` if it is not predicted.
    fn unit(&self, ranks: usize) -> Option<Resource> {
        if self.threads {
            return None;
        }
        match self.binding {
            Some("core") => Some(Resource::Core),
            _ if self.cores.is_some() && self.binding.is_none() => Some(Resource::Core),
            // 4.1 chooses among packages and NUMA nodes by how it was built.
            _ if self.version != Some(Version::Five) => None,
            Some(name) => resource(name, self.version).filter(|unit| {
                *unit == self.resource
                    || self.resource == Resource::Node
                    || (*unit, self.resource) == (Resource::Numa, Resource::Package)
            }),
            None if self.resource == Resource::Node && ranks <= 2 => Some(Resource::Core),
            None if self.resource == Resource::Node => Some(Resource::Numa),
            None => Some(self.resource),
        }
    }

    fn why_unknown(&self) -> &'static str {
        if self.threads {
            "what mpirun does with hardware threads is not predicted"
        } else if self.binding.is_some() {
            "--bind-to of this kind is not predicted for --map-by ppr:"
        } else {
            "what mpirun binds to without --bind-to core or PE= depends on its version"
        }
    }
}

/// The cores of a rank: the first `each` ones of its object that are free; or all of the first NUMA node
/// (package, cache) of it that has a free core.
pub(super) fn cores_of(
    machine: &Machine,
    object: &[CoreId],
    (unit, each): (Resource, usize),
    used: &mut BTreeSet<CoreId>,
) -> Option<Vec<CoreId>> {
    if unit == Resource::Core {
        let free = object.iter().filter(|core| !used.contains(*core)).copied();
        let cores: Vec<CoreId> = free.take(each).collect();
        used.extend(cores.iter().copied());
        return Some(cores).filter(|cores| cores.len() == each);
    }
    let groups = groups(machine, unit)?;
    let is_free = |core: &&CoreId| object.contains(core) && !used.contains(core);
    let (group, free) = groups
        .into_iter()
        .find_map(|group| group.iter().find(is_free).copied().map(|free| (group.clone(), free)))?;
    used.insert(free);
    Some(group)
}

/// Warns of a `--map-by` or `--bind-to` that mpirun refuses (without a version: that both refuse), and
/// returns whether it is the first.
pub(in crate::lint) fn warn_of_unknown(
    arguments: Arguments<'_>,
    (version, line): (Option<Version>, Option<usize>),
    reading: &mut Reading,
) -> bool {
    let binding = arguments.value(&["--bind-to", "-bind-to"]);
    if version == Some(Version::Four)
        && binding.is_some_and(|binding| binding.split(':').next() == Some("package"))
    {
        let text = "--bind-to package: Open MPI 4.1 calls it socket".to_owned();
        reading.refuse(&traps::POLICY, line, text);
    }
    let Some(policy) = arguments.value(&["--map-by", "-map-by"]) else { return false };
    let lower = policy.to_ascii_lowercase();
    let mut words = lower.split([':', '=']);
    let first = words.next().unwrap_or_default();
    let resource = words.nth(1).filter(|_| first == "ppr").unwrap_or_default();
    let in_4 = !["board", "device", "package", "pe-list"].contains(&first) && resource != "package";
    let in_5 = !["device", "dist", "board"].contains(&first) && resource != "board";
    let (known, others) = match version {
        Some(Version::Four) => (in_4, "Open MPI 4.1"),
        Some(Version::Five) => (in_5, "Open MPI 5.0"),
        None => (in_4 || in_5, "Open MPI 4.1 and 5.0"),
    };
    if !known {
        let later = if first == "device" { "; only later versions of PRRTE have it" } else { "" };
        let text = format!("--map-by {policy}: {others} end with \"not recognized\"{later}");
        let text = if version.is_some() { text.replace(" end with", " ends with") } else { text };
        reading.refuse(&traps::POLICY, line, text);
    }
    !known
}

/// The resource of this name.
pub(super) fn resource(name: &str, version: Option<Version>) -> Option<Resource> {
    Some(match name.to_ascii_lowercase().as_str() {
        "node" => Resource::Node,
        "socket" => Resource::Package,
        "package" | "skt" if version != Some(Version::Four) => Resource::Package,
        "numa" => Resource::Numa,
        "l3cache" => Resource::Cache,
        "core" => Resource::Core,
        _ => return None,
    })
}

/// The cores of each object of a machine, ascending; `None` if its caches are not known.
pub(super) fn groups(machine: &Machine, resource: Resource) -> Option<Vec<Vec<CoreId>>> {
    let number = |(index, core): (usize, &Core)| {
        Some(match resource {
            Resource::Node => 0,
            Resource::Package => core.package,
            Resource::Numa => core.numa.index(),
            Resource::Cache => core.cache? as usize,
            Resource::Core => index,
        })
    };
    let mut groups: Vec<(usize, Vec<CoreId>)> = Vec::new();
    for (core, entry) in machine.core_ids().zip(machine.cores.iter().enumerate()) {
        let number = number(entry)?;
        match groups.iter_mut().find(|(other, _)| *other == number) {
            Some((_, cores)) => cores.push(core),
            None => groups.push((number, vec![core])),
        }
    }
    Some(groups.into_iter().map(|(_, cores)| cores).collect())
}
