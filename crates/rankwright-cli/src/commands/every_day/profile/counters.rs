//! `rankwright profile --timeline device`: adds what the network devices of each node counted.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context;
use rankwright::traffic::profile::Profile;
use rankwright::traffic::read::counter_series::{self, CounterFile};

use super::events::files_with_ending;
use crate::host::counters::series;
use crate::output::{self, Verbosity};

/// Adds the counters that are in these folders and files to the profile; `wanted`: there should be some. Returns
/// whether it has those of all hosts.
pub(super) fn add(
    profile: &Path,
    recorded: &Profile,
    places: &[PathBuf],
    wanted: bool,
    verbosity: &Verbosity,
) -> anyhow::Result<bool> {
    let mut nodes = Vec::new();
    for path in files_with_ending(places, "counters")? {
        let file = CounterFile::read(&path)?;
        let rank = recorded.ranks.get(file.sampling.rank.index());
        let host = rank.map_or(String::new(), |rank| rank.host.clone());
        nodes.push(series::of_node(&file, &host));
    }
    let hosts: BTreeSet<&str> = recorded.ranks.iter().map(|rank| rank.host.as_str()).collect();
    if !nodes.is_empty() {
        counter_series::add(profile, &nodes)
            .with_context(|| format!("{} has no counters", profile.display()))?;
        let samples: usize = nodes.iter().map(|node| node.samples.len()).sum();
        let text = format!("{:<16}{samples} readings of {} hosts", "counters", nodes.len());
        output::note(verbosity, text);
    }
    let found: BTreeSet<&str> = nodes.iter().map(|node| node.host.as_str()).collect();
    let missing = hosts.difference(&found).count();
    if missing > 0 && (wanted || !nodes.is_empty()) {
        let all = hosts.len();
        let text = format!("partial: the counters of {missing} of {all} hosts are missing");
        output::warn(verbosity, text);
    }
    Ok(missing == 0)
}
