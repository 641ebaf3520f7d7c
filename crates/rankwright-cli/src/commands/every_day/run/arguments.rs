//! The command line of `rankwright run`.

use std::path::PathBuf;

use clap::Args;
use rankwright::launch::Launcher;
use rankwright::units::Seconds;

use super::comparison::options::ComparisonOptions;
use super::counters::options::CountersOption;
use super::placing::options::PlacingOptions;
use crate::options::{
    Given, LAUNCHER_NAME, LaunchOptions, ProgramsOption, RankSize, ReportOption, ResultOptions,
    SelectionOptions, given, refuse,
};
use crate::output::exit_code::UsageError;

/// Options of `rankwright run`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit code: that of the program; 124 after --timeout; 125, 126 or 127 if the \
                  program was not started."
)]
pub(crate) struct Run {
    #[command(flatten)]
    given: Given,
    /// Placement file of `place` or `map`; not needed with --profile, which places for the granted
    /// nodes
    #[arg(value_name = "PLACEMENT", required_unless_present_any = ["profile", "compare"])]
    pub(super) placement: Option<PathBuf>,
    #[command(flatten)]
    pub(super) options: LaunchOptions,
    #[command(flatten)]
    pub(super) placing: PlacingOptions,
    /// Start even if hosts, PUs, devices or the cluster differ from those of the placement
    #[arg(long)]
    pub(super) force: bool,
    /// Keep no line about this run in the record of accuracy, from which `place` tells how good its
    /// predictions on this cluster were
    #[arg(long)]
    pub(super) no_record: bool,
    #[command(flatten)]
    pub(super) counters: CountersOption,
    #[command(flatten)]
    pub(super) comparison: ComparisonOptions,
    /// The launcher [default: that of site.toml, else that of the program's MPI library, else the
    /// first on PATH]
    #[arg(long = "for", value_name = "LAUNCHER", value_parser = LAUNCHER_NAME)]
    pub(super) launcher: Option<&'static Launcher>,
    /// End the job after this time, like 10min; with --compare, each run
    #[arg(long, value_name = "TIME")]
    pub(super) timeout: Option<Seconds>,
    /// Print the files and the command line, with --compare of each way; start nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// The program and its arguments; or several programs: -n 2 ./a x : -n 6 ./b y
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    pub(super) program: Vec<String>,
}

impl Run {
    /// An error for options that contradict each other or have no effect.
    pub(super) fn refuse_contradictions(&self) -> Result<(), UsageError> {
        self.counters.check()?;
        let (compared, placing) = (self.comparison.is_wanted(), self.placing.profile.is_some());
        let counted = self.counters.is_wanted();
        let both = self.placement.is_some() && placing && !compared && !counted;
        refuse(&[
            (
                self.given.first_of::<ResultOptions>().filter(|_| !compared),
                " applies to the result of --compare; the output of the program is passed on unchanged",
            ),
            (
                self.given.first_of::<ReportOption>().filter(|_| !compared),
                " is a report of the runs of --compare; of a placement it is `rankwright report`",
            ),
            (
                given("a placement and --profile", both),
                ": give only one of them; both are for --compare and --counters",
            ),
            (self.given.first_of::<RankSize>().filter(|_| !placing), " needs --profile"),
            (self.given.first_of::<ProgramsOption>().filter(|_| !placing), " needs --profile"),
            (
                self.given.first_of::<SelectionOptions>().filter(|_| !placing),
                " needs --profile; the devices of a placement file were chosen by \
                 `rankwright place --nics`",
            ),
        ])
    }
}
