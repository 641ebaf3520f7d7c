//! Text formats for traffic: one file per format, each with `sniff`, `read` and `write`; all of
//! them stand in [`FORMATS`].

pub mod csv;
pub mod matrix_market;
pub mod metis;

use super::Workload;
use crate::files::InputError;

/// A text format for traffic.
#[derive(Debug)]
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is, in a few words.
    pub summary: &'static str,
    /// Whether a text looks like it, from its first line that is not empty.
    pub sniff: fn(&str) -> bool,
    /// Reads a text; the second argument names the file in errors.
    pub read: fn(&str, &str) -> Result<Workload, InputError>,
    /// Writes traffic; jobs after the first are an error where the format holds one only.
    pub write: fn(&Workload) -> Result<String, OneJobOnly>,
}

/// The formats, in the order in which they are tried.
pub const FORMATS: [Format; 3] = [
    Format {
        name: "csv",
        summary: "edge list with the header job,source,destination,messages,bytes,largest",
        sniff: csv::sniff,
        read: csv::read,
        write: csv::write,
    },
    Format {
        name: "matrix-market",
        summary: "Matrix Market coordinate or array file: row sends to column",
        sniff: matrix_market::sniff,
        read: matrix_market::read,
        write: matrix_market::write,
    },
    Format {
        name: "metis",
        summary: "METIS graph: vertices are ranks, edge weights bytes in both directions together",
        sniff: metis::sniff,
        read: metis::read,
        write: metis::write,
    },
];

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
fn only_job(workload: &Workload) -> Result<&super::Job, OneJobOnly> {
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
    let first = text.lines().find(|line| !line.trim().is_empty())?;
    FORMATS.iter().find(|format| (format.sniff)(first.trim()))
}

/// The format with this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
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
            for format in &FORMATS {
                let _ = (format.read)(&text, "x");
            }
        }
    }
}
