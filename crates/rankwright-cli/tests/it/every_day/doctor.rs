//! `doctor`, and `rankwright` without a command, on machines that are folders with scripts.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use rankwright::traffic::profile::Profile;
use rankwright::traffic::read::profile_file;
use tempfile::TempDir;

use crate::command::{make_executable, rankwright, say};

/// An Open MPI launcher that starts nothing.
const MPIRUN: &str = "#!/bin/sh\necho 'mpirun (Open MPI) 5.0.11'\n";

/// A folder for PATH with these scripts and some programs of the system, and an empty one to work in.
fn machine(scripts: &[(&str, &str)]) -> (TempDir, TempDir) {
    let path = tempfile::tempdir().expect("a folder");
    for (name, text) in scripts {
        let file = path.path().join(name);
        std::fs::write(&file, text).expect("it is writable");
        make_executable(&file);
    }
    symlink("/bin/sh", path.path().join("sh")).expect("it is writable");
    symlink("/bin/true", path.path().join("true")).expect("it is writable");
    (path, tempfile::tempdir().expect("a folder"))
}

fn run_in(
    folder: &Path,
    path: &Path,
    arguments: &[&str],
    adapt: impl FnOnce(&mut Command),
) -> Output {
    let mut command = rankwright(arguments);
    command.current_dir(folder).env("PATH", path);
    command.env("HOME", folder).env_remove("XDG_CACHE_HOME").env_remove("XDG_STATE_HOME");
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    adapt(&mut command);
    command.output().expect("it starts")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The first line that doctor prints, and its exit code.
fn answer(scripts: &[(&str, &str)], adapt: impl FnOnce(&mut Command)) -> (String, Option<i32>) {
    let (path, folder) = machine(scripts);
    let output = run_in(folder.path(), path.path(), &["doctor"], adapt);
    let text = stdout(&output);
    (text.lines().next().unwrap_or_default().to_owned(), output.status.code())
}

#[test]
fn the_first_line_says_what_does_not_work_and_what_to_install() {
    let mpicc = "#!/bin/sh\n[ \"$1\" = -showme:version ] && echo 'Open MPI 5.0.11'\nexit 0\n";
    let no_header = "#!/bin/sh\ncase $1 in -showme:version) echo 'Open MPI 5.0.11';; \
                     *) echo \"x.c:2: fatal error: mpi.h: No such file\" >&2; exit 1;; esac\n";
    let no_gcc = "#!/bin/sh\ncase $1 in -showme:version) echo 'Open MPI 5.0.11';; \
                  *) echo 'gcc: command not found' >&2; exit 1;; esac\n";
    let apt = ("apt-get", "#!/bin/sh\n");
    let dnf = ("dnf", "#!/bin/sh\n");
    let mpi = ("mpirun", MPIRUN);
    let srun = ("srun", "#!/bin/sh\necho slurm 22.05\n");
    for (scripts, expected, code) in [
        (
            &[mpi, ("mpicc", mpicc)][..],
            "Everything that `profile`, `place` and `run` need works.",
            0,
        ),
        (
            &[apt],
            "`profile` and `run` do not work: MPI launcher: no mpirun or mpiexec on PATH: apt install \
             openmpi-bin libopenmpi-dev, spack install openmpi; or load the module",
            1,
        ),
        (
            &[dnf, mpi],
            "`profile` does not work: tracer, openmpi: not installed, and no mpicc of Open MPI 5.0 to \
             build it: dnf install openmpi openmpi-devel,",
            1,
        ),
        (
            &[apt, mpi, ("mpicc", no_header)],
            "mpi.h: No such file: apt install openmpi-bin libopenmpi",
            1,
        ),
        (&[apt, mpi, ("mpicc", no_gcc)], "gcc: command not found: apt install gcc libc6-dev,", 1),
        (&[("mpirun", "#!/bin/sh\necho hello\n")], "mpirun: --version prints `hello`", 1),
        // srun starts ranks of any MPI, if its controller answers; the tracer needs a compiler.
        (&[srun, ("scontrol", "#!/bin/sh\necho UP\n"), ("mpicc", mpicc)], "Everything that", 0),
        (
            &[srun, ("scontrol", "#!/bin/sh\necho UP\n")],
            "`profile` does not work: tracer: not installed, and no mpicc on PATH",
            1,
        ),
        (
            &[srun, ("scontrol", "#!/bin/sh\necho is DOWN\n"), ("mpicc", mpicc)],
            "`profile` and `run` do not work: MPI launcher: no mpirun",
            1,
        ),
    ] {
        let (line, ended) = answer(scripts, |_| ());
        assert!(line.contains(expected), "expected `{expected}` in {line}");
        assert_eq!(ended, Some(code), "{line}");
    }
    // Inside a job ranks start without it.
    let (line, code) = answer(&[srun, ("mpicc", mpicc)], |command| {
        command.env("SLURM_JOB_ID", "7").env("SLURM_JOB_NODELIST", "n0");
    });
    assert!(line.starts_with("Everything that") && code == Some(0), "{line}");
}

#[test]
fn a_launcher_that_works_beside_a_broken_one_is_named() {
    let mpicc = ("mpicc", "#!/bin/sh\necho 'Open MPI 5.0.11'\n");
    let broken = ("mpirun", "#!/bin/sh\necho hello\n");
    let (line, code) = answer(&[broken, ("mpirun.openmpi", MPIRUN), mpicc], |_| ());
    assert!(line.starts_with("Everything that `profile`, `place` and `run` need works"), "{line}");
    assert_eq!(code, Some(0), "{line}");
    // As root, Open MPI refuses; MPICH does not.
    let mpich = "#!/bin/sh\necho 'HYDRA build details:'\necho '    Version: 4.1.2'\n";
    let (path, folder) = machine(&[("mpirun", MPIRUN), ("mpiexec.mpich", mpich), mpicc]);
    let output = run_in(folder.path(), path.path(), &["doctor"], |command| {
        command.env_remove("OMPI_ALLOW_RUN_AS_ROOT");
    });
    let text = stdout(&output);
    let line = text.lines().next().unwrap_or_default();
    if !text.contains("refuses to start as root") {
        say("SKIPPED: only root is refused by Open MPI");
        return;
    }
    let expected = "works with mpiexec.mpich, but not with mpirun, the first on PATH: Open MPI 5.0";
    assert!(line.contains(expected), "{line}");
}

#[test]
fn a_resource_manager_without_a_configuration_is_not_needed() {
    let ping = "#!/bin/sh\necho 'could not establish a configuration source' >&2\nexit 1\n";
    let srun = ("srun", "#!/bin/sh\necho slurm 22.05\n");
    let state = |ping: &str, adapt: fn(&mut Command)| {
        let (path, folder) = machine(&[srun, ("scontrol", ping)]);
        let arguments = ["doctor", "-q", "--format", "json"];
        let output = run_in(folder.path(), path.path(), &arguments, adapt);
        let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let checks = value["checks"].as_array().expect("a list");
        checks.iter().find(|entry| entry["part"] == "Slurm").expect("it is there")["state"].clone()
    };
    assert_eq!(state(ping, |_| ()), "not-needed");
    assert_eq!(state("#!/bin/sh\necho 'Slurmctld(primary) at c is DOWN'\n", |_| ()), "broken");
    let in_job = |command: &mut Command| {
        command.env("SLURM_JOB_ID", "7").env("SLURM_JOB_NODELIST", "n0");
    };
    assert_eq!(state(ping, in_job), "broken");
}

#[test]
fn recording_is_not_tried_without_a_compiler_for_its_program() {
    let (path, folder) = machine(&[("mpirun", MPIRUN)]);
    let arguments = ["doctor", "-q", "--launch", "--format", "json"];
    let output = run_in(folder.path(), path.path(), &arguments, |_| ());
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let checks = value["checks"].as_array().expect("a list");
    let record = checks.iter().find(|entry| entry["check"] == "record").expect("it is there");
    assert_eq!((&record["state"], &record["stops"]), (&"not-tried".into(), &false.into()));
    assert!(record["found"].as_str().expect("text").contains("no mpicc of this MPI"), "{record}");
}

#[test]
fn a_broken_site_file_or_folder_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let site = folder.path().join("site.toml");
    std::fs::write(&site, "cluster = 7\n").expect("it is writable");
    let mpi = [("mpirun", MPIRUN), ("mpicc", "#!/bin/sh\necho 'Open MPI 5'\n")];
    let (line, code) = answer(&mpi, |command| {
        command.env("RANKWRIGHT_SITE", &site);
    });
    assert!(line.starts_with("`place` and `run` do not work: site.toml: "), "{line}");
    assert!(line.contains("site.toml:1"), "{line}");
    assert_eq!(code, Some(1));
}

