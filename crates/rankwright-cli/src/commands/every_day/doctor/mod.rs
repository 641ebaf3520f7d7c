//! `rankwright doctor`: what is installed and works, what is missing, and the package that has it.

mod answer;
mod finding;
mod launched;
mod packages;
mod programs;
mod system;
mod table;

use std::process::ExitCode;

use clap::Args;

use crate::options::ResultOptions;
use crate::output::{self, Stream, Verbosity};
use answer::Examination;
use programs::Here;

/// Options of `rankwright doctor`.
#[derive(Debug, Args)]
#[command(after_help = "\
    Exit code: 0 if everything that profile, place and run need works, else 1.\n\
    Examples: rankwright doctor\n          \
              rankwright doctor --launch --format json")]
pub(crate) struct Doctor {
    /// Also start 2 ranks with each MPI launcher, build the tracer for each MPI and record 2 ranks with
    /// it; takes up to a minute
    #[arg(long)]
    launch: bool,
    #[command(flatten)]
    result: ResultOptions,
}

impl Doctor {
    pub(crate) fn run(&self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        self.result.check()?;
        let here = Here::look(self.launch, verbosity);
        let rows = table::CHECKS.iter().filter(|check| self.launch || !check.launches);
        let examination = Examination::new(rows.map(|check| (check, (check.find)(&here))));
        let stream = (!self.result.has_file()).then_some(Stream::Output);
        self.result.write(&examination.show(self.result.format, stream))?;
        if !self.launch {
            let text = "note: nothing was launched; `rankwright doctor --launch` starts and records 2 \
                        ranks with each MPI";
            output::note(verbosity, text);
        }
        Ok(if examination.works() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
