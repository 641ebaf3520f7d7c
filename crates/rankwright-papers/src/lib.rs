//! The numbers that papers print, and ours beside them.
//!
//! Each part of a paper gives [`Row`]s; who wants to see them prints them. What the papers print
//! stands in CSV files in the folder of the paper's year, as printed.

mod agreement;
pub mod analytic;
pub mod contention;
pub mod device_affinity;
pub mod figure_7;
pub mod process_placement;
mod simulated;
mod table_1;

use std::fmt;

use serde::{Serialize, Serializer};

pub use agreement::Agreement;
pub use simulated::{Case, MAPPINGS, Results, Simulated, run};

/// A number of a paper, and ours.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Where it stands: `Fig. 4`, `Table 1, upper`.
    pub item: String,
    /// What it is.
    pub what: String,
    /// What the paper prints; infinite where it says "saturated", `None` where it prints no number.
    #[serde(serialize_with = "maybe_saturated")]
    pub paper: Option<f64>,
    /// What we get; infinite for "saturated".
    #[serde(serialize_with = "saturated")]
    pub ours: f64,
    /// Of both numbers.
    pub unit: &'static str,
    /// Ours less the paper's; `None` where there is none.
    pub difference: Option<f64>,
    /// Whether they agree.
    pub verdict: Verdict,
    /// Why they do not, or in what sense they do; empty where nothing needs to be said.
    pub why: String,
}

/// JSON has no infinity.
fn saturated<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    match value.is_infinite() {
        true => serializer.serialize_str("saturated"),
        false => serializer.serialize_f64(*value),
    }
}

fn maybe_saturated<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => saturated(value, serializer),
        None => serializer.serialize_none(),
    }
}

/// Whether a number is that of the paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is, within the rounding of the print or [`TOLERANCE`].
    Reproduced,
    /// It is not, but what the paper concludes from it holds.
    SameOrdering,
    /// It is not.
    NotReproduced,
    /// The paper draws it and prints no number.
    NotPrinted,
}

/// A number is reproduced if it differs by at most this share: 5 %.
pub const TOLERANCE: f64 = 0.05;

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reproduced => "reproduced",
            Self::SameOrdering => "same ordering",
            Self::NotReproduced => "not reproduced",
            Self::NotPrinted => "not printed",
        })
    }
}

impl Row {
    /// A number beside that of the paper, which is printed as `printed`. If it is not reproduced it
    /// gets the verdict `otherwise`.
    pub fn beside(
        item: impl Into<String>,
        what: impl Into<String>,
        (printed, unit): (Printed, &'static str),
        ours: f64,
        otherwise: Verdict,
    ) -> Self {
        let difference = if ours == printed.value { 0.0 } else { ours - printed.value };
        let reproduced = printed.is_met_by(ours);
        Self {
            paper: Some(printed.value),
            difference: Some(difference),
            verdict: if reproduced { Verdict::Reproduced } else { otherwise },
            ..Self::ours_only(item, what, ours, unit)
        }
    }

    /// A number that the paper does not print.
    pub fn ours_only(
        item: impl Into<String>,
        what: impl Into<String>,
        ours: f64,
        unit: &'static str,
    ) -> Self {
        Self {
            item: item.into(),
            what: what.into(),
            paper: None,
            ours,
            unit,
            difference: None,
            verdict: Verdict::NotPrinted,
            why: String::new(),
        }
    }

    /// The same with a reason.
    #[must_use]
    pub fn because(self, why: impl Into<String>) -> Self {
        Self { why: why.into(), ..self }
    }
}

/// A number that our side of a reproduction was given because the paper does not print it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Assumption {
    /// What it is.
    pub what: &'static str,
    /// The number.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// Where it comes from.
    pub from: &'static str,
}

/// A number as it is printed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Printed {
    /// The number; infinite for `#`, "saturated".
    pub value: f64,
    /// Half a unit of the last digit: how far it may be rounded.
    pub rounding: f64,
}

impl Printed {
    /// Reads `0.05` or `#`; `None` if it is neither.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text == "#" {
            return Some(Self { value: f64::INFINITY, rounding: 0.0 });
        }
        let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let rounding = 0.5 * 0.1_f64.powi(i32::try_from(decimals).ok()?);
        Some(Self { value: text.parse().ok()?, rounding })
    }

    /// Whether a number is this one within its rounding or [`TOLERANCE`].
    #[must_use]
    pub fn is_met_by(self, number: f64) -> bool {
        let allowed = (1.0 + 1e-9) * self.rounding.max(TOLERANCE * self.value.abs());
        number == self.value || (number - self.value).abs() <= allowed
    }
}
