//! The devices below /sys/class, each under all its names, with their counters.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use rankwright::rails::counters::{Combination, Counter, DeviceSample};
use rankwright_lab::{InterfaceCounters, interface_counters};

use super::drivers::{self, Files};

/// The longest that a reader waits for values to be new.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// The largest value of a counter of 32 bits, at which classic InfiniBand counters stop.
const SATURATED: u64 = u32::MAX as u64;

/// The names of one device in the classes of /sys.
#[derive(Debug, Default)]
struct Faces {
    cxi: Vec<String>,
    infiniband: Vec<String>,
    net: Vec<String>,
    driver: String,
}

/// The counters of the network interfaces by name.
type Interfaces = BTreeMap<String, InterfaceCounters>;

/// The counters of all network devices, but the loopback device, in alphabetical order. `root` has the
/// folders `sys` and `proc`.
///
/// # Errors
/// If `/proc/net/dev` cannot be read.
pub(super) fn read(root: &Path) -> anyhow::Result<Vec<DeviceSample>> {
    let class = root.join("sys/class");
    let interfaces = interfaces(&root.join("proc/net/dev"))?;
    // /sys shows the network namespace of whoever mounted it. Where that is another, its links to
    // hardware are not those of our interfaces.
    let in_sys: BTreeSet<String> = (names_in(&class.join("net")).into_iter())
        .filter(|name| class.join("net").join(name).is_dir())
        .collect();
    let is_ours = in_sys.iter().eq(interfaces.keys());
    let mut devices: BTreeMap<PathBuf, Faces> = BTreeMap::new();
    for kind in ["cxi", "infiniband", "net"] {
        let names = match kind {
            "net" => interfaces.keys().filter(|name| *name != "lo").cloned().collect(),
            _ => names_in(&class.join(kind)),
        };
        for name in names {
            let folder = class.join(kind).join(&name);
            let device = Some(folder.join("device")).filter(|_| kind != "net" || is_ours);
            // Faces of one PCI function have the same folder; what has none is a device of its own.
            let of_hardware = device.as_deref().and_then(|device| fs::canonicalize(device).ok());
            let faces = devices.entry(of_hardware.unwrap_or_else(|| folder.clone())).or_default();
            let driver = device.and_then(|device| fs::canonicalize(device.join("driver")).ok());
            if let Some(driver) = driver {
                let name = driver.file_name().map(|name| name.to_string_lossy().into_owned());
                faces.driver = name.unwrap_or_default();
            }
            match kind {
                "cxi" => faces.cxi.push(name),
                "infiniband" => faces.infiniband.push(name),
                _ => faces.net.push(name),
            }
        }
    }
    let mut read: Vec<DeviceSample> =
        devices.into_values().map(|faces| faces.sample(&class, &interfaces)).collect();
    if is_ours {
        let net = class.join("net");
        read.iter_mut().for_each(|device| device.below = below(&net, device));
    }
    read.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(read)
}

/// The interfaces that a device is on top of; none if a part of it is hardware.
fn below(net: &Path, device: &DeviceSample) -> Vec<String> {
    // The kernel has a link `lower_NAME` for each (`netdev_adjacent_sysfs_add`, net/core/dev.c).
    let of = |name: &String| -> Vec<String> {
        let names = names_in(&net.join(name));
        names.iter().filter_map(|name| name.strip_prefix("lower_").map(str::to_owned)).collect()
    };
    if net.join(&device.name).join("device").exists() { Vec::new() } else { of(&device.name) }
}

/// The table of network interfaces, like /proc/net/dev: of the namespace of this process.
fn interfaces(table: &Path) -> anyhow::Result<Interfaces> {
    let text = fs::read_to_string(table).with_context(|| table.display().to_string())?;
    Ok(interface_counters(&text))
}

/// The longest time for which the kernel keeps a value of an RDMA device.
pub(super) fn longest_kept(root: &Path) -> Duration {
    let infiniband = root.join("sys/class/infiniband");
    let mut longest = Duration::ZERO;
    for device in names_in(&infiniband) {
        let ports = infiniband.join(device).join("ports");
        for port in names_in(&ports) {
            let kept = ports.join(port).join("hw_counters/lifespan");
            let text = fs::read_to_string(kept).unwrap_or_default();
            longest = longest.max(Duration::from_millis(text.trim().parse().unwrap_or(0)));
        }
    }
    longest.min(LONGEST_WAIT)
}

