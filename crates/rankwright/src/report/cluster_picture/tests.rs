use std::path::{Path, PathBuf};

use quick_xml::Reader;
use quick_xml::events::Event;

use super::*;
use crate::cluster::read::{hwloc_xml, synthetic, toml};
use crate::cluster::{ClusterDescription, Node, NodeGroup, Switch};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All texts of a picture that is well-formed XML.
fn texts(svg: &str) -> Vec<String> {
    let mut reader = Reader::from_str(svg);
    let mut texts = Vec::new();
    let mut inside = false;
    loop {
        match reader.read_event().unwrap_or_else(|error| panic!("{error}\n{svg}")) {
            Event::Start(tag) => inside = tag.name().as_ref() == "text",
            Event::Text(text) if inside => texts.push(text.as_ref().to_owned()),
            Event::End(_) => inside = false,
            Event::Eof => return texts,
            _ => {}
        }
    }
}

fn check(cluster: &Cluster) {
    let svg = cluster_picture(cluster);
    let texts = texts(&svg);
    let count = |wanted: &str| texts.iter().filter(|text| *text == wanted).count();
    let groups = cluster.groups.iter();
    let cores: usize = groups.clone().map(|group| group.machine.cores.len()).sum();
    let pus: usize = groups.clone().map(|group| group.machine.pus.len()).sum();
    assert_eq!(
        texts.iter().filter(|text| text.starts_with("L#") && !text.contains(' ')).count(),
        cores
    );
    assert_eq!(texts.iter().filter(|text| text.starts_with("P#")).count(), pus);
    for (number, group) in groups.enumerate() {
        let machine = &group.machine;
        let free = group.free.iter().filter(|free| !**free).count();
        assert!(svg.matches("class=\"taken\"").count() >= free);
        for nic in &machine.nics {
            let name = match nic.aliases.as_slice() {
                [] => nic.name.clone(),
                aliases => format!("{} ({})", nic.name, aliases.join(", ")),
            };
            assert!(count(&name) >= 1, "type {number}: {name}: {texts:?}");
        }
        for gpu in &machine.gpus {
            assert_eq!(count(&gpu.name), 1, "type {number}: {}", gpu.name);
        }
        for (index, memory) in machine.numa_nodes.iter().enumerate() {
            let label = format!("NUMA node L#{index} (P#{})", memory.os_index);
            assert!(count(&label) >= 1, "type {number}: {label}");
        }
    }
}

/// A cluster of one node.
fn uniform(name: &str, group: NodeGroup) -> Cluster {
    ClusterDescription::uniform(name, vec!["n".to_owned()], group).build().unwrap()
}

#[test]
fn all_that_a_machine_has_is_drawn_once() {
    for entry in std::fs::read_dir(repository().join("testdata/machines")).unwrap() {
        let path = entry.unwrap().path();
        let group = hwloc_xml::read(&path).unwrap();
        check(&uniform("c", group));
    }
    for text in [
        "numa:1 pack:2 core:4 pu:2",
        "numa:2 pack:2 l3:2 core:1 pu:8",
        "l3:1 numa:2 pack:1 core:7 pu:1",
        "pack:2 [numa] [numa] core:5 pu:3",
        "1",
    ] {
        let group = NodeGroup::all_free(synthetic::parse(text).unwrap());
        check(&uniform("<c & d>", group));
    }
}

#[test]
fn types_of_nodes_are_numbered_and_like_switches_stand_together() {
    let cluster = toml::read(&repository().join("examples/clusters/mixed-tree.toml")).unwrap();
    check(&cluster);
    let texts = texts(&cluster_picture(&cluster));
    for wanted in [
        "type 1: thin[00-15], 16 nodes alike",
        "leaf[0-1]",
        "2 switches alike",
        "uplink 12.5 GB/s each",
        "2 nodes of type 2 at each: fat[0-3]",
        "spine",
    ] {
        assert!(texts.iter().any(|text| text == wanted), "{wanted}: {texts:#?}");
    }
}

#[test]
fn many_different_switches_are_counted_instead_of_drawn() {
    let group = NodeGroup::all_free(synthetic::parse("2").unwrap());
    let mut parts = ClusterDescription::uniform("c", Vec::new(), group);
    for switch in 0..100 {
        for _ in 0..=switch {
            let name = format!("n{}", parts.nodes.len());
            parts.nodes.push(Node { name, group: 0, switch: Some(switch) });
        }
        parts.switches.push(Switch { name: format!("s{switch}"), parent: Some(100), uplink: None });
    }
    parts.switches.push(Switch { name: "top".to_owned(), parent: None, uplink: None });
    parts.nodes.push(Node { name: "alone".to_owned(), group: 0, switch: None });
    let cluster = parts.build().unwrap();
    let svg = cluster_picture(&cluster);
    let texts = texts(&svg);
    assert!(texts.iter().any(|text| text == "and 76 more switches"), "{texts:?}");
    assert!(texts.iter().any(|text| text == "at no switch: alone, 1 node"), "{texts:?}");
    assert!(svg.len() < 40_000, "{}", svg.len());
}
