//! `one-per-rank`: the nearest GPU of each rank, in equal shares.

use super::division::divide;
use super::{by_node, distance};
use crate::cluster::{Cluster, Gpu, Machine, Nic};
use crate::placement::{Placement, RankPlacement};
use crate::rails::node_view::distance_of;

/// By global rank: the GPU beside its network device, of these the one nearest on the bus (behind the
/// same switch), then the one beside its cores. All ranks of a node together are nearest to theirs.
pub(super) fn nearest(cluster: &Cluster, placement: &Placement) -> Vec<Vec<String>> {
    let mut names = vec![Vec::new(); placement.ranks().count()];
    for (node, places) in by_node(placement.ranks()) {
        let machine = cluster.machine(node);
        if machine.gpus.is_empty() {
            continue;
        }
        let mut gpus: Vec<&Gpu> = machine.gpus.iter().collect();
        gpus.sort_by_key(|gpu| gpu.bus_order());
        let cost = |(_, place): &(usize, &RankPlacement)| {
            gpus.iter().map(|gpu| cost(machine, place, gpu)).collect()
        };
        let costs: Vec<Vec<i64>> = places.iter().map(cost).collect();
        // To share a GPU is worse than any distance.
        let gpu_of = divide(&costs, gpus.len(), |_, held| Some((held as i64) << 48));
        for ((position, _), gpu) in places.iter().zip(gpu_of) {
            names[*position] = vec![gpus[gpu].name.clone()];
        }
    }
    names
}

/// The distance to the network device of a rank, then that to its cores, then the number of buses
/// between device and GPU.
fn cost(machine: &Machine, place: &RankPlacement, gpu: &Gpu) -> i64 {
    let nic = machine.nics.iter().find(|nic| place.nics.first() == Some(&nic.name));
    let from_nic = nic.map_or(0, |nic| distance_of(machine, &nic.near, &gpu.near).min(1023));
    let buses = nic.map_or(0, |nic| buses_between(nic, gpu));
    (i64::from(from_nic) << 32) + (distance(machine, place, gpu) << 16) + buses
}

fn buses_between(nic: &Nic, gpu: &Gpu) -> i64 {
    let bus_of = |address: &Option<String>| address.as_deref().and_then(bus);
    match (bus_of(&nic.pci), bus_of(&gpu.pci)) {
        (Some((a, x)), Some((b, y))) if a == b => i64::from(x.abs_diff(y)).min(0xfffe),
        _ => 0xffff,
    }
}

/// Domain and bus of a PCI address.
fn bus(address: &str) -> Option<(u32, u32)> {
    let mut parts = address.split(':').rev();
    let _device = parts.next()?;
    let bus = u32::from_str_radix(parts.next()?, 16).ok()?;
    let domain = parts.next().map_or(Ok(0), |domain| u32::from_str_radix(domain, 16));
    Some((domain.ok()?, bus))
}
