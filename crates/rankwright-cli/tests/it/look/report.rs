//! `rankwright report`, and `--report` of other commands.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::command::{rankwright, transcript};

const CLUSTER: &str = "examples/clusters/four-nodes.toml";

fn run(arguments: &[&str]) -> String {
    let output = rankwright(arguments).output().expect("the program starts");
    assert!(output.status.success(), "{}", transcript(arguments, &output));
    String::from_utf8(output.stdout).expect("text")
}

/// The data of a report of a workload.
fn data(arguments: &[&str]) -> Value {
    let arguments = [&["-q", "report", "--format", "json"], arguments].concat();
    serde_json::from_str(&run(&arguments)).expect("JSON")
}

fn names<'a>(list: &'a Value, key: &str) -> Vec<&'a str> {
    list.as_array().expect("a list").iter().filter_map(|entry| entry[key].as_str()).collect()
}

/// The exit code and standard error of a command that fails.
fn failure(arguments: &[&str]) -> (Option<i32>, String) {
    let output = rankwright(arguments).output().expect("the program starts");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_report_has_the_verdict_of_place_and_what_to_type() {
    let workload = "pattern:halo-2d:16:rate=100,messages=50";
    let report = data(&[workload, "--on", CLUSTER, "--for", "openmpi4", "--", "./app", "a b"]);
    assert_eq!((&report["version"], &report["kind"]), (&1.into(), &"workload".into()));
    let answer =
        run(&["-q", "place", workload, "--on", CLUSTER, "--for", "openmpi4", "-o", "/dev/null"]);
    assert_eq!(answer.lines().next(), report["verdict"]["text"].as_str());
    let commands = names(&report["commands"], "text");
    assert!(commands[0].starts_with("rankwright place pattern"), "{commands:?}");
    assert!(commands[0].ends_with("--for openmpi4 -- ./app 'a b'"), "{commands:?}");
    assert!(commands.iter().any(|text| text.contains("-rf placement.launch/")), "{commands:?}");
    assert_eq!(report["traffic"]["ranks"], 16);
    assert_eq!(report["placements"][0]["role"], "default");
    assert_eq!(report["placements"][0]["node"]["length"], 16);
    let rows = report["strategies"]["rows"].as_array().expect("a list");
    let best = rows.iter().find(|row| row["role"] == "best").expect("there is one");
    assert_eq!(best["name"], report["strategies"]["best"]);
    assert!(names(&report["findings"], "code").contains(&"rates-assumed"));
    let missing = names(&report["missing"], "section");
    assert!(missing.contains(&"timeline"));
    // The finding has said that rates are to be measured.
    assert!(!missing.contains(&"machine"));
}

#[test]
fn slurm_gets_a_script_for_sbatch() {
    let workload = "pattern:halo-2d:16";
    let script = |launcher: &str| {
        let report = data(&[workload, "--on", CLUSTER, "--for", launcher, "--", "./app", "a b"]);
        let commands = report["commands"].as_array().expect("a list").clone();
        let found = commands.into_iter().find(|command| command["file"] == "job.sh");
        found.map(|command| command["text"].as_str().expect("a text").to_owned())
    };
    let expected = "#!/bin/sh\n#SBATCH --nodes=4\n#SBATCH --ntasks=16\n#SBATCH --nodelist=node[0-3]\n\
                    #SBATCH --exclusive\nrankwright run placement.json -- ./app 'a b'\n";
    assert_eq!(script("slurm").as_deref(), Some(expected));
    assert_eq!(script("openmpi4"), None);
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let report = |threads| {
        let mut report = data(&[
            "pattern:halo-2d:16:rate=100,messages=50",
            "--on",
            CLUSTER,
            "--strategies",
            "blocked,kway,cyclic",
            "--threads",
            threads,
        ]);
        let facts = report["facts"].as_array_mut().expect("a list");
        facts.retain(|fact| fact["name"] != "command");
        let commands = report["commands"].as_array_mut().expect("a list");
        commands.retain(|command| command["title"] != "Write the placement and its launch files");
        report
    };
    assert_eq!(report("1"), report("3"));
}

#[test]
fn the_form_follows_the_ending_and_the_path_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    for (name, begin) in
        [("r.html", "<!doctype html"), ("r.md", "## ring"), ("r.txt", "ring"), ("r.json", "{")]
    {
        let path = folder.path().join(name);
        let path = path.to_str().unwrap();
        let printed = run(&["-q", "report", "pattern:ring:4", "--on", CLUSTER, "-o", path]);
        assert_eq!(printed, format!("{path}\n"));
        let text = fs::read_to_string(path).unwrap();
        assert!(text.to_lowercase().starts_with(begin), "{name}: {}", &text[..80]);
    }
    let printed = run(&["-q", "report", "pattern:ring:4", "--on", CLUSTER, "-o", "-"]);
    assert!(printed.contains("id=\"report-data\""), "{printed}");
    let (code, text) = failure(&["report", "pattern:ring:4", "--on", CLUSTER, "-o", "r.pdf"]);
    assert_eq!(code, Some(2), "{text}");
    let mut command = rankwright(&["-q", "report", "pattern:ring:4", "--on"]);
    let on = fs::canonicalize(crate::command::repository().join(CLUSTER)).unwrap();
    let output = command.arg(on).current_dir(&folder).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "report.html\n");
    assert!(output.stderr.is_empty(), "{output:?}");
    assert!(folder.path().join("report.html").is_file());
    // The answer is a note beside the path.
    let path = folder.path().join("r.json");
    let arguments = ["report", "pattern:ring:4", "--on", CLUSTER, "-o", path.to_str().unwrap()];
    let output = rankwright(&arguments).output().expect("the program starts");
    let report: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains(report["verdict"]["text"].as_str().unwrap()), "{text}");
}

