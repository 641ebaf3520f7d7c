//! What holds for every [`Cluster`](super::Cluster): the checks of [`ClusterDescription::build`].
//! All of them together take time in proportion to the size of the description.

use std::collections::HashSet;
use std::fmt::{Debug, Display};
use std::hash::Hash;
use std::ops::RangeBounds;

use super::rates::{MEMORY_COPIES, REMOTE_MEMORY_FACTORS, SPREADS, WIRE};
use super::{
    Calibration, ClusterDescription, Core, Gpu, Machine, MemoryAccess, Nic, Node, NodeGroup, Rates,
    SPEEDS, Switch, hostlist,
};
use crate::files::InputError;
use crate::ids::{NumaId, PuId};
use crate::units::{BytesPerSecond, Seconds};

/// The most switches on the way from a node to the top of the tree.
pub(super) const MOST_SWITCH_LEVELS: usize = 64;

/// Which part of a [`ClusterDescription`] contradicts the others.
///
/// Readers check what they read and name the line; this error is for descriptions made in code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: found {found}, expected {expected}")]
pub struct ClusterError {
    /// The field as in Rust: `nodes[3].group`.
    pub field: String,
    /// Its value.
    pub found: String,
    /// The values it may have.
    pub expected: String,
}

impl ClusterError {
    fn new(field: impl Into<String>, actual: impl Display, expected: impl Display) -> Self {
        Self { field: field.into(), found: actual.to_string(), expected: expected.to_string() }
    }

    /// The error with the path of the field inside of `element`: `groups[1].machine` and
    /// `cores[7].numa` give `groups[1].machine.cores[7].numa`.
    fn inside(self, element: impl Display) -> Self {
        let dot = if self.field.is_empty() { "" } else { "." };
        Self { field: format!("{element}{dot}{}", self.field), ..self }
    }

    /// The error of an input; `source` is the file, or what stands for it.
    #[must_use]
    pub fn in_source(self, source: impl Display) -> InputError {
        InputError::new(source, self.found, self.expected).in_field(self.field)
    }
}

type Checked = Result<(), ClusterError>;

pub(super) fn check(description: &ClusterDescription) -> Checked {
    let ClusterDescription { name: _, emulated: _, invented: _, rates, groups, nodes, switches } =
        description;
    check_rates(rates).map_err(|error| error.inside("rates"))?;
    each(groups, "groups", |_, group| check_group(group))?;
    check_switches(switches)?;
    check_nodes(nodes, groups.len(), switches.len())
}

fn check_nodes(nodes: &[Node], groups: usize, switches: usize) -> Checked {
    within("nodes.len()", nodes.len(), 1..)?;
    let mut names = HashSet::with_capacity(nodes.len());
    each(nodes, "nodes", |_, node| {
        if !hostlist::is_host_name(&node.name) {
            return Err(ClusterError::new("name", format!("`{}`", node.name), "a host name"));
        }
        unique(&mut names, node.name.as_str(), "name")?;
        within("group", node.group, 0..groups)?;
        node.switch.map_or(Ok(()), |switch| within("switch", switch, 0..switches))
    })
}

fn check_switches(switches: &[Switch]) -> Checked {
    let mut names = HashSet::with_capacity(switches.len());
    each(switches, "switches", |index, switch| {
        unique(&mut names, switch.name.as_str(), "name")?;
        switch.uplink.map_or(Ok(()), |rate| bandwidth("uplink", rate))?;
        switch.parent.map_or(Ok(()), |parent| within("parent", parent, index + 1..switches.len()))
    })?;
    let mut levels = vec![1; switches.len()];
    for (index, switch) in switches.iter().enumerate().rev() {
        levels[index] += switch.parent.map_or(0, |parent| levels[parent]);
        if levels[index] > MOST_SWITCH_LEVELS {
            let actual = format!("{MOST_SWITCH_LEVELS} switches above `{}`", switch.name);
            let expected = format!("at most {MOST_SWITCH_LEVELS} levels of switches");
            return Err(ClusterError::new(format!("switches[{index}].parent"), actual, expected));
        }
    }
    Ok(())
}

fn check_group(group: &NodeGroup) -> Checked {
    let NodeGroup { machine, free, speed } = group;
    check_machine(machine).map_err(|error| error.inside("machine"))?;
    within("free.len()", free.len(), machine.pus.len()..=machine.pus.len())?;
    within("speed", *speed, SPEEDS)
}

