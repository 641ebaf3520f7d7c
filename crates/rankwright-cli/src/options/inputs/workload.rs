//! Workloads by the names that users give.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use rankwright::files::{InputError, describe};
use rankwright::report::partial::partial_records;
use rankwright::traffic::Workload;
use rankwright::traffic::expansion::Expansion;
use rankwright::traffic::generate::built_in::{self, BUILT_IN};
use rankwright::traffic::generate::nas;
use rankwright::traffic::generate::pattern::Pattern;
use rankwright::traffic::profile::Profile;
use rankwright::traffic::read::import::{self, FORMATS, Imported, Reader, Refused};
use rankwright::traffic::read::jobs_file;
use rankwright::traffic::read::profile_file::{self, SQLITE_MAGIC};

use super::printed;
use super::text::read_text_or_stdin;
use crate::output::exit_code::UsageError;
use crate::output::{self, Verbosity};

const WORKLOAD: &str = "a profile (app.rwp), a workload file (jobs.toml), traffic in a format that \
                        `traffic import` reads, or a built-in name";

/// The accepted names of workloads, for `--help`.
pub(crate) const WORKLOAD_HELP: &str = "A profile, a workload file (jobs.toml), a file of another \
    format, or a name that `rankwright traffic list` shows; or several, separated by commas";

/// The prefixes of built-in workloads.
const PREFIXES: [&str; 3] = ["pattern:", "nas:", "paper:"];

/// The workload of files, `-` or built-in names, separated by commas. Collective calls of a profile
/// are expanded by the default algorithms. A partial profile gives a warning.
pub(crate) fn workload(names: &str, verbosity: &Verbosity) -> anyhow::Result<Workload> {
    match named(names)? {
        Imported::Traffic(workload) => Ok(workload),
        Imported::Run(profile) => {
            say_if_partial(names, &profile, verbosity);
            Ok(Workload::single(profile.job(Expansion::Default)?))
        }
    }
}

fn say_if_partial(name: &str, profile: &Profile, verbosity: &Verbosity) {
    for sentence in partial_records(profile) {
        output::warn(verbosity, format!("{name} is partial: {sentence}"));
    }
}

/// The named inputs: a run if there is one recorded input, else a workload with the jobs of all.
pub(crate) fn named(names: &str) -> anyhow::Result<Imported> {
    let list = split(names);
    let [first, others @ ..] = list.as_slice() else { return single(names) };
    if others.is_empty() {
        return single(first);
    }
    let mut together = Workload { name: names.to_owned(), jobs: Vec::new() };
    for name in &list {
        let jobs = match single(name)? {
            Imported::Traffic(workload) => workload.jobs,
            Imported::Run(profile) => vec![profile.job(Expansion::Default)?],
        };
        for job in jobs {
            together.push(job);
        }
    }
    Ok(Imported::Traffic(together))
}

/// Splits a list at its commas, but not between the options of a pattern or a benchmark, nor in the
/// name of an existing file.
pub(crate) fn split(names: &str) -> Vec<String> {
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
fn single(name: &str) -> anyhow::Result<Imported> {
    let made = |job| Ok(Imported::Traffic(Workload::single(job)));
    if let Some(pattern) = name.strip_prefix("pattern:") {
        let job = Pattern::parse(pattern).and_then(|pattern| pattern.job());
        return made(job.map_err(|error| UsageError(error.to_string()))?);
    }
    if let Some(run) = name.strip_prefix("nas:") {
        let job = nas::parse(run).and_then(|run| run.job());
        return made(job.map_err(|error| UsageError(error.to_string()))?);
    }
    let path = Path::new(name);
    if name.starts_with("paper:") && !path.exists() {
        let names = || BUILT_IN.iter().map(|workload| workload.name).collect::<Vec<_>>().join(", ");
        let unknown = || {
            UsageError(format!(
                "no built-in workload `{name}`; the built-in workloads are {}",
                names()
            ))
        };
        let built_in = built_in::find(name).ok_or_else(unknown)?;
        return Ok(Imported::Traffic(built_in.workload()?));
    }
    match is_profile(path)? {
        true => Ok(Imported::Run(profile(path)?)),
        false => imported(path, None),
    }
}

/// Traffic in a workload file or in a format of another tool; the format is detected unless the
/// user names it.
pub(crate) fn imported(path: &Path, format: Option<&str>) -> anyhow::Result<Imported> {
    let named = format.map(|name| {
        import::find(name).ok_or_else(|| {
            let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
            UsageError(format!("--from: found `{name}`, expected one of {}", names.join(", ")))
        })
    });
    let named = named.transpose()?;
    if path.as_os_str() != "-"
        && let Some(format) = named.or_else(|| import::sniff_path(path))
    {
        if let Reader::Printed { printer, archive, read } = format.read
            && let Some(archive) = archive(path)
        {
            return Ok(Imported::Run(printed::read(printer, &archive, read)?));
        }
        return Ok(format.read_path(path)?);
    }
    let text = read_text_or_stdin(path, WORKLOAD)?;
    let file = path.display().to_string();
    if named.is_none() && (path.extension() == Some("toml".as_ref()) || jobs_file::sniff(&text)) {
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
    let tried: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    let error = InputError::new(file, "text of an unknown format", WORKLOAD);
    error.with_advice(format!(
        "tried {}; if you know the format: rankwright traffic import FILE --from FORMAT",
        tried.join(", ")
    ))
}

/// Reads a profile. Its job is named after the file if the program has no name.
pub(crate) fn profile(path: &Path) -> anyhow::Result<Profile> {
    let mut profile = profile_file::read(path)?;
    if profile.run.program.is_empty() {
        profile.run.program =
            path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    }
    Ok(profile)
}

/// Whether a file is a profile, which every SQLite file is assumed to be.
pub(crate) fn is_profile(path: &Path) -> Result<bool, InputError> {
    if path.as_os_str() == "-" {
        return Ok(false);
    }
    // The reader of profiles explains best if a profile is cut within its first bytes.
    let named_so = path.extension().is_some_and(|extension| extension == "rwp");
    if !named_so && import::sniff_path(path).is_some() {
        return Ok(false);
    }
    let mut first = Vec::new();
    let read = File::open(path)
        .and_then(|file| file.take(SQLITE_MAGIC.len() as u64).read_to_end(&mut first));
    read.map_err(|error| InputError::new(path.display(), describe(&error), WORKLOAD))?;
    Ok(named_so || first == SQLITE_MAGIC)
}
