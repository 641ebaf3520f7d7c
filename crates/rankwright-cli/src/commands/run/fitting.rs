//! Whether a placement can run here, before anything is started: its hosts are granted, its PUs may
//! be used, its devices are there, and it was made for this cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rankwright::cluster::{Cluster, hostlist};
use rankwright::ids::{PuId, PuSet};
use rankwright::placement::{DeviceEntry, JobEntry, PlacementFile, RankEntry, digest};
use rankwright::units::counted;

use crate::batch_job::{BatchJob, pus_here};
use crate::host_name::same_host;
use crate::launching::Prepared;
use crate::report_line::ReportLine;
use crate::{child, inputs};

/// Why the job would not run as placed: a sentence each.
pub(super) fn misfits(
    prepared: &Prepared,
    batch: Option<&BatchJob>,
    cluster: Option<&Cluster>,
) -> anyhow::Result<Vec<String>> {
    let (placement, job) = (prepared.placement(), prepared.one_job()?);
    let mut misfits: Vec<String> = Vec::new();
    misfits.extend(cluster.and_then(|cluster| other_cluster(placement, cluster)));
    if let Some(batch) = batch {
        misfits.extend(hosts_not_granted(job, batch));
        if !placement.cluster.emulated {
            misfits.extend(too_few_cpus(placement, job, batch));
        }
    }
    if !placement.cluster.emulated {
        let here = inputs::host_name()?;
        let ranks: Vec<&RankEntry> =
            job.ranks.iter().filter(|entry| same_host(&entry.node, &here)).collect();
        if let Some(first) = ranks.first() {
            misfits.extend(pus_not_granted(prepared, &ranks, batch.is_some()));
            let devices = placement.node(&first.node).map(|node| [&node.nics, &node.gpus]);
            let devices = devices.into_iter().flatten().flatten();
            misfits.extend(devices_gone(devices, &ranks, &first.node, Path::new("/sys")));
        }
    }
    Ok(misfits)
}

/// A placement for another cluster than the one that the user names.
fn other_cluster(placement: &PlacementFile, cluster: &Cluster) -> Option<String> {
    let (made_for, given) = (&placement.cluster, digest(cluster));
    (made_for.digest != given).then(|| {
        format!(
            "the placement was made for another cluster: for `{}` with the digest {}, while \
             --on gives `{}` with the digest {}",
            made_for.name,
            short(&made_for.digest),
            cluster.name,
            short(&given)
        )
    })
}

/// Enough of a digest to tell it from others.
fn short(digest: &str) -> &str {
    digest.get(..15).unwrap_or(digest)
}

/// Hosts that the batch job does not have.
fn hosts_not_granted(job: &JobEntry, batch: &BatchJob) -> Option<String> {
    let hosts: BTreeSet<&str> = job.ranks.iter().map(|entry| entry.node.as_str()).collect();
    let foreign: Vec<String> =
        hosts.iter().filter(|host| !batch.has(host)).map(|host| (*host).to_owned()).collect();
    if foreign.is_empty() {
        return None;
    }
    let names: Vec<String> = batch.hosts.names().iter().map(|name| (*name).to_owned()).collect();
    Some(format!(
        "{} of the {} of the placement {} not granted: {}; {} has {}",
        foreign.len(),
        counted(hosts.len(), "host"),
        if foreign.len() == 1 { "is" } else { "are" },
        hostlist::compress(&foreign),
        batch.title,
        hostlist::compress(&names)
    ))
}

/// Hosts of which more PUs are used than granted. What a batch system calls a CPU may be a core with
/// all its PUs.
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
                "the placement uses {} of {host}, of which {} has {}",
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
            "PUs P#{refused} of {} are not granted: this job may use P#{granted} there; ask the \
             resource manager for whole nodes, or place again with the cores free that the job has",
            ranks[0].node
        )
    })
}

/// The PUs that the shim could bind itself to here; `None` where it does not say.
fn cpuset_here(shim: &str) -> Option<PuSet> {
    let mut command = Command::new(shim);
    command.arg("--report").stdin(Stdio::null()).stderr(Stdio::null());
    let said = child::first_output(&mut command, Duration::from_secs(2))?;
    said.parse::<ReportLine>().ok()?.cpuset.parse().ok()
}

/// Devices that ranks of this host should use and that it does not have (any more).
fn devices_gone<'a>(
    devices: impl Iterator<Item = &'a DeviceEntry>,
    ranks: &[&RankEntry],
    host: &str,
    sys: &Path,
) -> Option<String> {
    let used: BTreeSet<&String> =
        ranks.iter().flat_map(|entry| entry.nics.iter().chain(&entry.gpus)).collect();
    let gone: Vec<&str> = devices
        .filter(|device| used.contains(&device.name) && !is_here(device, sys))
        .map(|device| device.name.as_str())
        .collect();
    (!gone.is_empty()).then(|| {
        format!(
            "{host} does not have the device{} {} any more, which ranks should use; discover the \
             node again (`rankwright cluster discover`) and place again",
            if gone.len() == 1 { "" } else { "s" },
            gone.join(", ")
        )
    })
}

/// Whether the kernel knows a device: by its PCI address, else by one of its names.
fn is_here(device: &DeviceEntry, sys: &Path) -> bool {
    const CLASSES: [&str; 4] = ["infiniband", "net", "cxi", "drm"];
    if let Some(address) = &device.pci {
        return sys.join("bus/pci/devices").join(address).exists();
    }
    let names = || std::iter::once(&device.name).chain(&device.aliases);
    let paths = |name: &String| CLASSES.map(|class| sys.join("class").join(class).join(name));
    let looks_real = |name: &str| {
        let kinds = ["mlx", "hfi1", "cxi", "hsn", "ib", "bnxt_re", "irdma", "efa"];
        kinds.iter().any(|kind| name.starts_with(kind))
    };
    // Of a name that somebody made up, nothing can be said.
    !names().any(|name| looks_real(name))
        || names().flat_map(paths).any(|path: PathBuf| path.exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(name: &str, pci: Option<&str>) -> DeviceEntry {
        let pci = pci.map(str::to_owned);
        DeviceEntry {
            name: name.to_owned(),
            aliases: Vec::new(),
            near: Vec::new(),
            pci,
            ports: Vec::new(),
        }
    }

    #[test]
    fn devices_are_found_by_address_or_name() {
        let sys = tempfile::tempdir().unwrap();
        for path in ["bus/pci/devices/0000:41:00.0", "class/infiniband/mlx5_0"] {
            std::fs::create_dir_all(sys.path().join(path)).unwrap();
        }
        let rank = RankEntry {
            rank: rankwright::ids::Rank(0),
            node: "n0".to_owned(),
            cores: Vec::new(),
            pus: Vec::new(),
            numa: None,
            nics: ["mlx5_0", "mlx5_1", "mlx5_2", "port A"].map(str::to_owned).to_vec(),
            gpus: vec!["cuda0".to_owned()],
            bound: true,
        };
        let devices = [
            device("mlx5_0", None),
            device("mlx5_1", None),
            device("mlx5_2", Some("0000:41:00.0")),
            device("mlx5_3", None),
            device("port A", None),
            device("cuda0", Some("0000:99:00.0")),
        ];
        let gone = devices_gone(devices.iter(), &[&rank], "n0", sys.path()).unwrap();
        assert!(gone.starts_with("n0 does not have the devices mlx5_1, cuda0 any more"), "{gone}");
    }
}
