//! `run --counters` under a real launcher: the devices of a lab beside what was due.

use std::fs;
use std::process::{Command, Output};

use super::Labs;
use super::mpi::RING;
use crate::command::{rankwright, say};

/// A lab of three nodes, with a ring of six ranks in turn on them; `None` where something is missing.
fn prepared(compiler: &str) -> Option<Labs> {
    let labs = Labs::new()?;
    let folder = labs.folder.path();
    fs::write(folder.join("ring.c"), RING).unwrap();
    let mut compile = Command::new(compiler);
    compile.arg("-o").args([folder.join("ring"), folder.join("ring.c")]);
    if !compile.status().is_ok_and(|status| status.success()) {
        say(format_args!("SKIPPED: {compiler} is missing or fails"));
        return None;
    }
    let lab = folder.join("lab.toml");
    labs.ok(&[
        "up",
        "--nodes",
        "3",
        "--cores",
        "2",
        "--nic",
        "1 Gbit/s",
        "--name",
        "a",
        "-o",
        lab.to_str().unwrap(),
    ]);
    // 20 messages of 100 kB to the next rank.
    let ring = "[[job]]\nname = \"ring\"\nprocesses = 6\npattern = \"ring\"\nlength = \"100 kB\"\n\
                messages = 20\nrate = \"10 /s\"\n";
    fs::write(folder.join("ring.toml"), ring).unwrap();
    for strategy in ["cyclic", "blocked"] {
        let output = format!("{strategy}.json");
        let map = ["map", "ring.toml", "--on", "lab.toml", "--strategy", strategy, "-o", &output];
        let done = rankwright(&map).current_dir(folder).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    }
    Some(labs)
}

/// Runs a command of ours on the head of the lab.
fn on_head(labs: &Labs, words: &[&str]) -> Output {
    let mut run = labs.command(&["exec", "--name", "a", "head", env!("CARGO_BIN_EXE_rankwright")]);
    run.args(words).current_dir(labs.folder.path());
    run.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    run.output().expect("it starts")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn devices_carry_what_is_due_and_other_places_are_found() {
    let Some(labs) = prepared("mpicc.openmpi") else { return };
    let run = ["run", "cyclic.json", "--profile", "ring.toml", "--counters", "r.json"];
    let run = [&run[..], &["--timeout", "20s", "--for", "openmpi4", "--", "./ring"]].concat();
    let run = [&run[..], &["100000", "20"]].concat();
    // Open MPI 4.1.4 hangs in one of a hundred starts.
    let mut output = on_head(&labs, &run);
    if output.status.code() == Some(124) {
        output = on_head(&labs, &run);
    }
    assert!(output.status.success(), "{output:?}");
    let text = said(&output);
    assert!(text.contains("counters: all 3 devices carried what was predicted: 1.0"), "{text}");
    let check = ["check", "--counters", "r.json", "blocked.json"];
    let output = rankwright(&check).current_dir(labs.folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    assert!(said(&output).contains("ranks run on other nodes than placed"), "{output:?}");
}

#[test]
fn the_exit_code_stays_that_of_the_program_and_a_missing_node_is_told() {
    let Some(labs) = prepared("mpicc.openmpi") else { return };
    let run = |placement, program: &[&str]| {
        let words = ["run", placement, "--profile", "ring.toml", "--counters", "r.json"];
        on_head(&labs, &[&words[..], &["--for", "openmpi4", "--"], program].concat())
    };
    let output = run("cyclic.json", &["sh", "-c", "exit 7"]);
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    let text = said(&output);
    let expected = "counters: cannot tell: the program ended with exit code 7, perhaps early";
    assert!(text.contains(expected), "{text}");
    let words = ["run", "cyclic.json", "--profile", "ring.toml", "--counters", "r.json"];
    let words =
        [&words[..], &["--for", "openmpi4", "--timeout", "1s", "--", "sleep", "9"]].concat();
    let output = on_head(&labs, &words);
    assert_eq!(output.status.code(), Some(124), "{output:?}");
    let killed =
        "counters: cannot tell: no reading after the job: the job was ended after its time limit";
    assert!(said(&output).contains(killed), "{output:?}");
    // The agent reaches no node: neither the readers nor the job start, and the record says so.
    let words = ["run", "cyclic.json", "--profile", "ring.toml", "--counters", "r.json", "--agent"];
    let output =
        on_head(&labs, &[&words[..], &["false", "--for", "openmpi4", "--", "true"]].concat());
    assert!(!output.status.success(), "{output:?}");
    assert!(said(&output).contains("no counters before the job: "), "{output:?}");
    let text = fs::read_to_string(labs.folder.path().join("r.json")).unwrap();
    assert!(text.contains("\"missing\":\"node[0-2]: no answer; "), "{text}");
}
