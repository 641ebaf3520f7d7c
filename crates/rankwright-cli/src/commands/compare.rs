//! `rankwright compare`.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use rankwright::choose::judge;
use rankwright::report::Comparison;

use crate::cli::Verbosity;
use crate::inputs;
use crate::output::{self, Format, ResultOptions};
use crate::planning::{self, ClusterOptions, RankSize, SearchOptions};

/// Options of `rankwright compare`.
#[derive(Debug, Args)]
#[command(after_help = planning::strategy_help())]
pub(crate) struct Compare {
    #[arg(help = inputs::WORKLOAD_HELP)]
    workload: String,
    #[command(flatten)]
    cluster: ClusterOptions,
    /// By what the strategies are judged
    #[arg(long, value_enum, default_value_t)]
    by: By,
    /// The strategies, separated by commas; all of them by default
    #[arg(long, value_name = "LIST")]
    strategies: Option<String>,
    #[command(flatten)]
    rank_size: RankSize,
    #[command(flatten)]
    search: SearchOptions,
    #[command(flatten)]
    result: ResultOptions,
}

/// The judges that exist.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum By {
    /// Bytes through network devices and memories, and how far they travel
    #[default]
    Static,
}

impl Compare {
    pub(crate) fn run(self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        let strategies = self.search.strategies(self.strategies.as_deref())?;
        let cluster = self.cluster.read()?;
        let workload = inputs::workload(&self.workload, verbosity)?;
        let candidates =
            self.search.candidates(&cluster, &workload, &self.rank_size, &strategies, verbosity)?;
        let By::Static = self.by;
        let comparison = Comparison::new(&cluster, &candidates, &judge(&cluster, &candidates));
        self.result.write(&show(&comparison, self.result.format))?;
        if self.result.format != Format::Table {
            output::note(verbosity, comparison.caveat());
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// A comparison in one of the formats.
pub(crate) fn show(comparison: &Comparison, format: Format) -> String {
    match format {
        Format::Table => {
            let (header, rows) = comparison.table();
            let table = output::table(&header, &rows);
            let (header, rows) = comparison.cut_table();
            let header: Vec<&str> = header.iter().map(String::as_str).collect();
            let cuts = output::table(&header, &rows);
            let (reason, caveat) = (&comparison.reason, comparison.caveat());
            format!("{table}\n{cuts}\n{reason}\n{caveat}\n")
        }
        Format::Json => comparison.to_json(),
        Format::Csv => {
            let (header, rows) = comparison.csv();
            let header: Vec<&str> = header.iter().map(String::as_str).collect();
            output::csv(&header, &rows)
        }
    }
}
