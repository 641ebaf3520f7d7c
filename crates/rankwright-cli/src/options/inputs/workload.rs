//! Workloads by the names that users give.

use std::path::Path;

use rankwright::files::InputError;
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
