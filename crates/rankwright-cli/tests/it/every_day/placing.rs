//! `rankwright place`, `compare` and `map`.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use crate::command::{rankwright, repository, signal, transcript};

const FOUR_NODES: &str = "examples/clusters/four-nodes.toml";
const GRAPH: &str = "testdata/workloads/two-groups.graph";
const SCATTERED: &str = "pattern:halo-2d:16:renumber";

/// What is written to standard output and standard error.
fn run(arguments: &[&str]) -> (String, String) {
    let output = rankwright(arguments).output().expect("the program starts");
    assert!(output.status.success(), "{}", transcript(arguments, &output));
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (text(output.stdout), text(output.stderr))
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn compare_shows_all_strategies_and_why_one_wins() {
    let strategies = "blocked,cyclic,random,kway";
    let arguments = ["compare", SCATTERED, "--on", FOUR_NODES, "--strategies", strategies];
    insta::assert_snapshot!(run(&arguments).0);
    insta::assert_snapshot!(run(&[&arguments[..], &["--format", "csv"]].concat()).0);
    let comparison = json(&run(&[&arguments[..], &["--format", "json"]].concat()).0);
    assert_eq!(comparison["by"], "static");
    assert_eq!(comparison["best"], "kway");
    assert_eq!(comparison["strategies"].as_array().expect("a list").len(), 4);
}

#[test]
fn a_line_of_another_program_than_recorded_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("placement.json");
    let profile = "testdata/timeline/bursts.rwp";
    let on = ["--on", "testdata/timeline/cluster.toml", "-o", file.to_str().expect("UTF-8")];
    let told = |program: &str| {
        run(&[&["place", profile, "--effort", "fast"], &on[..], &["--", program]].concat()).1
    };
    let note = "note: the profile is of traffic; this line starts other: ";
    assert!(told("./other").contains(note), "{}", told("./other"));
    assert!(!told("./traffic").contains("the profile is of"));
}

/// METIS writes to standard output where it would leave some of several parts empty.
#[test]
fn few_ranks_on_many_numa_nodes_leave_standard_output_to_the_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("placement.json");
    let rest =
        ["--strategies", "blocked,kway", "--format", "json", "-o", file.to_str().expect("UTF-8")];
    for (pattern, node) in [
        ("pattern:halo-2d:20", "synthetic:node:16 pack:2 core:8 pu:1"),
        ("pattern:all-to-all:12", "synthetic:node:8 l3:2 core:8 pu:2"),
    ] {
        let (answer, _) = run(&[&["place", pattern, "--on", node], &rest[..]].concat());
        assert!(json(&answer).is_object(), "{answer}");
    }
}

/// As `place` has it.
#[test]
fn compare_takes_the_default_of_a_launcher() {
    let named = ["compare", SCATTERED, "--on", FOUR_NODES, "--strategies", "kway"];
    let by_slurm = run(&[&named[..], &["--for", "slurm", "--format", "json"]].concat()).0;
    let rows = json(&by_slurm)["strategies"].clone();
    let names: Vec<&str> =
        rows.as_array().expect("a list").iter().filter_map(|row| row["name"].as_str()).collect();
    assert_eq!(names, ["kway", "blocked:within=packages"], "{by_slurm}");
    assert_eq!(json(&by_slurm)["best"], "kway");
}

#[test]
fn compare_gives_the_same_for_any_number_of_threads() {
    let arguments = ["compare", SCATTERED, "--on", FOUR_NODES, "--format", "json"];
    let with =
        |threads| run(&[&arguments[..], &["--effort", "fast", "--threads", threads]].concat()).0;
    assert_eq!(with("1"), with("4"));
}

#[test]
fn strategies_have_options_of_their_own() {
    let list = "random:seed=3,random,blocked";
    let arguments = ["compare", SCATTERED, "--on", FOUR_NODES, "--strategies", list];
    let (text, _) = run(&[&arguments[..], &["--seed", "7", "--format", "csv"]].concat());
    let names: Vec<&str> = text.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    assert_eq!(names, ["random:seed=3", "random:seed=7", "blocked"]);
}

