//! `rankwright timeline export`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rankwright::files::{check_writable, replace_atomically};
use rankwright::report::timeline::{CountedRow, perfetto};
use rankwright::timeline::{Bins, counted};

use super::run::RunOptions;
use crate::options::refuse_stdout;
use crate::output::Verbosity;

/// Options of `rankwright timeline export`.
#[derive(Debug, Args)]
pub(crate) struct Export {
    #[command(flatten)]
    run: RunOptions,
    /// Format to write
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "perfetto")]
    format: ExportFormat,
    /// File to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    /// JSON of the Trace Event Format, for ui.perfetto.dev and chrome://tracing: a track for each rank,
    /// counters for each network device, computed and as it counted
    Perfetto,
}

/// The number of values of a counter, at most.
const VALUES: usize = 2000;

impl Export {
    pub(crate) fn run(self, verbosity: &Verbosity) -> anyhow::Result<()> {
        refuse_stdout(&self.output)?;
        check_writable(&self.output)?;
        let run = self.run.read(verbosity)?;
        let timeline = run.timeline(0, verbosity)?;
        let (first_start, counted_span) = run.counted_span();
        let span = timeline.as_ref().map_or(counted_span, |timeline| timeline.span);
        let width = (span / VALUES as f64).max(f64::MIN_POSITIVE);
        let bins = Bins::new(0.0, width, VALUES);
        let counted = CountedRow::of(counted(&run.series, first_start, &bins));
        match self.format {
            ExportFormat::Perfetto => Ok(replace_atomically(&self.output, |temporary| {
                let mut file = BufWriter::new(File::create(temporary)?);
                perfetto(timeline.as_ref(), &run.sites, &counted, &bins, &mut file)?;
                file.flush()
            })?),
        }
    }
}
