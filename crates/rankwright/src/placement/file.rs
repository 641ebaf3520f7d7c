//! `placement.json`: a placement with the names of nodes and devices, so that it can be launched and
//! checked without the cluster description.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::contradictions;
use super::{GpuUse, JobPlacement, JobShape, Placement, PlacementError, RankOfJob, RankPlacement};
use crate::cluster::{Cluster, Gpu, GpuVendor, Nic, Port};
use crate::files::{InputError, WriteError, read_text, write_atomically};
use crate::ids::{CoreId, NodeId, NumaId, PuId, Rank};
use crate::traffic::Workload;
use crate::traffic::read::import::refused;

/// The version of the format that is read and written.
pub(super) const FORMAT: u32 = 1;

const EXPECTED: &str = "a placement as `rankwright place` writes it";

/// The contents of a `placement.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlacementFile {
    /// The version of the format: 1.
    pub format: u32,
    /// The strategy with its options.
    pub strategy: String,
    /// The cluster that the placement is for.
    pub cluster: ClusterEntry,
    /// `sha256:...` of the workload that the placement is for.
    pub workload_digest: String,
    /// How the ranks use the GPUs of their nodes.
    #[serde(default, skip_serializing_if = "GpuUse::is_none")]
    pub gpus: GpuUse,
    /// The nodes with ranks, in the order of the cluster.
    pub nodes: Vec<NodeEntry>,
    /// The jobs, in the order of the workload.
    pub jobs: Vec<JobEntry>,
    /// By quantity: its predicted value, in seconds or bytes.
    #[serde(default)]
    pub predicted: BTreeMap<String, f64>,
}

/// The key of the expected run time, in seconds, among what is predicted.
pub const PREDICTED_RUN_TIME: &str = "run_time_s";

/// The cluster of a placement file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterEntry {
    /// The name of the cluster.
    pub name: String,
    /// `sha256:...` of the description.
    pub digest: String,
    /// As [`ClusterDescription::emulated`](crate::cluster::ClusterDescription::emulated).
    #[serde(default)]
    pub emulated: bool,
    /// As [`ClusterDescription::invented`](crate::cluster::ClusterDescription::invented).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub invented: bool,
}

/// A node with ranks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeEntry {
    /// The host name.
    pub name: String,
    /// The number of its cores, free or not.
    pub cores: u32,
    /// The number of its PUs, free or not.
    pub pus: u32,
    /// By NUMA node (L#): its P#.
    pub numa_os: Vec<u32>,
    /// Its network devices, in the order of the cluster description.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nics: Vec<DeviceEntry>,
    /// Its GPUs, in the order of the cluster description.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<DeviceEntry>,
}

/// A network device or GPU of a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceEntry {
    /// The device name.
    pub name: String,
    /// Further names of the device.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// The nearest NUMA nodes (L#); empty where they are unknown or all are equally far.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub near: Vec<NumaId>,
    /// The PCI address, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pci: Option<String>,
    /// The vendor of a GPU, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vendor: Option<GpuVendor>,
    /// The ports of a network device, where known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<Port>,
}

/// A job of a placement file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobEntry {
    /// The name of the job.
    pub name: String,
    /// The MPI library of its profile, as `MPI_Get_library_version` names it; empty where unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mpi_library: String,
    /// Its ranks; the position is the rank.
    pub ranks: Vec<RankEntry>,
}

/// Where a rank runs, by names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankEntry {
    /// The rank.
    pub rank: Rank,
    /// The host name of its node.
    pub node: String,
    /// Its cores (L#), ascending.
    pub cores: Vec<CoreId>,
    /// Its PUs (P#), at least one.
    pub pus: Vec<PuId>,
    /// Its NUMA node (L#); `null` for several or for the system's default.
    pub numa: Option<NumaId>,
    /// Its network devices, by a name that is in `nodes`.
    #[serde(default)]
    pub nics: Vec<String>,
    /// Its GPUs, by a name that is in `nodes`.
    #[serde(default)]
    pub gpus: Vec<String>,
    /// Whether it is bound to its PUs.
    #[serde(default = "bound")]
    pub bound: bool,
}

fn bound() -> bool {
    true
}

