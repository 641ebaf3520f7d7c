//! `rankwright timeline`, of a run in a lab: four ranks on four nodes that send a burst every fourth round.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::command::{rankwright, repository, transcript};

const RUN: &str = "testdata/timeline/bursts.rwp";
const CLUSTER: [&str; 2] = ["--on", "testdata/timeline/cluster.toml"];

fn show(more: &[&str]) -> String {
    let arguments = [&["timeline", "show", RUN], &CLUSTER[..], more].concat();
    let output = rankwright(&arguments).output().expect("the program starts");
    assert!(output.status.success(), "{}", transcript(&arguments, &output));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn a_time_line_in_the_terminal() {
    insta::assert_snapshot!("timeline", show(&["--windows", "3"]));
}

#[test]
fn sends_after_the_run_fit_into_the_width_too() {
    let rows = |more: &[&str]| {
        let arguments = [&["timeline", "show", RUN], more].concat();
        let output = rankwright(&arguments).output().expect("the program starts");
        let text = String::from_utf8(output.stdout).expect("text");
        let row =
            text.lines().find(|line| line.starts_with("rank 0 ")).map(|it| it.chars().count());
        row.unwrap_or_else(|| panic!("{text}"))
    };
    let in_time = rows(&CLUSTER);
    let late = rows(&["--bandwidth", "1 MB/s"]);
    assert!(late <= in_time + 1, "{late} and {in_time}");
}

#[test]
fn a_run_with_only_counters() {
    let arguments = ["timeline", "show", "testdata/broken/timeline-only-counters.rwp"];
    let output = rankwright(&arguments).output().expect("the program starts");
    insta::assert_snapshot!("timeline_of_counters", transcript(&arguments, &output));

    // Counters alone are a trace, too.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.json");
    let arguments = ["timeline", "export", arguments[2], "-o", path.to_str().unwrap()];
    let output = rankwright(&arguments).output().expect("the program starts");
    assert!(output.status.success(), "{}", transcript(&arguments, &output));
    let trace: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("a list").iter();
    assert!(events.clone().any(|event| event["ph"] == "C"));
    assert!(events.clone().all(|event| event["ph"] == "C" || event["name"] == "process_name"));
}

#[test]
fn json_and_csv_have_the_same_bytes() {
    let report: Value = serde_json::from_str(&show(&["--format", "json"])).expect("JSON");
    let sum = |row: &Value, key: &str| -> f64 {
        row[key].as_array().expect("a list").iter().filter_map(Value::as_f64).sum()
    };
    let devices = report["devices"].as_array().expect("a list");
    let bytes: f64 = devices.iter().map(|row| sum(row, "bytes_out")).sum();
    assert_eq!(bytes.round() as u64, report["bytes"].as_u64().expect("a number"));
    // Headers and acknowledgements, and what the library sends when it ends.
    let counted = report["counted"].as_array().expect("a list");
    let counted: f64 = counted.iter().map(|row| sum(row, "bytes_out")).sum();
    assert!((0.9..1.0).contains(&(bytes / counted)), "{bytes} of {counted}");
    let csv = show(&["--format", "csv", "--bin", "10 ms"]);
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("time_s,node,device,bytes_out,bytes_in,counted_out,counted_in"));
    let of_csv: f64 = lines.filter_map(|line| line.split(',').nth(3)?.parse::<f64>().ok()).sum();
    assert!((of_csv - bytes).abs() < 0.01 * bytes, "{of_csv} and {bytes}");
}

#[test]
fn a_picture_has_a_row_for_each_rank_from_the_bottom_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.svg");
    show(&["-o", path.to_str().unwrap()]);
    let picture = std::fs::read_to_string(path).unwrap();
    let places: Vec<usize> =
        (0..4).map(|rank| picture.find(&format!(">rank {rank}<")).expect("a row")).collect();
    assert!(places.windows(2).all(|pair| pair[0] > pair[1]), "rank 0 is the lowest");
    assert!(picture.contains("class=\"send4\"") && picture.ends_with("</svg>\n"));
}

/// The Trace Event Format, as <https://ui.perfetto.dev> reads it: the object form with `traceEvents`; `M`
/// with a name and arguments, `X` with `ts` and `dur` in microseconds, `C` with numbers. Slices of a track must
/// nest.
#[test]
fn a_trace_for_perfetto_is_valid() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.json");
    let arguments =
        [&["timeline", "export", RUN, "-o", path.to_str().unwrap()], &CLUSTER[..]].concat();
    let output = rankwright(&arguments).output().expect("the program starts");
    assert!(output.status.success(), "{}", transcript(&arguments, &output));
    let trace = std::fs::read(&path).unwrap();
    // page/tests/browser/perfetto.test.ts opens it in Perfetto itself.
    insta::assert_binary_snapshot!("trace.json", trace.clone());
    let trace: Value = serde_json::from_slice(&trace).expect("JSON");
    let (mut tracks, mut counters, mut names) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
    for event in trace["traceEvents"].as_array().expect("a list") {
        let pid = event["pid"].as_u64().expect("a process");
        assert!(pid > 0 && event["name"].is_string(), "{event}");
        match event["ph"].as_str().expect("a phase") {
            "M" => names.push(event["args"]["name"].as_str().unwrap_or_default().to_owned()),
            "X" => {
                let key = (pid, event["tid"].as_u64().expect("a thread"));
                let begin = event["ts"].as_f64().expect("microseconds");
                let end = begin + event["dur"].as_f64().expect("microseconds");
                let before = tracks.insert(key, end).unwrap_or(0.0);
                assert!(begin >= before - 1e-6 && end >= begin, "{event} before {before}");
            }
            "C" => {
                let value = event["args"]["MB/s"].as_f64().expect("a number");
                assert!((0.0..13.0).contains(&value), "{event}");
                let key = (pid, event["name"].as_str().unwrap().to_owned());
                let ts = event["ts"].as_f64().expect("microseconds");
                assert!(counters.insert(key, ts).is_none_or(|before| before < ts), "{event}");
            }
            other => panic!("an event of phase {other}"),
        }
    }
    assert_eq!((tracks.len(), counters.len()), (4, 16), "a track a rank, four counters a device");
    assert!(["node3", "rank 2"].iter().all(|name| names.iter().any(|other| other == name)));
}

