//! The rows of a reproduction: a number or statement of a paper, and ours.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::printed::Printed;

/// A number or statement of a paper, and our number.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Figure, table or section of the paper: `Fig. 4`, `Table 1, upper`.
    pub item: String,
    /// What the number is.
    pub what: String,
    /// The paper's number; infinite for "saturated", `None` if it prints no number.
    #[serde(serialize_with = "optional_or_saturated")]
    pub paper: Option<f64>,
    /// Our number; infinite for "saturated".
    #[serde(serialize_with = "number_or_saturated")]
    pub ours: f64,
    /// The unit of both numbers; empty for ratios and counts.
    pub unit: &'static str,
    /// `ours` less `paper`; `None` if the paper prints no number.
    pub difference: Option<f64>,
    /// The agreement.
    pub verdict: Verdict,
    /// Why they disagree, or by which rule they agree; may be empty.
    pub why: String,
    /// By which rules ours was computed.
    pub reading: Reading,
    /// Whether the paper does not print its number, which follows from others that it prints.
    pub implied: bool,
}

/// The rules of a paper's method, where the text is one thing and what we use by default another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// The defaults of our strategies.
    #[default]
    Ours,
    /// The rules exactly as printed.
    Printed,
}

/// JSON has no infinity.
fn number_or_saturated<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    match value.is_infinite() {
        true => serializer.serialize_str("saturated"),
        false => serializer.serialize_f64(*value),
    }
}

fn optional_or_saturated<S: Serializer>(
    value: &Option<f64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => number_or_saturated(value, serializer),
        None => serializer.serialize_none(),
    }
}

/// The agreement of our number with the paper's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Equal within the rounding of the printed number or 5 %; or the paper's statement holds.
    Reproduced,
    /// Different, but the paper's conclusion from it holds.
    SameOrdering,
    /// Different; or the paper's statement does not hold.
    NotReproduced,
    /// Ours was fitted to the paper's number, so agreement proves nothing.
    Calibrated,
    /// The paper prints no number.
    NotPrinted,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reproduced => "reproduced",
            Self::SameOrdering => "same ordering",
            Self::NotReproduced => "not reproduced",
            Self::Calibrated => "calibrated",
            Self::NotPrinted => "not printed",
        })
    }
}

impl Verdict {
    /// Reproduced or not.
    pub(crate) fn reproduced_if(holds: bool) -> Self {
        if holds { Self::Reproduced } else { Self::NotReproduced }
    }
}

impl Row {
    /// A row without a number of the paper.
    pub(crate) fn new(
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
            reading: Reading::default(),
            implied: false,
        }
    }

    /// The row with the paper's number. The verdict is `otherwise` if ours does not agree with it.
    #[must_use]
    pub(crate) fn compared_with(self, printed: Printed, otherwise: Verdict) -> Self {
        let agrees = printed.agrees_with(self.ours);
        let verdict = if agrees { Verdict::Reproduced } else { otherwise };
        self.beside(printed.value).with_verdict(verdict)
    }

    /// The row with the paper's number; the verdict is set by another rule.
    #[must_use]
    pub(crate) fn beside(self, paper: f64) -> Self {
        // Infinity less infinity is not a number.
        let difference = if self.ours == paper { 0.0 } else { self.ours - paper };
        Self { paper: Some(paper), difference: Some(difference), ..self }
    }

    /// The row with this verdict.
    #[must_use]
    pub(crate) fn with_verdict(self, verdict: Verdict) -> Self {
        Self { verdict, ..self }
    }

    /// The row with a reason.
    #[must_use]
    pub(crate) fn because(self, why: impl Into<String>) -> Self {
        Self { why: why.into(), ..self }
    }
}

/// A number that had to be chosen because the paper does not print it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Assumption {
    /// What it is.
    pub what: &'static str,
    /// The number, in `unit`.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// Where it comes from.
    pub from: &'static str,
}
