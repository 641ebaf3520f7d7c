//! Which network devices each rank uses ("rails" where it uses several): chosen after the ranks have
//! their cores, from where devices and cores stand and what passes between nodes. [`fabric`] has the
//! variables by which each network stack is told, [`gpus`] the GPUs beside the devices.

mod by_load;
mod device_affinity;
pub mod fabric;
pub mod gpus;
mod local;
mod multirail;
mod selection;
mod spread;
mod traffic;

pub use by_load::{Balance, DeviceSets};
pub use selection::{Rails, SELECTIONS, Selection, SelectionEntry, SelectionParseError};

use crate::cluster::{Cluster, Machine, Nic};
use crate::ids::{NodeId, NumaId};
use crate::placement::{JobPlacement, JobShape, Placement, PlacementError};
use crate::traffic::Workload;
use local::LocalView;
use selection::Kind;

/// Why devices could not be chosen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// A node has none.
    #[error(
        "node {node} has no network device to choose: describe it as [[node.nic]] in the \
         cluster.toml, or leave the choice to the library (`none` in place of a selection)"
    )]
    NoDevice {
        /// The node.
        node: String,
    },
    /// All devices of a node that may be used are down.
    #[error("node {node}: all links of {devices} are down")]
    AllDown {
        /// The node.
        node: String,
        /// The devices.
        devices: String,
    },
    /// A device that the user named is not there.
    #[error("node {node} has no network device {wanted}, only {devices}")]
    NoSuchDevice {
        /// The node.
        node: String,
        /// What was wanted: a name, or a unit's number.
        wanted: String,
        /// Those that there are.
        devices: String,
    },
    /// A device that the user named cannot be used.
    #[error("node {node}: the link of {device} is down")]
    Down {
        /// The node.
        node: String,
        /// The device.
        device: String,
    },
    /// Packed selection needs to know when a device is full.
    #[error(
        "node {node}: how many contexts {device} has is not known: say `contexts` of it in the cluster.toml"
    )]
    ContextsUnknown {
        /// The node.
        node: String,
        /// The device.
        device: String,
    },
    /// More processes than the devices of a node serve.
    #[error(
        "node {node} has {ranks} ranks, but its devices have {contexts} contexts: place fewer \
         ranks on a node, or let contexts be shared and leave out `contexts`"
    )]
    ContextsExhausted {
        /// The node.
        node: String,
        /// Its ranks.
        ranks: usize,
        /// How many processes its devices serve.
        contexts: u64,
    },
    /// More processes than a device serves, where each rank uses several.
    #[error("node {node}: {ranks} ranks would use {device}, which has {contexts} contexts")]
    DeviceFull {
        /// The node.
        node: String,
        /// The device.
        device: String,
        /// How many ranks would use it.
        ranks: usize,
        /// How many processes it serves.
        contexts: u32,
    },
    /// What was chosen is no placement.
    #[error(transparent)]
    Placement(#[from] PlacementError),
}

/// What was chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Selected {
    /// The placement with devices.
    pub placement: Placement,
    /// How busy the busiest device is, by measured traffic, and how little it could be.
    pub balance: Balance,
}

/// Chooses the devices of all ranks of a placement. Devices that it names already are replaced.
///
/// # Errors
/// If a node with ranks has no device that can be used, the user's device is not among them, or their
/// contexts do not suffice.
pub fn select(
    cluster: &Cluster,
    workload: &Workload,
    placement: &Placement,
    selection: &Selection,
) -> Result<Selected, SelectionError> {
    let mut jobs: Vec<JobPlacement> = placement.jobs().to_vec();
    let traffic = traffic::between_nodes(cluster, workload, placement);
    let views = views(cluster, placement, selection)?;
    let chosen = chosen(cluster, &views, &traffic, selection)?;
    let balance = by_load::balance(cluster, &views, &traffic, &chosen);
    let mut places: Vec<_> = jobs.iter_mut().flat_map(|job| &mut job.ranks).collect();
    for (view, of_node) in views.iter().zip(&chosen) {
        let nics = &cluster.machine(view.node).nics;
        for (rank, devices) in view.ranks.iter().zip(of_node) {
            let names =
                devices.iter().map(|device| nics[view.devices[*device].position].name.clone());
            places[rank.rank].nics = names.collect();
        }
    }
    Ok(Selected { placement: with_jobs(cluster, placement, jobs)?, balance })
}

