//! Bridges, devices and routes: text for `ip -batch`.

use std::fmt::Write;

use super::addresses::{
    HEAD_ADDRESS, MANAGEMENT_DEVICE, data_address, data_device, hardware_address,
    management_address,
};
use super::shape::Network;

/// Jumbo frames, as on the data networks of clusters: headers are 1 % of the bytes, not 6 %.
pub(super) const DATA_MTU: u32 = 9000;
const MANAGEMENT_MTU: u32 = 1500;
/// All data networks together.
const DATA_NETWORKS: &str = "10.98.0.0/16";
/// The routing table of device 0.
const FIRST_TABLE: u32 = 100;

/// The switch's port of a node's device.
pub(crate) fn node_port(node: usize, device: u32) -> String {
    format!("n{node}{}", data_device(device))
}

/// The port of a switch towards the one above, which counts what passes the uplink.
pub(crate) fn upper_port(switch: &str) -> String {
    format!("up-{switch}")
}

/// The other end of a switch's uplink.
pub(crate) fn lower_port(switch: &str) -> String {
    format!("down-{switch}")
}

/// `ip` commands for the switch: bridges, and the devices of all nodes, whose other ends appear in
/// the namespaces of their holders.
pub(crate) fn switch_links(network: &Network, holders: &[u32]) -> String {
    let mut text = "link set lo up\n".to_owned();
    let switches = network.switches();
    let names = switches.iter().map(|switch| switch.name.as_str());
    for bridge in names.chain([MANAGEMENT_DEVICE]) {
        let _ = writeln!(text, "link add {bridge} type bridge stp_state 0 mcast_snooping 0");
        let _ = writeln!(text, "link set {bridge} up");
    }
    let _ = writeln!(text, "addr add {HEAD_ADDRESS}/24 dev {MANAGEMENT_DEVICE}");
    for switch in &switches {
        let Some(parent) = switch.parent else { continue };
        let (up, down) = (upper_port(&switch.name), lower_port(&switch.name));
        let _ = writeln!(
            text,
            "link add {up} mtu {DATA_MTU} type veth peer name {down} mtu {DATA_MTU}"
        );
        let _ = writeln!(text, "link set {up} master {} up", switch.name);
        let _ = writeln!(text, "link set {down} master {} up", switches[parent].name);
    }
    for (node, holder) in holders.iter().enumerate() {
        let bridge = &switches[network.switch_of(node)].name;
        for device in network.devices() {
            let (port, name) = (node_port(node, device), data_device(device));
            let address = hardware_address(node, device);
            let _ = writeln!(
                text,
                "link add {port} mtu {DATA_MTU} type veth peer name {name} address {address} \
                 mtu {DATA_MTU} netns {holder}\nlink set {port} master {bridge} up"
            );
        }
        let _ = writeln!(
            text,
            "link add m{node} mtu {MANAGEMENT_MTU} type veth peer name {MANAGEMENT_DEVICE} \
             mtu {MANAGEMENT_MTU} netns {holder}\nlink set m{node} master {MANAGEMENT_DEVICE} up"
        );
    }
    text
}

/// `ip` commands for one node.
pub(crate) fn node_links(network: &Network, node: usize) -> String {
    let mut text = "link set lo up\n".to_owned();
    let data = |device| (data_device(device), data_address(node, device));
    let management = (MANAGEMENT_DEVICE.to_owned(), management_address(node));
    for (device, address) in network.devices().map(data).chain([management]) {
        let _ = writeln!(text, "addr add {address}/24 dev {device}");
        let _ = writeln!(text, "link set {device} up");
    }
    if network.nics > 1 {
        network.devices().for_each(|device| text += &routes(node, device));
    }
    text
}

/// Routes by which packets leave by the device of their source address, to whichever device they
/// go. By default Linux routes by the destination only: one device would carry everything that goes
/// to its subnet, whatever device a program has chosen. The route of the main table, which loses to
/// that of the subnet, is for programs that ask whether a device reaches an address.
fn routes(node: usize, device: u32) -> String {
    let (name, address) = (data_device(device), data_address(node, device));
    let table = FIRST_TABLE + device;
    format!(
        "route add {DATA_NETWORKS} dev {name} src {address} table {table}\n\
         rule add from {address} table {table} priority {table}\n\
         route add {DATA_NETWORKS} dev {name} src {address} metric {table}\n"
    )
}

#[cfg(test)]
mod tests {
    use rankwright::units::BytesPerSecond;

    use super::*;

    fn network(nics: u32, tiers: Option<&str>) -> Network {
        let tiers = tiers.map(|text| text.parse().unwrap());
        Network { nics, nic: BytesPerSecond(12.5e6), tiers, delay: None }
    }

    #[test]
    fn several_devices_have_routes_by_source() {
        assert!(!node_links(&network(1, None), 0).contains("rule"));
        let text = node_links(&network(2, None), 4);
        for line in [
            "addr add 10.98.1.5/24 dev eth1\n",
            "route add 10.98.0.0/16 dev eth1 src 10.98.1.5 table 101\n",
            "rule add from 10.98.1.5 table 101 priority 101\n",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }

    #[test]
    fn nodes_are_at_their_leaf_and_leaves_below_the_spine() {
        let text = switch_links(&network(1, Some("2x2")), &[70, 71, 72, 73]);
        for line in [
            "link add spine type bridge ",
            "link set up-leaf1 master leaf1 up\nlink set down-leaf1 master spine up\n",
            "link set n1eth0 master leaf0 up\n",
            "link add n2eth0 mtu 9000 type veth peer name eth0 address 02:98:00:00:00:03 mtu 9000 netns 72\n",
            "link set n2eth0 master leaf1 up\n",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }
}
