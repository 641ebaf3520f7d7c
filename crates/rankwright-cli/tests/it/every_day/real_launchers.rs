//! Open MPI, MPICH and Intel MPI's launcher themselves. Hosts are invented: `tests/fake-ssh` gives
//! each a name in a namespace of its own. Every run has a timeout and one retry (Open MPI 4.1.4
//! hangs once in a hundred runs).

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rankwright::ids::{CoreId, PuId};
use rankwright::placement::PlacementFile;
use tempfile::TempDir;

use crate::command::{make_executable, pus_here, rankwright, repository, say, signal};
use crate::invented_hosts::{can_invent_hosts, fake_ssh, for_invented_hosts};
use crate::placements::{EIGHT_ON_FOUR, placement, write};

/// A launcher of this machine.
#[derive(Clone, Copy)]
pub(crate) struct Installed {
    /// What it is called here.
    pub(crate) name: &'static str,
    /// Its program, in Debian or in the folder that `scripts/bootstrap` makes.
    pub(crate) program: &'static str,
    /// Whether it can bind ranks; MPICH 4.0 cannot.
    pub(crate) binds: bool,
}

const LAUNCHERS: [Installed; 5] = [
    Installed { name: "openmpi4", program: "mpirun.openmpi", binds: true },
    Installed { name: "mpich", program: "mpiexec.mpich", binds: false },
    Installed { name: "mpich", program: ".mpi/mpich5/bin/mpirun", binds: true },
    Installed { name: "openmpi5", program: ".mpi/openmpi5/bin/mpirun", binds: true },
    Installed { name: "intelmpi", program: ".mpi/impi/bin/mpirun", binds: true },
];

impl Installed {
    /// The program, with the folder if it is none of the system's.
    fn path(self) -> PathBuf {
        let program = Path::new(self.program);
        if program.components().count() > 1 { repository().join(program) } else { program.into() }
    }

    /// Puts this launcher first on PATH, so that it is the one that is found.
    fn prefer(self, command: &mut Command) {
        if let Some(folder) = self.path().parent().filter(|folder| folder.is_absolute()) {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let folders = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&path));
            command.env("PATH", std::env::join_paths(folders).expect("no folder has a colon"));
        }
    }
}

/// The launchers that are installed.
pub(crate) fn launchers() -> impl Iterator<Item = Installed> {
    let installed = |launcher: &&Installed| {
        let output = Command::new(launcher.path()).arg("--version").output();
        let installed = output.is_ok_and(|output| output.status.success());
        if !installed {
            say(format_args!("SKIPPED: {} is not installed", launcher.program));
        }
        installed
    };
    LAUNCHERS.iter().filter(installed).copied()
}

/// A placement file in a working directory of its own.
pub(crate) struct Job {
    folder: TempDir,
    agent: PathBuf,
}

impl Job {
    pub(crate) fn new(placement: &PlacementFile) -> Self {
        let folder = tempfile::tempdir().expect("a working directory");
        write(placement, folder.path());
        Self { folder, agent: fake_ssh() }
    }

    /// With a remote shell that is this script; `$FAKE_SSH` is the usual one.
    pub(crate) fn with_agent(mut self, script: &str) -> Self {
        let agent = self.folder.path().join("agent");
        let text = format!("#!/bin/sh\nFAKE_SSH='{}'\n{script}\n", fake_ssh().display());
        std::fs::write(&agent, text).expect("the folder is writable");
        make_executable(&agent);
        self.agent = agent;
        self
    }

    /// `rankwright COMMAND placement.json ...` in the working directory.
    fn command(&self, command: &str, arguments: &[&str]) -> Command {
        let mut program = for_invented_hosts(&rankwright(&[command, "placement.json"]));
        program.args(arguments).current_dir(self.folder.path()).stdin(Stdio::null());
        program.env("RANKWRIGHT_AGENT", &self.agent).env("SLURM_PROCID", "0");
        program.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        program
    }

    /// The same for a launcher.
    fn launch(&self, launcher: Installed, command: &str, arguments: &[&str]) -> Command {
        let mut program = self.command(command, &[&["--for", launcher.name], arguments].concat());
        launcher.prefer(&mut program);
        program
    }

    /// The output of a command, run again once if it is not `accepted`.
    pub(crate) fn output(
        &self,
        launcher: Installed,
        command: &str,
        arguments: &[&str],
        accepted: impl Fn(&Output) -> bool,
    ) -> Output {
        let run =
            || self.launch(launcher, command, arguments).output().expect("the program starts");
        let first = run();
        if accepted(&first) {
            return first;
        }
        say(format_args!("RETRIED: {}", described(&first)));
        let second = run();
        assert!(accepted(&second), "{command} {arguments:?}: {}", described(&second));
        second
    }

