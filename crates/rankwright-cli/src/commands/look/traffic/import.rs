//! `rankwright traffic import`.

use std::path::PathBuf;

use clap::Args;

use super::formats::format_names;
use super::recorded::chosen_run;
use super::written::write_profile;
use crate::options::inputs;
use crate::output::exit_code::UsageError;

/// Options of `rankwright traffic import`.
#[derive(Debug, Args)]
pub(crate) struct Import {
    /// File to read, or - for standard input. If a run has several files: one of them, their
    /// folder, or the common beginning of their names
    file: PathBuf,
    /// Format of the file
    #[arg(long, value_name = "FORMAT", help = format!("Format of the file: {} [default: detected]", format_names()))]
    from: Option<String>,
    /// Job to take, if the file has several
    #[arg(long, value_name = "NAME")]
    job: Option<String>,
    /// Profile (.rwp) or edge list (.csv) to write [default: edge list on standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Import {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        if self.from.is_none() && inputs::is_profile(&self.file)? {
            let file = self.file.display();
            let text =
                format!("{file}: this is a profile already, expected traffic of another format");
            return Err(UsageError(text).into());
        }
        let imported = inputs::imported(&self.file, self.from.as_deref())?;
        let profile = chosen_run(imported, self.job.as_deref(), "imported")?;
        write_profile(&profile, self.output.as_deref())
    }
}
