//! Slots for a number of ranks per node, package, NUMA node or GPU.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::num::NonZeroU32;

use serde::Serialize;

use super::slots::{FreeUnits, Slot, Unit, common_numa, cut, in_turn};
use crate::cluster::Machine;
use crate::ids::{NodeId, NumaId};
use crate::units::counted;

/// How many ranks every object of a kind takes. Objects without cores (memory-only NUMA nodes) take
/// none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum RanksPer {
    /// This many on each node.
    Node(NonZeroU32),
    /// On each node the number at its position, as a batch system grants tasks; 0 on nodes behind the
    /// end.
    NodeByNode(Vec<u32>),
    /// This many on each package.
    Package(NonZeroU32),
    /// This many on each NUMA node.
    Numa(NonZeroU32),
    /// `ranks` for every `gpus` GPUs of a node, on the cores of the GPUs' own NUMA nodes. Where the cores
    /// there are too few, ranks get other cores of the node.
    Gpus {
        /// The number of ranks.
        ranks: NonZeroU32,
        /// The number of GPUs.
        gpus: NonZeroU32,
    },
}

/// What each rank gets of an object's free cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Share {
    /// As many cores as all can have.
    Cores,
    /// As many PUs as all can have.
    Pus,
    /// This many cores, the first of an even share where that is within a NUMA node.
    CoresEach(NonZeroU32),
}

impl RanksPer {
    /// A number of ranks per GPU: `2`, or `1/2` for a rank with two GPUs.
    ///
    /// # Errors
    /// What is expected, if the text is neither.
    pub fn per_gpu(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.trim().parse::<NonZeroU32>().ok();
        let (ranks, gpus) = text.split_once('/').unwrap_or((text, "1"));
        match (number(ranks), number(gpus)) {
            (Some(ranks), Some(gpus)) if ranks.get() == 1 || gpus.get() == 1 => {
                Ok(Self::Gpus { ranks, gpus })
            }
            _ => Err("expected a number of ranks from 1, or 1/2, 1/3, .. for a rank with several \
                      GPUs"
                .to_owned()),
        }
    }
}

impl fmt::Display for RanksPer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(ranks) => write!(f, "{ranks} per node"),
            Self::NodeByNode(ranks) => {
                let most = ranks.iter().max().copied().unwrap_or_default();
                write!(f, "up to {most} per node, as granted")
            }
            Self::Package(ranks) => write!(f, "{ranks} per package"),
            Self::Numa(ranks) => write!(f, "{ranks} per NUMA node"),
            Self::Gpus { ranks, gpus: NonZeroU32::MIN } => write!(f, "{ranks} per GPU"),
            Self::Gpus { ranks, gpus } => write!(f, "{ranks} per {gpus} GPUs"),
        }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cores | Self::Pus => Ok(()),
            Self::CoresEach(cores) => write!(f, ", {} each", counted(cores.get() as usize, "core")),
        }
    }
}

/// Why an object cannot take its ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Lacking {
    /// It has too few free cores or PUs.
    Units {
        /// `NUMA node L#0 of`; empty for a node.
        object: String,
        free: usize,
        unit: &'static str,
        ranks: usize,
        /// The cores of each rank, if they are given.
        each: Option<NonZeroU32>,
    },
    /// The node has no GPU.
    NoGpu,
    /// The GPUs of the node cannot be divided among ranks.
    OddGpus { gpus: usize, each: NonZeroU32 },
}

impl Lacking {
    /// As part of a sentence, with the name of the node.
    pub(super) fn on(&self, node: &str) -> String {
        match self {
            Self::Units { object, free, unit, ranks, each } => {
                let each = each.map_or(String::new(), |cores| {
                    format!(" of {}", counted(cores.get() as usize, "core"))
                });
                let (ranks, free) = (counted(*ranks, "rank"), counted(*free, unit));
                format!("{object}{node} has {free} for {ranks}{each}")
            }
            Self::NoGpu => format!("{node} has no GPU"),
            Self::OddGpus { gpus, each } => {
                format!("{node} has {}, not a multiple of {each}", counted(*gpus, "GPU"))
            }
        }
    }
}

/// Free units for a number of ranks.
struct Part {
    /// What has them, for messages.
    object: String,
    units: Vec<Unit>,
    ranks: usize,
}