#[test]
fn rows_of_a_recorded_job_have_run_times() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("placement.json").display().to_string();
    let (profile, cluster) = ("testdata/timeline/bursts.rwp", "testdata/timeline/cluster.toml");
    let place = ["-q", "place", profile, "--on", cluster, "-o", &path, "--format"];
    let (csv, _) = run(&[&place[..], &["csv"]].concat());
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let of = |row: &[&str], name: &str| -> Option<f64> {
        row[rows[0].iter().position(|it| *it == name).expect("a column")].parse().ok()
    };
    let answer = json(&run(&[&place[..], &["json"]].concat()).0);
    let same = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-12 * a.abs(),
        (a, b) => a == b,
    };
    let strategies = answer["strategies"].as_array().expect("a list");
    assert_eq!(strategies.len(), rows.len() - 1);
    let default = "blocked:within=numa";
    for (row, strategy) in rows[1..].iter().zip(strategies) {
        let is_default = row[0] == default;
        for name in ["run_time_s", "gain", "gain_error"] {
            assert!(same(of(row, name), strategy[name].as_f64()), "{name}: {row:?}");
        }
        assert!(of(row, "run_time_s").is_some_and(|time| time > 0.2), "{row:?}");
        assert_eq!(of(row, "gain").is_none(), is_default, "{row:?}");
    }
    let shown = &answer["answer"]["rows"][0];
    let row = rows.iter().find(|row| row[0] == default).expect("the default");
    assert!(same(of(row, "run_time_s"), shown["run_time_s"].as_f64()));
    assert_eq!(shown["strategy"], default);
}

#[test]
fn place_writes_its_files_though_nobody_reads_the_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("placement.json");
    let arguments = ["-q", "place", "pattern:ring:4", "--on", FOUR_NODES, "-o"];
    let mut command = rankwright(&arguments);
    let mut place = command.arg(&path).stdout(Stdio::piped()).spawn().expect("it starts");
    drop(place.stdout.take());
    assert!(place.wait().expect("it ends").success());
    assert!(path.exists());
}

#[test]
fn place_writes_the_best_placement() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("placement.json").display().to_string();
    let jobs = ["place", "pattern:ring:4", "pattern:ring:4", "--on", FOUR_NODES, "-o", &path];
    let (text, notes) = run(&jobs);
    assert!(text.starts_with("No placement helps here: "), "{text}");
    assert!(text.contains("rates of the cluster are assumed"), "{text}");
    let (text, _) = run(&[&jobs[..], &["-v"]].concat());
    assert!(text.contains("static estimate, rates assumed"), "{text}");
    assert!(notes.contains("placement.json: placement by "), "{notes}");
    let placement = json(&fs::read_to_string(&path).unwrap());
    assert_eq!(placement["format"], 1);
    assert_eq!(placement["jobs"][0]["name"], "ring-4");
    assert_eq!(placement["jobs"][1]["name"], "ring-4-2");
    assert_eq!(placement["predicted"]["inter_node_bytes"], 0.0);
}

#[test]
fn place_compares_numbers_of_nodes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("placement.json").display().to_string();
    let arguments = [
        "place",
        "pattern:halo-2d:32:rate=50",
        "--on",
        "synthetic:pack:2 numa:1 core:8 pu:1",
        "--nodes",
        "1,2,4,8",
        "--memory-traffic",
        "10.25 GB/s",
        "--strategies",
        "blocked,cyclic,kway",
        "-o",
        &path,
    ];
    insta::assert_snapshot!(run(&arguments).0);
    let used = || {
        let placement = json(&fs::read_to_string(&path).unwrap());
        let ranks = placement["jobs"][0]["ranks"].as_array().expect("a list").clone();
        let nodes = ranks.iter().map(|rank| rank["node"].to_string());
        nodes.collect::<std::collections::BTreeSet<_>>().len()
    };
    assert_eq!(used(), 8);
    let cheap = [&arguments[..], &["--prefer", "node-hours", "--format", "csv"]].concat();
    insta::assert_snapshot!(run(&cheap).0);
    assert_eq!(used(), 4);
    let (text, _) = run(&[&arguments[..], &["--format", "json", "--threads", "3"]].concat());
    let report = json(&text);
    assert_eq!(report["version"], 1);
    assert_eq!((&report["by"], &report["best"]), (&"fluid".into(), &8.into()));
    assert_eq!(report["populations"][0]["nodes"], 1);
    assert!(report["populations"][0]["time_s"].is_null());
}

