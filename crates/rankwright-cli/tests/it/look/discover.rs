//! `cluster discover --all-nodes` under launchers that are scripts: what the nodes leave in the shared
//! folder becomes one description, or nothing. Real launchers: `every_day/slurm` and `prove/lab`.

use std::process::{Command, Output};

use tempfile::TempDir;

use crate::command::{make_executable, rankwright, transcript};

/// A description as a node gives it.
fn node(name: &str, cores: u32, memory: &str) -> String {
    format!(
        "cat >\"$folder/{name}.toml\" <<'END'\n[[node]]\nnames = \"{name}\"\n\
         topology = \"core:{cores} pu:1\"\nmemory = \"{memory}\"\nEND\n"
    )
}

/// A working directory with a launcher that says it is MPICH's, and does `script` in the shared folder.
fn site(script: &str) -> TempDir {
    let site = tempfile::tempdir().expect("a working directory");
    let launcher = format!(
        "#!/bin/sh\n\
         if [ \"$1\" = --version ]; then echo 'HYDRA build details:'; echo '  Version: 4.2.0'; exit; fi\n\
         for folder; do :; done\n{script}"
    );
    let path = site.path().join("mpirun");
    std::fs::write(&path, launcher).expect("the folder is writable");
    make_executable(&path);
    site
}

/// Runs in the site, in a job of LSF on three hosts; what was told.
fn discover(site: &TempDir, more: &[&str]) -> (Output, String) {
    let arguments = [&["cluster", "discover", "--all-nodes", "-o", "all.toml"], more].concat();
    let mut command: Command = rankwright(&arguments);
    command
        .current_dir(site.path())
        .env("PATH", format!("{}:/bin:/usr/bin", site.path().display()));
    command.env("LSB_JOBID", "7").env("LSB_MCPU_HOSTS", "n0 4 n1 4 n2 4").env_remove("PBS_JOBID");
    let output = command.output().expect("it starts");
    let text = transcript(&arguments, &output);
    (output, text)
}

/// What is in the working directory beside the launcher.
fn left(site: &TempDir) -> Vec<String> {
    let entries = std::fs::read_dir(site.path()).expect("it exists").flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name != "mpirun").collect()
}

#[test]
fn nodes_that_are_alike_become_one_type() {
    let nodes = [node("n2", 4, "65400 MiB"), node("n0.site", 4, "64 GiB"), node("n1", 8, "64 GiB")]
        .concat();
    let site = site(&format!("echo \"$*\" >told\n{nodes}"));
    let (output, text) = discover(&site, &[]);
    assert!(output.status.success(), "{text}");
    let written = std::fs::read_to_string(site.path().join("all.toml")).expect("it is written");
    let types: Vec<&str> = written.lines().filter(|line| line.starts_with("names = ")).collect();
    // Memory that differs a little is no other type; names and order are those of the job.
    assert_eq!(types, ["names = \"n0\"", "names = \"n1\"", "names = \"n2\""], "{written}");
    assert_eq!(written.matches("65400MiB").count(), 2, "{written}");
    assert!(text.contains("n[0,2]: 2 nodes of"), "{text}");
    let told = std::fs::read_to_string(site.path().join("told")).expect("the launcher told it");
    assert!(told.starts_with("-hosts n0:1,n1:1,n2:1 -n 3 /"), "{told}");
    assert!(told.contains(" cluster discover --report-to /"), "{told}");
}

