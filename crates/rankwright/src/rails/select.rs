//! The devices of all ranks of a placement, by any policy.

use super::internode_traffic::internode_traffic;
use super::node_view::{self, DeviceSet, NodeView};
use super::policies::{Policy, Rails, Selection};
use super::{by_load, device_affinity, multirail, psm2_modes};
use crate::cluster::Cluster;
use crate::ids::JobId;
use crate::placement::{Placement, PlacementError};
use crate::traffic::Workload;
use crate::units::Seconds;

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
    let selected = if selection.is_by_load() {
        let traffic = internode_traffic(cluster, workload, &placement);
        by_load::choose(cluster, &views, &traffic)?
    } else {
        views.iter().map(|view| on_node(cluster, view, selection)).collect::<Result<_, _>>()?
    };
    let mut nics = vec![Vec::new(); placement.ranks().count()];
    for (view, sets) in views.iter().zip(&selected) {
        for (rank, devices) in view.ranks.iter().zip(sets) {
            nics[rank.rank.index()] = view.names(devices);
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
    let traffic = internode_traffic(cluster, workload, placement);
    Ok(by_load::lower_bound(&views(cluster, placement, selection)?, &traffic))
}

/// Whether a selection can find devices on any node of a cluster, before ranks are placed.
///
/// # Errors
/// As [`select`], for the first node, if no node has devices that the selection may use.
pub fn selectable(cluster: &Cluster, selection: &Selection) -> Result<(), SelectionError> {
    if selection.is_none() {
        return Ok(());
    }
    node_view::usable_devices(cluster, selection)
}

/// The nodes of a placement that have ranks.
fn views(
    cluster: &Cluster,
    placement: &Placement,
    selection: &Selection,
) -> Result<Vec<NodeView>, SelectionError> {
    let places = placement.jobs().iter().enumerate().flat_map(|(job, placed)| {
        placed.ranks.iter().map(move |place| (JobId::from_index(job), place))
    });
    node_view::views(cluster, places, selection)
}

/// The devices of each rank of a node, by a policy that looks at one node at a time.
fn on_node(
    cluster: &Cluster,
    view: &NodeView,
    selection: &Selection,
) -> Result<Vec<DeviceSet>, SelectionError> {
    let name = cluster.node(view.node).name.as_str();
    let single = |devices: Vec<usize>| devices.into_iter().map(DeviceSet::single).collect();
    match (selection.policy, selection.rails) {
        (Policy::DeviceAffinity, Rails::One) => {
            device_affinity::corrected(view, selection.unit, name).map(single)
        }
        (Policy::DeviceAffinity, rails) => multirail::corrected(view, rails, name),
        (Policy::Paper2017, Rails::One) => {
            Ok(single(device_affinity::printed(view, selection.unit)))
        }
        (Policy::Paper2017, rails) => Ok(multirail::printed(view, rails)),
        (Policy::RoundRobin, _) => psm2_modes::round_robin(view, name).map(single),
        (Policy::RoundRobinAll, _) => psm2_modes::round_robin_all(view, name).map(single),
        (Policy::Packed, _) => psm2_modes::packed(view, name).map(single),
        (Policy::Psm2Default, _) => psm2_modes::free_contexts(view, name).map(single),
        (Policy::None | Policy::ByLoad, _) => Ok(vec![DeviceSet::default(); view.ranks.len()]),
    }
}

/// Why devices could not be selected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
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
    /// The description says that no device of a node that is up carries MPI.
    #[error(
        "node {node}: none of {devices} carries MPI: they are down or have `mpi = false`; set \
         `mpi = true` for one that does"
    )]
    NoneCarriesMpi {
        /// The node.
        node: String,
        /// The devices.
        devices: String,
    },
    /// A device that the user named does not exist.
    #[error("node {node} has no network device {wanted}, only {devices}")]
    NoSuchDevice {
        /// The node.
        node: String,
        /// A name, or `of unit` and a number.
        wanted: String,
        /// Those that exist.
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
    /// Packed selection needs the number of contexts of each device.
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
    /// More ranks must use the same rail than the devices of a rail have contexts left.
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
    /// The result is not a valid placement.
    #[error(transparent)]
    Placement(#[from] PlacementError),
}

#[cfg(test)]
mod tests {
    use crate::rails::tests::{machine, placed};

    use super::*;

    #[test]
    fn devices_without_mpi_are_selected_only_by_name() {
        let cluster = machine("management");
        let selected = |cluster: &Cluster, text: &str| {
            let placement = placed(cluster, &[0, 1, 4, 5]);
            let selection = text.parse().unwrap();
            let placed = select(cluster, &Workload::default(), placement, &selection);
            let names = |placed: Placement| -> Vec<String> {
                placed.ranks().map(|rank| rank.nics.join("+")).collect()
            };
            placed.map(names).map_err(|error| error.to_string())
        };
        let expected = ["mlx5_0", "mlx5_0", "mlx5_2", "mlx5_2"].map(str::to_owned).to_vec();
        assert_eq!(selected(&cluster, "device-affinity"), Ok(expected));
        let named = selected(&cluster, "device-affinity:devices=eno1");
        assert_eq!(named, Ok(vec!["eno1".to_owned(); 4]));
        let none = |parts: &mut crate::cluster::ClusterDescription| {
            parts.groups[0].machine.nics.iter_mut().for_each(|nic| nic.mpi = Some(false));
        };
        let expected = "node m0: none of eno1, mlx5_0, mlx5_1, mlx5_2, idrac carries MPI: they are \
            down or have `mpi = false`; set `mpi = true` for one that does";
        let none = cluster.edit(none).unwrap();
        assert_eq!(selected(&none, "device-affinity"), Err(expected.to_owned()));
    }
}