#[test]
fn a_range_and_a_number_of_nodes_are_not_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("placement.json").display().to_string();
    let start =
        ["place", "pattern:ring:4", "--on", "synthetic:core:2 pu:1", "-o", &path, "--nodes"];
    let with = |nodes| run(&[&start[..], &[nodes]].concat()).0;
    assert!(with("2").starts_with("No placement helps here: "));
    let range = with("2..3");
    assert!(range.starts_with("All take nearly the same time; 2 nodes cost"), "{range}");
    assert!(range.contains("\n\nnodes  ranks/node  strategy"), "{range}");
    assert!(range.contains("--memory-traffic"), "{range}");
    // Clusters that name their nodes have enough of them.
    let named = ["place", "pattern:ring:4", "--on", FOUR_NODES, "-o", &path, "--nodes", "1..4"];
    assert!(run(&named).0.contains("fastest"));
}

#[test]
fn place_says_whose_node_mates_change_and_keeps_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("placement.json").display().to_string();
    let arguments = ["place", SCATTERED, "--on", FOUR_NODES, "-o", &path, "--format", "json"];
    let (text, _) = run(&arguments);
    assert!(text.contains("of 16 ranks have other node neighbours than by default"), "{text}");
    let changed = |text: &str| json(text)["permutation"]["changed_node_groups_ranks"].clone();
    assert_ne!(changed(&text), 0);
    for keep in ["--keep-node-groups", "--keep-node-groups=block"] {
        let (text, _) = run(&[&arguments[..], &[keep]].concat());
        assert_eq!(changed(&text), 0);
        assert!(!text.contains("other node neighbours"), "{text}");
    }
}

#[test]
fn place_prices_collectives_against_block_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("placement.json").display().to_string();
    let arguments =
        ["place", "nas:mg.S.16", "--on", FOUR_NODES, "--strategies", "random", "-o", &path];
    let (text, _) = run(&arguments);
    let sentence = text.lines().find(|line| line.contains("Collectives")).expect("a sentence");
    insta::assert_snapshot!(sentence);
    let (text, _) = run(&[&arguments[..], &["--format", "json"]].concat());
    let collectives = &json(&text)["permutation"]["collectives"];
    let bytes = |order: &str| collectives[order]["inter_node_bytes"].as_u64().unwrap();
    assert!(bytes("placed") > bytes("in_block_order"), "{collectives}");
}

#[test]
fn place_writes_nothing_where_the_launcher_cannot_do_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("placement.json").display().to_string();
    // The numbers of ranks are open; no rank is left for the second program.
    for (first, code) in [(&["./app"][..], 2), (&["-n", "4", "./app"], 4)] {
        let start = ["place", "pattern:ring:4", "--on", FOUR_NODES, "-o", &path, "--"];
        let arguments = [&start, first, &[":", "./other"]].concat();
        let output = rankwright(&arguments).output().expect("the program starts");
        assert_eq!(output.status.code(), Some(code), "{}", transcript(&arguments, &output));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn map_writes_one_placement_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.json").display().to_string();
    let arguments = ["map", "pattern:ring:6", "--on", FOUR_NODES, "--strategy", "cyclic"];
    insta::assert_snapshot!(run(&arguments).0);
    let (list, _) = run(&[&arguments[..], &["--format", "list"]].concat());
    assert_eq!(list, "0\n4\n8\n12\n1\n5\n");
    let (csv, _) = run(&[&arguments[..], &["--format", "csv"]].concat());
    assert!(csv.starts_with("job,rank,node,cores,pus,numa\nring-6,0,node0,0,0,0\n"), "{csv}");
    let (printed, _) = run(&[&arguments[..], &["--format", "json"]].concat());
    run(&[&arguments[..], &["-o", &path]].concat());
    assert_eq!(fs::read_to_string(&path).unwrap(), printed);
    // What the digests are does not matter here.
    insta::with_settings!({filters => vec![(r"sha256:[0-9a-f]{64}", "sha256:DIGEST")]}, {
        insta::assert_snapshot!(printed);
    });
}

#[test]
fn several_cores_or_one_pu_per_rank() {
    let place = |size: [&str; 2]| {
        let arguments = ["map", "pattern:ring:2", "--on", FOUR_NODES, "--strategy", "blocked"];
        json(&run(&[&arguments[..], &size, &["--format", "json"]].concat()).0)
    };
    let wide = place(["--cores-per-rank", "3"]);
    assert_eq!(wide["jobs"][0]["ranks"][1]["node"], "node1");
    assert_eq!(wide["jobs"][0]["ranks"][1]["pus"], serde_json::json!([0, 1, 2]));
    assert_eq!(place(["--per", "pu"])["jobs"][0]["ranks"][1]["pus"], serde_json::json!([1]));
}

