//! Rates that no hardware has: most are a wrong unit.

use std::fmt;
use std::ops::RangeInclusive;

use rankwright::cluster::{HardwareRates, Machine};

/// Bandwidth of a network device, bytes per second: from old Ethernet to ten times of what is sold.
const DEVICE: RangeInclusive<f64> = 10e6..=1e12;
/// Latency between two of them, seconds: none is faster than the memory, or slower than a distant site.
const LATENCY: RangeInclusive<f64> = 10e-9..=1e-3;
/// Bandwidth of a NUMA node, bytes per second.
const MEMORY: RangeInclusive<f64> = 1e9..=20e12;

/// A sentence for each rate of a node type that cannot be. Devices that carry no MPI do not count.
pub(super) fn unlikely(machine: &Machine, rates: &HardwareRates) -> Vec<String> {
    let mut told = Vec::new();
    for (index, nic) in machine.mpi_nics() {
        let name = format!("NIC {}", nic.name);
        let rate = &rates.nics[index];
        let bandwidth = rate.bandwidth.value;
        told.extend(outside(&name, "a bandwidth", (bandwidth.0, bandwidth), &DEVICE));
        told.extend(outside(&name, "a latency", (rate.latency.0, rate.latency), &LATENCY));
    }
    for (numa, rate) in rates.memories.iter().enumerate() {
        let (name, rate) = (format!("NUMA node L#{numa}"), rate.value);
        told.extend(outside(&name, "a bandwidth", (rate.0, rate), &MEMORY));
    }
    told
}

fn outside(
    what: &str,
    quantity: &str,
    (value, shown): (f64, impl fmt::Display),
    likely: &RangeInclusive<f64>,
) -> Option<String> {
    if likely.contains(&value) {
        return None;
    }
    let size = if value < *likely.start() { "low" } else { "high" };
    Some(format!(
        "{what} has {quantity} of {shown}, which is too {size} to be true: correct it (is the unit right?), \
         or set `calibrated = true` in [rates] if it was measured"
    ))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rankwright::cluster::read::toml;

    use super::*;

    fn told(nic: &str, rates: &str) -> Vec<String> {
        let text = format!(
            "[rates]\n{rates}\n[[node]]\nnames = \"n0\"\ntopology = \"core:2 pu:1\"\n\
             [[node.nic]]\nname = \"mlx5_0\"\n{nic}\n"
        );
        let cluster = toml::parse(&text, "cluster.toml", Path::new(".")).expect("it is one");
        unlikely(&cluster.groups[0].machine, cluster.hardware_rates(0))
    }

    #[test]
    fn rates_that_cannot_be_are_told() {
        for (nic, rates, part) in [
            ("bandwidth = \"1 B/s\"", "", "NIC mlx5_0 has a bandwidth of 1 B/s, which is too low"),
            ("bandwidth = \"25 TB/s\"", "", "a bandwidth of 25 TB/s, which is too high"),
            ("latency = \"2 ms\"", "", "a latency of 2 ms, which is too high"),
            ("latency = \"1 ns\"", "", "a latency of 1 ns"),
            ("", "memory_bandwidth = \"50 MB/s\"", "NUMA node L#0 has a bandwidth of 50 MB/s"),
        ] {
            let told = told(nic, rates);
            assert!(told.len() == 1 && told[0].contains(part), "{nic} {rates}: {told:?}");
        }
        assert_eq!(told("bandwidth = \"125 MB/s\"\nlatency = \"30 us\"", ""), [""; 0]);
        assert_eq!(told("bandwidth = \"1 B/s\"\nmpi = false", ""), [""; 0]);
    }
}
