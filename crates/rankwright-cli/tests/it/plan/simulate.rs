//! `simulate` and `compare --by simulation`.

use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::command::{rankwright, signal};

const WORKLOAD: &str = "pattern:all-to-all:32:rate=100,length=64KiB,messages=10";

fn json(arguments: &[&str]) -> Value {
    let output = rankwright(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn simulated(more: &[&str]) -> Value {
    let all = ["simulate", WORKLOAD, "--on", "paper:2013", "--format", "json"];
    json(&[&all[..], more].concat())
}

fn sum(rows: &Value, field: &str) -> f64 {
    rows.as_array().unwrap().iter().map(|row| row[field].as_f64().unwrap()).sum()
}

#[test]
fn the_parts_of_a_simulation_add_up() {
    let report = simulated(&["--strategy", "cyclic"]);
    let number = |field: &str| report[field].as_f64().unwrap();
    assert_eq!(report["messages"], 32 * 31 * 10);
    let parts = number("nic_waiting_s") + number("memory_waiting_s") + number("link_waiting_s");
    assert!((parts / number("total_waiting_s") - 1.0).abs() < 1e-9);
    for rows in ["per_server", "per_job"] {
        assert!((sum(&report[rows], "waiting_s") / number("total_waiting_s") - 1.0).abs() < 1e-9);
    }
    // Two ranks on each node share a cache; other messages pass four servers.
    assert_eq!(sum(&report["per_server"], "messages"), f64::from(32 * 30 * 10 * 4));
    assert_eq!(sum(&report["per_job"], "finish_s"), number("total_finish_s"));
    assert!(report["stopped_at_s"].is_null() && number("wall_s") > 0.0);
}

#[test]
fn a_placement_file_is_simulated_as_the_strategy_that_made_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("p.json").display().to_string();
    let map = ["map", WORKLOAD, "--on", "paper:2013", "--strategy", "mapping-2013", "-o", &file];
    assert!(rankwright(&map).status().unwrap().success());
    let mut by_file = simulated(&["--placement", &file]);
    let mut by_name = simulated(&["--strategy", "mapping-2013"]);
    by_file["wall_s"] = 0.into();
    by_name["wall_s"] = 0.into();
    assert_eq!(by_file, by_name);
    let other = ["simulate", "pattern:ring:4:rate=5", "--on", "paper:2013", "--placement", &file];
    let output = rankwright(&other).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("found jobs of [32] ranks, expected [4]"), "{text}");
}

#[test]
fn replications_are_the_same_for_any_number_of_threads() {
    let run = |threads: &str| {
        let more = ["--strategy", "blocked", "--replications", "3", "--threads", threads];
        let mut report = simulated(&more);
        report["wall_s"] = 0.into();
        report
    };
    let report = run("1");
    assert_eq!(report, run("3"));
    assert_eq!(report["replications"]["count"], 3);
    assert!(report["replications"]["total_waiting_s"]["half_width"].as_f64().unwrap() > 0.0);
}

#[test]
fn loops_and_arrivals_make_a_difference() {
    let waiting = |more: &[&str]| {
        let report = simulated(&[&["--strategy", "blocked"], more].concat());
        report["total_waiting_s"].as_f64().unwrap()
    };
    let open = waiting(&[]);
    assert!(waiting(&["--loop", "departure"]) < open);
    assert!(waiting(&["--loop", "arrival"]) < waiting(&["--loop", "departure"]));
    assert!(waiting(&["--arrivals", "pair"]) < open);
    assert_ne!(waiting(&["--seed", "7"]), open);
}

#[test]
fn the_best_of_a_comparison_waits_least() {
    let strategies = ["--strategies", "blocked,cyclic,mapping-2012,mapping-2013"];
    let all = ["compare", WORKLOAD, "--on", "paper:2013", "--by", "simulation", "--format", "json"];
    let comparison = json(&[&all[..], &strategies].concat());
    let rows = comparison["strategies"].as_array().unwrap();
    let waiting = |row: &Value| row["total_waiting_s"].as_f64().unwrap();
    let best = rows.iter().min_by(|a, b| waiting(a).total_cmp(&waiting(b))).unwrap();
    assert_eq!(comparison["best"], best["name"]);
    let alone = simulated(&["--strategy", "cyclic"]);
    assert_eq!(waiting(&rows[1]), waiting(&alone));
}

/// It would take many minutes.
#[test]
fn an_interrupted_simulation_says_what_was_reached() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("out.json");
    let name = file.display().to_string();
    let long = "pattern:all-to-all:64:rate=10,length=64KiB,messages=1000000";
    let mut child = rankwright(&["simulate", long, "--on", "paper:2013"])
        .args(["--strategy", "blocked", "--format", "json", "-o", &name])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Long enough for a slow machine to begin.
    thread::sleep(Duration::from_secs(3));
    assert!(child.try_wait().unwrap().is_none(), "it was over too early");
    signal("INT", child.id().into());
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("interrupted at"), "{text}");
    let report: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert!(report["stopped_at_s"].as_f64().unwrap() > 0.0);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}
