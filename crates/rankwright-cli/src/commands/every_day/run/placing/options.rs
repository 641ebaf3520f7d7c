//! Options for placing at the start.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use rankwright::cluster::read::hostfile::{self, Host};
use rankwright::files::InputError;
use rankwright::map::Effort;
use rankwright::traffic::Workload;

use crate::host::batch_job::BatchJob;
use crate::options::site::Defaults;
use crate::options::{
    Nodes, ProgramsOption, RankSize, SelectionOptions, inputs, parse_count, parse_effort,
};
use crate::output::Verbosity;
use crate::output::exit_code::Infeasible;

/// Options for placing at the start.
#[derive(Debug, Args)]
pub(crate) struct PlacingOptions {
    /// Place for the granted nodes, by this profile (app.rwp) or other traffic of the program
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: Option<String>,
    /// Hardware of the granted nodes: a cluster.toml, an hwloc XML file, synthetic:STRING or a
    /// built-in name [default: that of site.toml, else all nodes like this one]
    #[arg(long, value_name = "CLUSTER")]
    pub(crate) on: Option<String>,
    /// Hostfile with the nodes, if no batch system grants them
    #[arg(long, value_name = "FILE", requires = "profile")]
    pub(crate) hostfile: Option<PathBuf>,
    /// Number of ranks [default: that of the profile]
    #[arg(
        short = 'n',
        long,
        value_name = "NUMBER",
        value_parser = parse_count::<NonZeroUsize>,
        requires = "profile",
        allow_negative_numbers = true,
    )]
    pub(crate) ranks: Option<NonZeroUsize>,
    /// Granted nodes to use: at most this many, like 4, or only these, like n[0-3]
    #[arg(long, value_name = "NODES", requires = "profile")]
    pub(crate) nodes: Option<Nodes>,
    #[command(flatten)]
    pub(crate) rank_size: RankSize,
    #[command(flatten)]
    pub(crate) programs: ProgramsOption,
    /// Strategy to place by [default: the best of those that --effort allows]
    #[arg(long, value_name = "STRATEGY", alias = "strategies", requires = "profile")]
    pub(crate) strategy: Option<String>,
    /// Time to spend before the job starts: `fast` (at most about a second, no simulation), `normal`
    /// or `best` (as `place` searches, with the expected run time) [default: fast]
    #[arg(
        long,
        value_name = "EFFORT",
        default_value = "fast",
        hide_default_value = true,
        value_parser = parse_effort,
        requires = "profile",
    )]
    pub(crate) effort: Effort,
    #[command(flatten)]
    pub(crate) selection: SelectionOptions,
    /// Start nothing if the job cannot be placed [default: start it by the launcher's default]
    #[arg(long, requires = "profile")]
    pub(crate) strict: bool,
    /// The defaults of the site.
    #[arg(skip)]
    pub(crate) defaults: Defaults,
}

impl PlacingOptions {
    /// The number of ranks that the user wants, from `-n`, the programs or the batch system.
    pub(crate) fn wanted_ranks(
        &self,
        programs: Option<usize>,
        batch: Option<&BatchJob>,
    ) -> Option<usize> {
        let option = self.ranks.map(NonZeroUsize::get);
        option.or(programs).or_else(|| batch.and_then(|batch| batch.tasks))
    }

    /// The hosts of the user's hostfile, if it can be read.
    pub(crate) fn hosts(&self) -> Vec<Host> {
        self.hostfile.as_deref().and_then(|file| listed_in(file).ok()).unwrap_or_default()
    }

    /// Reads the profile.
    ///
    /// # Errors
    /// If it cannot be read, or has several jobs.
    pub(crate) fn workload(&self, verbosity: &Verbosity) -> anyhow::Result<Workload> {
        let name = self.profile.as_deref().context("--profile was not given")?;
        let workload = inputs::workload(name, verbosity)?;
        if workload.jobs.len() != 1 {
            let why = format!("{name} has {} jobs, one can be started", workload.jobs.len());
            return Err(Infeasible(why).into());
        }
        Ok(workload)
    }
}

/// The hosts of a hostfile.
pub(super) fn listed_in(file: &Path) -> Result<Vec<Host>, InputError> {
    let text = inputs::read_text_or_stdin(file, hostfile::EXPECTED)?;
    hostfile::parse(&text, &file.display().to_string())
}
