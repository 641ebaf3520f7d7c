//! The latency of a lab's network: text for `ip -batch`, `bridge -batch` and `tc -batch`.
//!
//! Where the kernel has `netem`, it delays what each device sends. Elsewhere every frame that comes
//! from a node passes through a process, the relay: before the switch sees it, a filter sends it to
//! the TAP device of that switch, where the relay reads it; the relay writes it back after the
//! delay, and the switch then forwards it. So a frame is delayed once, and copied to user space and
//! back once.

use std::fmt::Write;

use rankwright::units::Seconds;

use super::addresses::hardware_address;
use super::links::{DATA_MTU, node_port};
use super::shape::Network;

/// Below it the time that the host needs, which varies, is too large a part.
const SHORTEST: f64 = 500e-6;
const LONGEST: f64 = 100e-3;

/// How many frames wait in front of the relay: it reads them as soon as it runs.
const WAITING_FRAMES: u32 = 10_000;

/// Reads a latency that a lab can have.
///
/// # Errors
/// The text found and the expected range.
pub fn parse_delay(text: &str) -> Result<Seconds, String> {
    let delay: Seconds = text.parse().map_err(|error| format!("{error}"))?;
    if (SHORTEST..=LONGEST).contains(&delay.0) {
        Ok(delay)
    } else {
        Err(format!("found {delay}, expected a latency from 500 us to 100 ms"))
    }
}

/// `tc` commands that succeed where the kernel has `netem`, and leave nothing.
pub(crate) const NETEM_PROBE: &str =
    "qdisc add dev lo root netem delay 1ms\nqdisc del dev lo root\n";

/// The TAP device of a switch.
fn tap(switch: &str) -> String {
    format!("tap-{switch}")
}

/// The TAP devices of all switches that have nodes.
pub(crate) fn taps(network: &Network, nodes: usize) -> Vec<String> {
    let switches = network.switches();
    let mut taps: Vec<String> =
        (0..nodes).map(|node| tap(&switches[network.switch_of(node)].name)).collect();
    taps.dedup();
    taps
}

/// `ip` commands that join the TAP devices to their switches. A switch learns nothing from them and
/// sends nothing to them: frames come from the relay only.
pub(crate) fn tap_links(network: &Network, nodes: usize) -> String {
    let mut text = String::new();
    for tap in taps(network, nodes) {
        let switch = tap.trim_start_matches("tap-");
        let _ = writeln!(text, "link set {tap} mtu {DATA_MTU} txqueuelen {WAITING_FRAMES}");
        let _ = writeln!(text, "link set {tap} master {switch}");
        let _ = writeln!(
            text,
            "link set {tap} type bridge_slave learning off flood off mcast_flood off bcast_flood off"
        );
        let _ = writeln!(text, "link set {tap} up");
    }
    text
}

/// `bridge` commands: the switch cannot learn where nodes are from frames that it does not see come.
pub(crate) fn known_ports(network: &Network, nodes: usize) -> String {
    let mut text = String::new();
    for (node, device) in network.ports(nodes) {
        let (address, port) = (hardware_address(node, device), node_port(node, device));
        let _ = writeln!(text, "fdb replace {address} dev {port} master static");
    }
    text
}

/// `tc` commands that send what comes from the nodes to the TAP devices.
pub(crate) fn diversion(network: &Network, nodes: usize) -> String {
    let switches = network.switches();
    let mut text = String::new();
    for (node, device) in network.ports(nodes) {
        let (port, tap) = (node_port(node, device), tap(&switches[network.switch_of(node)].name));
        let _ = writeln!(text, "qdisc add dev {port} ingress");
        let _ = writeln!(
            text,
            "filter add dev {port} parent ffff: protocol all prio 1 u32 match u32 0 0 \
             action mirred egress redirect dev {tap}"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use rankwright::units::BytesPerSecond;

    use super::*;

    #[test]
    fn latencies_that_cannot_be_are_refused() {
        assert_eq!(parse_delay("1.5ms").unwrap(), Seconds(1.5e-3));
        for text in ["0", "0 s", "499 us", "101 ms", "2 s", "1", "-1 ms", "slow"] {
            assert!(parse_delay(text).is_err(), "{text}");
        }
    }

    #[test]
    fn frames_of_a_node_go_to_the_device_of_its_switch() {
        let tiers = Some("2x2".parse().unwrap());
        let network = Network { nics: 1, nic: BytesPerSecond(12.5e6), tiers, delay: None };
        assert_eq!(taps(&network, 4), ["tap-leaf0", "tap-leaf1"]);
        let diverted = "dev n2eth0 parent ffff: protocol all prio 1 u32 match u32 0 0 \
                        action mirred egress redirect dev tap-leaf1\n";
        assert!(diversion(&network, 4).contains(diverted));
        assert!(tap_links(&network, 4).contains("link set tap-leaf1 master leaf1\n"));
    }
}
