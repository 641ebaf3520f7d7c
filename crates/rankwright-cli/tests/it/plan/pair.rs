//! `pair`: the check values of the paper's Table III, as users get them.

use std::fs;

use serde_json::Value;

use crate::command::{rankwright, repository};

const TABLE: &str = "papers/2009-mixed/table-3.csv";
const RUNTIMES: &str = "papers/2009-mixed/runtimes.csv";

fn output(arguments: &[&str]) -> String {
    let output = rankwright(&[&["pair"], arguments].concat()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty());
    String::from_utf8(output.stdout).unwrap()
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&output(&[arguments, &["--format", "json"]].concat())).unwrap()
}

#[test]
fn the_answer_stands_in_the_first_line() {
    insta::assert_snapshot!(output(&["--table", TABLE, "--runtimes", RUNTIMES]));
    insta::assert_snapshot!(output(&["--table", TABLE, "--format", "csv"]));
}

#[test]
fn every_objective_has_the_pairs_and_costs_of_the_paper() {
    for (objective, first, cost, baseline, mean) in [
        ("sum", ["BT", "SP"], 733.1, 800.0, 750.1),
        ("runtime", ["BT", "LU"], 677.5, 700.75, 684.9),
        ("worst", ["BT", "MG"], 388.2, 400.0, 396.3),
        ("weighted-speedup", ["BT", "SP"], 1.1076, 1.0, 1.0761),
    ] {
        let with = ["--table", TABLE, "--runtimes", RUNTIMES, "--objective", objective];
        let found = json(&with);
        assert_eq!(found["version"], 1);
        assert_eq!((&found["objective"], &found["answer"]), (&objective.into(), &"share".into()));
        assert_eq!(found["pairs"][0], serde_json::json!(first), "{objective}");
        assert_eq!(found["alone"], serde_json::json!([]));
        let near = |field: &str, expected: f64| {
            let value = found[field].as_f64().unwrap();
            assert!((value / expected - 1.0).abs() < 2e-4, "{objective} {field}: {value}");
        };
        near("cost", cost);
        near("baseline", baseline);
        near("random_mean", mean);
    }
}

#[test]
fn rules_and_pressures_come_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let never = file("never.toml", "never = [[\"CG\", \"EP\"]]\n");
    let found = json(&["--table", TABLE, "--jobs", &never]);
    let pairs = found["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), 4);
    assert!(!pairs.contains(&serde_json::json!(["CG", "EP"])));

    let job = |name: &str, half: f64, pressure: f64| {
        format!("[[job]]\nname = \"{name}\"\nhalf = {half:.1}\npressure = {pressure:.2}\n")
    };
    let jobs = [job("cg", 75.0, 0.8), job("ep", 100.0, 0.0), job("ft", 88.0, 0.4)].concat();
    let found = output(&["--jobs", &file("pressures.toml", &jobs)]);
    assert!(
        found.starts_with("Share: cg with ep, ft alone: run times on average 8.3 % shorter"),
        "{found}"
    );

    let heavy = [job("a", 75.0, 1.2), job("b", 75.0, 1.2)].concat();
    let found = output(&["--jobs", &file("heavy.toml", &heavy)]);
    assert!(found.starts_with("Do not share: each job is better alone"), "{found}");
    let light = [job("a", 99.9, 0.1), job("b", 99.9, 0.1)].concat();
    let found = output(&["--jobs", &file("light.toml", &light)]);
    assert!(
        found
            .starts_with("No difference: the best is a with b: run times on average 0.1 % shorter"),
        "{found}"
    );
    // A change that is printed as 0.0 has no direction.
    let same = |name: &str| format!("[[job]]\nname = \"{name}\"\nhalf = 100.001\npressure = 0.0\n");
    let same = file("same.toml", &[same("a"), same("b")].concat());
    let found = output(&["--jobs", &same]);
    assert!(found.contains("a with b: run times on average as long as alone\n"), "{found}");
    let none =
        "jobs would neither gain nor lose on average, and neither gain nor lose in the worst";
    assert!(found.contains(none), "{found}");
    let found = output(&["--jobs", &same, "--objective", "weighted-speedup"]);
    assert!(found.contains("a with b: as much work in the same time\n"), "{found}");
}

