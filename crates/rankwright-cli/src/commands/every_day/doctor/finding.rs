//! What a check finds.

use serde::Serialize;

use super::packages::Packages;

/// The state of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum State {
    /// It is there and works.
    Ok,
    /// It is not installed.
    Missing,
    /// It is there and does not work.
    Broken,
    /// It is not there or not configured, and nothing here needs it.
    NotNeeded,
    /// Whether it works could not be tried.
    NotTried,
}

impl State {
    /// As in output.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Missing => "missing",
            Self::Broken => "broken",
            Self::NotNeeded => "not needed",
            Self::NotTried => "not tried",
        }
    }
}

/// What is known of one part.
#[derive(Debug, Clone)]
pub(super) struct Finding {
    /// The part, like `mpirun.mpich`.
    pub(super) part: String,
    pub(super) state: State,
    /// What was found, in a few words: version and path, or what is wrong.
    pub(super) found: String,
    /// What to do, in words, where that is not to install packages.
    pub(super) advice: Option<String>,
    /// The packages that have it.
    pub(super) packages: Option<&'static Packages>,
    /// Whether the commands that need it do not work because of this.
    pub(super) stops: bool,
}

impl Finding {
    fn new(part: impl Into<String>, state: State, found: impl Into<String>) -> Self {
        // Cells of a table have one line.
        let found = found.into().split_whitespace().collect::<Vec<_>>().join(" ");
        Self { part: part.into(), state, found, advice: None, packages: None, stops: false }
    }

    pub(super) fn ok(part: impl Into<String>, found: impl Into<String>) -> Self {
        Self::new(part, State::Ok, found)
    }

    pub(super) fn not_needed(part: impl Into<String>, found: impl Into<String>) -> Self {
        Self::new(part, State::NotNeeded, found)
    }

    pub(super) fn not_tried(part: impl Into<String>, found: impl Into<String>) -> Self {
        Self::new(part, State::NotTried, found)
    }

    pub(super) fn broken(part: impl Into<String>, found: impl Into<String>) -> Self {
        Self::new(part, State::Broken, found)
    }

    pub(super) fn missing(part: impl Into<String>, found: impl Into<String>) -> Self {
        Self::new(part, State::Missing, found)
    }

    pub(super) fn advice(mut self, text: impl Into<String>) -> Self {
        self.advice = Some(text.into());
        self
    }

    pub(super) fn packages(mut self, packages: &'static Packages) -> Self {
        self.packages = Some(packages);
        self
    }

    /// The commands that need it do not work without it, if `stops`.
    pub(super) fn stopping(mut self, stops: bool) -> Self {
        self.stops = stops && matches!(self.state, State::Missing | State::Broken);
        self
    }

    /// The way out: what to install, or what to do.
    pub(super) fn way_out(&self) -> Option<String> {
        let install = self.packages.map(Packages::install);
        match (install, &self.advice) {
            (Some(install), Some(advice)) => Some(format!("{install}; or {advice}")),
            (install, advice) => install.or_else(|| advice.clone()),
        }
    }
}
