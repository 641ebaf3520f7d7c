//! `rankwright man`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use rankwright::files::write_atomically;

use crate::output;

/// Options of `rankwright man`.
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Write the pages of all commands to this folder
    #[arg(long, value_name = "FOLDER")]
    all: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(self, mut whole: clap::Command) -> anyhow::Result<ExitCode> {
        whole.build();
        let Some(folder) = self.all else {
            output::print(&page(whole)?)?;
            return Ok(ExitCode::SUCCESS);
        };
        std::fs::create_dir_all(&folder).with_context(|| format!("{}", folder.display()))?;
        write_pages(whole, "rankwright".to_owned(), &folder)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The page of a command and those of the commands below it.
fn write_pages(command: clap::Command, name: String, folder: &Path) -> anyhow::Result<()> {
    let below = command.get_subcommands().filter(|c| c.get_name() != "help" && !c.is_hide_set());
    for subcommand in below.cloned() {
        let name = format!("{name}-{}", subcommand.get_name());
        write_pages(subcommand, name, folder)?;
    }
    let path = folder.join(format!("{name}.1"));
    Ok(write_atomically(&path, page(command.name(name))?.as_bytes())?)
}

fn page(command: clap::Command) -> anyhow::Result<String> {
    let mut text = Vec::new();
    let version = concat!("rankwright ", env!("CARGO_PKG_VERSION"));
    clap_mangen::Man::new(command).source(version).render(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
