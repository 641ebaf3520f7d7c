//! `rankwright traffic`, from one format to another and back.

use std::path::Path;

use rankwright::ids::Rank;
use rankwright::traffic::collectives::{CollectiveCalls, Form, Operation};
use rankwright::traffic::communicator::Communicator;
use rankwright::traffic::profile::{Ended, Profile, RankRecord};
use rankwright::traffic::read::profile_file;
use rankwright::units::Seconds;

use crate::command::{rankwright, transcript};

fn output(arguments: &[&str]) -> String {
    let output = rankwright(arguments).output().expect("the program starts");
    let text = transcript(arguments, &output);
    assert!(output.status.success(), "{text}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn traffic_goes_through_every_format_and_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let original = output(&["traffic", "export", "pattern:halo-2d:12:renumber"]);
    let generate = ["traffic", "generate", "halo-2d", "--ranks", "12", "--renumber", "-o"];
    for (format, file) in [("csv", "a.csv"), ("matrix-market", "a.mtx")] {
        let profile = path("a.rwp");
        output(&[&generate[..], &[profile.as_str()]].concat());
        output(&["traffic", "export", &profile, "--format", format, "-o", &path(file)]);
        output(&["traffic", "import", &path(file), "-o", &path("b.rwp")]);
        let back = output(&["traffic", "export", &path("b.rwp")]);
        let bytes = |text: &str| -> Vec<String> {
            let fields =
                |line: &str| -> Vec<String> { line.split(',').map(str::to_owned).collect() };
            text.lines().map(fields).map(|f| format!("{} {} {}", f[1], f[2], f[4])).collect()
        };
        assert_eq!(bytes(&back), bytes(&original), "{format}");
    }
}

#[test]
fn a_matrix_of_plain_numbers_is_traffic_without_being_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("halo.txt");
    std::fs::write(&path, "0 5 0\n5 0 7\n0 7.0 0\n").unwrap();
    let edges = output(&["traffic", "import", &path.display().to_string()]);
    let expected = "halo,0,1,1,5,5\nhalo,1,0,1,5,5\nhalo,1,2,1,7,7\nhalo,2,1,1,7,7\n";
    assert!(edges.ends_with(expected), "{edges}");
}

#[test]
fn runs_are_merged_and_names_redacted_but_never_over_an_input() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    for (file, messages) in [("a.rwp", "3"), ("b.rwp", "4")] {
        let generate = ["traffic", "generate", "ring", "--ranks", "4", "--length", "10 B"];
        output(&[&generate[..], &["--messages", messages, "-o", &path(file)]].concat());
    }
    output(&["traffic", "merge", &path("a.rwp"), &path("b.rwp"), "-o", &path("c.rwp")]);
    let edges = output(&["traffic", "export", &path("c.rwp")]);
    assert!(edges.contains("ring-4,3,0,7,70,10\n"), "{edges}");

    output(&["traffic", "redact", &path("c.rwp"), "-o", &path("d.rwp")]);
    let redacted = output(&["traffic", "export", &path("d.rwp")]);
    assert_eq!(redacted, edges.replace("\nring-4,", "\njob,"));

    let before = std::fs::read(path("a.rwp")).unwrap();
    std::os::unix::fs::symlink(path("a.rwp"), path("link.rwp")).unwrap();
    let (a, b, link) = (path("a.rwp"), path("b.rwp"), path("link.rwp"));
    for arguments in
        [&["traffic", "redact", &a, "-o", &link][..], &["traffic", "merge", &b, &a, "-o", &a]]
    {
        let output = rankwright(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", transcript(arguments, &output));
        assert_eq!(std::fs::read(&a).unwrap(), before);
    }
}

#[test]
fn show_prints_totals_pairs_and_a_heat_map() {
    insta::assert_snapshot!(output(&["traffic", "show", "pattern:ring:6", "--top", "2"]));
}

