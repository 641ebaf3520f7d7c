//! What a pairing should make small.

use std::fmt;
use std::str::FromStr;

use super::JobSet;

/// What a pairing should make small. T is the run time of a job in percent of that alone on whole nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Objective {
    /// The sum of T over all jobs.
    #[default]
    Sum,
    /// The sum of the run times, in seconds; 1 s alone where that is not known.
    Runtime,
    /// The sum over pairs of the larger T. A job alone counts as half a pair.
    Worst,
    /// The mean of 100 / T over all jobs, which should be large.
    WeightedSpeedup,
    /// The longest run time of any job, in seconds.
    Makespan,
}

impl Objective {
    /// All objectives by name.
    pub const ALL: [(&'static str, Self); 5] = [
        ("sum", Self::Sum),
        ("runtime", Self::Runtime),
        ("worst", Self::Worst),
        ("weighted-speedup", Self::WeightedSpeedup),
        ("makespan", Self::Makespan),
    ];

    /// Whether it is in seconds, so that run times must be known.
    #[must_use]
    pub fn needs_seconds(self) -> bool {
        matches!(self, Self::Runtime | Self::Makespan)
    }

    /// The cost of a group of at most `per_node` jobs; small is good. Costs of groups are added, those
    /// of the makespan are compared.
    pub(super) fn of_group(self, jobs: &JobSet, group: &[usize], per_node: usize) -> f64 {
        let percent = group.iter().map(|job| jobs.percent_in(*job, group));
        let alone = |job: usize| jobs.facts()[job].seconds.unwrap_or(1.0);
        let seconds = |(job, percent): (&usize, f64)| alone(*job) * percent / 100.0;
        match self {
            Self::Sum => percent.sum(),
            Self::Runtime => group.iter().zip(percent).map(seconds).sum(),
            Self::Worst => percent.fold(0.0, f64::max) * group.len() as f64 / per_node as f64,
            Self::WeightedSpeedup => -percent.map(|percent| 100.0 / percent).sum::<f64>(),
            Self::Makespan => group.iter().zip(percent).map(seconds).fold(0.0, f64::max),
        }
    }

    /// Whether the largest cost of a group counts, and not the sum.
    pub(super) fn is_largest(self) -> bool {
        self == Self::Makespan
    }

    /// The objective of a pairing from the costs of its groups.
    pub(super) fn value(self, jobs: &JobSet, costs: impl Iterator<Item = f64>) -> f64 {
        match self {
            Self::Makespan => costs.fold(0.0, f64::max),
            Self::WeightedSpeedup => -costs.sum::<f64>() / jobs.len().max(1) as f64,
            Self::Sum | Self::Runtime | Self::Worst => costs.sum(),
        }
    }

    /// The gain of one value against another as a share; positive is better.
    #[must_use]
    pub fn gain(self, value: f64, baseline: f64) -> f64 {
        match self {
            _ if baseline == 0.0 => 0.0,
            Self::WeightedSpeedup => value / baseline - 1.0,
            _ => 1.0 - value / baseline,
        }
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL.iter().find(|(_, objective)| objective == self).map(|(name, _)| *name);
        f.write_str(name.unwrap_or_default())
    }
}

impl FromStr for Objective {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(name, _)| *name == text);
        found.map(|(_, objective)| *objective).ok_or_else(|| {
            let names = Self::ALL.map(|(name, _)| name).join(", ");
            format!("no objective is called `{text}`; there are {names}")
        })
    }
}
