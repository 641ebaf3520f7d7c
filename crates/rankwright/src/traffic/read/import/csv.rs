//! Edge lists: `job,source,destination,messages,bytes,largest`, one line per pair.
//!
//! Columns are found by name, in any order; `source`, `destination` and `bytes` are required. Lines
//! starting with `#` are comments; `# ranks NAME 64` gives the number of ranks of a job whose
//! highest ranks neither send nor receive.

use std::collections::HashMap;
use std::fmt::Write;

use super::{MOST_RANKS, OneJobOnly};
use crate::files::InputError;
use crate::ids::Rank;
use crate::traffic::{Flow, Job, Workload};

/// The header written on export.
pub const HEADER: &str = "job,source,destination,messages,bytes,largest";
const EXPECTED: &str =
    "an edge list with the columns job,source,destination,messages,bytes,largest";

/// Whether the first line is a header with the required columns, or a `# ranks` comment.
#[must_use]
pub fn sniff(text: &str) -> bool {
    let first_line = super::first_line(text);
    let names: Vec<&str> = first_line.split(',').map(str::trim).collect();
    first_line.starts_with("# ranks ")
        || ["source", "destination", "bytes"].iter().all(|name| names.contains(name))
}

/// Reads an edge list.
///
/// # Errors
/// If a column is missing, a line has a different number of cells, a cell is not a number, or a
/// rank is outside its job.
pub fn read(text: &str, file: &str) -> Result<Workload, InputError> {
    let mut columns = None;
    let mut jobs = Jobs::default();
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let at = |error: InputError| error.at_line(number);
        if let Some(comment) = line.strip_prefix('#') {
            if let Some((name, ranks)) = ranks_comment(comment) {
                if ranks > MOST_RANKS {
                    let expected = format!("at most {MOST_RANKS}");
                    return Err(at(InputError::new(file, format!("{ranks} ranks"), expected)));
                }
                let job = jobs.named(name);
                job.ranks = job.ranks.max(ranks);
            }
            continue;
        }
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let Some(columns) = &columns else {
            columns = Some(Columns::new(&cells, file).map_err(at)?);
            continue;
        };
        let (job, flow) = columns.flow(&cells, file).map_err(at)?;
        let job = jobs.named(job);
        job.ranks = job.ranks.max(flow.source.0.max(flow.destination.0) + 1);
        job.flows.push(flow);
    }
    if jobs.list.is_empty() {
        return Err(InputError::new(file, "no line of traffic", EXPECTED));
    }
    let jobs = jobs.list.into_iter().map(|job| {
        Job::new(job.name, job.ranks, job.flows)
            .map_err(|error| InputError::new(file, error, EXPECTED))
    });
    Ok(Workload { name: super::job_name(file), jobs: jobs.collect::<Result<_, _>>()? })
}

/// Parses `# ranks NAME 64`, given without the `#`.
fn ranks_comment(comment: &str) -> Option<(&str, u32)> {
    let (name, ranks) = comment.trim().strip_prefix("ranks ")?.rsplit_once(' ')?;
    Some((name, ranks.parse().ok()?))
}

/// Jobs in order of appearance.
#[derive(Default)]
struct Jobs {
    list: Vec<UnfinishedJob>,
    positions: HashMap<String, usize>,
}

#[derive(Default)]
struct UnfinishedJob {
    name: String,
    ranks: u32,
    flows: Vec<Flow>,
}

impl Jobs {
    /// The job of this name; added if new.
    fn named(&mut self, name: &str) -> &mut UnfinishedJob {
        let position = self.positions.get(name).copied().unwrap_or_else(|| {
            self.positions.insert(name.to_owned(), self.list.len());
            self.list.push(UnfinishedJob { name: name.to_owned(), ..UnfinishedJob::default() });
            self.list.len() - 1
        });
        &mut self.list[position]
    }
}

/// Index of each column in a line.
struct Columns {
    count: usize,
    job: Option<usize>,
    source: usize,
    destination: usize,
    messages: Option<usize>,
    bytes: usize,
    largest: Option<usize>,
}