/// A run of 10 s in which four ranks only reduce vectors of 1 kB, 100 times.
fn only_collectives(path: &Path) {
    let call = |rank: u32| CollectiveCalls {
        rank: Rank(rank),
        communicator: 0,
        operation: Operation::Allreduce,
        form: Form::Blocking,
        root: None,
        calls: 100,
        bytes: 100_000,
        seconds: 0.1,
        first: 0.0,
        last: 9.0,
        row: Vec::new(),
    };
    let members = (0..4).map(|rank| Some(Rank(rank))).collect();
    let rank = RankRecord {
        wall: Seconds(10.0),
        ended: Ended::Finalized,
        host: "n0".to_owned(),
        ..RankRecord::default()
    };
    let profile = Profile {
        ranks: vec![rank; 4],
        communicators: vec![Communicator { members, created: 1, ..Communicator::default() }],
        collectives: (0..4).map(call).collect(),
        ..Profile::default()
    };
    profile_file::write(&profile, path).expect("the folder is writable");
}

#[test]
fn a_run_with_only_collectives_says_how_to_see_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.rwp");
    only_collectives(&path);
    let show = ["traffic", "show", path.to_str().unwrap()];
    let hint =
        "only collective calls send: `--collectives default` counts their messages between ranks";
    let text = output(&show);
    assert!(text.contains(hint) && !text.contains("receiver"), "{text}");
    // What they send in all, by the time of the run.
    assert!(
        text.contains("on average in the 10 s of the run, collective calls included\n"),
        "{text}"
    );
    let expanded = output(&[&show[..], &["--collectives", "default"]].concat());
    assert!(!expanded.contains(hint) && expanded.contains("receiver"), "{expanded}");
    let json = |more: &[&str]| -> serde_json::Value {
        let text = output(&[&show[..], &["--format", "json"], more].concat());
        serde_json::from_str(&text).unwrap()
    };
    let bytes = json(&["--collectives", "default"])["bytes"].as_f64().unwrap();
    let sending = &json(&[])["sending"];
    assert_eq!((&sending["duration_s"], &sending["duration_of"]), (&10.0.into(), &"run".into()));
    let rate = sending["offered_bytes_per_s"].as_f64().unwrap();
    assert!((rate * 10.0 - bytes).abs() < 1.0, "{rate} and {bytes}");
}

