use std::path::PathBuf;

use super::{LocalRanks, find, recognise};
use crate::cluster::read::toml;
use crate::cluster::{Cluster, Link};
use crate::placement::{
    DeviceEntry, GpuUse, Granularity, JobShape, Placement, PlacementFile, Settings, slots,
};
use crate::rails::select;
use crate::traffic::{Job as TrafficJob, Workload};

fn machine(name: &str) -> Cluster {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/nics");
    toml::read(&folder.join(format!("{name}.toml"))).unwrap()
}

/// A placement of ranks on the cores `at`, with devices by a selection.
fn placed(machine_name: &str, at: &[usize], selection: &str) -> PlacementFile {
    placed_on(&machine(machine_name), at, selection)
}

fn placed_on(cluster: &Cluster, at: &[usize], selection: &str) -> PlacementFile {
    let free = slots(cluster, Granularity::Cores(1), at.len()).unwrap();
    let ranks = u32::try_from(at.len()).unwrap();
    let shapes = [JobShape { name: "j".to_owned(), ranks }];
    let placement = Placement::from_slots(cluster, &shapes, "by hand", &free, at).unwrap();
    let workload = Workload::single(TrafficJob::new("j", ranks, []).unwrap());
    let chosen = select(cluster, &workload, placement, &selection.parse().unwrap()).unwrap();
    let with_gpus = crate::rails::gpus::assign(cluster, chosen, GpuUse::OnePerRank, 1).unwrap();
    PlacementFile::new(cluster, &workload, &with_gpus, Default::default())
}

/// Rank: variables, a line each; then notes.
fn variables(stack: &str, file: &PlacementFile) -> String {
    variables_by(stack, file, LocalRanks::Right)
}

/// As [`variables`], where local ranks are right or wrong.
fn variables_by(stack: &str, file: &PlacementFile, local_ranks: LocalRanks) -> String {
    let mut settings = Settings::default();
    let notes = find(stack).unwrap().apply(file, &file.jobs[0], local_ranks, &mut settings);
    let mut text = String::new();
    for rank in 0..file.jobs[0].ranks.len() {
        let variables =
            settings.variables(rank).iter().map(|(name, value)| format!(" {name}={value}"));
        text += &format!("{rank}:{}\n", variables.collect::<String>());
    }
    match notes {
        Ok(notes) => text + &notes.iter().map(|note| format!("note: {note}\n")).collect::<String>(),
        Err(error) => error.to_string(),
    }
}

/// All stacks on machines that they drive; alike nodes, unlike nodes, several rails.
#[test]
fn every_stack_gets_its_variables() {
    let mut text = String::new();
    for (name, stacks) in [
        ("four-hfis", &["psm2", "opx", "openmpi", "mpich-ofi"][..]),
        (
            "two-per-socket",
            &["psm3", "ucx", "verbs", "tcp", "mvapich2", "mpich-ofi", "openmpi", "nccl"],
        ),
        ("four-numa", &["cxi", "craympich", "mpich-ofi", "openmpi", "tcp"]),
    ] {
        let half = machine(name).core_count() / 4;
        let node = half * 2;
        for (what, at, selection) in [
            ("alike nodes", vec![0, half, node, node + half], "device-affinity"),
            ("unlike nodes", vec![0, half, node + half], "device-affinity"),
            ("rails", vec![0, node + half], "device-affinity:rails=near"),
            ("all rails", vec![0, node], "device-affinity:rails=all"),
        ] {
            let file = placed(name, &at, selection);
            for stack in stacks {
                text += &format!("== {stack}, {name}, {what}\n{}", variables(stack, &file));
            }
        }
    }
    insta::assert_snapshot!(text);
}

#[test]
fn devices_that_a_stack_cannot_use_are_errors() {
    let file = placed("four-hfis", &[0], "device-affinity");
    let error = variables("ucx", &file);
    assert!(error.contains("ucx does not drive hfi1_0 of node h0, which rank 0 has, but InfiniBand, Ethernet devices"), "{error}");
    let mut bare = file.clone();
    bare.jobs[0].ranks[0].nics.clear();
    assert!(variables("psm2", &bare).contains("psm2: rank 0 on h0 has no network device: choose"));
    let mut gone = file.clone();
    gone.nodes[0].nics.remove(0);
    assert_eq!(
        variables("psm2", &gone),
        "rank 0: node h0 has no network device hfi1_0, only hfi1_1, hfi1_2, hfi1_3; place again"
    );
    let mut down = file;
    down.nodes[0].nics[0].ports[0].link = Some(Link::Down);
    assert_eq!(
        variables("psm2", &down),
        "rank 0: the link of hfi1_0 of node h0 is down; place again"
    );
}

#[test]
fn a_stack_is_recognised_only_if_it_is_unambiguous() {
    let recognised = |name: &str, library: &str| {
        let mut file = placed(name, &[0], "device-affinity");
        file.jobs[0].mpi_library = library.to_owned();
        recognise(&file, &file.jobs[0]).map(|stack| stack.map(|stack| stack.name))
    };
    assert_eq!(recognised("two-per-socket", "Open MPI v5.0.3"), Ok(Some("ucx")));
    assert_eq!(recognised("two-per-socket", "MVAPICH2 2.3.7"), Ok(Some("mvapich2")));
    assert_eq!(
        recognised("four-numa", "MPI VERSION    : CRAY MPICH version 8.1.25"),
        Ok(Some("craympich"))
    );
    let question = recognised("four-hfis", "Open MPI v4.1.4").unwrap_err().to_string();
    assert_eq!(
        question,
        "the placement gives rank 0 the device hfi1_0, but which stack drives it is not known: say \
         --fabric with one of psm2, opx, verbs, tcp, mpich-ofi, openmpi"
    );
    let mut none = placed("four-hfis", &[0], "device-affinity");
    none.jobs[0].ranks[0].nics.clear();
    assert!(recognise(&none, &none.jobs[0]).unwrap().is_none());
}

