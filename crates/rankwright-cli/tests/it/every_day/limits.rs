//! `place` under `--time`, ended by the user, and its progress line.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use crate::command::{rankwright, repository, say, signal, transcript};

const FOUR_NODES: &str = "examples/clusters/four-nodes.toml";
const RAILS: &str = "examples/clusters/dual-rail.toml";
const TIMED: &str = "pattern:halo-2d:16:renumber,rate=200,length=64kB,messages=40";
/// A search that takes hours.
const LONG: [&str; 6] =
    ["place", TIMED, "--on", FOUR_NODES, "--strategies", "blocked,contention:moves=1000000000000"];

fn ranks_in(placement: &Path) -> usize {
    let placement: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(placement).unwrap()).unwrap();
    placement["jobs"][0]["ranks"].as_array().expect("a list").len()
}

#[test]
fn without_any_time_there_is_still_a_placement() {
    let untimed = "pattern:halo-2d:16:renumber";
    let cases: &[&[&str]] = &[
        &["place", TIMED, "--on", FOUR_NODES],
        &["place", untimed, "--on", FOUR_NODES],
        &["place", TIMED, "--on", FOUR_NODES, "--strategies", "contention"],
        &["place", untimed, "--on", FOUR_NODES, "--strategies", "multisection"],
        &["place", TIMED, "--on", FOUR_NODES, "--loop", "arrival", "--format", "json"],
        &["place", TIMED, "--on", RAILS, "--nics", "by-load"],
        &["place", TIMED, "--on", "synthetic:core:8 pu:1", "--nodes", "2..4"],
    ];
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("placement.json");
    for case in cases {
        for time in ["0s", "1us"] {
            let arguments = [case, &["--time", time, "-o", file.to_str().unwrap()][..]].concat();
            let output = rankwright(&arguments).output().expect("the program starts");
            assert!(output.status.success(), "{}", transcript(&arguments, &output));
            assert_eq!(ranks_in(&file), 16);
            fs::remove_file(&file).unwrap();
        }
    }
}

/// Interrupts a search as often as given, once it runs.
fn interrupted(folder: &Path, more: &[&str], times: usize) -> Output {
    let out = folder.join("placement.json").display().to_string();
    let mut child = rankwright(&[&LONG[..], more, &["-o", &out]].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // Long enough for a slow machine to begin.
    thread::sleep(Duration::from_secs(3));
    assert!(child.try_wait().unwrap().is_none(), "it was over too early");
    for _ in 0..times {
        signal("INT", child.id().into());
    }
    child.wait_with_output().unwrap()
}

#[test]
fn the_first_interrupt_keeps_the_best_so_far_where_that_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let output = interrupted(folder.path(), &["--keep-best"], 1);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}");
    assert!(text.contains("warning: interrupted: this is the best placement so far"), "{text}");
    assert!(!output.stdout.is_empty());
    assert_eq!(ranks_in(&folder.path().join("placement.json")), 16);
}

#[test]
fn the_second_interrupt_ends_it_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let output = interrupted(folder.path(), &["--keep-best"], 2);
    // A fast machine may have been done before the second one came.
    let ended = output.status.signal() == Some(libc::SIGINT);
    assert!(ended || output.status.success(), "{}", output.status);
    // What is there is whole.
    if folder.path().join("placement.json").exists() {
        assert_eq!(ranks_in(&folder.path().join("placement.json")), 16);
    }
}

#[test]
fn otherwise_an_interrupt_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let output = interrupted(folder.path(), &[], 1);
    assert_eq!(output.status.signal(), Some(libc::SIGINT));
    assert!(output.stdout.is_empty());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// What a terminal shows while a command runs; `None` without script(1) of util-linux.
fn on_a_terminal(arguments: &[&str]) -> Option<String> {
    let command = rankwright(arguments);
    let quoted = |text: &str| format!("'{text}'");
    let words = arguments.iter().map(|word| quoted(word));
    let line: Vec<String> =
        [quoted(command.get_program().to_str()?)].into_iter().chain(words).collect();
    let output = Command::new("script")
        .args(["-qec", &line.join(" "), "/dev/null"])
        .current_dir(repository())
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_terminal_shows_what_is_done_and_the_time_left() {
    let limited = [&LONG[..], &["--time", "3s", "-o", "/dev/null"]].concat();
    let Some(shown) = on_a_terminal(&limited) else {
        say("SKIPPED the progress line on a terminal: no script(1) of util-linux");
        return;
    };
    assert!(shown.contains(": contention:moves=1000000000000, "), "{shown}");
    assert!(shown.contains(" s left in all"), "{shown}");
    // Cleared before the answer.
    let line = shown.rfind("left in all").unwrap();
    assert!(shown[line..].contains("\u{1b}[2K"), "{shown}");
    let quiet = on_a_terminal(&[&limited[..], &["--quiet"]].concat()).expect("script is there");
    assert!(!quiet.contains("left in all"), "{quiet}");
    let piped = rankwright(&limited).output().expect("the program starts");
    assert!(!String::from_utf8_lossy(&piped.stderr).contains("left in all"));
}
