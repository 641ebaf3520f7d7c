//! `rankwright lab down`.

use std::process::ExitCode;

use clap::Args;
use rankwright_lab::{down, labs};

use super::named::Named;
use crate::output::{self, Verbosity};

/// Options of `rankwright lab down`.
#[derive(Debug, Args)]
pub(super) struct Down {
    #[command(flatten)]
    lab: Named,
    /// Remove all labs of this user
    #[arg(long, conflicts_with = "name")]
    all: bool,
}

impl Down {
    pub(super) fn run(self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        let names = if self.all { labs()? } else { vec![self.lab.name] };
        let mut failure = None;
        for name in &names {
            // If one lab cannot be removed, continue with the others.
            match down(name) {
                Ok(false) => output::note(verbosity, format_args!("lab `{name}` was not up")),
                Ok(true) => output::note(verbosity, format_args!("removed lab `{name}`")),
                Err(error) => failure = Some(error),
            }
        }
        failure.map_or(Ok(ExitCode::SUCCESS), Err)
    }
}
