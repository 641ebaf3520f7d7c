//! `SLURM_HOSTFILE` of srun: the host of every rank in order, with `--cpu-bind` by local rank; or a
//! script for sbatch, or one with components.

use std::collections::HashMap;

use super::components;
use super::cpu_bind::CpuBind;
use super::job_script::{self, sbatch};
use crate::cluster::hostlist;
use crate::files::InputError;
use crate::lint::{MOST_RANKS, Reading, Source, traps};
use crate::units::counted;

/// Whether a script gives `srun` the host of every task by a file, as `rankwright launch` does.
pub(in crate::lint) fn names_hostfile(text: &str) -> bool {
    let assigns =
        |line: &str| line.split_whitespace().any(|word| word.starts_with("SLURM_HOSTFILE="));
    text.starts_with("#!") && text.lines().any(assigns)
}

/// Reads as srun does.
pub(in crate::lint) fn read(source: &Source<'_>) -> Result<Reading, InputError> {
    if job_script::systems(source.text).contains(&"slurm") || names_hostfile(source.text) {
        return sbatch::read(source);
    }
    if sbatch::multi_prog::is_one(source.text) {
        return sbatch::read_multi_prog(source);
    }
    if source.text.starts_with("#!") {
        return components::read(source);
    }
    let mut reading = Reading::default();
    let bind = CpuBind::of_srun(source, &mut reading)?;
    let hosts = hosts(source, &mut reading)?;
    place(&hosts, &bind, &mut reading);
    Ok(reading)
}

/// The hosts of a `SLURM_HOSTFILE`, one per rank that is started, with what srun refuses in it.
pub(in crate::lint) fn hosts(
    source: &Source<'_>,
    reading: &mut Reading,
) -> Result<Vec<(String, usize)>, InputError> {
    let mut hosts = host_per_rank(source)?;
    warn_of_refused_lines(source, reading);
    check_rank_count(source, &mut hosts, reading);
    Ok(hosts)
}

/// Compares the hosts, one per rank, with the number of ranks to start.
pub(in crate::lint) fn check_rank_count(
    source: &Source<'_>,
    hosts: &mut Vec<(String, usize)>,
    reading: &mut Reading,
) {
    if let Some(ranks) = source.arguments.ranks() {
        let (started, listed) = (counted(ranks, "rank"), counted(hosts.len(), "host"));
        let are = if ranks == 1 { "is" } else { "are" };
        let text = format!("{started} {are} started, but the file has {listed}");
        if ranks > hosts.len() {
            reading.refuse(&traps::HOSTFILE_SHORT, None, text);
        } else if let Some((_, line)) = hosts.get(ranks) {
            reading.warn(&traps::LINES_BEYOND, *line, text);
            hosts.truncate(ranks);
        }
    }
}

/// srun refuses host lists and blanks, and reads the carriage return of a Windows line end as part
/// of the name.
fn warn_of_refused_lines(source: &Source<'_>, reading: &mut Reading) {
    for (number, text) in (1..).zip(source.text.split('\n')) {
        let text = text.split('#').next().unwrap_or_default();
        let names = text.trim();
        if text.ends_with('\r') {
            let text = "the line ends with a carriage return, as on Windows".to_owned();
            reading.refuse(&traps::CARRIAGE_RETURN, number, text);
            return;
        }
        if names.contains('[') {
            reading.refuse(&traps::HOST_LIST, number, format!("`{names}`; name every host"));
        } else if names.contains([' ', '\t']) || text.trim_start() != text && !names.is_empty() {
            reading.refuse(&traps::HOST_BLANK, number, format!("`{}`", text.trim_end()));
        }
    }
}

/// Adds a rank for each entry, bound by its local rank.
pub(in crate::lint) fn place(hosts: &[(String, usize)], bind: &CpuBind, reading: &mut Reading) {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for (rank, (host, line)) in hosts.iter().enumerate() {
        let count = counts.entry(host).or_default();
        reading.add(rank, host, bind.place(*count), *line);
        *count += 1;
    }
    let most = counts.into_iter().max_by_key(|(host, count)| (*count, std::cmp::Reverse(*host)));
    if let Some((host, count)) = most {
        bind.warn_if_short(host, count, reading);
    }
}

/// The hosts with their lines: names, host lists, `n0*2`, separated by commas or line ends.
pub(in crate::lint) fn host_per_rank(
    source: &Source<'_>,
) -> Result<Vec<(String, usize)>, InputError> {
    let mut hosts = Vec::new();
    for (number, text) in (1..).zip(source.text.lines()) {
        let text = text.split('#').next().unwrap_or_default();
        for entry in entries(text) {
            let wrong = |text: &str| {
                source.wrong(Some(number), text, "a host per rank: names, or `n0*2` for two ranks")
            };
            let (names, times) = entry.split_once('*').unwrap_or((entry, "1"));
            let times: usize = times.trim().parse().map_err(|_| wrong(entry))?;
            let names = hostlist::expand(names.trim()).map_err(|error| wrong(&error.found))?;
            if hosts.len() + names.len().saturating_mul(times) > MOST_RANKS {
                return Err(wrong(&format!("`{entry}`, more than {MOST_RANKS} hosts")));
            }
            for name in names {
                hosts.extend(std::iter::repeat_n((name, number), times));
            }
        }
    }
    Ok(hosts)
}

/// The words between commas and blanks outside brackets.
fn entries(text: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    let separates = move |letter: char| {
        inside = match letter {
            '[' => true,
            ']' => false,
            _ => inside,
        };
        !inside && (letter == ',' || letter.is_whitespace())
    };
    text.split(separates).filter(|entry| !entry.is_empty())
}
