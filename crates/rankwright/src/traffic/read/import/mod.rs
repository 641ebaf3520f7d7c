//! Importers: formats of other tools for traffic. [`FORMATS`] lists them in the order in which they
//! are tried.
//!
//! To add an importer:
//!
//! 1. Write one file (or folder) here, named after the format, with `sniff` (does this text look
//!    like the format?) and `read`. A format that says who sends how much to whom reads into a
//!    [`Workload`]; a recorded run reads into a [`Profile`]. Use `first_line`, `amount` and
//!    `job_name` below; take names and operations of MPI functions from `mpi_functions`.
//! 2. Add a row to [`FORMATS`], before formats whose `sniff` would accept the same text. Help,
//!    completion and error messages follow from it. Set `write` if the format can be exported.
//! 3. Errors are [`InputError`]s with line, found, expected. Refuse counts above [`MOST_RANKS`]
//!    before allocating.
//! 4. Put a small real file into `testdata/`, broken variants into `testdata/broken/` with a line in
//!    `testdata/broken.cases`, and a section into `docs/src/formats.md`.
//!
//! A tool whose files hold no pairs of ranks goes into `refused` instead, with the reason.

pub mod craypat;
pub mod csv;
pub mod dense;
pub mod ipm;
pub mod matrix_market;
pub mod metis;
mod mpi_functions;
pub mod openmpi_monitoring;
pub mod otf2;
mod refused;

use std::io::{self, BufRead};
use std::path::{Path, PathBuf};

pub use refused::{Refused, refused};

use crate::files::{self, InputError};
use crate::traffic::expansion::Expansion;
use crate::traffic::profile::Profile;
use crate::traffic::{TrafficError, Workload};

/// A traffic format of another tool.
#[derive(Debug)]
pub struct Format {
    /// Name on the command line.
    pub name: &'static str,
    /// One-line description.
    pub summary: &'static str,
    /// Whether a text looks like this format.
    pub sniff: fn(&str) -> bool,
    /// Reader.
    pub read: Reader,
    /// Writer; `None` for formats that cannot be exported.
    pub write: Option<Writer>,
}

/// How a format is read.
#[derive(Debug, Clone, Copy)]
pub enum Reader {
    /// One text with traffic. Arguments: text, name for errors.
    Traffic(fn(&str, &str) -> Result<Workload, InputError>),
    /// One or several files recorded from one run.
    Run {
        /// The files of the run that a path names: one of its files, a folder, or their common
        /// prefix. Empty if there are none.
        files: fn(&Path) -> Result<Vec<PathBuf>, InputError>,
        /// Reads these files in this order.
        read: fn(&mut Sources<'_>) -> Result<Profile, InputError>,
    },
    /// A binary archive that another program prints as text. The caller runs that program.
    Printed {
        /// Program and options; the file is the last argument.
        printer: &'static [&'static str],
        /// The archive's file, if the path names one.
        archive: fn(&Path) -> Option<PathBuf>,
        /// Reads the program's output.
        read: ReadPrinted,
    },
}

/// Reads what a program prints of an archive. Arguments: output, name for errors.
pub type ReadPrinted = fn(&mut dyn BufRead, &str) -> Result<Profile, InputError>;

/// Writes traffic; an error if the workload has several jobs and the format holds one.
pub type Writer = fn(&Workload) -> Result<String, OneJobOnly>;

/// Texts of several files, each read when it is needed.
pub type Sources<'a> = dyn Iterator<Item = Result<Source, InputError>> + 'a;

/// A text and its name for errors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Path of the file; `-` for standard input.
    pub file: String,
    /// Contents.
    pub text: String,
}

/// What was imported.
#[derive(Debug, Clone, PartialEq)]
pub enum Imported {
    /// Traffic of one or several jobs.
    Traffic(Workload),
    /// A recorded run.
    Run(Box<Profile>),
}

impl Imported {
    /// The traffic; of a recorded run its job, with collective calls expanded by the default
    /// algorithms.
    ///
    /// # Errors
    /// If the run has 0 ranks.
    pub fn workload(self) -> Result<Workload, TrafficError> {
        match self {
            Self::Traffic(workload) => Ok(workload),
            Self::Run(profile) => Ok(Workload::single(profile.job(Expansion::Default)?)),
        }
    }
}

