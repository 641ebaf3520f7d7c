//! Options of a comparison.

use std::num::NonZeroUsize;

use clap::Args;
use regex::Regex;

use crate::options::ResultOptions;
use crate::output::exit_code::UsageError;

/// Options of a comparison.
#[derive(Debug, Args)]
pub(crate) struct ComparisonOptions {
    /// Run the program in these ways in turn and compare the times with those of the first:
    /// `default` (the launcher's), `placement` (PLACEMENT, or the one by --profile), a strategy
    /// (needs --profile), or the file of a placement
    #[arg(long, value_name = "WAYS")]
    compare: Option<String>,
    /// How often each way runs
    #[arg(long, value_name = "NUMBER", default_value = "5", requires = "compare")]
    pub(crate) repeat: NonZeroUsize,
    /// How often each way runs before, without being counted
    #[arg(long, value_name = "NUMBER", default_value = "0", requires = "compare")]
    pub(crate) warmup: usize,
    /// Take the time from what the program prints, in seconds: the first group of this regular
    /// expression where it matches last. Else it is that from start to end of the launcher
    #[arg(long, value_name = "REGEX", requires = "compare")]
    pub(crate) time_regex: Option<Regex>,
    /// The order of the runs depends on it
    #[arg(long, value_name = "NUMBER", default_value = "1", requires = "compare")]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) result: ResultOptions,
}

impl ComparisonOptions {
    pub(crate) fn is_wanted(&self) -> bool {
        self.compare.is_some()
    }

    /// The ways, as the user names them.
    pub(crate) fn names(&self) -> Result<Vec<String>, UsageError> {
        let mut names: Vec<String> = Vec::new();
        for part in self.compare.as_deref().unwrap_or_default().split(',') {
            // `seed=3` behind a comma is one more option of the strategy before it.
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
