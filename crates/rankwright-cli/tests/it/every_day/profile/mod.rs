//! `rankwright profile` with the real MPIs of this machine.

mod events;
mod openmpi_monitoring;
mod scripts;
mod which_mpi;
mod wrappers;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use crate::command::{pus_here, rankwright, repository, say, transcript};

/// An MPI of this machine: its launcher with the options that tests need, and its compiler.
pub(crate) struct Mpi {
    pub(crate) launcher: &'static str,
    pub(crate) options: &'static [&'static str],
    pub(crate) compiler: &'static str,
}

/// Debian's Open MPI 4.1 and MPICH 4.0, and what `scripts/bootstrap` puts into `.mpi/`: Open MPI 5 and
/// MPICH 5. MPICH 4.0 spins without yielding, so it gets few ranks.
pub(crate) static MPIS: LazyLock<[Mpi; 4]> = LazyLock::new(|| {
    let yielding = ["--mca", "mpi_yield_when_idle", "1"];
    let open_mpi = |more: &[&'static str]| [&["-np", "4"], more, &yielding].concat().leak();
    [
        Mpi {
            launcher: "mpirun.openmpi",
            options: open_mpi(&["--oversubscribe"]),
            compiler: "mpicc.openmpi",
        },
        Mpi { launcher: "mpiexec.mpich", options: &["-n", "4"], compiler: "mpicc.mpich" },
        Mpi {
            launcher: bootstrapped("openmpi5/bin/mpirun"),
            options: open_mpi(&["--map-by", ":OVERSUBSCRIBE", "--bind-to", "none"]),
            compiler: bootstrapped("openmpi5/bin/mpicc"),
        },
        Mpi {
            launcher: bootstrapped("mpich5/bin/mpiexec"),
            options: &["-n", "4"],
            compiler: bootstrapped("mpich5/bin/mpicc"),
        },
    ]
});

fn bootstrapped(command: &str) -> &'static str {
    repository().join(".mpi").join(command).display().to_string().leak()
}

/// The heat equation of `examples/`, compiled; `None` (and said so) where the MPI is missing.
pub(crate) fn heat(mpi: &Mpi, folder: &Path) -> Option<PathBuf> {
    compiled(mpi, "examples/heat2d.c", folder)
}

/// A C program of the repository, compiled.
fn compiled(mpi: &Mpi, source: &str, folder: &Path) -> Option<PathBuf> {
    compiled_together(mpi, &[source], folder)
}

/// The same of several sources, named as the first.
pub(crate) fn compiled_together(mpi: &Mpi, sources: &[&str], folder: &Path) -> Option<PathBuf> {
    let sources: Vec<PathBuf> = sources.iter().map(|source| repository().join(source)).collect();
    let program = folder.join(sources[0].file_stem().expect("a source file"));
    let compiled = Command::new(mpi.compiler)
        .arg("-O1")
        .args(sources)
        .arg("-o")
        .arg(&program)
        .arg("-lm")
        .output();
    match compiled {
        Ok(output) if output.status.success() => Some(program),
        Ok(output) => panic!("{}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => {
            say(format_args!("SKIPPED: {}: {error}", mpi.compiler));
            None
        }
    }
}

/// A shell script; its path.
fn script(folder: &Path, name: &str, text: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

/// Lets Open MPI start although tests may run as root.
pub(crate) fn as_root(command: &mut Command) -> &mut Command {
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
}

/// Where tests keep the tracers that they build: they are named by what they are made of.
pub(crate) const CACHE: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/cache");

pub(crate) fn profile(folder: &Path, launch: &[&str]) -> (Output, String) {
    profile_with(folder, &[], launch)
}

pub(crate) fn profile_with(folder: &Path, options: &[&str], launch: &[&str]) -> (Output, String) {
    let us = Path::new(env!("CARGO_BIN_EXE_rankwright"));
    profile_by(us, Path::new(CACHE), folder, options, launch)
}

/// The same by a program that is installed elsewhere, or with another cache.
pub(crate) fn profile_by(
    us: &Path,
    cache: &Path,
    folder: &Path,
    options: &[&str],
    launch: &[&str],
) -> (Output, String) {
    let profile = folder.join("app.rwp").display().to_string();
    let arguments = [&["profile", "-o", &profile], options, &["--"], launch].concat();
    let mut timeout = Command::new("timeout");
    let command = timeout.arg("60").arg(us).args(&arguments);
    let output = as_root(command)
        .env("XDG_CACHE_HOME", cache)
        // Open MPI 4.1 with UCX has no dynamic windows.
        .env("OMPI_MCA_osc", "^ucx")
        .output()
        .expect("the program starts");
    let text = transcript(&arguments, &output);
    (output, text)
}

/// The messages of a profile.
fn messages(folder: &Path) -> serde_json::Value {
    let file = folder.join("app.rwp").display().to_string();
    let shown = rankwright(&["traffic", "show", &file, "--format", "json"]).output().unwrap();
    let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).expect("it is JSON");
    shown["messages"].clone()
}

