//! PSM2, PSM3 and OPX.

use super::FabricError;
use super::job::{Job, LocalMap, LocalRank, Output};
use crate::placement::DeviceEntry;
use crate::rails::node_view::unit;

/// `HFI_MAX_RAILS` of PSM2.
const PSM2_RAILS: usize = 4;
/// The most rails of PSM3, over all sets of a map.
const PSM3_RAILS: usize = 32;

/// The unit number of an Omni-Path device: 2 if one of its names is `hfi1_2`.
fn hfi_unit(device: &DeviceEntry) -> u32 {
    let named = device.names().find(|name| name.starts_with("hfi1"));
    named.and_then(unit).unwrap_or(0)
}

/// `HFI_UNIT` overrides everything else; several units as `PSM2_MULTIRAIL_MAP`, which is read only
/// where `PSM2_MULTIRAIL` is not 0. Omni-Path devices have port 1 only.
pub(super) fn psm2(job: &Job<'_>, output: &mut Output<'_>) -> Result<(), FabricError> {
    for (_, rank) in job.ranks() {
        if rank.devices.len() > PSM2_RAILS {
            return Err(too_many(job, rank, PSM2_RAILS));
        }
        if let [device] = rank.devices[..] {
            output.set(rank, "HFI_UNIT", hfi_unit(device).to_string());
        } else {
            output.set(rank, "PSM2_MULTIRAIL", "1");
            let map = rank.list(",", |device| format!("{}:1", hfi_unit(device)));
            output.set(rank, "PSM2_MULTIRAIL_MAP", map);
        }
    }
    Ok(())
}

/// One map for all ranks where all nodes have equal maps and local ranks are right: with
/// `PSM3_MULTIRAIL` 1 the local rank selects the set. Else `PSM3_NIC`, or a map of one set where a rank
/// has several devices.
pub(super) fn psm3(job: &Job<'_>, output: &mut Output<'_>) -> Result<(), FabricError> {
    if let Some((_, rank)) = job.ranks().find(|(_, rank)| rank.devices.len() > PSM3_RAILS) {
        return Err(too_many(job, rank, PSM3_RAILS));
    }
    let set = |rank: &LocalRank<'_>| rank.list(",", |device| device.name.clone());
    let sets = |map: &LocalMap<'_>| map.ranks.iter().map(set).collect::<Vec<_>>();
    let rails = |map: &LocalMap<'_>| map.ranks.iter().map(|r| r.devices.len()).sum::<usize>();
    let few = job.nodes.iter().all(|map| rails(map) <= PSM3_RAILS);
    if let Some(sets) = job.same_by_local_rank(sets).filter(|sets| few && sets.len() > 1) {
        output.set_for_all(job, "PSM3_MULTIRAIL", "1");
        output.set_for_all(job, "PSM3_MULTIRAIL_MAP", &sets.join(";"));
        let note =
            "PSM3_MULTIRAIL_MAP with sets (`;`) needs a PSM3 that knows them; older ones stop";
        output.notes.push(note.to_owned());
        return Ok(());
    }
    for (_, rank) in job.ranks() {
        if rank.devices.len() == 1 {
            output.set(rank, "PSM3_NIC", set(rank));
        } else {
            output.set(rank, "PSM3_MULTIRAIL", "1");
            output.set(rank, "PSM3_MULTIRAIL_MAP", set(rank));
        }
    }
    Ok(())
}

/// One list of devices and the cores (P# of their PUs) that use them, where all nodes have equal lists;
/// else the unit of each rank. The first part that matches is used; `default` comes last, because OPX
/// fails without a match.
pub(super) fn opx(job: &Job<'_>, output: &mut Output<'_>) -> Result<(), FabricError> {
    let job = &job.one_device_each(output);
    let bound = job.ranks().all(|(_, rank)| rank.entry.bound);
    if let Some(parts) = job.same_for_all(core_parts).filter(|_| bound) {
        let value = parts + ",default";
        output.set_for_all(job, "FI_OPX_HFI_SELECT", &value);
        return Ok(());
    }
    for (_, rank) in job.ranks() {
        output.set(rank, "FI_OPX_HFI_SELECT", hfi_unit(rank.devices[0]).to_string());
    }
    Ok(())
}

/// `core:0:0-15,core:1:16-31`: runs of PUs that use one device.
fn core_parts(map: &LocalMap<'_>) -> String {
    let mut pus: Vec<(u32, u32)> = Vec::new();
    for rank in &map.ranks {
        let device = hfi_unit(rank.devices[0]);
        pus.extend(rank.entry.pus.iter().map(|pu| (pu.0, device)));
    }
    pus.sort_unstable();
    let runs = pus.chunk_by(|a, b| a.1 == b.1 && a.0 + 1 == b.0);
    let part = |run: &[(u32, u32)]| {
        let (first, last, device) = (run[0].0, run[run.len() - 1].0, run[0].1);
        if first == last {
            format!("core:{device}:{first}")
        } else {
            format!("core:{device}:{first}-{last}")
        }
    };
    runs.map(part).collect::<Vec<_>>().join(",")
}

fn too_many(job: &Job<'_>, rank: &LocalRank<'_>, most: usize) -> FabricError {
    let (found, rank) = (rank.devices.len(), rank.entry.rank.0);
    FabricError::TooManyRails { stack: job.stack, most, rank, found }
}