#[test]
fn a_bare_graph_becomes_a_list_of_cores() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out").display().to_string();
    let map = |strategy: &str, more: &[&str]| {
        let fixed = ["map", "--graph", GRAPH, "--hierarchy", "2:2:2", "--distances", "1:10:100"];
        let strategy = ["--strategy", strategy, "--format", "list", "-o", &path];
        let (_, notes) = run(&[&fixed[..], &strategy, more].concat());
        (fs::read_to_string(&path).unwrap(), notes)
    };
    let (list, notes) = map("blocked", &[]);
    assert_eq!(list, "0\n1\n2\n3\n4\n5\n6\n7\n");
    // Per group: 0-2 and 4-6 at 10, the other four pairs at 100; and the weak edge at 1.
    assert_eq!(notes, "J = 8401\n");
    // Each group in a half: 2 pairs at 1, 4 pairs at 10; the weak edge at 100.
    let strategies: &[&str] =
        if rankwright_has_drb() { &["drb", "kway", "treematch"] } else { &["kway", "treematch"] };
    for strategy in strategies {
        assert_eq!(map(strategy, &["--seed", "1", "--threads", "2"]).1, "J = 940\n", "{strategy}");
    }
    assert_eq!(map("kway", &["--quiet"]).1, "");
}

#[test]
fn a_search_without_time_answers_with_its_beginning() {
    let help = run(&["map", "--help"]).0;
    let (_, table) = help.split_once("Strategies, written as").expect("the table of strategies");
    // Names have a column of their own; long lines go on in the next one, which has none.
    let columns = table.lines().skip(1).filter_map(|line| line.strip_prefix("  ")?.get(..25));
    let is_name = |text: &&str| !text.starts_with('[') && !text.contains(' ');
    let names: Vec<&str> = columns.map(str::trim_end).filter(is_name).collect();
    assert!(names.contains(&"treematch"), "{names:?}");
    for name in names {
        let fixed = ["map", "--graph", GRAPH, "--hierarchy", "2:2:2", "--distances", "1:10:100"];
        let (list, _) = run(&[&fixed[..], &["--strategy", name, "--time", "0s", "-q"]].concat());
        let mut cores: Vec<u32> = list.lines().map(|line| line.parse().unwrap()).collect();
        cores.sort_unstable();
        assert_eq!(cores, [0, 1, 2, 3, 4, 5, 6, 7], "{name}");
    }
}

#[test]
fn a_recorded_run_is_replayed_within_a_time_limit() {
    let workload =
        ["compare", "testdata/timeline/bursts.rwp", "--on", "testdata/timeline/cluster.toml"];
    let how = ["--strategies", "blocked,cyclic", "--time", "1 min", "--format", "json"];
    let found = json(&run(&[&workload[..], &how].concat()).0);
    assert_eq!(found["by"], "replay", "{found:#}");
}

fn rankwright_has_drb() -> bool {
    run(&["map", "--help"]).0.contains("drb ")
}

#[test]
fn vertices_share_cores_where_that_is_wanted() {
    let arguments = ["map", "--graph", GRAPH, "--hierarchy", "2", "--distances", "1"];
    let more = ["--strategy", "kway", "--imbalance", "0.1", "--quiet"];
    let (list, _) = run(&[&arguments[..], &more].concat());
    let cores: Vec<&str> = list.lines().collect();
    let even: Vec<&str> = cores.iter().copied().step_by(2).collect();
    let odd: Vec<&str> = cores.iter().copied().skip(1).step_by(2).collect();
    assert!(even.iter().all(|core| *core == even[0]), "{list}");
    assert!(odd.iter().all(|core| *core == odd[0] && *core != even[0]), "{list}");
}

#[test]
fn a_search_ends_by_sigterm_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.json");
    let out = out.to_str().expect("it is UTF-8");
    let cluster = ["--on", "synthetic:core:16 pu:1", "--nodes", "1024", "--strategy", "kway"];
    let arguments = [&["map", "pattern:halo-2d:16384", "-o", out][..], &cluster].concat();
    for milliseconds in [100, 300, 900] {
        let mut search = rankwright(&arguments).stderr(Stdio::null()).spawn().expect("it starts");
        thread::sleep(Duration::from_millis(milliseconds));
        signal("TERM", search.id().into());
        let status = search.wait().unwrap();
        // A fast machine may have been done before.
        assert!(status.signal() == Some(15) || status.success(), "{status}");
        if !status.success() {
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        }
    }
}