impl Columns {
    fn new(header: &[&str], file: &str) -> Result<Self, InputError> {
        let find = |name: &str| header.iter().position(|cell| cell.eq_ignore_ascii_case(name));
        let need = |name: &str| {
            find(name).ok_or_else(|| {
                let found = format!("the header `{}` without `{name}`", header.join(","));
                InputError::new(file, found, EXPECTED)
            })
        };
        Ok(Self {
            count: header.len(),
            job: find("job"),
            source: need("source")?,
            destination: need("destination")?,
            messages: find("messages"),
            bytes: need("bytes")?,
            largest: find("largest"),
        })
    }

    fn flow<'a>(&self, cells: &[&'a str], file: &str) -> Result<(&'a str, Flow), InputError> {
        if cells.len() != self.count {
            let expected = format!("{}, as in the header", self.count);
            return Err(InputError::new(file, format!("{} cells", cells.len()), expected));
        }
        let number = |column: usize, field: &str, largest: u64| {
            let value = cells[column].parse().ok().filter(|value| *value <= largest);
            value.ok_or_else(|| {
                let found = format!("`{}`", cells[column]);
                InputError::new(file, found, format!("a number from 0 to {largest}"))
                    .in_field(field)
            })
        };
        let rank = |column, field| {
            let rank = number(column, field, u64::from(MOST_RANKS - 1))?;
            Ok(Rank(u32::try_from(rank).expect("bounded above")))
        };
        let most = i64::MAX as u64;
        let bytes = number(self.bytes, "bytes", most)?;
        let messages = self.messages.map_or(Ok(1), |c| number(c, "messages", most))?;
        let mean = bytes.div_ceil(messages.max(1));
        let flow = Flow {
            source: rank(self.source, "source")?,
            destination: rank(self.destination, "destination")?,
            messages,
            bytes,
            largest: self.largest.map_or(Ok(mean), |c| number(c, "largest", most))?,
        };
        Ok((self.job.map_or("job", |column| cells[column]), flow))
    }
}

/// Writes an edge list.
///
/// # Errors
/// Never: the format holds several jobs.
pub fn write(workload: &Workload) -> Result<String, OneJobOnly> {
    let mut text = String::new();
    for job in &workload.jobs {
        let seen = job.flows.iter().map(|flow| flow.source.0.max(flow.destination.0) + 1).max();
        if seen.unwrap_or_default() < job.ranks {
            let _ = writeln!(text, "# ranks {} {}", job.name, job.ranks);
        }
    }
    text.push_str(HEADER);
    text.push('\n');
    for job in &workload.jobs {
        for Flow { source, destination, messages, bytes, largest } in &job.flows {
            let name = job.name.replace([',', '\n'], "_");
            let _ = writeln!(text, "{name},{source},{destination},{messages},{bytes},{largest}");
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_list_of_another_tool_is_enough() {
        let text = "source,destination,bytes\n0,1,100\n1,0,200\n";
        let workload = read(text, "runs/app.v2.csv").unwrap();
        assert_eq!(workload.name, "app");
        assert_eq!(workload.jobs[0].ranks, 2);
        assert_eq!(workload.jobs[0].flows[1].largest, 200);
    }

    #[test]
    fn ranks_that_say_nothing_are_not_lost() {
        let job = Job::new("quiet", 8, []).unwrap();
        let workload = Workload { name: "w".into(), jobs: vec![job] };
        assert_eq!(read(&write(&workload).unwrap(), "w.csv").unwrap(), workload);
    }

    #[test]
    fn errors_name_line_and_field() {
        let cases = [
            ("source,bytes\n", "x.csv:1: found the header"),
            ("source,destination,bytes\n0,1\n", "x.csv:2: found 2 cells"),
            ("source,destination,bytes\n0,1,-5\n", "x.csv:2: bytes: found `-5`"),
            ("source,destination,bytes\n0,4000000000,5\n", "x.csv:2: destination: found"),
            ("source,destination,bytes\n", "x.csv: found no line of traffic"),
        ];
        for (text, message) in cases {
            let error = read(text, "x.csv").unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
