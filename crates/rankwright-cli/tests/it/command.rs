//! Starting the program under test.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The repository's root, where tests run so that paths in messages are short and stable.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("it exists")
}

/// `rankwright` with arguments, in the repository's root, with nothing of the user's set-up.
pub(crate) fn rankwright(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rankwright"));
    command
        .args(arguments)
        .current_dir(repository())
        .env("NO_COLOR", "1")
        .env("RANKWRIGHT_SITE", "")
        .env("XDG_CONFIG_HOME", "/nowhere")
        .env("RANKWRIGHT_RECORD", "off");
    for name in ["AGENT", "CLUSTER", "LAUNCHER", "FABRIC", "PARTITION"] {
        command.env_remove(format!("RANKWRIGHT_{name}"));
    }
    // Tests may run inside a job.
    for variable in ["SLURM_JOB_NODELIST", "SLURM_NODELIST", "SLURM_HET_SIZE", "SLURM_JOB_ID"]
        .into_iter()
        .chain(["LSB_JOBID", "PBS_JOBID", "FLUX_JOB_ID", "FLUX_ENCLOSING_ID"])
        .chain(["SLURM_JOB_PARTITION"])
    {
        command.env_remove(variable);
    }
    command
}

/// Exit code, standard output and standard error as one text for snapshots.
pub(crate) fn transcript(arguments: &[&str], output: &Output) -> String {
    format!(
        "$ rankwright {}\nexit code: {}\n--- standard output\n{}--- standard error\n{}",
        arguments.join(" "),
        output.status.code().map_or("killed".to_owned(), |code| code.to_string()),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    )
}

/// Sends a signal to a process, or to a group of them if the number is negative. By the shell's own
/// `kill`: small systems have no other.
pub(crate) fn signal(name: &str, process: i64) {
    let script = format!("kill -s {name} -- {process}");
    let status = Command::new("sh").args(["-c", &script]).status().expect("sh is everywhere");
    assert!(status.success(), "{script}");
}

/// Lets everybody run a file.
pub(crate) fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(path, executable).expect("it is ours");
}

/// This host's name.
pub(crate) fn on_this_host() -> String {
    let output = Command::new("uname").arg("-n").output().expect("uname is everywhere");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// How many PUs this process may run on.
pub(crate) fn pus_here() -> usize {
    std::thread::available_parallelism().map_or(1, Into::into)
}

/// Says on standard output what a test does not do, or does again. The runner hides the output of
/// tests that pass, so what is skipped is also kept for `scripts/check` to tell.
#[expect(clippy::print_stdout, reason = "this is where the test runner looks")]
pub(crate) fn say(what: impl std::fmt::Display) {
    let what = what.to_string();
    println!("{what}");
    if what.starts_with("SKIPPED") {
        let list = Path::new(env!("CARGO_TARGET_TMPDIR")).join("skipped-tests");
        let mut list = std::fs::File::options().create(true).append(true).open(list).unwrap();
        list.write_all(format!("{what}\n").as_bytes()).unwrap();
    }
}
