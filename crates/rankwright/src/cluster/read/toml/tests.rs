use std::path::PathBuf;

use proptest::prelude::*;

use super::*;
use crate::cluster::read::synthetic;
use crate::cluster::{
    Core, Gpu, GpuVendor, Link, Machine, MemoryAccess, Nic, NumaNode, Port, Pu, Switch,
};
use crate::cluster::{Rates, SPEEDS};
use crate::ids::{CoreId, NumaId, PuId};
use crate::units::{Bytes, BytesPerSecond, Seconds};

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The cluster after writing and reading.
fn again(cluster: &Cluster) -> Cluster {
    let text = write(cluster);
    parse(&text, "written", Path::new("")).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn message(text: &str) -> String {
    parse(text, "c.toml", Path::new("")).expect_err(text).to_string()
}

#[test]
fn examples_read_back_as_written_and_stay_short() {
    for name in ["four-nodes.toml", "dual-rail.toml", "epyc-slingshot.toml", "mixed-tree.toml"] {
        let cluster = read(&repository().join("examples/clusters").join(name)).unwrap();
        assert_eq!(again(&cluster), cluster, "{name}");
        assert!(write(&cluster).len() < 3000, "{name}: {}", write(&cluster));
    }
}

#[test]
fn discovered_machines_read_back_as_written() {
    let folder = repository().join("testdata/machines");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "xml") {
            let group = crate::cluster::read::hwloc_xml::read(&path).unwrap();
            let cluster = ClusterDescription::uniform("c", vec!["n0".to_owned()], group);
            let cluster = cluster.build().unwrap();
            assert_eq!(again(&cluster), cluster, "{}", path.display());
        }
    }
}

#[test]
fn xml_paths_are_relative_to_the_file_that_has_the_rates() {
    let text = r#"
        [[node]]
        names = "n[0-1]"
        xml = "omni-path-2s.xml"
        free = "1-7"
        [[node.nic]]
        name = "hsi0"
        bandwidth = "100 Gbit/s"
        [[node.nic]]
        name = "extra"
    "#;
    let cluster = parse(text, "c.toml", &repository().join("testdata/machines")).unwrap();
    let nics = &cluster.groups[0].machine.nics;
    let names: Vec<&str> = nics.iter().map(|nic| nic.name.as_str()).collect();
    assert_eq!(names, ["eno1", "hfi1_0", "extra"]);
    assert_eq!(nics[1].bandwidth, Some(BytesPerSecond(12.5e9)));
    assert_eq!(nics[1].near, [NumaId(1)]);
    assert!(!cluster.groups[0].free[0]);
}

#[test]
fn equal_tables_are_one_group() {
    let node = |names: &str, cores: u32| {
        format!("[[node]]\nnames = \"{names}\"\ntopology = \"core:{cores} pu:1\"\n")
    };
    let text = node("a", 2) + &node("b", 4) + &node("c", 2);
    let cluster = parse(&text, "c.toml", Path::new("")).unwrap();
    let groups: Vec<usize> = cluster.nodes.iter().map(|node| node.group).collect();
    assert_eq!(groups, [0, 1, 0]);
    assert_eq!(again(&cluster), cluster);
}

#[test]
fn switches_are_sorted_before_their_parents() {
    let text = r#"
        [[switch]]
        name = "top"
        switches = "leaf[0-1]"
        [[switch]]
        name = "leaf0"
        nodes = "n[0-1]"
        uplink = "10 GB/s"
        [[switch]]
        name = "leaf1"
        nodes = "n[2-3]"
        [[node]]
        names = "n[0-4]"
        topology = "4"
    "#;
    let cluster = parse(text, "c.toml", Path::new("")).unwrap();
    let shown: Vec<_> =
        cluster.switches.iter().map(|switch| (switch.name.as_str(), switch.parent)).collect();
    assert_eq!(shown, [("leaf0", Some(2)), ("leaf1", Some(2)), ("top", None)]);
    let at: Vec<_> = cluster.nodes.iter().map(|node| node.switch).collect();
    assert_eq!(at, [Some(0), Some(0), Some(1), Some(1), None]);
    assert_eq!(again(&cluster), cluster);
}

const NODE: &str = "[[node]]\nnames = \"n[0-3]\"\n";

/// A valid table of three lines.
fn plain_node() -> String {
    format!("{NODE}topology = \"core:4 pu:1\"\n")
}

fn check_messages(cases: &[(String, &str)]) {
    for (text, start) in cases {
        let message = message(text);
        assert!(message.contains(start), "{message}\nwanted: {start}");
    }
}