impl Faces {
    /// All names and counters. A network interface over InfiniBand or Slingshot passes the counters of
    /// the device below; RoCE does not pass those of the network interface.
    fn sample(self, class: &Path, interfaces: &Interfaces) -> DeviceSample {
        let Self { cxi, infiniband, net, driver } = self;
        let mut combined = Combination::Sum;
        let mut counters = Vec::new();
        let mut with_net = true;
        for name in &cxi {
            counters.push(of_cxi(class, name));
            with_net = false;
        }
        for name in infiniband.iter().filter(|_| cxi.is_empty()) {
            let row = drivers::of(&driver);
            combined = row.combined();
            let ports = class.join("infiniband").join(name).join("ports");
            for port in names_in(&ports) {
                let folder = ports.join(&port);
                with_net &= link_layer(&folder) == "Ethernet";
                let what = format!("infiniband/{name}/ports/{port}");
                let read = row.files.iter().filter_map(|files| of_port(&folder, &what, files));
                counters.extend(read);
            }
        }
        if with_net && combined == Combination::Sum {
            counters.extend(net.iter().filter_map(|name| {
                let counted = interfaces.get(name)?;
                let values = [counted.bytes_out, counted.bytes_in].map(Ok);
                Some(counter(format!("net/{name}"), values))
            }));
        }
        let mut names = cxi.into_iter().chain(infiniband).chain(net);
        let name = names.next().unwrap_or_default();
        let aliases = names.collect();
        DeviceSample { name, aliases, below: Vec::new(), driver, combined, counters }
    }
}

fn link_layer(port: &Path) -> String {
    fs::read_to_string(port.join("link_layer")).unwrap_or_default().trim().to_owned()
}

fn of_cxi(class: &Path, name: &str) -> Counter {
    let folder = class.join("cxi").join(name).join("device/telemetry");
    let files = ["hni_sts_tx_ok_octets", "hni_sts_rx_ok_octets"];
    counter(format!("cxi/{name}/device/telemetry"), files.map(|file| number(&folder.join(file))))
}

/// The counter of a port; `None` if it has none of the files.
fn of_port(port: &Path, what: &str, files: &Files) -> Option<Counter> {
    let folder = files.out[0].split('/').next().unwrap_or_default();
    let has_some = |names: &[&str]| names.iter().any(|name| port.join(name).exists());
    if !has_some(files.out) && !has_some(files.incoming) {
        return None;
    }
    let has_extended = port.join("counters/unicast_xmit_packets").exists();
    let value = |names: &[&str]| -> Result<u64, String> {
        let mut sum: u64 = 0;
        for name in names.iter().filter(|name| port.join(name).exists()) {
            let value = number(&port.join(name))?;
            if value == SATURATED && files.unit > 1 && !has_extended {
                return Err("stands at 2^32-1, where a counter of 32 bits stops".to_owned());
            }
            sum = sum.saturating_add(value.saturating_mul(files.unit));
        }
        Ok(sum)
    };
    let values = [value(files.out), value(files.incoming)];
    // The alternatives of a driver must not have the same name.
    let kind = files.out[0].rsplit('/').next().unwrap_or_default();
    let source = match files.out.len() {
        1 => format!("{what}/{folder}"),
        _ => format!("{what}/{folder}/{kind}.."),
    };
    Some(counter(source, values))
}

fn counter(source: String, [out, incoming]: [Result<u64, String>; 2]) -> Counter {
    let unknown = out.as_ref().err().or(incoming.as_ref().err()).cloned();
    Counter { source, out: out.ok(), incoming: incoming.ok(), unknown }
}

/// The number in a file, before the time that some have behind `@`.
fn number(file: &Path) -> Result<u64, String> {
    let text = fs::read_to_string(file).map_err(|error| rankwright::files::describe(&error))?;
    let value = text.split('@').next().unwrap_or_default().trim();
    value.parse().map_err(|_| format!("found `{}`, expected a number", text.trim()))
}

/// The names in a folder, in alphabetical order; none if it is not there.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}
