//! `pairing.toml`: facts of jobs, and jobs that must not share nodes.

use std::ops::Range;
use std::path::Path;

use ::toml::Spanned;
use serde::Deserialize;

use super::super::{JobFacts, JobSet, NodeMemory, Slowdowns};
use super::EXPECTED_RULES;
use super::csv::{PERCENTS, TIMES};
use crate::files::{InputError, TomlText};
use crate::units::Bytes;

/// The file as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    never: Vec<Spanned<Vec<Spanned<String>>>>,
    cores_per_node: Option<Spanned<i64>>,
    memory_per_node: Option<Spanned<String>>,
    #[serde(default)]
    job: Vec<JobTable>,
}

/// `[[job]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct JobTable {
    name: Spanned<String>,
    seconds: Option<Spanned<f64>>,
    half: Option<Spanned<f64>>,
    pressure: Option<Spanned<f64>>,
    ranks: Option<Spanned<i64>>,
    memory_per_rank: Option<Spanned<String>>,
}

/// Facts of jobs, and which must not share nodes.
#[derive(Debug)]
pub struct Rules {
    /// The name of the file.
    file: String,
    text: String,
    tables: File,
    cores: Option<u32>,
    node: Option<NodeMemory>,
}

impl Rules {
    /// Reads the text of a `pairing.toml`. `file` names it in errors.
    ///
    /// # Errors
    /// If it is not TOML, has an unknown field, or a value out of range. The error has the line.
    pub fn parse(text: &str, file: &str) -> Result<Self, InputError> {
        let source = TomlText { file, text, folder: Path::new("") };
        let tables: File =
            ::toml::from_str(text).map_err(|error| source.syntax(&error, EXPECTED_RULES))?;
        let cores = tables.cores_per_node.as_ref();
        let cores = cores.map(|cores| whole(&source, cores, "cores_per_node")).transpose()?;
        let node = match (cores, &tables.memory_per_node) {
            (_, None) => None,
            (Some(cores), Some(memory)) => {
                let memory = source.quantity::<Bytes>(memory, "memory_per_node")?;
                Some(NodeMemory { cores, memory })
            }
            (None, Some(memory)) => {
                let (span, expected) = (memory.span(), "cores_per_node too");
                return Err(source.error(span, "memory_per_node", "it alone", expected));
            }
        };
        for (at, job) in tables.job.iter().enumerate() {
            let name = job.name.get_ref();
            let first = tables.job[..at].iter().find(|other| other.name.get_ref() == name);
            if let Some(first) = first {
                let found = format!("a second job `{name}`");
                let error = source.error(job.name.span(), "job.name", found, "unique names");
                let line = source.line(first.name.span());
                return Err(error.with_advice(format!("the first one is in line {line}")));
            }
        }
        let rules = Self { file: file.to_owned(), text: text.to_owned(), tables, cores, node };
        rules.check()?;
        Ok(rules)
    }

    /// The number of cores of each node, if the file has it.
    #[must_use]
    pub fn cores_per_node(&self) -> Option<u32> {
        self.cores
    }

    /// An error if a job has `ranks`; `because` says why they must not be given.
    ///
    /// # Errors
    /// At the first of them.
    pub fn refuse_ranks(&self, because: &str) -> Result<(), InputError> {
        let Some(ranks) = self.tables.job.iter().find_map(|job| job.ranks.as_ref()) else {
            return Ok(());
        };
        let found = ranks.get_ref().to_string();
        let error = self.source().error(ranks.span(), "job.ranks", found, "no `ranks`");
        Err(error.with_advice(because))
    }