#[test]
fn nothing_is_to_be_started_on_placeholders_for_hosts() {
    let report = data(&["pattern:ring:4", "--on", "synthetic:pack:1 core:2 pu:1", "--nodes", "2"]);
    assert!(names(&report["findings"], "code").contains(&"hosts-invented"));
    let commands = names(&report["commands"], "text");
    assert!(commands[0].starts_with("rankwright place "), "{commands:?}");
    let starts = |text: &&str| text.starts_with("rankwright run") || text.contains("check");
    assert!(!commands.iter().any(starts), "{commands:?}");
    let titles = names(&report["commands"], "title");
    assert!(titles.iter().any(|title| title.contains("placeholders")), "{titles:?}");
    let missing = report["missing"].as_array().unwrap();
    let runs = missing.iter().filter_map(|it| it["snippet"].as_str());
    let runs: Vec<&str> = runs.filter(|snippet| snippet.contains("rankwright run")).collect();
    assert!(!runs.is_empty(), "{missing:?}");
    let first = "# with the names of your hosts: --nodes HOSTLIST, or a cluster.toml\n";
    assert!(runs.iter().all(|snippet| snippet.starts_with(first)), "{runs:?}");
}

#[test]
fn without_a_program_line_all_commands_name_the_recorded_program() {
    let run = "testdata/timeline/bursts.rwp";
    let on = ["--on", "testdata/timeline/cluster.toml", "--effort", "fast"];
    let report = data(&[&[run], &on[..]].concat());
    let program = format!(" ./{}", report["jobs"][0]["name"].as_str().unwrap());
    let starts = names(&report["commands"], "text");
    let starts: Vec<&str> = starts
        .into_iter()
        .filter(|text| text.contains(" -- ") && !text.contains(" check "))
        .collect();
    assert!(starts.len() >= 3, "{starts:?}");
    assert!(starts.iter().all(|text| text.ends_with(&program)), "{starts:?}");
}

/// The lines of a text report from a heading to the next.
fn section(arguments: &[&str], heading: &str) -> Vec<String> {
    let text =
        run(&[&["-q", "report", "--format", "text", "--effort", "fast"], arguments].concat());
    let lines = text.lines().skip_while(|line| *line != format!("== {heading}")).skip(1);
    lines.take_while(|line| !line.starts_with("== ")).map(str::to_owned).collect()
}

