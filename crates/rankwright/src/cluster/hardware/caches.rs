//! Rates of messages between cores that share a cache.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::{Origin, Rated};
use crate::cluster::{Machine, Rates};
use crate::ids::CoreId;
use crate::units::BytesPerSecond;

/// What two cores share, as far as it decides how fast they pass messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shared {
    /// Hardware threads of one core, or one rank that sends to itself: L1 and L2.
    Core,
    /// An L2 of several cores.
    Level2,
    /// An L3 of some cores of a package.
    Level3OfPart,
    /// An L3 of a package.
    Level3OfPackage,
    /// A package whose caches are not described.
    Package,
}

/// By what is shared: its name, and GB/s of a message that its sender copies into a shared buffer and its
/// receiver out of it.
///
/// - Core: both copies by one core of an EPYC of the fourth generation (Zen 4) take 1/28 ns per
///   byte for messages of 64 to 256 KiB, 1/50 for 16 KiB (measured); two hardware threads at once
///   have less.
/// - L3 of a CCX: both copies, by two cores of that processor: 9 GB/s for 64 KiB, 13.5 for
///   256 KiB, 25 for 1 MiB, whose last part is in the L3 before the receiver begins (measured).
/// - L3 of a package: assumed, somewhat below that of a CCX, because the paths between cores are longer.
/// - L2 of several cores (Xeon Phi, A64FX): assumed, as the L3 of a CCX. The way is shorter, the clock
///   slower.
/// - Caches that are not described: assumed, as the L3 of a package.
const RATES: [(Shared, &str, f64); 5] = [
    (Shared::Core, "L2 of a core", 25.0),
    (Shared::Level2, "L2 of several cores", 12.0),
    (Shared::Level3OfPart, "L3 of a CCX", 12.0),
    (Shared::Level3OfPackage, "L3 of a package", 10.0),
    (Shared::Package, "caches not described", 10.0),
];

/// The rates of the caches of one node type.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheRates {
    /// Between hardware threads of one core.
    pub core: Rated<BytesPerSecond>,
    /// Between cores that share their last-level cache; where caches are not known, between cores of
    /// a package.
    pub shared: Rated<BytesPerSecond>,
}

impl CacheRates {
    pub(super) fn new(rates: &Rates, machine: &Machine) -> Self {
        let rated = |shared| match rates.cache_bandwidth {
            Some(value) => rates.rated(value),
            None => by_hardware(shared),
        };
        Self { core: rated(Shared::Core), shared: rated(last_level(machine)) }
    }
}

fn by_hardware(shared: Shared) -> Rated<BytesPerSecond> {
    let mut rows = RATES.iter().filter(|(row, ..)| *row == shared);
    let (_, name, gigabytes) = rows.next().unwrap_or(&RATES[RATES.len() - 1]);
    let origin = Origin::Hardware(Cow::Borrowed(*name));
    Rated { value: BytesPerSecond(gigabytes * 1e9), origin }
}

fn last_level(machine: &Machine) -> Shared {
    let caches: BTreeSet<u32> = machine.cores.iter().filter_map(|core| core.cache).collect();
    match machine.cache_level {
        _ if caches.is_empty() => Shared::Package,
        Some(1 | 2) => Shared::Level2,
        _ if caches.len() > machine.packages => Shared::Level3OfPart,
        _ => Shared::Level3OfPackage,
    }
}

impl Machine {
    /// Whether any two cores share a cache, as [`CacheRates::shared`] says.
    #[must_use]
    pub fn has_shared_cache(&self) -> bool {
        let mut seen = BTreeSet::new();
        let mut keys = self
            .cores
            .iter()
            .map(|core| (core.cache, core.cache.is_none().then_some(core.package)));
        keys.any(|key| !seen.insert(key))
    }

    /// Whether two cores share a cache, which may be that of one core. Where caches are not known,
    /// cores of a package do.
    pub(crate) fn share_cache(&self, one: CoreId, other: CoreId) -> bool {
        match (self.cores.get(one.index()), self.cores.get(other.index())) {
            (Some(a), Some(b)) => match (a.cache, b.cache) {
                (Some(a), Some(b)) => a == b,
                _ => a.package == b.package,
            },
            _ => false,
        }
    }
}
