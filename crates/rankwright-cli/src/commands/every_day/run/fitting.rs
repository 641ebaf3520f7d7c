//! Checks before the start that a placement can run here: the hosts and PUs are granted, the
//! devices exist, and the cluster is the one it was made for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rankwright::cluster::Cluster;
use rankwright::ids::{PuId, PuSet};
use rankwright::launch::Launcher;
use rankwright::placement::{JobEntry, PlacementFile, RankEntry};
use rankwright::units::counted;
use rankwright_shim_format::devices::NotSeen;
use rankwright_shim_format::{ReportLine, same_host, shim_options};

use crate::host::batch_job::{BatchJob, pus_here};
use crate::host::{child, this_host};
use crate::launching::made_for;
use crate::launching::prepared::Prepared;

/// The reasons why the job would not run as placed, a sentence each. `launcher` is what starts it here, if it is
/// started.
pub(super) fn misfits(
    prepared: &Prepared,
    launcher: Option<&Launcher>,
    batch: Option<&BatchJob>,
    cluster: Option<&Cluster>,
) -> anyhow::Result<Vec<String>> {
    let (placement, job) = (prepared.placement(), prepared.one_job()?);
    let mut misfits: Vec<String> = Vec::new();
    misfits.extend(cluster.and_then(|cluster| {
        let other = made_for::other_cluster(placement, cluster)?;
        Some(made_for::with_advice(other, placement, cluster))
    }));
    if batch.is_none() {
        let unknown = || launcher.and_then(|launcher| prepared.unknown_hosts(launcher, &[job]));
        misfits.extend(prepared.unreachable_hosts(&[job]).or_else(unknown));
    }
    if let Some(batch) = batch {
        misfits.extend(prepared.hosts_not_granted(&[job], &batch.title, &batch.hosts));
        if !placement.cluster.emulated {
            misfits.extend(too_few_cpus(placement, job, batch));
        }
    }
    if !placement.cluster.emulated {
        let here = this_host::name()?;
        let ranks: Vec<&RankEntry> =
            job.ranks.iter().filter(|entry| same_host(&entry.node, &here)).collect();
        if !ranks.is_empty() {
            misfits.extend(pus_not_granted(prepared, &ranks, batch.is_some()));
            misfits.extend(devices_gone(placement, &ranks, Path::new("/sys")));
        }
    }
    Ok(misfits)
}

/// Hosts of which the placement uses more PUs than are granted. A CPU of a batch system may be a
/// core with all its PUs.
fn too_few_cpus(placement: &PlacementFile, job: &JobEntry, batch: &BatchJob) -> Option<String> {
    let mut used: BTreeMap<&str, BTreeSet<PuId>> = BTreeMap::new();
    for entry in job.ranks.iter().filter(|entry| entry.bound) {
        used.entry(&entry.node).or_default().extend(&entry.pus);
    }
    used.iter().find_map(|(host, pus)| {
        let granted = batch.hosts.cpus_of(host)?;
        let node = placement.node(host)?;
        let threads = (node.pus / node.cores.max(1)).max(1);
        (pus.len() > (granted * threads) as usize).then(|| {
            format!(
                "the placement uses {} of {host}, but {} has {}",
                counted(pus.len(), "PU"),
                batch.title,
                counted(granted as usize, "CPU")
            )
        })
    })
}

/// PUs of this host that the job may not use.
fn pus_not_granted(
    prepared: &Prepared,
    ranks: &[&RankEntry],
    in_batch_job: bool,
) -> Option<String> {
    let granted = if in_batch_job { pus_here() } else { cpuset_here(prepared.shim()) }?;
    let bound = ranks.iter().filter(|entry| entry.bound);
    let refused: PuSet = bound
        .flat_map(|entry| &entry.pus)
        .filter(|pu| granted.as_slice().binary_search(pu).is_err())
        .copied()
        .collect();
    (!refused.is_empty()).then(|| {
        format!(
            "PUs P#{refused} of {} are not granted: this job may use P#{granted} there; request whole \
             nodes, or place again with only the granted cores free",
            ranks[0].node
        )
    })
}

/// The PUs that the shim could bind to on this host; `None` if it does not report them.
fn cpuset_here(shim: &str) -> Option<PuSet> {
    let mut command = Command::new(shim);
    command.arg(shim_options::REPORT).stdin(Stdio::null()).stderr(Stdio::null());
    let said = child::first_output(&mut command, Duration::from_secs(2))?;
    said.parse::<ReportLine>().ok()?.cpuset.parse().ok()
}

/// Devices of ranks on this host that the host does not have.
fn devices_gone(placement: &PlacementFile, ranks: &[&RankEntry], sys: &Path) -> Option<String> {
    let of_ranks = ranks.iter().flat_map(|entry| placement.devices(entry));
    let looked_for = of_ranks.map(|device| (device.pci.as_deref(), device.names().collect()));
    let mut gone: Vec<String> = NotSeen::of(looked_for, sys).missing;
    gone.sort_unstable();
    gone.dedup();
    (!gone.is_empty()).then(|| {
        format!(
            "{} does not have the device{} {}, which ranks should use; discover the \
             node again (`rankwright cluster discover`) and place again",
            ranks[0].node,
            if gone.len() == 1 { "" } else { "s" },
            gone.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACEMENT: &str = r#"{
        "format": 1, "strategy": "by hand", "workload_digest": "",
        "cluster": {"name": "c", "digest": ""},
        "nodes": [{"name": "n0", "cores": 2, "pus": 2, "numa_os": [0],
            "nics": [
                {"name": "mlx5_0"}, {"name": "mlx5_1", "aliases": ["ib1"]},
                {"name": "mlx5_2", "pci": "0000:41:00.0"}, {"name": "mlx5_3"}, {"name": "port A"}
            ],
            "gpus": [{"name": "cuda0", "pci": "0000:99:00.0"}]
        }],
        "jobs": [{"name": "j", "ranks": [
            {"rank": 0, "node": "n0", "cores": [0], "pus": [0], "numa": 0,
             "nics": ["mlx5_0", "ib1", "mlx5_2", "port A"], "gpus": ["cuda0"]},
            {"rank": 1, "node": "n0", "cores": [1], "pus": [1], "numa": 0, "nics": ["mlx5_1"]}
        ]}]
    }"#;

    #[test]
    fn devices_of_ranks_are_missed_once() {
        let sys = tempfile::tempdir().unwrap();
        for path in ["bus/pci/devices/0000:41:00.0", "class/infiniband/mlx5_0"] {
            std::fs::create_dir_all(sys.path().join(path)).unwrap();
        }
        let placement = PlacementFile::parse(PLACEMENT, "test").unwrap();
        let ranks: Vec<&RankEntry> = placement.jobs[0].ranks.iter().collect();
        let gone = devices_gone(&placement, &ranks, sys.path()).unwrap();
        assert!(gone.starts_with("n0 does not have the devices cuda0, mlx5_1, which"), "{gone}");
        assert_eq!(devices_gone(&placement, &[], sys.path()), None);
    }
}
