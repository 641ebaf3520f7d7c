//! Options of every command that launches or prepares it, and the program line behind them.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rankwright::launch::openmp::ThreadsPerCore;
use rankwright::launch::{Binding, LAUNCHERS, Launcher, ProgramLine, shell};
use rankwright::placement::MemoryPolicy;

use super::devices::FabricOptions;
use super::table_row::TableRow;
use crate::output::exit_code::UsageError;

/// The variable that names the program which the launcher calls instead of ssh.
const AGENT: &str = "RANKWRIGHT_AGENT";

/// What every launch file that is written needs to know, wherever its placement comes from.
#[derive(Debug, Default, Args)]
pub(crate) struct TargetOptions {
    /// Who binds the ranks on their hosts
    #[arg(long, value_enum, default_value_t, value_name = "WHO")]
    pub(crate) binding: BindingOption,
    /// The program that the launcher calls instead of ssh
    #[arg(long, value_name = "PROGRAM", env = AGENT, hide_env_values = true)]
    pub(crate) agent: Option<String>,
    /// The per-rank shim as the hosts of the job see it [default: beside this program]
    #[arg(long, value_name = "FILE")]
    pub(crate) shim: Option<PathBuf>,
    /// OpenMP threads on each core of a rank, a number or `all` of its PUs (SMT) [default: 1 where
    /// ranks have several cores, else no OpenMP variables]
    #[arg(long, value_name = "THREADS")]
    pub(crate) threads_per_core: Option<ThreadsPerCore>,
    /// How ranks take memory of their NUMA node
    #[arg(long, value_enum, default_value_t, value_name = "POLICY")]
    pub(crate) memory: MemoryOption,
}

/// Options of every command that launches or prepares it.
#[derive(Debug, Args)]
pub(crate) struct LaunchOptions {
    /// The job of the placement, if it has several
    #[arg(long, value_name = "NAME")]
    pub(crate) job: Option<String>,
    /// Further arguments for the launcher, in one text
    #[arg(long, value_name = "ARGUMENTS", allow_hyphen_values = true)]
    pub(crate) launcher_args: Option<String>,
    #[command(flatten)]
    pub(crate) target: TargetOptions,
    #[command(flatten)]
    pub(crate) fabric: FabricOptions,
}

/// How ranks take memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum MemoryOption {
    /// From it first, from others when it is full
    #[default]
    Preferred,
    /// From it only: a rank that needs more is killed
    Bind,
    /// As the system gives it
    None,
}

/// Who binds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum BindingOption {
    /// The launcher where that is safe, else the shim
    #[default]
    Auto,
    /// The launcher by its own means
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

/// Reads what stands behind `--`: a program and its arguments, or several with ` : ` between them.
pub(crate) fn programs(words: &[String]) -> Result<ProgramLine, UsageError> {
    ProgramLine::parse(words).map_err(|error| UsageError(error.to_string()))
}

/// Reads the name of a launcher.
pub(crate) const LAUNCHER_NAME: TableRow<Launcher> =
    TableRow::new(LAUNCHERS, |launcher| (launcher.name, launcher.summary));
