//! NUMA nodes: their kinds, and their bandwidths and latencies (hwloc's memory attributes).

use std::collections::BTreeMap;

use super::Document;
use super::element::Element;
use crate::cluster::{Machine, MemoryAccess, NumaNode};
use crate::files::InputError;
use crate::ids::{CoreId, NumaId};
use crate::units::{Bytes, BytesPerSecond, Seconds};

/// hwloc's unit of bandwidth, in bytes per second.
const MIB: f64 = 1_048_576.0;

/// The largest value of an attribute in MiB/s or nanoseconds; no memory reaches it.
const LARGEST_VALUE: u64 = 1_000_000_000_000;

/// The most attribute values times cores: a limit on the memory that a file can take.
const MOST_VALUES: usize = 100_000_000;

impl Document<'_> {
    /// A NUMA node. Its kind is the subtype; else what the operating system says about the device
    /// behind it, else its memory tier in hwloc 3.
    pub(super) fn memory(&self, element: &Element) -> Result<NumaNode, InputError> {
        let os_index = self.index(element)?;
        let kind = match element.attribute("subtype").filter(|subtype| !subtype.is_empty()) {
            Some(subtype) => Some(subtype),
            None => match device_kind(element) {
                Some(kind) => Some(kind),
                None => self.tier(os_index)?,
            },
        };
        let kind = kind.filter(|kind| !is_plain(kind)).map(str::to_owned);
        let memory = self.local_memory(element)?;
        Ok(NumaNode { memory, kind, ..NumaNode::new(os_index) })
    }

    pub(super) fn local_memory(&self, element: &Element) -> Result<Option<Bytes>, InputError> {
        let memory = element.attribute("local_memory").map(|size| {
            let size = size.parse().ok().filter(|size| *size < i64::MAX as u64);
            size.ok_or_else(|| self.error(element, "local_memory that is not a size", "bytes"))
        });
        Ok(memory.transpose()?.filter(|size| *size > 0).map(Bytes))
    }

    /// The kind of the memory tier with this NUMA node (P#). Each kind is a bit; hwloc gives no subtype
    /// to NUMA nodes of a tier with several kinds.
    fn tier(&self, os_index: u32) -> Result<Option<&'static str>, InputError> {
        for tier in self.topology.children.iter().filter(|child| child.name == "memtier") {
            if self.bitmap(tier, "nodeset")?.is_some_and(|set| set.contains(os_index)) {
                return Ok(match tier.attribute("kinds").unwrap_or_default() {
                    "1" => Some("HBM"),
                    "4" => Some("GPUMemory"),
                    "8" => Some("SPM"),
                    "16" => Some("NVM"),
                    "32" | "34" => Some("CXL-DRAM"),
                    "33" => Some("CXL-HBM"),
                    "36" => Some("CXL-GPUMemory"),
                    "40" => Some("CXL-SPM"),
                    "48" => Some("CXL-NVM"),
                    _ => None,
                });
            }
        }
        Ok(None)
    }
}

/// The kind of the device behind a NUMA node, where the operating system names one.
pub(super) fn device_kind(memory: &Element) -> Option<&str> {
    let dax = memory.info("DAXType");
    match memory.info("CXLDevice") {
        Some(_) if dax == Some("NVM") => Some("CXL-NVM"),
        Some(_) => Some("CXL-DRAM"),
        None => dax,
    }
}

/// Whether this kind is DRAM, from which the system allocates by default.
pub(super) fn is_plain(kind: &str) -> bool {
    kind.is_empty() || kind == "DRAM"
}

/// The memory attributes of a NUMA node for a set of initiating cores.
#[derive(Default)]
struct Attributes {
    /// MiB/s.
    bandwidth: ReadWrite,
    /// Nanoseconds.
    latency: ReadWrite,
}

/// An attribute for reading, for writing, and for both, which hwloc defines as the mean of the two.
#[derive(Default)]
struct ReadWrite {
    mean: Option<f64>,
    read: Option<f64>,
    write: Option<f64>,
}

impl ReadWrite {
    fn value(&self) -> Option<f64> {
        let mean = || Some(f64::midpoint(self.read?, self.write?));
        self.mean.or_else(mean).or(self.read).or(self.write).filter(|value| *value > 0.0)
    }
}

