//! Names and addresses.

use std::fmt::Write;

use anyhow::bail;

/// The launcher's node: the switch, on the management network only.
pub(crate) const HEAD: &str = "head";
/// The network of the launcher, not shaped.
pub(crate) const MANAGEMENT_NETWORK: &str = "10.99.0.0/24";
/// The management device of every node and of the head.
pub(crate) const MANAGEMENT_DEVICE: &str = "mgmt0";
/// The most nodes of a lab: the number of addresses beside the head's.
pub const MOST_NODES: u32 = 250;
/// The most data devices of a node.
pub const MOST_NICS: u32 = 4;

/// The address of the head on the management network.
pub(crate) const HEAD_ADDRESS: &str = "10.99.0.254";

/// A data device: `eth0`.
pub(crate) fn data_device(device: u32) -> String {
    format!("eth{device}")
}

/// The network of the devices of this number of all nodes, in which ranks talk.
pub(crate) fn data_network(device: u32) -> String {
    format!("10.98.{device}.0/24")
}

/// The hardware address of a node's data device; the second bit says that it is administered locally.
pub(super) fn hardware_address(node: usize, device: u32) -> String {
    format!("02:98:00:00:{device:02x}:{:02x}", node + 1)
}

/// The address of a node's data device.
pub(super) fn data_address(node: usize, device: u32) -> String {
    format!("10.98.{device}.{}", node + 1)
}

/// The address of a node on the management network.
pub(crate) fn management_address(node: usize) -> String {
    format!("10.99.0.{}", node + 1)
}

/// `prefix` with the number `index` of `count`, as wide as all others.
pub(super) fn padded(prefix: &str, index: u32, count: u32) -> String {
    let width = (count - 1).to_string().len();
    format!("{prefix}{index:0width$}")
}

/// The host names of a lab's nodes.
pub(crate) fn names(nodes: u32) -> Vec<String> {
    (0..nodes).map(|index| padded("node", index, nodes)).collect()
}

/// The hostlist of the numbers from `first` on of names that end with numbers from 0 to `count` - 1:
/// `node[00-15]`.
pub(crate) fn hostlist(prefix: &str, first: u32, number: u32, count: u32) -> String {
    let name = |index| padded(prefix, index, count);
    if number == 1 {
        return name(first);
    }
    let digits = |index| padded("", index, count);
    format!("{prefix}[{}-{}]", digits(first), digits(first + number - 1))
}

/// The index of the node with this name or address; `None` for the head.
pub(crate) fn find(host: &str, nodes: &[String]) -> anyhow::Result<Option<usize>> {
    if host == HEAD || host == HEAD_ADDRESS {
        return Ok(None);
    }
    let position = nodes.iter().enumerate().position(|(index, name)| {
        let data = |device| host == data_address(index, device);
        host == name || host == management_address(index) || (0..MOST_NICS).any(data)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_padded_to_one_width() {
        assert_eq!(
            (names(1), hostlist("node", 0, 1, 1)),
            (vec!["node0".to_owned()], "node0".into())
        );
        let list = names(12);
        assert_eq!((list[0].as_str(), list[11].as_str()), ("node00", "node11"));
        assert_eq!(hostlist("node", 0, 12, 12), "node[00-11]");
        assert_eq!(hostlist("node", 4, 4, 12), "node[04-07]");
        assert_eq!(hostlist("node", 11, 1, 12), "node11");
        assert_eq!(hostlist("node", 0, 10, 10), "node[0-9]");
    }

    #[test]
    fn a_node_is_found_by_name_and_by_all_addresses() {
        let nodes = names(4);
        for host in ["node2", "10.98.0.3", "10.98.3.3", "10.99.0.3"] {
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
}