    /// Whether nothing but the placement (and the agent) is in the working directory.
    fn is_clean(&self) -> bool {
        let names = std::fs::read_dir(self.folder.path()).expect("it is there");
        names
            .flatten()
            .all(|entry| entry.file_name() == "placement.json" || entry.file_name() == "agent")
    }
}

fn described(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}\n{}{}", output.status, text(&output.stdout), text(&output.stderr))
}

pub(crate) fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

/// The columns rank, host and PUs of `check --format csv`.
fn reported(output: &Output) -> Vec<(String, String, String)> {
    let text = String::from_utf8_lossy(&output.stdout);
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        (cells[0].to_owned(), cells[2].to_owned(), cells[4].to_owned())
    };
    text.lines().skip(1).map(row).collect()
}

#[test]
fn eight_ranks_start_on_four_hosts_in_the_wanted_order() {
    if !can_invent_hosts() {
        return;
    }
    let job = Job::new(&placement(4, true, &EIGHT_ON_FOUR));
    for launcher in launchers() {
        let arguments = ["--timeout", "60s", "--format", "csv"];
        let output = job.output(launcher, "check", &arguments, |output| code(output) == 0);
        let hosts: Vec<String> = reported(&output).into_iter().map(|(_, host, _)| host).collect();
        assert_eq!(hosts, EIGHT_ON_FOUR.map(|(host, _)| host), "{}", launcher.program);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(told.contains("cores: not verifiable here ("), "{told}");
    }
    assert!(job.is_clean());
}

#[test]
fn ranks_are_bound_to_swapped_pus_by_the_launcher_and_by_the_shim() {
    if !can_invent_hosts() || pus_here() < 2 {
        say("SKIPPED: two PUs are needed");
        return;
    }
    let places = [("n1", 1), ("n0", 0), ("n0", 1), ("n1", 0)];
    let job = Job::new(&placement(2, false, &places));
    for launcher in launchers() {
        let bindings = if launcher.binds { &["native", "exec"][..] } else { &["exec"] };
        for binding in bindings {
            let arguments = ["--binding", binding, "--timeout", "60s", "--format", "csv"];
            let output = job.output(launcher, "check", &arguments, |output| code(output) == 0);
            let pus: Vec<(String, String)> =
                reported(&output).into_iter().map(|(_, host, pus)| (host, pus)).collect();
            let wanted = places.map(|(host, pu)| (host.to_owned(), pu.to_string()));
            assert_eq!(pus, wanted, "{} {binding}", launcher.program);
        }
    }
}

#[test]
fn hosts_with_the_same_list_are_bound_by_it() {
    if !can_invent_hosts() || pus_here() < 2 {
        say("SKIPPED: two PUs are needed");
        return;
    }
    let mut both = placement(2, false, &[("n1", 0), ("n0", 0)]);
    for entry in &mut both.jobs[0].ranks {
        (entry.cores, entry.pus) = (vec![CoreId(0), CoreId(1)], vec![PuId(0), PuId(1)]);
    }
    let single = placement(2, false, &[("n1", 1), ("n0", 1), ("n0", 0), ("n1", 0)]);
    for (placement, pus) in [(single, &["1", "1", "0", "0"][..]), (both, &["0-1", "0-1"])] {
        let job = Job::new(&placement);
        for launcher in launchers().filter(|launcher| launcher.binds) {
            let arguments = ["--binding", "native", "--timeout", "60s", "--format", "csv"];
            let output = job.output(launcher, "check", &arguments, |output| code(output) == 0);
            let found: Vec<String> = reported(&output).into_iter().map(|(_, _, pus)| pus).collect();
            assert_eq!(found, pus, "{}", launcher.program);
        }
    }
}

#[test]
fn one_host_needs_no_remote_shell() {
    let job =
        Job::new(&placement(2, true, &[("localhost", 0), ("localhost", 1)])).with_agent("exit 1");
    for launcher in launchers() {
        let output =
            job.output(launcher, "check", &["--timeout", "60s"], |output| code(output) == 0);
        assert!(String::from_utf8_lossy(&output.stdout).starts_with("all 2 ranks"));
    }
}

#[test]
fn check_names_what_differs() {
    if !can_invent_hosts() {
        return;
    }
    // A remote shell that puts n1's ranks on a host n9.
    let places = [("n0", 60_000), ("n1", 60_000)];
    let job = Job::new(&placement(60_001, false, &places))
        .with_agent("exec \"$FAKE_SSH\" $(printf '%s\\n' \"$@\" | sed 's/^n1$/n9/')");
    let arguments = ["--binding", "exec", "--timeout", "60s"];
    let Some(mpich) = launchers().find(|launcher| launcher.name == "mpich") else { return };
    let output = job.output(mpich, "check", &arguments, |output| code(output) == 5);
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(table.contains("on n9 instead of n1; PUs P#"), "{table}");
    assert!(table.contains("instead of P#60000 (the job may use P#0"), "{table}");
    // The same launch is refused by the ranks themselves.
    let run = ["--timeout", "60s", "--", "echo", "started"];
    let output = job.output(mpich, "run", &run, |output| code(output) == 125);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("rank 1 runs on n9, but is placed on n1"), "{told}");
    assert!(output.stdout.is_empty(), "{}", described(&output));
}

