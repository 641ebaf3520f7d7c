//! Network devices and GPUs of a placement: chosen with the cores, or afterwards.

use std::collections::BTreeSet;

use rankwright::choose::Candidate;
use rankwright::cluster::{Cluster, Levels};
use rankwright::estimate::Load;
use rankwright::placement::{GpuUse, Placement, PlacementFile, Settings};
use rankwright::rails::{Selection, SelectionError, gpus, lower_bound, select, selectable};
use rankwright::report::GpuReport;
use rankwright::traffic::Workload;
use rankwright::units::{Seconds, counted};

use crate::host::{batch_job, granted_gpus};
use crate::options::{RankSize, SelectionOptions};
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

/// How long the busiest device needs if devices are chosen by another selection, for ranks that stay where
/// they are; `None` if it cannot choose any.
pub(crate) fn busiest_under(
    cluster: &Cluster,
    workload: &Workload,
    placement: &Placement,
    selection: &Selection,
) -> Option<Seconds> {
    let placement = select(cluster, workload, placement.clone(), selection).ok()?;
    let load = Load::new(cluster, &Levels::new(cluster), workload, &placement);
    Some(load.busiest_nic_time())
}

/// How the ranks use GPUs: as the user says; else `near` if the batch system granted GPUs.
pub(crate) fn gpu_use(
    options: &SelectionOptions,
    cluster: &Cluster,
    verbosity: &Verbosity,
) -> GpuUse {
    let granted = "the batch system granted GPUs, which are left to the program";
    let (wanted, why) = match options.gpus {
        Some(wanted) => (wanted.into(), "--gpus has no effect"),
        None if granted_gpus::any() => (GpuUse::Near, granted),
        None => (GpuUse::None, ""),
    };
    let (possible, warning) = gpus::possible(cluster, wanted, why, granted_gpus::here());
    if let Some(text) = warning {
        // These tell which GPUs they granted.
        let knows = batch_job::system().filter(|system| ["slurm:", "flux:"].contains(system));
        let way_out = knows.filter(|_| possible != GpuUse::None).map(|system| {
            format!(": `rankwright cluster import {system} --on CLUSTER -o job.toml`, then --on job.toml")
        });
        output::warn(verbosity, format!("{text}{}", way_out.unwrap_or_default()));
    }
    possible
}

/// The file of a candidate. Notes say how busy the devices are that were selected, and how ranks use
/// GPUs.
pub(crate) fn placement_file(
    options: &SelectionOptions,
    cluster: &Cluster,
    workload: &Workload,
    candidate: &Candidate,
    verbosity: &Verbosity,
) -> anyhow::Result<PlacementFile> {
    let balance = balance(cluster, workload, candidate, &options.nics())?;
    if let Some(balance) = balance.filter(|balance| balance.busiest.0 > 0.0) {
        let text = format!(
            "network devices chosen by `{}`: the busiest needs {:.2}; with the ranks on these cores it needs at \
             least {:.2}",
            options.nics(),
            balance.busiest,
            balance.lower_bound
        );
        output::note(verbosity, text);
    }
    let file = candidate.file(cluster, workload);
    note_gpus(&file, verbosity);
    Ok(file)
}

/// Notes how the ranks of a placement use GPUs.
fn note_gpus(file: &PlacementFile, verbosity: &Verbosity) {
    let ranks = file.jobs.iter().flat_map(|job| &job.ranks);
    let each = ranks.map(|entry| entry.gpus.len()).max().unwrap_or_default();
    if file.gpus == GpuUse::Near && each > 0 {
        let taken = match each {
            1 => "GPU i".to_owned(),
            _ => format!("the i-th {each} GPUs"),
        };
        let text = format!(
            "ranks are ordered by GPU: local rank i of a node is as near as possible to {taken} \
             (modulo their number, in the order of the bus); all GPUs stay visible"
        );
        output::note(verbosity, text);
    }
    gpu_notes(file).iter().for_each(|text| output::note(verbosity, text));
}

/// What holds for the variables that show ranks their GPUs.
pub(crate) fn gpu_notes(file: &PlacementFile) -> BTreeSet<String> {
    let settings = |job| gpus::set_variables(file, job, &mut Settings::default());
    file.jobs.iter().flat_map(settings).collect()
}

/// A table of the ranks with their cores, GPUs and network devices, if there are ranks per GPU. Warns of
/// ranks that are not beside theirs.
pub(crate) fn ranks_of_gpus(
    rank_size: &RankSize,
    cluster: &Cluster,
    file: &PlacementFile,
    verbosity: &Verbosity,
) -> Option<String> {
    let report = rank_size.is_per_gpu().then(|| GpuReport::new(cluster, file)).flatten()?;
    report.misses.iter().for_each(|text| output::warn(verbosity, text));
    let (header, rows) = report.table();
    Some(format!("\n{}{}", output::table(&header, &rows), report.remarks()))
}

/// The most nodes that are shown without `--verbose`.
const NODES_SHOWN: usize = 8;

/// Which ranks each node has, as a table.
pub(crate) fn ranks_of_nodes(file: &PlacementFile, verbosity: &Verbosity) -> String {
    let (header, mut rows) = rankwright::report::ranks_of_nodes(file);
    let more = rows.len().saturating_sub(NODES_SHOWN);
    let more = match verbosity.verbose || more == 0 {
        true => String::new(),
        false => {
            rows.truncate(NODES_SHOWN);
            format!("and {} (-v: all)\n", counted(more, "more node"))
        }
    };
    format!("\n{}{more}", output::table(&header, &rows))
}

/// Chooses devices, and GPUs anew where the placement has some.
pub(crate) fn selected(
    cluster: &Cluster,
    workload: &Workload,
    placement: Placement,
    selection: &Selection,
) -> anyhow::Result<Placement> {
    let selected = select(cluster, workload, placement, selection);
    let selected = selected.map_err(|error| not_selected(selection, error))?;
    let (gpu_use, each) = (selected.gpus(), selected.ranks().map(|place| place.gpus.len()).max());
    Ok(gpus::assign(cluster, selected, gpu_use, each.unwrap_or(1))?)
}

fn not_selected(selection: &Selection, error: SelectionError) -> anyhow::Error {
    match error {
        SelectionError::Placement(error) => error.into(),
        other => infeasible(selection, &other).into(),
    }
}

fn infeasible(selection: &Selection, error: &SelectionError) -> Infeasible {
    Infeasible(format!("network devices chosen by `{selection}`: {error}"))
}
