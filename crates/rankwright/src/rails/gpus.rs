//! GPUs beside the ranks and their network devices, and the variables that show ranks only their own.

use std::collections::{BTreeMap, HashMap};

use super::local::numa_nodes;
use crate::cluster::{Cluster, Gpu, Machine, Nic};
use crate::ids::{NodeId, NumaId};
use crate::placement::{
    DeviceEntry, JobEntry, JobPlacement, NodeEntry, Placement, PlacementError, PlacementFile,
    RankPlacement, Settings,
};

/// The placement with GPUs for the ranks of nodes that have some: as many to each as there are for
/// all, at least one; those beside the rank's network device first, of these the one that is next on
/// the bus (behind the same switch), then those beside its cores. GPUs that the placement names
/// already are replaced.
///
/// # Errors
/// If what it makes is no placement; that would be our fault.
pub fn beside(cluster: &Cluster, placement: &Placement) -> Result<Placement, PlacementError> {
    let mut jobs: Vec<JobPlacement> = placement.jobs().to_vec();
    let mut of_node: BTreeMap<NodeId, Vec<&mut RankPlacement>> = BTreeMap::new();
    for place in jobs.iter_mut().flat_map(|job| &mut job.ranks) {
        of_node.entry(place.node).or_default().push(place);
    }
    for (node, places) in of_node {
        assign(cluster.machine(node), places);
    }
    super::with_jobs(cluster, placement, jobs)
}

fn assign(machine: &Machine, places: Vec<&mut RankPlacement>) {
    if machine.gpus.is_empty() {
        return;
    }
    let share = (machine.gpus.len() / places.len().max(1)).max(1);
    let most = places.len().div_ceil(machine.gpus.len()).max(1);
    let mut used = vec![0; machine.gpus.len()];
    let mut own = vec![Vec::new(); places.len()];
    // Nobody takes one that is far from it while others may need it.
    for farthest in [(false, false), (false, true), (true, false), (true, true)] {
        for (place, own) in places.iter().zip(&mut own) {
            let numa = numa_nodes(machine, place);
            let nic = machine.nics.iter().find(|nic| place.nics.first() == Some(&nic.name));
            while own.len() < share {
                let free = (0..machine.gpus.len()).filter_map(|gpu| {
                    let (far_from_nic, far, buses) = distance(&machine.gpus[gpu], nic, &numa);
                    let is_free = used[gpu] < most && !own.contains(&gpu);
                    (is_free && (far_from_nic, far) <= farthest).then_some((
                        far_from_nic,
                        far,
                        used[gpu],
                        buses,
                        gpu,
                    ))
                });
                let Some((.., gpu)) = free.min() else { break };
                used[gpu] += 1;
                own.push(gpu);
            }
        }
    }
    for (place, mut own) in places.into_iter().zip(own) {
        own.sort_unstable();
        place.gpus = own.into_iter().map(|gpu: usize| machine.gpus[gpu].name.clone()).collect();
    }
}

/// How far a GPU is: not beside the rank's network device, not beside its cores, buses between the
/// device and it.
fn distance(gpu: &Gpu, nic: Option<&Nic>, numa: &[NumaId]) -> (bool, bool, u32) {
    let beside = |numa: &[NumaId]| {
        numa.is_empty() || gpu.near.is_empty() || numa.iter().any(|numa| gpu.near.contains(numa))
    };
    let far_from_nic = nic.is_some_and(|nic| !beside(&nic.near));
    let buses =
        match (gpu.pci.as_deref().and_then(bus), nic.and_then(|nic| bus(nic.pci.as_deref()?))) {
            (Some((a, x)), Some((b, y))) if a == b => x.abs_diff(y),
            _ => u32::MAX,
        };
    (far_from_nic, !beside(numa), buses)
}

/// Domain and bus of a PCI address.
fn bus(address: &str) -> Option<(u32, u32)> {
    let mut parts = address.split(':').rev();
    let _device = parts.next()?;
    let bus = u32::from_str_radix(parts.next()?, 16).ok()?;
    let domain = parts.next().map_or(Ok(0), |domain| u32::from_str_radix(domain, 16));
    Some((domain.ok()?, bus))
}

/// A library that GPUs are used by.
struct Library {
    /// How the names of its devices begin.
    names: &'static [&'static str],
    /// Lists the devices that a process sees.
    variable: &'static str,
    /// Lets it count them in the order of the bus.
    order: Option<(&'static str, &'static str)>,
}

const LIBRARIES: [Library; 3] = [
    Library {
        names: &["cuda", "nvml"],
        variable: "CUDA_VISIBLE_DEVICES",
        order: Some(("CUDA_DEVICE_ORDER", "PCI_BUS_ID")),
    },
    Library { names: &["rsmi"], variable: "ROCR_VISIBLE_DEVICES", order: None },
    Library {
        names: &["ze"],
        variable: "ZE_AFFINITY_MASK",
        order: Some(("ZE_ENABLE_PCI_ID_DEVICE_ORDER", "1")),
    },
];

impl Library {
    fn knows(&self, gpu: &DeviceEntry) -> bool {
        self.names.iter().any(|start| gpu.name.starts_with(start))
    }
}

/// Sets the variables by which the ranks of a job see only the GPUs that the placement gives them. GPUs
/// count in the order of the bus among those of their library; a name that tells none (`card0`) counts
/// for all three.
pub fn show_only_own(placement: &PlacementFile, job: &JobEntry, settings: &mut Settings) {
    let nodes: HashMap<&str, &NodeEntry> =
        placement.nodes.iter().map(|node| (node.name.as_str(), node)).collect();
    for entry in job.ranks.iter().filter(|entry| !entry.gpus.is_empty()) {
        let Some(node) = nodes.get(entry.node.as_str()) else { continue };
        for library in &LIBRARIES {
            let of_library = |gpu: &&DeviceEntry| {
                library.knows(gpu) || !LIBRARIES.iter().any(|library| library.knows(gpu))
            };
            let mut gpus: Vec<&DeviceEntry> = node.gpus.iter().filter(of_library).collect();
            gpus.sort_by_key(|gpu| gpu.pci.as_deref().map(address));
            let own = gpus.iter().enumerate().filter(|(_, gpu)| entry.gpus.contains(&gpu.name));
            let own: Vec<String> = own.map(|(index, _)| index.to_string()).collect();
            if own.is_empty() {
                continue;
            }
            let rank = entry.rank.index();
            if let Some((name, value)) = library.order {
                settings.set(rank, name, value);
            }
            settings.set(rank, library.variable, own.join(","));
        }
    }
}

/// The numbers of a PCI address, to put addresses in order.
fn address(text: &str) -> Vec<u32> {
    text.split([':', '.']).map(|part| u32::from_str_radix(part, 16).unwrap_or(u32::MAX)).collect()
}
