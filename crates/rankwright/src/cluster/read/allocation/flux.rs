//! The allocation of a Flux job: its resource set R, which `flux job info ID R` prints (RFC 20 of Flux).

use std::collections::BTreeSet;

use serde::Deserialize;

use super::{Granted, Which};
use crate::cluster::hostlist;
use crate::files::InputError;
use crate::ids::parse_index_list;

/// The most cores that are read.
const MOST_CORES: usize = 1 << 26;

#[derive(Deserialize)]
struct ResourceSet {
    version: u32,
    execution: Execution,
}

#[derive(Deserialize)]
struct Execution {
    #[serde(rename = "R_lite")]
    parts: Vec<Part>,
    #[serde(default)]
    nodelist: Vec<String>,
}

/// Nodes of which the same is granted.
#[derive(Deserialize)]
struct Part {
    /// The ranks of their brokers.
    rank: String,
    children: Children,
}

#[derive(Deserialize)]
struct Children {
    core: String,
    gpu: Option<String>,
}

/// The hosts of a Flux job, from its resource set. Flux numbers cores in hwloc's order (L#) and GPUs in
/// the order of the bus. A set without any GPU says nothing about GPUs: the site may not have told Flux
/// of them.
///
/// # Errors
/// If the text is not an R of version 1, or its rank and host lists differ in length; `source` names it in errors.
pub fn flux(text: &str, source: &str) -> Result<Vec<Granted>, InputError> {
    const EXPECTED: &str = "a resource set of Flux (version 1), with R_lite and nodelist";
    let wrong = |found: String| InputError::new(source, found, EXPECTED);
    let set: ResourceSet =
        serde_json::from_str(text).map_err(|error| wrong(format!("no resource set ({error})")))?;
    if set.version != 1 {
        return Err(wrong(format!("version {}", set.version)));
    }
    let list = |text: &str| {
        parse_index_list(text.trim_matches(['[', ']'])).map_err(|error| wrong(error.to_string()))
    };
    let mut ranks: Vec<(u32, Vec<u32>, Option<Vec<u32>>)> = Vec::new();
    let mut all_cores = 0_usize;
    for part in &set.execution.parts {
        let cores = list(&part.children.core)?;
        let gpus = part.children.gpu.as_deref().map(list).transpose()?;
        let nodes = list(&part.rank)?;
        all_cores = all_cores.saturating_add(nodes.len().saturating_mul(cores.len()));
        if ranks.len() + nodes.len() > hostlist::MOST_NAMES || all_cores > MOST_CORES {
            return Err(wrong(format!(
                "more than {} nodes or {MOST_CORES} cores",
                hostlist::MOST_NAMES
            )));
        }
        ranks.extend(nodes.into_iter().map(|rank| (rank, cores.clone(), gpus.clone())));
    }
    ranks.sort_unstable();
    let names =
        hostlist::expand(&set.execution.nodelist.join(",")).map_err(|error| wrong(error.found))?;
    if names.len() != ranks.len() || names.is_empty() {
        return Err(wrong(format!("{} host names for {} ranks", names.len(), ranks.len())));
    }
    let any_gpu = ranks.iter().any(|(_, _, gpus)| gpus.is_some());
    let mut hosts: Vec<Granted> = Vec::new();
    for (host, (_, cores, gpus)) in names.into_iter().zip(ranks) {
        let cpus = u32::try_from(cores.len()).ok().filter(|count| *count > 0);
        let cpus = cpus.ok_or_else(|| wrong(format!("no core of {host}")))?;
        let gpus = any_gpu.then(|| gpus.unwrap_or_default());
        hosts.push(Granted { host, cpus, which: Which::Cores(cores), gpus });
    }
    // Several brokers on a host (instances for tests) repeat its name.
    let mut seen = BTreeSet::new();
    hosts.retain(|granted| seen.insert(granted.host.clone()));
    Ok(hosts)
}
