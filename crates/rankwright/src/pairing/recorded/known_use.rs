//! What jobs use of memories and caches: given, or measured by other tools.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::cluster::Cluster;
use crate::files::InputError;
use crate::pairing::read::{self, Bound, CacheUse, MeasuredTraffic};
use crate::pairing::{MemoryUse, Prediction};
use crate::traffic::Job;
use crate::units::{Bytes, BytesPerSecond};

/// The memory traffic of a job, as the user gives it.
#[derive(Debug, Clone, PartialEq)]
pub struct GivenTraffic {
    /// The name of the job.
    pub job: String,
    /// Where the traffic is from.
    pub from: TrafficSource,
}

/// Where the memory traffic of a job is from.
#[derive(Debug, Clone, PartialEq)]
pub enum TrafficSource {
    /// Of each rank, while it computes.
    Rate(BytesPerSecond),
    /// What a tool recorded while as many ranks ran where it counted; `None`: as many as the profile says.
    File(PathBuf, Option<NonZeroU32>),
}

impl TrafficSource {
    /// Reads a rate like `2GB/s`, or a file like `likwid.csv` or `likwid.csv:ranks=16`. `exists`: whether there is
    /// a file; a name of one is read as that even if it looks like a rate with a wrong unit.
    ///
    /// # Errors
    /// What is expected.
    pub fn parse(text: &str, exists: impl Fn(&Path) -> bool) -> Result<Self, String> {
        let rate = text.parse::<BytesPerSecond>();
        if let Ok(rate) = rate {
            return Ok(Self::Rate(rate));
        }
        let (file, ranks) = match text.rsplit_once(":ranks=") {
            Some((file, ranks)) => (file, Some(ranks)),
            None => (text, None),
        };
        let file = PathBuf::from(file);
        // A number is a rate without or with a wrong unit; the message of rates says what is expected.
        if text.starts_with(|c: char| c.is_ascii_digit() || c == '-') && !exists(&file) {
            rate.map_err(|error| error.to_string())?;
        }
        let ranks =
            ranks.map(|ranks| ranks.parse().map_err(|_| "expected a number from 1".to_owned()));
        Ok(Self::File(file, ranks.transpose()?))
    }
}

/// Why the use of memories by jobs is not known.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryUseError {
    /// What the user gave does not fit the jobs.
    #[error("{0}")]
    Given(String),
    /// A file is wrong.
    #[error(transparent)]
    Input(#[from] InputError),
}

/// What is known of a job; its keys are those of the JSON form.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MemoryRow {
    /// Its name.
    pub job: String,
    /// Of a rank while it computes.
    pub bytes_per_second: f64,
    /// The tool and its counters, or `given`.
    pub source: String,
    /// When it was recorded, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// Whether the true traffic may be `at least` or `at most` this, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<String>,
    /// What a rank occupies of the last-level cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_bytes: Option<u64>,
    /// `None` if it was given.
    #[serde(skip)]
    recording: Option<Recording>,
    #[serde(skip)]
    note: String,
}

/// How a rate was recorded.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Recording {
    /// How many ranks ran there.
    ranks: f64,
    /// The share of the recorded time to which the rate belongs.
    computing: f64,
}

/// What is known of the use of memories and caches by jobs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KnownUse {
    /// The use of a rank of each job.
    pub uses: Vec<MemoryUse>,
    /// A row for each job of which it is known.
    pub rows: Vec<MemoryRow>,
}

impl KnownUse {
    /// What is known of jobs with these names. `open` gives the text of a file.
    ///
    /// # Errors
    /// If a job does not exist or is given twice, if it is not known how many ranks ran where a file was recorded,
    /// or if a file cannot be read.
    pub fn new(
        given: &[GivenTraffic],
        names: &[String],
        jobs: &[Job],
        open: &mut dyn FnMut(&Path) -> Result<String, InputError>,
    ) -> Result<Self, MemoryUseError> {
        let mut known = Self { uses: vec![MemoryUse::default(); names.len()], rows: Vec::new() };
        for traffic in given {
            let name = &traffic.job;
            let Some(at) = names.iter().position(|job| job == name) else {
                let names = names.join(", ");
                let text = format!("found job `{name}`, expected one of {names}");
                return Err(MemoryUseError::Given(text));
            };
            if known.uses[at].traffic.is_some() {
                let text = format!("found job `{name}` twice, expected it once");
                return Err(MemoryUseError::Given(text));
            }
            let (uses, row) = match &traffic.from {
                TrafficSource::Rate(rate) => given_rate(name, *rate),
                TrafficSource::File(file, ranks) => {
                    let text = open(file)?;
                    let found = read::memory_traffic(&text, &file.display().to_string())?;
                    let ranks = ranks_beside(&jobs[at], name, file, *ranks)?;
                    measured(&jobs[at], name, file, ranks, found)
                }
            };
            known.uses[at] = uses;
            known.rows.push(row);
        }
        Ok(known)
    }
}

