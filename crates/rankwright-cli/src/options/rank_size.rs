//! What one rank gets: whole cores or a PU.

use std::num::NonZeroU32;

use clap::{Args, ValueEnum};
use rankwright::placement::Granularity;

/// What one rank gets.
#[derive(Debug, Clone, Args)]
pub(crate) struct RankSize {
    /// Whole cores for each rank
    #[arg(long, value_name = "NUMBER", default_value = "1", conflicts_with = "per")]
    cores_per_rank: NonZeroU32,
    /// One rank per core with all its PUs, or one per PU
    #[arg(long, value_enum, default_value_t)]
    per: Per,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Per {
    #[default]
    Core,
    Pu,
}

impl RankSize {
    /// The library's name for it.
    pub(crate) fn granularity(&self) -> Granularity {
        match self.per {
            Per::Core => Granularity::Cores(self.cores_per_rank.get()),
            Per::Pu => Granularity::Pu,
        }
    }
}
