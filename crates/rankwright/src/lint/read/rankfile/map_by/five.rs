//! How Open MPI 5.0 maps, binds and numbers ranks, as `--display map` shows it. It maps a rank and binds it
//! at once, so that bindings decide how many ranks a host takes.

use super::parts::{Part, Resource, Topology};
use super::policy::{Bind, Deal, Map, Policy, RankBy};
use super::{HostPlan, Plan, number};
use crate::lint::{MOST_RANKS, Place};
use crate::units::counted;

/// A host, its free CPUs, and the ranks that it has so far.
struct Node<'a> {
    topology: &'a Topology<'a>,
    slots: usize,
    free: Vec<bool>,
    /// The part that each rank is mapped to, and its place.
    ranks: Vec<(usize, Place)>,
    /// The parts of the mapping.
    parts: Vec<Part>,
    /// The parts that ranks are bound to.
    targets: Vec<Part>,
    /// Whether a mapping by parts has filled it.
    is_left: bool,
}

impl Node<'_> {
    fn is_full(&self) -> bool {
        self.ranks.len() >= self.slots
    }

    /// The number of free CPUs of the host, or of one of its parts; an unknown machine has enough.
    fn free(&self, part: Option<usize>) -> usize {
        match part {
            _ if !self.topology.is_known() => usize::MAX,
            None => self.free.iter().filter(|free| **free).count(),
            Some(part) => self.parts[part].cpus.iter().filter(|cpu| self.free[**cpu]).count(),
        }
    }
}

/// Why a rank is not mapped.
#[derive(Debug)]
enum Stop {
    /// The host takes no more.
    Full,
    /// mpirun ends.
    Refused(String),
}

/// Maps, binds and numbers; hosts are given with their slots.
pub(super) fn plan(policy: &Policy<'_>, hosts: &[(Topology<'_>, usize)], ranks: usize) -> Plan {
    let map = policy.map.unwrap_or(default_map(policy));
    let unit = unit(policy, map, ranks);
    let part = match map {
        Map::Part(part) | Map::Ppr(_, part) => part,
        _ => Resource::Node,
    };
    let nodes = hosts.iter().filter(|(_, slots)| *slots > 0 || policy.oversubscribe);
    let nodes = nodes.map(|(topology, slots)| Node {
        topology,
        slots: *slots,
        free: vec![true; topology.cpus()],
        ranks: Vec::new(),
        parts: topology.parts(part),
        targets: unit.map_or(Vec::new(), |unit| topology.parts(unit)),
        is_left: false,
    });
    let is_set = policy.bind.is_some() || policy.ordered || policy.cpus.is_some_and(|it| it > 1);
    let mut job = Job { policy, map, unit, is_set, ranks, mapped: 0, nodes: nodes.collect() };
    let result = match map {
        Map::Slot => job.by_slot(),
        Map::Node => job.by_node(),
        Map::Part(_) => job.by_part(),
        Map::Ppr(each, part) => job.per_part(each, part),
        Map::List(list) => job.by_list(list),
    };
    let is_above = unit == Some(Resource::Core)
        && part == Resource::Thread
        && job.nodes.iter().any(|node| node.parts.len() > node.targets.len());
    let refusal = match result {
        _ if is_above => Some("a core is more than the hardware thread of --map-by".to_owned()),
        Err(Stop::Refused(text)) => Some(text),
        Err(Stop::Full) => Some("the hosts have too few CPUs".to_owned()),
        Ok(()) if job.mapped < ranks => {
            Some(format!("the hosts have room for {}", counted(job.mapped, "rank")))
        }
        Ok(()) => None,
    };
    let order = job.number();
    let mut nodes = job.nodes.into_iter();
    let mut host = |slots: &usize| {
        let node = if *slots > 0 || policy.oversubscribe { nodes.next() } else { None };
        let ranks = node.map_or(Vec::new(), |node| node.ranks);
        HostPlan { places: ranks.into_iter().map(|(_, place)| place).collect() }
    };
    let plans: Vec<HostPlan> = hosts.iter().map(|(_, slots)| host(slots)).collect();
    let used: Vec<usize> =
        (0..hosts.len()).filter(|host| hosts[*host].1 > 0 || policy.oversubscribe).collect();
    let order = order.into_iter().map(|(host, rank)| (used[host], rank)).collect();
    Plan { hosts: plans, order, unit, refusal, mapped: job.mapped }
}

