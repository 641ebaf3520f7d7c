//! Network devices and GPUs, in the order of the PCI bus. A PCI function is one device, under all
//! names that the system has for it.

use std::collections::BTreeMap;

use super::element::Element;
use super::{Bitmap, Document, Version, version1};
use crate::cluster::{Gpu, GpuVendor, Link, Nic, PciId, Port, bus_order};
use crate::files::InputError;
use crate::ids::NumaId;
use crate::units::BytesPerSecond;

/// The kinds of OS devices that matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Verbs, Omni-Path, BXI: communication libraries select the device by this name.
    Fabric,
    /// A network interface of the kernel.
    Network,
    Coprocessor,
    Gpu,
}

impl Role {
    fn of(device: &Element, version: Version) -> Option<Self> {
        let number: u64 = device.attribute("osdev_type")?.parse().ok()?;
        // `hwloc_obj_osdev_type_t`: a number before hwloc 3, a set of bits since.
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
        // hwloc 3 no longer counts BXI as OpenFabrics, but its name still takes precedence.
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

/// Vendors of display adapters of server boards and virtual machines, which are not compute devices:
/// ASPEED, Matrox (G200), XGI (Volari Z), Silicon Motion (SM750), Cirrus Logic, QEMU, virtio, VMware,
/// VirtualBox, Hyper-V. The numbers are those of the PCI ID Repository.
const CONSOLE_VENDORS: [&str; 10] =
    ["1a03", "102b", "18ca", "126f", "1013", "1234", "1af4", "15ad", "80ee", "1414"];

/// Display adapters of server boards by a vendor whose other devices compute, vendor and device: ATI
/// Rage XL, Radeon 7000 (RV100) and ES1000, and the Hibmc of Huawei.
const CONSOLE_DEVICES: [(&str, &str); 6] = [
    ("1002", "4752"),
    ("1002", "4753"),
    ("1002", "5159"),
    ("1002", "515e"),
    ("1002", "5969"),
    ("19e5", "1711"),
];

/// Prefixes of the names of a GPU; the first is the name by which programs select it.
const GPU_NAMES: [&str; 6] = ["cuda", "rsmi", "ze", "nvml", "opencl", "card"];

/// All network devices and GPUs of the machine.
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

/// A PCI function, or an OS device without one.
struct Function<'a> {
    pci: Option<&'a Element>,
    near: Vec<NumaId>,
    /// Role and name of each OS device.
    os_devices: Vec<(Role, &'a str)>,
    ports: Vec<Port>,
}

struct Walk<'a, 'b> {
    file: &'b Document<'b>,
    logical: &'b BTreeMap<u32, NumaId>,
    functions: &'b mut Vec<Function<'a>>,
}

impl<'a> Walk<'a, '_> {
    /// `near` has the NUMA nodes of the first object above that is not an I/O object; `function` is
    /// the position of the PCI function above.
    fn visit(
        &mut self,
        element: &'a Element,
        near: &[NumaId],
        function: Option<usize>,
    ) -> Result<(), InputError> {
        let (mut child_near, mut child_function) = (near.to_vec(), function);
        match element.attribute("type").unwrap_or_default() {
            "PCIDev" => child_function = Some(self.add(Some(element), near)),
            "OSDev" => {
                let index = function.unwrap_or_else(|| self.add(None, near));
                if let Some(role) = Role::of(element, self.file.version) {
                    let name = element.attribute("name").unwrap_or_default();
                    self.functions[index].os_devices.push((role, name));
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

impl Function<'_> {
    fn address(&self) -> Option<String> {
        self.pci.and_then(|pci| pci.attribute("pci_busid")).map(str::to_owned)
    }

    /// A sort key: domain, bus, device and function. Devices without an address come last.
    fn pci_order(&self) -> (bool, Vec<u32>) {
        bus_order(self.address().as_deref())
    }

    /// Vendor and device, where the file has them.
    fn pci_id(&self) -> Option<PciId> {
        let (_, vendor, device) = self.class_vendor_and_device();
        format!("{vendor}:{device}").parse().ok()
    }

    /// Rate of the PCIe link each way; hwloc has it in GB/s, and 0 where it is unknown.
    fn pci_bandwidth(&self) -> Option<BytesPerSecond> {
        let gigabytes: f64 = self.pci?.attribute("pci_link_speed")?.parse().ok()?;
        (gigabytes > 0.0 && gigabytes.is_finite()).then_some(BytesPerSecond(gigabytes * 1e9))
    }

    /// Base class, vendor and device: `02`, `15b3` and `101b` from `0207 [15b3:101b] ..`.
    fn class_vendor_and_device(&self) -> (&str, &str, &str) {
        let text = self.pci.and_then(|pci| pci.attribute("pci_type")).unwrap_or_default();
        let ids = text.split_once('[').and_then(|(_, rest)| rest.split_once(':'));
        let (vendor, rest) = ids.unwrap_or_default();
        (text.get(..2).unwrap_or_default(), vendor, rest.get(..4).unwrap_or_default())
    }

    fn names(&self, roles: [Role; 2]) -> Vec<String> {
        let names_of = |role: Role| {
            let devices = self.os_devices.iter().filter(move |(other, _)| *other == role);
            devices.map(|(_, name)| (*name).to_owned())
        };
        roles.into_iter().flat_map(names_of).filter(|name| !name.is_empty()).collect()
    }

    /// The network device, under its OpenFabrics name if it has one, else its interface name.
    fn nic(&self) -> Option<Nic> {
        let mut names = self.names([Role::Fabric, Role::Network]).into_iter();
        let mut nic = Nic::new(names.next()?);
        nic.aliases = names.collect();
        nic.near.clone_from(&self.near);
        nic.pci = self.address();
        nic.pci_id = self.pci_id();
        nic.pci_bandwidth = self.pci_bandwidth();
        self.ports.iter().for_each(|port| nic.add_port(port.clone()));
        Some(nic)
    }

    fn gpu(&self) -> Option<Gpu> {
        let (class, vendor, device) = self.class_vendor_and_device();
        let names = self.names([Role::Coprocessor, Role::Gpu]);
        let rank = |name: &String| {
            let position = GPU_NAMES.iter().position(|start| name.starts_with(start));
            position.unwrap_or(GPU_NAMES.len())
        };
        let by_name = || names.iter().find_map(|name| GpuVendor::of_name(name));
        let vendor_of_gpu = GpuVendor::of_pci(vendor).or_else(by_name);
        let name = names.into_iter().min_by_key(rank);
        let console =
            CONSOLE_VENDORS.contains(&vendor) || CONSOLE_DEVICES.contains(&(vendor, device));
        // OpenCL counts processors as devices, too; they have no PCI address.
        let processor =
            self.pci.is_none() && name.as_ref().is_some_and(|n| n.starts_with("opencl"));
        if console || processor || (class != DISPLAY_CLASS && name.is_none()) {
            return None;
        }
        let pci = self.address();
        let name = name.or_else(|| pci.clone())?;
        Some(Gpu { name, near: self.near.clone(), pci, vendor: vendor_of_gpu })
    }
}