/// `sha256:` and the digest of a value's JSON.
///
/// # Panics
/// If the value has a map with keys that are not strings; clusters and workloads have none.
#[must_use]
pub fn digest(value: &impl Serialize) -> String {
    let json = serde_json::to_vec(value).expect("plain data has a JSON form");
    let hex: String = Sha256::digest(&json).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

impl PlacementFile {
    /// The file for a placement.
    #[must_use]
    pub fn new(
        cluster: &Cluster,
        workload: &Workload,
        placement: &Placement,
        predicted: BTreeMap<String, f64>,
    ) -> Self {
        let used: HashSet<_> = placement.ranks().map(|rank| rank.node).collect();
        let rank = |(index, place): (usize, &RankPlacement)| RankEntry {
            rank: Rank::from_index(index),
            node: cluster.node(place.node).name.clone(),
            cores: place.cores.clone(),
            pus: place.pus.clone(),
            numa: place.numa,
            nics: place.nics.clone(),
            gpus: place.gpus.clone(),
            bound: place.bound,
        };
        let job = |(index, job): (usize, &JobPlacement)| JobEntry {
            name: job.name.clone(),
            mpi_library: workload.jobs[index].mpi_library.clone(),
            ranks: job.ranks.iter().enumerate().map(rank).collect(),
        };
        Self {
            format: FORMAT,
            strategy: placement.strategy().to_owned(),
            cluster: ClusterEntry {
                name: cluster.name.clone(),
                digest: digest(cluster),
                emulated: cluster.emulated,
                invented: cluster.invented,
            },
            workload_digest: digest(workload),
            gpus: placement.gpus(),
            nodes: cluster
                .node_ids()
                .filter(|id| used.contains(id))
                .map(|id| NodeEntry::of(cluster, id))
                .collect(),
            jobs: placement.jobs().iter().enumerate().map(job).collect(),
            predicted,
        }
    }

    /// Reads a placement file and checks what can be checked without the cluster.
    ///
    /// # Errors
    /// If it cannot be read, is not a placement, has another format version, or contradicts itself: a
    /// rank is missing or occurs twice, a node is not listed, a PU is taken twice, the node of a rank
    /// does not have a device of the rank.
    pub fn read(path: &Path) -> Result<Self, InputError> {
        let text = read_text(path, EXPECTED)?;
        Self::parse(&text, &path.display().to_string())
    }

    /// As [`PlacementFile::read`], from a text; `name` is the file in errors.
    ///
    /// # Errors
    /// As [`PlacementFile::read`].
    pub fn parse(text: &str, name: &str) -> Result<Self, InputError> {
        #[derive(Deserialize)]
        struct Format {
            format: u32,
        }
        let malformed = |error: serde_json::Error| match refused(text) {
            Some(other) if error.is_syntax() => InputError::new(name, other.what, EXPECTED),
            _ => InputError::of_json(name, &error, EXPECTED),
        };
        let Format { format } = serde_json::from_str(text).map_err(malformed)?;
        if format != FORMAT {
            return Err(InputError::new(name, format, FORMAT)
                .in_field("format")
                .with_advice("make it again with this version's `rankwright place`"));
        }
        let file: Self = serde_json::from_str(text).map_err(malformed)?;
        contradictions::refuse(&file, name)?;
        Ok(file)
    }

    /// The placement on `cluster`.
    ///
    /// # Errors
    /// If the cluster does not have a node of the file; or as [`Placement::new`].
    pub fn placement(&self, cluster: &Cluster) -> Result<Placement, PlacementError> {
        let shape = |job: &JobEntry| JobShape {
            name: job.name.clone(),
            ranks: Rank::from_index(job.ranks.len()).0,
        };
        let shapes: Vec<JobShape> = self.jobs.iter().map(shape).collect();
        let rank = |job: usize, entry: &RankEntry| {
            let node = cluster.find_node(&entry.node).ok_or_else(|| PlacementError::NoSuch {
                rank: RankOfJob::new(shapes.iter().map(|s| s.name.as_str()), (job, entry.rank)),
                node: entry.node.clone(),
                what: format!("entry in cluster `{}`", cluster.name),
            })?;
            Ok(RankPlacement {
                node,
                cores: entry.cores.clone(),
                pus: entry.pus.clone(),
                numa: entry.numa,
                nics: entry.nics.clone(),
                gpus: entry.gpus.clone(),
                bound: entry.bound,
            })
        };
        let jobs: Result<Vec<JobPlacement>, PlacementError> = (0..)
            .zip(&self.jobs)
            .map(|(index, job)| {
                let ranks: Result<_, _> =
                    job.ranks.iter().map(|entry| rank(index, entry)).collect();
                Ok(JobPlacement { name: job.name.clone(), ranks: ranks? })
            })
            .collect();
        let placement = Placement::new(cluster, &shapes, self.strategy.clone(), jobs?)?;
        let gpus = placement.ranks().map(|place| place.gpus.clone()).collect();
        placement.with_gpus(cluster, self.gpus, gpus)
    }

    /// The entry of the node with this name.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<&NodeEntry> {
        self.nodes.iter().find(|node| node.name == name)
    }

    /// P# of a rank's NUMA node; `None` if the rank has none.
    #[must_use]
    pub fn numa_os(&self, entry: &RankEntry) -> Option<u32> {
        self.node(&entry.node)?.numa_os.get(entry.numa?.index()).copied()
    }

    /// The network devices and GPUs of a rank, as listed at its node.
    pub fn devices(&self, entry: &RankEntry) -> impl Iterator<Item = &DeviceEntry> {
        let has_some = !entry.nics.is_empty() || !entry.gpus.is_empty();
        let node = has_some.then(|| self.node(&entry.node)).flatten();
        let select = |names: &[String], all: fn(&NodeEntry) -> &[DeviceEntry]| {
            let devices = node.map_or(&[][..], all);
            let called = |name: &String| devices.iter().find(|device| device.is_called(name));
            names.iter().filter_map(called).collect::<Vec<_>>()
        };
        let nics = select(&entry.nics, |node| &node.nics);
        nics.into_iter().chain(select(&entry.gpus, |node| &node.gpus))
    }

    /// The text of the file.
    ///
    /// # Panics
    /// Never: the file is plain data.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("plain data has a JSON form");
        text.push('\n');
        text
    }

    /// Writes the file, whole or not at all.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), WriteError> {
        write_atomically(path, self.to_json().as_bytes())
    }
}

