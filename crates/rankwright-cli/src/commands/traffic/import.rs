//! `rankwright traffic import`.

use std::path::PathBuf;

use clap::Args;

use crate::inputs;

/// Options of `rankwright traffic import`.
#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The file to read, or - for standard input
    file: PathBuf,
    /// Its format; found out where not given
    #[arg(long, value_name = "FORMAT", help = format!("Its format ({}); found out where not given", super::format_names()))]
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
        let workload = inputs::text_workload(&self.file, self.from.as_deref())?;
        let job = super::chosen_job(workload, self.job.as_deref())?;
        super::write_job(job, "imported", self.output.as_deref())
    }
}