fn check_machine(machine: &Machine) -> Checked {
    let numa_nodes = machine.numa_nodes.len();
    within("packages", machine.packages, 1..)?;
    within("numa_nodes.len()", numa_nodes, 1..)?;
    within("cores.len()", machine.cores.len(), 1..)?;
    let mut numbers = HashSet::with_capacity(numa_nodes);
    each(&machine.numa_nodes, "numa_nodes", |_, node| {
        node.package.map_or(Ok(()), |package| within("package", package, 0..machine.packages))?;
        unique(&mut numbers, node.os_index, "os_index")?;
        node.package_numa_nodes.map_or(Ok(()), |all| within("package_numa_nodes", all, 1..))?;
        let cores = machine.cores.len();
        each(&node.access, "access", |_, access| check_access(access, cores))
    })?;
    each(&machine.cores, "cores", |_, core| check_core(core, machine))?;
    check_pus(machine)?;
    each(&machine.nics, "nics", |_, nic| check_nic(nic, numa_nodes))?;
    each(&machine.gpus, "gpus", |_, Gpu { near, .. }| check_near(near, numa_nodes))?;
    let Some(rows) = &machine.numa_distance else { return Ok(()) };
    within("numa_distance.len()", rows.len(), numa_nodes..=numa_nodes)?;
    each(rows, "numa_distance", |_, row| within("len()", row.len(), numa_nodes..=numa_nodes))
}

fn check_access(access: &MemoryAccess, cores: usize) -> Checked {
    within("cores.len()", access.cores.len(), 1..)?;
    let mut least = 0;
    each(&access.cores, "cores", |_, core| {
        within("", core.index(), least..cores)?;
        least = core.index() + 1;
        Ok(())
    })?;
    access.bandwidth.map_or(Ok(()), |rate| bandwidth("bandwidth", rate))?;
    access.latency.map_or(Ok(()), |time| latency("latency", time))
}

fn check_core(core: &Core, machine: &Machine) -> Checked {
    within("package", core.package, 0..machine.packages)?;
    within("numa", core.numa.index(), 0..machine.numa_nodes.len())?;
    within("pus.len()", core.pus.len(), 1..)
}

/// PUs stand core by core, as the cores list them, and none of them twice.
fn check_pus(machine: &Machine) -> Checked {
    let listed: usize = machine.cores.iter().map(|core| core.pus.len()).sum();
    within("pus.len()", machine.pus.len(), listed..=listed)?;
    let mut expected = machine
        .cores
        .iter()
        .enumerate()
        .flat_map(|(index, core)| core.pus.iter().map(move |pu| (index, *pu)));
    each(&machine.pus, "pus", |_, pu| match expected.next() {
        Some((core, id)) if (core, id) != (pu.core.index(), pu.id) => {
            let actual = format!("P#{} of core L#{}", pu.id, pu.core);
            Err(ClusterError::new("", actual, format!("P#{id} of core L#{core}")))
        }
        _ => Ok(()),
    })?;
    // Sorting is faster than a hash set here: kernels number PUs in a few ascending runs.
    let mut numbers: Vec<PuId> = machine.pus.iter().map(|pu| pu.id).collect();
    numbers.sort();
    match numbers.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => {
            Err(ClusterError::new("pus", format!("a second P#{}", pair[0]), "unique values"))
        }
        None => Ok(()),
    }
}

fn check_nic(nic: &Nic, numa_nodes: usize) -> Checked {
    check_near(&nic.near, numa_nodes)?;
    nic.bandwidth.map_or(Ok(()), |rate| bandwidth("bandwidth", rate))?;
    nic.latency.map_or(Ok(()), |time| latency("latency", time))?;
    nic.pci_bandwidth.map_or(Ok(()), |rate| bandwidth("pci_bandwidth", rate))?;
    nic.contexts.map_or(Ok(()), |contexts| within("contexts", contexts, 1..))?;
    let mut least = 0;
    each(&nic.ports, "ports", |_, port| {
        within("number", u64::from(port.number), least..)?;
        least = u64::from(port.number) + 1;
        port.bandwidth.map_or(Ok(()), |rate| bandwidth("bandwidth", rate))
    })
}

fn check_near(near: &[NumaId], numa_nodes: usize) -> Checked {
    each(near, "near", |_, numa| within("", numa.index(), 0..numa_nodes))
}

