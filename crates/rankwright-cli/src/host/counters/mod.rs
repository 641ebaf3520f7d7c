//! Reads the byte counters of this host's network devices from the kernel's /sys and /proc.

mod devices;
mod drivers;
pub(crate) mod series;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::Duration;
use std::{fs, thread};

use anyhow::Context;
use rankwright::rails::counters::{NodeReading, Sample};

use super::this_host;

/// Reads all counters twice, `idle` apart, so that the growth between is the traffic of others.
///
/// # Errors
/// If the host does not tell its network interfaces, its name or the time.
pub(crate) fn read(idle: Duration) -> anyhow::Result<NodeReading> {
    let root = Path::new("/");
    // Some values are kept by the kernel for a while; older ones would be of another time.
    thread::sleep(devices::longest_kept(root));
    let first = sample(root)?;
    thread::sleep(idle);
    let samples = vec![first, sample(root)?];
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    Ok(NodeReading { host: this_host::name()?, boot: boot.trim().to_owned(), samples })
}

fn sample(root: &Path) -> anyhow::Result<Sample> {
    let path = "/proc/uptime";
    let text = fs::read_to_string(path).context(path)?;
    let uptime = text.split_whitespace().next().and_then(|number| number.parse().ok());
    let uptime_s = uptime.with_context(|| format!("{path}: found `{}`", text.trim()))?;
    Ok(Sample { uptime_s, devices: devices::read(root)? })
}
