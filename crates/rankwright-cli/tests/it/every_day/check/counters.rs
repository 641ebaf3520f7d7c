//! `check --counters`: records of real runs, judged and shown in each format.

use std::fs;

use crate::command::{rankwright, repository, transcript};

/// The transcript of a command about a record of testdata.
fn told(words: &[&str]) -> String {
    let words = [&["check", "--counters"], words].concat();
    transcript(&words, &rankwright(&words).output().expect("it starts"))
}

#[test]
fn a_run_as_placed_is_told_first() {
    insta::assert_snapshot!(told(&["testdata/counters/as-placed.json"]));
}

#[test]
fn devices_that_carried_nothing_are_a_mismatch() {
    insta::assert_snapshot!(told(&["testdata/counters/one-device.json"]));
}

#[test]
fn records_are_shown_in_all_formats() {
    insta::assert_snapshot!(told(&["testdata/counters/one-device.json", "--format", "csv"]));
    let json = told(&["testdata/counters/one-device.json", "--format", "json"]);
    for part in ["\"version\": 1", "\"verdict\": \"fault\"", "\"ratio_out\": 0.0", "exit code: 5"] {
        assert!(json.contains(part), "{json}");
    }
}

#[test]
fn a_job_that_was_killed_has_no_after_reading() {
    let folder = tempfile::tempdir().unwrap();
    let file = repository().join("testdata/counters/as-placed.json");
    let text = fs::read_to_string(file).unwrap();
    let mut record: serde_json::Value = serde_json::from_str(&text).unwrap();
    record["after"] =
        serde_json::json!({"nodes": [], "missing": "the job was killed, or still runs"});
    record["end"] = serde_json::Value::Null;
    let path = folder.path().join("killed.json");
    fs::write(&path, record.to_string()).unwrap();
    let output = rankwright(&["check", "--counters", path.to_str().unwrap()]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    let first = "cannot tell: no reading after the job: the job was killed, or still runs\n";
    assert!(text.starts_with(first), "{text}");
}
