//! Network devices and GPUs. One PCI function is one device, whatever number of names the system
//! has for it; devices stand in the order of the PCI bus.

use std::collections::BTreeMap;

use super::element::Element;
use super::{Bitmap, Version2};
use crate::cluster::{Gpu, Nic};
use crate::files::InputError;
use crate::ids::NumaId;

/// The numbers that version 2 gives to types of OS devices.
mod osdev_type {
    pub(super) const GPU: &str = "1";
    pub(super) const NETWORK: &str = "2";
    pub(super) const OPENFABRICS: &str = "3";
    pub(super) const COPROCESSOR: &str = "5";
}

/// The PCI base class of display controllers.
const DISPLAY_CLASS: &str = "03";

/// Vendors of the display adapters of server boards and virtual machines, which compute nothing:
/// ASPEED, Matrox, Cirrus Logic, QEMU, virtio, VMware, VirtualBox, Hyper-V.
const CONSOLE_VENDORS: [&str; 8] = ["1a03", "102b", "1013", "1234", "1af4", "15ad", "80ee", "1414"];

/// The names of one GPU, the one that programs select it by first.
const GPU_NAMES: [&str; 6] = ["cuda", "rsmi", "ze", "nvml", "opencl", "card"];

/// All network devices and GPUs below the machine.
pub(super) fn collect(
    file: &Version2<'_>,
    root: &Element,
    logical: &BTreeMap<u32, NumaId>,
) -> Result<(Vec<Nic>, Vec<Gpu>), InputError> {
    let mut functions = Vec::new();
    let mut walk = Walk { file, logical, functions: &mut functions };
    walk.visit(root, &[], None)?;
    functions.sort_by_key(Function::pci_order);
    let nics = functions.iter().filter_map(Function::nic).collect();
    let gpus = functions.iter().filter_map(Function::gpu).collect();
    Ok((nics, gpus))
}

/// A PCI function, or a device that hangs on none.
struct Function<'a> {
    pci: Option<&'a Element>,
    near: Vec<NumaId>,
    /// Type and name of each OS device on it.
    os_devices: Vec<(&'a str, &'a str)>,
}

struct Walk<'a, 'b> {
    file: &'b Version2<'b>,
    logical: &'b BTreeMap<u32, NumaId>,
    functions: &'b mut Vec<Function<'a>>,
}

impl<'a> Walk<'a, '_> {
    /// `near` are the NUMA nodes of the first object above that is no I/O object; `function` is
    /// the PCI function above.
    fn visit(
        &mut self,
        element: &'a Element,
        near: &[NumaId],
        function: Option<usize>,
    ) -> Result<(), InputError> {
        let (mut own_near, mut own_function) = (near.to_vec(), function);
        match element.attribute("type").unwrap_or_default() {
            "PCIDev" => own_function = Some(self.add(Some(element), near)),
            "OSDev" => {
                let index = function.unwrap_or_else(|| self.add(None, near));
                let kind = element.attribute("osdev_type").unwrap_or_default();
                let name = element.attribute("name").unwrap_or_default();
                self.functions[index].os_devices.push((kind, name));
            }
            "Bridge" | "Misc" => {}
            _ => own_near = self.locality(element)?,
        }
        for child in element.children.iter().filter(|child| child.name == "object") {
            self.visit(child, &own_near, own_function)?;
        }
        Ok(())
    }

    fn add(&mut self, pci: Option<&'a Element>, near: &[NumaId]) -> usize {
        self.functions.push(Function { pci, near: near.to_vec(), os_devices: Vec::new() });
        self.functions.len() - 1
    }

    /// The NUMA nodes of an object; none if it has all of them.
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

impl Function<'_> {
    fn address(&self) -> Option<String> {
        self.pci.and_then(|pci| pci.attribute("pci_busid")).map(str::to_owned)
    }

    /// Domain, bus, device and function; what has no address stands behind.
    fn pci_order(&self) -> (bool, Vec<u32>) {
        let address = self.address();
        let parts = address.iter().flat_map(|address| address.split([':', '.']));
        let numbers = parts.map(|part| u32::from_str_radix(part, 16).unwrap_or(u32::MAX)).collect();
        (address.is_none(), numbers)
    }

    /// Base class and vendor: `02` and `15b3` from `0207 [15b3:101b] ..`.
    fn class_and_vendor(&self) -> (&str, &str) {
        let text = self.pci.and_then(|pci| pci.attribute("pci_type")).unwrap_or_default();
        let vendor = text.split_once('[').and_then(|(_, rest)| rest.split_once(':'));
        (text.get(..2).unwrap_or_default(), vendor.map_or("", |(vendor, _)| vendor))
    }

    fn names(&self, kinds: &[&str]) -> Vec<String> {
        let of_kind = |kind: &str| {
            let devices = self.os_devices.iter().filter(move |(known, _)| *known == kind);
            devices.map(|(_, name)| (*name).to_owned()).collect::<Vec<_>>()
        };
        kinds.iter().flat_map(|kind| of_kind(kind)).filter(|name| !name.is_empty()).collect()
    }

    /// The device by its OpenFabrics name, else its interface name.
    fn nic(&self) -> Option<Nic> {
        let mut names = self.names(&[osdev_type::OPENFABRICS, osdev_type::NETWORK]).into_iter();
        let mut nic = Nic::new(names.next()?);
        nic.aliases = names.collect();
        nic.near.clone_from(&self.near);
        nic.pci = self.address();
        Some(nic)
    }

    fn gpu(&self) -> Option<Gpu> {
        let (class, vendor) = self.class_and_vendor();
        let names = self.names(&[osdev_type::COPROCESSOR, osdev_type::GPU]);
        let rank = |name: &String| {
            let known = GPU_NAMES.iter().position(|start| name.starts_with(start));
            known.unwrap_or(GPU_NAMES.len())
        };
        let name = names.into_iter().min_by_key(rank);
        let console = CONSOLE_VENDORS.contains(&vendor);
        // OpenCL calls processors devices too; they are on no bus.
        let processor =
            self.pci.is_none() && name.as_ref().is_some_and(|n| n.starts_with("opencl"));
        if console || processor || (class != DISPLAY_CLASS && name.is_none()) {
            return None;
        }
        let pci = self.address();
        Some(Gpu { name: name.or_else(|| pci.clone())?, near: self.near.clone(), pci })
    }
}
