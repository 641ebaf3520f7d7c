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
    default: "largest",
    summary: "which length counts where messages differ: the `largest` or their `mean`",
};

pub(super) const MEDIUM_SOCKETS: OptionEntry = OptionEntry {
    name: "medium-sockets",
    default: "first",
    summary: "`first`: ranks with medium messages take the first free core of their node; \
              `spread`: one beside the memory with the most free cores",
};

pub(super) const STAY: OptionEntry = OptionEntry {
    name: "stay",
    default: "off",
    summary: "`off`: each next rank that is not a peer of the last ones goes to the node with the most \
              free cores; `on`: with medium and small messages it stays on the node used last while \
              that has free cores",
};

/// What both strategies do without options: what the papers print, except that the demand of a rank
/// counts what it receives, too. Chosen over all workloads of the papers: `benchmarks/spreading`.
pub(super) const DEFAULT_RULES: Rules = Rules {
    demand: DemandOf::Both,
    lengths: Lengths::Largest,
    stay: false,
    medium: Sockets::First,
};

/// The rules from the options.
pub(super) fn rules(options: &Options) -> Result<Rules, StrategyError> {
    let sockets = [("first", Sockets::First), ("spread", Sockets::Spread)];
    Ok(Rules {
        demand: options.one_of(&DEMAND, &[("both", DemandOf::Both), ("sent", DemandOf::Sent)])?,
        lengths: options
            .one_of(&LENGTH, &[("mean", Lengths::Mean), ("largest", Lengths::Largest)])?,
        stay: options.one_of(&STAY, &[("on", true), ("off", false)])?,
        medium: options.one_of(&MEDIUM_SOCKETS, &sockets)?,
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
