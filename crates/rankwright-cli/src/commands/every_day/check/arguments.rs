//! The command line of `rankwright check`.

use std::path::PathBuf;

use clap::Args;
use rankwright::launch::Launcher;
use rankwright::units::Seconds;

use crate::options::{
    Given, LAUNCHER_NAME, LaunchOptions, ReportOption, ResultOptions, parse_count,
};

/// Options of `rankwright check`.
#[derive(Debug, Args)]
#[command(after_help = "Exit code: 0 if every rank is where it should be, 5 if not. With \
                         --counters: 5 if a device did not carry what was due; 0 if all did, or if that \
                         cannot be told.")]
pub(crate) struct Check {
    #[command(flatten)]
    pub(super) given: Given,
    /// Placement file of `place` or `map`
    #[arg(value_name = "PLACEMENT", required_unless_present_any = ["pid", "running", "counters", "read_counters_to"])]
    pub(super) placement: Option<PathBuf>,
    #[command(flatten)]
    pub(super) options: LaunchOptions,
    /// Check these processes on this host instead of starting a job
    #[arg(
        long,
        value_name = "PID",
        num_args = 1..,
        value_delimiter = ',',
        value_parser = parse_count::<u32>
    )]
    pub(super) pid: Vec<u32>,
    /// Check the ranks that run on this host instead of starting a job: those of all jobs, or of
    /// the job with this number
    #[arg(long, value_name = "JOB", num_args = 0..=1, require_equals = true, default_missing_value = "", conflicts_with = "pid")]
    pub(super) running: Option<String>,
    /// Check what network devices carried, by this record of `run --counters`, instead of starting a
    /// job; with PLACEMENT, against that placement instead of the one that ran
    #[arg(long, value_name = "RECORD", conflicts_with_all = ["pid", "running"])]
    pub(super) counters: Option<PathBuf>,
    /// Folder for the counters of this node, as one of all nodes
    #[arg(long, value_name = "FOLDER", hide = true, conflicts_with_all = ["pid", "running", "counters"])]
    pub(super) read_counters_to: Option<PathBuf>,
    /// The launcher [default: that of site.toml, else that of the program's MPI library, else the
    /// first on PATH]
    #[arg(long = "for", value_name = "LAUNCHER", value_parser = LAUNCHER_NAME)]
    pub(super) launcher: Option<&'static Launcher>,
    /// Time within which all ranks must report
    #[arg(long, value_name = "TIME", default_value = "30 s")]
    pub(super) timeout: Seconds,
    #[command(flatten)]
    pub(super) result: ResultOptions,
    #[command(flatten)]
    pub(super) report: ReportOption,
    /// Program line as for `run`; rankwright-exec starts in place of the programs and reports
    #[arg(last = true, value_name = "PROGRAM")]
    pub(super) program: Vec<String>,
}