fn given_rate(name: &str, rate: BytesPerSecond) -> (MemoryUse, MemoryRow) {
    let row = MemoryRow {
        job: name.to_owned(),
        bytes_per_second: rate.0,
        source: "given".to_owned(),
        date: None,
        bound: None,
        cache_bytes: None,
        recording: None,
        note: String::new(),
    };
    (MemoryUse { traffic: Some(rate), cache: None }, row)
}

/// How many ranks ran where a file was recorded: as given, else those on each host of the profile.
fn ranks_beside(
    job: &Job,
    name: &str,
    file: &Path,
    given: Option<NonZeroU32>,
) -> Result<f64, MemoryUseError> {
    if let Some(ranks) = given {
        return Ok(f64::from(ranks.get()));
    }
    let hosts = &job.seen.hosts;
    let of = |host: &String| hosts.iter().filter(|other| *other == host).count();
    let counts: Vec<usize> = hosts.iter().map(of).collect();
    match counts.first() {
        Some(first) if counts.iter().all(|count| count == first) => Ok(*first as f64),
        _ => Err(MemoryUseError::Given(format!(
            "{name}={}: how many ranks ran where this was recorded? The profile has no hosts with equally \
             many: expected {name}={}:ranks=NUMBER",
            file.display(),
            file.display()
        ))),
    }
}

/// The use of a rank by what was recorded of `ranks` of them.
fn measured(
    job: &Job,
    name: &str,
    file: &Path,
    ranks: f64,
    found: MeasuredTraffic,
) -> (MemoryUse, MemoryRow) {
    let computing = if found.of_regions { 1.0 } else { computing_share(job) };
    let rate = BytesPerSecond(found.rate.0 / ranks / computing);
    let bound = match found.bound {
        Bound::Exact => None,
        Bound::AtLeast(why) => Some(format!("at least, because {why}")),
        Bound::AtMost(why) => Some(format!("at most, because {why}")),
    };
    let of_rank = |cache: CacheUse| CacheUse {
        occupied: Bytes((cache.occupied.0 as f64 / ranks) as u64),
        ..cache
    };
    let cache = found.cache.map(of_rank);
    let mut note = format!(
        "memory traffic of {name}: {:.1} per rank while it computes, by {} in {}",
        rate,
        found.source,
        file.display()
    );
    if let Some(date) = &found.date {
        note += &format!(" of {date}");
    }
    note += &format!(": {:.1} in all of {ranks} ranks", found.rate);
    if computing < 1.0 {
        note += &format!(", which compute {:.0} % of the time", 100.0 * computing);
    }
    if let Some(bound) = &bound {
        note += &format!("; {bound}");
    }
    if !found.left_out.is_empty() {
        note += &format!("; left out: {}", found.left_out.join(", "));
    }
    let row = MemoryRow {
        job: name.to_owned(),
        bytes_per_second: rate.0,
        source: found.source,
        date: found.date,
        bound,
        cache_bytes: cache.map(|cache| cache.occupied.0),
        recording: Some(Recording { ranks, computing }),
        note,
    };
    (MemoryUse { traffic: Some(rate), cache }, row)
}

/// The share of a recorded run in which ranks compute; 1 if unknown. All traffic is taken to be of that time,
/// except that of regions: what a program marks is its computing.
fn computing_share(job: &Job) -> f64 {
    let Some(wall) = job.seen.wall.filter(|wall| wall.0 > 0.0) else { return 1.0 };
    if job.compute.is_empty() || job.seen.shared_pus {
        return 1.0;
    }
    let mean = job.compute.iter().map(|time| time.0).sum::<f64>() / job.compute.len() as f64;
    if mean > 0.0 { (mean / wall.0).min(1.0) } else { 1.0 }
}

/// What to note of jobs with these names.
pub(super) fn notes(known: &KnownUse, names: &[String]) -> Vec<String> {
    let unknown =
        |(name, uses): (&String, &MemoryUse)| uses.traffic.is_none().then(|| name.clone());
    let missing: Vec<String> = names.iter().zip(&known.uses).filter_map(unknown).collect();
    if missing.len() == names.len() {
        let text = "memory not considered: give the bandwidth of each rank, or what a tool recorded, as \
                    memory traffic (--memory-traffic)";
        return vec![text.to_owned()];
    }
    let mut notes: Vec<String> = Vec::new();
    if !missing.is_empty() {
        notes.push(format!("memory not considered for {}", missing.join(", ")));
    }
    notes.extend(known.rows.iter().map(|row| row.note.clone()).filter(|note| !note.is_empty()));
    let no_cache = |uses: &MemoryUse| uses.cache.is_none_or(|cache| cache.size.is_none());
    if known.uses.iter().any(no_cache) {
        let text =
            "caches not considered where what a job occupies of them is unknown (resctrl says it)";
        notes.push(text.to_owned());
    }
    notes
}

