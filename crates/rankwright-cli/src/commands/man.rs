//! `rankwright man`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use rankwright::files::write_atomically;

use crate::{cli, output};

/// Options of `rankwright man`.
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Write the pages of all commands to this folder
    #[arg(long, value_name = "FOLDER")]
    all: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let mut command = cli::command();
        command.build();
        let Some(folder) = self.all else {
            output::print(&page(command)?)?;
            return Ok(ExitCode::SUCCESS);
        };
        for subcommand in command.get_subcommands().filter(|c| c.get_name() != "help").cloned() {
            let name = format!("rankwright-{}", subcommand.get_name());
            let path = folder.join(format!("{name}.1"));
            write_atomically(&path, page(subcommand.name(name))?.as_bytes())?;
        }
        write_atomically(&folder.join("rankwright.1"), page(command)?.as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }
}

fn page(command: clap::Command) -> anyhow::Result<String> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command).render(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
