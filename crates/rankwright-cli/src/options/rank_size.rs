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
    #[arg(long, value_name = "NUMBER", value_parser = parse_per_gpu, group = "ranks_per")]
    ranks_per_gpu: Option<PerGpu>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Per {
    Core,
    Pu,
}

/// `2` or `1/2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PerGpu {
    ranks: NonZeroU32,
    gpus: NonZeroU32,
}

fn parse_per_gpu(text: &str) -> Result<PerGpu, String> {
    let number = |text: &str| text.trim().parse::<NonZeroU32>().ok();
    let (ranks, gpus) = text.split_once('/').unwrap_or((text, "1"));
    match (number(ranks), number(gpus)) {
        (Some(ranks), Some(gpus)) if ranks.get() == 1 || gpus.get() == 1 => {
            Ok(PerGpu { ranks, gpus })
        }
        _ => Err("expected a number of ranks from 1, or 1/2, 1/3, .. for a rank with several GPUs"
            .to_owned()),
    }
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

    fn share(&self, cores: Option<NonZeroU32>) -> Share {
        match (cores, self.per) {
            (Some(cores), _) => Share::CoresEach(cores),
            (None, Some(Per::Pu)) => Share::Pus,
            (None, _) => Share::Cores,
        }
    }

    fn ranks_per(&self) -> Option<RanksPer> {
        let per_gpu = |PerGpu { ranks, gpus }| RanksPer::Gpus { ranks, gpus };
        self.ranks_per_node
            .map(RanksPer::Node)
            .or(self.ranks_per_package.map(RanksPer::Package))
            .or(self.ranks_per_numa.map(RanksPer::Numa))
            .or(self.ranks_per_gpu.map(per_gpu))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_per_gpu_are_whole_numbers_or_unit_fractions() {
        let parsed =
            |text: &str| parse_per_gpu(text).ok().map(|it| (it.ranks.get(), it.gpus.get()));
        assert_eq!(parsed("1"), Some((1, 1)));
        assert_eq!(parsed("4"), Some((4, 1)));
        assert_eq!(parsed("1/2"), Some((1, 2)));
        for wrong in ["", "0", "1/0", "0/1", "2/3", "-1", "0.5", "1/2/3", "x", "4294967296"] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }
}
