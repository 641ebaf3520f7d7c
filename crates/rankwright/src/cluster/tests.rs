use super::read::synthetic;
use super::*;
use crate::ids::{CoreId, PuId};
use crate::units::Seconds;

/// Two nodes of eight PUs under two switches, with devices and memory attributes.
fn description() -> ClusterDescription {
    let mut machine = synthetic::parse("pack:2 core:2 pu:2").unwrap();
    let access = MemoryAccess {
        cores: vec![CoreId(0), CoreId(3)],
        bandwidth: Some(BytesPerSecond(1e9)),
        latency: Some(Seconds(1e-7)),
    };
    machine.numa_nodes[0].access.push(access);
    let port = |number| Port { number, link: None, bandwidth: Some(BytesPerSecond(1e9)) };
    let ports = vec![port(1), port(2)];
    machine.nics.push(Nic {
        near: vec![NumaId(0)],
        contexts: Some(4),
        ports,
        ..Nic::new("mlx5_0")
    });
    machine.gpus.push(Gpu {
        name: "cuda0".to_owned(),
        near: vec![NumaId(0)],
        pci: None,
        vendor: None,
    });
    machine.numa_distance = Some(vec![vec![10]]);
    let names = ["n0", "n1"].map(str::to_owned).to_vec();
    let mut description = ClusterDescription::uniform("c", names, NodeGroup::all_free(machine));
    let uplink = Some(BytesPerSecond(1e9));
    let switch = |name: &str, parent| Switch { name: name.to_owned(), parent, uplink };
    description.switches = vec![switch("leaf", Some(1)), switch("top", None)];
    description.nodes.iter_mut().for_each(|node| node.switch = Some(0));
    description
}

/// The error after a change to a valid description.
fn error(change: fn(&mut ClusterDescription)) -> String {
    let mut description = description();
    change(&mut description);
    description.build().map(|_| "no error").unwrap_err().to_string()
}

fn machine_error(change: fn(&mut Machine)) -> String {
    let mut description = description();
    change(&mut description.groups[0].machine);
    let error = description.build().map(|_| "no error").unwrap_err().to_string();
    error.strip_prefix("groups[0].machine.").unwrap().to_owned()
}

#[test]
fn a_description_that_agrees_with_itself_is_a_cluster() {
    let cluster = description().build().unwrap();
    assert_eq!(cluster.machine(NodeId(1)).pus.len(), 8);
    assert_eq!(cluster.into_description(), description());
}

#[test]
fn nodes_point_to_what_exists_and_have_names_of_their_own() {
    assert_eq!(error(|c| c.nodes.clear()), "nodes.len(): found 0, expected 1..");
    assert_eq!(error(|c| c.nodes[1].group = 1), "nodes[1].group: found 1, expected 0..1");
    assert_eq!(error(|c| c.nodes[1].switch = Some(2)), "nodes[1].switch: found 2, expected 0..2");
    let twice = "nodes[1].name: found a second n0, expected unique values";
    assert_eq!(error(|c| c.nodes[1].name = "n0".to_owned()), twice);
    for name in ["", "n 0", "-x", "a,b", "n[0-3]"] {
        let mut description = description();
        name.clone_into(&mut description.nodes[0].name);
        assert_eq!(description.build().unwrap_err().field, "nodes[0].name", "{name}");
    }
}

#[test]
fn switches_stand_before_their_parents() {
    let loops = error(|c| c.switches[1].parent = Some(1));
    assert_eq!(loops, "switches[1].parent: found 1, expected 2..2");
    assert!(error(|c| c.switches[0].parent = Some(2)).starts_with("switches[0].parent: found 2"));
    assert!(error(|c| c.switches[1].parent = Some(0)).starts_with("switches[1].parent: found 0"));
    assert!(error(|c| c.switches[1].name = "leaf".to_owned()).starts_with("switches[1].name"));
    let no_rate = "switches[0].uplink: found 0, expected a rate above 0";
    assert_eq!(error(|c| c.switches[0].uplink = Some(BytesPerSecond(0.0))), no_rate);
    let chain = error(|c| {
        let switch = |index: usize| Switch {
            name: format!("s{index}"),
            parent: Some(index + 1).filter(|parent| *parent < 65),
            uplink: None,
        };
        c.switches = (0..65).map(switch).collect();
    });
    assert_eq!(
        chain,
        "switches[0].parent: found 64 switches above `s0`, expected at most 64 levels of switches"
    );
}

#[test]
fn pus_stand_core_by_core() {
    assert_eq!(machine_error(|m| m.packages = 0), "packages: found 0, expected 1..");
    assert_eq!(
        machine_error(|m| m.cores[3].package = 2),
        "cores[3].package: found 2, expected 0..2"
    );
    assert_eq!(machine_error(|m| m.cores[3].numa.0 = 1), "cores[3].numa: found 1, expected 0..1");
    assert_eq!(
        machine_error(|m| m.cores[1].pus.clear()),
        "cores[1].pus.len(): found 0, expected 1.."
    );
    assert_eq!(machine_error(|m| m.pus.truncate(7)), "pus.len(): found 7, expected 8..=8");
    let order = "pus[0]: found P#2 of core L#1, expected P#0 of core L#0";
    assert_eq!(machine_error(|m| m.pus.swap(0, 2)), order);
    let twice = machine_error(|m| {
        m.pus[7].id = PuId(0);
        m.cores[3].pus[1] = PuId(0);
    });
    assert_eq!(twice, "pus: found a second P#0, expected unique values");
    assert_eq!(machine_error(|m| m.cores.clear()), "cores.len(): found 0, expected 1..");
    assert_eq!(
        error(|c| c.groups[0].free.truncate(3)),
        "groups[0].free.len(): found 3, expected 8..=8"
    );
    assert!(error(|c| c.groups[0].speed = 0.0).starts_with("groups[0].speed: found 0"));
    assert!(error(|c| c.groups[0].speed = f64::NAN).starts_with("groups[0].speed: found NaN"));
}

