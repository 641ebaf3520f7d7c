//! The allocation of an LSF job: hosts with slots, and the CPUs of its tasks if it was scheduled with
//! affinity.

use std::collections::BTreeMap;

use super::{Granted, Hosts};
use crate::cluster::hostlist;
use crate::files::InputError;
use crate::ids::PuSet;

/// The hosts of the LSF job whose environment `variable` reads.
///
/// # Errors
/// If there is no job, or its variable cannot be read.
pub fn lsf(variable: impl Fn(&str) -> Option<String>) -> Result<Vec<Granted>, InputError> {
    const NAME: &str = "LSB_MCPU_HOSTS";
    let expected = "hosts and their slots like `n0 16 n1 8`";
    let Some(text) = variable(NAME) else {
        return Err(InputError::new(NAME, "nothing in the environment", expected));
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    let pair = |pair: &[&str]| match pair {
        [host, cpus] if hostlist::is_host_name(host) => {
            let cpus = cpus.parse().ok().filter(|cpus: &u32| *cpus > 0)?;
            Some(((*host).to_owned(), cpus))
        }
        _ => None,
    };
    let all: Option<Vec<_>> = words.chunks(2).map(pair).collect();
    let all = all.filter(|all| !all.is_empty() && all.len() <= hostlist::MOST_NAMES);
    let all = all.ok_or_else(|| InputError::new(NAME, format!("`{text}`"), expected))?;
    let mut hosts = Hosts::default();
    all.into_iter().for_each(|(host, cpus)| hosts.add(host, cpus));
    Ok(hosts.granted)
}

/// The CPUs that LSF's affinity scheduling gave to the tasks of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LsfAffinity {
    /// By host: the PUs (P#) of all its tasks.
    pub pus: BTreeMap<String, PuSet>,
    /// The number of PUs of each task, if all have the same number.
    pub pus_per_task: Option<usize>,
}

/// Reads the file in `LSB_AFFINITY_HOSTFILE`: a line for each task with its host, the P# of its PUs
/// and optionally NUMA nodes and a memory policy. The file is empty if the job was not scheduled with
/// affinity. `file` names it in errors.
///
/// # Errors
/// If a line has no host or no CPUs; the error names it.
pub fn lsf_affinity(text: &str, file: &str) -> Result<LsfAffinity, InputError> {
    let mut affinity = LsfAffinity::default();
    let mut sizes: Vec<usize> = Vec::new();
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    for (number, line) in lines {
        let mut words = line.split_whitespace();
        let host = words.next().filter(|host| hostlist::is_host_name(host));
        let pus = words.next().and_then(|list| list.parse::<PuSet>().ok());
        let (Some(host), Some(pus)) = (host, pus.filter(|pus| !pus.is_empty())) else {
            let expected = "a host and the CPUs of a task like `n0 0,1,2-3`";
            let error = InputError::new(file, format!("`{}`", line.trim()), expected);
            return Err(error.at_line(number + 1));
        };
        sizes.push(pus.len());
        let host_pus = affinity.pus.entry(host.to_owned()).or_default();
        *host_pus = host_pus.as_slice().iter().chain(pus.as_slice()).copied().collect();
    }
    affinity.pus_per_task = sizes.first().copied().filter(|first| sizes.iter().all(|n| n == first));
    Ok(affinity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_affinity_of_lsf_is_read() {
        let text = "a 0,1 0 1\na 4-5 1 1\nb 2,3\n\n";
        let affinity = lsf_affinity(text, "file").unwrap();
        let pus: Vec<(&str, String)> =
            affinity.pus.iter().map(|(host, pus)| (host.as_str(), pus.to_string())).collect();
        assert_eq!(pus, [("a", "0-1,4-5".to_owned()), ("b", "2-3".to_owned())]);
        assert_eq!(affinity.pus_per_task, Some(2));
        assert_eq!(lsf_affinity("", "file").unwrap(), LsfAffinity::default());
        assert_eq!(lsf_affinity("a 0\nb 1,2", "file").unwrap().pus_per_task, None);
        for text in ["a", "a 0\nb x", "a 3-1", "-a 0"] {
            let error = lsf_affinity(text, "file").unwrap_err().to_string();
            assert!(error.starts_with("file:"), "{error}");
        }
    }
}
