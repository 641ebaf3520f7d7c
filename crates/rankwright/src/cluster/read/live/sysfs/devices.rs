//! Network devices and GPUs: PCI functions, and what the kernel calls them.

use std::collections::BTreeMap;

use super::memories::Memories;
use super::set::Set;
use super::tree::Tree;
use crate::cluster::read::functions::{Function, PciFunction, Role, devices};
use crate::cluster::{Gpu, Nic};
use crate::ids::NumaId;
use crate::units::BytesPerSecond;

/// The folder of the PCI functions.
const PCI: &str = "sys/bus/pci/devices";

/// The kernel's classes of devices that matter here, and the prefix of their names.
const CLASSES: [(&str, &str, Role); 6] = [
    ("infiniband", "", Role::Fabric),
    ("cxi", "cxi", Role::Fabric),
    ("bxi", "", Role::Fabric),
    ("net", "", Role::Network),
    ("ve", "ve", Role::Coprocessor),
    ("drm", "card", Role::Gpu),
];

/// The network devices and GPUs of the machine.
pub(super) fn read(
    tree: &Tree,
    memories: &Memories,
    logical: &BTreeMap<u32, NumaId>,
) -> (Vec<Nic>, Vec<Gpu>) {
    let place = Place { memories, logical };
    let mut functions: BTreeMap<String, Function> = BTreeMap::new();
    for address in tree.names(PCI) {
        let folder = format!("{PCI}/{address}");
        let pus = tree.mask(&format!("{folder}/local_cpus")).unwrap_or_default();
        let pci = Some(pci_function(tree, &folder, &address));
        functions.insert(address, function(pci, place.near(&pus)));
    }
    for (class, prefix, role) in CLASSES {
        for name in tree.names(&format!("sys/class/{class}")) {
            // Outputs of a display adapter are called card0-DP-1; scif0 is the bus of a Xeon Phi card.
            let is_part = role == Role::Gpu && name.contains('-');
            if !name.starts_with(prefix) || is_part || name.starts_with("scif") {
                continue;
            }
            let path = format!("sys/class/{class}/{name}");
            // Old kernels have a folder with a link.
            let Some(link) = tree.link(&path).or_else(|| tree.link(&format!("{path}/device")))
            else {
                continue;
            };
            if link.contains("/virtual/") || link.contains("/usb") {
                continue;
            }
            let of_pci = link.split('/').rev().find(|part| functions.contains_key(*part));
            let key = of_pci.map_or_else(|| format!("{class}/{name}"), str::to_owned);
            let device = functions.entry(key).or_insert_with(|| {
                let number = tree.number(&format!("{path}/device/numa_node"));
                function(None, place.near_node(number))
            });
            device.os_devices.push((role, name));
        }
    }
    devices(functions.into_values().collect())
}

fn function(pci: Option<PciFunction>, near: Vec<NumaId>) -> Function {
    Function { pci, near, os_devices: Vec::new(), ports: Vec::new() }
}

fn pci_function(tree: &Tree, folder: &str, address: &str) -> PciFunction {
    // `0x020700`
    let digits = |file: &str| {
        let text = tree.text(&format!("{folder}/{file}")).unwrap_or_default();
        text.trim_start_matches("0x").to_owned()
    };
    PciFunction {
        address: Some(address.to_owned()),
        class: digits("class").get(..2).unwrap_or_default().to_owned(),
        vendor: digits("vendor"),
        device: digits("device"),
        link: link(tree, folder),
    }
}

/// The rate of a PCIe link from its speed in GT/s, like `8.0 GT/s PCIe`, and its lanes. Of 10 bits, or of
/// 130 from the third generation on, two are the line code's.
fn link(tree: &Tree, folder: &str) -> Option<BytesPerSecond> {
    let text = tree.text(&format!("{folder}/current_link_speed"))?;
    let speed: f64 = text.split_whitespace().next()?.parse().ok()?;
    let lanes = tree.number(&format!("{folder}/current_link_width"))?;
    let lanes = u8::try_from(lanes).ok().filter(|lanes| *lanes > 0)?;
    let coded = if speed < 8.0 { 0.8 } else { 128.0 / 130.0 };
    let rate = speed * 1e9 * coded * f64::from(lanes) / 8.0;
    (rate > 0.0 && rate.is_finite()).then_some(BytesPerSecond(rate))
}

/// Where devices are.
struct Place<'a> {
    memories: &'a Memories,
    logical: &'a BTreeMap<u32, NumaId>,
}

impl Place<'_> {
    /// The NUMA nodes around PUs; empty for all of them, or where no PUs are known.
    fn near(&self, pus: &Set) -> Vec<NumaId> {
        if pus.is_empty() {
            return Vec::new();
        }
        let around = |pus_of: &Set| pus_of.is_empty() || pus_of.intersects(pus);
        let nodes = self.memories.list.iter().filter(|memory| around(&memory.pus));
        let numbers = nodes.filter_map(|memory| self.logical.get(&memory.node.os_index).copied());
        let mut near: Vec<NumaId> = numbers.collect();
        near.sort_unstable();
        if near.len() == self.logical.len() {
            near.clear();
        }
        near
    }

    /// The NUMA nodes beside that with a P#; the kernel writes -1 where it is unknown.
    fn near_node(&self, number: Option<i64>) -> Vec<NumaId> {
        let number = number.and_then(|number| u32::try_from(number).ok());
        let is_it = |node: u32| Some(node) == number;
        let memory = self.memories.list.iter().find(|memory| is_it(memory.node.os_index));
        memory.map(|memory| self.near(&memory.pus)).unwrap_or_default()
    }
}