#[test]
fn a_queue_gets_a_proposal() {
    let proposal = |queue: &str| {
        let queue = format!("--queue=testdata/queues/{queue}");
        ["--jobs", "testdata/queues/pairing.toml", &queue].map(str::to_owned)
    };
    let text = |queue: &str| output(&proposal(queue).each_ref().map(String::as_str));
    insta::assert_snapshot!(text("squeue.txt"));
    // The shape of JSON is another in each version of Slurm; that of 24.11 is from its documentation.
    insta::assert_snapshot!(text("squeue-22.05.json"));
    assert!(text("squeue-24.11.json").starts_with(&text("squeue-22.05.json")));
    insta::assert_snapshot!(text("reasons.txt"));
    let ended =
        output(&["--jobs", "testdata/queues/pairing.toml", "--queue=testdata/queues/ended.txt"]);
    assert!(ended.starts_with("Nothing to start: no job waits\n"), "{ended}");
}

/// Sixteen ranks that exchange with all after every 10 ms, or without a pause.
fn exchange(rate: &str) -> String {
    format!("pattern:all-to-all:16:rate={rate},length=20kB,messages=20,in_step=true")
}

/// Four nodes of four cores in two packages, 100 MB/s each.
fn cluster(folder: &std::path::Path) -> String {
    let text = "name = \"four\"\nrates = \"typical\"\n[[node]]\nnames = \"n[0-7]\"\n\
                topology = \"pack:2 numa:1 core:2 pu:1\"\n[[node.nic]]\nname = \"eth0\"\n\
                bandwidth = \"100 MB/s\"\n";
    let path = folder.join("cluster.toml");
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn jobs_are_replayed_beside_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = cluster(folder.path());
    let (slow, fast) = (exchange("20"), exchange("1000000"));
    let placements = folder.path().join("placements").display().to_string();
    let arguments = ["pair", &slow, &fast, "--on", &cluster, "--placements", &placements];
    let output = rankwright(&[&arguments[..], &["--format", "json"]].concat()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let notes = found["notes"].to_string();
    assert!(notes.contains("replayed by clocks") && notes.contains("memory not considered"));
    let solo = found["solo"].as_array().unwrap();
    let number = |row: &Value, field: &str| row[field].as_f64().unwrap();
    assert_eq!((&solo[0]["nodes_full"], &solo[0]["nodes_half"]), (&4.into(), &8.into()));
    assert!(number(&solo[0], "communicating") < 0.7 && number(&solo[1], "communicating") > 0.99);
    // The one without a pause hinders the other more than the other way round.
    let beside = found["beside"].as_array().unwrap();
    assert_eq!(beside.len(), 2);
    for row in beside {
        let (replayed, first) = (number(row, "percent"), number(row, "first_order_percent"));
        assert!((replayed / first - 1.0).abs() < 0.2, "{row}");
    }
    assert_eq!(found["answer"], "share");
    // Both jobs are on all eight nodes, in packages of their own.
    let file = fs::read_to_string(folder.path().join("placements/group-1.json")).unwrap();
    let file: Value = serde_json::from_str(&file).unwrap();
    let jobs = file["jobs"].as_array().unwrap();
    assert_eq!((jobs.len(), file["nodes"].as_array().unwrap().len()), (2, 8));
    let cores = |job: usize| jobs[job]["ranks"][0]["cores"].clone();
    assert_eq!((cores(0), cores(1)), (serde_json::json!([0]), serde_json::json!([2])));
    let notes = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(notes.contains("--for slurm --launcher-args=--overlap"), "{notes}");
}

#[test]
fn memory_counts_where_jobs_share_one() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = cluster(folder.path());
    let one_memory = fs::read_to_string(&cluster).unwrap();
    let one_memory = one_memory.replace("pack:2 numa:1 core:2", "pack:1 numa:1 core:4");
    let shared = folder.path().join("one-memory.toml");
    fs::write(&shared, one_memory).unwrap();
    // Of the first job: its run time on whole nodes in seconds, and beside the other one in percent of that.
    let first = |cluster: &str, traffic: [&str; 2]| {
        let (a, b) = (exchange("20"), exchange("20"));
        let arguments = ["pair", &a, &b, "--on", cluster, "--format", "json", "--offsets", "1"];
        let of = |job: &str, traffic: &str| format!("--memory-traffic={job}={traffic}");
        let traffic = [of("all-to-all-16", traffic[0]), of("all-to-all-16-2", traffic[1])];
        let traffic = traffic.each_ref().map(String::as_str);
        let output = rankwright(&[&arguments[..], &traffic].concat()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        let beside = found["beside"].as_array().unwrap();
        let beside = beside.iter().find(|row| row["job"] == "all-to-all-16").unwrap();
        let number = |value: &Value| value.as_f64().unwrap();
        (number(&found["solo"][0]["full_s"]), number(&beside["percent"]))
    };
    let shared = shared.display().to_string();
    let little = first(&shared, ["1MB/s", "1MB/s"]);
    assert!(little.1 < 97.0, "{little:?}");
    // Recorded alone, ranks already waited for a memory of which they want too much: as many of the other job
    // beside it change nothing.
    let much = first(&shared, ["100GB/s", "100GB/s"]);
    assert!(little.0 == much.0 && (little.1 - much.1).abs() < 1e-6, "{little:?} {much:?}");
    // One that wants more than the ranks whose place it takes slows them, one that wants less does not.
    let (slowed, faster) =
        (first(&shared, ["100GB/s", "300GB/s"]), first(&shared, ["100GB/s", "1MB/s"]));
    assert!(slowed.0 == little.0 && faster.0 == little.0);
    assert!(slowed.1 > little.1 + 10.0 && faster.1 < little.1 - 5.0, "{slowed:?} {faster:?}");
    // On memories of their own jobs do not disturb each other.
    let own = first(&cluster, ["100GB/s", "300GB/s"]);
    let alone = first(&cluster, ["1MB/s", "1MB/s"]);
    assert!((own.1 - alone.1).abs() < 1e-6, "{own:?} {alone:?}");
}

#[test]
fn a_given_rate_above_the_bandwidth_is_noted() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = cluster(folder.path());
    let (a, b) = (exchange("1"), exchange("1"));
    let traffic = "--memory-traffic=all-to-all-16=100GB/s";
    let said = rankwright(&["pair", &a, &b, "--on", &cluster, "--offsets", "1", traffic]).output();
    let said = String::from_utf8(said.unwrap().stdout).unwrap();
    let note = "all-to-all-16 alone wants 200.0 GB/s of n0's NUMA node L#0 by the rate given, ";
    assert!(said.contains(note), "{said}");
    // On memories of their own.
    let nothing = "all-to-all-16 beside all-to-all-16-2: nothing is lost: alone all-to-all-16 already wants \
                   more than there is: memory bandwidth of n0's NUMA node L#0: 200.0 GB/s wanted, ";
    assert!(said.contains(nothing), "{said}");
}