#[test]
fn a_launcher_that_hangs_ends_no_test_but_is_broken() {
    // The limit is 20 s, so the script ends before it and says nothing.
    let (line, code) = answer(&[("mpirun", "#!/bin/sh\nexit 3\n")], |_| ());
    assert!(line.contains("--version prints nothing"), "{line}");
    assert_eq!(code, Some(1));
}

#[test]
fn results_for_programs_name_checks_and_packages() {
    let (path, folder) = machine(&[]);
    let output = run_in(folder.path(), path.path(), &["doctor", "-q", "--format", "json"], |_| ());
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(value["works"], false);
    let checks = value["checks"].as_array().expect("a list");
    let launcher = checks.iter().find(|entry| entry["check"] == "launcher").expect("it is there");
    assert_eq!(launcher["state"], "missing");
    assert_eq!(launcher["stops"], true);
    assert_eq!(launcher["packages"]["fedora"], "openmpi openmpi-devel");
    assert!(checks.iter().any(|entry| entry["state"] == "not-needed"));
    assert!(output.stderr.is_empty(), "{output:?}");
    let output = run_in(folder.path(), path.path(), &["doctor", "-q", "--format", "csv"], |_| ());
    let text = stdout(&output);
    assert!(
        text.starts_with("check,part,state,found,needed_by,purpose,stops,way_out,debian"),
        "{text}"
    );
    assert!(text.lines().all(|line| !line.is_empty()), "{text}");
    let refused = run_in(folder.path(), path.path(), &["doctor", "-o", "/nowhere/x"], |_| ());
    assert_eq!(refused.status.code(), Some(1));
}

