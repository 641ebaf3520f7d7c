//! `rankwright calibrate` with real launchers on this host: what it refuses, and that it then leaves the
//! description as it was. What it measures across nodes: `prove/lab/calibrate.rs`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use tempfile::TempDir;

use crate::command::{on_this_host, rankwright, say, signal, transcript};

/// A description in a folder of its own.
struct Described {
    folder: TempDir,
    text: String,
}

impl Described {
    fn new(host: &str, head: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let text =
            format!("{head}[[node]] # one\nnames = \"{host}\"\ntopology = \"core:2 pu:1\"\n");
        std::fs::write(folder.path().join("c.toml"), &text).expect("it is ours");
        Self { folder, text }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("c.toml")
    }

    fn calibrate(&self, arguments: &[&str]) -> Command {
        let mut command = rankwright(&["calibrate", "--on"]);
        command.arg(self.file()).args(arguments);
        command
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            .env("XDG_CACHE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
        command
    }

    /// What a command says that ends with one of `codes` and leaves the description as it was; `None`, and said
    /// so, where the launcher is missing.
    fn refuses(&self, arguments: &[&str], codes: &[i32]) -> Option<String> {
        let output: Output = self.calibrate(arguments).output().expect("the program starts");
        let said = transcript(arguments, &output);
        if said.contains("program not found") || said.contains("no compiler to build it") {
            say(format_args!("SKIPPED: {arguments:?} cannot be started here"));
            return None;
        }
        assert!(output.status.code().is_some_and(|code| codes.contains(&code)), "{said}");
        self.is_unchanged(&said);
        Some(said)
    }

    fn is_unchanged(&self, said: &str) {
        assert_eq!(std::fs::read_to_string(self.file()).unwrap(), self.text, "{said}");
        let files = std::fs::read_dir(self.folder.path()).unwrap().count();
        assert_eq!(files, 1, "{said}");
    }
}

/// Two ranks of Open MPI, also where one PU is granted.
const TWO: [&str; 6] = ["--", "mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "-np"];

fn with(first: &'static [&'static str], ranks: &'static str) -> Vec<&'static str> {
    [first, &TWO, &[ranks]].concat()
}

#[test]
fn other_hosts_are_refused() {
    let described = Described::new("n[0-1]", "");
    let Some(said) = described.refuses(&with(&[], "2"), &[4]) else { return };
    let expected = format!(
        "the probe ran on {}, which `cluster` does not have; it has n[0-1]",
        on_this_host()
    );
    assert!(said.contains(&expected), "{said}");
}

#[test]
fn too_few_ranks_are_refused() {
    let described = Described::new(&on_this_host(), "");
    let Some(said) = described.refuses(&with(&[], "1"), &[4]) else { return };
    assert!(said.contains("1 rank: message rates need at least two; start two or more"), "{said}");
}

#[test]
fn one_node_whose_cores_do_not_exist_has_nothing_to_measure() {
    let described = Described::new(&on_this_host(), "emulated = true\n");
    let Some(said) = described.refuses(&with(&[], "2"), &[4]) else { return };
    assert!(said.contains("one node whose ranks share PUs"), "{said}");
}

#[test]
fn a_program_of_another_mpi_is_named() {
    let described = Described::new(&on_this_host(), "");
    let line = ["--mpi", "openmpi", "--", "mpiexec.mpich", "-n", "2"];
    // A second rank may fail to start, so that the first one looks alone.
    let Some(said) = described.refuses(&line, &[1, 4]) else { return };
    assert!(said.contains("a job of its own: the launcher belongs to another MPI"), "{said}");
}

#[test]
fn a_line_with_a_program_is_refused() {
    let described = Described::new(&on_this_host(), "");
    let line = [&with(&[], "2")[..], &["hostname"]].concat();
    let Some(said) = described.refuses(&line, &[2]) else { return };
    assert!(
        said.contains("`hostname`: a program, expected only the launcher and its options"),
        "{said}"
    );
}

#[test]
fn a_calibration_that_is_ended_writes_nothing() {
    let described = Described::new(&on_this_host(), "");
    let mut run = described.calibrate(&with(&["--time-per-item", "20 s"], "2"));
    let mut run = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    sleep(Duration::from_secs(2));
    if run.try_wait().expect("it is ours").is_none() {
        signal("TERM", i64::from(run.id()));
    }
    let status = run.wait().expect("it ends");
    assert!(!status.success());
    described.is_unchanged("ended");
}

#[test]
fn a_description_with_files_beside_it_stays_in_its_folder() {
    let described = Described::new("n[0-1]", "");
    let text = "[[node]]\nnames = \"n[0-1]\"\nxml = \"node.xml\"\n";
    std::fs::write(described.file(), text).unwrap();
    let machines = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/machines");
    let node = described.folder.path().join("node.xml");
    std::fs::copy(machines.join("omni-path-2s.xml"), node).unwrap();
    let other = tempfile::tempdir().unwrap();
    let target = other.path().join("m.toml");
    let output = described.calibrate(&["-o", target.to_str().unwrap()]).output().unwrap();
    let said = transcript(&["-o"], &output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("-o: `xml = \"node.xml\"` of "), "{said}");
    assert!(said.contains("is relative to its folder; write beside"), "{said}");
    assert!(!target.exists());
}

#[test]
fn granted_hosts_that_the_description_lacks_are_named() {
    let described = Described::new("n[0-1]", "");
    let mut run = described.calibrate(&["--for", "openmpi4"]);
    run.env("SLURM_JOB_ID", "7").env("SLURM_JOB_NODELIST", "n1,m[3-4]");
    run.env("SLURM_JOB_CPUS_PER_NODE", "2(x3)");
    let said = transcript(&["--for"], &run.output().unwrap());
    if said.contains("program not found") || said.contains("not found on PATH") {
        say(format_args!("SKIPPED: Open MPI 4 is missing"));
        return;
    }
    assert!(said.contains("job 7 of Slurm has m[3-4], which `cluster` does not have"), "{said}");
}
