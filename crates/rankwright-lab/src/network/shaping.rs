//! Limits of rates and delays: text for `tc -batch`.

use std::fmt::Write;

use rankwright::units::BytesPerSecond;

use super::addresses::data_device;
use super::links::{lower_port, node_port, upper_port};
use super::shape::Network;

/// `tc` commands for the switch: the traffic to each node, and both ways of the uplinks.
pub(crate) fn switch_shaping(network: &Network, nodes: usize) -> String {
    let mut text = String::new();
    for (node, device) in network.ports(nodes) {
        text += &token_bucket(&node_port(node, device), network.nic);
    }
    for switch in network.switches() {
        if let Some(rate) = switch.uplink {
            text += &token_bucket(&upper_port(&switch.name), rate);
            text += &token_bucket(&lower_port(&switch.name), rate);
        }
    }
    text
}

/// `tc` commands for a node: the traffic from it. With `netem` the kernel also delays it.
pub(crate) fn node_shaping(network: &Network, netem: bool) -> String {
    let mut text = String::new();
    for device in network.devices().map(data_device) {
        text += &token_bucket(&device, network.nic);
        if let Some(delay) = network.delay.filter(|_| netem) {
            let microseconds = (delay.0 * 1e6).round();
            let _ = writeln!(
                text,
                "qdisc add dev {device} parent {HANDLE}1 netem delay {microseconds}us limit 100000"
            );
        }
    }
    text
}

/// What a token bucket is called among the queues of its device.
const HANDLE: &str = "1:";

/// A token bucket of 2 ms at the rate, and a queue that no program of a lab fills: a full queue
/// would drop packets, and measurements would show the sender's timeouts instead of the rate.
fn token_bucket(device: &str, rate: BytesPerSecond) -> String {
    let bits = (rate.0 * 8.0).round();
    let burst = (rate.0 * 2e-3).max(15_000.0).round();
    let queue = (rate.0 * 10e-3).max(4e6).round();
    format!(
        "qdisc replace dev {device} root handle {HANDLE} tbf rate {bits}bit burst {burst} limit {queue}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_bits_and_the_bucket_holds_two_milliseconds() {
        let network = Network { nics: 2, nic: BytesPerSecond(12.5e6), tiers: None, delay: None };
        let line = |device| {
            format!(
                "qdisc replace dev {device} root handle 1: tbf rate 100000000bit burst 25000 limit 4000000\n"
            )
        };
        assert_eq!(node_shaping(&network, false), line("eth0") + &line("eth1"));
        assert_eq!(switch_shaping(&network, 1), line("n0eth0") + &line("n0eth1"));
    }

    #[test]
    fn both_ways_of_an_uplink_are_shaped() {
        let tiers = Some("2x1:200Mbit/s".parse().unwrap());
        let network = Network { nics: 1, nic: BytesPerSecond(12.5e6), tiers, delay: None };
        let text = switch_shaping(&network, 2);
        for port in ["up-leaf0", "down-leaf0", "up-leaf1", "down-leaf1"] {
            let line = format!("dev {port} root handle 1: tbf rate 200000000bit burst 50000 ");
            assert!(text.contains(&line), "{text}");
        }
    }
}
