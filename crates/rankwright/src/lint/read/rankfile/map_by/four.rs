//! How Open MPI 4.1 maps, places, numbers and binds ranks. mpirun decides how many ranks each host gets;
//! the hosts then place them by these numbers alone. What `--do-not-launch --display-devel-map` displays is
//! therefore not always what a job gets; this follows the jobs.

use super::parts::{Part, Resource, Topology};
use super::policy::{Bind, Deal, Map, Policy, RankBy};
use super::{HostPlan, Plan, number};
use crate::lint::Place;
use crate::units::counted;

/// A host and the ranks that it has so far.
struct Node<'a> {
    topology: &'a Topology<'a>,
    slots: usize,
    ranks: usize,
}

impl Node<'_> {
    fn free(&self) -> usize {
        self.slots.saturating_sub(self.ranks)
    }
}

/// Maps, numbers and binds; hosts are given with their slots.
pub(super) fn plan(policy: &Policy<'_>, hosts: &[(Topology<'_>, usize)], ranks: usize) -> Plan {
    let map = policy.map.unwrap_or(default_map(policy, ranks));
    let nodes = hosts.iter().map(|(topology, slots)| Node { topology, slots: *slots, ranks: 0 });
    let mut job = Job { policy, map, ranks, mapped: 0, nodes: nodes.collect(), refusal: None };
    job.count();
    let mut plan = Plan { unit: job.unit(), refusal: job.refusal.take(), ..Plan::default() };
    let located: Vec<Located> = job.nodes.iter().map(|node| job.locate(node)).collect();
    plan.order = job.number(&located);
    for (node, located) in job.nodes.iter().zip(located) {
        let places = job.bind(plan.unit, node, &located).unwrap_or_else(|text| {
            plan.refusal.get_or_insert(text);
            vec![Place::Unknown; node.ranks]
        });
        plan.hosts.push(HostPlan { places });
    }
    plan
}

/// The mapping without `--map-by`.
pub(super) fn default_map(policy: &Policy<'_>, ranks: usize) -> Map<'static> {
    match (ranks, policy.threads) {
        (0..=2, true) => Map::Part(Resource::Thread),
        (0..=2, false) => Map::Part(Resource::Core),
        _ => Map::Part(Resource::Numa),
    }
}

struct Job<'a> {
    policy: &'a Policy<'a>,
    map: Map<'a>,
    ranks: usize,
    /// The number of ranks that hosts have so far.
    mapped: usize,
    nodes: Vec<Node<'a>>,
    refusal: Option<String>,
}

/// The parts of a host that its ranks are mapped to: `None` is the whole host.
struct Located {
    parts: Vec<Part>,
    of_rank: Vec<usize>,
}

