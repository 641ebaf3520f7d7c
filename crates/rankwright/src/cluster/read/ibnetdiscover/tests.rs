use proptest::prelude::*;

use super::*;
use crate::cluster::read::synthetic;
use crate::cluster::{ClusterDescription, Link, Nic, NodeGroup, Port};

/// The output of ibnetdiscover for a fabric: switches by name, hosts by name and device, and links
/// between two names, with their rates.
fn written(switches: &[&str], hosts: &[&str], links: &[(&str, &str, &str)]) -> String {
    let id = |name: &str| match switches.iter().position(|other| *other == name) {
        Some(index) => format!("S-{index:016x}"),
        None => {
            let index = hosts.iter().position(|other| *other == name).expect("a device");
            format!("H-{:016x}", 0x1000 + index)
        }
    };
    // Each end of a link takes the next free port.
    let mut used: BTreeMap<&str, u32> = BTreeMap::new();
    let mut port = |name| {
        let next = used.entry(name).or_default();
        *next += 1;
        *next
    };
    let ends: Vec<(u32, u32)> = links.iter().map(|(a, b, _)| (port(a), port(b))).collect();
    let mut text = "#\n# Topology file: generated on Mon Dec 18 12:34:08 2023\n#\n".to_owned();
    for name in switches.iter().chain(hosts) {
        let device = id(name);
        let switch = device.starts_with('S');
        text += "\nvendid=0x2c9\ndevid=0xd2f0\nsysimgguid=0x1\n";
        text += &if switch {
            format!(
                "switchguid=0x1(1)\nSwitch\t41 \"{device}\"\t\t# \"{name}\" base port 0 lid 3 lmc 0\n"
            )
        } else {
            format!("caguid=0x1\nCa\t1 \"{device}\"\t\t# \"{name}\"\n")
        };
        for ((a, b, rate), (port_a, port_b)) in links.iter().zip(&ends) {
            for (end, end_port, peer, peer_port) in [(a, port_a, b, port_b), (b, port_b, a, port_a)]
            {
                if end == name {
                    let peer_id = id(peer);
                    text += &if switch {
                        format!(
                            "[{end_port}]\t\"{peer_id}\"[{peer_port}](1) \t\t# \"{peer}\" lid 9 {rate}\n"
                        )
                    } else {
                        format!(
                            "[{end_port}](1) \t\"{peer_id}\"[{peer_port}]\t\t# lid 9 lmc 0 \"{peer}\" lid 9 {rate}\n"
                        )
                    };
                }
            }
        }
    }
    text
}

