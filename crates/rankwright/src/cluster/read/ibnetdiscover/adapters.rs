//! Channel adapters as the network devices of nodes.

use std::collections::BTreeMap;

use super::Adapter;
use crate::cluster::{ClusterDescription, Link, Nic, NicKind, Port};
use crate::units::BytesPerSecond;

/// The adapters of a node: device names, and of each port its number and bandwidth as bits.
type Signature = Vec<(String, Vec<(u32, Option<u64>)>)>;

/// Gives nodes without network devices those of the fabric, and devices the state and the rate of their
/// ports. Devices for which the fabric has no adapter carry no MPI.
pub(super) fn add_devices(
    description: &mut ClusterDescription,
    adapters: &BTreeMap<String, Vec<Adapter>>,
) {
    let old_groups = std::mem::take(&mut description.groups);
    let mut new_group: BTreeMap<(usize, Signature), usize> = BTreeMap::new();
    let mut nodes = std::mem::take(&mut description.nodes);
    for node in &mut nodes {
        let adapters = adapters.get(&node.name).map_or(&[][..], Vec::as_slice);
        let bits = |adapter: &Adapter| {
            let ports = adapter.ports.iter();
            ports.map(|(number, rate)| (*number, rate.map(|rate| rate.0.to_bits()))).collect()
        };
        let signature = adapters.iter().map(|a| (a.device.clone(), bits(a))).collect();
        node.group = *new_group.entry((node.group, signature)).or_insert_with(|| {
            let mut group = old_groups[node.group].clone();
            fill(&mut group.machine.nics, adapters);
            description.group_index(group)
        });
    }
    description.nodes = nodes;
}

/// Whether a device is one of these adapters by its name, or could be one under another name.
pub(super) fn may_be_of_fabric(nic: &Nic, adapters: &[Adapter]) -> bool {
    of_fabric(nic) || adapters.iter().any(|adapter| is_of(nic, adapter))
}

fn of_fabric(nic: &Nic) -> bool {
    matches!(nic.kind(), NicKind::InfiniBand | NicKind::OmniPath)
}

fn is_of(nic: &Nic, adapter: &Adapter) -> bool {
    nic.names().any(|name| name == adapter.device)
}

fn fill(nics: &mut Vec<Nic>, adapters: &[Adapter]) {
    if nics.is_empty() {
        let nic =
            |adapter: &Adapter| Nic { bandwidth: adapter.rate(), ..Nic::new(&adapter.device) };
        nics.extend(adapters.iter().map(nic));
        return;
    }
    let found = |adapter: &&Adapter| nics.iter().any(|nic| is_of(nic, adapter));
    let found = adapters.iter().filter(found).count();
    let (by_name, all_found) = (found > 0, found == adapters.len());
    // `HCA-1` and `HCA-2` are the first and the second, where there are two.
    let count = nics.iter().filter(|nic| of_fabric(nic)).count();
    let in_order = !by_name && count == adapters.len();
    let mut next = adapters.iter().filter(|_| in_order);
    for nic in nics {
        let adapter = match by_name {
            true => adapters.iter().find(|adapter| is_of(nic, adapter)),
            false if of_fabric(nic) => next.next(),
            false => None,
        };
        match adapter {
            Some(adapter) => connect(nic, &adapter.ports),
            // In another fabric, or RoCE, if no adapter is left that it could be under another name.
            // Ethernet devices have a rule of their own.
            None if by_name && all_found && of_fabric(nic) => nic.mpi = nic.mpi.or(Some(false)),
            None => {}
        }
    }
}

/// The ports of the fabric are up, the others down. Their rates are those of links, which the PCIe link
/// of the card limits; a bandwidth of the device itself stays.
fn connect(nic: &mut Nic, ports: &[(u32, Option<BytesPerSecond>)]) {
    for port in &mut nic.ports {
        if !ports.iter().any(|(number, _)| *number == port.number) {
            port.link = Some(Link::Down);
        }
    }
    for (number, bandwidth) in ports {
        nic.add_port(Port { number: *number, link: Some(Link::Up), bandwidth: *bandwidth });
    }
}
