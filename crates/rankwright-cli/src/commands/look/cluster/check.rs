//! `rankwright cluster check`: a summary of the description, with warnings.

use clap::Args;
use rankwright::report::to_json;
use serde::Serialize;

use super::description::group_lines;
use super::named::Named;
use crate::options::{Format, ResultOptions};
use crate::output::{self, Verbosity};
use crate::planning::cluster_warnings::warnings;

/// Options of `rankwright cluster check`.
#[derive(Debug, Args)]
pub(super) struct Check {
    #[command(flatten)]
    named: Named,
    #[command(flatten)]
    result: ResultOptions,
}

/// The JSON form.
#[derive(Debug, Serialize)]
struct Report<'a> {
    cluster: &'a str,
    rates: &'a str,
    calibrated: bool,
    node_types: Vec<String>,
    warnings: Vec<String>,
}

impl Check {
    pub(super) fn run(&self, verbosity: &Verbosity) -> anyhow::Result<()> {
        let cluster = self.named.read(verbosity)?;
        let warnings = warnings(&cluster);
        for warning in &warnings {
            output::warn(verbosity, warning);
        }
        let node_types = group_lines(&cluster);
        self.result.write(&match self.result.format {
            Format::Table => node_types.join("\n") + "\n",
            Format::Csv => {
                let rows: Vec<Vec<String>> = warnings.into_iter().map(|text| vec![text]).collect();
                output::csv(&["warning"], &rows)
            }
            Format::Json => {
                let report = Report {
                    cluster: &cluster.name,
                    rates: &cluster.rates.name,
                    calibrated: cluster.rates.calibrated,
                    node_types,
                    warnings,
                };
                to_json(&report)
            }
        })
    }
}