impl Job<'_> {
    /// Decides how many ranks each host gets.
    fn count(&mut self) {
        match self.map {
            Map::Slot | Map::List(_) => self.count_by_slot(),
            Map::Node => self.count_by_node(),
            Map::Part(part) if self.policy.span => self.count_by_span(part),
            Map::Part(_) => self.count_by_part(),
            Map::Ppr(each, part) => self.count_per_part(each, part),
        }
        if self.mapped < self.ranks {
            self.refusal
                .get_or_insert(format!("the hosts have room for {}", counted(self.mapped, "rank")));
        }
    }

    /// The ranks of `-N` or `--npersocket` for a host.
    fn per(&self, node: &Node<'_>) -> Option<usize> {
        let (each, part) = self.policy.per?;
        Some(each.saturating_mul(node.topology.parts(part).len()))
    }

    /// Maps at most `count` further ranks to a host; returns whether all ranks are mapped now.
    fn give(&mut self, host: usize, count: usize) -> bool {
        let count = count.min(self.ranks - self.mapped);
        self.nodes[host].ranks += count;
        self.mapped += count;
        self.mapped == self.ranks
    }

    /// Refuses a host with more ranks than slots.
    fn check(&mut self, host: usize) {
        let node = &self.nodes[host];
        if node.ranks > node.slots && !self.policy.oversubscribe {
            let (ranks, slots) = (counted(node.ranks, "rank"), counted(node.slots, "slot"));
            self.refusal.get_or_insert(format!("a host has {ranks}, but {slots}"));
        }
    }

    fn count_by_slot(&mut self) {
        for host in 0..self.nodes.len() {
            let node = &self.nodes[host];
            let count = self.per(node).filter(|_| node.free() > 0).unwrap_or(node.free());
            if self.give(host, count) {
                return;
            }
        }
        // With -N, what is left is shared out.
        let (each, mut more) = divided(self.ranks - self.mapped, self.nodes.len());
        for host in 0..self.nodes.len() {
            let share = each + usize::from(more > 0);
            more = more.saturating_sub(1);
            let done = self.give(host, self.nodes[host].free().saturating_add(share));
            self.check(host);
            if done {
                return;
            }
        }
    }

    fn count_by_node(&mut self) {
        let mut left = self.nodes.len();
        while self.mapped < self.ranks && left > 0 {
            let missing = self.ranks - self.mapped;
            let each = (missing / left).max(1);
            let mut more = missing.saturating_sub(each * left);
            left = 0;
            for host in 0..self.nodes.len() {
                let node = &self.nodes[host];
                let per = self.per(node);
                if per.is_none() && node.free() == 0 {
                    continue;
                }
                let share = each + usize::from(more > 0);
                if per.is_none() {
                    more = more.saturating_sub(1);
                }
                left += 1;
                let done = self.give(host, per.unwrap_or(share.min(node.free())));
                self.check(host);
                if done || self.refusal.is_some() {
                    return;
                }
            }
        }
    }

    fn count_by_part(&mut self) {
        loop {
            let mut any = false;
            for host in 0..self.nodes.len() {
                let node = &self.nodes[host];
                let count = self.per(node).unwrap_or(node.free());
                if count == 0 {
                    continue;
                }
                any = true;
                let done = self.give(host, count);
                self.check(host);
                if done || self.refusal.is_some() {
                    return;
                }
            }
            if !any {
                return;
            }
        }
    }

    /// As many ranks on each part of all hosts, whatever their slots.
    fn count_by_span(&mut self, part: Resource) {
        let parts: Vec<usize> =
            self.nodes.iter().map(|node| node.topology.parts(part).len()).collect();
        let total: usize = parts.iter().sum();
        let each = (self.ranks / total.max(1)).max(1);
        let mut more = self.ranks.saturating_sub(each * total);
        for (host, parts) in parts.into_iter().enumerate() {
            let extra = more.min(parts);
            more -= extra;
            if self.give(host, each * parts + extra) {
                return;
            }
        }
    }

    fn count_per_part(&mut self, each: usize, part: Resource) {
        for host in 0..self.nodes.len() {
            let parts = self.nodes[host].topology.parts(part).len();
            let done = self.give(host, each.saturating_mul(parts));
            self.check(host);
            if done || self.refusal.is_some() {
                return;
            }
        }
    }

    /// The parts that a host gives its ranks, in turn, or one part after the other for `ppr:`.
    fn locate(&self, node: &Node<'_>) -> Located {
        let (each, part) = match self.map {
            Map::Part(part) => (1, part),
            Map::Ppr(each, part) => (each, part),
            _ => (1, Resource::Node),
        };
        let parts = node.topology.parts(part);
        let of_rank = (0..node.ranks).map(|rank| rank / each % parts.len().max(1)).collect();
        Located { parts, of_rank }
    }

    fn number(&self, located: &[Located]) -> number::Order {
        let counts: Vec<usize> = self.nodes.iter().map(|node| node.ranks).collect();
        let default = || match self.policy.map {
            Some(Map::Node) => RankBy::Node,
            Some(Map::Part(part)) => RankBy::Part(Some(part), Deal::Turn),
            _ => RankBy::Slot,
        };
        let (part, deal) = match self.policy.rank_by.unwrap_or_else(default) {
            RankBy::Part(Some(part), deal) => (part, deal),
            RankBy::Node => return number::by_node(&counts),
            RankBy::Slot | RankBy::Part(None, _) => return number::by_slot(&counts),
        };
        let hosts: Vec<number::OnParts<'_>> = self
            .nodes
            .iter()
            .zip(located)
            .map(|(node, located)| {
                let targets = node.topology.parts(part);
                let is_known = node.topology.is_known();
                let overlap = |part: &Part, target: &Part| !is_known || part.overlaps(target);
                let overlaps: Vec<Vec<bool>> = located
                    .parts
                    .iter()
                    .map(|part| targets.iter().map(|target| overlap(part, target)).collect())
                    .collect();
                number::OnParts {
                    count: node.ranks,
                    parts: targets.len(),
                    is_on: Box::new(move |rank, target| overlaps[located.of_rank[rank]][target]),
                }
            })
            .collect();
        number::by_part(&hosts, deal)
    }

    /// What ranks are bound to.
    fn unit(&self) -> Option<Resource> {
        let cpu = if self.policy.threads { Resource::Thread } else { Resource::Core };
        match self.policy.bind {
            Some(Bind::None) => return None,
            Some(Bind::To(part)) => return Some(part),
            None if self.policy.cpus.is_some() => return Some(cpu),
            None => {}
        }
        // Only :span lets a host have more ranks than slots.
        if self.nodes.iter().any(|node| node.ranks > node.slots) {
            return None;
        }
        match self.map {
            Map::Part(part) if !self.policy.is_assumed => Some(part),
            _ if self.ranks <= 2 => Some(cpu),
            _ => Some(Resource::Numa),
        }
    }

    /// The places of the ranks of a host; the error is why mpirun ends.
    fn bind(
        &self,
        unit: Option<Resource>,
        node: &Node<'_>,
        located: &Located,
    ) -> Result<Vec<Place>, String> {
        let Some(unit) = unit else { return Ok(vec![Place::Unbound; node.ranks]) };
        if !node.topology.is_known() {
            return Ok(vec![Place::Unknown; node.ranks]);
        }
        let each = self.policy.cpus.unwrap_or(0);
        let is_small = |part: &usize| located.parts[*part].cpus.len() < each;
        if matches!(self.map, Map::Part(_)) && located.of_rank.iter().any(is_small) {
            return Err(format!("PE={each} is more than the CPUs of a part"));
        }
        let mapped = match self.map {
            Map::Part(part) | Map::Ppr(_, part) => part,
            _ => Resource::Node,
        };
        let bound = if mapped == unit {
            self.bind_in_place(located)
        } else {
            self.bind_below(&node.topology.parts(unit), each, located)
        };
        match bound {
            Some(bound) => Ok(bound.into_iter().map(|pus| node.topology.place(&pus)).collect()),
            // Without --bind-to, all ranks of the host are unbound.
            None if self.policy.bind.is_none() && self.policy.cpus.is_none() => {
                Ok(vec![Place::Unbound; node.ranks])
            }
            None => Err(format!("too few CPUs on a host to bind each rank to a {}", unit.name())),
        }
    }

    /// Binds each rank to its part, or to the next one (else to one before) that has a CPU left. `None` if
    /// there is none.
    fn bind_in_place(&self, located: &Located) -> Option<Vec<Vec<usize>>> {
        let parts = &located.parts;
        let mut bound = vec![0; parts.len()];
        let mut all = Vec::new();
        for &wanted in &located.of_rank {
            let mut at = Some(wanted);
            if bound[wanted] >= parts[wanted].cpus.len() {
                let is_free = |part: &usize| bound[*part] < parts[*part].cpus.len();
                at = (wanted + 1..parts.len()).find(is_free);
                at = at.or_else(|| (0..wanted).rev().find(is_free));
                at = at.or(self.policy.overload.then_some(wanted));
            }
            bound[at?] += 1;
            all.push(parts[at?].pus.clone());
        }
        Some(all)
    }

    /// Binds each rank to the target in its part that has the fewest ranks, and with `PE=` also to the next
    /// ones. `None` if a target has more ranks than CPUs.
    fn bind_below(
        &self,
        targets: &[Part],
        each: usize,
        located: &Located,
    ) -> Option<Vec<Vec<usize>>> {
        let within = |part: &Part| {
            let within = (0..targets.len()).filter(|target| part.overlaps(&targets[*target]));
            within.collect::<Vec<usize>>()
        };
        let within: Vec<Vec<usize>> = located.parts.iter().map(within).collect();
        let mut bound = vec![0; targets.len()];
        let mut all = Vec::new();
        for part in &located.of_rank {
            let mut target = *within[*part].iter().min_by_key(|target| bound[**target])?;
            let (mut pus, mut cpus) = (Vec::new(), 0);
            loop {
                let here = targets.get(target)?;
                bound[target] += 1;
                if here.cpus.len() < bound[target] && !self.policy.overload {
                    return None;
                }
                pus.extend(&here.pus);
                cpus += here.cpus.len();
                target += 1;
                if cpus >= each {
                    break;
                }
            }
            all.push(pus);
        }
        Some(all)
    }
}

/// A share, and how many get one more.
fn divided(total: usize, among: usize) -> (usize, usize) {
    (total / among.max(1), total % among.max(1))
}
