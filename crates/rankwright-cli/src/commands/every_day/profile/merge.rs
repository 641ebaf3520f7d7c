//! `rankwright profile --merge`: the spool files of a run, collected from its hosts.

use std::path::PathBuf;

use rankwright::traffic::profile::Profile;
use rankwright::traffic::read::trace_file;

use super::recording::{GATHERED, spool_files};
use crate::output::exit_code::UsageError;

/// Reads the spool files in these folders, and these files, as one run.
pub(super) fn read(places: &[PathBuf], name: Option<&str>) -> anyhow::Result<Profile> {
    let mut files = Vec::new();
    for place in places {
        match place.is_dir() {
            // The file of rank 0 has all ranks.
            true if place.join(GATHERED).is_file() => files.push(place.join(GATHERED)),
            true => files.extend(spool_files(place)?),
            false => files.push(place.clone()),
        }
    }
    if files.is_empty() {
        let shown: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
        let text = format!(
            "--merge {}: no file rank-N.rwr, expected the spool files of a run",
            shown.join(" ")
        );
        return Err(UsageError(text).into());
    }
    if let [file] = files.as_slice()
        && trace_file::is_gathered(file)
    {
        return Ok(trace_file::read(file, name)?);
    }
    Ok(trace_file::read_spools(&files, name)?)
}