fn read(switches: &[&str], hosts: &[&str], links: &[(&str, &str, &str)]) -> FabricTree {
    let text = written(switches, hosts, links);
    assert!(sniff(&text));
    parse(&text, "fabric", &[]).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// `leaf0 < spine (200)` for each switch, the rate of the uplink in Gbit/s.
fn listed(fabric: &FabricTree) -> Vec<String> {
    let switches = &fabric.tree.switches;
    let shown = |switch: &crate::cluster::Switch| match switch.parent {
        None => switch.name.clone(),
        Some(parent) => {
            let rate = switch.uplink.map(|rate| format!(" ({})", rate.0 * 8.0 / 1e9));
            format!("{} < {}{}", switch.name, switches[parent].name, rate.unwrap_or_default())
        }
    };
    switches.iter().map(shown).collect()
}

/// `n0@leaf0` for each host.
fn places(fabric: &FabricTree) -> Vec<String> {
    let name = |at: usize| fabric.tree.switches[at].name.as_str();
    let nodes = fabric.tree.nodes.iter();
    nodes.map(|(host, at)| format!("{host}@{}", at.map_or("-", name))).collect()
}

/// A cluster of one node.
fn uniform(group: NodeGroup) -> Cluster {
    ClusterDescription::uniform("c", vec!["x".to_owned()], group).build().unwrap()
}

#[test]
fn a_tree_stays_a_tree_with_parallel_links_together() {
    let fabric = read(
        &["leaf0", "leaf1", "top"],
        &["n10 mlx5_0", "n2 mlx5_0", "n1 mlx5_0"],
        &[
            ("n10 mlx5_0", "leaf0", "4xEDR"),
            ("n2 mlx5_0", "leaf0", "4xEDR"),
            ("n1 mlx5_0", "leaf1", "4xEDR"),
            ("leaf0", "top", "4xHDR"),
            ("leaf0", "top", "4xHDR"),
            ("top", "leaf1", "4xHDR"),
        ],
    );
    assert_eq!(listed(&fabric), ["leaf0 < top (400)", "leaf1 < top (200)", "top"]);
    assert_eq!(places(&fabric), ["n1@leaf1", "n2@leaf0", "n10@leaf0"]);
    assert_eq!(fabric.losses, [""; 0]);
}

#[test]
fn two_linked_switches_are_one_above_the_other() {
    let fabric = read(
        &["b", "a"],
        &["n0 hca", "n1 hca"],
        &[("n0 hca", "b", "4xEDR"), ("n1 hca", "a", "4xEDR"), ("a", "b", "4xEDR")],
    );
    assert_eq!(listed(&fabric), ["b < a (100)", "a"]);
}

#[test]
fn a_switch_is_not_called_like_the_id_of_another() {
    let (first, second) = ("S-0000000000000001", "b 1");
    let links = [("n0 hca", first, "4xEDR"), ("n1 hca", second, "4xEDR"), (first, second, "4xEDR")];
    let fabric = read(&[first, second], &["n0 hca", "n1 hca"], &links);
    let mut names: Vec<&str> = fabric.tree.switches.iter().map(|s| s.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["S-0000000000000000", "S-0000000000000001"]);
}

#[test]
fn the_spines_of_a_fat_tree_are_one_switch() {
    let (leaves, spines) = (["leaf0", "leaf1", "leaf2"], ["spine0", "spine1"]);
    let switches: Vec<&str> = leaves.iter().chain(&spines).copied().collect();
    let hosts = ["n0 mlx5_0", "n1 mlx5_0", "n2 mlx5_0"];
    let mut links: Vec<_> = hosts.iter().zip(&leaves).map(|(h, l)| (*h, *l, "2xHDR")).collect();
    for spine in &spines {
        links.extend(leaves.iter().map(|leaf| (*leaf, *spine, "4xHDR")));
    }
    let fabric = read(&switches, &hosts, &links);
    let wanted =
        ["leaf0 < spines-0 (400)", "leaf1 < spines-0 (400)", "leaf2 < spines-0 (400)", "spines-0"];
    assert_eq!(listed(&fabric), wanted);
    let loss = "spine[0-1] are taken as one switch, spines-0, with all their links: which way a \
                message takes is lost";
    assert_eq!(fabric.losses, [loss]);
}

#[test]
fn three_levels_stay_three_levels() {
    // Two pods of two leaves and two aggregation switches; two cores above all.
    let mut switches = Vec::new();
    let mut links = Vec::new();
    let names: Vec<String> = (0..4).map(|n| format!("leaf{n}")).collect();
    let middle: Vec<String> = (0..4).map(|n| format!("agg{n}")).collect();
    let hosts: Vec<String> = (0..4).map(|n| format!("n{n} mlx5_0")).collect();
    let cores = ["core0", "core1"];
    for pod in 0..2 {
        for a in 0..2 {
            for b in 0..2 {
                let ends = (names[2 * pod + a].as_str(), middle[2 * pod + b].as_str());
                links.push((ends.0, ends.1, "4xHDR"));
            }
            links.push((middle[2 * pod + a].as_str(), cores[a], "4xNDR"));
        }
    }
    links.extend(hosts.iter().zip(&names).map(|(h, l)| (h.as_str(), l.as_str(), "4xHDR")));
    switches.extend(names.iter().chain(&middle).map(String::as_str));
    switches.extend(cores);
    let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
    let fabric = read(&switches, &hosts, &links);
    assert_eq!(
        listed(&fabric),
        [
            "leaf0 < spines-0 (400)",
            "leaf1 < spines-0 (400)",
            "leaf2 < spines-1 (400)",
            "leaf3 < spines-1 (400)",
            "spines-0 < spines-2 (800)",
            "spines-1 < spines-2 (800)",
            "spines-2"
        ]
    );
    assert_eq!(fabric.losses.len(), 3);
}

#[test]
fn a_ring_is_reduced_and_reported() {
    let fabric = read(
        &["a", "b", "c"],
        &["n0 x", "n1 x", "n2 x"],
        &[
            ("n0 x", "a", "4xEDR"),
            ("n1 x", "b", "4xEDR"),
            ("n2 x", "c", "4xEDR"),
            ("a", "b", "4xEDR"),
            ("b", "c", "4xEDR"),
            ("c", "a", "4xEDR"),
        ],
    );
    let wanted = ["a < links-0 (200)", "b < links-0 (200)", "c < links-0 (200)", "links-0"];
    assert_eq!(listed(&fabric), wanted);
    assert!(fabric.losses[0].starts_with("a,b,c are linked to each other"), "{:?}", fabric.losses);
}

#[test]
fn rails_on_switches_of_their_own_are_one_switch() {
    let hosts = ["n0 mlx5_0", "n0 mlx5_1", "n1 mlx5_0", "n1 mlx5_1"];
    let fabric = read(
        &["rail0", "rail1", "lonely"],
        &hosts,
        &[
            ("n0 mlx5_0", "rail0", "4xNDR"),
            ("n0 mlx5_1", "rail1", "4xNDR"),
            ("n1 mlx5_0", "rail0", "4xNDR"),
            ("n1 mlx5_1", "rail1", "2xNDR"),
            ("lonely", "rail1", "4xNDR"),
        ],
    );
    assert_eq!(listed(&fabric), ["rails-0"]);
    assert_eq!(places(&fabric), ["n0@rails-0", "n1@rails-0"]);
    assert!(fabric.losses.iter().any(|loss| loss.contains("rail[0-1]")), "{:?}", fabric.losses);
    assert!(fabric.losses.iter().any(|loss| loss.ends_with("the hosts are left out: 1")));

    // The devices come from the fabric, so the second node is another type.
    let machine = synthetic::parse("core:4 pu:1").unwrap();
    let mut group = NodeGroup::all_free(machine);
    let like = uniform(group.clone());
    let cluster = fabric.clone().cluster(&like).unwrap();
    assert_eq!(cluster.groups.len(), 2);
    let rates = |group: usize| -> Vec<f64> {
        let nics = &cluster.groups[group].machine.nics;
        nics.iter().map(|nic| nic.bandwidth.unwrap().0 * 8.0 / 1e9).collect()
    };
    assert_eq!((rates(0), rates(1)), (vec![400.0, 400.0], vec![400.0, 200.0]));
    assert_eq!(cluster.groups[0].machine.nics[1].name, "mlx5_1");

    // Devices and bandwidths of the other cluster stay.
    let mut described = Nic::new("mlx5_1");
    described.bandwidth = Some(BytesPerSecond(1e9));
    group.machine.nics = vec![Nic::new("ib0"), described];
    let like = uniform(group);
    let cluster = fabric.cluster(&like).unwrap();
    let nics = &cluster.groups[0].machine.nics;
    assert_eq!((nics[0].bandwidth, nics[1].bandwidth), (None, Some(BytesPerSecond(1e9))));
}

#[test]
fn devices_have_the_ports_of_the_fabric_and_others_carry_no_mpi() {
    // A two-port card (two functions behind one PCIe link), one for storage, Ethernet.
    let hosts = ["n0 mlx5_0", "n0 mlx5_1", "n1 mlx5_0"];
    let fabric = read(
        &["leaf"],
        &hosts,
        &[
            ("n0 mlx5_0", "leaf", "4xHDR"),
            ("n0 mlx5_1", "leaf", "4xHDR"),
            ("n1 mlx5_0", "leaf", "4xHDR"),
        ],
    );
    let mut group = NodeGroup::all_free(synthetic::parse("core:4 pu:1").unwrap());
    let function = |name: &str, pci: &str| Nic {
        pci: Some(pci.to_owned()),
        pci_bandwidth: Some(BytesPerSecond(31.5e9)),
        ..Nic::new(name)
    };
    group.machine.nics = vec![
        function("mlx5_0", "0000:41:00.0"),
        function("mlx5_1", "0000:41:00.1"),
        function("mlx5_2", "0000:81:00.0"),
        Nic::new("eno1"),
    ];
    let cluster = fabric.cluster(&uniform(group)).unwrap();
    let carry = |node: usize| -> Vec<(String, f64)> {
        let node = crate::ids::NodeId::from_index(node);
        let nics = cluster.machine(node).mpi_nics();
        let rate = |nic| (cluster.nic_bandwidth(node, nic).value.0 / 1e8).round() / 10.0;
        nics.map(|(index, nic)| (nic.name.clone(), rate(index))).collect()
    };
    // Each function has half of .85 x 31.5 GB/s, or that and no more than its link.
    let both = [("mlx5_0".to_owned(), 13.4), ("mlx5_1".to_owned(), 13.4)];
    assert_eq!(carry(0), both);
    assert_eq!(carry(1), both[..1]);
}

#[test]
fn ports_that_the_fabric_does_not_have_are_down() {
    let fabric = read(
        &["leaf"],
        &["n0 mlx4_0", "n1 mlx4_0"],
        &[("n0 mlx4_0", "leaf", "4xFDR"), ("n1 mlx4_0", "leaf", "4xFDR")],
    );
    let mut group = NodeGroup::all_free(synthetic::parse("core:4 pu:1").unwrap());
    let port = |number| Port { number, link: None, bandwidth: Some(BytesPerSecond(5e9)) };
    group.machine.nics = vec![Nic { ports: vec![port(1), port(2)], ..Nic::new("mlx4_0") }];
    let cluster = fabric.cluster(&uniform(group)).unwrap();
    let nic = &cluster.groups[0].machine.nics[0];
    assert_eq!(
        nic.ports.iter().map(|p| p.link).collect::<Vec<_>>(),
        [Some(Link::Up), Some(Link::Down)]
    );
    assert_eq!((nic.link_bandwidth().unwrap().0 / 1e8).round(), 68.0);
}

#[test]
fn switches_of_mellanox_and_their_helpers_are_known() {
    let text = written(
        &[
            "MF0;leaf1:MQM8700/U1",
            "MF0;dir:CS7500/L01/U1",
            "MF0;dir:CS7500/L02/U1",
            "Quantum Mellanox Technologies",
        ],
        &["n0 mlx5_0", "n1 mlx5_0", "n2 mlx5_0", "n3 x", "Mellanox Technologies Aggregation Node"],
        &[
            ("n0 mlx5_0", "MF0;leaf1:MQM8700/U1", "4xHDR"),
            ("n1 mlx5_0", "MF0;dir:CS7500/L01/U1", "4xHDR"),
            ("n2 mlx5_0", "MF0;dir:CS7500/L02/U1", "4xHDR"),
            ("n3 x", "Quantum Mellanox Technologies", "4xHDR"),
            ("MF0;leaf1:MQM8700/U1", "Mellanox Technologies Aggregation Node", "4xHDR"),
            ("MF0;leaf1:MQM8700/U1", "MF0;dir:CS7500/L01/U1", "4xHDR"),
            ("MF0;leaf1:MQM8700/U1", "MF0;dir:CS7500/L02/U1", "4x???"),
            ("MF0;leaf1:MQM8700/U1", "Quantum Mellanox Technologies", "4xHDR"),
        ],
    );
    let fabric = parse(&text, "fabric", &[]).unwrap();
    assert_eq!(
        listed(&fabric),
        [
            "S-0000000000000003 < leaf1 (200)",
            "dir-L01-U1 < leaf1 (200)",
            "dir-L02-U1 < leaf1",
            "leaf1"
        ]
    );
    assert_eq!(fabric.losses.len(), 2, "{:?}", fabric.losses);
    // Without its host, a switch is not needed either.
    let only = ["n0", "n1"].map(str::to_owned);
    let part = parse(&text, "fabric", &only).unwrap();
    assert_eq!(places(&part), ["n0@leaf1", "n1@dir-L01-U1"]);
    assert_eq!(listed(&part), ["leaf1 < dir-L01-U1 (200)", "dir-L01-U1"]);
}

#[test]
fn fabrics_that_are_not_whole_are_refused() {
    let fine = written(
        &["a", "b"],
        &["n0 x", "n1 x"],
        &[("n0 x", "a", "4xEDR"), ("n1 x", "b", "4xEDR"), ("a", "b", "4xEDR")],
    );
    let half: String = fine.split_inclusive('\n').take(24).collect();
    let two =
        written(&["a", "b"], &["n0 x", "n1 x"], &[("n0 x", "a", "4xEDR"), ("n1 x", "b", "4xEDR")]);
    for (text, part) in [
        (half, "has no section of its own"),
        (fine[..fine.len() - 20].to_owned(), "the line `[1](1)"),
        (
            fine[..fine.rfind("\n[1]").unwrap_or_default()].to_owned(),
            "which has none, expected both ends",
        ),
        (two, "`n0` and `n1`, which no link connects"),
        (
            fine.replace("\"n0 x\"", "\"MT4119 ConnectX5   Mellanox Technologies\""),
            "give ibnetdiscover a",
        ),
        (fine.replace("Switch\t41", "Switch\tmany"), "the line `Switch"),
        (fine.replacen("\"S-0000000000000001\"[2]", "\"S-0000000000000000\"[2]", 1), "to itself"),
        ("# Topology file: generated on\n".to_owned(), "0 hosts"),
    ] {
        let error = parse(&text, "fabric", &[]).map(|_| &text).expect_err(part).to_string();
        assert!(error.contains(part), "{part}: {error}");
    }
    let missing = parse(&fine, "fabric", &["n7".to_owned()]).expect_err("a host that is not there");
    assert!(missing.to_string().contains("no adapter of the host `n7`"), "{missing}");
}

/// Checks that the tree has a single top, no cycle, and all hosts.
fn check(fabric: &FabricTree, hosts: usize) {
    let switches = &fabric.tree.switches;
    assert_eq!(fabric.tree.nodes.len(), hosts);
    for (index, switch) in switches.iter().enumerate() {
        assert!(switch.parent.is_none_or(|parent| parent > index));
    }
    assert_eq!(switches.iter().filter(|switch| switch.parent.is_none()).count(), 1);
    assert!(fabric.tree.nodes.iter().all(|(_, at)| at.is_some_and(|at| at < switches.len())));
    let names: BTreeSet<&str> = switches.iter().map(|switch| switch.name.as_str()).collect();
    assert_eq!(names.len(), switches.len());
}

proptest! {
    #[test]
    fn any_connected_fabric_becomes_one_tree(
        count in 1_usize..9,
        // For each switch after the first: a link to an earlier one, so that all are connected.
        to in prop::collection::vec(any::<prop::sample::Index>(), 8),
        more in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..12),
        at in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..8),
    ) {
        let switches: Vec<String> = (0..count).map(|n| format!("s{n}")).collect();
        let hosts: Vec<String> = (0..2 * at.len()).map(|n| format!("n{} d{}", n / 2, n % 2)).collect();
        let mut links = Vec::new();
        for (index, before) in (1..count).zip(&to) {
            links.push((switches[index].as_str(), switches[before.index(index)].as_str(), "4xEDR"));
        }
        for (a, b) in &more {
            let (a, b) = (a.index(count), b.index(count));
            if a != b {
                links.push((switches[a].as_str(), switches[b].as_str(), "4xHDR"));
            }
        }
        for (pair, (a, b)) in hosts.chunks(2).zip(&at) {
            links.push((pair[0].as_str(), switches[a.index(count)].as_str(), "4xEDR"));
            // Some have a second rail.
            if b.index(3) == 0 {
                links.push((pair[1].as_str(), switches[b.index(count)].as_str(), "4xEDR"));
            }
        }
        let switches: Vec<&str> = switches.iter().map(String::as_str).collect();
        let linked: Vec<&str> = hosts
            .iter()
            .map(String::as_str)
            .filter(|host| links.iter().any(|(a, _, _)| a == host))
            .collect();
        check(&read(&switches, &linked, &links), at.len());
    }

    #[test]
    fn any_part_of_a_file_is_a_fabric_or_an_error(cut in 0_usize..2000, change in 0_usize..2000, with in "[\\[\\]\"# 0-9S]") {
        let mut text = written(
            &["a", "b"],
            &["n0 x", "n1 x"],
            &[("n0 x", "a", "4xEDR"), ("n1 x", "b", "4xEDR"), ("a", "b", "4xEDR")],
        );
        text.truncate(cut);
        if change < text.len() {
            text.replace_range(change..=change, &with);
        }
        let _ = parse(&text, "fabric", &[]);
    }
}
