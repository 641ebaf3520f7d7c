//! Several network devices in the simulator.

use std::path::Path;

use rankwright::choose::{Candidate, ChooseOptions, PlanError, candidates};
use rankwright::cluster::Cluster;
use rankwright::cluster::read::toml;
use rankwright::ids::GlobalRank;
use rankwright::map::{Problem, Strategy};
use rankwright::network::{ServerKind, Servers};
use rankwright::placement::{Granularity, JobShape, Placement, slots};
use rankwright::sim::{Options, Pacing};
use rankwright::traffic::Workload;
use rankwright::traffic::generate::pattern::Pattern;
use rankwright::units::{Bytes, Seconds};

use super::reference::{placed, run};
use crate::clusters::{Kind, cluster, with_two_nics};

/// Messages out through each device of the nodes.
fn sent(pattern: &str) -> Vec<u64> {
    let cluster = with_two_nics(cluster(&[(8, Kind(1, 1, 1, 1))]));
    let workload = Workload::single(Pattern::parse(pattern).unwrap().job().unwrap());
    let placement = placed(&cluster, &workload, "blocked");
    let outcome = run(&cluster, &workload, &placement, &Options::default());
    let out =
        outcome.servers.iter().filter(|server| matches!(server.kind, ServerKind::NicOut { .. }));
    out.map(|server| server.messages).collect()
}

#[test]
fn one_message_after_the_other_takes_the_devices_in_turn() {
    assert_eq!(sent("bcast:8:rate=10,messages=1")[..2], [4, 3]);
    assert_eq!(sent("bcast:8:rate=10,messages=10")[..2], [35, 35]);
    // Ranks that send one message each begin at different devices.
    assert_eq!(sent("linear:4:rate=10,messages=1,in_step=true")[..6], [1, 0, 0, 1, 1, 0]);
}

/// Where devices go by load, all answers are simulated with devices, and what `contention` finds for
/// cores and devices together stands beside its answers that got them afterwards.
#[test]
fn cores_and_devices_together_are_never_worse_than_one_after_the_other() {
    let cluster = with_two_nics(cluster(&[(3, Kind(2, 1, 3, 1))]));
    let jobs =
        ["gather:5:rate=500,length=1MB,messages=60", "linear:7:rate=400,length=1MB,messages=50"];
    let jobs = jobs.map(|text| Pattern::parse(text).unwrap().job().unwrap()).to_vec();
    let workload = Workload { name: "two".to_owned(), jobs };
    let problem = Problem::new(&cluster, &workload, Granularity::Cores(1)).unwrap();
    let problem = problem.with_selection("by-load".parse().unwrap()).unwrap();
    let names = ["blocked", "kway", "contention:moves=1200"];
    let strategies = names.map(|name| name.parse::<Strategy>().unwrap());
    let all = candidates(&problem, &strategies, &ChooseOptions::default());
    let evaluation = all.evaluation.expect("simulations");
    let candidates: Vec<Candidate> = all.results.into_iter().map(Result::unwrap).collect();
    for candidate in &candidates {
        assert!(candidate.placement.ranks().all(|rank| !rank.nics.is_empty()));
    }
    let losses: Vec<f64> = evaluation.mappings.iter().map(|mapping| mapping.loss).collect();
    assert!(losses.iter().all(|other| losses[candidates[2].number] <= *other), "{losses:?}");
    // With another number of threads the placement is the same.
    let options = ChooseOptions { threads: 3.try_into().unwrap(), ..ChooseOptions::default() };
    let again = rankwright::choose::candidates(&problem, &strategies, &options);
    assert_eq!(again.results[2].as_ref().unwrap().placement, candidates[2].placement);
}

/// What strategies give on three nodes of two sockets with two cores each; devices by load. Per
/// strategy the nodes of the ranks, or why there is none.
fn by_load(devices: &str, pattern: &str, strategies: &[&str]) -> Vec<Result<Vec<u32>, String>> {
    let text = format!(
        "[[node]]\nnames = \"n[0-2]\"\ntopology = \"pack:2 numa:1 core:2 pu:1\"\n\
         nic = [{devices}]\n[[node]]\nnames = \"m0\"\ntopology = \"pack:2 numa:1 core:2 pu:1\"\n"
    );
    let cluster = toml::parse(&text, "c.toml", Path::new("")).unwrap();
    let workload = Workload::single(Pattern::parse(pattern).unwrap().job().unwrap());
    let problem = Problem::new(&cluster, &workload, Granularity::Cores(1)).unwrap();
    let problem = match problem.with_selection("by-load".parse().unwrap()) {
        Ok(problem) => problem,
        Err(error) => return vec![Err(error.to_string())],
    };
    let strategies: Vec<Strategy> = strategies.iter().map(|name| name.parse().unwrap()).collect();
    let candidates = candidates(&problem, &strategies, &ChooseOptions::default());
    let nodes = |candidate: Candidate| {
        assert!(candidate.placement.ranks().all(|rank| !rank.nics.is_empty()));
        candidate.placement.ranks().map(|rank| rank.node.0).collect()
    };
    let nodes_or_error = |candidate: Result<Candidate, _>| {
        candidate.map(nodes).map_err(|error: PlanError| error.to_string())
    };
    candidates.results.into_iter().map(nodes_or_error).collect()
}

