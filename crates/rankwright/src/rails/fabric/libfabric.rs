//! Providers of libfabric: verbs, cxi, efa, tcp.

use super::FabricError;
use super::job::{Job, Output, kind};
use crate::cluster::NicKind;
use crate::placement::DeviceEntry;
use crate::rails::node_view::unit;

/// The verbs device, and its interface if that is known: older libfabric selects by interfaces only.
pub(super) fn verbs(job: &Job<'_>, output: &mut Output<'_>) -> Result<(), FabricError> {
    let job = &job.one_device_each(output);
    let mut ambiguous = None;
    for (map, rank) in job.ranks() {
        let device = rank.devices[0];
        output.set(rank, "FI_VERBS_DEVICE_NAME", device.name.clone());
        if let Some(interface) = device.aliases.first() {
            output.set(rank, "FI_VERBS_IFACE", interface.clone());
        }
        let others = map.node.nics.iter().filter(|other| other.name != device.name);
        let longer = others.filter(|other| other.name.starts_with(&device.name));
        ambiguous = ambiguous.or_else(|| longer.map(|other| (&device.name, &other.name)).next());
    }
    if let Some((name, longer)) = ambiguous {
        let note = "FI_VERBS_DEVICE_NAME may be the beginning of a name";
        output.notes.push(format!("{note}: {name} lets {longer} be used too"));
    }
    Ok(())
}

/// The cxi device of a Slingshot interface, which has the same number.
pub(super) fn cxi_name(device: &DeviceEntry) -> String {
    let named = device.names().find(|name| name.starts_with("cxi"));
    named.map_or_else(|| format!("cxi{}", unit(&device.name).unwrap_or(0)), str::to_owned)
}

pub(super) fn cxi(job: &Job<'_>, output: &mut Output<'_>) -> Result<(), FabricError> {
    for (_, rank) in job.ranks() {
        output.set(rank, "FI_CXI_DEVICE_NAME", rank.list(",", cxi_name));
    }
    Ok(())
}

pub(super) fn efa(job: &Job<'_>, output: &mut Output<'_>) -> Result<(), FabricError> {
    for (_, rank) in job.ranks() {
        output.set(rank, "FI_EFA_IFACE", rank.list(",", |device| device.name.clone()));
    }
    Ok(())
}

/// The interface of the kernel: the name of an Ethernet device, an alias of others.
pub(super) fn interface(device: &DeviceEntry) -> String {
    let alias = device.aliases.first().filter(|_| kind(device) != NicKind::Ethernet);
    alias.unwrap_or(&device.name).clone()
}

pub(super) fn tcp(job: &Job<'_>, output: &mut Output<'_>) -> Result<(), FabricError> {
    let job = &job.one_device_each(output);
    for (_, rank) in job.ranks() {
        output.set(rank, "FI_TCP_IFACE", interface(rank.devices[0]));
    }
    Ok(())
}
