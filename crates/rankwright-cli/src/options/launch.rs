//! Options of the commands that start jobs or write launch files, and the program line behind them.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rankwright::launch::openmp::ThreadsPerCore;
use rankwright::launch::{Binding, LAUNCHERS, Launcher, ProgramLine, ProgramSlotsError, shell};
use rankwright::placement::{Granularity, MemoryPolicy};

use super::devices::FabricOptions;
use super::rank_size::RankSize;
use super::table_row::TableRow;
use crate::output::exit_code::{Infeasible, UsageError};

/// The variable with the default of `--agent`.
const AGENT: &str = "RANKWRIGHT_AGENT";

/// Options that all launch files depend on.
#[derive(Debug, Default, Args)]
pub(crate) struct TargetOptions {
    /// What binds the ranks to their PUs
    #[arg(long, value_enum, default_value_t, value_name = "WHO")]
    pub(crate) binding: BindingOption,
    /// Program that the launcher calls instead of ssh, like /opt/bin/rsh
    #[arg(long, value_name = "PROGRAM", env = AGENT, hide_env_values = true)]
    pub(crate) agent: Option<String>,
    /// Path of rankwright-exec on the hosts of the job [default: beside this program]
    #[arg(long, value_name = "FILE")]
    pub(crate) shim: Option<PathBuf>,
    /// OpenMP threads per core of a rank: a number, or `all` for one per PU (SMT) [default: 1 if
    /// ranks have several cores; else OpenMP variables are not set]
    #[arg(long, value_name = "THREADS")]
    pub(crate) threads_per_core: Option<ThreadsPerCore>,
    /// Memory policy of the ranks
    #[arg(long, value_enum, default_value_t, value_name = "POLICY")]
    pub(crate) memory: MemoryOption,
}

/// Options of the commands that start jobs or write launch files.
#[derive(Debug, Args)]
pub(crate) struct LaunchOptions {
    /// Name of the job, if the placement has several
    #[arg(long, value_name = "NAME")]
    pub(crate) job: Option<String>,
    /// Further arguments for the launcher, as one quoted string, like "--mca btl self,tcp"
    #[arg(long, value_name = "ARGUMENTS", allow_hyphen_values = true)]
    pub(crate) launcher_args: Option<String>,
    #[command(flatten)]
    pub(crate) target: TargetOptions,
    #[command(flatten)]
    pub(crate) fabric: FabricOptions,
}

/// The memory policy of ranks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum MemoryOption {
    /// Memory of the rank's NUMA node, of other nodes when it is full
    #[default]
    Preferred,
    /// Memory of the rank's NUMA node only: a rank that needs more is killed
    Bind,
    /// The system's default
    None,
}

/// What binds the ranks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum BindingOption {
    /// The launcher if it can express the placement safely, else the shim
    #[default]
    Auto,
    /// The launcher; an error if it cannot
    Native,
    /// The shim rankwright-exec
    Exec,
}

impl LaunchOptions {
    /// Further arguments for the launcher.
    pub(crate) fn launcher_arguments(&self) -> Result<Vec<String>, UsageError> {
        let arguments = self.launcher_args.as_deref().unwrap_or_default();
        shell::split(arguments)
            .map_err(|open| UsageError(format!("--launcher-args: found {open} in: {arguments}")))
    }
}

impl From<BindingOption> for Binding {
    fn from(option: BindingOption) -> Self {
        match option {
            BindingOption::Auto => Self::Auto,
            BindingOption::Native => Self::Native,
            BindingOption::Exec => Self::Exec,
        }
    }
}

impl From<MemoryOption> for MemoryPolicy {
    fn from(option: MemoryOption) -> Self {
        match option {
            MemoryOption::Preferred => Self::Preferred,
            MemoryOption::Bind => Self::Bind,
            MemoryOption::None => Self::Unset,
        }
    }
}

/// How programs of one line share nodes.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct ProgramsOption {
    /// Give each program of the program line nodes of its own
    #[arg(long)]
    own_nodes: bool,
}

impl ProgramsOption {
    /// The size of each rank's slot where the programs of a line have different cores or nodes of their
    /// own; `None` elsewhere.
    ///
    /// # Errors
    /// If the line is not for this number of ranks, or other options give ranks their cores.
    pub(crate) fn granularity(
        self,
        line: Option<&ProgramLine>,
        ranks: usize,
        rank_size: &RankSize,
    ) -> anyhow::Result<Option<Granularity>> {
        let own_nodes = self.own_nodes;
        let Some(line) = line else {
            return match own_nodes {
                true => {
                    Err(UsageError("--own-nodes needs programs: -- -n 2 ./a : ./b".to_owned())
                        .into())
                }
                false => Ok(None),
            };
        };
        line.granularity(ranks, rank_size.given(None).as_ref(), own_nodes).map_err(|error| {
            match error {
                ProgramSlotsError::OtherSize => {
                    UsageError(format!("{error}: leave out --ranks-per-.. and --per pu")).into()
                }
                error => Infeasible(error.to_string()).into(),
            }
        })
    }
}

/// Reads the words behind `--`: a program and its arguments, or several with ` : ` between them.
pub(crate) fn programs(words: &[String]) -> Result<ProgramLine, UsageError> {
    ProgramLine::parse(words).map_err(|error| UsageError(error.to_string()))
}

/// Reads the name of a launcher.
pub(crate) const LAUNCHER_NAME: TableRow<Launcher> =
    TableRow::new(LAUNCHERS, |launcher| (launcher.name, launcher.summary));