#[test]
fn a_real_program_is_recorded_under_each_mpi() {
    for mpi in MPIS.iter() {
        let folder = tempfile::tempdir().unwrap();
        let Some(program) = heat(mpi, folder.path()) else { continue };
        let program = program.display().to_string();
        let run = ["--cells", "64", "--fields", "2", "--iterations", "5"];
        let launch = [&[mpi.launcher], mpi.options, &[program.as_str()], &run[..]].concat();
        // One retry: launchers on a loaded machine do hang now and then.
        let (mut output, mut text) = profile(folder.path(), &launch);
        if !output.status.success() {
            say(format_args!("retried: {text}"));
            (output, text) = profile(folder.path(), &launch);
        }
        assert!(output.status.success(), "{text}");
        assert!(text.contains("\ngain at most    "), "{text}");
        let next = text.lines().find_map(|line| line.strip_prefix("next: ")).expect("a command");
        assert!(next.contains("rankwright place ") && next.contains("app.rwp"), "{next}");
        // On a machine with too few cores the placement is an example, without the program.
        let typed = format!(" -- {program} {}", run.join(" "));
        assert!(next.ends_with(&typed) || next.contains(" -o example.json"), "{next}");
        let file = folder.path().join("app.rwp").display().to_string();
        let shown = rankwright(&["traffic", "show", &file, "--format", "json"]).output().unwrap();
        let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
        // 2 x 2 blocks of 32 cells: 8 pairs, 5 messages each, of 32 cells x 2 fields x 8 bytes.
        assert_eq!(shown["program"], "heat2d");
        assert_eq!(shown["pairs"], 8, "{}: {shown}", mpi.launcher);
        assert_eq!(shown["messages"], 40);
        assert_eq!(shown["bytes"], 40 * 32 * 2 * 8);
        assert_eq!(shown["hosts"], 1);
        // One or two clocks of each rank for its halo, and three for what rank 0 gathers.
        let clocks = shown["sending"]["clocks"].as_u64().expect("times were recorded");
        assert!((7..=11).contains(&clocks), "{}: {shown}", mpi.launcher);
        let files: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(files.len(), 2, "only program and profile: {files:?}");
    }
}

#[test]
fn ranks_that_will_share_pus_are_told_before_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let ranks = (pus_here() + 1).to_string();
    for mpi in MPIS.iter() {
        let Some(program) = compiled(mpi, "tracer/tests/programs/lives.c", folder.path()) else {
            continue;
        };
        // A launcher that only says what it is: the warning comes before the run.
        let text = format!("[ \"$1\" = --version ] && exec {} --version; exit 7", mpi.launcher);
        let launcher = script(folder.path(), "mpirun", &text);
        let program = program.display().to_string();
        let (output, text) = profile(folder.path(), &[&launcher, "-n", &ranks, &program]);
        assert_eq!(output.status.code(), Some(7), "{text}");
        assert!(text.contains(&format!("warning: {ranks} ranks will share the ")), "{text}");
        let (_, text) = profile(folder.path(), &[&launcher, "-n", "1", &program]);
        assert!(!text.contains("ranks will share"), "{text}");
    }
}

#[test]
fn a_run_that_dies_leaves_a_partial_profile() {
    let mpi = &MPIS[0];
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(mpi, "tracer/tests/programs/lives.c", folder.path()) else {
        return;
    };
    let program = program.display().to_string();
    for (way, sentence) in [
        ("killed", "died without MPI_Finalize: recorded until then"),
        ("abort", "called MPI_Abort: recorded until then"),
        ("exit", "ended without MPI_Finalize: recorded until then"),
    ] {
        let launch = [&[mpi.launcher], mpi.options, &[program.as_str(), way]].concat();
        let (output, text) = profile(folder.path(), &launch);
        assert_ne!(output.status.code(), Some(0), "{text}");
        assert!(text.contains(sentence), "{text}");
        let told = "warning: the launcher ended with exit code ";
        assert!(text.contains(told) && text.contains("record a run to its end"), "{text}");
        let file = folder.path().join("app.rwp").display().to_string();
        let shown = rankwright(&["traffic", "show", &file]).output().unwrap();
        let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
        assert!(shown.contains("partial  ") && shown.contains(sentence), "{shown}");
        let compare = ["compare", &file, "--on", "synthetic:core:4 pu:1"];
        let text = transcript(&compare, &rankwright(&compare).output().unwrap());
        assert!(text.contains("app.rwp is partial: rank"), "{text}");
        assert!(shown.contains("to itself       5 B"), "{shown}");
        let files: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(files.len(), 2, "only program and profile: {files:?}");
    }
}

