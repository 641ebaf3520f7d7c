//! The schema of a workload file; each value keeps its place in the file for error messages.

use std::ops::Range;

use ::toml::Spanned;
use serde::Deserialize;

/// A string with its place in the file.
pub(super) type Text = Spanned<String>;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) name: Option<Text>,
    #[serde(default)]
    pub(super) job: Vec<Spanned<JobTable>>,
}

/// `[[job]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JobTable {
    pub(super) name: Option<Text>,
    pub(super) processes: Option<Spanned<i64>>,
    pub(super) pattern: Option<Text>,
    pub(super) profile: Option<Text>,
    pub(super) nas: Option<Text>,
    pub(super) graph: Option<Text>,
    pub(super) rate: Option<Text>,
    pub(super) duration: Option<Text>,
    pub(super) cv: Option<Spanned<f64>>,
    pub(super) length: Option<Text>,
    pub(super) messages: Option<Spanned<i64>>,
    pub(super) points: Option<Spanned<i64>>,
    pub(super) grid: Option<Text>,
    pub(super) periodic: Option<Spanned<bool>>,
    pub(super) degree: Option<Spanned<i64>>,
    pub(super) renumber: Option<Spanned<bool>>,
    pub(super) in_step: Option<Spanned<bool>>,
    pub(super) seed: Option<Spanned<i64>>,
    pub(super) compute: Option<Spanned<Vec<Text>>>,
}

/// The origin of a job's traffic.
#[derive(Debug, Clone, Copy)]
pub(super) enum Origin<'a> {
    Pattern(&'a Text),
    Profile(&'a Text),
    Nas(&'a Text),
    Graph(&'a Text),
}

impl<'a> Origin<'a> {
    /// Name and value of the field.
    pub(super) fn field(self) -> (&'static str, &'a Text) {
        match self {
            Self::Pattern(text) => ("job.pattern", text),
            Self::Profile(text) => ("job.profile", text),
            Self::Nas(text) => ("job.nas", text),
            Self::Graph(text) => ("job.graph", text),
        }
    }
}

impl JobTable {
    /// The origins given in the table.
    pub(super) fn origins(&self) -> Vec<Origin<'_>> {
        let given = [
            self.pattern.as_ref().map(Origin::Pattern),
            self.profile.as_ref().map(Origin::Profile),
            self.nas.as_ref().map(Origin::Nas),
            self.graph.as_ref().map(Origin::Graph),
        ];
        given.into_iter().flatten().collect()
    }

    /// The pattern options given, as the pattern parser reads them: name, value, place in the file.
    pub(super) fn pattern_options(&self) -> Vec<(&'static str, String, Range<usize>)> {
        fn option<T: ToString>(
            name: &'static str,
            value: &Option<Spanned<T>>,
        ) -> Option<(&'static str, String, Range<usize>)> {
            value.as_ref().map(|value| (name, value.get_ref().to_string(), value.span()))
        }
        let given = [
            option("points", &self.points),
            option("grid", &self.grid),
            option("periodic", &self.periodic),
            option("degree", &self.degree),
            option("renumber", &self.renumber),
            option("in_step", &self.in_step),
            option("seed", &self.seed),
        ];
        given.into_iter().flatten().collect()
    }
}
