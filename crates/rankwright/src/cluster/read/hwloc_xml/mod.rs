//! XML files of hwloc (`lstopo node.xml`), read without hwloc: rankwright can plan for a cluster on a
//! machine with another version of hwloc, or without it.
//!
//! Versions 1, 2 and 3 of the format are read, each written by the hwloc of that number. PUs that the
//! file lists but does not allow (those of another cgroup) are not free, nor are those that version 1
//! lists as offline. Versions 2 and 3 do not list offline PUs.

mod bitmap;
mod devices;
mod distances;
mod element;
mod memory;
mod version1;

use std::path::Path;

use self::bitmap::Bitmap;
use self::element::Element;
use super::tree::{self, Kind, Object};
use crate::cluster::NodeGroup;
use crate::files::{InputError, read_text};
use crate::ids::LARGEST_INDEX;

/// What a file must be, for error messages.
pub const EXPECTED: &str = "hwloc XML of version 1, 2 or 3 (written by `lstopo node.xml`)";

/// Reads a file.
///
/// # Errors
/// As [`parse`], and if the file cannot be read.
pub fn read(path: &Path) -> Result<NodeGroup, InputError> {
    parse(&read_text(path, EXPECTED)?, &path.display().to_string())
}

/// Whether a text is XML, by its first character.
#[must_use]
pub fn sniff(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with('<')
}

/// Reads the text of a file; `file` names it in errors. In the group, PUs that the file allows are
/// free.
///
/// # Errors
/// If the text is not well-formed XML, defines entities, is nested deeper than any machine, has
/// another version, or does not describe a usable machine; the error has the line.
pub fn parse(text: &str, file: &str) -> Result<NodeGroup, InputError> {
    let topology = element::parse(text, file)?;
    let wrong = |element: &Element, actual: String| {
        InputError::new(file, actual, EXPECTED).at_line(element.line)
    };
    if topology.name != "topology" {
        return Err(wrong(&topology, format!("an element <{}>", topology.name)));
    }
    let Some(version) = Version::of(&topology) else {
        let version = topology.attribute("version").unwrap_or_default();
        let error = wrong(&topology, format!("hwloc XML of version {version}"));
        return Err(error.with_advice("export it with the lstopo of hwloc 1, 2 or 3"));
    };
    let is_root = |object: &&Element| {
        let kind = object.attribute("type").unwrap_or_default();
        kind == "Machine" || version == Version::One && version1::is_root(kind)
    };
    let machine = topology.children.iter().find(|child| child.name == "object");
    let Some(machine) = machine.filter(is_root) else {
        return Err(wrong(&topology, "no object of type Machine".to_owned()));
    };
    Document { file, topology: &topology, version }.group(machine)
}

/// A version of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    /// hwloc 1.0 to 1.11: NUMA nodes are objects between the machine and its cores.
    One,
    /// hwloc 2: NUMA nodes are attached to the objects that they are local to.
    Two,
    /// hwloc 3: as 2, and an OS device may have several types.
    Three,
}

impl Version {
    /// The version of a file, if it is known. Version 1 has no version attribute.
    fn of(topology: &Element) -> Option<Self> {
        match topology.attribute("version").map_or("1", |v| v.split('.').next().unwrap_or(v)) {
            "1" => Some(Self::One),
            "2" => Some(Self::Two),
            "3" => Some(Self::Three),
            _ => None,
        }
    }
}

/// The model of the first package that has one; the numbers of an Arm processor where the system has
/// no model. hwloc 1 may have them at the machine.
fn processor(object: &Element) -> Option<String> {
    let name = tree::processor_name(
        object.info("CPUModel"),
        object.info("CPUImplementer"),
        object.info("CPUPart"),
    );
    if name.is_some() {
        return name;
    }
    let objects = object.children.iter().filter(|child| child.name == "object");
    let above_cores = objects.filter(|child| child.attribute("type") != Some("Core"));
    above_cores.into_iter().find_map(processor)
}

/// The file that is read.
struct Document<'a> {
    file: &'a str,
    topology: &'a Element,
    version: Version,
}

