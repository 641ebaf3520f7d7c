//! Rates of devices and memories by what the hardware is, used where nobody wrote or measured any.
//!
//! | of | from, the first that is known |
//! |---|---|
//! | network device | the calibration; its `bandwidth`; its link; `nic_bandwidth` of the rates; its model; its kind |
//! | NUMA node | its memory attributes; `memory_bandwidth` of the rates; the processor; the number of cores |
//! | shared cache | `cache_bandwidth` of the rates; its level, and whether it is that of a package |
//!
//! A link or a model is limited by the PCIe link behind it, which the devices of a card share.

mod caches;
mod devices;
mod memories;

use std::borrow::Cow;
use std::fmt;

use super::{DeviceRates, Machine, Nic, NodeGroup, Rates};
use crate::units::{BytesPerSecond, Seconds};

pub use caches::CacheRates;
pub use devices::PciId;
pub(super) use devices::model_bandwidth;
pub(super) use memories::ARM;

/// A rate, and where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Rated<T> {
    /// The rate.
    pub value: T,
    /// Where it comes from.
    pub origin: Origin,
}

/// Where a rate comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The description of the cluster: the device or memory has it.
    Described,
    /// The link of the device, as the system or the description of the cluster gives it.
    Link,
    /// The [`Rates`] of the cluster, which are assumed.
    Rates,
    /// The [`Rates`] of the cluster, which were measured on it ([`Rates::calibrated`]).
    Calibrated,
    /// The hardware: what it was recognized as, such as `ConnectX-6` or `Omni-Path`.
    Hardware(Cow<'static, str>),
    /// The PCIe link, which is slower than the device.
    Pcie,
}

impl<T: fmt::Display> fmt::Display for Rated<T> {
    /// `25 GB/s`, `25 GB/s assumed (ConnectX-6, HDR)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Origin::Described | Origin::Link | Origin::Calibrated => write!(f, "{}", self.value),
            Origin::Rates => write!(f, "{} assumed", self.value),
            Origin::Hardware(what) => write!(f, "{:.1} assumed ({what})", self.value),
            Origin::Pcie => write!(f, "{:.1} (PCIe link)", self.value),
        }
    }
}

impl Origin {
    /// Whether the rate is assumed: neither stated for the device nor measured.
    #[must_use]
    pub fn is_assumed(&self) -> bool {
        matches!(self, Self::Rates | Self::Hardware(_))
    }
}

/// The rates of the devices and memories of one node type.
#[derive(Debug, Clone, PartialEq)]
pub struct HardwareRates {
    /// By position in [`Machine::nics`].
    pub nics: Vec<NicRates>,
    /// Bandwidth for the cores that reach it fastest, by position in [`Machine::numa_nodes`].
    pub memories: Vec<Rated<BytesPerSecond>>,
    /// Of messages between cores that share a cache.
    pub caches: CacheRates,
}

/// The rates of a network device.
#[derive(Debug, Clone, PartialEq)]
pub struct NicRates {
    /// Each way.
    pub bandwidth: Rated<BytesPerSecond>,
    /// Time to another device.
    pub latency: Seconds,
}

impl HardwareRates {
    pub(super) fn new(rates: &Rates, group: &NodeGroup) -> Self {
        let machine = &group.machine;
        let nic = |nic| NicRates {
            bandwidth: nic_bandwidth(rates, machine, nic),
            latency: nic_latency(rates, nic),
        };
        Self {
            nics: machine.nics.iter().map(nic).collect(),
            memories: memory_bandwidths(rates, machine),
            caches: CacheRates::new(rates, machine),
        }
    }
}

fn nic_bandwidth(rates: &Rates, machine: &Machine, nic: &Nic) -> Rated<BytesPerSecond> {
    if let Some(device) = rates.calibrated_device(nic) {
        return Rated { value: device.bandwidth, origin: Origin::Calibrated };
    }
    if let Some(value) = nic.bandwidth {
        return Rated { value, origin: Origin::Described };
    }
    let unlimited = match (nic.link_bandwidth(), rates.nic_bandwidth) {
        (Some(value), _) => Rated { value, origin: Origin::Link },
        (None, Some(value)) => return rates.rated(value),
        (None, None) => devices::bandwidth(nic),
    };
    match devices::pcie_share(machine, nic) {
        Some(value) if value.0 < unlimited.value.0 => Rated { value, origin: Origin::Pcie },
        _ => unlimited,
    }
}

fn nic_latency(rates: &Rates, nic: &Nic) -> Seconds {
    let measured = rates.calibrated_device(nic).map(|device| device.latency);
    measured.or(nic.latency).or(rates.nic_latency).unwrap_or_else(|| devices::latency(nic))
}

fn memory_bandwidths(rates: &Rates, machine: &Machine) -> Vec<Rated<BytesPerSecond>> {
    let described = machine.numa_nodes.iter().map(|node| node.best_access()?.bandwidth);
    let mut by_hardware = None;
    let rated =
        described.enumerate().map(|(numa, described)| match (described, rates.memory_bandwidth) {
            (Some(value), _) => Rated { value, origin: Origin::Described },
            (None, Some(value)) => rates.rated(value),
            (None, None) => {
                by_hardware.get_or_insert_with(|| memories::bandwidths(machine))[numa].clone()
            }
        });
    rated.collect()
}

impl Rates {
    /// One of these rates, for a device that has none of its own.
    fn rated<T>(&self, value: T) -> Rated<T> {
        let origin = if self.calibrated { Origin::Calibrated } else { Origin::Rates };
        Rated { value, origin }
    }

    /// What was measured of a device.
    fn calibrated_device(&self, nic: &Nic) -> Option<&DeviceRates> {
        self.calibration.as_ref()?.device(nic)
    }

    /// Bandwidth, each way, of the one network device that a node without any is assumed to have.
    #[must_use]
    pub fn unknown_nic_bandwidth(&self) -> BytesPerSecond {
        self.nic_bandwidth.unwrap_or_else(|| devices::UNKNOWN.bandwidth())
    }

    /// The bandwidths and latencies of devices, memories and caches in words: `network device 1 GB/s,
    /// latency 100 ns; memory 4 GB/s; cache 8 GB/s`.
    #[must_use]
    pub fn summary(&self) -> String {
        const BY_HARDWARE: &str = "by hardware";
        fn word(rate: Option<impl fmt::Display>) -> String {
            rate.map_or(BY_HARDWARE.to_owned(), |rate| rate.to_string())
        }
        let (bandwidth, latency) = (word(self.nic_bandwidth), word(self.nic_latency));
        let (memory, cache) = (word(self.memory_bandwidth), word(self.cache_bandwidth));
        match [&bandwidth, &latency, &memory, &cache].iter().all(|word| *word == BY_HARDWARE) {
            true => format!("network devices, memories and caches {BY_HARDWARE}"),
            false => format!(
                "network device {bandwidth}, latency {latency}; memory {memory}; cache {cache}"
            ),
        }
    }

    /// Latency of that device.
    #[must_use]
    pub fn unknown_nic_latency(&self) -> Seconds {
        self.nic_latency.unwrap_or_else(|| devices::UNKNOWN.latency())
    }
}

#[cfg(test)]
mod tests;
