//! `rankwright traffic show`.

use clap::Args;
use rankwright::report::to_json;
use rankwright::report::traffic::{TrafficSummary, heat_map};
use rankwright::report::triage::Triage;
use rankwright::report::workload::{COLUMNS, CSV_COLUMNS, JobSummary, Sending, WorkloadSummary};
use rankwright::traffic::expansion::Expansion;
use rankwright::traffic::profile::{FlowRecord, Profile};
use rankwright::traffic::read::import::Imported;

use super::formats::{parse_expansion, warn_if_estimated};
use super::recorded::{chosen_run, origin};
use crate::options::{Format, ResultOptions, inputs, parse_count, parse_count_to};
use crate::output::{Verbosity, csv, table};
use crate::planning::traffic_report::TrafficReport;

/// Options of `rankwright traffic show`.
#[derive(Debug, Args)]
pub(crate) struct Show {
    #[arg(help = inputs::WORKLOAD_HELP)]
    workload: String,
    /// Job to show, if the workload has several
    #[arg(long, value_name = "NAME")]
    job: Option<String>,
    /// Number of heaviest pairs of ranks to list
    #[arg(
        long,
        default_value_t = 10,
        value_name = "N",
        value_parser = parse_count::<usize>,
        allow_negative_numbers = true,
    )]
    top: usize,
    /// Count collective calls too, as the messages of this algorithm: none, default, linear,
    /// binomial, ring or library
    #[arg(long, value_parser = parse_expansion, default_value = "none", value_name = "ALGORITHM")]
    collectives: Expansion,
    /// Largest number of rows and columns of the heat map; 0 for no heat map
    #[arg(
        long,
        default_value_t = 64,
        value_name = "N",
        value_parser = parse_count::<u32>,
        allow_negative_numbers = true,
    )]
    heat_map: u32,
    /// Ranks per node that the verdict assumes [default: as in the recorded run]
    #[arg(
        long,
        value_name = "N",
        value_parser = parse_count_to::<{ u32::MAX }>,
        allow_negative_numbers = true,
    )]
    ranks_per_node: Option<u32>,
    #[command(flatten)]
    result: ResultOptions,
}

impl Show {
    pub(crate) fn run(self, verbosity: &Verbosity) -> anyhow::Result<()> {
        let named = inputs::named(&self.workload)?;
        if let (Imported::Traffic(workload), None) = (&named, &self.job)
            && workload.jobs.len() != 1
        {
            return self.result.write(&self.jobs(&WorkloadSummary::new(workload))?);
        }
        let sending = match &named {
            Imported::Traffic(workload) => {
                let mut jobs = workload.jobs.iter();
                let job = jobs.find(|job| self.job.as_ref().is_none_or(|name| *name == job.name));
                job.and_then(|job| JobSummary::new(job).sending)
            }
            Imported::Run(profile) => Sending::of_run(&profile.job(Expansion::Default)?),
        };
        let origin = origin(&self.workload);
        let profile = chosen_run(named, self.job.as_deref(), origin)?;
        warn_if_estimated(&profile, self.collectives, verbosity);
        let text = self.single_job(profile, sending)?;
        self.result.write(&text)
    }

    /// A workload with several jobs, a line for each.
    fn jobs(&self, summary: &WorkloadSummary) -> anyhow::Result<String> {
        Ok(match self.result.format {
            Format::Json => to_json(summary),
            Format::Csv => {
                let rows: Vec<Vec<String>> =
                    summary.jobs.iter().map(JobSummary::csv_cells).collect();
                csv(&CSV_COLUMNS, &rows)
            }
            Format::Table => {
                let rows: Vec<Vec<String>> = summary.jobs.iter().map(JobSummary::cells).collect();
                format!("{}\n\n{}", summary.line(), table(&COLUMNS, &rows))
            }
        })
    }

    /// One job, in detail.
    fn single_job(&self, mut profile: Profile, sending: Option<Sending>) -> anyhow::Result<String> {
        let job = profile.job(self.collectives)?;
        let triage = self.triage(&profile);
        if self.collectives != Expansion::None {
            profile.flows = job.flows.iter().map(|flow| FlowRecord::of_flow(*flow)).collect();
        }
        let summary = TrafficSummary::new(&profile, self.top);
        let report = TrafficReport::new(summary, sending, triage);
        Ok(match self.result.format {
            Format::Json => report.json()?,
            Format::Csv => report.csv(),
            Format::Table => {
                let mut text = report.text() + &report.heaviest();
                if self.collectives == Expansion::None && report.has_only_collectives() {
                    text += "\nonly collective calls send: `--collectives default` counts their messages \
                             between ranks\n";
                } else if self.heat_map > 0 {
                    text += &format!("\n{}", heat_map(&job, self.heat_map));
                }
                text
            }
        })
    }

    /// The summary of the profile; it counts collective calls even if the pairs do not.
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