#[test]
fn texts_have_a_matrix_and_the_ranks_of_each_node() {
    let cluster = "synthetic:pack:2 core:8 pu:1";
    let ring = |ranks: &str| format!("pattern:ring:{ranks}:length=1 MB");
    let on = |nodes| ["--on", cluster, "--nodes", nodes, "--strategies", "blocked"];
    // By rank.
    let few = ring("4");
    let traffic = section(&[&[&*few], &on("2")[..]].concat(), "Traffic");
    assert!(traffic[0].ends_with(" messages between 4 pairs of ranks."), "{traffic:?}");
    assert!(traffic.iter().any(|line| line.starts_with("from, to  0 ")), "{traffic:?}");
    // By node.
    let many = ring("64");
    let traffic = section(&[&[&*many], &on("4")[..]].concat(), "Traffic");
    let header = traffic.iter().find(|line| line.starts_with("from, to")).expect("a matrix");
    assert_eq!(header, "from, to  node0  node1  node2  node3");
    let ranks = section(&[&[&*many], &on("4")[..]].concat(), "Ranks per node");
    assert_eq!(ranks[1], "node0  0-15");
    // Of more nodes the pairs that send most.
    let most = ring("640");
    let arguments = [&[&*most], &on("40")[..]].concat();
    let traffic = section(&arguments, "Traffic");
    let title = traffic.iter().position(|line| line.contains("the 16 pairs of nodes"));
    let title = title.expect("a list of pairs");
    assert!(traffic[title].ends_with(", of 40:"), "{traffic:?}");
    assert_eq!(traffic.len(), title + 19, "{traffic:?}");
    let ranks = section(&arguments, "Ranks per node");
    assert_eq!((ranks.len(), &*ranks[33]), (35, "And 8 more nodes."), "{ranks:?}");
}

/// A workload file with a job of this name, whose ranks send to each other.
fn job_file(folder: &Path, name: &str) -> String {
    let path = folder.join("jobs.toml");
    let name = toml_string(name);
    let text = format!(
        "[[job]]\nname = {name}\npattern = \"ring\"\nprocesses = 4\nrate = \"10 /s\"\nlength = \"1 KiB\"\n"
    );
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn toml_string(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

#[test]
fn names_with_markup_stay_text() {
    let folder = tempfile::tempdir().unwrap();
    let hostile = "<script>alert(1)<!--|*x*`y`";
    let jobs = job_file(folder.path(), hostile);
    let page = run(&["-q", "report", &jobs, "--on", CLUSTER, "-o", "-"]);
    assert!(!page.contains("<script>alert") && page.contains("\\u003cscript\\u003ealert(1)"));
    let report = data(&[&jobs, "--on", CLUSTER]);
    assert_eq!(report["jobs"][0]["name"], hostile);
    let text = run(&["-q", "report", &jobs, "--on", CLUSTER, "--format", "md"]);
    let outside_of_code = text.split("```").step_by(2).collect::<String>();
    assert!(!outside_of_code.contains("<script"), "{outside_of_code}");
    assert!(outside_of_code.contains("&lt;script&gt;alert(1)&lt;\\!--\\|\\*x\\*\\`y\\`"), "{text}");
}

#[test]
fn a_placement_is_reported_beside_the_default_if_its_inputs_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("placement.json");
    let file = file.to_str().unwrap();
    let workload = "pattern:halo-2d:16:rate=100,messages=50";
    run(&["-q", "map", workload, "--on", CLUSTER, "--strategy", "cyclic", "-o", file]);
    let report = data(&[file, "--profile", workload, "--on", CLUSTER, "--for", "openmpi4"]);
    assert_eq!(report["kind"], "placement");
    let roles = names(&report["placements"], "role");
    assert_eq!(roles, ["default", "given"]);
    assert_eq!(report["placements"][1]["name"], "cyclic");
    assert_eq!(report["strategies"]["by"], "simulation");
    let command = report["commands"][0]["text"].as_str().unwrap();
    assert_eq!(command, format!("rankwright run {file} -- ./app"));

    assert_eq!(report["verdict"]["outcome"], "no-gain");
    let text = report["verdict"]["text"].as_str().unwrap();
    let against = "The run ends as early as with the launcher's default (blocked:within=numa); messages wait ";
    assert!(text.starts_with(against), "{text}");

    let (code, text) = failure(&["report", file, "--on", CLUSTER]);
    assert!(code == Some(2) && text.contains("--profile WORKLOAD"), "{text}");
    let other = "pattern:halo-2d:16:rate=200,messages=50";
    let (code, text) = failure(&["report", file, "--profile", other, "--on", CLUSTER]);
    assert!(
        code == Some(4) && text.contains("made for another workload: for `halo-2d-16` with"),
        "{text}"
    );
    let (code, text) = failure(&["report", file, "--profile", workload, "--on", "paper:2013"]);
    assert!(code == Some(4) && text.contains("made for another cluster: for `"), "{text}");
    for option in [
        &["--ranks-per-node", "2"][..],
        &["--keep-node-groups"],
        &["--own-nodes"],
        &["--objective", "finish"],
    ] {
        let arguments = ["report", file, "--profile", workload, "--on", CLUSTER];
        let (code, text) = failure(&[&arguments[..], option].concat());
        assert!(
            code == Some(2) && text.contains(&format!("{} has no effect", option[0])),
            "{text}"
        );
    }
}

/// The report of a placement that `command` writes for a workload, and its row of the launcher's default.
fn placed(command: &[&str], workload: &str, on: &[&str]) -> (Value, Value) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("placement.json");
    let file = file.to_str().unwrap();
    run(&[&["-q"], command, &[workload], on, &["-o", file]].concat());
    let report = data(&[&[file, "--profile", workload][..], on].concat());
    let rows = report["strategies"]["rows"].as_array().expect("a list");
    let default = rows.iter().find(|row| row["role"] == "default").expect("there is one").clone();
    (report, default)
}

