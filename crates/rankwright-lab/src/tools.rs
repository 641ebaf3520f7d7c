//! The system programs that a lab needs.

use std::env;
use std::ffi::OsString;
use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

/// A program, and the packages that have it.
pub(crate) struct Tool {
    pub(crate) program: &'static str,
    /// On Debian and Ubuntu.
    pub(crate) debian: &'static str,
    /// On Fedora and RHEL.
    pub(crate) fedora: &'static str,
}

/// What every lab needs.
pub(crate) const TOOLS: [Tool; 8] = [
    Tool { program: "bridge", debian: "iproute2", fedora: "iproute" },
    Tool { program: "ip", debian: "iproute2", fedora: "iproute" },
    Tool { program: "tc", debian: "iproute2", fedora: "iproute-tc" },
    Tool { program: "nsenter", debian: "util-linux", fedora: "util-linux" },
    Tool { program: "unshare", debian: "util-linux", fedora: "util-linux" },
    Tool { program: "setsid", debian: "util-linux", fedora: "util-linux" },
    Tool { program: "mount", debian: "mount", fedora: "util-linux" },
    Tool { program: "hostname", debian: "hostname", fedora: "hostname" },
];

/// A program, searched also in folders like `/usr/sbin` that are not on the PATH of ordinary users.
pub(crate) fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env("PATH", path());
    command
}

/// Fails if a program is missing, with the command that installs it; `what` needs them.
pub(crate) fn check(what: &str, tools: &[Tool]) -> anyhow::Result<()> {
    let path = path();
    let is_there =
        |tool: &&Tool| env::split_paths(&path).any(|folder| folder.join(tool.program).is_file());
    let missing: Vec<&Tool> = tools.iter().filter(|tool| !is_there(tool)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let list = |field: fn(&Tool) -> &'static str, between| {
        let mut words: Vec<&str> = missing.iter().map(|tool| field(tool)).collect();
        words.dedup();
        words.join(between)
    };
    bail!(
        "{what} needs {}, not found here; Debian, Ubuntu: apt install {}; Fedora, RHEL: dnf \
         install {}",
        list(|tool| tool.program, ", "),
        list(|tool| tool.debian, " "),
        list(|tool| tool.fedora, " "),
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
