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

/// How busy the busiest device of all nodes is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Balance {
    /// How long it needs for all that passes it one way, as in every comparison of placements.
    pub(crate) busiest: Seconds,
    /// No choice of devices for the same placement has a busiest device that needs less.
    pub(crate) lower_bound: Seconds,
}

/// What becomes of an answer whose ranks have their devices.
#[derive(Debug)]
pub(crate) struct Chosen {
    /// The placement with what is predicted of it.
    pub(crate) file: PlacementFile,
    /// How busy devices are, where they were chosen.
    pub(crate) balance: Option<Balance>,
}

/// An error if no node of the cluster has a device to select.
pub(crate) fn require_devices(cluster: &Cluster, selection: &Selection) -> Result<(), Infeasible> {
    selectable(cluster, selection).map_err(|error| infeasible(selection, &error))
}

/// The problem where ranks get their devices by a selection.
pub(super) fn with_selection<'a>(
    problem: Problem<'a>,
    selection: &Selection,
) -> anyhow::Result<Problem<'a>> {
    let problem = problem.with_selection(selection.clone());
    problem.map_err(|error| not_selected(selection, error))
}

/// What becomes of an answer that was searched with the devices of a selection.
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

/// The file of an answer that was searched with the devices that the user wants; `usual` says
/// which GPUs ranks get where the user does not.
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
            "network devices by {}: the busiest needs {:.2}, no choice for these cores less \
             than {:.2}",
            options.nics, balance.busiest, balance.lower_bound
        );
        output::note(verbosity, text);
    }
    Ok(chosen.file)
}

/// Chooses devices, and GPUs beside them.
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
