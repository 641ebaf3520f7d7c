//! Variables of a rank under UCX (`UCX_NET_DEVICES`, `UCX_MAX_RNDV_RAILS`) and NCCL. Open MPI over
//! InfiniBand (`mpi.rs`) has those of UCX and one more.

use super::FabricError;
use super::job::{Job, Output, kind, port};
use crate::cluster::NicKind;
use crate::placement::DeviceEntry;

/// How many rails UCX uses for large messages by default.
const UCX_RAILS: usize = 2;

/// `mlx5_0:1` for verbs devices, `eth0` for interfaces. UCX ignores the order of the list.
pub(super) fn net_device(device: &DeviceEntry) -> String {
    match kind(device) {
        NicKind::Ethernet => device.name.clone(),
        _ => format!("{}:{}", device.name, port(device)),
    }
}

pub(super) fn ucx(job: &Job<'_>, output: &mut Output<'_>) -> Result<(), FabricError> {
    for (_, rank) in job.ranks() {
        output.set(rank, "UCX_NET_DEVICES", rank.list(",", net_device));
        if rank.devices.len() > UCX_RAILS {
            output.set(rank, "UCX_MAX_RNDV_RAILS", rank.devices.len().to_string());
        }
    }
    Ok(())
}

/// `=` stands for exact names: without it `mlx5_1` means `mlx5_10` too.
pub(super) fn nccl(job: &Job<'_>, output: &mut Output<'_>) -> Result<(), FabricError> {
    for (_, rank) in job.ranks() {
        let list = rank.list(",", |device| format!("{}:{}", device.name, port(device)));
        output.set(rank, "NCCL_IB_HCA", format!("={list}"));
    }
    Ok(())
}
