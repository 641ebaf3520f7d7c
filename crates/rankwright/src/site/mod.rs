//! `site.toml`: which cluster description, launcher, network stack and rates belong to which
//! partition of a site, as defaults for options. `docs/src/site.md` has the schema.
//!
//! [`SiteFile::parse`] reads one file; [`defaults`] puts several together, field by field.

mod schema;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::Path;

use ::toml::Spanned;

use crate::cluster::{Rates, is_path};
use crate::files::{InputError, TomlText};
use crate::launch::{LAUNCHERS, Launcher};
use crate::rails::fabric::{STACKS, Stack};

/// What a file must be, for error messages.
pub const EXPECTED: &str = "defaults for a site (site.toml)";

/// The defaults that hold, each with its source.
#[derive(Debug, Clone, Default)]
pub struct Defaults {
    /// The cluster description, as for [`cluster::open`](crate::cluster::open); paths begin at the
    /// root or at the working directory.
    pub cluster: Option<Sourced<String>>,
    /// The launcher.
    pub launcher: Option<Sourced<&'static Launcher>>,
    /// The network stack.
    pub fabric: Option<Sourced<&'static Stack>>,
    /// The rates of the nodes, which replace those of the cluster description.
    pub rates: Option<Sourced<Rates>>,
    /// Whether `run` keeps its predictions beside what it measured.
    pub record: Option<Sourced<bool>>,
}

/// A value and its source.
#[derive(Debug, Clone, PartialEq)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Its source.
    pub source: Source,
}

/// The source of a default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The file, or the name of an environment variable.
    pub file: String,
    /// The line, from 1.
    pub line: Option<usize>,
}

/// A `site.toml` that was read.
#[derive(Debug, Clone)]
pub struct SiteFile {
    file: String,
    for_all: Defaults,
    partitions: Vec<Partition>,
}

/// A table `[[partition]]`.
#[derive(Debug, Clone)]
struct Partition {
    /// At least one.
    names: Vec<String>,
    line: usize,
    is_default: bool,
    defaults: Defaults,
}

impl Defaults {
    /// These, and what they leave open from `lower`.
    #[must_use]
    pub fn over(self, lower: Self) -> Self {
        Self {
            cluster: self.cluster.or(lower.cluster),
            launcher: self.launcher.or(lower.launcher),
            fabric: self.fabric.or(lower.fabric),
            rates: self.rates.or(lower.rates),
            record: self.record.or(lower.record),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        self.line.map_or(Ok(()), |line| write!(f, ":{line}"))
    }
}

impl<T> Sourced<T> {
    /// An error about the value.
    pub fn error(
        &self,
        field: &str,
        found: impl fmt::Display,
        expected: impl fmt::Display,
    ) -> InputError {
        let error = InputError::new(&self.source.file, found, expected);
        match self.source.line {
            Some(line) => error.at_line(line).in_field(field),
            None => error,
        }
    }
}

/// The launcher of this name, from `source`.
///
/// # Errors
/// If there is none; the error lists those that there are.
pub fn launcher(name: &str, source: Source) -> Result<Sourced<&'static Launcher>, InputError> {
    row(LAUNCHERS, |launcher| launcher.name, (name, "launcher"), source)
}

/// The network stack of this name, from `source`.
///
/// # Errors
/// If there is none; the error lists those that there are.
pub fn fabric(name: &str, source: Source) -> Result<Sourced<&'static Stack>, InputError> {
    row(STACKS, |stack| stack.name, (name, "fabric"), source)
}

/// The row of a table with a name.
fn row<T>(
    table: &'static [T],
    name_of: fn(&'static T) -> &'static str,
    (name, field): (&str, &str),
    source: Source,
) -> Result<Sourced<&'static T>, InputError> {
    if let Some(value) = table.iter().find(|row| name_of(row) == name) {
        return Ok(Sourced { value, source });
    }
    let names: Vec<&str> = table.iter().map(name_of).collect();
    let unknown = Sourced { value: name, source };
    Err(unknown.error(field, format!("`{name}`"), names.join(", ")))
}

impl SiteFile {
    /// Reads the text of a `site.toml`. `file` names it in errors; paths of cluster descriptions are
    /// relative to `folder`.
    ///
    /// # Errors
    /// If it does not follow the schema, names a launcher, network stack or rates that do not exist,
    /// or has a partition or a default twice; the error has the line and the field.
    pub fn parse(text: &str, file: &str, folder: &Path) -> Result<Self, InputError> {
        let source = TomlText { file, text, folder };
        let tables: schema::File =
            ::toml::from_str(text).map_err(|error| source.syntax(&error, EXPECTED))?;
        let mut partitions: Vec<Partition> = Vec::new();
        for table in &tables.partition {
            let partition = partition(&source, table, &partitions)?;
            partitions.push(partition);
        }
        let for_all = values(&source, &tables.written())?;
        Ok(Self { file: file.to_owned(), for_all, partitions })
    }

    /// The table of a partition.
    fn partition(&self, name: &str) -> Option<&Partition> {
        self.partitions.iter().find(|partition| partition.names.iter().any(|other| other == name))
    }
}