/// Adds bandwidths and latencies from the elements `<memattr>` to the NUMA nodes of a machine.
/// Initiators are the cores with a PU in the given set. Other attributes are ignored.
pub(super) fn add_access(
    file: &Document<'_>,
    root: &Element,
    logical: &BTreeMap<u32, NumaId>,
    machine: &mut Machine,
) -> Result<(), InputError> {
    let attributes = file.topology.children.iter().filter(|child| child.name == "memattr");
    let attributes: Vec<&Element> = attributes.collect();
    if attributes.is_empty() {
        return Ok(());
    }
    let values: usize = attributes.iter().map(|attribute| attribute.children.len()).sum();
    if values.saturating_mul(machine.cores.len()) > MOST_VALUES {
        let actual =
            format!("{values} values of memory attributes of {} cores", machine.cores.len());
        let expected = format!("at most {MOST_VALUES} values and cores, multiplied");
        return Err(file.error(attributes[0], actual, &expected));
    }
    let objects = root.by_number();
    let mut accesses: BTreeMap<(NumaId, Vec<CoreId>), Attributes> = BTreeMap::new();
    for attribute in attributes {
        let name = attribute.attribute("name").unwrap_or_default();
        for value in attribute.children.iter().filter(|child| child.name == "memattr_value") {
            let Some(target) = target(file, value, &objects, logical)? else { continue };
            let Some(cores) = initiator(file, value, &objects, machine)? else { continue };
            let entry = accesses.entry((target, cores)).or_default();
            let field = match name {
                "Bandwidth" => &mut entry.bandwidth.mean,
                "ReadBandwidth" => &mut entry.bandwidth.read,
                "WriteBandwidth" => &mut entry.bandwidth.write,
                "Latency" => &mut entry.latency.mean,
                "ReadLatency" => &mut entry.latency.read,
                "WriteLatency" => &mut entry.latency.write,
                _ => continue,
            };
            *field = Some(number(file, value, name)?);
        }
    }
    for ((numa, cores), attributes) in accesses {
        let bandwidth = attributes.bandwidth.value().map(|value| BytesPerSecond(value * MIB));
        let latency = attributes.latency.value().map(|value| Seconds(value / 1e9));
        if bandwidth.is_some() || latency.is_some() {
            let access = MemoryAccess { cores, bandwidth, latency };
            machine.numa_nodes[numa.index()].access.push(access);
        }
    }
    Ok(())
}

/// The NUMA node (L#) of a value; `None` if its target is not a NUMA node of the machine.
fn target(
    file: &Document<'_>,
    value: &Element,
    objects: &BTreeMap<u64, &Element>,
    logical: &BTreeMap<u32, NumaId>,
) -> Result<Option<NumaId>, InputError> {
    if value.attribute("target_obj_type") != Some("NUMANode") {
        return Ok(None);
    }
    let number = value.attribute("target_obj_gp_index").and_then(|number| number.parse().ok());
    let target = number.and_then(|number: u64| objects.get(&number));
    let Some(target) = target.filter(|target| target.attribute("type") == Some("NUMANode")) else {
        let number = value.attribute("target_obj_gp_index").unwrap_or_default();
        let actual = format!("target_obj_gp_index=\"{number}\"");
        return Err(file.error(value, actual, "the gp_index of a NUMANode of this file"));
    };
    Ok(logical.get(&file.index(target)?).copied())
}

/// The cores that initiate the accesses of a value; `None` if it has none of the machine.
fn initiator(
    file: &Document<'_>,
    value: &Element,
    objects: &BTreeMap<u64, &Element>,
    machine: &Machine,
) -> Result<Option<Vec<CoreId>>, InputError> {
    let object = || {
        let number = value.attribute("initiator_obj_gp_index")?.parse::<u64>().ok()?;
        objects.get(&number).copied()
    };
    let set = match file.bitmap(value, "initiator_cpuset")? {
        Some(set) => Some(set),
        None => match object() {
            Some(object) => file.bitmap(object, "cpuset")?,
            None => None,
        },
    };
    let Some(set) = set else { return Ok(None) };
    let inside =
        |core: &CoreId| machine.cores[core.index()].pus.iter().any(|pu| set.contains(pu.0));
    let cores: Vec<CoreId> = machine.core_ids().filter(inside).collect();
    Ok(Some(cores).filter(|cores| !cores.is_empty()))
}

fn number(file: &Document<'_>, value: &Element, name: &str) -> Result<f64, InputError> {
    let text = value.attribute("value").unwrap_or_default();
    let number = text.parse().ok().filter(|number: &u64| *number <= LARGEST_VALUE);
    let number = number.ok_or_else(|| {
        let unit = if name.ends_with("Bandwidth") { "MiB/s" } else { "nanoseconds" };
        let expected = format!("a whole number of {unit} up to {LARGEST_VALUE}");
        file.error(value, format!("value=\"{text}\" of {name}"), &expected)
    })?;
    Ok(number as f64)
}