#[test]
fn what_is_wrong_with_nodes_is_named_with_line_and_field() {
    let (node, plain) = (NODE, plain_node());
    check_messages(&[
        (String::new(), "c.toml: node: found no node"),
        (format!("{plain}color = 3\n"), "c.toml:4: found unknown field `color`, expected one of"),
        (format!("{plain}memory = 3\n"), "c.toml:4: found the number 3, expected a text in quotes"),
        ("[[node]]\ntopology = \"4\"\n".to_owned(), "c.toml:1: found no field `names`"),
        (node.to_owned(), "c.toml:1: node \"n[0-3]\".topology: found no source of the hardware"),
        (
            format!("{plain}xml = \"n.xml\"\n"),
            "c.toml:4: node \"n[0-3]\".topology: found a second source",
        ),
        (
            format!("{node}topology = \"x:4\"\n"),
            "c.toml:3: node \"n[0-3]\".topology: found the type",
        ),
        (format!("{plain}free = \"2-4\"\n"), "c.toml:4: node \"n[0-3]\".free: found PU L#4"),
        (format!("{plain}memory = \"-1 GB\"\n"), "c.toml:4: node \"n[0-3]\".memory: found `-1 GB`"),
        (format!("{plain}numa_distance = [[10, 20]]\n"), "c.toml:4: node \"n[0-3]\".numa_distance"),
        (
            format!("{plain}\n[[node]]\nnames = \"n3\"\ntopology = \"4\"\n"),
            "c.toml:6: node.names: found a second node `n3`",
        ),
        (
            "[[node]]\nnames = \"n[0-999999]\"\ntopology = \"4\"\n".to_owned(),
            "c.toml:2: node.names: found more than 100000 names",
        ),
        (
            format!("{node}cores = [\"package:0 pus:0\", \"pus:0\"]\n"),
            "c.toml:3: node \"n[0-3]\".cores: found PU P#0 in a second core",
        ),
        ("name = \n".to_owned(), "c.toml:1: "),
    ]);
}

#[test]
fn what_is_wrong_with_devices_is_named_with_line_and_field() {
    let plain = plain_node();
    check_messages(&[
        (
            format!("{plain}[[node.nic]]\nname = \"a\"\nnear = \"numa:1\"\n"),
            "c.toml:6: node \"n[0-3]\".nic \"a\".near: found `numa:1`: NUMA node L#1",
        ),
        (
            format!("{plain}[[node.nic]]\nname = \"a\"\nbandwidth = \"1e30 GB/s\"\n"),
            "c.toml:6: node \"n[0-3]\".nic \"a\".bandwidth: found `1e30 GB/s`",
        ),
        (
            format!("{plain}[[node.nic]]\nname = \"a\"\n[[node.nic]]\nname = \"a\"\n"),
            "c.toml:7: node \"n[0-3]\".nic.name: found a second device",
        ),
        (format!("{plain}[[node.nic]]\nname = \"a\"\ncontexts = 0\n"), "c.toml:6: "),
        (format!("{plain}[[node.nic]]\nname = \"a b\"\n"), "c.toml:5: "),
        (
            format!("{plain}[[node.nic]]\nname = \"a\"\npci = \"zz\"\n"),
            "c.toml:6: node \"n[0-3]\".nic \"a\".pci: found `zz`, expected a PCI address like",
        ),
        (
            format!("{plain}[[node.gpu]]\nname = \"a\"\nvendor = \"ati\"\n"),
            "c.toml:6: node \"n[0-3]\".gpu \"a\".vendor: found `ati`, expected `nvidia`, `amd` or",
        ),
        (
            format!("{plain}[[node.gpu]]\nname = \"a\"\npci = \"0000:41:00.0 \"\n"),
            "c.toml:6: node \"n[0-3]\".gpu \"a\".pci: found `0000:41:00.0 `",
        ),
        (
            format!("{plain}[[node.numa]]\n[[node.numa.access]]\ncores = \"0-99\"\n"),
            "c.toml:6: node \"n[0-3]\".numa.access.cores: found `0-99`, expected cores (L#) from 0",
        ),
        (
            format!("{plain}[[node.numa]]\n[[node.numa.access]]\ncores = \"0\"\n"),
            "numa.access: found neither",
        ),
    ]);
}

