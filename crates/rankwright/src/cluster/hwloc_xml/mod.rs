//! Reading the XML files of hwloc (`lstopo node.xml`) without hwloc, so that a cluster can be
//! planned for on a machine that has another version of it or none.
//!
//! Version 2 of the format is read, which hwloc 2.0 to 2.x write. PUs that the file lists but does
//! not allow (another cgroup's) are not free; offline PUs are not there.

mod bitmap;
mod devices;
mod distances;
mod element;

use std::collections::BTreeMap;
use std::path::Path;

use self::bitmap::Bitmap;
use self::element::Element;
use super::tree::{self, Kind, Object};
use super::{NodeGroup, NumaNode};
use crate::files::{InputError, read_text};
use crate::ids::{LARGEST_INDEX, NumaId};
use crate::units::Bytes;

/// What a file must be, for error messages.
pub const EXPECTED: &str = "hwloc XML of version 2 (written by `lstopo node.xml`)";

/// Reads a file.
///
/// # Errors
/// As [`parse`], and if the file cannot be read.
pub fn read(path: &Path) -> Result<NodeGroup, InputError> {
    parse(&read_text(path, EXPECTED)?, &path.display().to_string())
}

/// Whether a text looks like XML rather than anything else that describes a cluster.
#[must_use]
pub fn sniff(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with('<')
}

/// Reads the text of a file; `file` names it in errors. The group has the node's hardware and
/// which of its PUs are allowed.
///
/// # Errors
/// If the text is not well-formed XML, defines entities, nests deeper than any machine, is of
/// another version, or describes no usable machine; the error has the line.
pub fn parse(text: &str, file: &str) -> Result<NodeGroup, InputError> {
    let topology = element::parse(text, file)?;
    let wrong = |element: &Element, found: String| {
        InputError::new(file, found, EXPECTED).at_line(element.line)
    };
    if topology.name != "topology" {
        return Err(wrong(&topology, format!("an element <{}>", topology.name)));
    }
    // Version 1 has no such attribute.
    let version = topology.attribute("version").unwrap_or("1");
    if version.split('.').next() != Some("2") {
        let advice = match version.starts_with('1') {
            true => "hwloc 2 converts it: lstopo -i old.xml new.xml",
            false => "export it with the lstopo of hwloc 2",
        };
        return Err(wrong(&topology, format!("hwloc XML of version {version}")).with_advice(advice));
    }
    let machine = topology.children.iter().find(|child| child.name == "object");
    let Some(machine) = machine.filter(|object| object.attribute("type") == Some("Machine")) else {
        return Err(wrong(&topology, "no object of type Machine".to_owned()));
    };
    Version2 { file, topology: &topology }.group(machine)
}

/// A file of version 2.
struct Version2<'a> {
    file: &'a str,
    topology: &'a Element,
}

impl Version2<'_> {
    fn error(&self, element: &Element, found: impl Into<String>, expected: &str) -> InputError {
        InputError::new(self.file, found.into(), expected).at_line(element.line)
    }

    fn group(&self, root: &Element) -> Result<NodeGroup, InputError> {
        let mut object = Object::new(Kind::Other);
        self.fill(&mut object, root)?;
        let mut machine = tree::machine(&object)
            .map_err(|(found, expected)| self.error(root, found, &expected))?;
        let logical: BTreeMap<u32, NumaId> = machine
            .numa_nodes
            .iter()
            .enumerate()
            .map(|(index, node)| (node.os_index, NumaId::from_index(index)))
            .collect();
        let devices = devices::collect(self, root, &logical)?;
        (machine.nics, machine.gpus) = devices;
        machine.numa_distance = distances::numa_latency(self, root, &logical)?;
        let allowed = self.bitmap(root, "allowed_cpuset")?;
        let is_free = |number| allowed.as_ref().is_none_or(|allowed| allowed.contains(number));
        let free = machine.pus.iter().map(|pu| is_free(pu.id.0)).collect();
        Ok(NodeGroup { machine, free })
    }

    /// Fills an object with what stands in its element.
    fn fill(&self, object: &mut Object, element: &Element) -> Result<(), InputError> {
        for child in element.children.iter().filter(|child| child.name == "object") {
            match child.attribute("type").unwrap_or_default() {
                "NUMANode" => object.memories.push(self.memory(child)?),
                // A cache in front of a memory.
                "MemCache" => {
                    let mut cache = Object::new(Kind::Other);
                    self.fill(&mut cache, child)?;
                    object.memories.append(&mut cache.memories);
                }
                "Bridge" | "PCIDev" | "OSDev" | "Misc" => {}
                kind => {
                    let mut below = Object::new(self.kind(child, kind)?);
                    self.fill(&mut below, child)?;
                    object.children.push(below);
                }
            }
        }
        Ok(())
    }

    fn kind(&self, element: &Element, kind: &str) -> Result<Kind, InputError> {
        let data_cache = kind.starts_with('L') && kind.ends_with("Cache") && !kind.contains('i');
        Ok(match kind {
            "Package" => Kind::Package,
            "Core" => Kind::Core,
            "PU" => Kind::Pu(self.index(element)?),
            _ if data_cache => Kind::Cache,
            _ => Kind::Other,
        })
    }

    fn memory(&self, element: &Element) -> Result<NumaNode, InputError> {
        let memory = element.attribute("local_memory").map(|size| {
            let size = size.parse().ok().filter(|size| *size < i64::MAX as u64);
            size.ok_or_else(|| self.error(element, "local_memory that is no size", "bytes"))
        });
        let kind = element.attribute("subtype").filter(|kind| *kind != "DRAM" && !kind.is_empty());
        Ok(NumaNode {
            os_index: self.index(element)?,
            memory: memory.transpose()?.filter(|size| *size > 0).map(Bytes),
            kind: kind.map(str::to_owned),
        })
    }

    /// The P# of an object that must have one.
    fn index(&self, element: &Element) -> Result<u32, InputError> {
        let index = element.attribute("os_index").and_then(|index| index.parse().ok());
        index.filter(|index| *index <= LARGEST_INDEX).ok_or_else(|| {
            let kind = element.attribute("type").unwrap_or_default();
            let value = element.attribute("os_index").unwrap_or_default();
            let found = format!("a {kind} with os_index=\"{value}\"");
            self.error(element, found, &format!("a number from 0 to {LARGEST_INDEX}"))
        })
    }

    fn bitmap(&self, element: &Element, name: &str) -> Result<Option<Bitmap>, InputError> {
        let Some(text) = element.attribute(name) else {
            return Ok(None);
        };
        let wrong =
            || self.error(element, format!("{name}=\"{text}\""), "a bitmap like 0x0000ffff");
        text.parse().map(Some).map_err(|()| wrong())
    }
}

#[cfg(test)]
mod tests;