/// The units of each slot of a node. Objects with too few units take no rank; the first of them is the
/// other result.
pub(super) fn of_node(
    free: &FreeUnits,
    node: NodeId,
    ranks: &RanksPer,
    share: Share,
) -> (Vec<Vec<Unit>>, Option<Lacking>) {
    let units = if share == Share::Pus { free.pus() } else { free.cores() };
    let machine = free.machine;
    let parts = match ranks {
        RanksPer::Node(count) => vec![Part::node(units, count.get() as usize)],
        RanksPer::NodeByNode(counts) => match counts.get(node.index()) {
            None | Some(0) => Vec::new(),
            Some(count) => vec![Part::node(units, *count as usize)],
        },
        RanksPer::Package(count) => packages(machine, &units, *count),
        RanksPer::Numa(count) => numa_nodes(machine, &units, *count),
        RanksPer::Gpus { ranks, gpus } => match beside_gpus(machine, units, (*ranks, *gpus), share)
        {
            Ok(parts) => parts,
            Err(lacking) => return (Vec::new(), Some(lacking)),
        },
    };
    let (fit, unfit): (Vec<Part>, Vec<Part>) =
        parts.into_iter().partition(|part| part.units.len() >= share.least(part.ranks));
    let lacking = unfit.first().map(|part| part.lacking(share));
    let size = fit.iter().map(|part| part.units.len() / part.ranks).min().unwrap_or(1);
    (fit.into_iter().flat_map(|part| shared(machine, part, size, share)).collect(), lacking)
}

impl Share {
    /// The fewest units with which a number of ranks is possible.
    fn least(self, ranks: usize) -> usize {
        match self {
            Self::Cores | Self::Pus => ranks,
            Self::CoresEach(cores) => ranks.saturating_mul(cores.get() as usize),
        }
    }
}

impl Part {
    fn node(units: Vec<Unit>, ranks: usize) -> Self {
        Self { object: String::new(), units, ranks }
    }

    fn lacking(&self, share: Share) -> Lacking {
        Lacking::Units {
            object: self.object.clone(),
            free: self.units.len(),
            unit: if share == Share::Pus { "free PU" } else { "free core" },
            ranks: self.ranks,
            each: match share {
                Share::CoresEach(cores) => Some(cores),
                Share::Cores | Share::Pus => None,
            },
        }
    }
}

/// Shares of `size` units of a part, one for each of its ranks; of each share only what the ranks take.
fn shared(machine: &Machine, part: Part, size: usize, share: Share) -> Vec<Vec<Unit>> {
    let numa = |units: &Vec<Unit>| common_numa(machine, units);
    let groups = |units, size| in_turn(cut(machine, units, size), part.ranks, numa);
    let Share::CoresEach(cores) = share else { return groups(part.units, size) };
    let cores = cores.get() as usize;
    let mut trimmed = groups(part.units.clone(), size);
    trimmed.iter_mut().for_each(|units| trim(machine, units, cores));
    // Even shares may span NUMA nodes where groups of the wanted size need not.
    let spanning =
        |groups: &[Vec<Unit>]| groups.iter().filter(|group| numa(group).is_none()).count();
    match spanning(&trimmed) {
        0 => trimmed,
        count => {
            let packed = groups(part.units, cores);
            if spanning(&packed) < count { packed } else { trimmed }
        }
    }
}

/// Leaves `count` units, those of the NUMA node with the most of them first.
fn trim(machine: &Machine, units: &mut Vec<Unit>, count: usize) {
    let numa = |unit: &Unit| machine.cores[unit.core.index()].numa;
    let mut size: BTreeMap<NumaId, usize> = BTreeMap::new();
    units.iter().for_each(|unit| *size.entry(numa(unit)).or_default() += 1);
    units.sort_by_key(|unit| (std::cmp::Reverse(size[&numa(unit)]), numa(unit), *unit));
    units.truncate(count);
    units.sort_unstable();
}

fn packages(machine: &Machine, units: &[Unit], ranks: NonZeroU32) -> Vec<Part> {
    let has_cores: BTreeSet<usize> = machine.cores.iter().map(|core| core.package).collect();
    let part = |package: usize| {
        let inside = |unit: &&Unit| machine.cores[unit.core.index()].package == package;
        let units = units.iter().filter(inside).copied().collect();
        Part { object: format!("package L#{package} of "), units, ranks: ranks.get() as usize }
    };
    has_cores.into_iter().map(part).collect()
}

fn numa_nodes(machine: &Machine, units: &[Unit], ranks: NonZeroU32) -> Vec<Part> {
    let has_cores: BTreeSet<NumaId> = machine.cores.iter().map(|core| core.numa).collect();
    let part = |numa: NumaId| Part {
        object: format!("NUMA node L#{} of ", numa.0),
        units: of_numa_nodes(machine, units, &[numa]),
        ranks: ranks.get() as usize,
    };
    has_cores.into_iter().map(part).collect()
}

fn of_numa_nodes(machine: &Machine, units: &[Unit], numa_nodes: &[NumaId]) -> Vec<Unit> {
    let inside = |unit: &&Unit| numa_nodes.contains(&machine.cores[unit.core.index()].numa);
    units.iter().filter(inside).copied().collect()
}

