//! The remote shell of a lab, in place of `ssh` on a cluster. Launchers call the script
//! `agent [options] HOST command...`, which starts this program as `lab agent`.

use std::env;
use std::ffi::OsString;
use std::process::Command;

use anyhow::Context;
use rankwright::launch::shell;

use crate::enter::enter_node;
use crate::state::{FOLDER_VARIABLE, Folder, LabName};

/// The options of `ssh` that take a value.
const WITH_VALUE: &str = "BbcDEeFIiJLlmOopPQRSWw";

/// The variables that the remote shell passes on. A real remote shell passes on no others either,
/// so launchers that forget a variable fail here too.
const PASSED_ON: [&str; 5] = ["HOME", "USER", "LOGNAME", "SHELL", "PATH"];

/// The command of the remote shell for these arguments: options of `ssh`, a host, a command.
///
/// # Errors
/// If the arguments have no host or no command, or the lab or the host is not up.
pub fn remote_command(lab: &LabName, arguments: &[String]) -> anyhow::Result<Command> {
    let (host, words) =
        host_and_command(arguments).context("expected [options] HOST command...")?;
    let folder = Folder::of(lab)?;
    let mut command = enter_node(&folder, &folder.read_complete()?, host)?;
    command.env_clear();
    for name in PASSED_ON {
        command.envs(env::var_os(name).map(|value| (name, value)));
    }
    let shell = env::var_os("SHELL").unwrap_or_else(|| OsString::from("/bin/sh"));
    command.arg(shell).arg("-c").arg(words.join(" "));
    Ok(command)
}

/// The script that launchers call as remote shell.
pub(crate) fn script(folder: &Folder) -> anyhow::Result<String> {
    let program = env::current_exe().context("the path of this program")?;
    Ok(format!(
        "#!/bin/sh\n\
         # The remote shell of the lab `{0}`, called as: agent [options] HOST command...\n\
         {FOLDER_VARIABLE}={1} exec {2} lab agent --name {0} -- \"$@\"\n",
        folder.name,
        shell::quote(&folder.root().display().to_string()),
        shell::quote(&program.display().to_string()),
    ))
}

/// Splits the arguments of `ssh` into host and command; `None` if one is missing.
fn host_and_command(arguments: &[String]) -> Option<(&str, &[String])> {
    let mut rest = arguments;
    while let Some(options) = rest.first()?.strip_prefix('-') {
        rest = &rest[1..];
        if options == "-" {
            break;
        }
        // A value stands in the same word or in the next: -lroot, -l root, -xl root.
        if options.find(|c| WITH_VALUE.contains(c)) == Some(options.len().saturating_sub(1)) {
            rest = rest.get(1..)?;
        }
    }
    let (host, command) = rest.split_first()?;
    let host = host.rsplit_once('@').map_or(host.as_str(), |(_, host)| host);
    (!command.is_empty()).then_some((host, command))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_found_behind_the_options_of_ssh() {
        let cases = [
            ("node1 true", Some("node1")),
            ("-x node1 true", Some("node1")),
            ("-l root -p 22 node1 true", Some("node1")),
            ("-lroot -xo BatchMode=yes root@node1 true", Some("node1")),
            ("-- node1 true", Some("node1")),
            ("node1", None),
            ("-l", None),
            ("-", None),
            ("", None),
        ];
        for (line, host) in cases {
            let words: Vec<String> = line.split_whitespace().map(ToOwned::to_owned).collect();
            let parsed = host_and_command(&words);
            assert_eq!(parsed.map(|(host, _)| host), host, "{line}");
            assert!(parsed.is_none_or(|(_, command)| command == ["true"]), "{line}");
        }
    }
}
