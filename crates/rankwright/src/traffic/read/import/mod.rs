//! Formats of other tools for traffic, one file or folder of source per format; all of them stand
//! in [`FORMATS`].

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

use std::io::BufRead;
use std::path::{Path, PathBuf};

pub use refused::{Refused, refused};

use crate::files::{self, InputError};
use crate::traffic::Workload;
use crate::traffic::profile::Profile;

/// A format for traffic.
#[derive(Debug)]
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is, in a few words.
    pub summary: &'static str,
    /// Whether a text looks like it.
    pub sniff: fn(&str) -> bool,
    /// How it is read.
    pub read: Reader,
    /// How it is written; `None` for what only a profiler writes.
    pub write: Option<Writer>,
}

/// How a format is read.
#[derive(Debug, Clone, Copy)]
pub enum Reader {
    /// One text that says who sends how much to whom; the second argument names it in errors.
    Traffic(fn(&str, &str) -> Result<Workload, InputError>),
    /// What a profiler wrote of one run, in one file or in several.
    Run {
        /// The files of the run that a path names: one of its files, a folder, or what their names
        /// have in common; none if it names none.
        files: fn(&Path) -> Result<Vec<PathBuf>, InputError>,
        /// Reads them, one after the other and in this order.
        read: fn(&mut Sources<'_>) -> Result<Profile, InputError>,
    },
    /// An archive that another program turns into text; who calls runs that program.
    Printed {
        /// The program and its options, to which the file is added.
        printer: &'static [&'static str],
        /// The file of the archive that a path names.
        archive: fn(&Path) -> Option<PathBuf>,
        /// Reads what the program prints; the second argument names the archive in errors.
        read: fn(&mut dyn BufRead, &str) -> Result<Profile, InputError>,
    },
}

/// Writes traffic; jobs after the first are an error where the format holds one only.
pub type Writer = fn(&Workload) -> Result<String, OneJobOnly>;

/// The texts of several files, each read when its turn comes.
pub type Sources<'a> = dyn Iterator<Item = Result<Source, InputError>> + 'a;

/// A text, and what names it in errors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The file; `-` for standard input.
    pub file: String,
    /// What stands in it.
    pub text: String,
}

/// What a format held.
#[derive(Debug, Clone, PartialEq)]
pub enum Imported {
    /// Who sends how much to whom, perhaps for several jobs.
    Traffic(Workload),
    /// What was recorded of one run.
    Run(Profile),
}

/// The formats, in the order in which they are tried.
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
    /// Reads a text that stands alone.
    ///
    /// # Errors
    /// If it is not of this format, or not the whole of a run.
    pub fn read_text(&self, text: String, file: &str) -> Result<Imported, InputError> {
        match self.read {
            Reader::Traffic(read) => read(&text, file).map(Imported::Traffic),
            Reader::Run { read, .. } => {
                let source = Source { file: file.to_owned(), text };
                read(&mut std::iter::once(Ok(source))).map(Imported::Run)
            }
            Reader::Printed { read, .. } => read(&mut text.as_bytes(), file).map(Imported::Run),
        }
    }

    /// Reads what a path names: a file, or for a format of several files any of the names that they
    /// go by. An archive that another program prints cannot be read by this, what it printed can.
    ///
    /// # Errors
    /// If a file cannot be read, is not of this format, or is missing.
    pub fn read_path(&self, path: &Path) -> Result<Imported, InputError> {
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
                    return Err(InputError::new(path.display(), "no such file", self.summary));
                }
                read(&mut files.iter().map(|path| source(path))).map(Imported::Run)
            }
        }
    }
}

/// More ranks than this are taken for a damaged file: a few bytes may claim them, and each takes
/// memory.
pub const MOST_RANKS: u32 = 1 << 24;

/// A format that holds one job was asked to hold several.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("found {found} jobs, expected 1: this format holds one job only; choose one of {names}")]
pub struct OneJobOnly {
    /// How many jobs there are.
    pub found: usize,
    /// Their names.
    pub names: String,
}

/// The only job of a workload.
fn only_job(workload: &Workload) -> Result<&crate::traffic::Job, OneJobOnly> {
    match workload.jobs.as_slice() {
        [job] => Ok(job),
        jobs => {
            let names: Vec<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
            Err(OneJobOnly { found: jobs.len(), names: names.join(", ") })
        }
    }
}

/// The format that a text looks like.
#[must_use]
pub fn sniff(text: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| (format.sniff)(text))
}

/// The format that a path names where that is no text: an archive, a folder, or the beginning of the
/// names of several files.
#[must_use]
pub fn sniff_path(path: &Path) -> Option<&'static Format> {
    let names_files = |format: &&Format| match format.read {
        // An error says that they are there and what is wrong with them.
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

/// The first line that is not empty; an empty one where there is none.
fn first_line(text: &str) -> &str {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
}

/// An amount of bytes, which tools write as a whole number or as any other; rounded.
fn amount(cell: &str) -> Option<u64> {
    let value: f64 = cell.parse().ok()?;
    let exact: Option<u64> = cell.parse().ok();
    (0.0..9.2e18).contains(&value).then(|| exact.unwrap_or(value.round() as u64))
}

/// The name of a job for a file: its name without folder and extension.
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
