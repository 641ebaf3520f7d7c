//! The networks of a lab: two bridges in the switch, and two pairs of virtual devices per node.
//! Everything here is text for `ip -batch` and `tc -batch`. All labs use the same addresses,
//! because no lab sees another lab or the host.

use std::fmt::Write;

use anyhow::bail;
use rankwright::units::BytesPerSecond;

use crate::state::HEAD;

/// The shaped network of the ranks.
pub(crate) const DATA_NETWORK: &str = "10.98.0.0/24";
/// The network of the launcher, not shaped.
pub(crate) const MANAGEMENT_NETWORK: &str = "10.99.0.0/24";
/// The data device of every node.
pub(crate) const DATA_DEVICE: &str = "eth0";
/// The management device of every node and of the head.
pub(crate) const MANAGEMENT_DEVICE: &str = "mgmt0";
/// The most nodes of a lab: the number of addresses beside the head's.
pub const MOST_NODES: u32 = 250;

const DATA_BRIDGE: &str = "data0";
/// Jumbo frames, as on the data networks of clusters: headers are 1 % of the bytes, not 6 %.
const DATA_MTU: u32 = 9000;
const MANAGEMENT_MTU: u32 = 1500;
const HEAD_ADDRESS: &str = "10.99.0.254";

fn data_address(node: usize) -> String {
    format!("10.98.0.{}", node + 1)
}

fn management_address(node: usize) -> String {
    format!("10.99.0.{}", node + 1)
}

/// The node names, and their hostlist: `node[00-15]`.
pub(crate) fn names(nodes: u32) -> (Vec<String>, String) {
    let last = nodes - 1;
    let width = last.to_string().len();
    let names = (0..nodes).map(|index| format!("node{index:0width$}")).collect();
    let hostlist =
        if nodes == 1 { "node0".to_owned() } else { format!("node[{:0width$}-{last}]", 0) };
    (names, hostlist)
}

/// The index of the node with this name or address; `None` for the head.
pub(crate) fn find(host: &str, nodes: &[String]) -> anyhow::Result<Option<usize>> {
    if host == HEAD || host == HEAD_ADDRESS {
        return Ok(None);
    }
    let position = nodes.iter().enumerate().position(|(index, name)| {
        host == name || host == data_address(index) || host == management_address(index)
    });
    if position.is_none() {
        let last = nodes.last().map(String::as_str).unwrap_or_default();
        bail!("no node `{host}`; the lab has `{HEAD}` and {} to {last}", nodes[0]);
    }
    Ok(position)
}

/// The `/etc/hosts` of all nodes.
pub(crate) fn hosts(nodes: &[String]) -> String {
    let mut text = format!("127.0.0.1 localhost\n{HEAD_ADDRESS} {HEAD}\n");
    for (index, name) in nodes.iter().enumerate() {
        let _ = writeln!(text, "{} {name}", management_address(index));
    }
    text
}

/// `ip` commands for the switch: bridges, and the devices of all nodes, whose other ends appear in
/// the namespaces of their holders.
pub(crate) fn switch_links(holders: &[u32]) -> String {
    let mut text = "link set lo up\n".to_owned();
    for bridge in [DATA_BRIDGE, MANAGEMENT_DEVICE] {
        let _ = writeln!(text, "link add {bridge} type bridge stp_state 0 mcast_snooping 0");
        let _ = writeln!(text, "link set {bridge} up");
    }
    let _ = writeln!(text, "addr add {HEAD_ADDRESS}/24 dev {MANAGEMENT_DEVICE}");
    for (index, holder) in holders.iter().enumerate() {
        let ports = [
            (data_port(index), DATA_DEVICE, DATA_BRIDGE, DATA_MTU),
            (format!("m{index}"), MANAGEMENT_DEVICE, MANAGEMENT_DEVICE, MANAGEMENT_MTU),
        ];
        for (port, device, bridge, mtu) in ports {
            let _ = writeln!(
                text,
                "link add {port} mtu {mtu} type veth peer name {device} mtu {mtu} netns {holder}"
            );
            let _ = writeln!(text, "link set {port} master {bridge} up");
        }
    }
    text
}

/// `ip` commands for one node.
pub(crate) fn node_links(node: usize) -> String {
    let mut text = "link set lo up\n".to_owned();
    let devices =
        [(DATA_DEVICE, data_address(node)), (MANAGEMENT_DEVICE, management_address(node))];
    for (device, address) in devices {
        let _ = writeln!(text, "addr add {address}/24 dev {device}");
        let _ = writeln!(text, "link set {device} up");
    }
    text
}

/// `tc` commands for the switch, which shape the traffic to each node.
pub(crate) fn switch_shaping(nodes: usize, rate: BytesPerSecond) -> String {
    (0..nodes).map(|node| shaping(&data_port(node), rate)).collect()
}

/// The `tc` command for a node, which shapes the traffic from it.
pub(crate) fn node_shaping(rate: BytesPerSecond) -> String {
    shaping(DATA_DEVICE, rate)
}

fn data_port(node: usize) -> String {
    format!("d{node}")
}

/// A token bucket of 2 ms at the rate, and a queue that no program of a lab fills: a full queue
/// would drop packets, and measurements would show the sender's timeouts instead of the rate.
fn shaping(device: &str, rate: BytesPerSecond) -> String {
    let bits = (rate.0 * 8.0).round();
    let burst = (rate.0 * 2e-3).max(15_000.0).round();
    let queue = (rate.0 * 10e-3).max(4e6).round();
    format!("qdisc replace dev {device} root tbf rate {bits}bit burst {burst} limit {queue}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_padded_to_one_width() {
        assert_eq!(names(1).1, "node0");
        let (list, hostlist) = names(12);
        assert_eq!((list[0].as_str(), list[11].as_str()), ("node00", "node11"));
        assert_eq!(hostlist, "node[00-11]");
        assert_eq!(names(10).1, "node[0-9]");
    }

    #[test]
    fn a_node_is_found_by_name_and_by_both_addresses() {
        let (nodes, _) = names(4);
        for host in ["node2", "10.98.0.3", "10.99.0.3"] {
            assert_eq!(find(host, &nodes).unwrap(), Some(2));
        }
        assert_eq!(find("head", &nodes).unwrap(), None);
        let error = find("node9", &nodes).unwrap_err().to_string();
        assert_eq!(error, "no node `node9`; the lab has `head` and node0 to node3");
    }

    #[test]
    fn the_last_node_has_an_address_of_its_own() {
        let last = management_address(MOST_NODES as usize - 1);
        assert_eq!(last, "10.99.0.250");
        assert_ne!(last, HEAD_ADDRESS);
    }

    #[test]
    fn rates_are_bits_and_the_bucket_holds_two_milliseconds() {
        assert_eq!(
            node_shaping(BytesPerSecond(12.5e6)),
            "qdisc replace dev eth0 root tbf rate 100000000bit burst 25000 limit 4000000\n"
        );
    }
}
