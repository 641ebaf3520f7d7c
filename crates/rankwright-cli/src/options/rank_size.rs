//! The size of a slot, and how many ranks the parts of a node take.

use std::num::NonZeroU32;

use clap::{Args, ValueEnum};
use rankwright::placement::{Granularity, RanksPer, Share};

use super::count::parse_count;

/// The size of a slot, and how many ranks the parts of a node take.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RankSize {
    /// Number of cores of each rank [default: 1; with --ranks-per-..., an even share; in `run` the CPUs
    /// per task of the batch system]
    #[arg(
        long,
        value_name = "NUMBER",
        value_parser = parse_count::<NonZeroU32>,
        conflicts_with = "per",
        allow_negative_numbers = true,
    )]
    cores_per_rank: Option<NonZeroU32>,
    /// Place one rank per core (with all its PUs) or one per PU (hardware thread); with
    /// --ranks-per-..., share cores or PUs [default: core]
    #[arg(long, value_enum)]
    per: Option<Per>,
    /// Number of ranks on each node that is used; its cores are shared evenly among them
    #[arg(
        long,
        value_name = "NUMBER",
        value_parser = parse_count::<NonZeroU32>,
        group = "ranks_per",
        allow_negative_numbers = true,
    )]
    ranks_per_node: Option<NonZeroU32>,
    /// Number of ranks on each package (socket)
    #[arg(
        long,
        value_name = "NUMBER",
        value_parser = parse_count::<NonZeroU32>,
        group = "ranks_per",
        allow_negative_numbers = true,
    )]
    ranks_per_package: Option<NonZeroU32>,
    /// Number of ranks on each NUMA node
    #[arg(
        long,
        value_name = "NUMBER",
        value_parser = parse_count::<NonZeroU32>,
        group = "ranks_per",
        allow_negative_numbers = true,
    )]
    ranks_per_numa: Option<NonZeroU32>,
    /// Number of ranks for each GPU, on cores of its NUMA node: 1, 2, ..., or 1/2 for a rank with two
    /// GPUs
    #[arg(long, value_name = "NUMBER", value_parser = RanksPer::per_gpu, group = "ranks_per")]
    ranks_per_gpu: Option<RanksPer>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Per {
    Core,
    Pu,
}

impl RankSize {
    /// The size of a slot as the library takes it.
    pub(crate) fn granularity(&self) -> Granularity {
        self.given(None).unwrap_or(Granularity::Cores(1))
    }

    /// The size of a slot, if an option or the batch system gives one; `cores` is the number of cores
    /// of each task of the batch system.
    pub(crate) fn given(&self, cores: Option<NonZeroU32>) -> Option<Granularity> {
        let cores = self.cores_per_rank.or(cores.filter(|_| self.per.is_none()));
        match (self.ranks_per(), cores, self.per) {
            (Some(ranks), ..) => Some(Granularity::Part { ranks, share: self.share(cores) }),
            (None, Some(cores), _) => Some(Granularity::Cores(cores.get())),
            (None, None, Some(Per::Pu)) => Some(Granularity::Pu),
            (None, None, Some(Per::Core)) => Some(Granularity::Cores(1)),
            (None, None, None) => None,
        }
    }

    /// Whether an option is given.
    pub(crate) fn is_given(&self) -> bool {
        self.given(None).is_some()
    }

    /// Whether each rank belongs to a GPU.
    pub(crate) fn is_per_gpu(&self) -> bool {
        self.ranks_per_gpu.is_some()
    }

    /// How many GPUs each rank has, if it has several.
    pub(crate) fn gpus_each(&self) -> Option<u32> {
        match self.ranks_per_gpu {
            Some(RanksPer::Gpus { gpus, .. }) if gpus.get() > 1 => Some(gpus.get()),
            _ => None,
        }
    }

    fn share(&self, cores: Option<NonZeroU32>) -> Share {
        match (cores, self.per) {
            (Some(cores), _) => Share::CoresEach(cores),
            (None, Some(Per::Pu)) => Share::Pus,
            (None, _) => Share::Cores,
        }
    }

    fn ranks_per(&self) -> Option<RanksPer> {
        self.ranks_per_node
            .map(RanksPer::Node)
            .or(self.ranks_per_package.map(RanksPer::Package))
            .or(self.ranks_per_numa.map(RanksPer::Numa))
            .or_else(|| self.ranks_per_gpu.clone())
    }
}
