//! `rankwright profile --events`: adds the calls of every rank, in order, to the profile.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use rankwright::ids::format_index_list;
use rankwright::traffic::read::events::store;

use crate::output::{self, Verbosity};

/// Adds the events that the ranks left in these folders and files to the profile. Returns whether
/// the profile has the events of every rank.
pub(super) fn add(
    profile: &Path,
    ranks: usize,
    places: &[PathBuf],
    verbosity: &Verbosity,
) -> anyhow::Result<bool> {
    let files = files_with_ending(places, "events")?;
    if files.is_empty() {
        return Ok(false);
    }
    let added = store::add(profile, &files)
        .with_context(|| format!("{} has no events", profile.display()))?;
    output::note(verbosity, format!("{:<16}{} calls in order", "events", added.events));
    if !added.partial.is_empty() {
        let partial: Vec<u32> = added.partial.iter().map(|rank| rank.0).collect();
        let noun = if partial.len() == 1 { "rank" } else { "ranks" };
        let partial = format_index_list(&partial);
        output::warn(verbosity, format!("partial: the events of {noun} {partial} end early"));
    }
    if files.len() < ranks {
        let count = files.len();
        output::warn(verbosity, format!("partial: only {count} of {ranks} ranks have events"));
    }
    Ok(files.len() >= ranks)
}

/// The files of the tracer with this ending in these folders and among these paths.
pub(super) fn files_with_ending(places: &[PathBuf], ending: &str) -> anyhow::Result<Vec<PathBuf>> {
    let is_meant = |path: &Path| path.extension().is_some_and(|extension| extension == ending);
    let mut files = Vec::new();
    for place in places {
        let shown = || place.display().to_string();
        if place.is_dir() {
            for entry in fs::read_dir(place).with_context(shown)? {
                files.push(entry.with_context(shown)?.path());
            }
        } else {
            files.push(place.clone());
        }
    }
    files.retain(|path| is_meant(path));
    files.sort();
    Ok(files)
}