#[test]
fn the_default_beside_a_placement_has_its_nodes_and_ranks_per_node() {
    let on = ["--on", "synthetic:pack:2 core:8 pu:1", "--nodes", "8"];
    let workload = "pattern:halo-2d:16:rate=100,length=1MB,messages=20";
    let place = ["place", "--ranks-per-node", "4", "--cores-per-rank", "1", "--format", "json"];
    let (report, default) = placed(&place, workload, &on);
    assert_eq!(default["nodes"], 4);
    assert!(default["inter_node_bytes"].as_u64().unwrap() > 0);
    // As `place` says: messages wait less, and the run is as long.
    assert_eq!(report["verdict"]["outcome"], "less-waiting", "{}", report["verdict"]);
    let text = report["verdict"]["text"].as_str().unwrap();
    assert!(text.contains("messages wait 32.4 % less"), "{text}");
}

#[test]
fn short_runs_end_later_by_their_share() {
    let on = ["--on", CLUSTER];
    let timed = "pattern:ring:16:rate=1000000,length=10kB,messages=10";
    let (report, _) = placed(&["map", "--strategy", "cyclic"], timed, &on);
    let verdict = &report["verdict"];
    assert!(verdict["outcome"] == "fault" && verdict["text"].as_str().unwrap().contains("% later"));
    // Without times there are only bytes.
    let (report, _) = placed(&["map", "--strategy", "cyclic"], "pattern:ring:16", &on);
    assert_eq!(report["verdict"]["outcome"], "fault");
    let text = report["verdict"]["text"].as_str().unwrap();
    assert!(text.contains("% more bytes pass between nodes."), "{text}");
    let compared = ["pattern:ring:16", "--on", CLUSTER, "--strategies", "cyclic,blocked"];
    let report = data(&[&compared[..], &["--for", "openmpi4"]].concat());
    assert_eq!(report["verdict"]["outcome"], "no-gain");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    let file = file.to_str().unwrap();
    let compare = ["-q", "compare", "pattern:ring:16", "--on", CLUSTER, "--report", file];
    run(&[&compare[..], &["--strategies", "cyclic,blocked"]].concat());
    let report: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(report["verdict"]["outcome"], "less-traffic");
}

