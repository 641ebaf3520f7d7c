//! Open MPI's own monitoring as an independent check of what the tracer records.

use std::path::Path;
use std::process::{Command, Output};

use crate::command::{rankwright, say, transcript};
use crate::every_day::profile::{MPIS, as_root, heat, profile};

/// The output of `rankwright traffic` with these arguments.
fn traffic(arguments: &[&str]) -> String {
    let arguments = [&["traffic"], arguments].concat();
    let output = rankwright(&arguments).output().expect("the program starts");
    assert!(output.status.success(), "{}", transcript(&arguments, &output));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn tracer_and_monitoring_count_the_same_messages_of_each_pair() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = heat(&MPIS[0], folder.path()) else { return };
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::create_dir(at("out")).unwrap();
    if !has_monitoring() {
        say("SKIPPED: this Open MPI has no monitoring");
        return;
    }
    let files = at("out/heat");
    let monitoring = [
        // Monitoring stands before the component ob1, and misses what others send.
        &["--mca", "pml", "^ucx,cm,v", "--mca", "osc", "^ucx"][..],
        &["--mca", "pml_monitoring_enable", "2", "--mca", "pml_monitoring_enable_output", "3"],
        &["--mca", "pml_monitoring_filename", &files],
    ]
    .concat();
    let program = program.display().to_string();
    let run = [&program, "--cells", "64", "--fields", "2", "--iterations", "5"];
    // Two runs: monitoring would see the tracer's own messages too.
    let launch = [&[MPIS[0].launcher], MPIS[0].options, &monitoring, &run].concat();
    succeed(|| {
        let mut timeout = Command::new("timeout");
        as_root(timeout.arg("60").args(&launch));
        let output = timeout.output().expect("timeout is everywhere");
        let text = transcript(&launch, &output);
        (output, text)
    });
    let launch = [&[MPIS[0].launcher], MPIS[0].options, &run].concat();
    succeed(|| profile(folder.path(), &launch));

    let traced = messages_and_bytes(&traffic(&["export", &at("app.rwp")]));
    assert_eq!(traced.len(), 8, "{traced:?}");
    for named in ["out/heat.2.prof", "out/heat", "out"] {
        let monitored = traffic(&["import", &at(named)]);
        assert_eq!(messages_and_bytes(&monitored), traced, "{named}");
    }
    let file = at("out/heat.0.prof");
    traffic(&["import", &file, "--from", "openmpi-monitoring", "-o", &at("monitored.rwp")]);
    let shown = traffic(&["show", &at("monitored.rwp"), "--format", "json"]);
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["program"], "heat");
    assert_eq!(shown["origin"], "imported from openmpi-monitoring");
    assert_eq!(shown["collectives"][0]["operation"], "Alltoallw");

    // The files of the last rank were not copied with the others.
    std::fs::remove_file(Path::new(&at("out/heat.3.prof"))).unwrap();
    let output = rankwright(&["traffic", "show", &at("out")]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
}

/// One retry: launchers on a loaded machine do hang now and then.
fn succeed(run: impl Fn() -> (Output, String)) {
    let (mut output, mut text) = run();
    if !output.status.success() {
        say(format_args!("retried: {text}"));
        (output, text) = run();
    }
    assert!(output.status.success(), "{text}");
}

fn has_monitoring() -> bool {
    let info = Command::new("ompi_info").args(["--param", "pml", "monitoring"]).output();
    // Without the tool the run itself tells.
    info.map_or(true, |output| String::from_utf8_lossy(&output.stdout).contains("monitoring"))
}

/// Source, destination, messages and bytes of each line of an edge list.
fn messages_and_bytes(edges: &str) -> Vec<[u64; 4]> {
    let cells = |line: &str| -> Vec<u64> {
        line.split(',').skip(1).map(|cell| cell.parse().expect("a number")).collect()
    };
    let lines = edges.lines().filter(|line| !line.starts_with('#')).skip(1);
    lines.map(cells).map(|c| [c[0], c[1], c[2], c[3]]).collect()
}
