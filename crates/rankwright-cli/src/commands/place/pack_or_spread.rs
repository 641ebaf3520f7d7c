//! `rankwright place --nodes 4..16`: pack or spread.

use clap::{Args, ValueEnum};
use rankwright::choose::{
    Candidate, MemoryTraffic, Population, Preference, TimeEstimate, populations,
};
use rankwright::cluster::Cluster;
use rankwright::map::{Problem, Strategy};
use rankwright::report::PopulationReport;
use rankwright::traffic::Workload;
use rankwright::units::{BytesPerSecond, UnitError};

use super::Place;
use crate::cli::Verbosity;
use crate::exit_code::{Infeasible, UsageError};
use crate::output::{self, Format};

/// Options that only make sense where several numbers of nodes are compared.
#[derive(Debug, Args)]
pub(super) struct PopulationOptions {
    /// With several numbers of --nodes: which of them is placed, the one with the least time or the
    /// one with the fewest node-hours [default: time]
    #[arg(long, value_enum, value_name = "WHAT")]
    prefer: Option<Prefer>,
    /// With several numbers of --nodes: what each rank reads and writes in memory besides messages,
    /// like "2 GB/s" [default: what the cluster's rates say]
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    memory_traffic: Option<BytesPerSecond>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Prefer {
    /// The least time
    Time,
    /// The fewest nodes times hours
    NodeHours,
}

fn parse_rate(text: &str) -> Result<BytesPerSecond, UnitError> {
    text.parse()
}

impl PopulationOptions {
    /// Refuses them where one number of nodes is given.
    pub(super) fn refuse(&self) -> Result<(), UsageError> {
        let prefer = self.prefer.map(|_| "--prefer");
        match prefer.or(self.memory_traffic.map(|_| "--memory-traffic")) {
            Some(option) => Err(UsageError(format!(
                "{option}: expected several numbers of nodes with it, like --nodes 4..16"
            ))),
            None => Ok(()),
        }
    }

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

impl Place {
    /// Prints what each number of nodes gives; the placement of the best.
    pub(super) fn pack_or_spread(
        &self,
        cluster: &Cluster,
        counts: &[usize],
        workload: &Workload,
        strategies: &[Strategy],
        verbosity: &Verbosity,
    ) -> anyhow::Result<Candidate> {
        let traffic = self.populations.traffic(cluster);
        let preference = self.populations.preference();
        let by = TimeEstimate::of(workload);
        let mut candidates = |problem: Problem| {
            let problem = self.keep(problem)?;
            let request = self.evaluation(false);
            let made = self.search.candidates_of(problem, strategies, request, verbosity)?;
            anyhow::Ok(made.candidates)
        };
        let estimate =
            |part: &Cluster, candidate: &Candidate| by.estimate(part, workload, candidate, traffic);
        let granularity = self.rank_size.granularity();
        let found = populations(cluster, workload, granularity, counts, &mut candidates, &estimate);
        let report = PopulationReport::new(cluster, &found, preference, by, traffic);
        let best = Population::preferred(&found, preference);
        let best = best.and_then(|best| found.into_iter().nth(best)?.best.ok());
        let best = best.ok_or_else(|| Infeasible(none(&report)))?;
        output::print(&show(&report, self.format))?;
        Ok(best.candidate)
    }
}

/// Why there is no placement at all.
fn none(report: &PopulationReport) -> String {
    let last = report.populations.last();
    let why = last.and_then(|row| row.why_not.as_deref()).unwrap_or("no number of nodes");
    format!("none of these numbers of nodes is possible; the last: {why}")
}

fn show(report: &PopulationReport, format: Format) -> String {
    match format {
        Format::Table => {
            let (header, rows) = report.table();
            format!("{}\n{}", output::table(&header, &rows), report.remarks())
        }
        Format::Json => report.to_json(),
        Format::Csv => {
            let (header, rows) = report.csv();
            output::csv(&header, &rows)
        }
    }
}
