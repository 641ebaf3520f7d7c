//! Workloads, as users name them.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use rankwright::files::{InputError, describe};
use rankwright::report::partial::partial_records;
use rankwright::traffic::Workload;
use rankwright::traffic::expansion::Expansion;
use rankwright::traffic::import::{self, FORMATS, Imported, Reader, Refused};
use rankwright::traffic::nas;
use rankwright::traffic::pattern::Pattern;
use rankwright::traffic::profile::Profile;
use rankwright::traffic::profile_file::{self, SQLITE_MAGIC};

use super::{printed, read_text_or_stdin};
use crate::cli::Verbosity;
use crate::exit_code::UsageError;
use crate::output;

const WORKLOAD: &str = "a profile (app.rwp), traffic in a format that `traffic import` reads, or \
                        pattern:SHAPE:RANKS";

/// The workload that users name by a file, `-` or a built-in name. Collective calls of a profile
/// are expanded by the default algorithms. That a profile is partial is said.
pub(crate) fn workload(name: &str, verbosity: &Verbosity) -> anyhow::Result<Workload> {
    if let Some(pattern) = name.strip_prefix("pattern:") {
        return Ok(Workload::single(parse_pattern(pattern)?));
    }
    if let Some(run) = name.strip_prefix("nas:") {
        return Ok(Workload::single(parse_nas(run)?));
    }
    let path = Path::new(name);
    if is_profile(path)? {
        let profile = profile(path)?;
        for sentence in partial_records(&profile) {
            output::warn(verbosity, format!("{name} is partial: {sentence}"));
        }
        return Ok(Workload::single(profile.job(Expansion::Default)?));
    }
    match imported(path, None)? {
        Imported::Traffic(workload) => Ok(workload),
        Imported::Run(profile) => Ok(Workload::single(profile.job(Expansion::Default)?)),
    }
}

/// The job of a pattern.
pub(crate) fn parse_pattern(text: &str) -> anyhow::Result<rankwright::traffic::Job> {
    let job = Pattern::parse(text).and_then(|pattern| pattern.job());
    job.map_err(|error| UsageError(error.to_string()).into())
}

/// The job of a NAS benchmark.
pub(crate) fn parse_nas(text: &str) -> anyhow::Result<rankwright::traffic::Job> {
    let job = nas::parse(text).and_then(|run| run.job());
    job.map_err(|error| UsageError(error.to_string()).into())
}

/// Traffic in a format of another tool; sniffed where the user names none.
pub(crate) fn imported(path: &Path, format: Option<&str>) -> anyhow::Result<Imported> {
    let named = format.map(|name| {
        import::find(name).ok_or_else(|| {
            let known: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
            UsageError(format!("--from: found `{name}`, expected one of {}", known.join(", ")))
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
    let format = named.or_else(|| import::sniff(&text)).ok_or_else(|| unknown(&text, &file))?;
    match format.read {
        // The other files of the run are wanted too.
        Reader::Run { .. } if file != "-" => Ok(format.read_path(path)?),
        _ => Ok(format.read_text(text, &file)?),
    }
}

/// Why a text is no traffic.
fn unknown(text: &str, file: &str) -> InputError {
    if let Some(Refused { what, why, .. }) = import::refused(text) {
        return InputError::new(file, what, "who sends how much to whom").with_advice(why);
    }
    let tried: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    let error = InputError::new(file, "text of an unknown format", WORKLOAD);
    error.with_advice(format!("tried {}; --from of `traffic import` names one", tried.join(", ")))
}

/// A profile. Its job is named after the file where the program has no name.
pub(crate) fn profile(path: &Path) -> anyhow::Result<Profile> {
    let mut profile = profile_file::read(path)?;
    if profile.run.program.is_empty() {
        profile.run.program =
            path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    }
    Ok(profile)
}

/// Whether a file is a profile (any SQLite file is taken for one).
pub(crate) fn is_profile(path: &Path) -> Result<bool, InputError> {
    if path.as_os_str() == "-" {
        return Ok(false);
    }
    // A profile that was cut within its first bytes is still best explained by its reader.
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
