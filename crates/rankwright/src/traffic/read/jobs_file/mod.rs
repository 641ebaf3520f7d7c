//! `jobs.toml`: a workload written by hand, one `[[job]]` table per job. `docs/src/formats.md` has
//! the schema.
//!
//! `schema` is the file as serde sees it, `job` turns one table into a
//! [`Job`](crate::traffic::Job), `write` writes patterns.

mod job;
mod schema;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ::toml::Spanned;

use crate::files::{InputError, TomlText, read_text};
use crate::traffic::Workload;
use crate::traffic::generate::pattern::MOST_PAIRS;

pub use write::write;

/// What is expected of a file, for error messages.
pub const EXPECTED: &str = "a workload file (jobs.toml)";

/// Reads a workload file. Relative paths in it start from its folder.
///
/// # Errors
/// If the file, or one that it names, cannot be read, violates the schema or contradicts itself.
/// The error has the line and the field.
pub fn read(path: &Path) -> Result<Workload, InputError> {
    let text = read_text(path, EXPECTED)?;
    parse(&text, &path.display().to_string(), path.parent().unwrap_or(Path::new("")))
}

/// Whether a text contains a `[[job]]` table.
#[must_use]
pub fn sniff(text: &str) -> bool {
    let is_table = |line: &str| line.split_whitespace().collect::<String>().starts_with("[[job]]");
    text.lines().any(is_table)
}

/// Reads the text of a workload file. `file` names it in errors; relative paths start from
/// `folder`.
///
/// # Errors
/// As [`read`].
pub fn parse(text: &str, file: &str, folder: &Path) -> Result<Workload, InputError> {
    let text = TomlText { file, text, folder };
    let tables: schema::File =
        ::toml::from_str(text.text).map_err(|error| text.syntax(&error, EXPECTED))?;
    if tables.job.is_empty() {
        let error = InputError::new(file, "no job", "at least one table [[job]]");
        return Err(error.in_field("job"));
    }
    let names = names(&text, &tables.job)?;
    let file_name = Path::new(file).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let mut workload = Workload {
        name: tables.name.map(Spanned::into_inner).or(file_name).unwrap_or_default(),
        jobs: Vec::new(),
    };
    // Checked for all jobs before the first one allocates memory.
    let mut pairs = 0;
    for table in &tables.job {
        pairs += job::pattern_pairs(&text, table, MOST_PAIRS - pairs)?;
    }
    let mut taken: BTreeSet<String> = names.iter().flatten().cloned().collect();
    let mut pairs = 0;
    for (table, name) in tables.job.iter().zip(names) {
        let mut job = job::read(&text, table, MOST_PAIRS - pairs)?;
        pairs += job.flows.len() as u64;
        job.name = name.unwrap_or_else(|| free_name(&job.name, &mut taken));
        workload.jobs.push(job);
    }
    Ok(workload)
}

/// A unique name: `plain`, or `plain` with a number.
fn free_name(plain: &str, taken: &mut BTreeSet<String>) -> String {
    let numbered = (2_u64..).map(|number| format!("{plain}-{number}"));
    let mut names = std::iter::once(plain.to_owned()).chain(numbered);
    let name = names.find(|name| !taken.contains(name)).unwrap_or_default();
    taken.insert(name.clone());
    name
}

/// The explicit job names, by job; checks that they are valid and unique.
fn names(
    text: &TomlText<'_>,
    tables: &[Spanned<schema::JobTable>],
) -> Result<Vec<Option<String>>, InputError> {
    let mut lines = BTreeMap::new();
    let mut names = Vec::new();
    for table in tables {
        let Some(name) = &table.get_ref().name else {
            names.push(None);
            continue;
        };
        let (span, field) = (name.span(), "job.name");
        let name = name.get_ref();
        let is_wrong = |c: char| c.is_control() || matches!(c, ',' | '/' | '"');
        if name.trim().is_empty() || name.contains(is_wrong) {
            let expected = "a name without commas, slashes, quotes and control characters";
            return Err(text.error(span, field, format!("`{}`", name.escape_debug()), expected));
        }
        if let Some(first) = lines.insert(name.clone(), text.line(span.clone())) {
            let error = text.error(span, field, format!("a second job `{name}`"), "unique names");
            return Err(error.with_advice(format!("the first one is named in line {first}")));
        }
        names.push(Some(name.clone()));
    }
    Ok(names)
}

#[cfg(test)]
mod tests;
