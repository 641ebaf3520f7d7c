//! `profile --events` and what becomes of the events: with real programs, and replayed by SimGrid
//! where it is installed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{pus_here, rankwright, say};
use crate::every_day::profile::{MPIS, Mpi, compiled_together, profile_with};

/// Records the events of a program and exports them; the folder of the export. `None` (and said so)
/// where the MPI is missing.
fn exported(mpi: &Mpi, sources: &[&str], arguments: &[&str], folder: &Path) -> Option<PathBuf> {
    let program = compiled_together(mpi, sources, folder)?.display().to_string();
    let launch = [&[mpi.launcher], mpi.options, &[program.as_str()], arguments].concat();
    let (output, text) = profile_with(folder, &["--events"], &launch);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("calls in order"), "{text}");
    let (profile, target) = (path_of(folder, "app.rwp"), path_of(folder, "ti"));
    let arguments = ["traffic", "export", &profile, "--format", "simgrid-ti", "-o", &target];
    let output = rankwright(&arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(folder.join("ti"))
}

fn path_of(folder: &Path, name: &str) -> String {
    folder.join(name).display().to_string()
}

/// (source, destination) -> messages and bytes of the sends in exported files.
fn sends(files: impl Iterator<Item = PathBuf>) -> BTreeMap<(u32, u32), (u64, u64)> {
    let mut pairs: BTreeMap<(u32, u32), (u64, u64)> = BTreeMap::new();
    for file in files {
        for line in fs::read_to_string(file).unwrap().lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            if matches!(words[1], "send" | "isend") {
                let pair = (words[0].parse().unwrap(), words[2].parse().unwrap());
                let (messages, bytes) = pairs.entry(pair).or_default();
                *messages += 1;
                *bytes += words[4].parse::<u64>().unwrap();
            }
        }
    }
    pairs
}