/// The mapping without `--map-by`: that of `--bind-to`.
pub(super) fn default_map(policy: &Policy<'_>) -> Map<'static> {
    match policy.bind {
        _ if policy.cpus.is_some_and(|cpus| cpus > 1) => Map::Slot,
        Some(Bind::None) => Map::Slot,
        Some(Bind::To(part)) => Map::Part(part),
        None if policy.threads => Map::Part(Resource::Thread),
        None => Map::Part(Resource::Core),
    }
}

/// What ranks are bound to.
fn unit(policy: &Policy<'_>, map: Map<'_>, ranks: usize) -> Option<Resource> {
    let cpu = if policy.threads { Resource::Thread } else { Resource::Core };
    match (policy.bind, map) {
        (Some(Bind::None), _) => None,
        (Some(Bind::To(part)), _) => Some(part),
        (None, _) if policy.cpus.is_some_and(|it| it > 1) || policy.ordered => Some(cpu),
        (None, _) if policy.oversubscribe => None,
        (None, _) if policy.cpus.is_some() => Some(cpu),
        (None, Map::List(_)) => Some(cpu),
        (None, Map::Part(part) | Map::Ppr(_, part)) if part != Resource::Node => Some(part),
        (None, _) if ranks <= 2 => Some(cpu),
        (None, _) => Some(Resource::Numa),
    }
}

struct Job<'a> {
    policy: &'a Policy<'a>,
    map: Map<'a>,
    /// What ranks are bound to.
    unit: Option<Resource>,
    /// Whether the binding was asked for, so that ranks cannot be left unbound.
    is_set: bool,
    ranks: usize,
    mapped: usize,
    nodes: Vec<Node<'a>>,
}

