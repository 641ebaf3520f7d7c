//! `rankwright traffic show`.

use clap::Args;
use rankwright::report::traffic::{TrafficSummary, heat_map};
use rankwright::traffic::Flow;
use rankwright::traffic::expansion::Expansion;
use rankwright::traffic::profile::FlowRecord;

use crate::output::{Format, ResultOptions, csv, table};

/// Options of `rankwright traffic show`.
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// A profile, a file of another format, or pattern:SHAPE:RANKS
    workload: String,
    /// How many of the heaviest pairs to list
    #[arg(long, default_value_t = 10, value_name = "N")]
    top: usize,
    /// Count collective calls too, as messages of this algorithm
    #[arg(long, value_parser = super::parse_expansion, default_value = "none", value_name = "ALGORITHM")]
    collectives: Expansion,
    /// The most cells of the heat map each way; 0 for no heat map
    #[arg(long, default_value_t = 64, value_name = "N")]
    heat_map: u32,
    #[command(flatten)]
    result: ResultOptions,
}

impl Show {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let mut profile = super::profile_of(&self.workload)?;
        let job = profile.job(self.collectives)?;
        if self.collectives != Expansion::None {
            profile.flows = job.flows.iter().map(|flow| FlowRecord::of_flow(*flow)).collect();
        }
        let summary = TrafficSummary::new(&profile, self.top);
        let rows: Vec<Vec<u64>> = summary.heaviest.iter().map(cells).collect();
        let header = ["source", "destination", "messages", "bytes", "largest"];
        let text = match self.result.format {
            Format::Json => serde_json::to_string_pretty(&summary)? + "\n",
            Format::Csv => csv(&header, &rows),
            Format::Table => {
                let mut text = summary.text();
                if !rows.is_empty() {
                    text += &format!("\nheaviest pairs\n{}", table(&header, &rows));
                }
                if self.heat_map > 0 {
                    text += &format!("\n{}", heat_map(&job, self.heat_map));
                }
                text
            }
        };
        self.result.write(&text)
    }
}

fn cells(flow: &Flow) -> Vec<u64> {
    let (source, destination) = (flow.source.0.into(), flow.destination.0.into());
    vec![source, destination, flow.messages, flow.bytes, flow.largest]
}
