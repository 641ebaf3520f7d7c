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
    /// The file to read, or - for standard input; of several files of one run any one, their
    /// folder, or what their names begin with
    file: PathBuf,
    /// Its format; found out where not given
    #[arg(long, value_name = "FORMAT", help = format!("Its format ({}); found out where not given", format_names()))]
    from: Option<String>,
    /// The job to take where there are several
    #[arg(long, value_name = "NAME")]
    job: Option<String>,
    /// The profile (.rwp) or edge list (.csv) to write; standard output gets an edge list
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Import {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        if self.from.is_none() && inputs::is_profile(&self.file)? {
            let file = self.file.display();
            let text = format!("{file}: found a profile, expected traffic that is to become one");
            return Err(UsageError(text).into());
        }
        let imported = inputs::imported(&self.file, self.from.as_deref())?;
        let profile = chosen_run(imported, self.job.as_deref(), "imported")?;
        write_profile(&profile, self.output.as_deref())
    }
}