#[test]
fn memories_and_devices_are_near_what_exists() {
    assert!(machine_error(|m| m.numa_nodes.clear()).starts_with("numa_nodes.len(): found 0"));
    let twice = machine_error(|m| m.numa_nodes.push(NumaNode::new(0)));
    assert_eq!(twice, "numa_nodes[1].os_index: found a second 0, expected unique values");
    let cores = |cores: fn(&mut Vec<CoreId>)| {
        let mut description = description();
        cores(&mut description.groups[0].machine.numa_nodes[0].access[0].cores);
        description.build().unwrap_err().to_string()
    };
    let place = "groups[0].machine.numa_nodes[0].access[0].cores";
    assert_eq!(cores(|c| c[1].0 = 4), format!("{place}[1]: found 4, expected 1..4"));
    assert_eq!(cores(|c| c.swap(0, 1)), format!("{place}[1]: found 0, expected 4..4"));
    assert_eq!(cores(Vec::clear), format!("{place}.len(): found 0, expected 1.."));
    assert_eq!(
        machine_error(|m| m.nics[0].near[0].0 = 1),
        "nics[0].near[0]: found 1, expected 0..1"
    );
    assert_eq!(
        machine_error(|m| m.gpus[0].near[0].0 = 1),
        "gpus[0].near[0]: found 1, expected 0..1"
    );
    let none = machine_error(|m| m.nics[0].contexts = Some(0));
    assert_eq!(none, "nics[0].contexts: found 0, expected 1..");
    let ports = machine_error(|m| m.nics[0].ports.swap(0, 1));
    assert_eq!(ports, "nics[0].ports[1].number: found 1, expected 3..");
    let rate = machine_error(|m| m.nics[0].bandwidth = Some(BytesPerSecond(f64::INFINITY)));
    assert_eq!(rate, "nics[0].bandwidth: found inf, expected a rate above 0");
    let rows = machine_error(|m| m.numa_distance = Some(vec![]));
    assert_eq!(rows, "numa_distance.len(): found 0, expected 1..=1");
    let columns = machine_error(|m| m.numa_distance = Some(vec![vec![10, 20]]));
    assert_eq!(columns, "numa_distance[0].len(): found 2, expected 1..=1");
}

#[test]
fn rates_are_possible() {
    let bandwidth = error(|c| c.rates.nic_bandwidth = Some(BytesPerSecond(0.0)));
    assert!(bandwidth.starts_with("rates.nic_bandwidth: found 0"));
    let latency = error(|c| c.rates.nic_latency = Some(Seconds(-1.0)));
    assert!(latency.starts_with("rates.nic_latency: found -1"));
    assert!(error(|c| c.rates.memory_copies = 0).starts_with("rates.memory_copies: found 0"));
    let factor = error(|c| c.rates.remote_memory_factor = 0.5);
    assert_eq!(factor, "rates.remote_memory_factor: found 0.5, expected 1.0..=100.0");
}

#[test]
fn the_error_of_a_source_names_the_field() {
    let mut description = description();
    description.nodes[1].group = 7;
    let error = description.build().unwrap_err().in_source("cluster.toml").to_string();
    assert_eq!(error, "cluster.toml: nodes[1].group: found 7, expected 0..1");
}

#[test]
fn changes_keep_a_cluster_valid() {
    let cluster = description().build().unwrap();
    assert_eq!(cluster.clone().first_nodes(1).nodes.len(), 1);
    assert_eq!(cluster.clone().first_nodes(9).nodes.len(), 2);
    assert_eq!(cluster.clone().named("x").name, "x");
    let taken = cluster.clone().edit(|parts| parts.groups[0].free[2] = false).unwrap();
    assert_eq!(taken.all_free(), cluster);
    assert!(cluster.edit(|parts| parts.groups[0].free.clear()).is_err());
}

#[test]
fn the_bandwidth_of_a_node_is_that_of_the_devices_for_mpi() {
    let mut machine = synthetic::parse("pack:1 core:4 pu:1").unwrap();
    machine.nics = ["hsi0", "hsi1", "ens2", "hsi2", "hsi3"].map(Nic::new).to_vec();
    let group = NodeGroup::all_free(machine);
    let cluster = ClusterDescription::uniform("c", vec!["n0".to_owned()], group).build().unwrap();
    let of_one = cluster.nic_bandwidth(NodeId(0), 0).value.0;
    assert_eq!(cluster.node_bandwidth(NodeId(0)).0, 4.0 * of_one);
    let all = cluster.edit(|parts| parts.groups[0].machine.nics[2].mpi = Some(true)).unwrap();
    let of_ethernet = all.nic_bandwidth(NodeId(0), 2).value.0;
    assert_eq!(all.node_bandwidth(NodeId(0)).0, 4.0 * of_one + of_ethernet);
}

#[test]
fn hosts_are_found_by_full_and_by_short_name() {
    let names = ["a.site", "b", "c.x", "c.y"].map(str::to_owned).to_vec();
    let group = NodeGroup::all_free(synthetic::parse("1").unwrap());
    let cluster = ClusterDescription::uniform("c", names, group).build().unwrap();
    let node = |host| cluster.find_node(host).map(|id| id.0);
    assert_eq!((node("a"), node("a.site"), node("a.other")), (Some(0), Some(0), Some(0)));
    assert_eq!((node("b.site"), node("c.y"), node("c"), node("d")), (Some(1), Some(3), None, None));
}
