//! Network devices and GPUs of a placement: chosen with the cores, or afterwards.

use rankwright::choose::Candidate;
use rankwright::cluster::Cluster;
use rankwright::map::Problem;
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

/// A mapping whose ranks have their devices, as a placement.
#[derive(Debug)]
pub(crate) struct Chosen {
    /// The placement, with its predictions.
    pub(crate) file: PlacementFile,
    /// The load of devices, if devices were chosen.
    pub(crate) balance: Option<Balance>,
}

/// An error if no node of the cluster has a device to select.
pub(crate) fn require_devices(cluster: &Cluster, selection: &Selection) -> Result<(), Infeasible> {
    selectable(cluster, selection).map_err(|error| infeasible(selection, &error))
}

/// The problem with a selection of devices for the ranks.
pub(super) fn with_selection<'a>(
    problem: Problem<'a>,
    selection: &Selection,
) -> anyhow::Result<Problem<'a>> {
    let problem = problem.with_selection(selection.clone());
    problem.map_err(|error| not_selected(selection, error))
}

/// The placement of a mapping that was searched with the devices of a selection.
pub(crate) fn chosen(
    cluster: &Cluster,
    workload: &Workload,
    candidate: &Candidate,
    selection: &Selection,
    gpus: Gpus,
) -> anyhow::Result<Chosen> {
    let mut placement = candidate.placement.clone();
    let balance = if selection.is_none() {
        None
    } else {
        let bound = lower_bound(cluster, workload, &placement, selection);
        Some(Balance {
            busiest: candidate.load.busiest_nic_time(),
            lower_bound: bound.map_err(|error| not_selected(selection, error))?,
        })
    };
    if gpus == Gpus::Near {
        placement = gpus::beside(cluster, &placement)?;
    }
    let file = PlacementFile::new(cluster, workload, &placement, candidate.load.predicted());
    Ok(Chosen { file, balance })
}

/// The placement of a mapping that was searched with the user's selection of devices; `usual` is
/// the default choice of GPUs.
pub(crate) fn placement_file(
    options: &SelectionOptions,
    cluster: &Cluster,
    workload: &Workload,
    candidate: &Candidate,
    usual: Gpus,
    verbosity: &Verbosity,
) -> anyhow::Result<PlacementFile> {
    let gpus = options.gpus.unwrap_or(usual);
    let chosen = chosen(cluster, workload, candidate, &options.nics, gpus)?;
    if let Some(balance) = chosen.balance.filter(|balance| balance.busiest.0 > 0.0) {
        let text = format!(
            "network devices by {}: the busiest needs {:.2}; no choice for these cores needs less \
             than {:.2}",
            options.nics, balance.busiest, balance.lower_bound
        );
        output::note(verbosity, text);
    }
    Ok(chosen.file)
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
