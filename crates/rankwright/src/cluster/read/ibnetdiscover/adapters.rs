//! Channel adapters as the network devices of nodes.

use std::collections::BTreeMap;

use super::Adapter;
use crate::cluster::{ClusterDescription, Nic};

/// The adapters of a node: device names, and bandwidths as bits.
type Signature = Vec<(String, Option<u64>)>;

/// Gives nodes without network devices those of the fabric, and devices without a bandwidth that of
/// their link.
pub(super) fn add_devices(
    description: &mut ClusterDescription,
    adapters: &BTreeMap<String, Vec<Adapter>>,
) {
    let old_groups = std::mem::take(&mut description.groups);
    let mut new_group: BTreeMap<(usize, Signature), usize> = BTreeMap::new();
    let mut nodes = std::mem::take(&mut description.nodes);
    for node in &mut nodes {
        let adapters = adapters.get(&node.name).map_or(&[][..], Vec::as_slice);
        let bits = |adapter: &Adapter| adapter.rate.map(|rate| rate.0.to_bits());
        let signature = adapters.iter().map(|a| (a.device.clone(), bits(a))).collect();
        node.group = *new_group.entry((node.group, signature)).or_insert_with(|| {
            let mut group = old_groups[node.group].clone();
            fill(&mut group.machine.nics, adapters);
            description.group_index(group)
        });
    }
    description.nodes = nodes;
}

fn fill(nics: &mut Vec<Nic>, adapters: &[Adapter]) {
    if nics.is_empty() {
        let nic = |adapter: &Adapter| Nic { bandwidth: adapter.rate, ..Nic::new(&adapter.device) };
        nics.extend(adapters.iter().map(nic));
        return;
    }
    let named = |nic: &Nic, name: &str| nic.name == name || nic.aliases.iter().any(|a| a == name);
    let matched = nics.iter().any(|nic| adapters.iter().any(|a| named(nic, &a.device)));
    // `HCA-1` and `HCA-2` are the first and the second, where there are two.
    let in_order = !matched && nics.len() == adapters.len();
    for (index, nic) in nics.iter_mut().enumerate() {
        let adapter = if in_order {
            adapters.get(index)
        } else {
            adapters.iter().find(|adapter| named(nic, &adapter.device))
        };
        nic.bandwidth = nic.bandwidth.or(adapter.and_then(|adapter| adapter.rate));
    }
}
