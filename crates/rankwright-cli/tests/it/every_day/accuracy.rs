//! The record of accuracy: kept by `run`, told by `place` on standard error, and by nothing else.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::command::{on_this_host, rankwright, say};

const FILE: &str = "state/rankwright/predictions.jsonl";

/// A folder with a placement of two ranks on this host, of which 2 s are predicted.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let host = on_this_host();
    let node =
        format!("emulated = true\n[[node]]\nnames = \"{host}\"\ntopology = \"core:2 pu:1\"\n");
    fs::write(folder.path().join("here.toml"), node).unwrap();
    let map =
        ["map", "pattern:ring:2", "--on", "here.toml", "--strategy", "blocked", "-o", "p.json"];
    let output = here(folder.path(), &map).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let path = folder.path().join("p.json");
    let mut placement: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    placement["predicted"]["run_time_s"] = 2.0.into();
    fs::write(&path, placement.to_string()).unwrap();
    folder
}

/// `rankwright` with a state folder of its own.
fn here(folder: &Path, words: &[&str]) -> Command {
    let mut command = rankwright(words);
    command.current_dir(folder).env_remove("RANKWRIGHT_RECORD");
    command.env("XDG_STATE_HOME", folder.join("state"));
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command
}

fn place(folder: &Path, program: &[&str]) -> Output {
    let words =
        ["place", "pattern:ring:2", "--on", "here.toml", "--effort", "fast", "-o", "placed"];
    here(folder, &[&words[..], program].concat()).output().unwrap()
}

fn told(output: Output) -> String {
    String::from_utf8(output.stderr).unwrap()
}

/// A comparison of runs that time themselves: `run` keeps no line of a run as short as the start of a launcher.
fn compared(seconds: &str) -> [&str; 14] {
    [
        "run",
        "p.json",
        "--for",
        "openmpi4",
        "--compare",
        "placement,default",
        "--repeat",
        "1",
        "--time-regex",
        "took (.*)",
        "--",
        "echo",
        "took",
        seconds,
    ]
}

#[test]
fn runs_are_kept_and_told_on_standard_error_only() {
    let folder = folder();
    let run = |words: &[&str]| here(folder.path(), words).output().unwrap();
    let (begin, end) = (&compared("2.5")[..4], &compared("2.5")[4..]);
    let output = run(&[begin, &["--no-record"], end].concat());
    if output.status.code() == Some(127) {
        say("SKIPPED: mpirun.openmpi is missing");
        return;
    }
    assert!(output.status.success(), "{output:?}");
    assert!(run(&["run", "p.json", "--for", "openmpi4", "--", "true"]).status.success());
    assert!(!folder.path().join("state").exists());
    let before = place(folder.path(), &[]);
    assert!(run(&compared("2.5")).status.success());
    let lines = fs::read_to_string(folder.path().join(FILE)).unwrap();
    assert_eq!(lines.lines().count(), 1, "{lines}");
    let after = place(folder.path(), &[]);
    assert_eq!(before.stdout, after.stdout);
    let told = self::told(after);
    assert!(
        told.contains("1 prediction on this cluster: 20 % median error, of runs that"),
        "{told}"
    );
    assert!(!self::told(before).contains("on this cluster"));
    // With other arguments the program is another one.
    assert!(run(&compared("4")).status.success());
    let told = self::told(place(folder.path(), &["--", "echo", "took", "4"]));
    let expected =
        "1 prediction for this program with these arguments on this cluster: 50 % median error";
    assert!(told.contains(expected), "{told}");
    assert!(!self::told(place(folder.path(), &[])).contains("on this cluster"));
}

#[test]
fn a_damaged_or_forbidden_record_is_a_warning() {
    let folder = folder();
    let path = folder.path().join(FILE);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "{\"version\": 7}\nnonsense\n").unwrap();
    let output = place(folder.path(), &[]);
    assert!(output.status.success(), "{output:?}");
    let told = self::told(output);
    let expected = "predictions.jsonl:1: found a damaged line or another version, expected version 1 of a \
                    prediction; such lines are left out; delete them";
    assert!(told.contains(expected), "{told}");
    // A file where the folder should be.
    fs::remove_dir_all(folder.path().join("state")).unwrap();
    fs::write(folder.path().join("state"), "").unwrap();
    let output = here(folder.path(), &compared("2.5")).output().unwrap();
    if output.status.code() == Some(127) {
        say("SKIPPED: mpirun.openmpi is missing");
        return;
    }
    assert!(output.status.success(), "{output:?}");
    let told = self::told(output);
    assert!(told.contains("this run is not in the record of accuracy (--no-record)"), "{told}");
}

#[test]
fn a_site_turns_the_record_off() {
    let folder = folder();
    let site = folder.path().join("site.toml");
    fs::write(&site, "record = false\n").unwrap();
    for variable in [("RANKWRIGHT_SITE", site.to_str().unwrap()), ("RANKWRIGHT_RECORD", "off")] {
        here(folder.path(), &compared("2.5")).env(variable.0, variable.1).output().unwrap();
        assert!(!folder.path().join("state").exists(), "{variable:?}");
    }
}

#[test]
fn one_job_of_several_is_counted_and_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let node = format!(
        "emulated = true\n[[node]]\nnames = \"{}\"\ntopology = \"core:5 pu:1\"\n",
        on_this_host()
    );
    fs::write(path("here.toml"), node).unwrap();
    let job = |name: &str, ranks: u32, messages: u32| {
        format!(
            "[[job]]\nname = \"{name}\"\nprocesses = {ranks}\npattern = \"ring\"\n\
             length = \"1 kB\"\nmessages = {messages}\nrate = \"10 /s\"\n"
        )
    };
    fs::write(path("jobs.toml"), job("a", 3, 5) + &job("b", 2, 7)).unwrap();
    fs::write(path("b.toml"), job("b", 2, 7)).unwrap();
    let map = ["map", "jobs.toml", "--on", "here.toml", "--strategy", "blocked", "-o", "p.json"];
    let output = here(folder.path(), &map).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let mut placement: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(path("p.json")).unwrap()).unwrap();
    placement["predicted"]["run_time_s"] = 2.0.into();
    fs::write(path("p.json"), placement.to_string()).unwrap();
    let run = ["run", "p.json", "--job", "b", "--profile", "b.toml", "--counters", "r.json"];
    let run = [&run[..], &["--for", "openmpi4", "--", "true"]].concat();
    let output = here(folder.path(), &run).output().unwrap();
    if output.status.code() == Some(127) {
        say("SKIPPED: mpirun.openmpi is missing");
        return;
    }
    assert!(output.status.success(), "{output:?}");
    let record: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(path("r.json")).unwrap()).unwrap();
    assert_eq!((&record["job"], &record["flows"][0][3]), (&"b".into(), &7.into()));
    assert!(!path("state").exists());
}
