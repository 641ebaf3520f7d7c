//! The options about network devices, and what they make of placements: which devices ranks use, and
//! by which variables their network stack is told.

use clap::{Args, ValueEnum};
use rankwright::choose::Candidate;
use rankwright::cluster::Cluster;
use rankwright::map::Problem;
use rankwright::placement::{JobEntry, Placement, PlacementFile, Settings};
use rankwright::rails::fabric::{self, LocalRanks, STACKS, Stack};
use rankwright::rails::{
    SELECTIONS, Selection, SelectionError, gpus, lower_bound, select, selectable,
};
use rankwright::traffic::Workload;
use rankwright::units::Seconds;

use crate::cli::Verbosity;
use crate::exit_code::{Infeasible, UsageError};
use crate::output;
use crate::table_row::TableRow;

/// Which network devices and GPUs ranks get.
#[derive(Debug, Clone, Args)]
pub(crate) struct SelectionOptions {
    /// Choose the network devices of all ranks too: by-load, device-affinity, paper-2017, round-robin,
    /// packed, round-robin-all, psm2-default or none
    #[arg(long, value_name = "SELECTION", default_value_t = Selection::NONE)]
    pub(crate) nics: Selection,
    /// Which GPUs ranks get, where the cluster names some [default: near; of `run` only with --nics]
    #[arg(long, value_enum, value_name = "WHICH")]
    gpus: Option<Gpus>,
}

/// Which GPUs ranks get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Gpus {
    /// Those near their network devices and cores, each rank its share
    Near,
    /// Left to the program
    None,
}

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

impl SelectionOptions {
    /// An error if devices are wanted and no node of the cluster has any: before a search, not after.
    pub(crate) fn refuse_without_devices(&self, cluster: &Cluster) -> Result<(), Infeasible> {
        refuse_without_devices(cluster, &self.nics)
    }

    /// The problem where ranks get the devices that the user wants.
    pub(crate) fn ask<'a>(&self, problem: Problem<'a>) -> anyhow::Result<Problem<'a>> {
        with_selection(problem, &self.nics)
    }

    /// An error if the user gave one of the options, where they have no effect.
    pub(crate) fn refuse(&self, why: &str) -> Result<(), UsageError> {
        if !self.nics.is_none() {
            return Err(UsageError(format!("--nics {}: {why}", self.nics)));
        }
        match self.gpus {
            None => Ok(()),
            Some(_) => Err(UsageError(format!("--gpus: {why}"))),
        }
    }

    /// The file of an answer that was searched with the devices that the user wants; `usual` says
    /// which GPUs ranks get where the user does not.
    pub(crate) fn file(
        &self,
        cluster: &Cluster,
        workload: &Workload,
        candidate: &Candidate,
        usual: Gpus,
        verbosity: &Verbosity,
    ) -> anyhow::Result<PlacementFile> {
        let gpus = self.gpus.unwrap_or(usual);
        let chosen = chosen(cluster, workload, candidate, &self.nics, gpus)?;
        if let Some(balance) = chosen.balance.filter(|balance| balance.busiest.0 > 0.0) {
            let text = format!(
                "network devices by {}: the busiest needs {:.2}, no choice for these cores less \
                 than {:.2}",
                self.nics, balance.busiest, balance.lower_bound
            );
            output::note(verbosity, text);
        }
        Ok(chosen.file)
    }
}

/// An error if no node of the cluster has a device to select.
pub(crate) fn refuse_without_devices(
    cluster: &Cluster,
    selection: &Selection,
) -> Result<(), Infeasible> {
    selectable(cluster, selection).map_err(|error| infeasible(selection, &error))
}

/// The problem where ranks get their devices by a selection.
pub(crate) fn with_selection<'a>(
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

/// The selections for help texts: one line each.
pub(crate) fn selection_help() -> String {
    let line = |entry: &rankwright::rails::SelectionEntry| {
        let options: Vec<String> = entry.options.iter().map(|name| format!("{name}=..")).collect();
        let options = match options.is_empty() {
            true => String::new(),
            false => format!(" [{}]", options.join(",")),
        };
        format!("  {:<16}{}{options}\n", entry.name, entry.summary)
    };
    let lines: String = SELECTIONS.iter().map(line).collect();
    format!(
        "Selections of network devices; all take devices=NAME+NAME, the only ones that may be used:\n\
         {lines}"
    )
}

/// Which network stack is told the devices of the ranks.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct FabricOptions {
    /// The network stack that is told the devices of the placement, by variables for each rank
    /// [default: none, or the one that the devices and the MPI library tell for sure]
    #[arg(long, value_name = "STACK", value_parser = TableRow::new(STACKS, |stack| (stack.name, stack.summary)))]
    pub(crate) fabric: Option<&'static Stack>,
}

impl FabricOptions {
    /// Whether the user named a stack.
    pub(crate) fn is_given(self) -> bool {
        self.fabric.is_some()
    }

    /// Sets the variables for devices and GPUs of a job; what the user should know.
    pub(crate) fn apply(
        self,
        placement: &PlacementFile,
        job: &JobEntry,
        local_ranks: LocalRanks,
        settings: &mut Settings,
    ) -> Result<Vec<String>, Infeasible> {
        gpus::show_only_own(placement, job, settings);
        if let Some(stack) = self.fabric {
            let told = stack.apply(placement, job, local_ranks, settings);
            return told.map_err(|error| Infeasible(error.to_string()));
        }
        // What nobody asked for must not stop a launch.
        let mut with_devices = settings.clone();
        let told = match fabric::recognise(placement, job) {
            Ok(None) => return Ok(Vec::new()),
            Ok(Some(stack)) => stack.apply(placement, job, local_ranks, &mut with_devices),
            Err(question) => return Ok(vec![question]),
        };
        Ok(match told {
            Ok(notes) => {
                *settings = with_devices;
                notes
            }
            Err(error) => vec![format!("the network stack is not told of devices: {error}")],
        })
    }
}
