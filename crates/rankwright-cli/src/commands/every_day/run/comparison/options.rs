//! Options of a comparison.

use std::num::NonZeroUsize;

use clap::Args;
use rankwright::units::counted;
use regex::Regex;

use crate::options::{ReportOption, ResultOptions, parse_count};
use crate::output::exit_code::UsageError;

/// Options of a comparison.
#[derive(Debug, Args)]
pub(crate) struct ComparisonOptions {
    /// Run the program in several ways in turn and compare the run times with the first way, like
    /// default,placement. Ways: `default` (the launcher's default), `placement` (PLACEMENT, or the
    /// placement of --profile), a strategy (needs --profile), or a placement file
    #[arg(long, value_name = "WAYS")]
    compare: Option<String>,
    /// Number of measured runs of each way
    #[arg(
        long,
        value_name = "NUMBER",
        default_value = "5",
        value_parser = parse_count::<NonZeroUsize>,
        requires = "compare",
        allow_negative_numbers = true,
    )]
    pub(crate) repeat: NonZeroUsize,
    /// Number of runs of each way before the measured ones
    #[arg(
        long,
        value_name = "NUMBER",
        default_value = "0",
        requires = "compare",
        value_parser = parse_count::<usize>,
        allow_negative_numbers = true,
    )]
    pub(crate) warmup: usize,
    /// Take the run time in seconds from the output of the program: the first group of the last
    /// match of this regular expression [default: the time from start to end of the launcher]
    #[arg(long, value_name = "REGEX", requires = "compare")]
    pub(crate) time_regex: Option<Regex>,
    /// Seed of the order of the runs
    #[arg(
        long,
        value_name = "NUMBER",
        default_value = "1",
        requires = "compare",
        value_parser = parse_count::<u64>,
        allow_negative_numbers = true,
    )]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) result: ResultOptions,
    #[command(flatten)]
    pub(crate) report: ReportOption,
}

impl ComparisonOptions {
    pub(crate) fn is_wanted(&self) -> bool {
        self.compare.is_some()
    }

    /// How many times the program will run, before the first run.
    pub(crate) fn runs_to_come(&self, ways: usize) -> String {
        let all = ways.saturating_mul(self.warmup.saturating_add(self.repeat.get()));
        let warmup = match self.warmup {
            0 => String::new(),
            warmup => format!(", after {warmup} for warm-up"),
        };
        format!(
            "{} of the program: {} of each way (--repeat){warmup}; Ctrl-C stops and reports those \
             that ended",
            counted(all, "run"),
            self.repeat
        )
    }

    /// The ways as the user names them.
    pub(crate) fn names(&self) -> Result<Vec<String>, UsageError> {
        let mut names: Vec<String> = Vec::new();
        for part in self.compare.as_deref().unwrap_or_default().split(',') {
            // `seed=3` behind a comma belongs to the strategy before it.
            match names.last_mut().filter(|_| part.contains('=') && !part.contains(':')) {
                Some(last) => *last = format!("{last},{part}"),
                None => names.push(part.trim().to_owned()),
            }
        }
        let twice = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name));
        if let Some((_, name)) = twice {
            return Err(UsageError(format!("--compare: found `{name}` twice, expected each once")));
        }
        if names.len() < 2 || names.iter().any(String::is_empty) {
            let ways = self.compare.as_deref().unwrap_or_default();
            let expected = "at least two ways, like default,placement";
            return Err(UsageError(format!("--compare: found `{ways}`, expected {expected}")));
        }
        Ok(names)
    }
}
