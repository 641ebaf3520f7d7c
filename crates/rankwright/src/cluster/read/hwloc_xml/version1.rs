//! Version 1 of the format: NUMA nodes are objects of the tree, above their cores; packages (sockets),
//! caches and distances have other names.

use std::collections::BTreeMap;

use super::element::Element;
use super::memory::{device_kind, is_plain};
use super::{Bitmap, Document, Version};
use crate::cluster::NumaNode;
use crate::cluster::read::tree::{Kind, Object};
use crate::files::InputError;
use crate::ids::NumaId;

/// The `cache_type` of an instruction cache.
const INSTRUCTIONS: &str = "2";

/// Whether an object of this type may be the root, instead of a machine.
pub(super) fn is_root(kind: &str) -> bool {
    kind == "System" || is_numa_node(kind)
}

fn is_numa_node(kind: &str) -> bool {
    matches!(kind, "NUMANode" | "Node")
}

/// Whether an element is a NUMA node with the same PUs as the object above, to which it is then
/// attached; never in other versions.
pub(super) fn is_at(
    file: &Document<'_>,
    element: &Element,
    above: &Element,
) -> Result<bool, InputError> {
    let is_ours = is_numa_node(element.attribute("type").unwrap_or_default());
    let set = |element| file.bitmap(element, "complete_cpuset");
    Ok(file.version == Version::One && is_ours && set(element)? == set(above)?)
}

impl Document<'_> {
    /// Adds the whole tree below `root` to its object.
    pub(super) fn fill_version_1(
        &self,
        object: &mut Object,
        root: &Element,
    ) -> Result<(), InputError> {
        if is_numa_node(root.attribute("type").unwrap_or_default()) {
            object.memories.extend(self.memory_version_1(root)?);
        }
        self.fill_inner(object, root)?;
        if !object.has_memory() {
            let memory = self.local_memory(root)?;
            object.memories.push(NumaNode { memory, ..NumaNode::new(0) });
        }
        Ok(())
    }

    fn fill_inner(&self, object: &mut Object, element: &Element) -> Result<(), InputError> {
        let mut without_pus = Vec::new();
        let mut in_order = true;
        for child in element.children.iter().filter(|child| child.name == "object") {
            let Some(below) = self.object_version_1(object, element, child)? else {
                continue;
            };
            if below.has_pu() {
                in_order &= without_pus.is_empty();
                object.children.push(below);
            } else if below.has_memory() {
                without_pus.push(below);
            }
        }
        // As hwloc 2 numbers them: after the others, in reverse if they were not there already.
        if !in_order {
            without_pus.reverse();
        }
        object.children.append(&mut without_pus);
        Ok(())
    }

    /// The object of an element; `None` if it is attached to the object above, or cannot have PUs or
    /// NUMA nodes.
    fn object_version_1(
        &self,
        object: &mut Object,
        above: &Element,
        element: &Element,
    ) -> Result<Option<Object>, InputError> {
        let kind = match element.attribute("type").unwrap_or_default() {
            "Bridge" | "PCIDev" | "OSDev" => return Ok(None),
            // Misc objects with a cpuset are groups that a user added.
            "Misc" if element.attribute("cpuset").is_none() => return Ok(None),
            kind if is_numa_node(kind) => return self.numa_node(object, above, element),
            "Socket" => Kind::Package,
            "Cache" if element.attribute("cache_type") != Some(INSTRUCTIONS) => {
                Kind::Cache(element.attribute("depth").and_then(|level| level.parse().ok()))
            }
            "Cache" => Kind::Other,
            kind => self.kind(element, kind)?,
        };
        let mut below = Object::new(kind);
        self.fill_inner(&mut below, element)?;
        Ok(Some(below))
    }

    /// Attaches a NUMA node to the object above it if both have the same PUs, else makes a group
    /// for it, as hwloc 2 does when it reads such a file.
    fn numa_node(
        &self,
        object: &mut Object,
        above: &Element,
        element: &Element,
    ) -> Result<Option<Object>, InputError> {
        let memory = self.memory_version_1(element)?;
        let cpuset = self.bitmap(element, "complete_cpuset")?;
        // MCDRAM of Knights Landing has no PUs here and follows the DRAM of its PUs.
        let beside_plain = matches!(object.memories.as_slice(), [only] if only.kind.is_none());
        let kind = memory.as_ref().and_then(|memory| memory.kind.as_deref());
        let fast =
            kind == Some("MCDRAM") && cpuset.as_ref().is_some_and(Bitmap::is_empty) && beside_plain;
        if fast || is_at(self, element, above)? {
            object.memories.extend(memory);
            self.fill_inner(object, element)?;
            return Ok(None);
        }
        let mut group = Object::new(Kind::Other);
        group.memories.extend(memory);
        self.fill_inner(&mut group, element)?;
        Ok(Some(group))
    }

    /// A NUMA node; its kind is an info attribute. `None` if it is not in its own nodeset, as NUMA
    /// nodes are that the cgroup does not allow.
    fn memory_version_1(&self, element: &Element) -> Result<Option<NumaNode>, InputError> {
        let os_index = self.index(element)?;
        if self.bitmap(element, "nodeset")?.is_some_and(|nodeset| !nodeset.contains(os_index)) {
            return Ok(None);
        }
        let kind = element
            .info("Type")
            .or_else(|| device_kind(element))
            .filter(|kind| !is_plain(kind))
            .map(str::to_owned);
        let memory = self.local_memory(element)?;
        Ok(Some(NumaNode { memory, kind, ..NumaNode::new(os_index) }))
    }
}