impl Job<'_> {
    fn each(&self) -> usize {
        self.policy.cpus.unwrap_or(1)
    }

    /// What the ranks of a host are bound to: nothing if its share of `count` is within its slots, but more
    /// than its CPUs, and no binding was asked for.
    fn unit_on(&self, host: usize, count: usize, each: usize) -> Option<Resource> {
        let node = &self.nodes[host];
        let is_too_much = count.saturating_mul(each) > node.free(None) && count <= node.slots;
        self.unit.filter(|_| self.is_set || !is_too_much)
    }

    /// The number of ranks that a host or one of its parts takes of `count`; `None` for no rank.
    fn available(
        &self,
        host: usize,
        part: Option<usize>,
        (count, unit): (usize, Option<Resource>),
    ) -> Option<usize> {
        let node = &self.nodes[host];
        if node.is_full() && !self.policy.oversubscribe {
            return None;
        }
        if unit.is_none() {
            return Some(count);
        }
        let most = node.free(part) / self.each();
        if let Map::Ppr(each, _) = self.map {
            return (each <= most).then_some(count);
        }
        if count <= most || self.policy.overload {
            return Some(count);
        }
        Some(most).filter(|most| *most > 0)
    }

    /// Maps ranks to a host, one part of it or the whole, until it is full.
    fn give(
        &mut self,
        host: usize,
        part: Option<usize>,
        (count, unit): (usize, Option<Resource>),
    ) -> Result<(), Stop> {
        for _ in 0..count.min(self.ranks.saturating_sub(self.mapped)) {
            self.give_one(host, part, unit)?;
        }
        Ok(())
    }

    fn give_one(
        &mut self,
        host: usize,
        part: Option<usize>,
        unit: Option<Resource>,
    ) -> Result<(), Stop> {
        let place = self.bind(host, part, unit)?;
        let node = &mut self.nodes[host];
        node.ranks.push((part.unwrap_or(0), place));
        self.mapped += 1;
        let is_full = node.ranks.len() == node.slots && !self.policy.oversubscribe;
        if is_full { Err(Stop::Full) } else { Ok(()) }
    }

    fn by_slot(&mut self) -> Result<(), Stop> {
        for host in 0..self.nodes.len() {
            let slots = self.nodes[host].slots;
            let unit = self.unit_on(host, slots, 1);
            let Some(count) = self.available(host, None, (slots, unit)) else { continue };
            // A host that is full, or without room for the CPUs of a rank, is left.
            let _ = self.give(host, None, (count, unit));
            if self.mapped == self.ranks {
                break;
            }
        }
        Ok(())
    }

    /// Gives every host its share in two passes; a host with fewer slots lowers the share of those after it.
    fn by_node(&mut self) -> Result<(), Stop> {
        for _ in 0..2 {
            let mut share = ((self.ranks - self.mapped) / self.nodes.len().max(1)).max(1);
            for host in 0..self.nodes.len() {
                if !self.policy.oversubscribe {
                    share = share.min(self.nodes[host].slots);
                }
                let unit = self.unit_on(host, share, 1);
                let Some(count) = self.available(host, None, (share, unit)) else { continue };
                share = count;
                let _ = self.give(host, None, (count, unit));
                if self.mapped == self.ranks {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn by_part(&mut self) -> Result<(), Stop> {
        loop {
            let mut any = false;
            for host in 0..self.nodes.len() {
                while !self.nodes[host].is_left {
                    let mut out_of_cpus = false;
                    for part in 0..self.nodes[host].parts.len() {
                        if self.mapped == self.ranks {
                            return Ok(());
                        }
                        if self.nodes[host].free(Some(part)) < self.each() && !self.policy.overload
                        {
                            out_of_cpus = true;
                            continue;
                        }
                        if self.available(host, Some(part), (1, self.unit)).is_none() {
                            continue;
                        }
                        match self.give_one(host, Some(part), self.unit) {
                            Ok(()) => any = true,
                            Err(Stop::Full) => {
                                self.nodes[host].is_left = true;
                                break;
                            }
                            Err(stop) => return Err(stop),
                        }
                    }
                    if out_of_cpus || !any || self.policy.span {
                        break;
                    }
                }
            }
            if !any || self.mapped == self.ranks {
                return Ok(());
            }
        }
    }

    fn per_part(&mut self, each: usize, part: Resource) -> Result<(), Stop> {
        for host in 0..self.nodes.len() {
            let parts = self.nodes[host].parts.len();
            let unit = self.unit_on(host, each.saturating_mul(parts), self.each());
            if part == Resource::Node {
                if self.available(host, None, (each, unit)).is_some() {
                    self.give(host, None, (each, unit)).or_else(go_on)?;
                }
            } else {
                for part in 0..parts {
                    if self.mapped >= self.ranks {
                        break;
                    }
                    if self.available(host, Some(part), (each, unit)).is_none() {
                        continue;
                    }
                    // All ranks of a part are mapped, even beyond -np.
                    for _ in 0..each.min(MOST_RANKS) {
                        match self.give_one(host, Some(part), unit) {
                            Ok(()) => {}
                            Err(Stop::Full) => break,
                            Err(stop) => return Err(stop),
                        }
                    }
                }
            }
            if self.mapped == self.ranks {
                break;
            }
        }
        Ok(())
    }

    /// Each host gets a rank for each word of the list, bound to all CPUs of it, or with `ordered` to the
    /// first CPU of the word.
    fn by_list(&mut self, list: &str) -> Result<(), Stop> {
        let ranges: Vec<(usize, usize)> = list.split(',').map(range).collect();
        for host in 0..self.nodes.len() {
            let cpus = self.nodes[host].topology.cpus();
            let mut listed = vec![false; cpus];
            for (from, to) in &ranges {
                (*from..=*to).take_while(|cpu| *cpu < cpus).for_each(|cpu| listed[cpu] = true);
            }
            let all: Vec<usize> = (0..cpus).filter(|cpu| listed[*cpu]).collect();
            let node = &self.nodes[host];
            let slots = if self.policy.overload && !self.policy.ordered {
                node.slots
            } else {
                ranges.len()
            };
            let count = slots.min(node.slots);
            let unit = self.unit.filter(|_| self.is_set || count <= all.len());
            let most = if unit.is_none() || self.policy.overload {
                count
            } else {
                all.len() / self.each()
            };
            for rank in 0..count.min(most).min(self.ranks - self.mapped) {
                let Some((first, _)) = ranges.get(rank) else {
                    return Err(Stop::Refused("the list has too few CPUs".to_owned()));
                };
                let bound = if self.policy.ordered { vec![*first] } else { all.clone() };
                let place = if bound.is_empty() {
                    Place::Unbound
                } else {
                    self.place_of_list(host, &bound)?
                };
                self.nodes[host].ranks.push((0, place));
                self.mapped += 1;
            }
            if self.mapped == self.ranks {
                break;
            }
        }
        Ok(())
    }

    fn place_of_list(&self, host: usize, cpus: &[usize]) -> Result<Place, Stop> {
        let topology = self.nodes[host].topology;
        let mut pus = Vec::new();
        for cpu in cpus {
            if *cpu >= topology.cpus() {
                return Err(Stop::Refused(format!("a host has no CPU {cpu}")));
            }
            pus.extend(topology.pus_of_cpu(*cpu));
        }
        let packages = topology.parts(Resource::Package);
        let within = |part: &Part| pus.iter().all(|pu| part.pus.binary_search(pu).is_ok());
        if !packages.iter().any(within) {
            return Err(Stop::Refused("the CPUs of the list are not in one package".to_owned()));
        }
        Ok(topology.place(&pus))
    }

    /// The place of the next rank of a host or of one of its parts.
    fn bind(
        &mut self,
        host: usize,
        part: Option<usize>,
        unit: Option<Resource>,
    ) -> Result<Place, Stop> {
        if unit.is_none() {
            return Ok(Place::Unbound);
        }
        if !self.nodes[host].topology.is_known() {
            return Ok(Place::Unknown);
        }
        if self.each() > 1 {
            return self.bind_to_several(host, part);
        }
        let overload = self.policy.overload;
        let is_set = self.is_set;
        let node = &mut self.nodes[host];
        let inside = part.map(|part| &node.parts[part]);
        let is_inside =
            |cpu: &usize| inside.is_none_or(|part| part.cpus.binary_search(cpu).is_ok());
        let found = node.targets.iter().find_map(|target| {
            let free = |cpu: &&usize| node.free[**cpu] && is_inside(cpu);
            Some((target.pus.clone(), *target.cpus.iter().find(free)?))
        });
        let Some((pus, cpu)) = found else {
            return if is_set {
                Err(Stop::Refused("a host has no CPU left to bind to".to_owned()))
            } else {
                Ok(Place::Unbound)
            };
        };
        node.free[cpu] = false;
        if overload && node.free.iter().all(|free| !free) {
            node.free.fill(true);
        }
        Ok(node.topology.place(&pus))
    }

    /// Binds a rank to the first free CPUs of its part, or of the first package that has enough.
    fn bind_to_several(&mut self, host: usize, part: Option<usize>) -> Result<Place, Stop> {
        let each = self.each();
        let node = &mut self.nodes[host];
        let free = |part: &Part| {
            let cpus = part.cpus.iter().copied().filter(|cpu| node.free[*cpu]);
            cpus.take(each).collect::<Vec<usize>>()
        };
        let cpus = match part {
            Some(part) => Some(free(&node.parts[part])).filter(|cpus| !cpus.is_empty()),
            None => {
                let packages = node.topology.parts(Resource::Package);
                packages.iter().map(free).find(|cpus| cpus.len() == each)
            }
        };
        let Some(cpus) = cpus else {
            let text = format!("no package has {} left", counted(each, "CPU"));
            return Err(Stop::Refused(text));
        };
        let mut pus = Vec::new();
        for cpu in cpus {
            node.free[cpu] = false;
            pus.extend(node.topology.pus_of_cpu(cpu));
        }
        Ok(node.topology.place(&pus))
    }

    fn number(&self) -> number::Order {
        let counts: Vec<usize> = self.nodes.iter().map(|node| node.ranks.len()).collect();
        let default = match self.map {
            Map::Node => RankBy::Node,
            Map::Slot => RankBy::Slot,
            _ if self.policy.span => RankBy::Part(None, Deal::Span),
            Map::Part(_) => RankBy::Part(None, Deal::Fill),
            _ => RankBy::Slot,
        };
        let deal = match self.policy.rank_by.unwrap_or(default) {
            RankBy::Slot => return number::by_slot(&counts),
            RankBy::Node => return number::by_node(&counts),
            RankBy::Part(_, deal) => deal,
        };
        let hosts = self.nodes.iter().map(|node| number::OnParts {
            count: node.ranks.len(),
            parts: node.parts.len(),
            is_on: Box::new(|rank, part| node.ranks[rank].0 == part),
        });
        number::by_part(&hosts.collect::<Vec<_>>(), deal)
    }
}

/// A host that is full is left for the next.
fn go_on(stop: Stop) -> Result<(), Stop> {
    match stop {
        Stop::Full => Ok(()),
        Stop::Refused(_) => Err(stop),
    }
}

/// The first and last number of a word of the list.
fn range(word: &str) -> (usize, usize) {
    let (from, to) = word.split_once('-').unwrap_or((word, word));
    (from.parse().unwrap_or(0), to.parse().unwrap_or(0))
}