#[test]
fn a_comparison_shows_the_default_before_the_best() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    let file = file.to_str().unwrap();
    let shown = |strategies: &str, by: &[&str]| {
        let compare = ["-q", "compare", "pattern:ring:16:rate=100,messages=10", "--on", CLUSTER];
        run(&[&compare[..], &["--report", file, "--strategies", strategies], by].concat());
        let report: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        let row = report["strategies"]["rows"].as_array().unwrap().iter();
        assert_eq!(row.filter(|row| row["name"] == report["strategies"]["default"]).count(), 1);
        let placements = report["placements"].as_array().unwrap().clone();
        placements
            .iter()
            .map(|it| format!("{} {}", it["role"], it["name"]).replace('"', ""))
            .collect::<Vec<_>>()
    };
    let all = "random,blocked,drb";
    assert_eq!(shown("random,cyclic", &["--for", "openmpi4"])[0], "default blocked:within=numa");
    assert_eq!(shown("random,blocked", &[]), ["default blocked", "next random"]);
    let by_bytes = shown(all, &["--by", "static"]);
    assert_eq!(by_bytes[0], "default blocked", "{by_bytes:?}");
    let by_model = shown(all, &["--by", "model"]);
    assert_eq!(by_model[0], "default blocked", "{by_model:?}");
}

#[test]
fn a_placement_of_several_workloads_has_the_digest_of_their_list() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("placement.json");
    let file = file.to_str().unwrap();
    let (a, b) = ("pattern:ring:8:rate=100,messages=10", "pattern:all-to-all:4:rate=9,messages=9");
    run(&["-q", "place", a, b, "--on", CLUSTER, "--effort", "fast", "-o", file]);
    let both = format!("{a},{b}");
    let report = data(&[file, "--profile", &both, "--on", CLUSTER]);
    assert_eq!(names(&report["jobs"], "name"), ["ring-8", "all-to-all-4"]);
    let simulate = ["simulate", &both, "--placement", file, "--on", CLUSTER];
    let output = rankwright(&simulate).output().expect("the program starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !text.contains("another workload"), "{text}");
}

#[test]
fn run_times_are_reported_beside_what_was_predicted() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("runs.csv");
    let file = path.to_str().expect("a path");
    let runs = [("default", 2.0, 2.1), ("placement", 1.0, 1.1)];
    let lines =
        runs.map(|(way, predicted, seconds)| format!("{way},{predicted},{seconds}\n").repeat(4));
    let text = ["way,predicted_s,seconds\n".to_owned(), lines.concat()].concat();
    fs::write(&path, text).expect("it can be written");
    let report = data(&[file]);
    let verdict = "placement against default: 47.62 % faster (47.62 % to 47.62 %), n = 4.";
    assert_eq!(
        (&report["kind"], &report["verdict"]["text"]),
        (&"run-times".into(), &verdict.into())
    );
    assert_eq!(report["verdict"]["details"][0], "Predicted was 50.0 % faster.");
    assert_eq!(report["measured"][1]["is_placed"], true);
    for (option, value) in [("--on", CLUSTER), ("--for", "slurm"), ("--profile", "app.rwp")] {
        let (code, text) = failure(&["report", file, option, value]);
        assert_eq!(code, Some(2), "{text}");
        assert!(text.contains(&format!("{option} has no effect on measured run times")), "{text}");
    }
    fs::write(&path, "way,seconds\ndefault,1\ndefault,-1\n").expect("it can be written");
    let (code, text) = failure(&["report", file]);
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("runs.csv:3: seconds: found `-1`"), "{text}");
}

#[test]
fn a_workload_without_times_says_what_to_record() {
    let report = data(&["pattern:ring:4", "--on", CLUSTER]);
    let missing = report["missing"].as_array().expect("a list");
    let waiting =
        missing.iter().find(|entry| entry["section"] == "strategies").expect("it is said");
    assert!(waiting["snippet"].as_str().unwrap().contains("\nrankwright profile --events"));
    assert!(names(&report["findings"], "code").contains(&"no-message-timing"));
    assert_eq!(report["strategies"]["by"], "static");
    assert!(report.get("timeline").is_none());
}

