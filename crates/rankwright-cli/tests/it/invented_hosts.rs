//! Launchers on hosts that do not exist: a remote shell of ours gives each its name on this machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::say;

fn beside_the_tests(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// The remote shell: `fake-ssh HOST COMMAND..` runs here, in a namespace where the host has that name.
pub(crate) fn fake_ssh() -> PathBuf {
    beside_the_tests("fake-ssh")
}

/// Whether this machine lets us invent hosts.
pub(crate) fn can_invent_hosts() -> bool {
    let output = Command::new(fake_ssh()).args(["n7", "hostname"]).output();
    let can = output.is_ok_and(|output| output.stdout == b"n7\n");
    if !can {
        say("SKIPPED: namespaces with a host name of their own are not permitted here");
    }
    can
}

/// The command run by `for-invented-hosts`: host names are resolved from /etc/hosts only, daemons communicate over
/// loopback, and TMPDIR is private. Redirections of standard input and output are not kept.
pub(crate) fn for_invented_hosts(command: &Command) -> Command {
    let mut same = Command::new(beside_the_tests("for-invented-hosts"));
    same.arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        same.current_dir(folder);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => same.env(name, value),
            None => same.env_remove(name),
        };
    }
    same
}