#[test]
fn a_refused_rank_ends_the_job() {
    if !can_invent_hosts() {
        return;
    }
    let job = Job::new(&placement(60_001, false, &[("n0", 0), ("n1", 60_000)]));
    for launcher in launchers() {
        // The first rank waits as if in MPI_Init.
        let arguments = ["--binding", "exec", "--timeout", "60s", "--", "sleep", "50"];
        let output = job.output(launcher, "run", &arguments, |output| code(output) == 125);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(code(&output), 125, "{}: {told}", launcher.program);
        assert!(told.contains("rank 1"), "{}: {told}", launcher.program);
    }
}

#[test]
fn check_does_not_wait_for_ever() {
    let job = Job::new(&placement(1, true, &[("n0", 0), ("n1", 0)])).with_agent("exec sleep 30");
    for launcher in launchers() {
        let output =
            job.launch(launcher, "check", &["--timeout", "1s"]).output().expect("it starts");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(code(&output), 1, "{told}");
        assert!(told.contains("no rank reported: the launcher did not end within 1 s"), "{told}");
    }
    assert!(job.is_clean());
}

#[test]
fn run_returns_the_programs_code_or_why_it_was_not_started() {
    let job = Job::new(&placement(1, true, &[("localhost", 0)]));
    for launcher in launchers() {
        for (program, expected) in [
            (&["sh", "-c", "exit 7"][..], 7),
            (&["true"], 0),
            (&["./missing"], 127),
            (&["./placement.json"], 126),
        ] {
            let arguments = [&["--timeout", "60s", "--"], program].concat();
            job.output(launcher, "run", &arguments, |output| code(output) == expected);
        }
        let arguments = ["--timeout", "1s", "--", "sleep", "60"];
        job.output(launcher, "run", &arguments, |output| code(output) == 124);
    }
    assert!(job.is_clean());
    let output = job.command("run", &["--job", "none", "--", "true"]).output().unwrap();
    assert_eq!(code(&output), 125, "{}", described(&output));
}

#[test]
fn run_finds_no_launcher_on_an_empty_path() {
    let job = Job::new(&placement(1, true, &[("localhost", 0)]));
    let output = job.command("run", &["--", "true"]).env("PATH", "").output().unwrap();
    assert_eq!(code(&output), 127);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("no launcher of Open MPI 4 or 5, MPICH or Intel MPI on PATH"), "{told}");
}

#[test]
fn a_termination_signal_reaches_the_program() {
    // Open MPI 5 passes on nothing that a program prints from then on.
    const PROGRAM: &str =
        "trap 'echo > terminated; kill $!; exit 9' TERM; sleep 30 & echo ready; wait";
    let job = Job::new(&placement(1, true, &[("localhost", 0)]));
    for launcher in launchers() {
        let arguments = ["--timeout", "60s", "--", "sh", "-c", PROGRAM];
        let mut child = job
            .launch(launcher, "run", &arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut ready = String::new();
        lines.read_line(&mut ready).expect("the launcher passes it on");
        assert_eq!(ready, "ready\n", "{}", launcher.program);
        signal("TERM", child.id().into());
        let mut rest = String::new();
        lines.read_to_string(&mut rest).expect("it ends");
        let status = child.wait().unwrap();
        let terminated = job.folder.path().join("terminated");
        assert!(std::fs::remove_file(terminated).is_ok(), "{}: {rest}", launcher.program);
        assert!(!status.success(), "{}: {status}", launcher.program);
    }
    assert!(job.is_clean());
}

#[test]
fn a_dry_run_shows_files_and_command_line_and_writes_nothing() {
    let job = Job::new(&placement(4, true, &EIGHT_ON_FOUR));
    for launcher in launchers() {
        let arguments = ["--dry-run", "--", "./app"];
        let output = job.launch(launcher, "run", &arguments).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(code(&output), 0, "{text}");
        for part in ["# FOLDER/hosts\nn", "# FOLDER/ranks.map\n", "--map FOLDER/ranks.map -- ./app"]
        {
            assert!(text.contains(part), "{}: expected `{part}` in\n{text}", launcher.program);
        }
    }
    assert!(job.is_clean());
}
