//! `--ranks-per-node` and its like, and `--nodes`, in all commands that place.

use std::collections::BTreeMap;
use std::process::Output;

use crate::command::{rankwright, transcript};

const CLUSTER: &str = "testdata/clusters/two-kinds.toml";
const WITH_GPUS: &str = "testdata/nics/four-numa.toml";

fn run(arguments: &[&str]) -> (Output, String) {
    let output = rankwright(arguments).output().expect("it starts");
    let text = transcript(arguments, &output);
    (output, text)
}

/// `map` of 16 ranks in block order.
fn map(more: &[&str]) -> Vec<String> {
    let ranks = ["map", "pattern:halo-2d:16", "--strategy", "blocked", "--format", "csv"];
    [&ranks[..], more].concat().into_iter().map(str::to_owned).collect()
}

/// Node and cores of each rank in block order: `n0:0-3`.
fn places(more: &[&str]) -> Vec<String> {
    places_by("blocked", more)
}

fn places_by(strategy: &str, more: &[&str]) -> Vec<String> {
    let mut arguments = map(more);
    let blocked = arguments.iter_mut().find(|it| *it == "blocked").expect("a strategy");
    strategy.clone_into(blocked);
    let (output, text) = run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(output.status.success(), "{text}");
    let rows = String::from_utf8(output.stdout).expect("text");
    let place = |row: &str| {
        let cells: Vec<&str> = row.split(',').collect();
        format!("{}:{}", cells[2], cells[3])
    };
    rows.lines().skip(1).map(place).collect()
}

#[test]
fn ranks_per_part_of_a_node_share_its_cores() {
    let on = |more: &[&str]| places(&[&["--on", CLUSTER], more].concat());
    let per_node = on(&["--ranks-per-node", "4"]);
    assert_eq!(per_node[..5], ["n3:0-3", "n3:4-7", "n3:8-11", "n3:12-15", "n4:0-3"]);
    assert_eq!(on(&["--ranks-per-package", "2"]), per_node);
    assert_eq!(on(&["--ranks-per-numa", "2"]), per_node);
    let three = on(&["--ranks-per-numa", "2", "--cores-per-rank", "3"]);
    assert_eq!(three[..3], ["n3:0-2", "n3:4-6", "n3:8-10"]);
    let threads = on(&["--ranks-per-numa", "16", "--per", "pu"]);
    assert_eq!((threads[0].as_str(), threads[15].as_str()), ("n0:0", "n0:7"));
}

#[test]
fn strategies_that_spread_fill_the_nodes_as_well() {
    for strategy in ["cyclic", "random", "mapping-2012", "mapping-2013", "contention"] {
        let mut count = BTreeMap::new();
        for place in places_by(strategy, &["--on", CLUSTER, "--ranks-per-node", "4"]) {
            *count.entry(place[..2].to_owned()).or_insert(0) += 1;
        }
        assert_eq!(count.into_values().collect::<Vec<_>>(), [4; 4], "{strategy}");
    }
}

#[test]
fn at_most_some_nodes_or_named_ones_are_used() {
    let nodes = |more: &[&str]| {
        let per_node = ["--on", CLUSTER, "--ranks-per-node", "4"];
        let mut nodes = places(&[&per_node[..], more].concat());
        nodes.iter_mut().for_each(|place| place.truncate(2));
        nodes.dedup();
        nodes.join(" ")
    };
    // Below one switch.
    assert_eq!(nodes(&["--nodes", "4"]), "n3 n4 n5 n6");
    assert_eq!(nodes(&["--nodes", "n7,n[0-2]"]), "n7 n0 n1 n2");
    // An hwloc description of one node stands for as many as are named.
    let synthetic = ["--on", "synthetic:core:8 pu:1", "--nodes", "tx2[0-3],a", "--ranks-per-node"];
    let places = places(&[&synthetic[..], &["4"]].concat());
    assert_eq!((places[0].as_str(), places[15].as_str()), ("tx20:0-1", "tx23:6-7"));
}

