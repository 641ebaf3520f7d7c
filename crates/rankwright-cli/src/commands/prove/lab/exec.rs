//! `rankwright lab exec`.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::ExitCode;

use clap::Args;
use rankwright_lab::command_on;

use super::named::Named;
use crate::output::exit_code::NotStarted;

/// Options of `rankwright lab exec`.
#[derive(Debug, Args)]
pub(super) struct Exec {
    #[command(flatten)]
    lab: Named,
    /// Name or address of a node, or `head`
    node: String,
    /// The command; its environment has the lab's launcher settings
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

impl Exec {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let failed = |error: anyhow::Error| NotStarted { code: 125, why: format!("{error:#}") };
        let mut command = command_on(&self.lab.name, &self.node, &self.command).map_err(failed)?;
        // Exit code and signals are those of the command.
        Err(failed(command.exec().into()).into())
    }
}
