//! The system programs that a lab needs.

use std::env;
use std::ffi::OsString;
use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

/// Program, and its package on Debian and on Fedora.
const TOOLS: [(&str, &str, &str); 7] = [
    ("ip", "iproute2", "iproute"),
    ("tc", "iproute2", "iproute-tc"),
    ("nsenter", "util-linux", "util-linux"),
    ("unshare", "util-linux", "util-linux"),
    ("setsid", "util-linux", "util-linux"),
    ("mount", "mount", "util-linux"),
    ("hostname", "hostname", "hostname"),
];

/// A program, searched also in folders like `/usr/sbin` that are not on the PATH of ordinary users.
pub(crate) fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env("PATH", path());
    command
}

/// Fails if a program is missing, with the command that installs it.
pub(crate) fn check() -> anyhow::Result<()> {
    let path = path();
    let missing: Vec<_> = TOOLS
        .iter()
        .filter(|(name, ..)| !env::split_paths(&path).any(|folder| folder.join(name).is_file()))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let list = |field: fn(&(&'static str, &'static str, &'static str)) -> &'static str, between| {
        let mut words: Vec<&str> = missing.iter().map(|tool| field(tool)).collect();
        words.dedup();
        words.join(between)
    };
    bail!(
        "a lab needs {}, not found here; Debian, Ubuntu: apt install {}; Fedora, RHEL: dnf \
         install {}",
        list(|tool| tool.0, ", "),
        list(|tool| tool.1, " "),
        list(|tool| tool.2, " "),
    );
}

/// Runs commands of `ip` or `tc` in the network namespace of a process; `enter` is `nsenter` with
/// its options.
pub(crate) fn batch(mut enter: Command, program: &str, commands: &str) -> anyhow::Result<()> {
    enter.args([program, "-batch", "-"]);
    enter.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = enter.spawn().with_context(|| format!("starting {program}"))?;
    let mut input = child.stdin.take().context("its input is a pipe")?;
    // If the program ends early, its message says more than the broken pipe.
    let written = input.write_all(commands.as_bytes());
    drop(input);
    let output = child.wait_with_output().with_context(|| format!("waiting for {program}"))?;
    if output.status.success() && written.is_ok() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    bail!("{program} failed ({}): {}", output.status, said.trim().replace('\n', "; "))
}

fn path() -> OsString {
    let mut path = env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
    path.push(":/usr/sbin:/sbin");
    path
}
