//! GPUs beside the ranks and their network devices, and the variables that hide all others from a rank.

use std::collections::{BTreeMap, HashMap};

use super::node_view::numa_nodes;
use crate::cluster::{Cluster, Gpu, Machine, Nic};
use crate::ids::{NodeId, NumaId, Rank};
use crate::placement::{
    DeviceEntry, JobEntry, JobPlacement, JobShape, NodeEntry, Placement, PlacementError,
    PlacementFile, RankPlacement, Settings,
};

/// The placement with GPUs for the ranks of nodes that have some. Each rank gets its share of the GPUs,
/// at least one: those beside its network device first, of these the one nearest on the bus (behind
/// the same switch), then those beside its cores. GPUs that the placement names already are replaced.
///
/// # Errors
/// If the result is not a valid placement, which would be an error of this function.
pub fn beside(cluster: &Cluster, placement: &Placement) -> Result<Placement, PlacementError> {
    let mut jobs: Vec<JobPlacement> = placement.jobs().to_vec();
    let mut by_node: BTreeMap<NodeId, Vec<&mut RankPlacement>> = BTreeMap::new();
    for place in jobs.iter_mut().flat_map(|job| &mut job.ranks) {
        by_node.entry(place.node).or_default().push(place);
    }
    for (node, places) in by_node {
        assign(cluster.machine(node), places);
    }
    let shape = |job: &JobPlacement| JobShape {
        name: job.name.clone(),
        ranks: Rank::from_index(job.ranks.len()).0,
    };
    let shapes: Vec<JobShape> = jobs.iter().map(shape).collect();
    Placement::new(cluster, &shapes, placement.strategy(), jobs)
}

fn assign(machine: &Machine, places: Vec<&mut RankPlacement>) {
    if machine.gpus.is_empty() {
        return;
    }
    let share = (machine.gpus.len() / places.len().max(1)).max(1);
    let most = places.len().div_ceil(machine.gpus.len()).max(1);
    let mut used = vec![0; machine.gpus.len()];
    let mut assigned = vec![Vec::new(); places.len()];
    // No rank takes a GPU that is far from it before all others had those near them.
    for farthest in [(false, false), (false, true), (true, false), (true, true)] {
        for (place, gpus) in places.iter().zip(&mut assigned) {
            let numa = numa_nodes(machine, place);
            let nic = machine.nics.iter().find(|nic| place.nics.first() == Some(&nic.name));
            while gpus.len() < share {
                let free = (0..machine.gpus.len()).filter_map(|gpu| {
                    let (far_from_nic, far, buses) = distance(&machine.gpus[gpu], nic, &numa);
                    let is_free = used[gpu] < most && !gpus.contains(&gpu);
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
                gpus.push(gpu);
            }
        }
    }
    for (place, mut gpus) in places.into_iter().zip(assigned) {
        gpus.sort_unstable();
        place.gpus = gpus.into_iter().map(|gpu: usize| machine.gpus[gpu].name.clone()).collect();
    }
}

/// How far a GPU is from a rank: whether not beside its network device, whether not beside its cores,
/// and the buses between the device and the GPU.
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

/// A library by which programs use GPUs.
struct Library {
    /// Prefixes of its device names.
    names: &'static [&'static str],
    /// The variable that lists the devices that a process sees.
    variable: &'static str,
    /// The variable, with its value, by which it numbers them in the order of the bus.
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
/// are numbered in the order of the bus among those of their library; a name of no library (`card0`)
/// counts for all three.
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
            let visible = gpus.iter().enumerate().filter(|(_, gpu)| entry.gpus.contains(&gpu.name));
            let visible: Vec<String> = visible.map(|(index, _)| index.to_string()).collect();
            if visible.is_empty() {
                continue;
            }
            let rank = entry.rank.index();
            if let Some((name, value)) = library.order {
                settings.set(rank, name, value);
            }
            settings.set(rank, library.variable, visible.join(","));
        }
    }
}

/// The numbers of a PCI address, to sort addresses.
fn address(text: &str) -> Vec<u32> {
    text.split([':', '.']).map(|part| u32::from_str_radix(part, 16).unwrap_or(u32::MAX)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rails::select;
    use crate::rails::tests::{machine, placed};
    use crate::traffic::Workload;

    #[test]
    fn gpus_are_beside_the_ranks_device() {
        let cluster = machine("four-numa");
        let gpus_of = |at: &[usize], selection: &str| -> Vec<String> {
            let (placement, selection) = (placed(&cluster, at), selection.parse().unwrap());
            let chosen = select(&cluster, &Workload::default(), placement, &selection).unwrap();
            let chosen = beside(&cluster, &chosen).unwrap();
            chosen.ranks().map(|rank| rank.gpus.join("+")).collect()
        };
        let of_four = ["rsmi4+rsmi5", "rsmi2+rsmi3", "rsmi6+rsmi7", "rsmi0+rsmi1"];
        assert_eq!(gpus_of(&[0, 4, 8, 12], "device-affinity"), of_four);
        // Without devices those beside the cores.
        assert_eq!(gpus_of(&[0, 4, 8, 12], "none"), of_four);
        // Three ranks on a memory with two GPUs: the third takes none that the next memory's ranks need.
        let of_six = gpus_of(&[0, 1, 2, 4, 5, 6], "none");
        assert_eq!(of_six[..2], ["rsmi4", "rsmi5"]);
        assert_eq!(of_six[3..5], ["rsmi2", "rsmi3"]);
        let all: Vec<usize> = (0..16).collect();
        let mut gpus = gpus_of(&all, "device-affinity");
        assert_eq!((gpus[0].as_str(), gpus[1].as_str()), ("rsmi4", "rsmi5"));
        gpus.sort();
        gpus.dedup();
        assert_eq!(gpus.len(), 8);
    }
}