/// The defaults of several files, the most important last, for a partition; without one, for the
/// partition that is the default. A file's table `[[partition]]` precedes the values that it has for
/// all partitions.
///
/// # Errors
/// If there are tables `[[partition]]` and none is for this partition.
pub fn defaults(files: &[SiteFile], partition: Option<&str>) -> Result<Defaults, InputError> {
    if let Some(name) = partition
        && files.iter().all(|site| site.partition(name).is_none())
        && let Some((site, first)) =
            files.iter().rev().find_map(|site| Some((site, site.partitions.first()?)))
    {
        let names: Vec<&str> = site.partitions.iter().flat_map(Partition::names).collect();
        let names = names.join(", ");
        let expected = format!("{names}, or a table [[partition]] with name = \"{name}\"");
        let error = InputError::new(&site.file, format!("no partition `{name}`"), expected);
        return Err(error.at_line(first.line).in_field("partition.name"));
    }
    let partition = partition.or_else(|| default_partition(files));
    let of_file = |site: &SiteFile| {
        let table = partition.and_then(|name| site.partition(name));
        let of_partition = table.map(|table| table.defaults.clone()).unwrap_or_default();
        of_partition.over(site.for_all.clone())
    };
    Ok(files.iter().fold(Defaults::default(), |lower, site| of_file(site).over(lower)))
}

/// The partition that is meant where none is known.
fn default_partition(files: &[SiteFile]) -> Option<&str> {
    let of_file = |site: &'_ SiteFile| site.partitions.iter().position(|one| one.is_default);
    let (site, at) = files.iter().rev().find_map(|site| Some((site, of_file(site)?)))?;
    site.partitions[at].names().next()
}

/// The partitions of all files, if one of them must be chosen: none is the default.
#[must_use]
pub fn partitions_to_choose(files: &[SiteFile]) -> Vec<String> {
    if default_partition(files).is_some() {
        return Vec::new();
    }
    let mut names: Vec<String> = Vec::new();
    for name in files.iter().flat_map(|site| &site.partitions).flat_map(Partition::names) {
        if !names.iter().any(|other| other == name) {
            names.push(name.to_owned());
        }
    }
    names
}

impl Partition {
    fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }
}

/// A table `[[partition]]`, behind those that came `before`.
fn partition(
    source: &TomlText<'_>,
    table: &schema::Partition,
    before: &[Partition],
) -> Result<Partition, InputError> {
    let field = "partition.name";
    let text = &table.name;
    let names: Vec<String> = text.get_ref().split(',').map(|name| name.trim().to_owned()).collect();
    if names.iter().any(String::is_empty) {
        let expected = "the name of a partition, or several with commas between them";
        return Err(source.error(text.span(), field, format!("`{}`", text.get_ref()), expected));
    }
    let line = source.line(text.span());
    for (at, name) in names.iter().enumerate() {
        let first = before.iter().find(|other| other.names.contains(name));
        let first = first.map(|first| first.line).or(names[..at].contains(name).then_some(line));
        if let Some(first) = first {
            let error = source.error(
                text.span(),
                field,
                format!("a second partition `{name}`"),
                "every partition once",
            );
            return Err(error.with_advice(format!("the first one is in line {first}")));
        }
    }
    let is_default = table.default.as_ref().is_some_and(|default| *default.get_ref());
    let first = before.iter().find(|other| other.is_default);
    if let (Some(default), Some(first)) = (table.default.as_ref().filter(|_| is_default), first) {
        let error = source.error(
            default.span(),
            "partition.default",
            "a second default",
            "at most one partition with default = true",
        );
        let (name, line) = (first.names.join(","), first.line);
        return Err(error.with_advice(format!("the first one is `{name}` in line {line}")));
    }
    Ok(Partition { names, line, is_default, defaults: values(source, &table.written())? })
}

/// The values of a file or of a partition.
fn values(source: &TomlText<'_>, written: &schema::Written<'_>) -> Result<Defaults, InputError> {
    let at = |text: &Spanned<String>| source.at(text.span());
    Ok(Defaults {
        cluster: written.cluster.map(|text| cluster(source, text)).transpose()?,
        launcher: written.launcher.map(|name| launcher(name.get_ref(), at(name))).transpose()?,
        fabric: written.fabric.map(|name| fabric(name.get_ref(), at(name))).transpose()?,
        rates: written
            .rates
            .map(|rates| {
                Ok(Sourced { value: rates.read(source)?, source: source.at(rates.span()) })
            })
            .transpose()?,
        record: written
            .record
            .map(|record| Sourced { value: *record.get_ref(), source: source.at(record.span()) }),
    })
}

/// The name of a cluster description; a path is relative to the folder of the file.
fn cluster(source: &TomlText<'_>, text: &Spanned<String>) -> Result<Sourced<String>, InputError> {
    let name = text.get_ref();
    if name.is_empty() || name == "-" {
        let expected = "a cluster.toml, an hwloc XML file, synthetic:STRING or a built-in name";
        return Err(source.error(text.span(), "cluster", format!("`{name}`"), expected));
    }
    let value = match is_path(name) {
        true => source.folder.join(name).display().to_string(),
        false => name.clone(),
    };
    Ok(Sourced { value, source: source.at(text.span()) })
}

impl TomlText<'_> {
    /// The source of the value at a span.
    fn at(&self, span: std::ops::Range<usize>) -> Source {
        Source { file: self.file.to_owned(), line: Some(self.line(span)) }
    }
}
