//! Which network devices each rank uses ("rails" where it uses several): chosen after the ranks have
//! their cores, from where devices and cores stand and what passes between nodes. [`fabric`] has the
//! variables by which each network stack is told, [`gpus`] the GPUs beside the devices.

mod by_load;
mod device_affinity;
pub mod fabric;
pub mod gpus;
mod local;
mod multirail;
mod places;
mod selection;
mod spread;
mod traffic;

pub use by_load::DeviceSets;
pub use places::Places;
pub use selection::{Rails, SELECTIONS, Selection, SelectionEntry, SelectionParseError};

use crate::cluster::{Cluster, Machine, Nic};
use crate::ids::{NodeId, NumaId};
use crate::placement::{JobPlacement, JobShape, Placement, PlacementError};
use crate::traffic::Workload;
use crate::units::Seconds;
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
    /// Ranks that must use the same rail are more than the devices of a rail serve beside others.
    #[error(
        "node {node}: {ranks} of its ranks exchange something, directly or through others, and must \
         use the same rail, but no rail has as many contexts free: place fewer of them on a node, or \
         leave out `contexts` or `rail`"
    )]
    RailsExhausted {
        /// The node.
        node: String,
        /// How many ranks of it must use the same rail.
        ranks: usize,
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
    /// More ranks than can get devices at the same time.
    #[error(
        "{ranks} ranks, but only {places} can get network devices at the same time: {why}; describe \
         the devices of all nodes, place on more nodes, or leave the choice to the library (`none` in \
         place of a selection)"
    )]
    TooFewPlaces {
        /// How many ranks there are.
        ranks: usize,
        /// How many can get devices.
        places: usize,
        /// Why not more on a node, like `node n0 has no network device`.
        why: String,
    },
    /// What was chosen is no placement.
    #[error(transparent)]
    Placement(#[from] PlacementError),
}

/// Chooses the devices of all ranks of a placement. Devices that it names already are replaced.
///
/// # Errors
/// If a node with ranks has no device that can be used, the user's device is not among them, or their
/// contexts do not suffice.
pub fn select(
    cluster: &Cluster,
    workload: &Workload,
    placement: Placement,
    selection: &Selection,
) -> Result<Placement, SelectionError> {
    let views = views(cluster, &placement, selection)?;
    let chosen = match selection.kind {
        Kind::ByLoad => {
            let traffic = traffic::between_nodes(cluster, workload, &placement);
            by_load::choose(cluster, &views, &traffic)?
        }
        _ => {
            views.iter().map(|view| of_node(cluster, view, selection)).collect::<Result<_, _>>()?
        }
    };
    let mut nics = vec![Vec::new(); placement.ranks().count()];
    for (view, of_node) in views.iter().zip(&chosen) {
        for (rank, devices) in view.ranks.iter().zip(of_node) {
            let name = |device: &usize| view.devices[*device].name.clone();
            nics[rank.rank] = devices.iter().map(name).collect();
        }
    }
    Ok(placement.with_devices(cluster, nics)?)
}

/// How long the busiest device needs at least for the traffic between nodes, whichever devices of
/// those that may be used the ranks of a placement get.
///
/// # Errors
/// If a node with ranks has no device that can be used.
pub fn lower_bound(
    cluster: &Cluster,
    workload: &Workload,
    placement: &Placement,
    selection: &Selection,
) -> Result<Seconds, SelectionError> {
    let traffic = traffic::between_nodes(cluster, workload, placement);
    Ok(by_load::lower_bound(&views(cluster, placement, selection)?, &traffic))
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
