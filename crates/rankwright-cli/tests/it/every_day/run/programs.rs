//! Jobs of several programs (MPMD), and ranks with several threads, under the launchers themselves:
//! `tests/where.c` says which rank of which program runs where. Every run has a timeout and one
//! retry (Open MPI 4.1.4 hangs once in a hundred runs).

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rankwright::ids::{CoreId, PuId};
use rankwright::placement::PlacementFile;
use tempfile::TempDir;

use crate::command::{on_this_host, pus_here, rankwright, repository, say, transcript};
use crate::invented_hosts::{can_invent_hosts, fake_ssh, for_invented_hosts};
use crate::placements::{EIGHT_ON_FOUR, placement, write};

/// An MPI of this machine.
struct Mpi {
    /// What its launcher is called here.
    name: &'static str,
    launcher: &'static str,
    compiler: &'static str,
    /// Who can bind.
    bindings: &'static [&'static str],
}

/// Those of Debian, and what `.mpi/` has. MPICH 4.0 cannot bind ranks; of Intel MPI there is the
/// launcher only, which starts the programs of MPICH and binds these by the shim.
const MPIS: [Mpi; 5] = [
    Mpi {
        name: "openmpi4",
        launcher: "mpirun.openmpi",
        compiler: "mpicc.openmpi",
        bindings: &["native", "exec"],
    },
    Mpi { name: "mpich", launcher: "mpiexec.mpich", compiler: "mpicc.mpich", bindings: &["exec"] },
    Mpi {
        name: "mpich",
        launcher: ".mpi/mpich5/bin/mpirun",
        compiler: ".mpi/mpich5/bin/mpicc",
        bindings: &["native", "exec"],
    },
    Mpi {
        name: "openmpi5",
        launcher: ".mpi/openmpi5/bin/mpirun",
        compiler: ".mpi/openmpi5/bin/mpicc",
        bindings: &["native", "exec"],
    },
    Mpi {
        name: "intelmpi",
        launcher: ".mpi/impi/bin/mpirun",
        compiler: "mpicc.mpich",
        bindings: &["exec"],
    },
];

/// A program of the system, or of the repository.
fn program(name: &str) -> PathBuf {
    if name.contains('/') { repository().join(name) } else { name.into() }
}

/// A working directory with a placement and the programs `where` and `other`, which do the same.
struct Job {
    mpi: &'static Mpi,
    folder: TempDir,
}

/// One job per MPI that is installed.
fn jobs(placement: &PlacementFile) -> Vec<Job> {
    MPIS.iter().filter_map(|mpi| Job::new(mpi, placement)).collect()
}

impl Job {
    fn new(mpi: &'static Mpi, placement: &PlacementFile) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a working directory");
        write(placement, folder.path());
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/where.c");
        let compiled = Command::new(program(mpi.compiler))
            .args(["-O1", "-fopenmp", "-o"])
            .arg(folder.path().join("where"))
            .arg(source)
            .output();
        match compiled {
            Ok(output) if output.status.success() => {}
            Ok(output) => panic!("{}", String::from_utf8_lossy(&output.stderr)),
            Err(error) => {
                say(format_args!("SKIPPED: {}: {error}", mpi.compiler));
                return None;
            }
        }
        std::fs::copy(folder.path().join("where"), folder.path().join("other")).expect("a copy");
        Some(Self { mpi, folder })
    }

    /// `rankwright COMMAND placement.json --for LAUNCHER ...` in the working directory.
    fn command(&self, command: &str, arguments: &[&str]) -> Command {
        let program = [command, "placement.json", "--for", self.mpi.name];
        let mut program = for_invented_hosts(&rankwright(&program));
        program.args(arguments);
        self.adapt(&mut program);
        program
    }

    /// Lets a command run in the working directory and find this MPI's launcher first.
    fn adapt(&self, command: &mut Command) {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let launcher = program(self.mpi.launcher);
        let folder = launcher.parent().filter(|folder| folder.is_absolute());
        let folders = folder.map(Path::to_owned).into_iter().chain(std::env::split_paths(&path));
        command
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .env("PATH", std::env::join_paths(folders).expect("no folder has a colon"))
            .env("RANKWRIGHT_AGENT", fake_ssh())
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        for name in ["OMP_NUM_THREADS", "OMP_PLACES", "OMP_PROC_BIND"] {
            command.env_remove(name);
        }
    }

    /// What the ranks print, by rank.
    fn said(&self, make: impl Fn() -> Command) -> Vec<String> {
        let first = make().output().expect("the program starts");
        let output = if first.status.success() {
            first
        } else {
            say(format_args!("RETRIED: {}", described(&first)));
            make().output().expect("the program starts")
        };
        assert!(output.status.success(), "{}: {}", self.mpi.launcher, described(&output));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    }