/// Leaves of a node's slots those for its first `ranks` local ranks, of which the i-th uses the i-th `gpus`
/// GPUs of the node (modulo their number): slots beside these where there are any, else the first.
pub(super) fn retain_beside_gpus(
    machine: &Machine,
    slots: &mut Vec<Slot>,
    gpus: NonZeroU32,
    ranks: usize,
) {
    let gpus = gpus.get() as usize;
    let mut kept = BTreeSet::new();
    for rank in 0..ranks.min(slots.len()) {
        let own = (rank * gpus..(rank + 1) * gpus).map(|gpu| gpu % machine.gpus.len());
        let near: Vec<NumaId> = own.flat_map(|gpu| machine.gpus[gpu].near.clone()).collect();
        let mut free = (0..slots.len()).filter(|slot| !kept.contains(slot));
        let beside =
            free.clone().find(|slot| slots[*slot].numa.is_some_and(|numa| near.contains(&numa)));
        kept.extend(beside.or_else(|| free.next()));
    }
    let mut slot = 0..slots.len();
    slots.retain(|_| slot.next().is_some_and(|slot| kept.contains(&slot)));
}

/// The parts of a node beside its GPUs. Ranks whose GPUs have too few units beside them share what the
/// others leave; if these are too few, all ranks of the node share all of its units.
fn beside_gpus(
    machine: &Machine,
    units: Vec<Unit>,
    (ranks, gpus): (NonZeroU32, NonZeroU32),
    share: Share,
) -> Result<Vec<Part>, Lacking> {
    let places = ranks_beside(machine, ranks, gpus)?;
    let all_ranks = places.values().sum::<usize>();
    let mut rest = units.clone();
    let mut parts: Vec<Part> = Vec::new();
    let mut elsewhere = 0;
    // NUMA nodes of few GPUs first: sets of several may contain them.
    let mut places: Vec<(Vec<NumaId>, usize)> = places.into_iter().collect();
    places.sort_by_key(|(numa_nodes, _)| numa_nodes.len());
    for (index, (numa_nodes, ranks)) in places.iter().enumerate() {
        let beside = of_numa_nodes(machine, &rest, numa_nodes);
        // No more than an even share of what the sets behind this one need too.
        let overlaps =
            |other: &&(Vec<NumaId>, usize)| other.0.iter().any(|numa| numa_nodes.contains(numa));
        let later: Vec<_> = places[index + 1..].iter().filter(overlaps).collect();
        let common: Vec<NumaId> =
            later.iter().flat_map(|(numa, _)| numa).chain(numa_nodes).copied().collect();
        let claims = ranks + later.iter().map(|(_, ranks)| ranks).sum::<usize>();
        let even = ranks * (of_numa_nodes(machine, &rest, &common).len() / claims);
        let kept = even.max(share.least(*ranks)).min(beside.len());
        if kept < share.least(*ranks) {
            elsewhere += ranks;
            continue;
        }
        let taken: BTreeSet<Unit> = beside[..kept].iter().copied().collect();
        rest.retain(|unit| !taken.contains(unit));
        parts.push(Part::node(beside[..kept].to_vec(), *ranks));
    }
    if elsewhere > 0 {
        if rest.len() < share.least(elsewhere) {
            return Ok(vec![Part::node(units, all_ranks)]);
        }
        parts.push(Part::node(rest, elsewhere));
    }
    Ok(parts)
}

/// How many ranks belong beside each set of NUMA nodes. Ranks with several GPUs get them from one set
/// where possible, else from one package.
fn ranks_beside(
    machine: &Machine,
    ranks: NonZeroU32,
    gpus: NonZeroU32,
) -> Result<BTreeMap<Vec<NumaId>, usize>, Lacking> {
    if machine.gpus.is_empty() {
        return Err(Lacking::NoGpu);
    }
    let all: Vec<NumaId> = (0..machine.numa_nodes.len()).map(NumaId::from_index).collect();
    let package_of = machine.packages_beside();
    let near = |gpu: usize| {
        let near = &machine.gpus[gpu].near;
        if near.is_empty() { all.clone() } else { near.clone() }
    };
    let mut places: BTreeMap<Vec<NumaId>, usize> = BTreeMap::new();
    let mut rest: Vec<usize> = (0..machine.gpus.len()).collect();
    for border in [0, 1, 2] {
        let mut domains: BTreeMap<Vec<NumaId>, Vec<usize>> = BTreeMap::new();
        for gpu in rest.drain(..) {
            let near = near(gpu);
            let package = near.first().and_then(|numa| package_of[numa.index()]);
            let domain = match (border, package) {
                (0, _) => near,
                (1, Some(package)) => {
                    let inside = |numa: &NumaId| package_of[numa.index()] == Some(package);
                    all.iter().copied().filter(inside).collect()
                }
                _ => all.clone(),
            };
            domains.entry(domain).or_default().push(gpu);
        }
        for members in domains.into_values() {
            let whole = members.chunks_exact(gpus.get() as usize);
            rest.extend(whole.remainder());
            for group in whole {
                let beside: BTreeSet<NumaId> = group.iter().flat_map(|gpu| near(*gpu)).collect();
                *places.entry(beside.into_iter().collect()).or_default() += ranks.get() as usize;
            }
        }
    }
    if !rest.is_empty() {
        return Err(Lacking::OddGpus { gpus: machine.gpus.len(), each: gpus });
    }
    Ok(places)
}

#[cfg(test)]
mod tests;