#[test]
fn ranks_go_where_there_are_devices_for_them() {
    let pattern = "ring:12:rate=100,messages=20";
    let plain = "{ name = \"x0\" }";
    for nodes in by_load(plain, pattern, &["blocked", "cyclic", "kway", "contention:moves=200"]) {
        assert!(nodes.unwrap().into_iter().all(|node| node < 3));
    }
    let text = by_load(plain, "ring:13:rate=1", &["blocked"]).remove(0).unwrap_err();
    let wanted = "13 ranks, but only 12 can get network devices at the same time: node m0 has none";
    assert!(text.starts_with(wanted), "{text}");
    // At most as many ranks on a node as its devices have contexts.
    let three = "{ name = \"x0\", contexts = 2 }, { name = \"x1\", contexts = 1 }";
    for nodes in by_load(three, "ring:8:rate=9", &["blocked", "kway", "contention:moves=200"]) {
        let nodes = nodes.unwrap();
        assert!((0..3).all(|node| nodes.iter().filter(|at| **at == node).count() <= 3));
    }
}

/// All ranks of a node must use the same rail, which has two contexts: two ranks on each node fit.
#[test]
fn a_mapping_without_devices_for_all_ranks_leaves_the_strategy_its_others() {
    let rails =
        "{ name = \"x0\", rail = 0, contexts = 2 }, { name = \"x1\", rail = 1, contexts = 2 }";
    let pattern = "all-to-all:6:rate=50,messages=20";
    let results = by_load(rails, pattern, &["blocked", "cyclic", "contention:moves=200"]);
    let text = results[0].as_ref().unwrap_err();
    assert!(text.contains("node n0: 4 of its ranks exchange something"), "{text}");
    for nodes in &results[1..] {
        let nodes = nodes.as_ref().unwrap();
        assert!((0..3).all(|node| nodes.iter().filter(|at| **at == node).count() == 2));
    }
}

/// Two nodes of two packages with a core each, and a device beside the first of them.
fn with_a_far_package() -> Cluster {
    let text = "[rates]\nbase = \"paper-2013\"\ninter_socket = [[\"64 KiB\", \"20 us\"]]\n[[node]]\nnames = \"n[0-1]\"\n\
                topology = \"pack:2 numa:1 core:1 pu:1\"\n\
                [[node.nic]]\nname = \"mlx5_0\"\nnear = \"numa:0\"\n";
    toml::parse(text, "c.toml", Path::new("")).unwrap()
}

/// Without queue pairs a far device occupies no server, but delays each message at both ends.
#[test]
fn a_message_alone_takes_its_services_and_how_late_the_far_device_makes_it() {
    let cluster = with_a_far_package();
    let text = "linear:2:rate=100,length=64kB,messages=10";
    let workload = Workload::single(Pattern::parse(text).unwrap().job().unwrap());
    // By the slots of the two ranks: who is beside the other package.
    for (slot_of, ends) in [([0, 2], 0.0), ([1, 2], 1.0), ([0, 3], 1.0), ([1, 3], 2.0)] {
        let slots = slots(&cluster, Granularity::Cores(1), 4).unwrap();
        let shapes = JobShape::of(&workload);
        let placement = Placement::from_slots(&cluster, &shapes, "t", &slots, &slot_of).unwrap();
        let servers = Servers::new(&cluster, &placement);
        let path = servers.paths(GlobalRank(0), GlobalRank(1), Bytes(64000)).remove(0);
        let late = ends * cluster.rates.inter_socket.time(Bytes(64000)).0;
        let services: f64 = path.hops.iter().map(|hop| hop.service.0).sum();
        let alone = services + cluster.rates.nic_latency.unwrap().0 + late;
        for pacing in [Pacing::Open, Pacing::AfterDeparture, Pacing::AfterArrival] {
            let options = Options { pacing, ..Options::default() };
            let outcome = run(&cluster, &workload, &placement, &options);
            let job = &outcome.jobs[0];
            assert_eq!(job.waiting, Seconds(0.0), "{slot_of:?}");
            assert!((job.longest_latency.0 - alone).abs() < 5e-12, "{slot_of:?} {alone}");
            assert!((job.mean_latency.0 - alone).abs() < 5e-12, "{slot_of:?} {alone}");
        }
    }
}

/// Waiting is that at the servers, however much of their way messages spend elsewhere.
#[test]
fn messages_through_far_devices_wait_at_servers_alone() {
    let cluster = with_a_far_package();
    let job = |text: &str| Pattern::parse(text).unwrap().job().unwrap();
    let texts = ["100,length=64kB,messages=10", "8000,length=64kB,messages=1000"];
    for text in texts.map(|text| format!("linear:4:rate={text}")) {
        let workload = Workload::single(job(&text));
        for strategy in ["blocked", "cyclic", "random:seed=3"] {
            let placement = placed(&cluster, &workload, strategy);
            let outcome = run(&cluster, &workload, &placement, &Options::default());
            let at_servers: f64 = outcome.servers.iter().map(|server| server.waiting.0).sum();
            let waiting = outcome.jobs[0].waiting.0;
            assert!((waiting - at_servers).abs() <= 1e-9 * at_servers, "{waiting} {at_servers}");
        }
    }
}