/// All formats, in the order in which they are tried.
pub const FORMATS: [Format; 8] = [
    Format {
        name: "csv",
        summary: "edge list with the header job,source,destination,messages,bytes,largest",
        sniff: csv::sniff,
        read: Reader::Traffic(csv::read),
        write: Some(csv::write),
    },
    Format {
        name: "matrix-market",
        summary: "Matrix Market coordinate or array file: row sends to column",
        sniff: matrix_market::sniff,
        read: Reader::Traffic(matrix_market::read),
        write: Some(matrix_market::write),
    },
    Format {
        name: "openmpi-monitoring",
        summary: "files of Open MPI's monitoring, one per rank: NAME.0.prof, NAME.1.prof, ...",
        sniff: openmpi_monitoring::sniff,
        read: Reader::Run { files: openmpi_monitoring::files, read: openmpi_monitoring::read },
        write: None,
    },
    Format {
        name: "ipm",
        summary: "XML file of IPM, written with IPM_LOG=full",
        sniff: ipm::sniff,
        read: Reader::Run { files: ipm::files, read: ipm::read },
        write: None,
    },
    Format {
        name: "otf2",
        summary: "OTF2 archive, as Score-P writes it, or what otf2-print --show-all prints of it",
        sniff: otf2::sniff,
        read: Reader::Printed { printer: &otf2::PRINTER, archive: otf2::anchor, read: otf2::read },
        write: None,
    },
    Format {
        name: "craypat",
        summary: "rank order of CrayPat or grid_order for a grid: neighbours exchange data",
        sniff: craypat::sniff,
        read: Reader::Run { files: craypat::files, read: craypat::read },
        write: None,
    },
    Format {
        name: "dense",
        summary: "square matrix of numbers with blanks or commas between them: row sends to column",
        sniff: dense::sniff,
        read: Reader::Traffic(dense::read),
        write: None,
    },
    Format {
        name: "metis",
        summary: "METIS graph: vertices are ranks, edge weights bytes in both directions together",
        sniff: metis::sniff,
        read: Reader::Traffic(metis::read),
        write: Some(metis::write),
    },
];

impl Format {
    /// Reads a single text.
    ///
    /// # Errors
    /// If it is not in this format, or is only part of a run.
    pub fn read_text(&self, text: String, file: &str) -> Result<Imported, InputError> {
        match self.read {
            Reader::Traffic(read) => read(&text, file).map(Imported::Traffic),
            Reader::Run { read, .. } => {
                let source = Source { file: file.to_owned(), text };
                read(&mut std::iter::once(Ok(source))).map(|run| Imported::Run(Box::new(run)))
            }
            Reader::Printed { read, .. } => {
                read(&mut text.as_bytes(), file).map(|run| Imported::Run(Box::new(run)))
            }
        }
    }

    /// Reads the file or files that a path names. For an archive, the path must be the printed
    /// text; the caller prints the archive itself.
    ///
    /// # Errors
    /// If a file is missing, cannot be read, or is not in this format.
    pub(crate) fn read_path(&self, path: &Path) -> Result<Imported, InputError> {
        let source = |path: &Path| {
            let text = files::read_text(path, self.summary)?;
            Ok(Source { file: path.display().to_string(), text })
        };
        match self.read {
            Reader::Traffic(_) | Reader::Printed { .. } => {
                let Source { file, text } = source(path)?;
                self.read_text(text, &file)
            }
            Reader::Run { files, read } => {
                let files = files(path)?;
                if files.is_empty() {
                    let missing = io::ErrorKind::NotFound.into();
                    return Err(InputError::of_reading(path.display(), &missing, self.summary));
                }
                read(&mut files.iter().map(|path| source(path)))
                    .map(|run| Imported::Run(Box::new(run)))
            }
        }
    }
}

/// Most ranks accepted: a damaged file of a few bytes may claim more, and each rank takes memory.
pub const MOST_RANKS: u32 = 1 << 24;

/// Several jobs for a format that holds one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("found {found} jobs, expected 1: this format holds one job only; choose one of {names}")]
pub struct OneJobOnly {
    /// Number of jobs.
    pub found: usize,
    /// Names of the jobs.
    pub names: String,
}

