//! `rankwright place`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use rankwright::choose::{Candidate, judge};
use rankwright::cluster::Cluster;
use rankwright::placement::PlacementFile;
use rankwright::report::Comparison;
use rankwright::traffic::Workload;

use super::compare;
use crate::cli::Verbosity;
use crate::inputs;
use crate::output::{self, Format};
use crate::planning::{self, RankSize, SearchOptions};

/// Options of `rankwright place`.
#[derive(Debug, Args)]
#[command(after_help = planning::strategy_help())]
pub(crate) struct Place {
    /// The jobs: profiles, text files of traffic, or pattern:SHAPE:RANKS
    #[arg(required = true, value_name = "WORKLOAD")]
    workloads: Vec<String>,
    /// The cluster: a cluster.toml, an hwloc XML file, or a built-in name
    #[arg(long, value_name = "CLUSTER")]
    on: String,
    /// How many nodes, where the cluster is one node's hwloc description
    #[arg(long, value_name = "NUMBER")]
    nodes: Option<u32>,
    /// The strategies to try, separated by commas; all of them by default
    #[arg(long, value_name = "LIST")]
    strategies: Option<String>,
    #[command(flatten)]
    rank_size: RankSize,
    #[command(flatten)]
    search: SearchOptions,
    /// How to write the comparison
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
    /// Write the placement to this file
    #[arg(short, long, value_name = "FILE", default_value = "placement.json")]
    output: PathBuf,
}

impl Place {
    pub(crate) fn run(self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        let strategies = self.search.strategies(self.strategies.as_deref())?;
        let cluster = inputs::cluster(&self.on, self.nodes)?;
        let workload = self.workload()?;
        let candidates =
            self.search.candidates(&cluster, &workload, &self.rank_size, &strategies)?;
        let verdict = judge(&cluster, &candidates);
        let comparison = Comparison::new(&cluster, &candidates, &verdict);
        self.write(&cluster, &workload, &candidates[verdict.best], verbosity)?;
        output::print(&compare::show(&comparison, self.format))?;
        Ok(ExitCode::SUCCESS)
    }

    /// All jobs together. A name that is there already gets a number: `app`, `app-2`.
    fn workload(&self) -> anyhow::Result<Workload> {
        let mut together = Workload::default();
        for name in &self.workloads {
            for mut job in inputs::workload(name)?.jobs {
                let taken = |name: &str| together.jobs.iter().any(|job| job.name == name);
                let plain = job.name.clone();
                let mut numbers = 2..;
                while taken(&job.name) {
                    let number = numbers.next().unwrap_or(u32::MAX);
                    job.name = format!("{plain}-{number}");
                }
                together.jobs.push(job);
            }
        }
        let names: Vec<&str> = together.jobs.iter().map(|job| job.name.as_str()).collect();
        together.name = names.join("+");
        Ok(together)
    }

    /// Writes what starts the jobs as placed.
    fn write(
        &self,
        cluster: &Cluster,
        workload: &Workload,
        best: &Candidate,
        verbosity: &Verbosity,
    ) -> anyhow::Result<()> {
        let file = PlacementFile::new(cluster, workload, &best.placement, best.load.predicted());
        file.write(&self.output)?;
        output::note(
            verbosity,
            format!("{}: placement by {}", self.output.display(), best.strategy),
        );
        Ok(())
    }
}
