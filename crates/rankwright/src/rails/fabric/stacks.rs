//! The network stacks, in one table.

use super::defaults::DefaultChoice;
use super::job::{Job, Output, is_up, kind, local_ranks};
use super::{libfabric, mpi, psm, ucx};
use crate::cluster::NicKind;
use crate::placement::{DeviceEntry, JobEntry, PlacementFile, Settings};

/// A network stack.
#[derive(Debug)]
pub struct Stack {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is, and the variables that select devices, in one line.
    pub summary: &'static str,
    /// The devices that it uses by default, in one line.
    pub default_summary: &'static str,
    /// The kinds of devices that it drives.
    pub(super) kinds: &'static [NicKind],
    default: DefaultChoice,
    write: fn(&Job<'_>, &mut Output<'_>) -> Result<(), FabricError>,
}

/// Whether the local ranks of processes, their numbers among the job's ranks on their node, are right.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LocalRanks {
    /// They are right.
    #[default]
    Right,
    /// The launcher counts them wrongly: a value for all ranks of a node, by local rank, would give ranks
    /// the devices of others.
    Wrong,
}

/// Stacks over any kind of network device.
const ALL_KINDS: &[NicKind] =
    &[NicKind::OmniPath, NicKind::InfiniBand, NicKind::Slingshot, NicKind::Efa, NicKind::Ethernet];

/// The stacks that users can name.
pub const STACKS: &[Stack] = &[
    Stack {
        name: "psm2",
        summary: "PSM2 (Omni-Path): HFI_UNIT; several devices by PSM2_MULTIRAIL_MAP",
        default_summary: "in turn over the HFIs beside the process, with the position in that list as \
                          the unit number; over all where none is beside it",
        kinds: &[NicKind::OmniPath],
        default: DefaultChoice::NearByUnit,
        write: psm::psm2,
    },
    Stack {
        name: "psm3",
        summary: "PSM3: PSM3_MULTIRAIL_MAP for all ranks of a node, else PSM3_NIC",
        default_summary: "in turn over the NICs beside the process; over all where none is",
        kinds: &[NicKind::InfiniBand, NicKind::Ethernet],
        default: DefaultChoice::NearInTurn,
        write: psm::psm3,
    },
    Stack {
        name: "opx",
        summary: "OPX (Cornelis, libfabric): FI_OPX_HFI_SELECT with the device of each core",
        default_summary: "an HFI beside the process, in turn where there are several",
        kinds: &[NicKind::OmniPath],
        default: DefaultChoice::NearInTurn,
        write: psm::opx,
    },
    Stack {
        name: "ucx",
        summary: "UCX: UCX_NET_DEVICES",
        default_summary: "the first device beside the NUMA node of the rank; the first of all where none is",
        kinds: &[NicKind::InfiniBand, NicKind::Ethernet],
        default: DefaultChoice::NearFirst,
        write: ucx::ucx,
    },
    Stack {
        name: "verbs",
        summary: "libfabric, verbs provider: FI_VERBS_DEVICE_NAME and FI_VERBS_IFACE",
        default_summary: "the first device, the same for all ranks",
        kinds: &[NicKind::InfiniBand, NicKind::OmniPath],
        default: DefaultChoice::First,
        write: libfabric::verbs,
    },
    Stack {
        name: "cxi",
        summary: "libfabric, cxi provider (Slingshot): FI_CXI_DEVICE_NAME",
        default_summary: "the first device, unless the MPI library chooses",
        kinds: &[NicKind::Slingshot],
        default: DefaultChoice::First,
        write: libfabric::cxi,
    },
    Stack {
        name: "efa",
        summary: "libfabric, efa provider: FI_EFA_IFACE",
        default_summary: "the first device, unless the MPI library chooses",
        kinds: &[NicKind::Efa],
        default: DefaultChoice::First,
        write: libfabric::efa,
    },
    Stack {
        name: "tcp",
        summary: "libfabric, tcp provider: FI_TCP_IFACE",
        default_summary: "the first interface, the same for all ranks",
        kinds: &[NicKind::Ethernet, NicKind::InfiniBand, NicKind::Slingshot, NicKind::OmniPath],
        default: DefaultChoice::First,
        write: libfabric::tcp,
    },
    Stack {
        name: "mvapich2",
        summary: "MVAPICH2: MV2_PROCESS_TO_RAIL_MAPPING for all ranks of a node, else MV2_IBA_HCA",
        default_summary: "in turn over all HCAs by local rank",
        kinds: &[NicKind::InfiniBand],
        default: DefaultChoice::InTurn,
        write: mpi::mvapich2,
    },
    Stack {
        name: "craympich",
        summary: "Cray MPICH: MPICH_OFI_NIC_POLICY=USER and MPICH_OFI_NIC_MAPPING",
        default_summary: "blocks of local ranks (MPICH_OFI_NIC_POLICY=BLOCK)",
        kinds: &[NicKind::Slingshot],
        default: DefaultChoice::Blocks,
        write: mpi::craympich,
    },
    Stack {
        name: "mpich-ofi",
        summary: "MPICH, ch4:ofi: MPIR_CVAR_CH4_OFI_PREF_NIC",
        default_summary: "the local rank modulo the number of devices beside the process, among these",
        kinds: ALL_KINDS,
        default: DefaultChoice::NearByLocalRank,
        write: mpi::mpich_ofi,
    },
    Stack {
        name: "openmpi",
        summary: "Open MPI: btl_tcp_if_include and btl_openib_if_include, UCX or PSM2 by device",
        default_summary: "through libfabric the nearest device, of several in turn by the rank's \
                          number in its package (bound ranks only); through UCX the nearest",
        kinds: ALL_KINDS,
        default: DefaultChoice::NearInTurn,
        write: mpi::openmpi,
    },
    Stack {
        name: "nccl",
        summary: "NCCL: NCCL_IB_HCA",
        default_summary: "all devices",
        kinds: &[NicKind::InfiniBand],
        default: DefaultChoice::All,
        write: ucx::nccl,
    },
];

