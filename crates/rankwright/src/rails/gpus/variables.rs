//! The variables of the vendors' libraries: which GPUs a rank sees, and in which order.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::cluster::{GpuVendor, bus_order};
use crate::placement::{
    DeviceEntry, GpuUse, JobEntry, NodeEntry, PlacementFile, RankEntry, Settings,
};

/// The library by which programs use the GPUs of a vendor.
struct Library {
    /// The variable that lists the devices that a process sees.
    visible: &'static str,
    /// Variables, with their values, by which this list counts whole GPUs.
    unit: &'static [(&'static str, &'static str)],
    /// The variable, with its value, by which the library counts in the order of the bus.
    order: Option<(&'static str, &'static str)>,
}

/// ROCm has a second variable, `HIP_VISIBLE_DEVICES`. It counts in what the first one leaves, so only
/// one of them may be set.
fn library(vendor: GpuVendor) -> Library {
    match vendor {
        GpuVendor::Nvidia => Library {
            visible: "CUDA_VISIBLE_DEVICES",
            unit: &[],
            order: Some(("CUDA_DEVICE_ORDER", "PCI_BUS_ID")),
        },
        GpuVendor::Amd => Library { visible: "ROCR_VISIBLE_DEVICES", unit: &[], order: None },
        // Level Zero counts tiles unless told otherwise.
        GpuVendor::Intel => Library {
            visible: "ZE_AFFINITY_MASK",
            unit: &[("ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE")],
            order: Some(("ZE_ENABLE_PCI_ID_DEVICE_ORDER", "1")),
        },
    }
}

/// Sets the variables for the GPUs of a job's ranks. Under `near` these are the same for all ranks and
/// hide nothing: the order in which GPUs count. Under `one-per-rank` each rank sees only its GPU, by
/// its number among the GPUs of its vendor on the node, in the order of the bus. Returns notes.
pub fn set_variables(
    placement: &PlacementFile,
    job: &JobEntry,
    settings: &mut Settings,
) -> Vec<String> {
    let nodes: HashMap<&str, &NodeEntry> =
        placement.nodes.iter().map(|node| (node.name.as_str(), node)).collect();
    let with_gpu = job.ranks.iter().filter_map(|entry| {
        let (name, node) = (entry.gpus.first()?, nodes.get(entry.node.as_str())?);
        let gpu = node.gpus.iter().find(|gpu| gpu.name == *name)?;
        Some((entry, *node, gpu))
    });
    match placement.gpus {
        GpuUse::None => Vec::new(),
        GpuUse::Near => {
            let vendors: BTreeSet<GpuVendor> =
                with_gpu.filter_map(|(_, _, gpu)| gpu.gpu_vendor()).collect();
            for (name, value) in vendors.into_iter().filter_map(|vendor| library(vendor).order) {
                (0..job.ranks.len()).for_each(|rank| settings.set(rank, name, value));
            }
            Vec::new()
        }
        GpuUse::OnePerRank => {
            let (mut unknown, mut ranks) = (BTreeSet::new(), BTreeMap::new());
            for (entry, node, gpu) in with_gpu {
                *ranks.entry(node.name.as_str()).or_insert(0) += 1;
                match gpu.gpu_vendor() {
                    Some(vendor) => show_only(node, gpu, vendor, entry.rank.index(), settings),
                    None => _ = unknown.insert((gpu.name.as_str(), node.name.as_str())),
                }
            }
            remarks(unknown.first().copied(), ranks.values().any(|ranks| *ranks > 1))
        }
    }
}

/// How many GPUs of its GPU's vendor the node of a rank has; `None` if it has none.
#[must_use]
pub fn count_like(placement: &PlacementFile, entry: &RankEntry) -> Option<usize> {
    let node = placement.node(&entry.node).filter(|_| !entry.gpus.is_empty())?;
    let gpu = node.gpus.iter().find(|gpu| entry.gpus.contains(&gpu.name))?;
    let alike = |other: &&DeviceEntry| other.gpu_vendor() == gpu.gpu_vendor();
    Some(node.gpus.iter().filter(alike).count())
}

fn show_only(
    node: &NodeEntry,
    gpu: &DeviceEntry,
    vendor: GpuVendor,
    rank: usize,
    settings: &mut Settings,
) {
    let of_vendor = node.gpus.iter().filter(|other| other.gpu_vendor() == Some(vendor));
    let mut gpus: Vec<&DeviceEntry> = of_vendor.collect();
    gpus.sort_by_key(|gpu| bus_order(gpu.pci.as_deref()));
    let Some(number) = gpus.iter().position(|other| other.name == gpu.name) else { return };
    let library = library(vendor);
    for (name, value) in library.unit.iter().chain(&library.order) {
        settings.set(rank, name, *value);
    }
    settings.set(rank, library.visible, number.to_string());
}

fn remarks(unknown: Option<(&str, &str)>, several_on_a_node: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some((gpu, node)) = unknown {
        notes.push(format!(
            "the vendor of the GPU {gpu} of {node} is unknown, so no variable hides it from ranks: \
             write `vendor = \"nvidia\"`, `\"amd\"` or `\"intel\"` into its [[node.gpu]]"
        ));
    }
    if several_on_a_node {
        notes.push(
            "each rank sees one GPU, as its device 0; ranks that do not see each other's GPU may be \
             unable to copy between them directly (GPU IPC): `--gpus near` hides none"
                .to_owned(),
        );
    }
    notes
}
