//! The variables that give the network stack of a job the devices of its ranks.

use rankwright::placement::{JobEntry, PlacementFile, Settings};
use rankwright::rails::fabric::{self as stacks, LocalRanks};
use rankwright::rails::gpus;

use crate::options::FabricOptions;
use crate::output::exit_code::Infeasible;

/// The names of the variables that give the ranks of a job their network devices.
pub(crate) fn device_variables(
    fabric: FabricOptions,
    placement: &PlacementFile,
    job: &JobEntry,
    local_ranks: LocalRanks,
) -> Vec<String> {
    let (mut all, mut of_gpus) = (Settings::default(), Settings::default());
    if set_device_variables(fabric, placement, job, local_ranks, &mut all).is_err() {
        return Vec::new();
    }
    gpus::set_variables(placement, job, &mut of_gpus);
    let mut names: Vec<String> = Vec::new();
    for rank in 0..job.ranks.len() {
        for (name, _) in all.variables(rank) {
            let is_of_gpus = of_gpus.variables(rank).iter().any(|(other, _)| other == name);
            if !is_of_gpus && !names.contains(name) {
                names.push(name.clone());
            }
        }
    }
    names
}

/// Sets the variables for devices and GPUs of a job. Returns notes for the user.
pub(crate) fn set_device_variables(
    fabric: FabricOptions,
    placement: &PlacementFile,
    job: &JobEntry,
    local_ranks: LocalRanks,
    settings: &mut Settings,
) -> Result<Vec<String>, Infeasible> {
    let mut notes = gpus::set_variables(placement, job, settings);
    if let Some(stack) = fabric.fabric {
        let applied = stack.apply(placement, job, local_ranks, settings);
        notes.extend(applied.map_err(|error| Infeasible(error.to_string()))?);
        return Ok(notes);
    }
    // The user named no stack, so an error here must not prevent the launch.
    let mut with_devices = settings.clone();
    let has_devices = job.ranks.iter().any(|entry| !entry.nics.is_empty());
    let stack = match fabric.of_site.filter(|_| has_devices) {
        Some(stack) => Ok(Some(stack)),
        None => stacks::recognise(placement, job),
    };
    let applied = match stack {
        Ok(None) => return Ok(notes),
        Ok(Some(stack)) => stack.apply(placement, job, local_ranks, &mut with_devices),
        Err(ambiguous) => {
            notes.push(ambiguous.to_string());
            return Ok(notes);
        }
    };
    match applied {
        Ok(more) => {
            *settings = with_devices;
            notes.extend(more);
        }
        Err(error) => {
            notes.push(format!("the variables for network devices are not set: {error}"));
        }
    }
    Ok(notes)
}