#[test]
fn what_is_wrong_with_rates_and_switches_is_named_with_line_and_field() {
    let plain = plain_node();
    check_messages(&[
        (format!("rates = \"fast\"\n{plain}"), "c.toml:1: rates: found `fast`"),
        (format!("[rates]\nnic_latency = \"-1 s\"\n{plain}"), "c.toml:2: rates.nic_latency"),
        (format!("[rates]\nspeed = 1\n{plain}"), "c.toml:2: found unknown field `speed`"),
        (
            format!("[rates]\nremote_memory_factor = 0.5\n{plain}"),
            "c.toml:2: rates.remote_memory_factor: found 0.5, expected a number from 1 to 100",
        ),
        (
            format!("[rates]\nmemory_copies = 0\n{plain}"),
            "c.toml:2: rates.memory_copies: found 0, expected a number from 1 to 16",
        ),
        (
            format!("[rates]\nbase = \"model\"\n{plain}"),
            "c.toml:2: rates.base: found `model`, expected \"typical\" or \"paper-2013\" or",
        ),
        (
            format!("[rates]\nqueue_pair = [[\"1 KiB\", \"1 us\"], [\"1 B\", \"1 us\"]]\n{plain}"),
            "c.toml:2: rates.queue_pair: found `1 B` after `1 KiB`, expected ascending lengths",
        ),
        (
            format!("{plain}[[switch]]\nname = \"s\"\nnodes = \"n9\"\n"),
            "c.toml:6: switch \"s\".nodes: found `n9`, which is not a node",
        ),
        (
            format!(
                "{plain}[[switch]]\nname = \"s\"\nnodes = \"n0\"\n[[switch]]\nname = \"t\"\nnodes = \"n0\"\n"
            ),
            "c.toml:9: switch \"t\".nodes: found node `n0`, which is at switch `s`",
        ),
        (
            format!(
                "{plain}[[switch]]\nname = \"s\"\nswitches = \"t\"\n[[switch]]\nname = \"t\"\nswitches = \"s\"\n"
            ),
            "found switch `s` below itself",
        ),
        (
            format!("{plain}[[switch]]\nname = \"s\"\nswitches = \"q\"\n"),
            "c.toml:6: switch \"s\".switches: found `q`, which is not a switch",
        ),
        (
            format!("{plain}[[switch]]\nname = \"s\"\n[[switch]]\nname = \"s\"\n"),
            "c.toml:7: switch.name: found a second switch",
        ),
    ]);
}

fn machines() -> impl Strategy<Value = Machine> {
    let uniform = (1_usize..3, 1_usize..3, 1_usize..4, 1_usize..3, any::<bool>()).prop_map(
        |(packages, numa, cores, pus, interleaved)| {
            let indexes = if interleaved { "(indexes=core)" } else { "" };
            let text = format!("pack:{packages} numa:{numa} core:{cores} pu:{pus}{indexes}");
            synthetic::parse(&text).unwrap()
        },
    );
    let irregular =
        prop::collection::vec((0_usize..2, 0_u32..3, prop::option::of(0_u32..3), 1_u32..3), 1..6)
            .prop_map(|cores| {
                let mut machine = Machine::default();
                for os_index in 0..3 {
                    machine.numa_nodes.push(NumaNode::new(os_index));
                }
                let mut next = 0;
                for (index, (package, numa, cache, pus)) in cores.into_iter().enumerate() {
                    let ids: Vec<PuId> = (next..next + pus).map(|pu| PuId(100 - pu)).collect();
                    next += pus;
                    let core = CoreId::from_index(index);
                    machine.pus.extend(ids.iter().map(|id| Pu { id: *id, core }));
                    machine.cores.push(Core { package, numa: NumaId(numa), cache, pus: ids });
                    machine.packages = machine.packages.max(package + 1);
                }
                machine
            });
    prop_oneof![uniform, irregular]
}

