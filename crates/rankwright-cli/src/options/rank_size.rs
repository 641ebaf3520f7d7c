//! The size of a slot: whole cores or a PU.

use std::num::NonZeroU32;

use clap::{Args, ValueEnum};
use rankwright::placement::Granularity;

use super::count::parse_count;

/// The size of a slot.
#[derive(Debug, Clone, Args)]
pub(crate) struct RankSize {
    /// Number of cores of each rank
    #[arg(
        long,
        value_name = "NUMBER",
        default_value = "1",
        value_parser = parse_count::<NonZeroU32>,
        conflicts_with = "per"
    )]
    cores_per_rank: NonZeroU32,
    /// Place one rank per core (with all its PUs) or one per PU (hardware thread)
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
    /// The size of a slot as the library takes it.
    pub(crate) fn granularity(&self) -> Granularity {
        match self.per {
            Per::Core => Granularity::Cores(self.cores_per_rank.get()),
            Per::Pu => Granularity::Pu,
        }
    }
}