#[test]
fn psm2_as_deployed_sends_the_second_socket_through_the_first_ones_devices() {
    let file = placed("four-hfis", &[0, 1, 4, 5], "device-affinity");
    let ours: Vec<_> = file.jobs[0].ranks.iter().map(|rank| rank.nics[0].clone()).collect();
    let theirs = find("psm2").unwrap().defaults(&file, &file.jobs[0]).concat();
    assert_eq!(ours, ["hfi1_0", "hfi1_1", "hfi1_2", "hfi1_3"]);
    assert_eq!(theirs, ["hfi1_0", "hfi1_1", "hfi1_0", "hfi1_1"]);
}

#[test]
fn ranks_with_the_same_devices_take_them_in_turn_where_a_stack_uses_one() {
    let file = placed("four-numa", &[0, 1, 2, 3], "device-affinity:rails=all");
    let text = variables("craympich", &file);
    assert!(text.contains("MPICH_OFI_NIC_MAPPING=0:0;1:1;2:2;3:3"), "{text}");
}

#[test]
fn wrong_local_ranks_are_not_used() {
    let by_local_rank = ["PSM3_MULTIRAIL_MAP", "MV2_PROCESS_TO_RAIL_MAPPING"];
    let node = machine("two-per-socket").core_count() / 2;
    let file = placed("two-per-socket", &[0, node, 1, node + 1], "device-affinity");
    for (stack, variable) in [("psm3", "PSM3_NIC="), ("mvapich2", "MV2_IBA_HCA=")] {
        assert!(by_local_rank.iter().any(|name| variables(stack, &file).contains(name)));
        let text = variables_by(stack, &file, LocalRanks::Wrong);
        for (rank, entry) in file.jobs[0].ranks.iter().enumerate() {
            let line = format!("{rank}: {variable}{}\n", entry.nics[0]);
            assert!(text.contains(&line), "{line} is not in\n{text}");
        }
    }
    // Whatever local rank a process takes itself for, its own map gives it its own NIC.
    let file = placed("four-numa", &[0, 4, 8, 12], "device-affinity");
    let text = variables_by("craympich", &file, LocalRanks::Wrong);
    for (rank, nic) in [(0, 2), (1, 1), (2, 3), (3, 0)] {
        let line =
            format!("{rank}: MPICH_OFI_NIC_POLICY=USER MPICH_OFI_NIC_MAPPING={nic}:0,1,2,3\n");
        assert!(text.contains(&line), "{line} is not in\n{text}");
    }
}

/// The library for one kind of device does not read the variables of another.
#[test]
fn open_mpi_refuses_mixed_devices() {
    let mut file = placed("two-per-socket", &[0, 1], "device-affinity");
    let first = file.nodes[0].nics[0].clone();
    let (aliases, ports) = (Vec::new(), Vec::new());
    let ethernet = DeviceEntry { name: "eth0".to_owned(), aliases, ports, ..first };
    file.nodes[0].nics.push(ethernet);
    file.jobs[0].ranks[1].nics = vec!["eth0".to_owned()];
    assert_eq!(
        variables("openmpi", &file),
        "openmpi does not drive eth0 of node n0, which rank 1 has, but InfiniBand devices"
    );
    file.jobs[0].ranks[0].nics = vec!["mlx5_0".to_owned(), "eth0".to_owned()];
    file.jobs[0].ranks[1].nics = vec!["mlx5_0".to_owned()];
    assert!(
        variables("openmpi", &file)
            .starts_with("openmpi does not drive eth0 of node n0, which rank 0")
    );
}

#[test]
fn over_tcp_open_mpi_gets_as_many_devices_for_each_rank() {
    let text = "[[node]]\nnames = \"n[0-1]\"\ntopology = \"core:2 pu:1\"\n\
                [[node.nic]]\nname = \"eth0\"\n[[node.nic]]\nname = \"eth1\"\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cluster.toml");
    std::fs::write(&path, text).unwrap();
    let cluster = toml::read(&path).unwrap();
    let with = |devices: [&[&str]; 4]| {
        let mut file = placed_on(&cluster, &[0, 1, 2, 3], "round-robin-all");
        for (entry, devices) in file.jobs[0].ranks.iter_mut().zip(devices) {
            entry.nics = devices.iter().map(|name| (*name).to_owned()).collect();
        }
        variables("openmpi", &file).replace("OMPI_MCA_btl_tcp_if_include=", "")
    };
    let both: &[&str] = &["eth0", "eth1"];
    let single = with([&["eth0"], &["eth1"], &["eth1"], &["eth0"]]);
    assert_eq!(single, "0: eth0\n1: eth1\n2: eth1\n3: eth0\n");
    let mixed = with([both, &["eth1"], &["eth1"], &["eth0"]]);
    let note = "note: openmpi connects only ranks with as many devices as each other, but rank 0 has 2 \
                and rank 1 1: each gets all that the ranks of its node have\n";
    assert_eq!(mixed, format!("0: eth0,eth1\n1: eth0,eth1\n2: eth0,eth1\n3: eth0,eth1\n{note}"));
    // One node's ranks have one device only.
    let one = with([both, &["eth1"], &["eth1"], &["eth1"]]);
    assert!(one.starts_with("0: eth0\n1: eth1\n2: eth1\n3: eth1\n"), "{one}");
}