    fn run(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Vec<String> {
        self.said(|| {
            let mut command = self.command("run", &["--timeout", "60s"]);
            command.args(arguments).envs(variables.iter().copied());
            command
        })
    }
}

fn described(output: &Output) -> String {
    transcript(&[], output)
}

/// Whether L# of a core is P# of its only PU, so that one number can stand for both.
fn cores_are_pus() -> bool {
    let siblings = |pu: usize| {
        let file = format!("/sys/devices/system/cpu/cpu{pu}/topology/thread_siblings_list");
        std::fs::read_to_string(file).is_ok_and(|text| text.trim() == pu.to_string())
    };
    let are = pus_here() >= 2 && siblings(0) && siblings(1);
    if !are {
        say("SKIPPED: two cores of one PU each are needed");
    }
    are
}

/// Where tests keep the tracers that they build: they are named by what they are made of.
const CACHE: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/cache");

const SWAPPED: [(&str, u32); 4] = [("n1", 1), ("n0", 0), ("n0", 1), ("n1", 0)];

/// Two programs in three parts for [`SWAPPED`], and what their ranks say.
const THREE_PARTS: [&str; 12] =
    ["--", "-n", "1", "./where", "x y", ":", "./other", ":", "-np", "1", "./where", "z"];
const SAID_BY_THREE_PARTS: [&str; 4] = [
    "rank 0 app 0 host n1 pus 1 threads 1 args ./where x y",
    "rank 1 app 1 host n0 pus 0 threads 0 args ./other",
    "rank 2 app 1 host n0 pus 1 threads 1 args ./other",
    "rank 3 app 2 host n1 pus 0 threads 0 args ./where z",
];

#[test]
fn every_rank_of_several_programs_is_bound_where_it_was_placed() {
    if !can_invent_hosts() || !cores_are_pus() {
        return;
    }
    for job in jobs(&placement(2, false, &SWAPPED)) {
        for binding in job.mpi.bindings {
            let arguments = [&["--binding", binding][..], &THREE_PARTS].concat();
            let said = job.run(&arguments, &[]);
            assert_eq!(said, SAID_BY_THREE_PARTS, "{} {binding}", job.mpi.launcher);
            let arguments = [&["--binding", binding, "--format", "csv"][..], &THREE_PARTS].concat();
            let reports = job.said(|| job.command("check", &arguments));
            assert_eq!(reports[0].split(',').nth(4), Some("1"), "{reports:?}");
        }
    }
}

#[test]
fn several_programs_start_on_hosts_that_come_back_and_on_one_host() {
    if !can_invent_hosts() {
        return;
    }
    let programs = ["--", "-n", "3", "./where", ":", "-n", "1", "./other", ":", "./where"];
    let here = on_this_host();
    let one_host = [0, 1, 2, 3, 4, 5, 6, 7].map(|core| ("localhost", core));
    for places in [EIGHT_ON_FOUR, one_host] {
        for job in jobs(&placement(8, true, &places)) {
            let said = job.run(&programs, &[]);
            let start = |(rank, (host, _)): (usize, &(&str, u32))| {
                let app = [0, 0, 0, 1, 2, 2, 2, 2][rank];
                let host = if *host == "localhost" { &here } else { *host };
                format!("rank {rank} app {app} host {host} ")
            };
            let wanted: Vec<String> = places.iter().enumerate().map(start).collect();
            let fits = said.len() == 8 && said.iter().zip(&wanted).all(|(a, b)| a.starts_with(b));
            assert!(fits, "{}: {said:#?}\nexpected {wanted:#?}", job.mpi.launcher);
        }
    }
}

#[test]
fn the_launcher_is_that_of_the_programs_mpi() {
    let places = placement(2, true, &[("localhost", 0), ("localhost", 1)]);
    // Debian's, which are both on PATH.
    for job in jobs(&places).into_iter().filter(|job| !job.mpi.launcher.contains('/')) {
        let said = job.said(|| {
            let mut command = rankwright(&["run", "placement.json", "--timeout", "60s"]);
            job.adapt(command.args(["--", "env", "A=1", "./where"]));
            command
        });
        let starts = |(rank, line): (usize, &String)| line.starts_with(&format!("rank {rank} "));
        assert!(said.len() == 2 && said.iter().enumerate().all(starts), "{said:#?}");

        let other = if job.mpi.name == "mpich" { "openmpi4" } else { "mpich" };
        let arguments = ["run", "placement.json", "--for", other, "--", "./where"];
        let mut command = rankwright(&arguments);
        job.adapt(&mut command);
        let text = described(&command.output().expect("the program starts"));
        let either = text.contains("exit code: 125") && text.contains("two MPIs are mixed");
        assert!(either || text.contains("exit code: 127"), "{text}");
    }
}

#[test]
fn numactl_binds_every_rank_of_several_programs() {
    let numactl = Command::new("numactl").arg("--show").output();
    if !numactl.is_ok_and(|output| output.status.success()) {
        say("SKIPPED: numactl is not installed");
        return;
    }
    if !can_invent_hosts() || !cores_are_pus() {
        return;
    }
    let Some(job) = Job::new(&MPIS[0], &placement(2, false, &SWAPPED)) else { return };
    let mut launch = rankwright(&["launch", "placement.json", "--for", "numactl", "-o", "files"]);
    job.adapt(launch.args(THREE_PARTS));
    let output = launch.output().expect("the program starts");
    assert!(output.status.success(), "{}", described(&output));
    let script = std::fs::read_to_string(job.folder.path().join("files/launch.sh")).unwrap();
    // Debian's `mpirun` may be that of another MPI.
    let script = script.replace("exec mpirun ", "exec timeout 60 mpirun.openmpi ");
    let said = job.said(|| {
        let mut command = for_invented_hosts(&Command::new("sh"));
        job.adapt(command.args(["-c", &script]));
        command
    });
    assert_eq!(said, SAID_BY_THREE_PARTS);
}

#[test]
fn a_program_that_cannot_be_started_decides_the_exit_code() {
    for job in jobs(&placement(2, true, &[("localhost", 0), ("localhost", 1)])) {
        for (count, second, code) in
            [("1", "./missing", 127), ("1", "./placement.json", 126), ("2", "./where", 125)]
        {
            let programs = ["--timeout", "60s", "--", "-n", count, "true", ":", second];
            let run = || job.command("run", &programs).output().expect("the program starts");
            let output = run();
            let output = if output.status.code() == Some(code) { output } else { run() };
            assert_eq!(output.status.code(), Some(code), "{}", described(&output));
        }
    }
}

#[test]
fn threads_run_on_the_pus_of_their_rank() {
    if !cores_are_pus() {
        return;
    }
    let here = on_this_host();
    let mut both = placement(2, false, &[("localhost", 0)]);
    both.jobs[0].ranks[0].cores = vec![CoreId(0), CoreId(1)];
    both.jobs[0].ranks[0].pus = vec![PuId(0), PuId(1)];
    for job in jobs(&both) {
        for binding in job.mpi.bindings {
            let arguments = ["--binding", binding, "--", "./where"];
            // With OMP_PROC_BIND the first thread is bound before `main`.
            for (variables, pus, threads) in [
                (&[][..], "0", "0/1"),
                (&[("OMP_NUM_THREADS", "1")], "0", "0"),
                (&[("OMP_PROC_BIND", "false")], "0,1", "0,1/0,1"),
            ] {
                let wanted =
                    format!("rank 0 app 0 host {here} pus {pus} threads {threads} args ./where");
                assert_eq!(job.run(&arguments, variables), [wanted], "{}", job.mpi.launcher);
            }
            let reports = job.said(|| {
                job.command(
                    "check",
                    &["--binding", binding, "--format", "json", "--timeout", "60s"],
                )
            });
            assert!(reports.iter().any(|line| line.contains(r#""pus": "0-1""#)), "{reports:#?}");
        }
    }
    for job in jobs(&placement(2, false, &[("localhost", 1), ("localhost", 0)])) {
        for binding in job.mpi.bindings {
            let said = job.run(
                &["--binding", binding, "--", "./where"],
                &[("OMP_NUM_THREADS", "2"), ("OMP_PLACES", "cores")],
            );
            let wanted = [(0, 1), (1, 0)].map(|(rank, pu)| {
                format!("rank {rank} app 0 host {here} pus {pu} threads {pu}/{pu} args ./where")
            });
            assert_eq!(said, wanted, "{} {binding}", job.mpi.launcher);
        }
    }
}

#[test]
fn programs_with_threads_are_profiled_placed_and_run() {
    for job in jobs(&placement(2, true, &[("localhost", 0)])) {
        let parts = ["-n", "1", "./where", ":", "-n", "1", "./other"];
        let with_threads = |command: &mut Command| {
            job.adapt(command);
            command.env("OMP_NUM_THREADS", "2").env("XDG_CACHE_HOME", CACHE);
        };
        let launcher = program(job.mpi.launcher).display().to_string();
        let profile = ["profile", "-o", "app.rwp", "--", &launcher];
        job.said(|| {
            let mut command = Command::new("timeout");
            command.args(["60", env!("CARGO_BIN_EXE_rankwright")]).args(profile).args(parts);
            with_threads(&mut command);
            command
        });
        let place = ["place", "app.rwp", "--on", "synthetic:core:2 pu:1", "--cores-per-rank", "1"];
        let rest = ["--launch-files", "files", "--"];
        let output = job.said(|| {
            let mut command = rankwright(&[&place[..], &rest, &parts].concat());
            with_threads(&mut command);
            command
        });
        assert!(output.iter().any(|line| line.contains("blocked")), "{output:#?}");
        let file = std::fs::read_to_string(job.folder.path().join("placement.json")).unwrap();
        let file = PlacementFile::parse(&file, "placement.json").unwrap();
        assert_eq!((file.jobs[0].name.as_str(), file.jobs[0].ranks.len()), ("where+other", 2));
        let script = std::fs::read_to_string(job.folder.path().join("files/launch.sh")).unwrap();
        assert!(script.contains("./where : -n"), "{script}");
    }
}
