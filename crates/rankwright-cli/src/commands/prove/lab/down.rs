//! `rankwright lab down`.

use std::process::ExitCode;

use clap::Args;

use super::Which;
use super::process;
use super::state::Folder;
use crate::output::{self, Verbosity};

/// Options of `rankwright lab down`.
#[derive(Debug, Args)]
pub(super) struct Down {
    #[command(flatten)]
    which: Which,
    /// Remove all labs of this user
    #[arg(long, conflicts_with = "name")]
    all: bool,
}

impl Down {
    pub(super) fn run(self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        let folders = if self.all { Folder::all()? } else { vec![Folder::of(&self.which.name)?] };
        let mut failure = None;
        for folder in &folders {
            let existed = folder.exists();
            // One lab that cannot be removed does not save the others.
            match remove(folder) {
                Ok(0) if !existed => {
                    output::note(verbosity, format_args!("no lab `{}` was up", folder.name));
                }
                Ok(_) => output::note(verbosity, format_args!("lab `{}` is gone", folder.name)),
                Err(error) => failure = Some(error),
            }
        }
        failure.map_or(Ok(ExitCode::SUCCESS), Err)
    }
}

/// Removes whatever there is of a lab, in whatever state it is; how many processes were ended.
pub(super) fn remove(folder: &Folder) -> anyhow::Result<usize> {
    // An unreadable record is no reason to keep the lab.
    let lab = folder.read().ok().flatten();
    let ended = process::end_all(folder, lab.as_ref())?;
    folder.remove()?;
    Ok(ended)
}