/// What is known of memories, and what decides, from files of tools.
#[test]
fn memory_traffic_comes_from_recordings() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cluster.toml");
    let text = "name = \"four\"\n[rates]\nname = \"r\"\nbase = \"typical\"\n\
                memory_bandwidth = \"100 GB/s\"\n[[node]]\nnames = \"n[0-7]\"\n\
                topology = \"pack:1 numa:1 l3:1 core:4 pu:1\"\n";
    fs::write(&path, text).unwrap();
    let cluster = path.display().to_string();
    let recording =
        |name: &str| repository().join("testdata/memory-traffic").join(name).display().to_string();
    let (a, b) = (exchange("20"), exchange("20"));
    let arguments = ["pair", &a, &b, "--on", &cluster, "--format", "json", "--offsets", "1"];
    let run = |traffic: &[String]| -> Value {
        let traffic: Vec<&str> = traffic.iter().map(String::as_str).collect();
        let output = rankwright(&[&arguments[..], &traffic].concat()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let of = |job: &str, file: &str, ranks: u32| {
        format!("--memory-traffic={job}={}:ranks={ranks}", recording(file))
    };
    // 154.6 GB/s of 5 ranks, so that the four of a node want 124 of 100 GB/s: the description is wrong.
    let mem =
        [of("all-to-all-16", "likwid-mem.csv", 5), of("all-to-all-16-2", "likwid-mem.csv", 5)];
    let found = run(&mem);
    let rows = found["memory"].as_array().unwrap();
    assert_eq!(rows[0]["source"], "likwid-perfctr, group MEM");
    assert!((rows[1]["bytes_per_second"].as_f64().unwrap() / 30.9248e9 - 1.0).abs() < 1e-9);
    let notes = found["notes"].to_string();
    let too_low = "the bandwidth of n0's NUMA node L#0 is too low in the description of four: \
                   all-to-all-16-2 alone was recorded with 123.7 GB/s, 100 GB/s assumed there";
    assert!(notes.contains(too_low) && notes.contains("caches not considered"), "{notes}");
    let alone = run(&[]);
    let percent = |found: &Value, job: &str| {
        let rows = found["beside"].as_array().unwrap();
        rows.iter().find(|row| row["job"] == job).unwrap()["percent"].as_f64().unwrap()
    };
    let jobs = ["all-to-all-16", "all-to-all-16-2"];
    for job in jobs {
        assert!((percent(&found, job) - percent(&alone, job)).abs() < 1e-6, "{found}");
    }
    // 48 GB/s of 4 ranks and of 1: beside each other the first loses, and the second, four of which would want
    // 192 GB/s, gets more than alone. Ranks compute nearly all of the time.
    let uneven = [of(jobs[0], "perf-interval.csv", 4), of(jobs[1], "perf-interval.csv", 1)];
    let found = run(&uneven);
    let notes = found["notes"].to_string();
    assert!(notes.contains("NUMA node L#0: 120.1 GB/s wanted, 100 GB/s assumed there"), "{notes}");
    assert!(!notes.contains("is too low"), "{notes}");
    let more = jobs.map(|job| percent(&found, job) - percent(&alone, job));
    assert!((15.0..21.0).contains(&more[0]) && (-38.0..-30.0).contains(&more[1]), "{more:?}");
    // resctrl also says how much of the cache they occupy: 24 MiB of 1 rank, 4 ranks in 32 MiB.
    let caches = [of("all-to-all-16", "resctrl.txt", 1), of("all-to-all-16-2", "resctrl.txt", 1)];
    let found = run(&caches);
    let notes = found["notes"].to_string();
    assert!(notes.contains("the last-level cache is too small for both"), "{notes}");
    assert!(notes.contains("2025-11-25 09:00:00 UTC") && notes.contains("went back"), "{notes}");
    assert!(!notes.contains("caches not considered"), "{notes}");
    // Little traffic: it does not matter.
    let few = [of("all-to-all-16", "perf-cores.csv", 400), of("all-to-all-16-2", "pmrep.csv", 400)];
    let notes = run(&few)["notes"].to_string();
    assert!(notes.contains("at least, because cores do not count prefetches"), "{notes}");
    assert!(notes.contains("the network decides") || notes.contains("neither memory"), "{notes}");
}

#[test]
fn place_keeps_jobs_together_or_apart() {
    let folder = tempfile::tempdir().unwrap();
    let (cluster, output) = (cluster(folder.path()), folder.path().join("p.json"));
    let path = output.display().to_string();
    let (a, b) = (exchange("20"), exchange("30"));
    let place = |mode: &[&str]| {
        let arguments = ["place", &a, &b, "--on", &cluster, "-o", &path, "-q", "--effort", "fast"];
        rankwright(&[&arguments[..], mode].concat()).output().unwrap()
    };
    // By job: its nodes, and the cores that it has of the first of them.
    let placed = |mode: &[&str]| {
        let done = place(mode);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let file: Value = serde_json::from_str(&fs::read_to_string(&output).unwrap()).unwrap();
        let jobs = file["jobs"].as_array().unwrap().clone();
        let nodes = |job: &Value| {
            let ranks = job["ranks"].as_array().unwrap();
            let nodes: std::collections::BTreeSet<&str> =
                ranks.iter().map(|rank| rank["node"].as_str().unwrap()).collect();
            format!("{} from {}", nodes.len(), nodes.first().unwrap())
        };
        jobs.iter().map(nodes).collect::<Vec<_>>()
    };
    assert_eq!(placed(&["--share", "exclusive-full"]), ["4 from n0", "4 from n4"]);
    assert_eq!(placed(&["--share", "shared:apart"]), ["8 from n0", "8 from n0"]);
    let half = place(&["--share", "exclusive-half"]);
    assert_eq!(half.status.code(), Some(4), "{}", String::from_utf8_lossy(&half.stderr));
    assert!(String::from_utf8_lossy(&half.stderr).contains("the nodes are too few"));
    // Only the nodes to use need a socket for each job.
    let with_one = "[[node]]\nnames = \"s0\"\ntopology = \"pack:1 numa:1 core:4 pu:1\"\n";
    let text = fs::read_to_string(&cluster).unwrap() + with_one;
    fs::write(&cluster, text).unwrap();
    let refused = place(&["--share", "shared:apart"]);
    assert_eq!(refused.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("s0 of cluster `four` has 1 socket"));
    let named = ["--share", "shared:apart", "--nodes", "n[0-7]"];
    assert_eq!(placed(&named), ["8 from n0", "8 from n0"]);
    // Both are candidates where nothing is said.
    let done = place(&["--format", "json"]);
    let found: Value = serde_json::from_slice(&done.stdout).unwrap();
    let names = found["strategies"].to_string();
    assert!(names.contains("exclusive-full") && names.contains("shared"), "{names}");
}
