//! `rankwright lab exec`.

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use anyhow::Context;
use clap::Args;

use super::Which;
use super::enter::{enter_node, launcher_environment};
use super::state::Folder;
use crate::output::exit_code::NotStarted;

/// Options of `rankwright lab exec`.
#[derive(Debug, Args)]
pub(super) struct Exec {
    #[command(flatten)]
    which: Which,
    /// Name or address of a node, or `head`
    node: String,
    /// The command; it finds the lab's launcher settings in its environment
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

impl Exec {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let command = self.prepare().map_err(not_started)?;
        Err(not_started(replace_by(command).into()))
    }

    fn prepare(&self) -> anyhow::Result<Command> {
        let folder = Folder::of(&self.which.name)?;
        let lab = folder.read_complete()?;
        let mut command = enter_node(&folder, &lab, &self.node)?;
        // Whoever enters a mount namespace is at its root.
        let here = env::current_dir().context("the current folder")?;
        command.args(["sh", "-c", "cd \"$0\" || exit 125; exec \"$@\""]).arg(here);
        command.args(&self.command).envs(launcher_environment(&folder));
        Ok(command)
    }
}

/// Replaces this process by the command, so that its exit code and signals are the command's.
pub(super) fn replace_by(mut command: Command) -> io::Error {
    command.exec()
}

/// A failure of ours before the program starts.
fn not_started(error: anyhow::Error) -> anyhow::Error {
    NotStarted { code: 125, why: format!("{error:#}") }.into()
}
