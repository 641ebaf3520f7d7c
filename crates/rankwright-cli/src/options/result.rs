//! Format and destination of a result.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use rankwright::files::{check_writable, write_atomically};
use rankwright::launch::shell;
use rankwright::report::page::{Names, Report, ReportForm};

use crate::output::exit_code::UsageError;
use crate::output::{Verbosity, note, print};

/// The format of a result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Aligned columns
    #[default]
    Table,
    /// One JSON value
    Json,
    /// Comma-separated values with a header line
    Csv,
}

/// Format and destination of a result.
#[derive(Debug, Clone, Args)]
pub(crate) struct ResultOptions {
    /// Format of the result
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: Format,
    /// Write the result to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

impl ResultOptions {
    /// Refuses a file that cannot be written or that the command reads, before the work.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        self.file().map_or(Ok(()), check_result)
    }

    /// Writes a result to its file or to standard output.
    pub(crate) fn write(&self, text: &str) -> anyhow::Result<()> {
        match self.file() {
            Some(path) => Ok(write_atomically(path, text.as_bytes())?),
            None => print(text),
        }
    }

    /// Whether the result goes to a file.
    pub(crate) fn has_file(&self) -> bool {
        self.file().is_some()
    }

    /// Whether the name of the file ends so.
    pub(crate) fn is_named(&self, ending: &str) -> bool {
        self.file()
            .is_some_and(|file| file.as_os_str().as_encoded_bytes().ends_with(ending.as_bytes()))
    }

    /// The file; `None` for standard output.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.output.as_deref().filter(|path| path.as_os_str() != "-")
    }
}

/// A report beside the result of a command.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ReportOption {
    /// Also write a report to this file: a page (.html), Markdown (.md), text (.txt) or JSON (.json)
    #[arg(long = "report", value_name = "FILE")]
    file: Option<PathBuf>,
}

/// The endings of reports.
const FORMS: [(&str, ReportForm); 4] = [
    ("html", ReportForm::Html),
    ("md", ReportForm::Markdown),
    ("txt", ReportForm::Text),
    ("json", ReportForm::Json),
];

/// The form of a report by the name of its file.
pub(crate) fn form_by_name(path: &Path) -> Option<ReportForm> {
    let ending = path.extension()?;
    FORMS.iter().find(|(name, _)| ending == *name).map(|(_, form)| *form)
}

impl ReportOption {
    /// Whether the user wants a report.
    pub(crate) fn is_wanted(&self) -> bool {
        self.file.is_some()
    }

    /// Refuses a file that is not a report, is one of the `others` that the command writes, or cannot be
    /// written; before the work.
    pub(crate) fn check(&self, others: &[Option<&Path>]) -> anyhow::Result<()> {
        let Some(path) = &self.file else { return Ok(()) };
        let shown = path.display();
        if form_by_name(path).is_none() {
            let text = format!(
                "--report: found `{shown}`, expected a name that ends in .html, .md, .txt or .json"
            );
            return Err(UsageError(text).into());
        }
        if others.iter().flatten().any(|other| is_same_file(other, path)) {
            let text = format!("--report: `{shown}` is also the file of another result");
            return Err(UsageError(text).into());
        }
        check_result(path)
    }

    /// Writes a report without names of a workload or cluster in its snippets, if it is wanted.
    pub(crate) fn write_if_wanted(
        &self,
        report: impl FnOnce() -> Report,
        verbosity: &Verbosity,
    ) -> anyhow::Result<()> {
        if !self.is_wanted() {
            return Ok(());
        }
        let names = Names {
            workload: "app.rwp".to_owned(),
            cluster: "cluster.toml".to_owned(),
            placement: "placement.json".to_owned(),
            program: "./app".to_owned(),
            ranks: 64,
            entry: String::new(),
        };
        self.write(report(), &names, verbosity)
    }

    /// Writes the report, if it is wanted, and says so.
    pub(crate) fn write(
        &self,
        report: Report,
        names: &Names,
        verbosity: &Verbosity,
    ) -> anyhow::Result<()> {
        let Some(path) = &self.file else { return Ok(()) };
        let form = form_by_name(path).unwrap_or(ReportForm::Html);
        let text = finished(report, names).render(form);
        write_atomically(path, text.as_bytes())?;
        note(verbosity, format_args!("{}: report", path.display()));
        Ok(())
    }
}

/// Refuses a file for a result that cannot be written, or that the command line names as something else too:
/// an input, or the program.
pub(crate) fn check_result(path: &Path) -> anyhow::Result<()> {
    let words: Vec<OsString> = std::env::args_os().collect();
    // Each word with the one before it.
    let is_input = |pair: &[OsString]| {
        let is_result = matches!(pair[0].to_str(), Some("-o" | "--output" | "--report"));
        let file = Path::new(&pair[1]);
        !is_result && file.is_file() && is_same_file(file, path)
    };
    if words.windows(2).any(is_input) {
        let text = format!(
            "{}: this command reads that file or starts it, and would replace it; give the result another name",
            path.display()
        );
        return Err(UsageError(text).into());
    }
    Ok(check_writable(path)?)
}

/// Whether two paths name the same file, which need not exist.
fn is_same_file(a: &Path, b: &Path) -> bool {
    let [a, b] = [a, b].map(|path| {
        if let Ok(whole) = path.canonicalize() {
            return whole;
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize();
        match (folder, path.file_name()) {
            (Ok(folder), Some(name)) => folder.join(name),
            _ => path.to_owned(),
        }
    });
    a == b
}

/// A report with the command line, and with the user's names in its snippets.
pub(crate) fn finished(report: Report, names: &Names) -> Report {
    let arguments = std::env::args_os().skip(1);
    let arguments = arguments.map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = ["rankwright".to_owned()].into_iter().chain(arguments).collect();
    report.with_command_line(&shell::join(&words)).with_names(names)
}

/// Refuses `-` for results that cannot go to standard output.
pub(crate) fn refuse_stdout(path: &Path) -> Result<(), UsageError> {
    if path.as_os_str() == "-" {
        return Err(UsageError(
            "--output: found `-`, expected a file: this result cannot go to standard output"
                .to_owned(),
        ));
    }
    Ok(())
}
