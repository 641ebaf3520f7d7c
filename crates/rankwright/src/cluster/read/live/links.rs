//! States and rates of links, from the kernel's `/sys/class`.

use std::fs;
use std::path::Path;

use crate::cluster::read::infiniband_rate::link_rate;
use crate::cluster::{Link, Nic, Port};
use crate::units::BytesPerSecond;

/// Adds the ports of a device: those of the kernel's InfiniBand layer, else the network interface.
pub(super) fn ask_kernel(nic: &mut Nic, class: &Path) {
    let names: Vec<String> = nic.names().map(str::to_owned).collect();
    let known_ports = names.iter().find_map(|name| {
        let ports = infiniband_ports(&class.join("infiniband").join(name).join("ports"));
        Some(ports).filter(|ports| !ports.is_empty())
    });
    let interface = || names.iter().find_map(|name| interface(&class.join("net").join(name)));
    for port in known_ports.unwrap_or_else(|| interface().into_iter().collect()) {
        nic.add_port(port);
    }
}

/// The ports in a folder like `/sys/class/infiniband/mlx5_0/ports`.
fn infiniband_ports(folder: &Path) -> Vec<Port> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let port = |entry: fs::DirEntry| {
        let number = entry.file_name().to_str()?.parse().ok()?;
        let read = |file: &str| fs::read_to_string(entry.path().join(file)).ok();
        // `4: ACTIVE`, `1: DOWN`, `5: ACTIVE_DEFER`
        let state = |text: String| if text.contains("ACTIVE") { Link::Up } else { Link::Down };
        let gigabits = read("rate")
            .and_then(|text| gigabits(&text))
            .filter(|rate| *rate > 0.0 && rate.is_finite());
        let bandwidth = gigabits.map(|rate| BytesPerSecond(rate * 1e9 / 8.0));
        Some(Port { number, link: read("state").map(state), bandwidth })
    };
    entries.filter_map(port).collect()
}

/// The port of a network interface, from a folder like `/sys/class/net/eth0`.
fn interface(folder: &Path) -> Option<Port> {
    let state = fs::read_to_string(folder.join("operstate")).ok();
    let link = match state.as_deref().map(str::trim) {
        Some("up") => Some(Link::Up),
        Some("down" | "lowerlayerdown" | "notpresent") => Some(Link::Down),
        _ => None,
    };
    let speed = fs::read_to_string(folder.join("speed")).ok();
    let megabits = speed.and_then(|text| text.trim().parse::<f64>().ok());
    let bandwidth = megabits.filter(|speed| *speed > 0.0 && speed.is_finite());
    let bandwidth = bandwidth.map(|speed| BytesPerSecond(speed * 1e6 / 8.0));
    (link.is_some() || bandwidth.is_some()).then_some(Port { number: 1, link, bandwidth })
}

/// 100 from `100 Gb/sec (4X EDR)`. The kernel's number is the signalling rate, of which 8b/10b line
/// coding leaves less (`40 Gb/sec (4X QDR)` carries 32 Gbit/s), so the lanes take precedence.
fn gigabits(text: &str) -> Option<f64> {
    let (number, unit) = text.trim().split_once(' ')?;
    let lanes = unit.split_once('(').and_then(|(_, rest)| link_rate(rest.strip_suffix(')')?));
    let number = unit.starts_with("Gb/sec").then(|| number.parse().ok()).flatten();
    lanes.map(|rate| rate.0 * 8.0 / 1e9).or(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_rates_and_states_come_from_the_kernel() {
        let class = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = class.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("infiniband/mlx5_0/ports/1/rate", "100 Gb/sec (4X EDR)\n");
        write("infiniband/mlx4_0/ports/1/rate", "40 Gb/sec (4X QDR)\n");
        write("infiniband/mlx4_0/ports/2/rate", "10 Gb/sec (4X)\n");
        write("infiniband/mlx4_0/ports/2/state", "4: ACTIVE\n");
        write("infiniband/hfi1_0/ports/1/rate", "100 Gb/sec (4X EDR)\n");
        write("infiniband/hfi1_0/ports/1/state", "1: DOWN\n");
        write("net/eth0/speed", "25000\n");
        write("net/eth1/speed", "-1\n");
        write("net/eth1/operstate", "down\n");
        let asked = |name: &str| {
            let mut nic = Nic::new(name);
            ask_kernel(&mut nic, class.path());
            nic
        };
        let rate = |name: &str| asked(name).link_bandwidth();
        assert_eq!(rate("mlx5_0"), Some(BytesPerSecond(12.5e9)));
        assert_eq!(rate("mlx4_0"), Some(BytesPerSecond(4e9 + 1.25e9)));
        assert_eq!(rate("eth0"), Some(BytesPerSecond(3.125e9)));
        assert_eq!(rate("eth1"), None);
        assert_eq!(rate("eth9"), None);
        let usable = ["mlx5_0", "mlx4_0", "hfi1_0", "eth0", "eth1", "eth9"];
        let usable = usable.map(|name| asked(name).is_usable());
        assert_eq!(usable, [true, true, false, true, false, true]);
        assert_eq!(asked("mlx4_0").ports[1].link, Some(Link::Up));
    }
}
