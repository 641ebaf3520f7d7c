//! `rankwright profile --merge`: the spool files of a run, collected from its hosts.

use std::path::{Path, PathBuf};

use anyhow::Context;
use rankwright::traffic::profile::Profile;
use rankwright::traffic::trace_file;

use super::recording::{GATHERED, spool_files};
use crate::exit_code::UsageError;

/// Reads the spool files in these folders and among these paths as one run.
pub(super) fn read(places: &[PathBuf], name: Option<&str>) -> anyhow::Result<Profile> {
    let mut files = Vec::new();
    for place in places {
        match place.is_dir() {
            // What rank 0 wrote holds all ranks.
            true if place.join(GATHERED).is_file() => files.push(place.join(GATHERED)),
            true => files.extend(spool_files(place)?),
            false => files.push(place.clone()),
        }
    }
    if files.is_empty() {
        let shown: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
        let text = format!(
            "--merge {}: found no file rank-N.rwr, expected the spool files of a run",
            shown.join(" ")
        );
        return Err(UsageError(text).into());
    }
    let name = |file: &Path| match name {
        Some(name) => Ok(name.to_owned()),
        None => program_of_folder(file).context("--name says what the program is called"),
    };
    if let [file] = files.as_slice()
        && trace_file::is_gathered(file)
    {
        return Ok(trace_file::read(file, &name(file)?)?);
    }
    Ok(trace_file::read_spools(&files, &name(&files[0])?)?)
}

/// `app` of `app.rwp.trace-4711/rank-0.rwr`, as `profile` names its folders; else the folder's name.
fn program_of_folder(file: &Path) -> Option<String> {
    let absolute = std::path::absolute(file).ok()?;
    let folder = absolute.parent()?.file_name()?.to_string_lossy().into_owned();
    let profile = folder.split(".trace-").next()?;
    Some(profile.strip_suffix(".rwp").unwrap_or(profile).to_owned())
}