/// How busy the devices are that the ranks of a placement use, whoever chose them.
///
/// # Errors
/// If a node with ranks has no device that can be used.
pub fn balance(
    cluster: &Cluster,
    workload: &Workload,
    placement: &Placement,
    selection: &Selection,
) -> Result<Balance, SelectionError> {
    let traffic = traffic::between_nodes(cluster, workload, placement);
    let views = views(cluster, placement, selection)?;
    let places: Vec<_> = placement.ranks().collect();
    let used = |view: &LocalView| {
        let of_rank = |rank: &local::LocalRank| {
            let uses =
                |device: &usize| places[rank.rank].nics.contains(&view.devices[*device].name);
            (0..view.devices.len()).filter(uses).collect()
        };
        view.ranks.iter().map(of_rank).collect()
    };
    let chosen: Chosen = views.iter().map(used).collect();
    Ok(by_load::balance(cluster, &views, &traffic, &chosen))
}

/// The placement with these devices for its ranks, counted over all jobs, by name.
///
/// # Errors
/// If one is not on the node of its rank.
pub fn with_devices(
    cluster: &Cluster,
    placement: &Placement,
    nics: &[Vec<String>],
) -> Result<Placement, PlacementError> {
    let mut jobs: Vec<JobPlacement> = placement.jobs().to_vec();
    for (place, nics) in jobs.iter_mut().flat_map(|job| &mut job.ranks).zip(nics) {
        place.nics.clone_from(nics);
    }
    with_jobs(cluster, placement, jobs)
}

/// The nodes of a placement that have ranks.
fn views(
    cluster: &Cluster,
    placement: &Placement,
    selection: &Selection,
) -> Result<Vec<LocalView>, SelectionError> {
    let jobs = placement.jobs().iter().enumerate();
    let places = jobs.flat_map(|(job, of_job)| of_job.ranks.iter().map(move |place| (job, place)));
    local::views(cluster, places, selection)
}

/// A placement whose ranks got something beside their cores.
fn with_jobs(
    cluster: &Cluster,
    placement: &Placement,
    jobs: Vec<JobPlacement>,
) -> Result<Placement, PlacementError> {
    let shape = |job: &JobPlacement| JobShape {
        name: job.name.clone(),
        ranks: crate::ids::Rank::from_index(job.ranks.len()).0,
    };
    let shapes: Vec<JobShape> = jobs.iter().map(shape).collect();
    Placement::new(cluster, &shapes, placement.strategy(), jobs)
}

/// Whether a selection can find devices on any node of a cluster, before ranks are placed.
///
/// # Errors
/// As [`select`], for the first node, if no node has devices that the selection may use.
pub fn selectable(cluster: &Cluster, selection: &Selection) -> Result<(), SelectionError> {
    if selection.is_none() {
        return Ok(());
    }
    local::usable_devices(cluster, selection)
}

/// How far a device is from each NUMA node of its node, by L#: 0 beside it or where all are equally
/// far; else the firmware's distance, or without one 1 in the same package and 2 in another.
#[must_use]
pub fn distance_from_numa_nodes(machine: &Machine, nic: &Nic) -> Vec<u32> {
    let ids = (0..machine.numa_nodes.len()).map(NumaId::from_index);
    ids.map(|numa| local::distance(machine, &[numa], &nic.near)).collect()
}

/// Per node and rank of it: positions in [`LocalView::devices`].
type Chosen = Vec<Vec<Vec<usize>>>;

fn chosen(
    cluster: &Cluster,
    views: &[LocalView],
    traffic: &traffic::BetweenNodes,
    selection: &Selection,
) -> Result<Chosen, SelectionError> {
    if selection.kind == Kind::ByLoad {
        return by_load::choose(cluster, views, traffic);
    }
    views.iter().map(|view| of_node(cluster, view, selection)).collect()
}

fn of_node(
    cluster: &Cluster,
    view: &LocalView,
    selection: &Selection,
) -> Result<Vec<Vec<usize>>, SelectionError> {
    let name = |node: NodeId| cluster.node(node).name.clone();
    let single = |chosen: Vec<usize>| chosen.into_iter().map(|device| vec![device]).collect();
    match (selection.kind, selection.rails) {
        (Kind::DeviceAffinity, Rails::One) => {
            device_affinity::corrected(view, selection.unit, &name(view.node)).map(single)
        }
        (Kind::DeviceAffinity, rails) => multirail::corrected(view, rails, &name(view.node)),
        (Kind::Paper2017, Rails::One) => Ok(single(device_affinity::printed(view, selection.unit))),
        (Kind::Paper2017, rails) => Ok(multirail::printed(view, rails)),
        (Kind::RoundRobin, _) => spread::round_robin(view, &name(view.node)).map(single),
        (Kind::RoundRobinAll, _) => spread::round_robin_all(view, &name(view.node)).map(single),
        (Kind::Packed, _) => spread::packed(view, &name(view.node)).map(single),
        (Kind::Psm2Default, _) => spread::free_contexts(view, &name(view.node)).map(single),
        (Kind::None | Kind::ByLoad, _) => Ok(vec![Vec::new(); view.ranks.len()]),
    }
}

#[cfg(test)]
mod tests;