fn check_rates(rates: &Rates) -> Checked {
    rates.nic_bandwidth.map_or(Ok(()), |rate| bandwidth("nic_bandwidth", rate))?;
    rates.nic_latency.map_or(Ok(()), |time| latency("nic_latency", time))?;
    rates.memory_bandwidth.map_or(Ok(()), |rate| bandwidth("memory_bandwidth", rate))?;
    within("remote_memory_factor", rates.remote_memory_factor, REMOTE_MEMORY_FACTORS)?;
    within("memory_copies", rates.memory_copies, MEMORY_COPIES)?;
    rates.cache_bandwidth.map_or(Ok(()), |rate| bandwidth("cache_bandwidth", rate))?;
    rates.memory_accesses.map_or(Ok(()), |rate| positive("memory_accesses", rate.0))?;
    let checked = rates.calibration.as_deref().map_or(Ok(()), check_calibration);
    checked.map_err(|error| error.inside("calibration"))
}

fn check_calibration(calibration: &Calibration) -> Checked {
    let mut names = HashSet::new();
    each(&calibration.devices, "devices", |_, device| {
        device.names.iter().try_for_each(|name| unique(&mut names, name.as_str(), "names"))?;
        bandwidth("bandwidth", device.bandwidth)?;
        latency("latency", device.latency)?;
        device.far_bandwidth.map_or(Ok(()), |rate| bandwidth("far_bandwidth", rate))?;
        device.far_latency.map_or(Ok(()), |time| latency("far_latency", time))
    })?;
    let mut levels = HashSet::new();
    each(&calibration.messages, "messages", |_, messages| {
        unique(&mut levels, messages.level, "level")?;
        latency("latency", messages.latency)?;
        let times = [
            ("send_overhead", messages.send_overhead),
            ("receive_overhead", messages.receive_overhead),
            ("gap", messages.gap),
        ];
        times
            .into_iter()
            .filter_map(|(field, time)| Some((field, time?)))
            .try_for_each(|(field, time)| latency(field, time))?;
        messages.bandwidth.map_or(Ok(()), |rate| bandwidth("bandwidth", rate))
    })?;
    check_pairs("pairs", &calibration.pairs)?;
    check_pairs("pairs_both_ways", &calibration.pairs_both_ways)?;
    calibration.wire_per_byte.map_or(Ok(()), |factor| within("wire_per_byte", factor, WIRE))?;
    each(&calibration.measured, "measured", |_, measured| {
        within("spread", measured.spread, SPREADS)?;
        within("samples", measured.samples, 1..)
    })
}

fn check_pairs(field: &str, pairs: &[(u32, BytesPerSecond)]) -> Checked {
    let mut before = 0;
    each(pairs, field, |_, (count, rate)| {
        within("0", *count, before + 1..)?;
        before = *count;
        bandwidth("1", *rate)
    })
}

/// Checks every element of a list; errors name the element.
fn each<'a, T>(
    list: &'a [T],
    name: &str,
    mut check: impl FnMut(usize, &'a T) -> Checked,
) -> Checked {
    let mut elements = list.iter().enumerate();
    elements.try_for_each(|(index, element)| {
        check(index, element).map_err(|error| error.inside(format_args!("{name}[{index}]")))
    })
}

/// Refuses a value that `seen` has already.
fn unique<T: Copy + Eq + Hash + Display>(seen: &mut HashSet<T>, value: T, field: &str) -> Checked {
    if seen.insert(value) {
        return Ok(());
    }
    Err(ClusterError::new(field, format!("a second {value}"), "unique values"))
}

fn within<T: PartialOrd + Display>(
    field: &str,
    value: T,
    range: impl RangeBounds<T> + Debug,
) -> Checked {
    if range.contains(&value) {
        return Ok(());
    }
    Err(ClusterError::new(field, value, format!("{range:?}")))
}

fn bandwidth(field: &str, rate: BytesPerSecond) -> Checked {
    positive(field, rate.0)
}

fn positive(field: &str, rate: f64) -> Checked {
    if rate > 0.0 && rate.is_finite() {
        return Ok(());
    }
    Err(ClusterError::new(field, rate, "a rate above 0"))
}

fn latency(field: &str, time: Seconds) -> Checked {
    if time.0 >= 0.0 && time.0.is_finite() {
        return Ok(());
    }
    Err(ClusterError::new(field, time.0, "a time from 0 s"))
}