/// Two jobs with rates that keep the network devices of four nodes busy.
const WITH_RATES: [&str; 2] = [
    "pattern:halo-2d:8:renumber,rate=200,length=64kB,messages=40",
    "pattern:all-to-all:8:rate=100,length=64kB,messages=40",
];

#[test]
fn place_simulates_where_jobs_say_when_they_send() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("placement.json").display().to_string();
    let list = "blocked,cyclic,random,kway";
    let options = ["--strategies", list, "-o", &path, "--quiet", "--for", "openmpi5"];
    let place = [&["place", "--on", FOUR_NODES][..], &options].concat();
    let place = [&place[..], &WITH_RATES].concat();
    insta::assert_snapshot!(run(&place).0);
    insta::assert_snapshot!(run(&[&place[..], &["--format", "csv"]].concat()).0);
    let comparison = json(&run(&[&place[..], &["--format", "json", "--threads", "3"]].concat()).0);
    assert_eq!(comparison["by"], "simulation");
    assert_eq!(comparison["objective"], "balanced");
    let best = comparison["best"].as_str().expect("a name");
    let written = json(&fs::read_to_string(&path).unwrap());
    assert_eq!(written["strategy"], best);
    // The same choice under another name.
    let workload = WITH_RATES.join(",");
    let arguments =
        ["map", &workload, "--on", FOUR_NODES, "--strategy", "auto", "--format", "json"];
    let (auto, notes) = run(&arguments);
    assert_eq!(json(&auto)["strategy"], "auto");
    assert!(notes.contains("auto: the answer of "), "{notes}");
}

#[test]
fn an_objective_a_loop_and_an_effort_change_what_is_judged() {
    let by = |more: &[&str]| {
        let place =
            ["place", "--on", FOUR_NODES, "--strategies", "blocked,cyclic", "-o", "/dev/null"];
        let format = ["--format", "json"];
        let text = run(&[&place[..], &WITH_RATES, &format, more].concat()).0;
        let comparison = json(&text);
        let text = |field: &str| comparison[field].as_str().unwrap_or("none").to_owned();
        (text("by"), text("objective"))
    };
    let pair = |by: &str, objective: &str| (by.to_owned(), objective.to_owned());
    assert_eq!(by(&["--objective", "finish"]), pair("simulation", "finish"));
    assert_eq!(by(&["--effort", "fast"]), pair("model", "balanced"));
    assert_eq!(by(&["--effort", "fast", "--loop", "arrival"]), pair("static", "none"));
    assert_eq!(by(&["--time", "0s"]), pair("static", "none"));
    assert_eq!(by(&["--time", "600s", "--loop", "arrival"]), pair("simulation", "balanced"));
}

#[test]
fn auto_has_its_row_where_it_is_named() {
    let workload = WITH_RATES.join(",");
    let list = "blocked,auto";
    let arguments = ["compare", &workload, "--on", FOUR_NODES, "--strategies", list];
    for by in [["--by", "static"], ["--by", "model"], ["--by", "simulation"]] {
        let (text, _) = run(&[&arguments[..], &by, &["--format", "csv"]].concat());
        assert!(text.contains("\nauto,"), "{text}");
        assert!(text.starts_with("strategy,best,default,"), "{text}");
        let default = |line: &&str| line.split(',').nth(2) == Some("true");
        let defaults: Vec<&str> = text.lines().filter(default).collect();
        assert!(defaults.len() == 1 && defaults[0].starts_with("blocked,"), "{text}");
    }
    let map = ["map", "--graph", GRAPH, "--hierarchy", "2:2:2", "--distances", "1:10:100"];
    let (_, notes) = run(&[&map[..], &["--strategy", "auto"]].concat());
    assert!(notes.starts_with("J = 940\n"), "{notes}");
    let simulate = ["simulate", &workload, "--on", FOUR_NODES, "--strategy", "auto", "--quiet"];
    assert!(run(&simulate).0.starts_with("auto"));
}

