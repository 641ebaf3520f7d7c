//! `rankwright profile --timeline transport`: adds what went over TCP connections.

use std::path::{Path, PathBuf};

use anyhow::Context;
use rankwright::traffic::profile::Profile;
use rankwright::traffic::read::transport;

use super::events::files_with_ending;
use crate::output::{self, Verbosity};

/// Adds what is in these folders and files to the profile; `wanted`: there should be something. Returns whether
/// it has that of all ranks.
pub(super) fn add(
    profile: &Path,
    recorded: &Profile,
    places: &[PathBuf],
    wanted: bool,
    verbosity: &Verbosity,
) -> anyhow::Result<bool> {
    let files = files_with_ending(places, "transport")?;
    let ranks = recorded.ranks.len();
    if files.is_empty() {
        if wanted {
            output::warn(verbosity, "partial: the TCP connections of all ranks are missing");
        }
        return Ok(false);
    }
    let hosts: Vec<String> = recorded.ranks.iter().map(|rank| rank.host.clone()).collect();
    let added = transport::add(profile, &files, &hosts)
        .with_context(|| format!("{} has no TCP connections", profile.display()))?;
    let text = format!("{:<16}{} pieces over TCP connections", "transport", added.passages);
    output::note(verbosity, text);
    if added.ranks < ranks {
        let missing = ranks - added.ranks;
        let text =
            format!("partial: the TCP connections of {missing} of {ranks} ranks are missing");
        output::warn(verbosity, text);
    } else if added.passages == 0 {
        let text = "no bytes between ranks went over TCP connections: the MPI library uses other ways, \
                    of which `--timeline device` tells when";
        output::warn(verbosity, text);
    }
    Ok(added.ranks >= ranks)
}
