//! Options for the network devices and GPUs of ranks, and for the network stack that selects them.

use clap::{Args, ValueEnum};
use rankwright::cluster::Cluster;
use rankwright::files::InputError;
use rankwright::placement::GpuUse;
use rankwright::rails::fabric::{STACKS, Stack};
use rankwright::rails::{SELECTIONS, Selection, gpus};

use super::rank_size::RankSize;
use super::site::Defaults;
use super::table_row::TableRow;
use crate::output::exit_code::UsageError;

/// The network devices and GPUs of ranks.
#[derive(Debug, Clone, Args)]
pub(crate) struct SelectionOptions {
    /// Also choose network devices for all ranks: by-load, device-affinity, paper-2017,
    /// round-robin, packed, round-robin-all, psm2-default or none; see `rankwright nic --help`
    /// [default: none; with --ranks-per-gpu, device-affinity]
    #[arg(long, value_name = "SELECTION")]
    nics: Option<Selection>,
    /// How ranks use the GPUs of their nodes [default: near with --ranks-per-gpu, or if this runs in a job
    /// to which the batch system granted GPUs; else none]
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) gpus: Option<Gpus>,
}

impl SelectionOptions {
    /// The selection of network devices.
    pub(crate) fn nics(&self) -> Selection {
        self.nics.clone().unwrap_or(Selection::NONE)
    }

    /// These options for a cluster: ranks of GPUs are ordered by them, and get the network devices beside
    /// them, where nodes have some.
    ///
    /// # Errors
    /// If each rank has several GPUs and is to see only one.
    pub(crate) fn on(&self, cluster: &Cluster, rank_size: &RankSize) -> Result<Self, UsageError> {
        if !rank_size.is_per_gpu() {
            return Ok(self.clone());
        }
        if let (Some(Gpus::OnePerRank), Some(gpus)) = (self.gpus, rank_size.gpus_each()) {
            let text = format!(
                "--gpus one-per-rank: each rank would see one of its {gpus} GPUs (--ranks-per-gpu \
                 1/{gpus}): leave out --gpus, then each rank gets all {gpus}, or start a rank for each GPU \
                 with --ranks-per-gpu 1"
            );
            return Err(UsageError(text));
        }
        // Nodes without GPUs have no slots for ranks per GPU; that error is reported with the slots.
        let (affinity, near) = gpus::of_ranks_per_gpu(cluster);
        let near = near.map(|_| Gpus::Near);
        Ok(Self { nics: self.nics.clone().or(affinity), gpus: self.gpus.or(near) })
    }
}

/// How ranks use GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Gpus {
    /// Ranks are ordered so that local rank i of a node is near GPU i (modulo their number), which the
    /// program selects; all GPUs stay visible to all ranks
    Near,
    /// Each rank sees only the GPU nearest to it, as its device 0, by the vendor's variable; ranks that
    /// do not see each other's GPU may be unable to copy between them directly (GPU IPC)
    OnePerRank,
    /// Ranks are placed without regard to GPUs
    None,
}

impl From<Gpus> for GpuUse {
    fn from(option: Gpus) -> Self {
        match option {
            Gpus::Near => Self::Near,
            Gpus::OnePerRank => Self::OnePerRank,
            Gpus::None => Self::None,
        }
    }
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
        "Selections of network devices; all take devices=NAME+NAME to use only these:\n\
         {lines}"
    )
}

/// The network stack of a job.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct FabricOptions {
    /// Network stack whose variables select the placed devices of each rank, like ucx [default: that
    /// of site.toml, else the stack that follows from devices and MPI library; none if that is
    /// uncertain]
    #[arg(long, value_name = "STACK", value_parser = TableRow::new(STACKS, |stack| (stack.name, stack.summary)))]
    pub(crate) fabric: Option<&'static Stack>,
    /// The stack of the site. Unlike one that the user names, it need not fit the devices.
    #[arg(skip)]
    pub(crate) of_site: Option<&'static Stack>,
}

impl FabricOptions {
    /// These options with the network stack of the site, unless the user named one.
    ///
    /// # Errors
    /// If the defaults of the site cannot be read.
    pub(crate) fn or_of_site(self) -> Result<Self, InputError> {
        Ok(match self.fabric {
            Some(_) => self,
            None => self.or_default(&Defaults::read()?),
        })
    }

    /// As [`or_of_site`](Self::or_of_site), of defaults that have been read.
    pub(crate) fn or_default(self, defaults: &Defaults) -> Self {
        let is_open = self.fabric.is_none();
        Self { of_site: is_open.then(|| defaults.fabric()).flatten(), ..self }
    }

    /// The network stack that is wanted, by the user or by the site.
    pub(crate) fn wanted(self) -> Option<&'static Stack> {
        self.fabric.or(self.of_site)
    }
}
