//! Workloads by the names that users give them: files, patterns, benchmarks and built-in workloads.

use std::path::Path;

use super::generate::built_in::{self, BUILT_IN};
use super::generate::nas::{self, NasError};
use super::generate::pattern::{Pattern, PatternError};
use super::profile::Profile;
use super::read::import::{self, FORMATS, Imported, ReadPrinted, Reader, Refused};
use super::read::jobs_file;
use super::read::profile_file::{self, SQLITE_MAGIC};
use super::{TrafficError, Workload};
use crate::files::{InputError, first_bytes, read_text};

/// The accepted names of workloads, for errors.
const WORKLOAD: &str = "a profile (app.rwp), a workload file (jobs.toml), traffic in a format that \
                        `traffic import` reads, or a built-in name";

/// The prefixes of generated and built-in workloads.
const PREFIXES: [&str; 3] = ["pattern:", "nas:", "paper:"];

/// Why a workload cannot be opened.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// There is no built-in workload of that name.
    #[error("no built-in workload `{name}`; the built-in workloads are {}", built_in_names())]
    UnknownName {
        /// The name.
        name: String,
    },
    /// There is no format of that name.
    #[error("found `{name}`, expected one of {}", format_names())]
    UnknownFormat {
        /// The name.
        name: String,
    },
    /// A pattern that cannot be generated.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// A benchmark that cannot be generated.
    #[error(transparent)]
    Nas(#[from] NasError),
    /// A profile without a job.
    #[error(transparent)]
    Traffic(#[from] TrafficError),
    /// The file cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
}

/// What a program around the library can do and the library does not: read standard input, start
/// another program.
pub trait Outside {
    /// The text on standard input; `expected` says in errors what it should be.
    ///
    /// # Errors
    /// If it cannot be read.
    fn standard_input(&self, expected: &str) -> Result<String, InputError>;

    /// Runs `printer`, a program with its options, on an archive and hands its output to `read`.
    ///
    /// # Errors
    /// If the program fails, or its output cannot be read.
    fn print_archive(
        &self,
        printer: &[&str],
        archive: &Path,
        read: ReadPrinted,
    ) -> Result<Profile, InputError>;
}

/// Files only: no standard input, no other program.
#[derive(Debug)]
pub struct FilesOnly;

impl Outside for FilesOnly {
    fn standard_input(&self, expected: &str) -> Result<String, InputError> {
        Err(InputError::new("-", "standard input, which only the program itself reads", expected))
    }

    fn print_archive(
        &self,
        printer: &[&str],
        archive: &Path,
        _read: ReadPrinted,
    ) -> Result<Profile, InputError> {
        let found = "a binary archive";
        Err(InputError::new(archive.display(), found, "the text that is printed of it")
            .with_advice(format!("write what `{}` prints to a file", printer.join(" "))))
    }
}

/// Whether a name of [`split`] is that of a file and neither generated nor built in.
#[must_use]
pub fn is_path(name: &str) -> bool {
    !PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Opens the workload that `names` stands for: profiles, files of other tools, `jobs.toml`,
/// `pattern:...`, `nas:...` or built-in names like `paper:2013/linear`, several with commas between
/// them. Collective calls of a profile are expanded by the default algorithms.
///
/// ```
/// let workload = rankwright::traffic::open("nas:cg.A.16").unwrap();
/// assert_eq!(workload.rank_count(), 16);
/// ```
///
/// # Errors
/// If there is no such workload, or its file is wrong.
pub fn open(names: &str) -> Result<Workload, OpenError> {
    Ok(named(names, &FilesOnly)?.workload()?)
}

/// The named inputs: a run if there is one recorded input, else a workload with the jobs of all.
///
/// # Errors
/// As [`open`].
pub fn named(names: &str, outside: &dyn Outside) -> Result<Imported, OpenError> {
    let list = split(names);
    let [first, others @ ..] = list.as_slice() else { return single(names, outside) };
    if others.is_empty() {
        return single(first, outside);
    }
    let workloads = list.iter().map(|name| Ok(single(name, outside)?.workload()?));
    let workloads: Vec<Workload> = workloads.collect::<Result<_, OpenError>>()?;
    Ok(Imported::Traffic(Workload::together(workloads)))
}

/// Splits a list at its commas, but not between the options of a pattern or a benchmark, nor in the
/// name of an existing file.
#[must_use]
pub fn split(names: &str) -> Vec<String> {
    let is_file = |name: &str| Path::new(name).exists();
    if is_file(names) {
        return vec![names.to_owned()];
    }
    let begins_as_name = |part: &str| PREFIXES.iter().any(|prefix| part.starts_with(prefix));
    let mut list: Vec<String> = Vec::new();
    for part in names.split(',') {
        match list.last_mut() {
            Some(last) if begins_as_name(last) && !begins_as_name(part) && !is_file(part) => {
                *last = format!("{last},{part}");
            }
            _ => list.push(part.to_owned()),
        }
    }
    list
}

/// The input of a single name.
fn single(name: &str, outside: &dyn Outside) -> Result<Imported, OpenError> {
    let generated = |job| Ok(Imported::Traffic(Workload::single(job)));
    if let Some(pattern) = name.strip_prefix("pattern:") {
        return generated(Pattern::parse(pattern)?.job()?);
    }
    if let Some(run) = name.strip_prefix("nas:") {
        return generated(nas::parse(run)?.job()?);
    }
    if name.is_empty() {
        return Err(InputError::new("the workload", "an empty name", WORKLOAD).into());
    }
    let path = Path::new(name);
    if name.starts_with("paper:") && !path.exists() {
        let built_in =
            built_in::find(name).ok_or_else(|| OpenError::UnknownName { name: name.to_owned() })?;
        return Ok(Imported::Traffic(built_in.workload()?));
    }
    match is_profile(path)? {
        true => Ok(Imported::Run(Box::new(profile(path)?))),
        false => imported(path, None, outside),
    }
}

/// Traffic in a workload file or in a format of another tool; the format is detected where none is
/// named.
///
/// # Errors
/// As [`open`].
pub fn imported(
    path: &Path,
    format: Option<&str>,
    outside: &dyn Outside,
) -> Result<Imported, OpenError> {
    let find =
        |name: &str| import::find(name).ok_or(OpenError::UnknownFormat { name: name.to_owned() });
    let named = format.map(find).transpose()?;
    if path.as_os_str() != "-"
        && let Some(format) = named.or_else(|| import::sniff_path(path))
    {
        if let Reader::Printed { printer, archive, read } = format.read
            && let Some(archive) = archive(path)
        {
            return Ok(Imported::Run(Box::new(outside.print_archive(printer, &archive, read)?)));
        }
        return Ok(format.read_path(path)?);
    }
    let text = match path.as_os_str() == "-" {
        true => outside.standard_input(WORKLOAD)?,
        false => read_text(path, WORKLOAD)?,
    };
    let file = path.display().to_string();
    let refused = import::refused(&text).is_some();
    if named.is_none()
        && !refused
        && (path.extension() == Some("toml".as_ref()) || jobs_file::sniff(&text))
    {
        let folder = path.parent().unwrap_or(Path::new(""));
        return Ok(Imported::Traffic(jobs_file::parse(&text, &file, folder)?));
    }
    let format = named.or_else(|| import::sniff(&text)).ok_or_else(|| unknown(&text, &file))?;
    match format.read {
        // The reader needs the other files of the run too.
        Reader::Run { .. } if file != "-" => Ok(format.read_path(path)?),
        _ => Ok(format.read_text(text, &file)?),
    }
}

/// The error for a text that is not traffic.
fn unknown(text: &str, file: &str) -> InputError {
    if let Some(Refused { what, why, .. }) = import::refused(text) {
        return InputError::new(file, what, "traffic between ranks").with_advice(why);
    }
    if text.trim().is_empty() {
        return InputError::new(file, "an empty file", WORKLOAD);
    }
    let error = InputError::new(file, "text of an unknown format", WORKLOAD);
    error.with_advice(format!(
        "tried {}; if you know the format: rankwright traffic import FILE --from FORMAT",
        format_names()
    ))
}

/// Reads a profile. Its job is named after the file if the program has no name.
fn profile(path: &Path) -> Result<Profile, InputError> {
    let mut profile = profile_file::read(path)?;
    if profile.run.program.is_empty() {
        profile.run.program =
            path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    }
    Ok(profile)
}

/// Whether a file is a profile, which every SQLite file is assumed to be.
///
/// # Errors
/// If it cannot be read.
pub fn is_profile(path: &Path) -> Result<bool, InputError> {
    if path.as_os_str() == "-" {
        return Ok(false);
    }
    // The reader of profiles explains best if a profile is cut within its first bytes.
    let named_so = path.extension().is_some_and(|extension| extension == "rwp");
    if !named_so && import::sniff_path(path).is_some() {
        return Ok(false);
    }
    let first = first_bytes(path, SQLITE_MAGIC.len())
        .map_err(|error| InputError::of_reading(path.display(), &error, WORKLOAD))?;
    Ok(named_so || first == SQLITE_MAGIC)
}

fn built_in_names() -> String {
    BUILT_IN.iter().map(|workload| workload.name).collect::<Vec<_>>().join(", ")
}

fn format_names() -> String {
    FORMATS.iter().map(|format| format.name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_patterns_and_files_with_commas_are_not_split() {
        assert_eq!(split("nas:cg.A.16,paper:2013/linear"), ["nas:cg.A.16", "paper:2013/linear"]);
        let ring = "pattern:ring:ranks=4,bytes=1kB";
        assert_eq!(split(&format!("{ring},nas:cg.A.16")), [ring, "nas:cg.A.16"]);
    }

    #[test]
    fn jobs_of_several_names_become_one_workload() {
        let workload = open("nas:cg.A.16,nas:ep.A.4").unwrap();
        assert_eq!((workload.jobs.len(), workload.rank_count()), (2, 20));
        let one_by_one = ["nas:cg.A.16", "nas:ep.A.4"].map(|name| open(name).unwrap());
        assert_eq!(workload, Workload::together(one_by_one));
        assert_eq!(workload.name, "cg.A.16+ep.A.4");
        let again = open("nas:ep.A.4,nas:ep.A.4").unwrap();
        assert_eq!(again.name, "ep.A.4+ep.A.4-2");
    }

    #[test]
    fn names_that_do_not_exist_say_which_do() {
        let unknown = open("paper:1999/linear").unwrap_err().to_string();
        assert!(
            unknown.contains("`paper:1999/linear`; the built-in workloads are paper:"),
            "{unknown}"
        );
        let empty = open("").unwrap_err().to_string();
        assert!(
            empty.starts_with("the workload: found an empty name, expected a profile"),
            "{empty}"
        );
        let missing = open("no-such-file.rwp").unwrap_err().to_string();
        assert!(missing.starts_with("no-such-file.rwp: no such file; give a profile"), "{missing}");
    }

    #[test]
    fn standard_input_belongs_to_the_program() {
        let refused = open("-").unwrap_err().to_string();
        assert!(refused.contains("standard input"), "{refused}");
    }
}