prop_compose! {
    fn groups()(
        mut machine in machines(),
        sizes in prop::collection::vec(prop::option::of(1_u64..1 << 40), 4),
        kind in prop::option::of("[A-Z]{3}"),
        nics in prop::collection::vec((0_u32..3, prop::option::of(1_u32..99), 1e-3..1e12), 0..3),
        gpus in 0_usize..3,
        distance in prop::option::of(10_u32..99),
        taken in any::<u8>(),
        speed in prop_oneof![Just(1.0), SPEEDS],
        access in prop::collection::vec((1_usize..9, 1.0..1e12, any::<bool>()), 0..3),
    ) -> NodeGroup {
        let nodes = machine.numa_nodes.len();
        for (node, size) in machine.numa_nodes.iter_mut().zip(&sizes) {
            node.memory = size.map(Bytes);
        }
        machine.numa_nodes[nodes - 1].kind = kind;
        for (every, rate, has_bandwidth) in access {
            let cores: Vec<CoreId> = machine.core_ids().step_by(every).collect();
            let latency = (!has_bandwidth).then_some(Seconds(rate * 1e-15));
            let bandwidth = has_bandwidth.then_some(BytesPerSecond(rate));
            machine.numa_nodes[0].access.push(MemoryAccess { cores, bandwidth, latency });
        }
        for (index, (near, contexts, rate)) in nics.into_iter().enumerate() {
            let mut nic = Nic::new(format!("mlx5_{index}"));
            nic.aliases = (0..near).map(|alias| format!("ib{index}-{alias}")).collect();
            nic.near = (0..near.min(nodes as u32)).map(NumaId).collect();
            nic.contexts = contexts;
            nic.bandwidth = contexts.map(|_| BytesPerSecond(rate));
            nic.latency = contexts.map(|_| Seconds(rate * 1e-15));
            nic.pci = contexts.map(|bus| format!("0000:{bus:02x}:00.0"));
            nic.rail = contexts;
            nic.mpi = contexts.map(|contexts| contexts % 2 == 0);
            for number in 0..near {
                let link = [None, Some(Link::Up), Some(Link::Down)][number as usize % 3];
                let bandwidth = contexts.map(|_| BytesPerSecond(rate));
                nic.ports.push(Port { number, link, bandwidth });
            }
            machine.nics.push(nic);
        }
        for index in 0..gpus {
            let vendor = [Some(GpuVendor::Nvidia), Some(GpuVendor::Amd)][index % 2];
            let name = format!("cuda{index}");
            machine.gpus.push(Gpu { name, near: vec![NumaId(0)], pci: None, vendor });
        }
        machine.numa_distance = distance.map(|distance| vec![vec![distance; nodes]; nodes]);
        let free = (0..machine.pus.len()).map(|pu| taken >> (pu % 8) & 1 == 0).collect();
        NodeGroup { machine, free, speed }
    }
}

prop_compose! {
    fn clusters()(
        groups in prop::collection::vec(groups(), 1..4),
        members in prop::collection::vec((0_usize..4, 0_usize..5), 1..12),
        parents in prop::collection::vec(0_usize..6, 0..4),
        uplink in prop::option::of(1.0..1e12),
        calibrated in any::<bool>(),
        latency in 0.0..1.0,
    ) -> Cluster {
        let mut rates = Rates::default();
        if calibrated {
            let nic_latency = Some(Seconds(latency));
            rates = Rates { name: "a \"b\"".to_owned(), calibrated, nic_latency, ..rates };
            if latency < 0.5 {
                let name = rates.name;
                rates = Rates { name, ..Rates::named("paper-2013-model").unwrap() };
                rates.remote_memory_factor = 1.0 + latency;
            }
        }
        let mut cluster = ClusterDescription {
            name: "c".to_owned(),
            emulated: calibrated,
            invented: false,
            rates,
            groups: Vec::new(),
            nodes: Vec::new(),
            switches: Vec::new(),
        };
        let count = parents.len();
        for (index, (group, switch)) in members.into_iter().enumerate() {
            let group = &groups[group % groups.len()];
            let same = cluster.groups.iter().position(|other| other == group);
            let position = same.unwrap_or_else(|| {
                cluster.groups.push(group.clone());
                cluster.groups.len() - 1
            });
            let switch = Some(switch).filter(|switch| *switch < count);
            cluster.nodes.push(Node { name: format!("n{index:02}"), group: position, switch });
        }
        for (index, parent) in parents.iter().enumerate() {
            let parent = Some(index + 1 + parent).filter(|parent| *parent < count);
            let uplink = uplink.map(BytesPerSecond);
            cluster.switches.push(Switch { name: format!("s{index}"), parent, uplink });
        }
        cluster.build().unwrap()
    }
}

proptest! {
    #[test]
    fn any_cluster_reads_back_as_written(cluster in clusters()) {
        prop_assert_eq!(again(&cluster), cluster);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "(\\[\\[node\\]\\]\n|names = \"n[0-3]\"\n|topology = \"[a-z0-9: ()=]{0,12}\"\n|free = \"[0-9,-]{0,5}\"\n|[ -~]{0,20}\n){0,8}") {
        let _ = parse(&text, "c.toml", Path::new(""));
    }
}
