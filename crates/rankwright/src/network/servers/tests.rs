use super::*;
use crate::cluster::read::{built_in, synthetic};
use crate::cluster::{ClusterDescription, Nic, NodeGroup, ServiceCurve, Switch};
use crate::placement::{Granularity, JobShape, slots};
use crate::units::{Bytes, BytesPerSecond, Seconds};

/// Ranks at these slots (cores counted over all nodes) of a cluster.
fn placed(cluster: &Cluster, slot_of: &[usize]) -> Placement {
    let shape = JobShape { name: "job".to_owned(), ranks: slot_of.len() as u32 };
    let slots = slots(cluster, Granularity::Cores(1), slot_of.len()).unwrap();
    Placement::from_slots(cluster, &[shape], "test", &slots, slot_of).unwrap()
}

/// `node0 NUMA L#0 16.384 us, ...`
fn shown(servers: &Servers, path: &Path) -> String {
    let hop = |hop: &Hop| {
        let latency =
            if hop.latency.0 > 0.0 { format!(" +{}", hop.latency) } else { String::new() };
        format!("{} {}{latency}", servers.name(hop.server), hop.service)
    };
    path.hops.iter().map(hop).collect::<Vec<_>>().join(", ")
}

#[test]
fn messages_pass_the_servers_of_the_paper() {
    let cluster = built_in::find("paper:2013").unwrap().cluster();
    let placement = placed(&cluster, &[0, 1, 4, 16]);
    let servers = Servers::new(&cluster, &placement);
    let shown = |to, length| {
        let paths = servers.paths(GlobalRank(0), GlobalRank(to), Bytes(length));
        assert_eq!(paths.len(), 1);
        (shown(&servers, &paths[0]), paths[0].latency)
    };
    assert_eq!(shown(1, 1 << 16), (String::new(), Seconds(8.192e-6)));
    let twice = "node0 NUMA L#0 524.288 us, node0 NUMA L#0 524.288 us".to_owned();
    assert_eq!(shown(1, 1 << 21), (twice, Seconds(0.0)));
    let remote = "node0 NUMA L#0 16.384 us, node0 NUMA L#0 18.0224 us".to_owned();
    assert_eq!(shown(2, 1 << 16), (remote, Seconds(0.0)));
    let between = "node0 NUMA L#0 16.384 us, node0 nic0 out 65.536 us +100 ns, \
                   node1 nic0 in 65.536 us, node1 NUMA L#0 16.384 us";
    assert_eq!(shown(3, 1 << 16), (between.to_owned(), Seconds(0.0)));
}

#[test]
fn the_model_has_queue_pairs_on_both_sides() {
    let cluster = built_in::find("paper:2013-model").unwrap().cluster();
    let placement = placed(&cluster, &[0, 16]);
    let servers = Servers::new(&cluster, &placement);
    let path = &servers.paths(GlobalRank(0), GlobalRank(1), Bytes(1 << 20))[0];
    let order: Vec<ServerKind> =
        path.hops.iter().map(|hop| servers.kinds()[hop.server.index()]).collect();
    let (node0, node1, numa) = (NodeId(0), NodeId(1), NumaId(0));
    assert_eq!(
        order,
        [
            ServerKind::QueuePairOut { rank: GlobalRank(0) },
            ServerKind::Memory { node: node0, numa },
            ServerKind::ProcessingOut { rank: GlobalRank(0) },
            ServerKind::NicOut { node: node0, nic: 0 },
            ServerKind::NicIn { node: node1, nic: 0 },
            ServerKind::ProcessingIn { rank: GlobalRank(1) },
            ServerKind::QueuePairIn { rank: GlobalRank(1) },
            ServerKind::Memory { node: node1, numa },
        ]
    );
    let service: f64 = path.hops.iter().map(|hop| hop.service.0).sum();
    assert!((service - 2.0 * (1377e-6 + 1024e-6 + 244.140_625e-6)).abs() < 1e-9, "{service}");
}

#[test]
fn finite_links_are_passed_up_and_down() {
    let machine = synthetic::parse("core:1 pu:1").unwrap();
    let names = (0..4).map(|n| format!("n{n}")).collect();
    let mut description = ClusterDescription::uniform("c", names, NodeGroup::all_free(machine));
    for (index, node) in description.nodes.iter_mut().enumerate() {
        node.switch = Some(index / 2);
    }
    let uplink = Some(BytesPerSecond(1e9));
    let switch = |name: &str, parent| Switch { name: name.to_owned(), parent, uplink };
    description.switches = vec![switch("a", Some(2)), switch("b", Some(2)), switch("top", None)];
    let cluster = description.build().unwrap();
    let placement = placed(&cluster, &[0, 1, 2]);
    let servers = Servers::new(&cluster, &placement);
    let shown = |to| shown(&servers, &servers.paths(GlobalRank(0), GlobalRank(to), Bytes(1000))[0]);
    assert!(!shown(1).contains(" up"), "{}", shown(1));
    assert!(shown(2).contains("+1 us, a up 1 us, b down 1 us, n2 network in"), "{}", shown(2));
}