    fn source(&self) -> TomlText<'_> {
        TomlText { file: &self.file, text: &self.text, folder: Path::new("") }
    }

    /// Whether all values are in range.
    fn check(&self) -> Result<(), InputError> {
        for job in &self.tables.job {
            let mut facts = JobFacts::named(job.name.get_ref());
            self.fill(job, &mut facts)?;
            if let Some(pressure) = &job.pressure {
                let is_possible = |x: f64| x.is_finite() && (0.0..=10.0).contains(&x);
                self.within(pressure, "job.pressure", is_possible, "a number from 0 to 10")?;
            }
        }
        Ok(())
    }

    fn within(
        &self,
        value: &Spanned<f64>,
        field: &str,
        is_possible: impl Fn(f64) -> bool,
        expected: &str,
    ) -> Result<f64, InputError> {
        let number = *value.get_ref();
        if is_possible(number) {
            return Ok(number);
        }
        let found = if number.abs() < 1e16 { format!("{number}") } else { format!("{number:e}") };
        Err(self.source().error(value.span(), field, found, expected))
    }

    /// Puts what a table says into the facts of its job.
    fn fill(&self, job: &JobTable, facts: &mut JobFacts) -> Result<(), InputError> {
        if let Some(seconds) = &job.seconds {
            let is_possible = |x: f64| (TIMES.0..=TIMES.1).contains(&x);
            let expected = "a time above 0, in seconds, up to 1e12";
            facts.seconds = Some(self.within(seconds, "job.seconds", is_possible, expected)?);
        }
        if let Some(half) = &job.half {
            let is_possible = |x: f64| (PERCENTS.0..=PERCENTS.1).contains(&x);
            let expected = "the run time on half of the cores in percent of that on whole nodes, from .001 to \
                            a million";
            facts.half = Some(self.within(half, "job.half", is_possible, expected)?);
        }
        if let Some(ranks) = &job.ranks {
            facts.ranks = whole(&self.source(), ranks, "job.ranks")?;
        }
        if let Some(memory) = &job.memory_per_rank {
            facts.memory_per_rank =
                self.source().quantity::<Bytes>(memory, "job.memory_per_rank")?;
        }
        Ok(())
    }

    /// The jobs and the table that follows from half and pressure of each.
    ///
    /// # Errors
    /// If there is no job, or one without half or pressure.
    pub(super) fn slowdowns(&self) -> Result<(Vec<JobFacts>, Slowdowns), InputError> {
        let jobs = &self.tables.job;
        if jobs.is_empty() {
            return Err(InputError::new(&self.file, "0 jobs", "at least two tables [[job]]"));
        }
        let (mut half, mut pressure) = (Vec::new(), Vec::new());
        for job in jobs {
            let name = job.name.get_ref();
            let (Some(h), Some(x)) = (&job.half, &job.pressure) else {
                let missing = if job.half.is_none() { "half" } else { "pressure" };
                let found = format!("no {missing} of `{name}`");
                let error =
                    self.source().error(job.name.span(), "job", found, format!("{missing} = .."));
                return Err(error.with_advice("each job needs both, or give --table"));
            };
            half.push(*h.get_ref());
            pressure.push(*x.get_ref());
        }
        let facts = jobs.iter().map(|job| JobFacts::named(job.name.get_ref())).collect();
        Ok((facts, Slowdowns::from_pressures(&half, &pressure)))
    }

    /// Puts what is known of jobs into their facts.
    ///
    /// # Errors
    /// If a job is not among them.
    pub(super) fn apply(&self, facts: &mut [JobFacts]) -> Result<(), InputError> {
        for job in &self.tables.job {
            let at = self.job(&job.name, "job.name", facts)?;
            self.fill(job, &mut facts[at])?;
        }
        Ok(())
    }

    /// The jobs, of which some must not share.
    ///
    /// # Errors
    /// If a rule has not two jobs, or names one that is not there.
    pub(super) fn never(&self, mut set: JobSet) -> Result<JobSet, InputError> {
        for rule in &self.tables.never {
            let [a, b] = &rule.get_ref()[..] else {
                let found = format!("{} names", rule.get_ref().len());
                let expected = "two jobs that must not share nodes, like [\"a\", \"b\"]";
                return Err(self.source().error(rule.span(), "never", found, expected));
            };
            let jobs = (self.job(a, "never", set.facts())?, self.job(b, "never", set.facts())?);
            set = set.never(jobs.0, jobs.1);
        }
        Ok(set.on_nodes(self.node))
    }

    fn job(
        &self,
        name: &Spanned<String>,
        field: &str,
        facts: &[JobFacts],
    ) -> Result<usize, InputError> {
        let found = facts.iter().position(|job| job.name == *name.get_ref());
        found.ok_or_else(|| {
            let names: Vec<&str> = facts.iter().map(|job| job.name.as_str()).collect();
            let expected = format!("one of {}", names.join(", "));
            let span: Range<usize> = name.span();
            self.source().error(span, field, format!("job `{}`", name.get_ref()), expected)
        })
    }
}

/// A whole number from 1.
fn whole(source: &TomlText<'_>, value: &Spanned<i64>, field: &str) -> Result<u32, InputError> {
    let number = *value.get_ref();
    let found = u32::try_from(number).ok().filter(|number| *number > 0);
    let wrong = || source.error(value.span(), field, number.to_string(), "a whole number from 1");
    found.ok_or_else(wrong)
}