/// The job of a workload with one job.
fn only_job(workload: &Workload) -> Result<&crate::traffic::Job, OneJobOnly> {
    match workload.jobs.as_slice() {
        [job] => Ok(job),
        jobs => {
            let names: Vec<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
            Err(OneJobOnly { found: jobs.len(), names: names.join(", ") })
        }
    }
}

/// Finds the format of a text by content.
#[must_use]
pub fn sniff(text: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| (format.sniff)(text))
}

/// Finds the format of a path that is not a text file: an archive, a folder, or a common prefix of
/// file names.
#[must_use]
pub(crate) fn sniff_path(path: &Path) -> Option<&'static Format> {
    let names_files = |format: &&Format| match format.read {
        // An error means that the files exist but are inconsistent: `read` reports it.
        Reader::Run { files, .. } => {
            !path.is_file() && files(path).map_or(true, |files| !files.is_empty())
        }
        Reader::Printed { archive, .. } => archive(path).is_some(),
        Reader::Traffic(_) => false,
    };
    FORMATS.iter().find(names_files)
}

/// The format with this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// The first non-empty line, or an empty string.
fn first_line(text: &str) -> &str {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
}

/// Parses an amount of bytes; tools also write it with a decimal point or exponent. Rounded.
fn amount(cell: &str) -> Option<u64> {
    let value: f64 = cell.parse().ok()?;
    let exact: Option<u64> = cell.parse().ok();
    (0.0..9.2e18).contains(&value).then(|| exact.unwrap_or(value.round() as u64))
}

/// Job name for a file: its name without folder and extension.
fn job_name(file: &str) -> String {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.split_once('.').map_or(name, |(stem, _)| stem).to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ids::Rank;
    use crate::traffic::{Flow, Job};

    fn jobs() -> impl Strategy<Value = Job> {
        (2_u32..20).prop_flat_map(|ranks| {
            let flow = (0..ranks, 0..ranks, 1_u64..1000, 1_u64..1 << 40).prop_map(
                |(source, destination, messages, bytes)| Flow {
                    source: Rank(source),
                    destination: Rank(destination),
                    messages,
                    bytes,
                    largest: bytes.div_ceil(messages),
                },
            );
            // The last rank takes part, so that formats without a rank count know the size.
            let last = Flow {
                source: Rank(ranks - 1),
                destination: Rank(0),
                messages: 1,
                bytes: 8,
                largest: 8,
            };
            prop::collection::vec(flow, 0..40).prop_map(move |mut flows| {
                flows.push(last);
                Job::new("app", ranks, flows).unwrap()
            })
        })
    }

    proptest! {
        #[test]
        fn csv_reads_back_as_written(job in jobs()) {
            let workload = Workload::single(job);
            let text = csv::write(&workload).unwrap();
            prop_assert_eq!(sniff(&text).unwrap().name, "csv");
            prop_assert_eq!(csv::read(&text, "app.csv").unwrap(), workload);
        }

        #[test]
        fn matrix_market_keeps_bytes(job in jobs()) {
            let text = matrix_market::write(&Workload::single(job.clone())).unwrap();
            prop_assert_eq!(sniff(&text).unwrap().name, "matrix-market");
            let back = &matrix_market::read(&text, "app.mtx").unwrap().jobs[0];
            let bytes = |job: &Job| -> Vec<_> {
                job.flows.iter().map(|f| (f.source, f.destination, f.bytes)).collect()
            };
            prop_assert_eq!(bytes(back), bytes(&job));
        }

        #[test]
        fn metis_keeps_the_bytes_of_each_pair(job in jobs()) {
            let workload = Workload::single(job);
            let text = metis::write(&workload).unwrap();
            prop_assert_eq!(sniff(&text).unwrap().name, "metis");
            let back = metis::read(&text, "app.graph").unwrap();
            prop_assert_eq!(metis::write(&back).unwrap(), text);
        }

        #[test]
        fn no_text_makes_a_reader_panic(text in "[0-9 ,.%\n-]{0,80}") {
            let _ = sniff(&text);
            for format in &FORMATS {
                let _ = format.read_text(text.clone(), "x");
            }
        }
    }
}