#[test]
fn show_speaks_json_and_csv() {
    let json = output(&["traffic", "show", "pattern:ring:6", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["ranks"], 6);
    assert_eq!(json["heaviest"].as_array().unwrap().len(), 6);
    let csv = output(&["traffic", "show", "pattern:ring:6", "--format", "csv"]);
    assert!(csv.starts_with("source,destination,messages,bytes,largest\n0,1,100,"), "{csv}");
}

#[test]
fn standard_input_is_a_file_too() {
    use std::io::Write;
    let mut child = rankwright(&["traffic", "import", "-"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"source,destination,bytes\n0,1,5\n").unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().contains("job,0,1,1,5,5"));
}

#[test]
fn a_rank_order_of_a_grid_is_the_traffic_between_neighbours() {
    let order = "testdata/workloads/MPICH_RANK_ORDER.Grid";
    let edges = output(&["traffic", "export", order]);
    assert_eq!(edges.lines().filter(|line| line.starts_with("MPICH_RANK_ORDER,")).count(), 48);
    let shown = output(&["traffic", "show", order, "--heat-map", "0", "--top", "0"]);
    assert!(shown.contains("supposed by the grid of 4 x 4 of a CrayPat rank order"), "{shown}");
}

#[test]
fn the_verdict_has_three_lines_and_stands_in_json() {
    let halo = "pattern:halo-2d:64:renumber";
    let text = output(&["traffic", "show", halo, "--heat-map", "0", "--ranks-per-node", "8"]);
    let lines = [
        "time in MPI     unknown",
        "gain at most    unknown",
        "placement       matters: with 8 ranks per node, bytes that stay inside nodes: ",
    ];
    assert!(lines.iter().all(|line| text.contains(&format!("\n{line}"))), "{text}");
    let json = output(&["traffic", "show", halo, "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["triage"]["locality"]["unevenness"], "uneven");
    assert_eq!(json["triage"]["gain"], serde_json::Value::Null);
}

#[test]
fn workloads_of_several_jobs_are_shown_by_job() {
    insta::assert_snapshot!(output(&["traffic", "show", "examples/workloads/jobs.toml"]));
    let mixed = ["traffic", "show", "paper:2013/mixed-5", "--format"];
    insta::assert_snapshot!(output(&[&mixed[..], &["csv"]].concat()));
    let json = output(&[&mixed[..], &["json"]].concat());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["name"], "paper:2013/mixed-5");
    assert_eq!(json["jobs"][7]["sending"]["clocks"], 31);
    assert_eq!(json["jobs"][0]["messages"], 32 * 31 * 2000);
}

#[test]
fn one_job_of_several_is_shown_in_detail_and_says_how_it_sends() {
    let text =
        output(&["traffic", "show", "paper:2013/mixed-1", "--job", "linear", "--heat-map", "0"]);
    assert!(text.starts_with("program         linear, 64 ranks\n"), "{text}");
    let line = "\nsending         63 clocks, each sends 100 times a second (cv 1), in all 412.9 MB/s for 20 s\n";
    assert!(text.contains(line), "{text}");
}

#[test]
fn every_name_of_the_list_has_a_summary() {
    let list = output(&["traffic", "list", "--format", "csv"]);
    for name in
        ["paper:2013/mixed-1", "paper:2012/real-4", "nas:cg.CLASS.RANKS", "pattern:ring:RANKS"]
    {
        assert!(list.lines().any(|line| line.starts_with(&format!("{name},"))), "{list}");
    }
}

#[test]
fn an_edge_list_holds_all_jobs() {
    let edges = output(&["traffic", "export", "paper:2012/synt-3"]);
    assert!(edges.contains("\nbcast-64kB,0,31,2000,131072000,65536\n"), "{edges}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("e.csv").display().to_string();
    output(&["traffic", "export", "paper:2012/synt-3", "-o", &path]);
    assert_eq!(output(&["traffic", "export", &path]), edges);
    let one = output(&[
        "traffic",
        "export",
        "paper:2012/synt-3",
        "--job",
        "linear-2MB",
        "--format",
        "metis",
    ]);
    assert!(one.starts_with("32 31 1\n"), "{one}");
}

#[test]
fn patterns_become_a_workload_file_that_keeps_their_rate() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ring").with_extension("toml").display().to_string();
    let generate = ["traffic", "generate", "ring:8:length=1kB", "--rate", "50 /s", "--cv", "0.5"];
    output(&[&generate[..], &["-o", &path]].concat());
    let shown = output(&["traffic", "show", &path, "--heat-map", "0"]);
    assert!(
        shown
            .contains("8 clocks, each sends 50 times a second (cv 0.5), in all 400.0 kB/s for 2 s"),
        "{shown}"
    );
}

#[test]
fn several_names_make_one_workload() {
    let names =
        "pattern:ring:4:rate=10,cv=0,pattern:ring:4,examples/workloads/jobs.toml,nas:ep.S.4";
    let csv = output(&["traffic", "show", names, "--format", "csv"]);
    let jobs: Vec<&str> = csv.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    assert_eq!(jobs, ["ring-4", "ring-4-2", "solver", "study", "assembly", "ep.S.4"]);
    assert!(csv.contains("\nring-4,4,4,2,4,10,10,0,0,"), "{csv}");
    let compared =
        [&["compare", names, "--on", "paper:2013", "--strategies", "blocked"][..]].concat();
    assert!(output(&compared).contains("blocked"));
}

#[test]
fn a_workload_file_may_come_from_standard_input() {
    use std::io::Write;
    let mut child = rankwright(&["traffic", "export", "-"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let text = b"[[job]]\nprocesses = 2\npattern = \"bcast\"\nmessages = 3\nlength = \"5 B\"\n";
    stdin.write_all(text).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().ends_with("\nbcast-2,0,1,3,15,5\n"));
}