#[test]
fn a_summary_in_a_format_has_standard_output_for_itself() {
    let mpi = &MPIS[0];
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = heat(mpi, folder.path()) else { return };
    let program = program.display().to_string();
    let run = ["--cells", "64", "--fields", "2", "--iterations", "5"];
    let launch = [&[mpi.launcher], mpi.options, &[program.as_str()], &run[..]].concat();
    let file = folder.path().join("app.rwp").display().to_string();
    for format in ["json", "csv"] {
        let (output, text) = profile_with(folder.path(), &["--format", format], &launch);
        assert!(output.status.success(), "{text}");
        let show = ["traffic", "show", &file, "--format", format];
        let shown = rankwright(&show).output().unwrap();
        assert_eq!(output.stdout, shown.stdout, "{text}");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains("heat2d: 2x2 processes"), "what the program prints: {text}");
        assert!(!errors.contains("gain at most"), "{text}");
    }
    let (output, text) = profile_with(folder.path(), &["--format", "json"], &launch);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect(&text);
    assert_eq!((&json["version"], &json["ranks"]), (&1.into(), &4.into()), "{text}");
}

#[test]
fn what_nobody_reads_leaves_nothing_behind() {
    let mpi = &MPIS[0];
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(mpi, "tracer/tests/programs/lives.c", folder.path()) else {
        return;
    };
    let us = env!("CARGO_BIN_EXE_rankwright");
    let program = program.display().to_string();
    let launch = [&[mpi.launcher], mpi.options, &[&program]].concat().join(" ");
    // The first to end the pipe, then a full disk for the summary: only that is a failure, and the
    // program's own failure comes first.
    for (way, place, code) in [
        ("message", "2>&1 | true", 0),
        ("message", "2>/dev/full", 1),
        ("code", "2>&1 | true", 3),
        ("code", "2>/dev/full", 3),
    ] {
        let line = format!("{us} profile -o app.rwp -- {launch} {way}");
        let script = match place.split_once(" | ") {
            Some((redirected, reader)) => format!(
                "{{ {line} {redirected}; echo $? > code; }} | {reader}; exit $(cat code; rm code)"
            ),
            None => format!("{line} {place}"),
        };
        let mut shell = Command::new("sh");
        let shell = as_root(shell.args(["-c", &script])).current_dir(folder.path());
        let output = shell.env("XDG_CACHE_HOME", CACHE).output().expect("sh is everywhere");
        assert_eq!(output.status.code(), Some(code), "{script}");
        let files: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(files.len(), 2, "{script}: only program and profile: {files:?}");
    }
}

#[test]
fn spool_files_from_several_hosts_are_merged() {
    let mpi = &MPIS[0];
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = heat(mpi, folder.path()) else { return };
    let program = program.display().to_string();
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::create_dir(at("spool")).unwrap();
    // Nobody can join what lies where this host does not see it: the launcher's copy stands for that.
    let spool = at("spool");
    let copy = format!("rm -rf {0}; cp -r {spool} {0}", at("collected"));
    let run = ["--cells", "64", "--fields", "2", "--iterations", "5"];
    let launcher = script(folder.path(), "mpirun", &format!("{} \"$@\"; {copy}", mpi.launcher));
    script(folder.path(), "mpicc", &format!("exec {} \"$@\"", mpi.compiler));
    let (output, text) = profile_with(
        folder.path(),
        &["--per-rank", "--spool", &spool],
        &[&[launcher.as_str()], mpi.options, &[program.as_str()], &run[..]].concat(),
    );
    assert!(output.status.success(), "{text}");
    let direct =
        rankwright(&["traffic", "export", &at("app.rwp"), "--format", "csv"]).output().unwrap();

    let collected = std::fs::read_dir(at("collected")).unwrap().next().unwrap().unwrap().path();
    let (a, b) = (at("a"), at("b"));
    for (place, ranks) in [(&a, 0..2), (&b, 2..4)] {
        std::fs::create_dir(place).unwrap();
        for rank in ranks {
            let name = format!("rank-{rank}.rwr");
            std::fs::rename(collected.join(&name), Path::new(place).join(&name)).unwrap();
        }
    }
    let merged = at("merged.rwp");
    let arguments = ["profile", "-o", &merged, "--name", "heat2d", "--merge", &a, &b];
    let output = rankwright(&arguments).output().unwrap();
    assert!(output.status.success(), "{}", transcript(&arguments, &output));
    let joined = rankwright(&["traffic", "export", &merged, "--format", "csv"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&joined.stdout).lines().count(), 9);
    assert_eq!(joined.stdout, direct.stdout);

    let arguments = ["profile", "-o", &merged, "--merge", &a];
    let text = transcript(&arguments, &rankwright(&arguments).output().unwrap());
    assert!(text.contains("partial         ranks 2-3 left no records"), "{text}");
}

