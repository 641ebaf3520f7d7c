//! Network devices and GPUs. One PCI function is one device, whatever number of names the system
//! has for it; devices stand in the order of the PCI bus.

use std::collections::BTreeMap;

use super::element::Element;
use super::{Bitmap, Document, Version, version1};
use crate::cluster::{Gpu, Link, Nic, Port};
use crate::files::InputError;
use crate::ids::NumaId;

/// What an OS device is, as far as a node's devices tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// A device that message-passing libraries select by its name.
    Fabric,
    Network,
    Coprocessor,
    Gpu,
}

impl Role {
    fn of(device: &Element, version: Version) -> Option<Self> {
        let number: u64 = device.attribute("osdev_type")?.parse().ok()?;
        // The meanings are those of hwloc's `hwloc_obj_osdev_type_t`: before hwloc 3 a number for
        // each, since then a bit for each.
        if version != Version::Three {
            return match number {
                1 => Some(Self::Gpu),
                2 => Some(Self::Network),
                3 => Some(Self::Fabric),
                5 => Some(Self::Coprocessor),
                _ => None,
            };
        }
        let is = |bit: u32| number >> bit & 1 == 1;
        // hwloc 3 no longer counts BXI as OpenFabrics, but its name still comes first.
        let fabric = is(5) || is(4) && device.attribute("subtype") == Some("BXI");
        let roles = [
            (fabric, Self::Fabric),
            (is(4), Self::Network),
            (is(3), Self::Coprocessor),
            (is(2), Self::Gpu),
        ];
        roles.into_iter().find_map(|(holds, role)| holds.then_some(role))
    }
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
    file: &Document<'_>,
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
    /// Role and name of each OS device on it.
    os_devices: Vec<(Role, &'a str)>,
    ports: Vec<Port>,
}

struct Walk<'a, 'b> {
    file: &'b Document<'b>,
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
                if let Some(role) = Role::of(element, self.file.version) {
                    let name = element.attribute("name").unwrap_or_default();
                    self.functions[index].os_devices.push((role, name));
                    self.functions[index].ports.extend(ports(element));
                }
            }
            "Bridge" | "Misc" => {}
            _ => own_near = self.locality(element)?,
        }
        self.visit_children(element, &own_near, own_function)
    }

    fn visit_children(
        &mut self,
        element: &'a Element,
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

    fn add(&mut self, pci: Option<&'a Element>, near: &[NumaId]) -> usize {
        self.functions.push(Function {
            pci,
            near: near.to_vec(),
            os_devices: Vec::new(),
            ports: Vec::new(),
        });
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

/// The ports of a device with the states that the kernel's InfiniBand layer tells: `Port1State` is 4
/// where the link is active, 5 where it is active for a moment longer.
fn ports(device: &Element) -> impl Iterator<Item = Port> {
    let infos = device.children.iter().filter(|child| child.name == "info");
    infos.filter_map(|info| {
        let name = info.attribute("name")?.strip_prefix("Port")?.strip_suffix("State")?;
        let state: u32 = info.attribute("value")?.split(':').next()?.trim().parse().ok()?;
        let link = if matches!(state, 4 | 5) { Link::Up } else { Link::Down };
        Some(Port { number: name.parse().ok()?, link: Some(link), bandwidth: None })
    })
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

    fn names(&self, roles: [Role; 2]) -> Vec<String> {
        let of_role = |role: Role| {
            let devices = self.os_devices.iter().filter(move |(known, _)| *known == role);
            devices.map(|(_, name)| (*name).to_owned())
        };
        roles.into_iter().flat_map(of_role).filter(|name| !name.is_empty()).collect()
    }

    /// The device by its OpenFabrics name, else its interface name.
    fn nic(&self) -> Option<Nic> {
        let mut names = self.names([Role::Fabric, Role::Network]).into_iter();
        let mut nic = Nic::new(names.next()?);
        nic.aliases = names.collect();
        nic.near.clone_from(&self.near);
        nic.pci = self.address();
        self.ports.iter().for_each(|port| nic.add_port(port.clone()));
        Some(nic)
    }

    fn gpu(&self) -> Option<Gpu> {
        let (class, vendor) = self.class_and_vendor();
        let names = self.names([Role::Coprocessor, Role::Gpu]);
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
