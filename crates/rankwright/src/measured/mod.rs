//! Run times that were measured: what one placement saves against another, and whether what was predicted
//! happened.

mod judged;
mod paired_runs;
mod read;

pub use judged::{Pair, Promise};
pub use paired_runs::{PairedDifference, PairedResult};
pub use read::{is_run_times, read};

/// Measured run times of programs, each started in several ways.
#[derive(Debug, Clone, PartialEq)]
pub struct RunTimes {
    /// In the order of the file.
    pub programs: Vec<Program>,
}

/// A program and the ways in which it was started.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    /// Its name; empty if the file has none.
    pub name: String,
    /// The group with which it is summarised; empty if the file has none.
    pub group: String,
    /// Whether `place` promised a shorter run than the launcher's default; `None` if what it said is not
    /// known.
    pub promised: Option<bool>,
    /// The ways, that with which the others are compared first.
    pub ways: Vec<Way>,
}

/// A way to start a program: the launcher's default, a placement, a strategy.
#[derive(Debug, Clone, PartialEq)]
pub struct Way {
    /// Its name.
    pub name: String,
    /// The predicted run time, if there is one.
    pub predicted_s: Option<f64>,
    /// The run time of every run; runs with the same index in two ways were made one shortly after the other.
    pub seconds: Vec<f64>,
}

impl Way {
    /// A way without runs and without prediction.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), predicted_s: None, seconds: Vec::new() }
    }
}