/// Why a stack cannot use the devices of a job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FabricError {
    /// The placement names no device.
    #[error(
        "{stack}: rank {rank} on {node} has no network device: choose devices when ranks are placed \
         (--nics device-affinity; --selection for `rankwright nic`)"
    )]
    NoDevice {
        /// The stack.
        stack: &'static str,
        /// The rank.
        rank: u32,
        /// Its node.
        node: String,
    },
    /// The node of a rank does not have its device.
    #[error("rank {rank}: node {node} has no network device {device}, only {devices}; place again")]
    NoSuchDevice {
        /// The rank.
        rank: u32,
        /// Its node.
        node: String,
        /// The device.
        device: String,
        /// The devices that the node has.
        devices: String,
    },
    /// The device of a rank is down.
    #[error("rank {rank}: the link of {device} of node {node} is down; place again")]
    Down {
        /// The rank.
        rank: u32,
        /// Its node.
        node: String,
        /// The device.
        device: String,
    },
    /// A device that this stack does not drive.
    #[error(
        "{stack} does not drive {device} of node {node}, which rank {rank} has, but {drives} devices"
    )]
    WrongKind {
        /// The stack.
        stack: &'static str,
        /// The kinds of devices that it drives.
        drives: String,
        /// The rank.
        rank: u32,
        /// Its node.
        node: String,
        /// The device.
        device: String,
    },
    /// More devices than the stack uses together.
    #[error("{stack} uses at most {most} devices together, rank {rank} has {found}")]
    TooManyRails {
        /// The stack.
        stack: &'static str,
        /// How many it uses at most.
        most: usize,
        /// The rank.
        rank: u32,
        /// How many the rank has.
        found: usize,
    },
}

/// The stack of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Stack> {
    STACKS.iter().find(|stack| stack.name == name)
}

impl Stack {
    /// Whether it drives devices of a kind.
    #[must_use]
    pub fn drives(&self, kind: NicKind) -> bool {
        self.kinds.contains(&kind)
    }

    /// Sets the variables that give this stack the devices of a job's ranks, by local rank only where
    /// `local_ranks` are right. Returns notes for the user.
    ///
    /// # Errors
    /// If a rank has no device, one that does not exist or is down, one that this stack does not drive,
    /// or more than it can use together.
    pub fn apply(
        &self,
        placement: &PlacementFile,
        job: &JobEntry,
        local_ranks: LocalRanks,
        settings: &mut Settings,
    ) -> Result<Vec<String>, FabricError> {
        let job = Job::new(self, placement, job, local_ranks)?;
        let mut output = Output { settings, notes: Vec::new() };
        (self.write)(&job, &mut output)?;
        Ok(output.notes)
    }

    /// The devices that this stack uses for each rank of a job by default; empty where a node has none
    /// that it drives.
    #[must_use]
    pub fn defaults(&self, placement: &PlacementFile, job: &JobEntry) -> Vec<Vec<String>> {
        let mut chosen = vec![Vec::new(); job.ranks.len()];
        for (node, ranks) in local_ranks(placement, job) {
            let drives =
                |device: &&DeviceEntry| self.kinds.contains(&kind(device)) && is_up(device);
            let mut devices: Vec<&DeviceEntry> = node.nics.iter().filter(drives).collect();
            // Libraries use the first kind in this order that a node has.
            let best = devices.iter().map(|device| kind(device)).min();
            devices.retain(|device| Some(kind(device)) == best);
            for (entry, devices) in ranks.iter().zip(self.default.devices(&devices, &ranks)) {
                let names = devices.iter().map(|device| device.name.clone());
                chosen[entry.rank.index()] = names.collect();
            }
        }
        chosen
    }
}
