//! What jobs use of memories and caches: given, or measured by other tools.

use std::path::{Path, PathBuf};

use rankwright::cluster::Cluster;
use rankwright::pairing::read::{self, Bound, CacheUse, MeasuredTraffic};
use rankwright::pairing::{MemoryUse, Prediction};
use rankwright::traffic::Job;
use rankwright::units::{Bytes, BytesPerSecond};
use serde::Serialize;

use crate::options::{inputs, parse_count};
use crate::output::exit_code::UsageError;

/// The value of `--memory-traffic`.
#[derive(Debug, Clone)]
pub(super) struct GivenTraffic {
    job: String,
    from: Source,
}

#[derive(Debug, Clone)]
enum Source {
    /// Of each rank, while it computes.
    Rate(BytesPerSecond),
    /// What a tool recorded while as many ranks ran where it counted; `None`: as many as the profile says.
    File(PathBuf, Option<u32>),
}

/// Parses `cg=2GB/s`, `cg=likwid.csv` or `cg=likwid.csv:ranks=16`.
pub(super) fn parse_traffic(text: &str) -> Result<GivenTraffic, String> {
    let expected =
        "expected a job with the rate of a rank or a file, like cg=2GB/s or cg=likwid.csv:ranks=16";
    // The name of a job may have a `=`.
    if let Some((job, rate)) = text.rsplit_once('=')
        && let Ok(rate) = rate.parse()
    {
        return Ok(GivenTraffic { job: job.to_owned(), from: Source::Rate(rate) });
    }
    let (job, from) = text.split_once('=').ok_or(expected)?;
    let job = job.to_owned();
    if job.is_empty() || from.is_empty() {
        return Err(expected.to_owned());
    }
    // A number is a rate without or with a wrong unit; the message of rates says what is expected.
    if from.starts_with(|c: char| c.is_ascii_digit() || c == '-') && !Path::new(from).exists() {
        let wrong = from.parse::<BytesPerSecond>().map(drop);
        wrong.map_err(|error| error.to_string())?;
    }
    let (file, ranks) = match from.rsplit_once(":ranks=") {
        Some((file, ranks)) => {
            let ranks = parse_count::<std::num::NonZeroU32>(ranks)?;
            (file, Some(ranks.get()))
        }
        None => (from, None),
    };
    Ok(GivenTraffic { job, from: Source::File(PathBuf::from(file), ranks) })
}

/// What is known of a job; its keys are those of the JSON form.
#[derive(Debug, Clone, Serialize)]
pub(super) struct MemoryRow {
    job: String,
    /// Of a rank while it computes.
    bytes_per_second: f64,
    source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    date: Option<String>,
    /// Whether the true traffic may be `at least` or `at most` this, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    bound: Option<String>,
    /// What a rank occupies of the last-level cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_bytes: Option<u64>,
    /// `None` if it was given.
    #[serde(skip)]
    recorded: Option<Recorded>,
    #[serde(skip)]
    note: String,
}

/// How a rate was recorded.
#[derive(Debug, Clone, Copy)]
struct Recorded {
    /// How many ranks ran there.
    ranks: f64,
    /// The share of the recorded time to which the rate belongs.
    computing: f64,
}

/// The uses of a rank of each job, and a row for each that is known.
pub(super) struct Known {
    pub(super) uses: Vec<MemoryUse>,
    pub(super) rows: Vec<MemoryRow>,
}

/// What is known of jobs with these names.
pub(super) fn known(
    given: &[GivenTraffic],
    names: &[String],
    jobs: &[Job],
) -> anyhow::Result<Known> {
    let mut known = Known { uses: vec![MemoryUse::default(); names.len()], rows: Vec::new() };
    for traffic in given {
        let name = &traffic.job;
        let Some(at) = names.iter().position(|job| job == name) else {
            let names = names.join(", ");
            let text = format!("--memory-traffic: found job `{name}`, expected one of {names}");
            return Err(UsageError(text).into());
        };
        if known.uses[at].traffic.is_some() {
            let text = format!("--memory-traffic: found job `{name}` twice, expected it once");
            return Err(UsageError(text).into());
        }
        let (uses, row) = match &traffic.from {
            Source::Rate(rate) => given_rate(name, *rate),
            Source::File(file, ranks) => {
                let text = inputs::read_text_or_stdin(file, read::EXPECTED_MEMORY_TRAFFIC);
                let text =
                    text.map_err(|error| error.with_advice("a rate is written like 2GB/s"))?;
                let found = read::memory_traffic(&text, &file.display().to_string())?;
                measured(&jobs[at], name, file, ranks_beside(&jobs[at], name, file, *ranks)?, found)
            }
        };
        known.uses[at] = uses;
        known.rows.push(row);
    }
    Ok(known)
}

fn given_rate(name: &str, rate: BytesPerSecond) -> (MemoryUse, MemoryRow) {
    let row = MemoryRow {
        job: name.to_owned(),
        bytes_per_second: rate.0,
        source: "given".to_owned(),
        date: None,
        bound: None,
        cache_bytes: None,
        recorded: None,
        note: String::new(),
    };
    (MemoryUse { traffic: Some(rate), cache: None }, row)
}

/// How many ranks ran where a file was recorded: as given, else those on each host of the profile.
fn ranks_beside(job: &Job, name: &str, file: &Path, given: Option<u32>) -> Result<f64, UsageError> {
    if let Some(ranks) = given {
        return Ok(f64::from(ranks));
    }
    let hosts = &job.seen.hosts;
    let of = |host: &String| hosts.iter().filter(|other| *other == host).count();
    let counts: Vec<usize> = hosts.iter().map(of).collect();
    match counts.first() {
        Some(first) if counts.iter().all(|count| count == first) => Ok(*first as f64),
        _ => Err(UsageError(format!(
            "--memory-traffic {name}={}: how many ranks ran where this was recorded? The profile has no \
             hosts with equally many: expected {name}={}:ranks=NUMBER",
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
        recorded: Some(Recorded { ranks, computing }),
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
pub(super) fn notes(known: &Known, names: &[String]) -> Vec<String> {
    let unknown =
        |(name, uses): (&String, &MemoryUse)| uses.traffic.is_none().then(|| name.clone());
    let missing: Vec<String> = names.iter().zip(&known.uses).filter_map(unknown).collect();
    if missing.len() == names.len() {
        let text = "memory not considered: give the bandwidth of each rank, or what a tool recorded, \
                    with --memory-traffic";
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
    known: &mut Known,
    cluster: &Cluster,
    (names, jobs): (&[String], &[Job]),
    prediction: &Prediction,
) -> Vec<String> {
    let mut notes = Vec::new();
    for (job, name) in names.iter().enumerate() {
        let row = known.rows.iter().find(|row| row.job == *name);
        let recorded = row.and_then(|row| row.recorded);
        let (Some(recorded), Some(load)) = (recorded, prediction.alone[job].memory) else {
            continue;
        };
        let Some(traffic) = &mut known.uses[job].traffic else { continue };
        // With fewer ranks than a whole node takes, less was counted.
        let on_node = cluster.machine(load.node).cores.len().min(jobs[job].ranks as usize);
        let share = recorded.computing * (recorded.ranks / on_node as f64).min(1.0);
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