/// The distances between all NUMA nodes, by L#. The file has them as multiples of a base.
pub(super) fn numa_latency(
    file: &Document<'_>,
    root: &Element,
    logical: &BTreeMap<u32, NumaId>,
) -> Result<Option<Vec<Vec<u32>>>, InputError> {
    // They stand in the order in which the file has the NUMA nodes.
    let mut nodes = Vec::new();
    numa_nodes(root, &mut nodes);
    let count = nodes.len();
    let is_for_all = |element: &&Element| {
        element.name == "distances"
            && element.attribute("nbobjs").and_then(|text| text.parse().ok()) == Some(count)
    };
    let matrix = root.children.iter().find(is_for_all);
    let Some(matrix) = matrix.filter(|_| count > 1 && logical.len() > 1) else {
        return Ok(None);
    };
    let number = |element: &Element, name: &str| {
        let text = element.attribute(name).unwrap_or_default();
        let number = text.parse::<f64>().ok().filter(|number| (0.0..1e6).contains(number));
        number.ok_or_else(|| {
            let actual = format!("<{}> with {name}=\"{text}\"", element.name);
            file.error(element, actual, "a number from 0 to 1000000")
        })
    };
    let base = number(matrix, "latency_base")?;
    let latencies = matrix.children.iter().filter(|child| child.name == "latency");
    let values: Vec<f64> = latencies
        .map(|latency| Ok(number(latency, "value")? * base))
        .collect::<Result<_, InputError>>()?;
    if values.len() != count * count {
        let actual = format!("{} distances between {count} NUMA nodes", values.len());
        return Err(file.error(matrix, actual, &format!("{} numbers", count * count)));
    }
    let position = |node: &&Element| Ok(logical.get(&file.index(node)?).map(|numa| numa.index()));
    let positions: Vec<_> = nodes.iter().map(position).collect::<Result<_, InputError>>()?;
    let whole = |value: &f64| (value - value.round()).abs() < 0.001;
    let scale = if values.iter().all(whole) { 1.0 } else { 1000.0 };
    let mut distance = vec![vec![0; logical.len()]; logical.len()];
    for (from, row) in positions.iter().zip(values.chunks(count)) {
        for (to, value) in positions.iter().zip(row) {
            // NUMA nodes that the cgroup does not allow have no L#.
            if let (Some(from), Some(to)) = (*from, *to) {
                distance[from][to] = rounded(value * scale);
            }
        }
    }
    Ok(Some(distance))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a larger value is the largest, none is below 0"
)]
fn rounded(value: f64) -> u32 {
    value.round() as u32
}

/// All NUMA nodes in the order of the file.
fn numa_nodes<'a>(element: &'a Element, into: &mut Vec<&'a Element>) {
    if is_numa_node(element.attribute("type").unwrap_or_default()) {
        into.push(element);
    }
    element.children.iter().for_each(|child| numa_nodes(child, into));
}
