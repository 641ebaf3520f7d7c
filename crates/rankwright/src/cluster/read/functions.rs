//! PCI functions as network devices and GPUs, in the order of the bus. A function is one device, under
//! all names that the system has for it.

use crate::cluster::{Gpu, GpuVendor, Nic, Port, bus_order};
use crate::ids::NumaId;
use crate::units::BytesPerSecond;

/// The kinds of OS devices that matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Verbs, Omni-Path, BXI: communication libraries select the device by this name.
    Fabric,
    /// A network interface of the kernel.
    Network,
    Coprocessor,
    Gpu,
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

/// A PCI function, or an OS device without one.
pub(super) struct Function {
    pub(super) pci: Option<PciFunction>,
    /// The nearest NUMA nodes (L#); empty if those are all.
    pub(super) near: Vec<NumaId>,
    /// Role and name of each OS device.
    pub(super) os_devices: Vec<(Role, String)>,
    pub(super) ports: Vec<Port>,
}

/// What the bus says of a function.
pub(super) struct PciFunction {
    /// Like `0000:41:00.0`.
    pub(super) address: Option<String>,
    /// Base class, vendor and device in hexadecimal digits: `02`, `15b3` and `101b`; empty where unknown.
    pub(super) class: String,
    pub(super) vendor: String,
    pub(super) device: String,
    /// Rate of its PCIe link each way, where known.
    pub(super) link: Option<BytesPerSecond>,
}

/// The network devices and GPUs among functions.
pub(super) fn devices(mut functions: Vec<Function>) -> (Vec<Nic>, Vec<Gpu>) {
    functions.sort_by_key(Function::pci_order);
    let nics = functions.iter().filter_map(Function::nic).collect();
    (nics, functions.iter().filter_map(Function::gpu).collect())
}

impl Function {
    fn address(&self) -> Option<&str> {
        self.pci.as_ref()?.address.as_deref()
    }

    /// A sort key: domain, bus, device and function. Devices without an address come last.
    fn pci_order(&self) -> (bool, Vec<u32>) {
        bus_order(self.address())
    }

    fn names(&self, roles: [Role; 2]) -> Vec<String> {
        let names_of = |role: Role| {
            let devices = self.os_devices.iter().filter(move |(other, _)| *other == role);
            devices.map(|(_, name)| name.clone())
        };
        roles.into_iter().flat_map(names_of).filter(|name| !name.is_empty()).collect()
    }

    /// The network device, under its OpenFabrics name if it has one, else its interface name.
    fn nic(&self) -> Option<Nic> {
        let mut names = self.names([Role::Fabric, Role::Network]).into_iter();
        let mut nic = Nic::new(names.next()?);
        nic.aliases = names.collect();
        nic.near.clone_from(&self.near);
        nic.pci = self.address().map(str::to_owned);
        let pci = self.pci.as_ref();
        nic.pci_id = pci.and_then(|pci| format!("{}:{}", pci.vendor, pci.device).parse().ok());
        nic.pci_bandwidth = pci.and_then(|pci| pci.link);
        self.ports.iter().for_each(|port| nic.add_port(port.clone()));
        Some(nic)
    }

    fn gpu(&self) -> Option<Gpu> {
        let pci = self.pci.as_ref();
        let of_pci = |field: fn(&PciFunction) -> &String| pci.map_or("", |pci| field(pci));
        let (class, vendor) = (of_pci(|pci| &pci.class), of_pci(|pci| &pci.vendor));
        let device = of_pci(|pci| &pci.device);
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
        let pci = self.address().map(str::to_owned);
        let name = name.or_else(|| pci.clone())?;
        Some(Gpu { name, near: self.near.clone(), pci, vendor: vendor_of_gpu })
    }
}
