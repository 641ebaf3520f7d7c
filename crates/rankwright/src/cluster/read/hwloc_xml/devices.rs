//! Network devices and GPUs of a file.

use std::collections::BTreeMap;

use super::element::Element;
use super::{Bitmap, Document, Version, version1};
use crate::cluster::read::functions::{Function, PciFunction, Role, devices};
use crate::cluster::{Gpu, Link, Nic, Port};
use crate::files::InputError;
use crate::ids::NumaId;
use crate::units::BytesPerSecond;

/// The role of an OS device, if it has one here.
fn role_of(device: &Element, version: Version) -> Option<Role> {
    let number: u64 = device.attribute("osdev_type")?.parse().ok()?;
    // `hwloc_obj_osdev_type_t`: a number before hwloc 3, a set of bits since.
    if version != Version::Three {
        return match number {
            1 => Some(Role::Gpu),
            2 => Some(Role::Network),
            3 => Some(Role::Fabric),
            5 => Some(Role::Coprocessor),
            _ => None,
        };
    }
    let is = |bit: u32| number >> bit & 1 == 1;
    // hwloc 3 no longer counts BXI as OpenFabrics, but its name still takes precedence.
    let fabric = is(5) || is(4) && device.attribute("subtype") == Some("BXI");
    let roles = [
        (fabric, Role::Fabric),
        (is(4), Role::Network),
        (is(3), Role::Coprocessor),
        (is(2), Role::Gpu),
    ];
    roles.into_iter().find_map(|(holds, role)| holds.then_some(role))
}

/// All network devices and GPUs of the machine.
pub(super) fn collect(
    file: &Document<'_>,
    root: &Element,
    logical: &BTreeMap<u32, NumaId>,
) -> Result<(Vec<Nic>, Vec<Gpu>), InputError> {
    let mut functions = Vec::new();
    let mut walk = Walk { file, logical, functions: &mut functions };
    walk.visit(root, &[], None)?;
    Ok(devices(functions))
}

struct Walk<'b> {
    file: &'b Document<'b>,
    logical: &'b BTreeMap<u32, NumaId>,
    functions: &'b mut Vec<Function>,
}

impl Walk<'_> {
    /// `near` has the NUMA nodes of the first object above that is not an I/O object; `function` is
    /// the position of the PCI function above.
    fn visit(
        &mut self,
        element: &Element,
        near: &[NumaId],
        function: Option<usize>,
    ) -> Result<(), InputError> {
        let (mut child_near, mut child_function) = (near.to_vec(), function);
        match element.attribute("type").unwrap_or_default() {
            "PCIDev" => child_function = Some(self.add(Some(element), near)),
            "OSDev" => {
                let index = function.unwrap_or_else(|| self.add(None, near));
                if let Some(role) = role_of(element, self.file.version) {
                    let name = element.attribute("name").unwrap_or_default();
                    self.functions[index].os_devices.push((role, name.to_owned()));
                    self.functions[index].ports.extend(ports(element));
                }
            }
            "Bridge" | "Misc" => {}
            _ => child_near = self.locality(element)?,
        }
        self.visit_children(element, &child_near, child_function)
    }

    fn visit_children(
        &mut self,
        element: &Element,
        near: &[NumaId],
        function: Option<usize>,
    ) -> Result<(), InputError> {
        for child in element.children.iter().filter(|child| child.name == "object") {
            if version1::is_at(self.file, child, element)? {
                self.visit_children(child, near, function)?;
            } else {
                self.visit(child, near, function)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, pci: Option<&Element>, near: &[NumaId]) -> usize {
        self.functions.push(Function {
            pci: pci.map(pci_function),
            near: near.to_vec(),
            os_devices: Vec::new(),
            ports: Vec::new(),
        });
        self.functions.len() - 1
    }

    /// The NUMA nodes of an object; empty if it has all of them.
    fn locality(&self, element: &Element) -> Result<Vec<NumaId>, InputError> {
        let nodeset: Option<Bitmap> = self.file.bitmap(element, "nodeset")?;
        let Some(nodeset) = nodeset else {
            return Ok(Vec::new());
        };
        let inside = self.logical.iter().filter(|(os, _)| nodeset.contains(**os));
        let mut near: Vec<NumaId> = inside.map(|(_, numa)| *numa).collect();
        near.sort_unstable();
        if near.len() == self.logical.len() {
            near.clear();
        }
        Ok(near)
    }
}

/// The ports of a device with their states in the kernel's InfiniBand layer: `Port1State` is 4 for
/// ACTIVE, 5 for ACTIVE_DEFER.
fn ports(device: &Element) -> impl Iterator<Item = Port> {
    let infos = device.children.iter().filter(|child| child.name == "info");
    infos.filter_map(|info| {
        let name = info.attribute("name")?.strip_prefix("Port")?.strip_suffix("State")?;
        let state: u32 = info.attribute("value")?.split(':').next()?.trim().parse().ok()?;
        let link = if matches!(state, 4 | 5) { Link::Up } else { Link::Down };
        Some(Port { number: name.parse().ok()?, link: Some(link), bandwidth: None })
    })
}

/// What a file says of a PCI function: its type is like `0207 [15b3:101b] ..`.
fn pci_function(element: &Element) -> PciFunction {
    let text = element.attribute("pci_type").unwrap_or_default();
    let ids = text.split_once('[').and_then(|(_, rest)| rest.split_once(':'));
    let (vendor, rest) = ids.unwrap_or_default();
    // In GB/s, and 0 where it is unknown.
    let speed = element.attribute("pci_link_speed").and_then(|speed| speed.parse().ok());
    PciFunction {
        address: element.attribute("pci_busid").map(str::to_owned),
        class: text.get(..2).unwrap_or_default().to_owned(),
        vendor: vendor.to_owned(),
        device: rest.get(..4).unwrap_or_default().to_owned(),
        link: speed
            .filter(|speed: &f64| *speed > 0.0 && speed.is_finite())
            .map(|gigabytes| BytesPerSecond(gigabytes * 1e9)),
    }
}