#[test]
fn ranks_use_the_devices_they_name_else_the_near_ones_in_turn() {
    let machine = synthetic::parse("pack:2 core:1 pu:1").unwrap();
    let mut group = NodeGroup::all_free(machine);
    for (name, near) in [("a", vec![]), ("b", vec![NumaId(0)]), ("c", vec![NumaId(0)])] {
        group.machine.nics.push(Nic { near, ..Nic::new(name) });
    }
    let names = vec!["n0".to_owned(), "n1".to_owned()];
    let cluster = ClusterDescription::uniform("c", names, group).build().unwrap();
    let placement = placed(&cluster, &[0, 2]);
    let shown = |placement: &Placement| -> Vec<String> {
        let servers = Servers::new(&cluster, placement);
        let paths = servers.paths(GlobalRank(0), GlobalRank(1), Bytes(1000));
        let nics = |path: &Path| {
            let names = path.hops.iter().map(|hop| servers.name(hop.server));
            names.filter(|name| !name.contains("NUMA")).collect::<Vec<_>>().join(" ")
        };
        paths.iter().map(nics).collect()
    };
    assert_eq!(shown(&placement), ["n0 b out n1 b in", "n0 c out n1 c in"]);
    let placement =
        placement.with_devices(&cluster, vec![Vec::new(), vec!["a".to_owned()]]).unwrap();
    assert_eq!(shown(&placement), ["n0 b out n1 a in", "n0 c out n1 a in"]);
}

#[test]
fn management_carries_no_message_unless_a_rank_names_it() {
    let machine = synthetic::parse("pack:2 numa:1 core:1 pu:1").unwrap();
    let mut group = NodeGroup::all_free(machine);
    for (name, near) in [("eno1", 0), ("mlx5_0", 1), ("mlx5_1", 1)] {
        group.machine.nics.push(Nic { near: vec![NumaId(near)], ..Nic::new(name) });
    }
    let names = vec!["n0".to_owned(), "n1".to_owned()];
    let cluster = ClusterDescription::uniform("c", names, group).build().unwrap();
    let placement = placed(&cluster, &[0, 2]);
    let out_of = |placement: &Placement| -> Vec<String> {
        let servers = Servers::new(&cluster, placement);
        let paths = servers.paths(GlobalRank(0), GlobalRank(1), Bytes(1000));
        let names = paths.iter().flat_map(|path| &path.hops).map(|hop| servers.name(hop.server));
        names.filter(|name| name.ends_with(" out")).collect()
    };
    // Beside the rank there is nothing else.
    assert_eq!(out_of(&placement), ["n0 mlx5_0 out", "n0 mlx5_1 out"]);
    let named = vec![vec!["eno1".to_owned()], Vec::new()];
    let named = placement.with_devices(&cluster, named).unwrap();
    assert!(out_of(&named).iter().all(|name| name == "n0 eno1 out"));
}

#[test]
fn a_device_of_the_other_socket_costs_the_core_time() {
    let cluster = built_in::find("paper:2017").unwrap().cluster();
    let times = |cluster: &Cluster, device: &str| {
        let devices = vec![vec![device.to_owned()]; 2];
        let placement = placed(cluster, &[0, 44]).with_devices(cluster, devices).unwrap();
        let servers = Servers::new(cluster, &placement);
        let path = servers.paths(GlobalRank(0), GlobalRank(1), Bytes(8)).remove(0);
        let service: f64 = path.hops.iter().map(|hop| hop.service.0).sum();
        (service, path.latency.0, path.hops[path.hops.len() - 1].latency.0)
    };
    let (near, far) = (times(&cluster, "hfi1_1"), times(&cluster, "hfi1_2"));
    assert!((far.0 - near.0 - 2.0 * 176e-9).abs() < 1e-15, "{near:?} {far:?}");
    assert_eq!([near.1, near.2, far.1, far.2], [0.0; 4]);
    // Without queue pairs no server is busy that long, but the message comes later.
    let cluster = cluster.edit(|parts| parts.rates.queue_pair = ServiceCurve::default()).unwrap();
    let (near, far) = (times(&cluster, "hfi1_1"), times(&cluster, "hfi1_2"));
    assert_eq!((near.0, near.1, near.2), (far.0, 0.0, 0.0));
    // At the sender before its memory, at the receiver after it.
    assert!([far.1, far.2].iter().all(|late| (late - 176e-9).abs() < 1e-15), "{far:?}");
}

#[test]
fn far_devices_are_slower_as_the_rates_say() {
    let cluster = |rates: &str| {
        let text = format!(
            "{rates}[[node]]\nnames = \"n[0-1]\"\ntopology = \"pack:2 numa:1 core:1 pu:1\"\n\
             [[node.nic]]\nname = \"mlx5_0\"\nnear = \"numa:0\"\n"
        );
        crate::cluster::read::toml::parse(&text, "c.toml", std::path::Path::new("")).unwrap()
    };
    let path = |cluster: &Cluster, to: u32| {
        let to = GlobalRank(to);
        // From the near socket to the near and to the far one.
        let placement = placed(cluster, &[0, 2, 3]);
        let servers = Servers::new(cluster, &placement);
        let path = servers.paths(GlobalRank(0), to, Bytes(1 << 16)).remove(0);
        (shown(&servers, &path), path.latency, servers.far_core_time(to, Bytes(1 << 16)))
    };
    let out = "n0 NUMA L#0 16.384 us, n0 mlx5_0 out 65.536 us +100 ns, n1 mlx5_0 in ";
    let plain = cluster("rates = \"paper-2013\"\n");
    let none = Seconds(0.0);
    let near = format!("{out}65.536 us, n1 NUMA L#0 16.384 us");
    assert_eq!(path(&plain, 1), (near, none, none));
    let far = format!("{out}72.0896 us, n1 NUMA L#1 16.384 us");
    assert_eq!(path(&plain, 2), (far, none, none));
    let charged =
        cluster("[rates]\nbase = \"paper-2013\"\ninter_socket = [[\"64 KiB\", \"4 us\"]]\n");
    let far = format!("{out}65.536 us, n1 NUMA L#1 16.384 us +4 us");
    assert_eq!(path(&charged, 2), (far, none, Seconds(4e-6)));
}