impl Document<'_> {
    fn error(&self, element: &Element, actual: impl Into<String>, expected: &str) -> InputError {
        InputError::new(self.file, actual.into(), expected).at_line(element.line)
    }

    fn group(&self, root: &Element) -> Result<NodeGroup, InputError> {
        self.check_cores(root, false)?;
        let mut object = Object::new(Kind::Other);
        match self.version {
            Version::One => self.fill_version_1(&mut object, root)?,
            Version::Two | Version::Three => self.fill(&mut object, root)?,
        }
        let mut machine = tree::machine(&object)
            .map_err(|(actual, expected)| self.error(root, actual, &expected))?;
        let logical = tree::numa_by_number(&machine);
        let devices = devices::collect(self, root, &logical)?;
        (machine.nics, machine.gpus) = devices;
        machine.numa_distance = match self.version {
            Version::One => version1::numa_latency(self, root, &logical)?,
            Version::Two | Version::Three => distances::numa_latency(self, root, &logical)?,
        };
        machine.processor = processor(root);
        memory::add_access(self, root, &logical, &mut machine)?;
        let sets = [self.bitmap(root, "allowed_cpuset")?, self.bitmap(root, "online_cpuset")?];
        let is_free = |number| sets.iter().flatten().all(|set| set.contains(number));
        let free = machine.pus.iter().map(|pu| is_free(pu.id.0)).collect();
        Ok(NodeGroup { machine, free, speed: 1.0 })
    }

    /// Refuses a core inside of another core: a PU could belong to both.
    fn check_cores(&self, element: &Element, inside_core: bool) -> Result<(), InputError> {
        let is_core = element.attribute("type") == Some("Core");
        if is_core && inside_core {
            return Err(self.error(element, "a Core inside of a Core", "PUs inside of a Core"));
        }
        let mut objects = element.children.iter().filter(|child| child.name == "object");
        objects.try_for_each(|child| self.check_cores(child, inside_core || is_core))
    }

    /// Adds the children and NUMA nodes of an element to its object.
    fn fill(&self, object: &mut Object, element: &Element) -> Result<(), InputError> {
        for child in element.children.iter().filter(|child| child.name == "object") {
            match child.attribute("type").unwrap_or_default() {
                "NUMANode" => object.memories.push(self.memory(child)?),
                // A memory-side cache.
                "MemCache" => {
                    let mut cache = Object::new(Kind::Other);
                    self.fill(&mut cache, child)?;
                    object.memories.append(&mut cache.memories);
                }
                "Bridge" | "PCIDev" | "OSDev" | "Misc" => {}
                kind => {
                    let mut below = Object::new(self.kind(child, kind)?);
                    self.fill(&mut below, child)?;
                    if below.kind == Kind::Package {
                        self.count_hidden(&mut below, child)?;
                    }
                    object.children.push(below);
                }
            }
        }
        Ok(())
    }

    /// Tells the NUMA nodes of a package how many it has, if a cpuset or cgroup hid some from hwloc: its
    /// complete set has these, too. Not if some are of another kind than DRAM: those that are hidden
    /// could be of that kind.
    fn count_hidden(&self, package: &mut Object, element: &Element) -> Result<(), InputError> {
        let count = |name| Ok(self.bitmap(element, name)?.and_then(|set| set.count()));
        // Both also have the NUMA nodes above the package.
        let (Some(complete), Some(known)) = (count("complete_nodeset")?, count("nodeset")?) else {
            return Ok(());
        };
        let hidden = complete.saturating_sub(known);
        let (mut visible, mut plain) = (0, true);
        package.change_memories(&mut |node| {
            visible += 1;
            plain &= node.kind.is_none();
        });
        if plain && hidden > 0 {
            package.change_memories(&mut |node| node.package_numa_nodes = Some(visible + hidden));
        }
        Ok(())
    }

    fn kind(&self, element: &Element, kind: &str) -> Result<Kind, InputError> {
        let data_cache = kind.starts_with('L') && kind.ends_with("Cache") && !kind.contains('i');
        Ok(match kind {
            "Package" => Kind::Package,
            "Core" => Kind::Core,
            "PU" => Kind::Pu(self.index(element)?),
            _ if data_cache => Kind::Cache(
                kind.trim_start_matches('L').get(..1).and_then(|level| level.parse().ok()),
            ),
            _ => Kind::Other,
        })
    }

    /// The P# of a PU or NUMA node.
    fn index(&self, element: &Element) -> Result<u32, InputError> {
        let index = element.attribute("os_index").and_then(|index| index.parse().ok());
        index.filter(|index| *index <= LARGEST_INDEX).ok_or_else(|| {
            let kind = element.attribute("type").unwrap_or_default();
            let value = element.attribute("os_index").unwrap_or_default();
            let actual = format!("a {kind} with os_index=\"{value}\"");
            self.error(element, actual, &format!("a number from 0 to {LARGEST_INDEX}"))
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