#[test]
fn a_program_that_is_not_mpi_or_fails_leaves_no_profile_and_its_exit_code() {
    let mpi = &MPIS[0];
    let folder = tempfile::tempdir().unwrap();
    if Command::new(mpi.launcher).arg("--version").output().is_err() {
        say(format_args!("SKIPPED: {} is missing", mpi.launcher));
        return;
    }
    for (program, code) in [("true", 1), ("false", 1)] {
        let launch = [&[mpi.launcher], mpi.options, &[program]].concat();
        let (output, text) = profile(folder.path(), &launch);
        assert_eq!(output.status.code(), Some(code), "{text}");
        assert!(text.contains(&format!("{program} names no MPI library")), "{text}");
        assert!(text.contains("the ranks recorded nothing"), "{text}");
        assert!(!folder.path().join("app.rwp").exists());
    }
}

#[test]
fn a_launcher_that_is_none_is_said_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    for (launch, code, message) in [
        (&["no-such-launcher", "./app"][..], 127, "program not found"),
        (&["./Cargo.toml", "./app"], 126, "the file is not executable"),
        (&["sh", "./app"], 125, "not a known launcher, expected one of"),
    ] {
        let (output, text) = profile(folder.path(), launch);
        assert_eq!(output.status.code(), Some(code), "{text}");
        assert!(text.contains(message), "{text}");
    }
}

#[test]
fn behind_a_launcher_rankwright_is_told_to_go_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let profile = folder.path().join("app.rwp");
    let arguments = ["profile", "-o", profile.to_str().unwrap(), "--", "sh", "./app"];
    let output = rankwright(&arguments).env("PMI_RANK", "0").output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{text}");
    let told =
        "rankwright goes before the launcher: rankwright profile -o app.rwp -- mpirun -np 4 sh";
    assert!(text.contains(told), "{text}");
}

#[test]
fn a_tracer_that_cannot_be_compiled_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let launcher = script(folder.path(), "mpirun", "echo 'mpirun (Open MPI) 4.1.4'");
    script(
        folder.path(),
        "mpicc",
        "[ \"$1\" = -showme:version ] || { echo 'no mpi.h' >&2; exit 1; }; echo 'Open MPI 4.1.4'",
    );
    let us = Path::new(env!("CARGO_BIN_EXE_rankwright"));
    let cache = folder.path().join("cache");
    let line = [launcher.as_str(), "-np", "1", "true"];
    let (output, text) = profile_by(us, &cache, folder.path(), &[], &line);
    assert_eq!(output.status.code(), Some(125), "{text}");
    assert!(text.contains("could not compile the tracer:\nno mpi.h"), "{text}");
    assert_eq!(std::fs::read_dir(folder.path().join("cache/rankwright")).unwrap().count(), 0);
}

#[test]
fn a_profile_that_cannot_be_a_file_is_refused_before_anything_starts() {
    let directory = env!("CARGO_TARGET_TMPDIR");
    let launch = ["mpirun.openmpi", "-np", "1", "true"];
    for (output, code, message) in [
        (directory, 125, ": a folder; give the name of a file, like "),
        ("/dev/null", 125, "not a regular file"),
        ("no-such-folder/", 125, "the name of a folder"),
        ("Cargo.toml", 125, "an existing file that is not a profile"),
        ("-", 2, "expected a file"),
    ] {
        if output != "-" && Command::new(launch[0]).arg("--version").output().is_err() {
            say(format_args!("SKIPPED: {} is missing", launch[0]));
            continue;
        }
        let arguments = [&["profile", "-o", output, "--"], &launch[..]].concat();
        let refused = rankwright(&arguments).output().expect("the program starts");
        let text = transcript(&arguments, &refused);
        assert_eq!(refused.status.code(), Some(code), "{text}");
        assert!(text.contains(message), "{text}");
    }
}