#[test]
fn launched_ranks_that_report_nothing_stop_profile_and_run() {
    let (path, folder) = machine(&[("mpirun", MPIRUN)]);
    let output = run_in(folder.path(), path.path(), &["doctor", "--launch"], |_| ());
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    let line = text.lines().find(|line| line.contains("tried with 2 ")).expect("it was launched");
    assert!(line.starts_with("broken"), "{text}");
}

#[test]
fn without_a_command_the_next_ones_are_told_in_a_dozen_lines() {
    let (path, folder) = machine(&[("mpirun", MPIRUN)]);
    let here = |adapt: fn(&mut Command)| {
        let output = run_in(folder.path(), path.path(), &[], adapt);
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        let text = stdout(&output);
        assert!(text.lines().count() <= 12, "{text}");
        text
    };
    let text = here(|_| ());
    assert!(text.contains("\n  rankwright profile --events -o app.rwp -- mpirun -np "), "{text}");
    assert_eq!(text, here(|_| ()));
    let text = here(|command| {
        command.env("FLUX_JOB_ID", "f7");
    });
    assert!(text.contains("job f7 of Flux"), "{text}");
    // One that ended early does not count.
    std::fs::write(folder.path().join("a.rwp"), "SQLite format 3").expect("it is writable");
    let profile = folder.path().join("solver's.rwp");
    profile_file::write(&Profile::default(), &profile).expect("it is writable");
    let in_slurm = |command: &mut Command| {
        command.env("SLURM_JOB_ID", "9").env("SLURM_JOB_NODELIST", "n[0-1]");
    };
    let text = here(in_slurm);
    assert!(text.contains("job 9 of Slurm"), "{text}");
    assert!(text.contains("\n  rankwright run --profile 'solver'\\''s.rwp' -- ./app\n"), "{text}");
    // Nothing that is wrong here makes it fail.
    let output = run_in(folder.path(), path.path(), &[], |command| {
        command.env("PATH", "").env("RANKWRIGHT_SITE", "/nowhere/site.toml").env_remove("HOME");
    });
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_shim_that_a_signal_ends_is_told_so() {
    let (path, folder) = machine(&[("mpirun", MPIRUN)]);
    let installed = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let program = installed.path().join("rankwright");
    std::fs::hard_link(env!("CARGO_BIN_EXE_rankwright"), &program).expect("one file system");
    let shim = installed.path().join("rankwright-exec");
    std::fs::write(&shim, "#!/bin/sh\nkill -s KILL $$\n").expect("it is writable");
    make_executable(&shim);
    let mut command = Command::new(program);
    command.args(["-q", "doctor"]).env("RANKWRIGHT_SITE", "").env("PATH", path.path());
    let output = command.env("HOME", folder.path()).output().expect("it starts");
    let text = stdout(&output);
    assert!(text.contains("rankwright-exec: signal: 9 (SIGKILL)"), "{text}");
}