/// The same of the flows of a profile.
fn flows(profile: &str) -> BTreeMap<(u32, u32), (u64, u64)> {
    let output = rankwright(&["traffic", "export", profile, "--self"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let pair = |line: &str| {
        let cells: Vec<u64> = line.split(',').skip(1).map(|cell| cell.parse().unwrap()).collect();
        let rank = |cell: u64| u32::try_from(cell).unwrap();
        ((rank(cells[0]), rank(cells[1])), (cells[2], cells[3]))
    };
    text.lines().skip(1).map(pair).collect()
}

/// The same of the messages that `traffic messages` lists for a rank.
fn listed(profile: &str, rank: u32) -> BTreeMap<(u32, u32), (u64, u64)> {
    let rank_text = rank.to_string();
    let arguments = ["traffic", "messages", profile, "--rank", &rank_text, "--format", "csv"];
    let output = rankwright(&arguments).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut pairs: BTreeMap<(u32, u32), (u64, u64)> = BTreeMap::new();
    let mut time = 0.0;
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let begin: f64 = cells[1].parse().unwrap();
        assert!(begin >= time, "{line}");
        time = begin;
        let (messages, bytes) = pairs.entry((rank, cells[2].parse().unwrap())).or_default();
        *messages += 1;
        *bytes += cells[3].parse::<u64>().unwrap();
    }
    pairs
}

fn rank_files(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let names = (0..4).map(|rank| format!("rank-{rank}.txt"));
    let folder = folder.to_owned();
    names.map(move |name| folder.join(name))
}

/// Replays an export with SimGrid, which writes the actions that it made of it; `None` (and said
/// so) without SimGrid.
fn replayed(ti: &Path, folder: &Path) -> Option<Vec<PathBuf>> {
    fs::write(folder.join("hosts"), "node-0\nnode-1\nnode-2\nnode-3\n").unwrap();
    let platform = "<?xml version='1.0'?>\n\
        <!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n\
        <platform version=\"4.1\"><cluster id=\"c\" prefix=\"node-\" suffix=\"\" radical=\"0-3\" \
        speed=\"1Gf\" bw=\"1GBps\" lat=\"10us\"/></platform>\n";
    fs::write(folder.join("platform.xml"), platform).unwrap();
    let output = Command::new("timeout")
        .args(["60", "smpirun", "-np", "4", "-platform", "platform.xml", "-hostfile", "hosts"])
        .args(["-trace-ti", "-trace-file", "again", "-replay"])
        .arg(ti.join("ranks.txt"))
        .current_dir(folder)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.code() == Some(127) {
        say(format_args!("SKIPPED: smpirun (SimGrid) is not installed"));
        return None;
    }
    assert!(output.status.success() && text.contains("Simulation time"), "{text}");
    let files = fs::read_dir(folder.join("again_files")).unwrap();
    Some(files.map(|entry| entry.unwrap().path()).collect())
}

#[test]
fn the_exported_sends_are_those_of_the_profile_and_simgrid_replays_them() {
    for mpi in MPIS.iter() {
        let folder = tempfile::tempdir().unwrap();
        let arguments = ["--iterations", "50"];
        let ti = exported(mpi, &["examples/heat2d.c"], &arguments, folder.path());
        let Some(ti) = ti else { continue };
        let profile = path_of(folder.path(), "app.rwp");
        let flows = flows(&profile);
        assert!(!flows.is_empty());
        let of_rank_1 = flows.clone().into_iter().filter(|((source, _), _)| *source == 1);
        assert_eq!(listed(&profile, 1), of_rank_1.collect());
        assert_eq!(sends(rank_files(&ti)), flows, "{}", mpi.launcher);
        let shown = rankwright(&["timeline", "show", &profile]).output().unwrap();
        let notes = String::from_utf8_lossy(&shown.stderr);
        assert!(notes.contains("all 4 ranks ran on one host: --placement FILE shows"), "{notes}");
        assert_eq!(notes.contains("warning: 4 ranks shared "), pus_here() < 4, "{notes}");
        if let Some(files) = replayed(&ti, folder.path()) {
            assert_eq!(sends(files.into_iter()), flows, "{}", mpi.launcher);
        }
    }
}

#[test]
fn a_replay_sends_what_the_program_sent() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--iterations", "50"];
    let sources = ["examples/heat2d.c"];
    if exported(&MPIS[0], &sources, &arguments, folder.path()).is_none() {
        return;
    }
    let profile = path_of(folder.path(), "app.rwp");
    let run = |strategy: &str| -> serde_json::Value {
        let arguments =
            ["simulate", &profile, "--on", "paper:2013", "--replay", "--format", "json"];
        let output = rankwright(&arguments).args(["--strategy", strategy]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let (blocked, cyclic) = (run("blocked"), run("cyclic"));
    let recorded: u64 = flows(&profile).values().map(|(messages, _)| *messages).sum();
    // Collective operations are messages too.
    assert!(blocked["messages"].as_u64().unwrap() >= recorded);
    assert_eq!(blocked["messages"], cyclic["messages"]);
    assert_eq!(blocked["per_rank"].as_array().unwrap().len(), 4);
    // On one node nothing passes a network device.
    assert_eq!(blocked["nic_waiting_s"].as_f64(), Some(0.0));
    let through = |report: &serde_json::Value| {
        let servers = report["per_server"].as_array().unwrap().clone();
        servers.iter().any(|server| server["name"].as_str().unwrap().contains("nic0"))
    };
    assert!(!through(&blocked) && through(&cyclic));
    // A comparison of placements replays too, and gets the same times.
    let arguments = ["compare", &profile, "--on", "paper:2013", "--format", "json"];
    let output = rankwright(&arguments).args(["--strategies", "blocked,cyclic"]).output().unwrap();
    let comparison: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(comparison["by"], "replay", "{comparison}");
    for (row, replayed) in
        comparison["strategies"].as_array().unwrap().iter().zip([blocked, cyclic])
    {
        assert_eq!(row["workload_finish_s"], replayed["workload_finish_s"], "{row}");
    }
    // A simulation says that it does not.
    let arguments = ["simulate", &profile, "--on", "paper:2013", "--strategy", "blocked"];
    let output = rankwright(&arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("note: the calls were recorded: "), "{said}");
    // The answer of `place` is not weakened by collectives: the library's algorithms are known.
    let placement = path_of(folder.path(), "placement.json");
    let arguments = ["place", &profile, "--on", "paper:2013", "--format", "json", "-o", &placement];
    let output = rankwright(&arguments).output().unwrap();
    let placed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(placed["by"], "replay", "{placed}");
    let weaknesses = placed["answer"]["weaknesses"].as_array().unwrap().clone();
    let is_estimated = |weakness: &serde_json::Value| weakness["code"] == "collectives-estimated";
    assert!(!weaknesses.iter().any(is_estimated), "{weaknesses:?}");
}

/// Every call that is wrapped, on intercommunicators, with wildcards, persistent and nonblocking.
#[test]
fn simgrid_replays_all_kinds_of_calls() {
    let sources = [
        "tracer/tests/sampler/sampler.c",
        "tracer/tests/sampler/sampler_point_to_point.c",
        "tracer/tests/sampler/sampler_communicators.c",
        "tracer/tests/sampler/sampler_collectives.c",
        "tracer/tests/sampler/sampler_neighbourhoods.c",
        "tracer/tests/sampler/sampler_one_sided.c",
        "tracer/tests/sampler/sampler_partitioned.c",
        "tracer/tests/sampler/sampler_large_numbers.c",
    ];
    let folder = tempfile::tempdir().unwrap();
    let notes = folder.path().display().to_string();
    let Some(ti) = exported(&MPIS[0], &sources, &[&notes], folder.path()) else { return };
    if let Some(files) = replayed(&ti, folder.path()) {
        assert_eq!(sends(files.into_iter()), sends(rank_files(&ti)));
    }
}

#[test]
fn what_cannot_be_exported_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let profile = path_of(folder.path(), "plain.rwp");
    let made = rankwright(&["traffic", "generate", "ring", "--ranks", "4", "-o", &profile])
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let target = path_of(folder.path(), "ti");
    let format = ["--format", "simgrid-ti"];
    for (arguments, code, expected) in [
        (vec![profile.as_str(), "-o", &target], 3, "rankwright profile --events"),
        (vec![profile.as_str()], 2, "needs a folder"),
        (vec![profile.as_str(), "-o", &target, "--speed", "0"], 2, "expected a number above 0"),
        (vec!["pattern:ring:4", "-o", &target], 3, ""),
    ] {
        let arguments: Vec<&str> =
            ["traffic", "export"].into_iter().chain(arguments).chain(format).collect();
        let output = rankwright(&arguments).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
        assert!(text.contains(expected), "{arguments:?}: {text}");
    }
    assert!(!Path::new(&target).exists());
}
