//! The GPUs of a node as programs count them.

use crate::cluster::{Gpu, GpuVendor, Machine};

/// The GPUs of each rank in turn: `each` of those that a program counts.
pub(super) fn in_turn(machine: &Machine, each: usize) -> Vec<Vec<&Gpu>> {
    counted(machine).chunks(each.max(1)).map(<[&Gpu]>::to_vec).collect()
}

/// The GPUs that a program counts: those of the vendor that has most of them, in the order of the bus.
fn counted(machine: &Machine) -> Vec<&Gpu> {
    let count = |vendor| machine.gpus.iter().filter(|gpu| gpu.vendor == vendor).count();
    let vendors = GpuVendor::ALL.map(Some).into_iter().chain([None]);
    // The first of those that have most.
    let most = vendors.rev().max_by_key(|vendor| count(*vendor)).flatten();
    let mut gpus: Vec<&Gpu> = machine.gpus.iter().filter(|gpu| gpu.vendor == most).collect();
    gpus.sort_by_key(|gpu| gpu.bus_order());
    gpus
}