/// Limits what jobs use that were recorded with more traffic than the memories of the cluster have: these have
/// at least that, so the description is wrong. A note for each of them. `prediction` is by the uses before.
pub(super) fn limited(
    known: &mut KnownUse,
    cluster: &Cluster,
    (names, jobs): (&[String], &[Job]),
    prediction: &Prediction,
) -> Vec<String> {
    let mut notes = Vec::new();
    for (job, name) in names.iter().enumerate() {
        let row = known.rows.iter().find(|row| row.job == *name);
        let recording = row.and_then(|row| row.recording);
        let (Some(recording), Some(load)) = (recording, prediction.alone[job].memory) else {
            continue;
        };
        let Some(traffic) = &mut known.uses[job].traffic else { continue };
        // With fewer ranks than a whole node takes, less was counted.
        let on_node = cluster.machine(load.node).cores.len().min(jobs[job].ranks as usize);
        let share = recording.computing * (recording.ranks / on_node as f64).min(1.0);
        let counted = BytesPerSecond(load.wanted.0 / load.cache_growth * share);
        if counted.0 <= load.has.0 {
            continue;
        }
        traffic.0 *= load.has.0 / load.wanted.0;
        let node = &cluster.node(load.node).name;
        let there = cluster.memory_bandwidth(load.node, load.numa);
        notes.push(format!(
            "the bandwidth of {node}'s NUMA node L#{} is too low in the description of {}: {name} alone was \
             recorded with {counted:.1}, {there} there, and counts as all of that; measure it (calibrate)",
            load.numa, cluster.name
        ));
    }
    notes
}

/// A note on each job that alone wants more than a memory has, by the rate that was given: that can be, but
/// the rate or the description may also be wrong. `prediction` is by these uses.
pub(super) fn above_bandwidth(
    known: &KnownUse,
    cluster: &Cluster,
    names: &[String],
    prediction: &Prediction,
) -> Vec<String> {
    let note = |row: &MemoryRow| {
        let job = names.iter().position(|name| *name == row.job)?;
        let load = prediction.alone[job].memory.filter(|load| load.wanted.0 > load.has.0)?;
        let node = &cluster.node(load.node).name;
        let there = cluster.memory_bandwidth(load.node, load.numa);
        Some(format!(
            "{} alone wants {:.1} of {node}'s NUMA node L#{} by the rate given, {there} there: its ranks wait \
             for it alone too; if they do not, the rate is too high, or the bandwidth too low in the \
             description of {}: measure it (calibrate)",
            row.job, load.wanted, load.numa, cluster.name
        ))
    };
    known.rows.iter().filter(|row| row.recording.is_none()).filter_map(note).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traffic_is_a_rate_or_a_file() {
        let none = |_: &Path| false;
        let rate = TrafficSource::parse("2GB/s", none);
        assert_eq!(rate, Ok(TrafficSource::Rate(BytesPerSecond(2e9))));
        let file = |name: &str, ranks| Ok(TrafficSource::File(name.into(), NonZeroU32::new(ranks)));
        assert_eq!(TrafficSource::parse("likwid.csv", none), file("likwid.csv", 0));
        assert_eq!(TrafficSource::parse("a:ranks=16", none), file("a", 16));
        let exists = |file: &Path| file == Path::new("2.csv");
        assert_eq!(TrafficSource::parse("2.csv", exists), file("2.csv", 0));
        assert_eq!(TrafficSource::parse("2.csv:ranks=16", exists), file("2.csv", 16));
        for (wrong, expected) in [
            ("2GB", "expected a rate"),
            ("3.csv:ranks=16", "expected a rate"),
            ("a:ranks=0", "a number from 1"),
        ] {
            let said = TrafficSource::parse(wrong, exists).unwrap_err();
            assert!(said.contains(expected), "{wrong}: {said}");
        }
    }

    #[test]
    fn traffic_is_of_jobs_that_exist_once() {
        let names = ["cg".to_owned(), "ep".to_owned()];
        let jobs = ["nas:cg.A.4", "nas:ep.A.4"]
            .map(|name| crate::traffic::open(name).unwrap().jobs.remove(0));
        let mut open = |_: &Path| Ok(String::new());
        let mut known = |given: &[(&str, &str)]| {
            let given: Vec<GivenTraffic> = (given.iter())
                .map(|(job, text)| GivenTraffic {
                    job: (*job).to_owned(),
                    from: TrafficSource::parse(text, |_| false).unwrap(),
                })
                .collect();
            KnownUse::new(&given, &names, &jobs, &mut open).map_err(|error| error.to_string())
        };
        let found = known(&[("ep", "1GB/s")]).unwrap();
        assert_eq!(found.uses[1].traffic, Some(BytesPerSecond(1e9)));
        assert_eq!((found.uses[0].traffic, found.rows.len()), (None, 1));
        for (given, expected) in [
            (&[("lu", "1GB/s")][..], "found job `lu`, expected one of cg, ep"),
            (&[("cg", "1GB/s"), ("cg", "2GB/s")], "found job `cg` twice"),
            (&[("cg", "empty.csv")], "empty.csv"),
        ] {
            let said = known(given).unwrap_err();
            assert!(said.contains(expected), "{said}");
        }
    }
}
