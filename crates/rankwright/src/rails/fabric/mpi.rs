//! MPI libraries with their own variables: MVAPICH2, Cray MPICH, MPICH, Open MPI.

use std::collections::BTreeMap;

use super::job::{Job, LocalMap, LocalRank, Output, is_up, kind};
use super::libfabric::{cxi_name, interface};
use super::ucx::net_device;
use super::{FabricError, LocalRanks, psm};
use crate::cluster::NicKind;
use crate::placement::DeviceEntry;
use crate::rails::node_view::unit;

/// One list for all ranks where all nodes have equal lists and every rank one device; MVAPICH2
/// ignores it if its length is not the number of local ranks. Else the devices of each rank.
pub(super) fn mvapich2(job: &Job<'_>, output: &mut Output<'_>) -> Result<(), FabricError> {
    let single = job.ranks().all(|(_, rank)| rank.devices.len() == 1);
    let names = |map: &LocalMap<'_>| {
        map.ranks.iter().map(|rank| rank.devices[0].name.clone()).collect::<Vec<_>>().join(":")
    };
    if let Some(map) = job.same_by_local_rank(names).filter(|_| single) {
        output.set_for_all(job, "MV2_RAIL_SHARING_POLICY", "FIXED_MAPPING");
        output.set_for_all(job, "MV2_PROCESS_TO_RAIL_MAPPING", &map);
        return Ok(());
    }
    for (_, rank) in job.ranks() {
        output.set(rank, "MV2_IBA_HCA", rank.list(":", |device| device.name.clone()));
    }
    Ok(())
}

/// The local ranks of each NIC, `0:0,2;1:1,3`; where local ranks are wrong, a map for each rank with
/// its NIC for all of them. Cray MPICH numbers NICs as their cxi devices.
pub(super) fn craympich(job: &Job<'_>, output: &mut Output<'_>) -> Result<(), FabricError> {
    let job = &job.one_device_each(output);
    for map in &job.nodes {
        let mut devices: Vec<&DeviceEntry> =
            map.node.nics.iter().filter(|nic| kind(nic) == NicKind::Slingshot).collect();
        devices.sort_by_key(|device| unit(&cxi_name(device)));
        let nic = |rank: &LocalRank<'_>| {
            let name = &rank.devices[0].name;
            devices.iter().position(|device| device.name == *name).unwrap_or(0)
        };
        let all: Vec<String> = (0..map.ranks.len()).map(|local| local.to_string()).collect();
        let mut ranks: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
        for (local, rank) in all.iter().zip(&map.ranks) {
            ranks.entry(nic(rank)).or_default().push(local);
        }
        let parts = ranks.iter().map(|(nic, ranks)| format!("{nic}:{}", ranks.join(",")));
        let mapping = parts.collect::<Vec<_>>().join(";");
        for rank in &map.ranks {
            output.set(rank, "MPICH_OFI_NIC_POLICY", "USER");
            let mapping = match job.local_ranks {
                LocalRanks::Right => mapping.clone(),
                LocalRanks::Wrong => format!("{}:{}", nic(rank), all.join(",")),
            };
            output.set(rank, "MPICH_OFI_NIC_MAPPING", mapping);
        }
    }
    Ok(())
}

/// MPICH numbers the devices of the provider that are up in the order of their names. With several per
/// rank, its own order decides which it uses: the nearest first.
pub(super) fn mpich_ofi(job: &Job<'_>, output: &mut Output<'_>) -> Result<(), FabricError> {
    let mut several = None;
    for (map, rank) in job.ranks() {
        let device = rank.devices[0];
        let alike = |nic: &&DeviceEntry| kind(nic) == kind(device) && is_up(nic);
        if rank.devices.len() > 1 {
            let all = map.node.nics.iter().filter(alike).count();
            several = several.or((rank.devices.len() < all).then_some(rank.entry.rank));
            output.set(rank, "MPIR_CVAR_CH4_OFI_MAX_NICS", rank.devices.len().to_string());
            output.set(rank, "MPIR_CVAR_CH4_OFI_ENABLE_MULTI_NIC_STRIPING", "1");
            continue;
        }
        let mut names: Vec<&str> =
            map.node.nics.iter().filter(alike).map(|nic| nic.name.as_str()).collect();
        names.sort_unstable();
        let index = names.iter().position(|name| *name == device.name).unwrap_or(0);
        output.set(rank, "MPIR_CVAR_CH4_OFI_PREF_NIC", index.to_string());
    }
    if let Some(rank) = several {
        output.notes.push(format!(
            "MPICH takes the nearest devices where a rank has several: rank {rank} may get others \
             than placed"
        ));
    }
    Ok(())
}

/// By kind of device: the variables of PSM2, those of UCX and that of the openib BTL that preceded it, those
/// of the TCP BTL.
pub(super) fn openmpi(job: &Job<'_>, output: &mut Output<'_>) -> Result<(), FabricError> {
    let first = job.ranks().next().map(|(_, rank)| kind(rank.devices[0]));
    // The library for one kind of device does not read the variables of another.
    let other = |device: &&&DeviceEntry| Some(kind(device)) != first;
    let mixed =
        job.ranks().find_map(|(map, rank)| Some((map, rank, rank.devices.iter().find(other)?)));
    if let Some((map, rank, device)) = mixed {
        return Err(FabricError::WrongKind {
            stack: job.stack,
            drives: first.map_or("no", NicKind::name).to_owned(),
            rank: rank.entry.rank.0,
            node: map.node.name.clone(),
            device: device.name.clone(),
        });
    }
    match first {
        Some(NicKind::OmniPath) => return psm::psm2(job, output),
        Some(NicKind::InfiniBand) => {
            super::ucx::ucx(job, output)?;
            for (_, rank) in job.ranks() {
                let list = rank.list(",", net_device);
                output.set(rank, "OMPI_MCA_btl_openib_if_include", list);
            }
        }
        Some(NicKind::Ethernet) => {
            // Tried with Open MPI 4.1.4: a rank with two devices connects by one that a peer with one
            // does not expect; the peer drops the connection, and both wait for ever.
            let job = job.as_many_devices_each(output);
            for (_, rank) in job.ranks() {
                output.set(rank, "OMPI_MCA_btl_tcp_if_include", rank.list(",", interface));
            }
        }
        Some(NicKind::Slingshot) => return super::libfabric::cxi(job, output),
        Some(NicKind::Efa) => return super::libfabric::efa(job, output),
        None => {}
    }
    Ok(())
}