#[test]
fn a_part_of_a_cluster_is_no_other_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.json").display().to_string();
    let on = ["--on", CLUSTER, "--nodes", "4", "--output", &path];
    let arguments = map(&on);
    let arguments: Vec<&str> =
        arguments.iter().map(|it| if it == "csv" { "json" } else { it.as_str() }).collect();
    let (output, text) = run(&arguments);
    assert!(output.status.success(), "{text}");
    let simulate = ["simulate", "pattern:halo-2d:16:rate=100", "--on", CLUSTER];
    let (output, text) = run(&[&simulate[..], &["--placement", &path]].concat());
    assert!(output.status.success(), "{text}");
    assert!(!text.contains("cluster description"), "{text}");
}

#[test]
fn ranks_per_gpu_show_cores_gpus_and_devices() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.json").display().to_string();
    let arguments =
        ["-q", "place", "pattern:ring:16", "--on", WITH_GPUS, "--ranks-per-gpu", "1", "-o", &path];
    let (output, text) = run(&[&arguments[..], &["--strategies", "blocked"]].concat());
    assert!(output.status.success(), "{text}");
    let shown = String::from_utf8(output.stdout).unwrap();
    let table = shown.find("node  rank").map(|begin| &shown[begin..]).expect("a table");
    insta::assert_snapshot!(table);
}

#[test]
fn ranks_with_several_gpus_are_beside_one_of_them() {
    let machine = "testdata/machines/slingshot-4numa.xml";
    let place = ["place", "pattern:ring:16", "--on", machine, "--nodes", "8", "-o", "/dev/null"];
    let place = [&place[..], &["--strategies", "blocked", "--ranks-per-gpu", "1/2"]].concat();
    let (output, text) = run(&place);
    assert!(output.status.success() && text.contains("rsmi2+rsmi3"), "{text}");
    assert!(!text.contains("not beside"), "{text}");
    let (output, text) = run(&[&place[..], &["--gpus", "one-per-rank"]].concat());
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("would see one of its 2 GPUs (--ranks-per-gpu 1/2)"), "{text}");
}

#[test]
fn a_placement_of_several_equal_nodes_needs_their_number_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.json").display().to_string();
    let on = ["--on", "synthetic:pack:2 core:4 pu:1"];
    let workload = "pattern:ring:16:rate=10";
    let map = ["map", workload, "--strategy", "blocked", "--nodes", "2", "-o", &path];
    let (output, text) = run(&[&map[..], &on].concat());
    assert!(output.status.success(), "{text}");
    let page = folder.path().join("r.html").display().to_string();
    let run_of = "testdata/timeline/bursts.rwp";
    let four = folder.path().join("q.json").display().to_string();
    let map = ["map", run_of, "--strategy", "cyclic", "--nodes", "2", "-o", &four];
    let (output, text) = run(&[&map[..], &on].concat());
    assert!(output.status.success(), "{text}");
    for command in [
        &["report", &path, "--profile", workload, "-o", &page][..],
        &["nic", &path],
        &["simulate", workload, "--placement", &path],
        &["timeline", "show", run_of, "--placement", &four],
    ] {
        let (output, text) = run(&[command, &on].concat());
        assert_eq!(output.status.code(), Some(4), "{text}");
        let says = "repeat `--nodes N` with the number of nodes that it was placed on (it uses 2)";
        assert!(text.contains(says), "{text}");
        let (output, text) = run(&[command, &on, &["--nodes", "2"]].concat());
        assert!(output.status.success(), "{text}");
    }
    // Enough nodes, but not as many.
    let simulate = ["simulate", workload, "--placement", &path, "--nodes", "3"];
    let (output, text) = run(&[&simulate[..], &on].concat());
    assert!(output.status.success() && text.contains("repeat `--nodes N`"), "{text}");
}

