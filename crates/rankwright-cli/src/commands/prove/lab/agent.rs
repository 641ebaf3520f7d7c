//! `rankwright lab agent`: the remote shell that launchers call in a lab.

use std::os::unix::process::CommandExt;
use std::process::ExitCode;

use clap::Args;
use rankwright_lab::remote_command;

use super::named::Named;
use crate::output::exit_code::NotStarted;

/// The exit code of `ssh` when it cannot reach the host.
const UNREACHABLE: u8 = 255;

/// Options of `rankwright lab agent`.
#[derive(Debug, Args)]
pub(super) struct Agent {
    #[command(flatten)]
    lab: Named,
    /// Options of `ssh`, host, command
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

impl Agent {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let failed = |error: anyhow::Error| NotStarted {
            code: UNREACHABLE,
            why: format!("remote shell of the lab: {error:#}"),
        };
        let mut command = remote_command(&self.lab.name, &self.arguments).map_err(failed)?;
        Err(failed(command.exec().into()).into())
    }
}