#[test]
fn programs_of_the_batch_system_reach_nodes_without_a_launcher() {
    let nodes: String = ["n0", "n1", "n2"].iter().map(|name| node(name, 4, "64 GiB")).collect();
    let lsf = [("LSB_JOBID", "7"), ("LSB_MCPU_HOSTS", "n0 4 n1 4 n2 4")];
    let pbs = [("PBS_JOBID", "7"), ("PBS_NODEFILE", "nodefile")];
    for (program, job, told) in [("blaunch", lsf, "-z n0 n1 n2 /"), ("pbsdsh", pbs, "-- /")] {
        let site = tempfile::tempdir().expect("a working directory");
        let script = format!("#!/bin/sh\nfor folder; do :; done\necho \"$*\" >told\n{nodes}");
        std::fs::write(site.path().join(program), script).expect("the folder is writable");
        make_executable(&site.path().join(program));
        std::fs::write(site.path().join("nodefile"), "n0\nn0\nn1\nn2\n").expect("writable");
        let tools = ["sh", "cat"].map(|name| (name, site.path().join(name)));
        for (name, link) in tools {
            std::os::unix::fs::symlink(format!("/bin/{name}"), link).expect("writable");
        }
        let arguments = ["cluster", "discover", "--all-nodes", "-o", "all.toml"];
        let mut command = rankwright(&arguments);
        // No launcher on PATH.
        command.current_dir(site.path()).env("PATH", site.path());
        command.env_remove("LSB_JOBID").env_remove("PBS_JOBID").envs(job);
        let output = command.output().expect("it starts");
        let text = transcript(&arguments, &output);
        assert!(output.status.success(), "{text}");
        assert!(text.contains("n[0-2]: 3 nodes of"), "{text}");
        let line = std::fs::read_to_string(site.path().join("told")).expect("it was called");
        assert!(line.starts_with(told), "{line}");
        assert!(line.contains(" cluster discover --report-to /"), "{line}");
    }
}

#[test]
fn a_node_that_fails_or_is_silent_is_named_and_nothing_is_written() {
    let (first, second) = (node("n0", 4, "64 GiB"), node("n1", 4, "64 GiB"));
    let failed = "echo 'libhwloc: load failed' >\"$folder/n2.failed\"\n";
    let broken = "echo 'names = ' >\"$folder/n2.toml\"\n";
    for (script, more, told) in [
        (
            format!("{first}{second}"),
            &[][..],
            "1 of 3 nodes not described, nothing is written: n2: no",
        ),
        (format!("{first}{second}{failed}"), &[], "written: n2: libhwloc: load failed\n"),
        (format!("{first}{second}{broken}"), &[], "/n2.toml:1: "),
        (format!("{first}echo no route >&2; exit 3"), &[], "n[1-2]: no answer; "),
        (format!("{first}echo no route >&2; exit 3"), &[], "exit status: 3\n  no route\n"),
        (format!("{first}exec sleep 1000"), &["--timeout", "300ms"], "was ended after 300 ms"),
    ] {
        let site = site(&script);
        let (output, text) = discover(&site, more);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.contains(told), "expected `{told}` in {text}");
        assert!(output.stdout.is_empty() && left(&site).is_empty(), "{:?} {text}", left(&site));
    }
}

#[test]
fn nodes_that_the_job_has_in_part_are_named() {
    let nodes: String = ["n0", "n1", "n2"].iter().map(|name| node(name, 4, "64 GiB")).collect();
    let site = site(&format!("{nodes}echo 'free = \"0-1\"' >>\"$folder/n1.toml\""));
    let (output, text) = discover(&site, &[]);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("warning: n1: granted in part; the other PUs are not free"), "{text}");
}

#[test]
fn nodes_that_all_answered_are_described_though_the_launcher_hangs() {
    let nodes: String = ["n0", "n1", "n2"].iter().map(|name| node(name, 4, "64 GiB")).collect();
    let site = site(&format!("{nodes}exec sleep 1000"));
    let (output, text) = discover(&site, &["--timeout", "300ms"]);
    assert!(output.status.success(), "{text}");
    assert_eq!(left(&site), ["all.toml"], "{text}");
}

#[test]
fn all_nodes_need_a_job_or_a_list() {
    let outside = |arguments: &[&str]| {
        let arguments = [&["cluster", "discover"], arguments].concat();
        let mut command = rankwright(&arguments);
        command.env_remove("LSB_JOBID").env_remove("PBS_JOBID");
        let output = command.output().expect("it starts");
        (output.status.code(), transcript(&arguments, &output))
    };
    for (arguments, code, told) in [
        (&["--all-nodes"][..], 2, "not inside a job of Slurm, LSF, PBS or Flux"),
        (&["--all-nodes", "--hostfile", "none"], 3, "none: no such file; give"),
        (&["--hostfile", "none"], 2, "--all-nodes"),
        (&["--all-nodes", "-o", "/nowhere/all.toml"], 1, "/nowhere/all.toml: cannot be written"),
    ] {
        let (ended, text) = outside(arguments);
        assert_eq!(ended, Some(code), "{text}");
        assert!(text.contains(told), "{text}");
    }
}
