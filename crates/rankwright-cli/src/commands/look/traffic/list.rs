//! `rankwright traffic list`.

use clap::Args;
use rankwright::traffic::generate::built_in::BUILT_IN;
use rankwright::traffic::generate::nas::BENCHMARKS;
use rankwright::traffic::generate::pattern::SHAPES;
use serde::Serialize;

use crate::options::{Format, ResultOptions};
use crate::output::{csv, table};

/// Options of `rankwright traffic list`.
#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    result: ResultOptions,
}

/// A built-in workload.
#[derive(Serialize)]
struct Known {
    name: String,
    summary: &'static str,
}

impl List {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let papers = BUILT_IN
            .iter()
            .map(|workload| Known { name: workload.name.to_owned(), summary: workload.summary });
        let benchmarks = BENCHMARKS
            .iter()
            .map(|(name, _, summary)| Known { name: format!("nas:{name}.CLASS.RANKS"), summary });
        let patterns = SHAPES
            .iter()
            .map(|(name, _, summary)| Known { name: format!("pattern:{name}:RANKS"), summary });
        let all: Vec<Known> = papers.chain(benchmarks).chain(patterns).collect();
        let header = ["name", "summary"];
        let rows: Vec<Vec<&str>> =
            all.iter().map(|row| vec![row.name.as_str(), row.summary]).collect();
        self.result.write(&match self.result.format {
            Format::Table => table(&header, &rows),
            Format::Json => serde_json::to_string_pretty(&all)? + "\n",
            Format::Csv => csv(&header, &rows),
        })
    }
}