#[test]
fn every_command_that_places_takes_them() {
    let on = ["--on", CLUSTER, "--ranks-per-node", "4", "--nodes", "4"];
    let workload = "pattern:halo-2d:16:rate=100";
    for (command, more) in [
        ("place", &["--strategies", "blocked", "-o", "/dev/null"][..]),
        ("compare", &["--strategies", "blocked,cyclic"]),
        ("simulate", &["--strategy", "blocked"]),
    ] {
        let (output, text) = run(&[&[command, workload], &on[..], more].concat());
        assert!(output.status.success(), "{text}");
    }
    let ring = ["nic", "pattern:ring:16", "--on", WITH_GPUS, "--ranks-per-gpu", "1"];
    let (output, text) = run(&ring);
    assert!(output.status.success(), "{text}");
}

#[test]
fn in_a_batch_job_only_granted_nodes_are_used() {
    let in_job = |hosts: &str, more: &[&str]| {
        let arguments = map(&[&["--on", CLUSTER, "--ranks-per-node", "4"], more].concat());
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut command = rankwright(&arguments);
        command.env("SLURM_JOB_ID", "7").env("SLURM_JOB_NODELIST", hosts);
        command.env("SLURM_JOB_CPUS_PER_NODE", "32(x4)");
        let output = command.output().expect("it starts");
        transcript(&arguments, &output)
    };
    let text = in_job("n[4-7]", &["--nodes", "6"]);
    assert!(text.contains("n4,0-3") && text.contains("n7,0-3") && !text.contains("n3"), "{text}");
    // A job elsewhere says nothing about this cluster.
    let text = in_job("x[4-7]", &["--nodes", "4"]);
    assert!(text.contains("exit code: 0"), "{text}");
}

#[test]
fn programs_have_cores_and_nodes_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.json").display().to_string();
    let line =
        ["--", "-n", "3", "--cores-per-rank", "1", "./a", ":", "--cores-per-rank", "4", "./b"];
    let placed = |more: &[&str], strategy: &str| {
        let place = ["-q", "place", "pattern:ring:5", "--on", CLUSTER, "-o", &path];
        let (output, text) = run(&[&place[..], &["--strategies", strategy], more, &line].concat());
        assert!(output.status.success(), "{text}");
        let file = std::fs::read_to_string(&path).unwrap();
        let file: serde_json::Value = serde_json::from_str(&file).unwrap();
        let ranks = file["jobs"][0]["ranks"].as_array().unwrap().clone();
        let place = |rank: &serde_json::Value| {
            let cores = rank["cores"].as_array().unwrap();
            format!("{}:{}x{}", rank["node"].as_str().unwrap(), cores[0], cores.len())
        };
        ranks.iter().map(place).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(placed(&[], "blocked"), "n0:8x1 n0:9x1 n0:10x1 n0:0x4 n0:4x4");
    assert_eq!(placed(&["--own-nodes"], "blocked"), "n0:0x1 n0:1x1 n0:2x1 n1:0x4 n1:4x4");
    for strategy in ["kway", "multisection", "random", "contention"] {
        let places = placed(&["--own-nodes"], strategy);
        let (of_a, of_b) = places.split_at(places.find("n1").expect("the second program"));
        assert_eq!((of_a.matches("x1").count(), of_b.matches("x4").count()), (3, 2), "{places}");
        assert!(!of_b.contains("n0"), "{places}");
    }
    let place =
        ["place", "pattern:ring:5", "--on", CLUSTER, "-o", &path, "--strategies", "blocked"];
    let (_, text) = run(&[&place[..], &line].concat());
    assert!(text.contains("3-4 (4 cores), 0-2 (1 core)"), "{text}");
    // The same programs start it, others do not.
    let launch = ["launch", &path, "--for", "mpich", "-o", folder.path().to_str().unwrap()];
    let (output, text) = run(&[&launch[..], &line].concat());
    assert!(output.status.success(), "{text}");
    let other = ["--", "-n", "3", "./a", ":", "--cores-per-rank", "2", "./b"];
    let (output, text) = run(&[&launch[..], &other].concat());
    assert_eq!(output.status.code(), Some(4), "{text}");
    assert!(
        text.contains("error: rank 3 of `./b` is placed on 4 cores, the line says 2"),
        "{text}"
    );
}
