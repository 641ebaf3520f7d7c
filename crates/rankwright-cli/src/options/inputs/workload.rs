//! Workloads by the names that users give.

use std::ffi::OsStr;
use std::path::Path;

use rankwright::cluster;
use rankwright::files::InputError;
use rankwright::launch::shell;
use rankwright::report::partial::partial_records;
use rankwright::traffic::profile::Profile;
use rankwright::traffic::read::import::{Imported, ReadPrinted};
use rankwright::traffic::{self, OpenError, Outside, Workload};

use super::printed;
use super::text::read_text_or_stdin;
use crate::output::exit_code::UsageError;
use crate::output::progress::ProgressLine;
use crate::output::{self, Verbosity};

/// The accepted names of workloads, for `--help`.
pub(crate) const WORKLOAD_HELP: &str = "A profile, a workload file (jobs.toml), a file of another \
    format, or a name that `rankwright traffic list` shows; or several, separated by commas";

/// Standard input and child processes of this program.
struct Program;

impl Outside for Program {
    fn standard_input(&self, expected: &str) -> Result<String, InputError> {
        read_text_or_stdin(Path::new("-"), expected)
    }

    fn print_archive(
        &self,
        printer: &[&str],
        archive: &Path,
        read: ReadPrinted,
    ) -> Result<Profile, InputError> {
        printed::read(printer, archive, read)
    }
}

/// The workload of files, `-` or built-in names, separated by commas. Collective calls of a profile
/// are expanded by the default algorithms. A partial profile gives a warning.
pub(crate) fn workload(names: &str, verbosity: &Verbosity) -> anyhow::Result<Workload> {
    let line = ProgressLine::new(verbosity, format!("reading {names}"));
    let named = named(names)?;
    let missing = match &named {
        Imported::Run(profile) => partial_records(profile),
        Imported::Traffic(_) => Vec::new(),
    };
    let workload = named.workload();
    drop(line);
    for sentence in missing {
        output::warn(verbosity, format!("{names} is partial: {sentence}"));
    }
    Ok(workload?)
}

/// Refuses what users give as workloads by mistake, before anything is read: files that are missing and
/// clusters. `on` is the cluster that they gave.
///
/// # Errors
/// If one of the names is such a thing; the error says where it belongs.
pub(crate) fn refuse_misplaced(names: &[String], on: Option<&str>) -> anyhow::Result<()> {
    let names: Vec<String> = names.iter().flat_map(|names| traffic::split(names)).collect();
    if let Some(on) = on.filter(|on| on.starts_with("synthetic:")) {
        let is_part = |name: &&String| is_level(name) && !Path::new(name).exists();
        let parts: Vec<&str> = names.iter().filter(is_part).map(String::as_str).collect();
        if !parts.is_empty() {
            let parts = parts.join(" ");
            let text =
                format!("{parts}: a part of --on; quote the whole string: --on \"{on} {parts}\"");
            return Err(UsageError(text).into());
        }
    }
    for name in names {
        if is_cluster(&name) {
            let error =
                InputError::new(&name, "the description of a cluster", "traffic between ranks");
            return Err(error
                .with_advice(format!("give it as --on {}", shell::quote(&name)))
                .into());
        }
        let path = Path::new(&name);
        // What exists is not opened here: a pipe can be read once.
        if traffic::is_path(&name) && !path.exists() {
            traffic::is_profile(path)?;
        }
    }
    Ok(())
}

/// Whether it is a level of a synthetic string: `core:32`.
fn is_level(name: &str) -> bool {
    name.split_once(':').is_some_and(|(level, count)| {
        level.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && count.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Whether a name is that of a cluster; only files with the usual endings are opened.
fn is_cluster(name: &str) -> bool {
    let path = Path::new(name);
    let is_file = ["toml", "xml"].iter().any(|end| path.extension() == Some(OsStr::new(end)));
    let may_be = is_file || name.starts_with("synthetic:") || cluster::is_built_in(name);
    may_be && cluster::open(name).is_ok()
}

/// The named inputs: a run if there is one recorded input, else a workload with the jobs of all.
pub(crate) fn named(names: &str) -> anyhow::Result<Imported> {
    traffic::named(names, &Program).map_err(with_exit_code)
}

/// Traffic in a workload file or in a format of another tool; the format is detected unless the user
/// names it.
pub(crate) fn imported(path: &Path, format: Option<&str>) -> anyhow::Result<Imported> {
    traffic::imported(path, format, &Program).map_err(|error| match error {
        OpenError::UnknownFormat { .. } => UsageError(format!("--from: {error}")).into(),
        error => with_exit_code(error),
    })
}

fn with_exit_code(error: OpenError) -> anyhow::Error {
    match error {
        OpenError::Input(error) => error.into(),
        OpenError::Traffic(error) => error.into(),
        error => UsageError(error.to_string()).into(),
    }
}