/// A prediction of the same run: the same bytes, at other times where ranks are on fewer nodes.
#[test]
fn a_replay_has_a_time_line() {
    let folder = tempfile::tempdir().unwrap();
    let placed = |strategy: &str| {
        let path = folder.path().join(format!("{strategy}.json")).display().to_string();
        let arguments = ["map", RUN, CLUSTER[0], CLUSTER[1], "--strategy", strategy, "-o", &path];
        let output = rankwright(&arguments).output().expect("the program starts");
        assert!(output.status.success(), "{}", transcript(&arguments, &output));
        path
    };
    let replayed = |placement: &str| -> Value {
        let more = ["--placement", placement, "--times", "replay", "--format", "json"];
        serde_json::from_str(&show(&more)).expect("JSON")
    };
    let spread = replayed(&placed("cyclic"));
    let recorded: Value = serde_json::from_str(&show(&["--format", "json"])).expect("JSON");
    assert_eq!(spread["bytes"], recorded["bytes"]);
    assert_eq!((&spread["times_from"], &spread["ranks"]), (&"replay".into(), &4.into()));
    assert!(spread["counted"].as_array().is_some_and(Vec::is_empty), "{}", spread["counted"]);
    let span = |report: &Value| report["span_s"].as_f64().expect("seconds");
    assert!((span(&spread) / span(&recorded) - 1.0).abs() < 0.1, "{spread} {recorded}");

    // Recorded times would be others under another placement, so it is replayed unless told otherwise.
    let times_from = |more: &[&str]| {
        let all = [more, &["--format", "json"]].concat();
        let report: Value = serde_json::from_str(&show(&all)).expect("JSON");
        report["times_from"].clone()
    };
    let two_nodes = folder.path().join("two.json").display().to_string();
    let arguments = ["map", RUN, CLUSTER[0], CLUSTER[1], "--strategy", "cyclic"];
    let arguments = [&arguments[..], &["--nodes", "node[2-3]", "-o", &two_nodes]].concat();
    assert!(rankwright(&arguments).status().expect("the program starts").success());
    assert_eq!(times_from(&["--placement", &two_nodes]), "replay");
    assert_eq!(times_from(&["--placement", &placed("cyclic")]), recorded["times_from"]);

    let arguments = ["timeline", "show", RUN, "--times", "replay"];
    let output = rankwright(&arguments).output().expect("the program starts");
    insta::assert_snapshot!("timeline_replay_without_placement", transcript(&arguments, &output));
}

/// Counters stay only where ranks are on the hosts of the run.
#[test]
fn counters_are_not_shown_beside_another_placement() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("placement.json").display().to_string();
    let counted = |hosts: &str| {
        let arguments = ["map", RUN, CLUSTER[0], CLUSTER[1], "--strategy", "cyclic"];
        let arguments = [&arguments[..], &["--nodes", hosts, "-o", &path]].concat();
        let output = rankwright(&arguments).output().expect("the program starts");
        assert!(output.status.success(), "{}", transcript(&arguments, &output));
        let times = ["--placement", &path, "--times", "mpi"];
        let report: Value =
            serde_json::from_str(&show(&[&times[..], &["--format", "json"]].concat()))
                .expect("JSON");
        let rows = report["counted"].as_array().expect("a list").len();
        let trace = folder.path().join("run.json").display().to_string();
        let arguments = [&["timeline", "export", RUN, "-o", &trace], &CLUSTER[..], &times].concat();
        let output = rankwright(&arguments).output().expect("the program starts");
        assert!(output.status.success(), "{}", transcript(&arguments, &output));
        let said = String::from_utf8_lossy(&output.stderr).contains("left out: what network");
        let trace = std::fs::read_to_string(trace).unwrap();
        (rows, trace.contains("counted"), said)
    };
    assert_eq!(counted("node[0-3]"), (4, true, false));
    assert_eq!(counted("node[2-3]"), (0, false, true));
}

#[test]
fn what_is_no_profile_is_told_with_what_to_give() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("placement.json").display().to_string();
    let map = ["map", RUN, CLUSTER[0], CLUSTER[1], "--strategy", "blocked", "-o", &path];
    assert!(rankwright(&map).output().expect("the program starts").status.success());
    let placed = format!(
        "`{path}` is a placement: give the profile of a run, and the placement with --placement, as \
         `PROFILE --placement {path} --on CLUSTER`"
    );
    let other = "`testdata/workloads/two-groups.graph` is not a profile; a time line needs a run recorded with `rankwright profile \
                 --events` or `--timeline mpi`";
    for (input, says) in [(&*path, &*placed), ("testdata/workloads/two-groups.graph", other)] {
        let arguments = ["timeline", "show", input];
        let output = rankwright(&arguments).output().expect("the program starts");
        let text = transcript(&arguments, &output);
        assert!(output.status.code() == Some(2) && text.contains(says), "{text}");
    }
}

#[test]
fn the_profile_of_the_test_is_small() {
    let size = std::fs::metadata(repository().join(RUN)).unwrap().len();
    assert!(size < 64 << 10, "{size} bytes");
}
