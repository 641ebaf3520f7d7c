//! `rankwright place --nodes 4..16`: pack or spread.

use clap::{Args, ValueEnum};
use rankwright::choose::{Candidate, MemoryTraffic, PlanOf, Population, Preference, populations};
use rankwright::cluster::Cluster;
use rankwright::map::StrategyId;
use rankwright::placement::Granularity;
use rankwright::report::PopulationReport;
use rankwright::traffic::Workload;
use rankwright::units::{BytesPerSecond, UnitError};

use crate::options::Format;
use crate::output;
use crate::output::exit_code::Infeasible;

/// Options that apply only if several numbers of nodes are compared.
#[derive(Debug, Args)]
pub(super) struct PopulationOptions {
    /// With several numbers of --nodes: place on the number with the least time or with the fewest
    /// node-hours [default: time]
    #[arg(long, value_enum, value_name = "WHAT")]
    prefer: Option<Prefer>,
    /// With several numbers of --nodes: memory bandwidth that each rank uses besides messages, like
    /// "2 GB/s" [default: from the rates of the cluster]
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    memory_traffic: Option<BytesPerSecond>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Prefer {
    /// The least time
    Time,
    /// The fewest node-hours (number of nodes times run time)
    NodeHours,
}

fn parse_rate(text: &str) -> Result<BytesPerSecond, UnitError> {
    text.parse()
}

impl PopulationOptions {
    fn preference(&self) -> Preference {
        match self.prefer {
            None | Some(Prefer::Time) => Preference::Time,
            Some(Prefer::NodeHours) => Preference::NodeHours,
        }
    }

    fn traffic(&self, cluster: &Cluster) -> MemoryTraffic {
        let said = self.memory_traffic.map(MemoryTraffic::PerRank);
        said.unwrap_or_else(|| MemoryTraffic::of_cluster(cluster))
    }
}

impl PopulationOptions {
    /// Estimates the run time for each number of nodes.
    pub(super) fn compare(
        &self,
        (cluster, workload): (&Cluster, &Workload),
        granularity: Granularity,
        counts: &[usize],
        plan: &mut PlanOf<'_, anyhow::Error>,
        default: &StrategyId,
    ) -> Compared {
        let traffic = self.traffic(cluster);
        let preference = self.preference();
        let jobs = (cluster, workload);
        let (by, populations) = populations(jobs, granularity, counts, plan, default, traffic);
        let report =
            PopulationReport::new(cluster, &populations, preference, (by, traffic), default);
        Compared { populations, preference, report }
    }
}

/// Numbers of nodes with their estimates.
pub(super) struct Compared {
    populations: Vec<Population>,
    preference: Preference,
    report: PopulationReport,
}

impl Compared {
    /// The best placement of the preferred number of nodes.
    ///
    /// # Errors
    /// If no number of nodes is possible.
    pub(super) fn best(self) -> Result<Candidate, Infeasible> {
        let best = Population::preferred(&self.populations, self.preference);
        let best = best.and_then(|best| self.populations.into_iter().nth(best)?.best.ok());
        Ok(best.ok_or_else(|| Infeasible(none(&self.report)))?.candidate)
    }

    /// The numbers of nodes with their estimates, as text.
    pub(super) fn show(&self, format: Format) -> String {
        let report = &self.report;
        match format {
            Format::Table => {
                let (header, rows) = report.table();
                let table = match rows.is_empty() {
                    true => String::new(),
                    false => format!("{}\n", output::table(&header, &rows)),
                };
                format!("{}\n\n{table}{}", report.reason, report.remarks())
            }
            Format::Json => report.to_json(),
            Format::Csv => {
                let (header, rows) = report.csv();
                output::csv(&header, &rows)
            }
        }
    }
}

/// Why no number of nodes is possible.
fn none(report: &PopulationReport) -> String {
    let last = report.populations.last();
    let why = last.and_then(|row| row.why_not.as_deref()).unwrap_or("no number of nodes");
    format!("none of these numbers of nodes is possible; the last: {why}")
}