#[test]
fn more_ranks_than_a_page_can_show_are_grouped_by_node() {
    let cluster = "synthetic:pack:2 core:64 pu:1";
    let options = ["--nodes", "72", "--strategies", "blocked,cyclic", "--effort", "fast"];
    let report = data(&[&["pattern:ring:9216", "--on", cluster], &options[..]].concat());
    let traffic = &report["traffic"];
    assert_eq!((&traffic["ranks"], &traffic["aggregated"]), (&72.into(), &true.into()));
    let lengths: Vec<u64> = report["placements"]
        .as_array()
        .unwrap()
        .iter()
        .map(|placement| placement["node"]["length"].as_u64().unwrap())
        .collect();
    assert_eq!(lengths[0], 72);
    assert!(lengths[1..].iter().all(|length| *length == 0), "{lengths:?}");
    assert!(names(&report["findings"], "code").contains(&"ranks-aggregated"));
    assert!(names(&report["findings"], "code").contains(&"launch-files-left-out"));
}

#[test]
fn a_recorded_run_has_a_time_line_and_what_it_tells_alone() {
    let run = "testdata/timeline/bursts.rwp";
    let report = data(&[run, "--on", "testdata/timeline/cluster.toml", "--effort", "fast"]);
    let timeline = &report["timeline"];
    assert_eq!((&timeline["busy_rows"], &timeline["rows_are"]), (&4.into(), &"ranks".into()));
    assert_eq!(timeline["windows"].as_array().map(Vec::len), Some(10));
    let facts = names(&report["facts"], "name");
    for fact in ["MPI library", "recorded on", "workload digest", "cluster digest", "rates"] {
        assert!(facts.contains(&fact), "{fact} is missing: {facts:?}");
    }
    let recorded = report["facts"].as_array().unwrap().iter();
    let day =
        recorded.filter(|fact| fact["name"].as_str().unwrap().ends_with("bursts.rwp: recorded"));
    let day: Vec<&Value> = day.map(|fact| &fact["value"]).collect();
    assert!(day.len() == 1 && day[0].as_str().unwrap().ends_with(" (UTC)"), "{day:?}");
}

#[test]
fn other_commands_write_reports_beside_their_results() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    let path = file.to_str().unwrap();
    let placement = folder.path().join("placement.json");
    let placement = placement.to_str().unwrap();
    let timed = "pattern:ring:4:rate=100,messages=50";
    let table = "papers/2009-mixed/table-3.csv";
    let cases: [(&str, &[&str]); 8] = [
        ("workload", &["place", timed, "--on", CLUSTER, "-o", placement]),
        ("comparison", &["compare", timed, "--on", CLUSTER]),
        ("comparison", &["compare", timed, "--on", CLUSTER, "--by", "simulation"]),
        ("simulation", &["simulate", timed, "--on", CLUSTER, "--strategy", "cyclic"]),
        ("timeline", &["timeline", "show", "testdata/timeline/bursts.rwp"]),
        ("reproduction", &["reproduce", "2009-placement"]),
        ("pair", &["pair", "--table", table]),
        ("counters", &["check", "--counters", "testdata/counters/as-placed.json"]),
    ];
    for (kind, arguments) in cases {
        let arguments = [arguments, &["-q", "--report", path]].concat();
        run(&arguments);
        let report: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(report["kind"], kind, "{arguments:?}");
        assert!(!report["verdict"]["text"].as_str().unwrap().is_empty(), "{arguments:?}");
        fs::remove_file(&file).unwrap();
    }
}

#[test]
fn a_report_that_cannot_be_written_is_refused_before_the_work() {
    let compare = ["compare", "pattern:ring:4", "--on", CLUSTER];
    for (more, code, part) in [
        (&["--report", "r.pdf"][..], 2, "expected a name that ends in .html, .md, .txt or .json"),
        (&["--report", "no-such-folder/r.html"][..], 1, "no-such-folder"),
        (&["--report", "r.json", "-o", "r.json"][..], 2, "also the file of another result"),
        (&["--report", "./r.json", "-o", "r.json"][..], 2, "also the file of another result"),
        (&["--report", "docs/../r.json", "-o", "r.json"][..], 2, "also the file of another result"),
    ] {
        let arguments = [&compare[..], more].concat();
        let output = rankwright(&arguments).output().expect("the program starts");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(code) && text.contains(part), "{text}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
    let (code, text) = failure(&["check", "testdata/broken/no.json", "--report", "r.html"]);
    assert!(code == Some(2) && text.contains("--report needs --counters"), "{text}");
}
