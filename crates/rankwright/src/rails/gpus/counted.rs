//! The GPUs of a node as programs count them.

use crate::cluster::{Gpu, GpuVendor, Machine};

/// The GPUs that a program counts: those of the vendor that has most of them, in the order of the bus.
pub(super) fn counted(machine: &Machine) -> Vec<&Gpu> {
    let count = |vendor| machine.gpus.iter().filter(|gpu| gpu.vendor == vendor).count();
    let vendors = GpuVendor::ALL.map(Some).into_iter().chain([None]);
    // The first of those that have most.
    let most = vendors.rev().max_by_key(|vendor| count(*vendor)).flatten();
    let mut gpus: Vec<&Gpu> = machine.gpus.iter().filter(|gpu| gpu.vendor == most).collect();
    gpus.sort_by_key(|gpu| gpu.bus_order());
    gpus
}