impl NodeEntry {
    /// The entry of a node of a cluster.
    ///
    /// # Panics
    /// If the cluster does not have this node.
    #[must_use]
    pub fn of(cluster: &Cluster, id: NodeId) -> Self {
        let machine = cluster.machine(id);
        Self {
            name: cluster.node(id).name.clone(),
            cores: CoreId::from_index(machine.cores.len()).0,
            pus: PuId::from_index(machine.pus.len()).0,
            numa_os: machine.numa_nodes.iter().map(|numa| numa.os_index).collect(),
            nics: machine.nics.iter().map(DeviceEntry::of_nic).collect(),
            gpus: machine.gpus.iter().map(DeviceEntry::of_gpu).collect(),
        }
    }
}

impl DeviceEntry {
    /// Its name and its aliases.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.name.as_str()).chain(self.aliases.iter().map(String::as_str))
    }

    /// Whether this is its name or an alias of it.
    #[must_use]
    pub(crate) fn is_called(&self, name: &str) -> bool {
        self.names().any(|other| other == name)
    }

    /// The entry of a network device.
    #[must_use]
    pub fn of_nic(nic: &Nic) -> Self {
        Self {
            name: nic.name.clone(),
            aliases: nic.aliases.clone(),
            near: nic.near.clone(),
            pci: nic.pci.clone(),
            vendor: None,
            ports: nic.ports.clone(),
        }
    }

    fn of_gpu(gpu: &Gpu) -> Self {
        Self {
            name: gpu.name.clone(),
            aliases: Vec::new(),
            near: gpu.near.clone(),
            pci: gpu.pci.clone(),
            vendor: gpu.vendor,
            ports: Vec::new(),
        }
    }

    /// The vendor of a GPU; by its name where the file does not tell.
    #[must_use]
    pub(crate) fn gpu_vendor(&self) -> Option<GpuVendor> {
        self.vendor.or_else(|| GpuVendor::of_name(&self.name))
    }
}
