//! Network devices and GPUs of a placement: chosen with the cores, or afterwards.

use rankwright::choose::Candidate;
use rankwright::cluster::Cluster;
use rankwright::placement::{Placement, PlacementFile};
use rankwright::rails::{Selection, SelectionError, gpus, lower_bound, select, selectable};
use rankwright::traffic::Workload;
use rankwright::units::Seconds;

use crate::options::{Gpus, SelectionOptions};
use crate::output::exit_code::Infeasible;
use crate::output::{self, Verbosity};

/// The load of the busiest device of all nodes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Balance {
    /// The time that it needs for its traffic in one direction, as in comparisons of placements.
    pub(crate) busiest: Seconds,
    /// A lower bound of that time over all choices of devices for the same placement.
    pub(crate) lower_bound: Seconds,
}

/// An error if no node of the cluster has a device to select.
pub(crate) fn require_devices(cluster: &Cluster, selection: &Selection) -> Result<(), Infeasible> {
    selectable(cluster, selection).map_err(|error| infeasible(selection, &error))
}

/// How busy devices are that were chosen by a selection; `None` where none were.
pub(crate) fn balance(
    cluster: &Cluster,
    workload: &Workload,
    candidate: &Candidate,
    selection: &Selection,
) -> anyhow::Result<Option<Balance>> {
    if selection.is_none() {
        return Ok(None);
    }
    let bound = lower_bound(cluster, workload, &candidate.placement, selection);
    Ok(Some(Balance {
        busiest: candidate.load.busiest_nic_time(),
        lower_bound: bound.map_err(|error| not_selected(selection, error))?,
    }))
}

/// The file of a candidate with the user's selection of devices; `usual` is the default choice of GPUs.
/// A note says how busy the devices are.
pub(crate) fn placement_file(
    options: &SelectionOptions,
    cluster: &Cluster,
    workload: &Workload,
    candidate: &Candidate,
    usual: Gpus,
    verbosity: &Verbosity,
) -> anyhow::Result<PlacementFile> {
    let balance = balance(cluster, workload, candidate, &options.nics)?;
    if let Some(balance) = balance.filter(|balance| balance.busiest.0 > 0.0) {
        let text = format!(
            "network devices by {}: the busiest needs {:.2}; no choice for these cores needs less \
             than {:.2}",
            options.nics, balance.busiest, balance.lower_bound
        );
        output::note(verbosity, text);
    }
    let gpus = options.gpus.unwrap_or(usual);
    Ok(candidate.file(cluster, workload, gpus == Gpus::Near)?)
}

/// Chooses devices and the GPUs near them.
pub(crate) fn selected(
    cluster: &Cluster,
    workload: &Workload,
    placement: Placement,
    selection: &Selection,
) -> anyhow::Result<Placement> {
    let selected = select(cluster, workload, placement, selection);
    let selected = selected.map_err(|error| not_selected(selection, error))?;
    Ok(gpus::beside(cluster, &selected)?)
}

fn not_selected(selection: &Selection, error: SelectionError) -> anyhow::Error {
    match error {
        SelectionError::Placement(error) => error.into(),
        other => infeasible(selection, &other).into(),
    }
}

fn infeasible(selection: &Selection, error: &SelectionError) -> Infeasible {
    Infeasible(format!("network devices by {selection}: {error}"))
}
