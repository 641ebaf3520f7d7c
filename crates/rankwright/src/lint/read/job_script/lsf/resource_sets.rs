//! The resource sets of `jsrun`: cores and GPUs of hosts.

use crate::cluster::{Gpu, Machine, NodeGroup};
use crate::ids::CoreId;

/// What each resource set has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub(super) cores: usize,
    pub(super) gpus: usize,
}

/// The resource sets of a host.
#[derive(Debug)]
pub(super) struct Sets {
    /// The most that fit.
    pub(super) room: usize,
    /// Those that fit if none is on two packages.
    pub(super) whole: usize,
    /// The cores and GPUs of the first ones, as far as jsrun's choice is predicted.
    pub(super) known: Vec<(Vec<CoreId>, Vec<String>)>,
}

/// The resource sets that fit on a host: on the cores that jobs may use, package after package; a set with
/// GPUs on a package beside them.
pub(super) fn of(group: &NodeGroup, size: Size) -> Sets {
    let machine = &group.machine;
    let mut packages: Vec<Vec<CoreId>> = vec![Vec::new(); machine.packages];
    for (id, core) in machine.core_ids().zip(&machine.cores) {
        if is_free(group, id)
            && let Some(package) = packages.get_mut(core.package)
        {
            package.push(id);
        }
    }
    let cores: usize = packages.iter().map(Vec::len).sum();
    let by_gpus = machine.gpus.len().checked_div(size.gpus).unwrap_or(usize::MAX);
    let room = by_gpus.min(cores / size.cores);
    let whole = packages.iter().map(|cores| cores.len() / size.cores).sum();
    let known = match size.gpus {
        0 => on_packages(&packages, size),
        _ => beside_gpus(machine, &mut packages, size),
    };
    Sets { room, whole: by_gpus.min(whole), known }
}

/// One package after the other, as long as all of its cores are used: jsrun may put the next set on the
/// cores that are left and on another package.
fn on_packages(packages: &[Vec<CoreId>], size: Size) -> Vec<(Vec<CoreId>, Vec<String>)> {
    let uneven = packages.iter().position(|cores| !cores.len().is_multiple_of(size.cores));
    let even = packages.iter().take(uneven.map_or(packages.len(), |at| at + 1));
    let sets = even.flat_map(|cores| cores.chunks_exact(size.cores));
    sets.map(|cores| (cores.to_vec(), Vec::new())).collect()
}

/// Each set on the package beside its GPUs, up to one whose GPUs are beside several packages, or have too
/// few cores beside them.
fn beside_gpus(
    machine: &Machine,
    packages: &mut [Vec<CoreId>],
    size: Size,
) -> Vec<(Vec<CoreId>, Vec<String>)> {
    let mut gpus: Vec<&Gpu> = machine.gpus.iter().collect();
    gpus.sort_by_key(|gpu| gpu.bus_order());
    let package = |gpu: &Gpu| {
        let near = |core: &&crate::cluster::Core| gpu.near.contains(&core.numa);
        Some(machine.cores.iter().find(near)?.package)
    };
    let set = |gpus: &[&Gpu]| {
        let first = package(gpus.first()?)?;
        let cores = packages.get_mut(first)?;
        let is_same = gpus.iter().all(|gpu| package(gpu) == Some(first));
        if !is_same || cores.len() < size.cores {
            return None;
        }
        let names = gpus.iter().map(|gpu| gpu.name.clone()).collect();
        Some((cores.drain(..size.cores).collect(), names))
    };
    gpus.chunks_exact(size.gpus).map_while(set).collect()
}

fn is_free(group: &NodeGroup, core: CoreId) -> bool {
    let mut pus = group.machine.pus.iter().zip(&group.free);
    pus.all(|(pu, free)| *free || pu.core != core)
}
