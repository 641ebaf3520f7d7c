//! `rankwright traffic show`.

use clap::Args;
use rankwright::report::traffic::{TrafficSummary, heat_map};
use rankwright::report::triage::Triage;
use rankwright::traffic::Flow;
use rankwright::traffic::expansion::Expansion;
use rankwright::traffic::profile::{FlowRecord, Profile};
use serde::Serialize;

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
    /// Ranks per node for the verdict; as it ran where not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    ranks_per_node: Option<u32>,
    #[command(flatten)]
    result: ResultOptions,
}

impl Show {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let mut profile = super::profile_of(&self.workload)?;
        let job = profile.job(self.collectives)?;
        let triage = self.triage(&profile);
        if self.collectives != Expansion::None {
            profile.flows = job.flows.iter().map(|flow| FlowRecord::of_flow(*flow)).collect();
        }
        let summary = TrafficSummary::new(&profile, self.top);
        let rows: Vec<Vec<u64>> = summary.heaviest.iter().map(cells).collect();
        let header = ["source", "destination", "messages", "bytes", "largest"];
        let text = match self.result.format {
            Format::Json => serde_json::to_string_pretty(&Shown { summary, triage })? + "\n",
            Format::Csv => csv(&header, &rows),
            Format::Table => {
                let mut text = summary.text() + &triage.text();
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

    /// What is said of the profile counts collective calls too, whatever is shown.
    fn triage(&self, profile: &Profile) -> Triage {
        let expansion = match self.collectives {
            Expansion::None => Expansion::Default,
            named => named,
        };
        match self.ranks_per_node {
            Some(ranks) => Triage::on_nodes_of(ranks, profile, expansion),
            None => Triage::new(profile, expansion),
        }
    }
}

/// All there is to say, in JSON.
#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    summary: TrafficSummary,
    triage: Triage,
}

fn cells(flow: &Flow) -> Vec<u64> {
    let (source, destination) = (flow.source.0.into(), flow.destination.0.into());
    vec![source, destination, flow.messages, flow.bytes, flow.largest]
}