#[test]
fn wrong_objectives_and_options_without_use_are_errors() {
    let refused = |arguments: &[&str], expected: &str| {
        let output = rankwright(arguments).output().expect("the program starts");
        assert_eq!(output.status.code(), Some(2), "{}", transcript(arguments, &output));
        let text = String::from_utf8(output.stderr).expect("text");
        assert!(text.contains(expected), "{text}");
    };
    let map = ["map", "pattern:ring:4", "--on", FOUR_NODES, "--strategy"];
    let expected = "--objective: found `least`, expected `waiting` or `finish` or `balanced`";
    refused(&[&map[..], &["blocked", "--objective", "least"]].concat(), expected);
    refused(&[&map[..], &["auto:effort=most"]].concat(), "auto: effort: found `most`");
    refused(
        &[&map[..], &["kway", "--loop", "open"]].concat(),
        "--loop has no effect with --strategy kway",
    );
}

#[test]
fn that_all_ranks_fit_on_one_node_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = repository().join("examples/clusters/four-nodes.toml");
    let place = ["place", "pattern:ring:4", "--on", cluster.to_str().unwrap()];
    let output = rankwright(&place).current_dir(folder.path()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let told = "better than the launcher's default, which has all 4 ranks on one node.\n";
    assert!(text.contains(told), "{text}");
    // Two jobs of one program: what follows names both, and the way to give programs.
    let both = [&place[..], &["pattern:ring:4", "-o", "both.json"]].concat();
    let output = rankwright(&both).current_dir(folder.path()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("rankwright launch both.json --job NAME --for "), "{text}");
    assert!(text.contains("./ring-4\n") && !text.contains("./ring-4-2"), "{text}");
}

#[test]
fn inputs_and_programs_are_not_replaced_by_results() {
    let folder = tempfile::tempdir().expect("a folder");
    for (from, to) in [(FOUR_NODES, "c.toml"), (GRAPH, "w.graph"), ("README.md", "app")] {
        fs::copy(repository().join(from), folder.path().join(to)).expect("a copy");
    }
    for (command, output) in [("place", "c.toml"), ("place", "./app"), ("compare", "w.graph")] {
        let before = fs::read(folder.path().join(output)).expect("a file");
        let arguments = [command, "w.graph", "--on", "c.toml", "-o", output];
        let program: &[&str] = if command == "place" { &["--", "./app"] } else { &[] };
        let arguments = [&arguments[..], program].concat();
        let output_of = rankwright(&arguments).current_dir(folder.path()).output();
        let told = transcript(&arguments, &output_of.expect("the program starts"));
        assert!(told.contains("this command reads that file or starts it"), "{told}");
        assert!(told.contains("exit code: 2"), "{told}");
        assert_eq!(fs::read(folder.path().join(output)).expect("a file"), before);
    }
}

/// `salloc -m cyclic` sets the variable, and `srun` obeys it.
#[test]
fn variables_of_the_launcher_change_its_default() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = folder.path().join("placement.json");
    let told = |value: &str| {
        let mut command = rankwright(&["place", SCATTERED, "--on", FOUR_NODES, "--for", "slurm"]);
        command.arg("-o").arg(&output).env("SLURM_DISTRIBUTION", value);
        let output = command.output().expect("the program starts");
        assert!(output.status.success());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&output.stdout), text(&output.stderr))
    };
    assert!(told("cyclic").0.contains("default of slurm: cyclic"), "{:?}", told("cyclic"));
    let plane = told("plane=2").1;
    assert!(plane.contains("SLURM_DISTRIBUTION=plane=2 changes the default of slurm"), "{plane}");
}

/// The script binds by whole nodes, so it needs them, and these.
#[test]
fn outside_of_a_job_the_line_that_submits_the_script_is_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = folder.path().join("placement.json");
    let told = |workloads: &[&str], more: &[(&str, &str)]| {
        let place = [&["place"], workloads, &["--on", FOUR_NODES, "--for", "slurm"]].concat();
        let mut command = rankwright(&place);
        command.arg("-o").arg(&output).envs(more.iter().copied());
        let output = command.output().expect("the program starts");
        assert!(output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let script = folder.path().join("placement.launch/launch.sh").display().to_string();
    let alone = told(&[SCATTERED], &[]);
    assert!(alone.contains("whole nodes: sbatch --exclusive --nodelist="), "{alone}");
    assert!(alone.contains(&script), "{alone}");
    let job =
        [("SLURM_JOB_ID", "7"), ("SLURM_JOB_NODELIST", "other"), ("SLURM_JOB_CPUS_PER_NODE", "4")];
    assert!(!told(&[SCATTERED], &job).contains("sbatch"));
    assert!(!told(&["pattern:ring:4", "pattern:ring:4"], &[]).contains("sbatch"));
}
