//! The options that `mapping-2012` and `mapping-2013` share.

use super::free_slots::Sockets;
use super::job_mapping::{DemandOf, Rules};
use crate::map::StrategyError;
use crate::map::options::{OptionEntry, Options};
use crate::traffic::demand::Lengths;

/// Whether jobs are spread, and how far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ThresholdRule {
    /// By the equations of the paper.
    Computed,
    /// This number of ranks per node, for the jobs that get a threshold.
    Fixed(u64),
    /// No job is spread.
    Off,
}

pub(super) const DEMAND: OptionEntry = OptionEntry {
    name: "demand",
    default: "both",
    summary: "what makes the demand of a rank: `both` what it sends and receives, or what it `sent`",
};

pub(super) const LENGTH: OptionEntry = OptionEntry {
    name: "length",
    default: "mean",
    summary: "which length counts where messages differ: their `mean` or the `largest`",
};

pub(super) const STAY: OptionEntry = OptionEntry {
    name: "stay",
    default: "on",
    summary: "`on`: ranks with medium and small messages stay on the node used last while it has \
              free cores; `off`: as those with large ones they go to the node with the most free \
              cores",
};

/// The rules from the options.
pub(super) fn rules(
    options: &Options,
    entries: &'static [OptionEntry],
) -> Result<Rules, StrategyError> {
    let sockets = [("first", Sockets::First), ("spread", Sockets::Spread)];
    Ok(Rules {
        demand: options.one_of(&DEMAND, &[("both", DemandOf::Both), ("sent", DemandOf::Sent)])?,
        lengths: options
            .one_of(&LENGTH, &[("mean", Lengths::Mean), ("largest", Lengths::Largest)])?,
        stay: options.one_of(&STAY, &[("on", true), ("off", false)])?,
        medium: options.one_of(entry(entries, "medium-sockets"), &sockets)?,
    })
}

/// The threshold from the options: the default of its row, `none` or a number.
pub(super) fn threshold(
    options: &Options,
    entries: &'static [OptionEntry],
) -> Result<ThresholdRule, StrategyError> {
    let option = entry(entries, "threshold");
    match options.text(option) {
        text if text == option.default => Ok(ThresholdRule::Computed),
        "none" => Ok(ThresholdRule::Off),
        text => match text.parse() {
            Ok(ranks) if ranks > 0 => Ok(ThresholdRule::Fixed(ranks)),
            _ => {
                let expected =
                    format!("`{}`, `none` or a number of ranks from 1 up", option.default);
                Err(options.wrong(option, expected))
            }
        },
    }
}

fn entry(entries: &'static [OptionEntry], name: &str) -> &'static OptionEntry {
    entries.iter().find(|entry| entry.name == name).expect("both strategies have this option")
}

impl ThresholdRule {
    /// The threshold of a job that gets one.
    pub(super) fn or(self, computed: impl FnOnce() -> u64) -> Option<u64> {
        match self {
            Self::Computed => Some(computed()),
            Self::Fixed(ranks) => Some(ranks),
            Self::Off => None,
        }
    }
}
