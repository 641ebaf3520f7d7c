//! `rankwright profile --timeline transport`: adds what ranks handed to the network.

use std::path::{Path, PathBuf};

use anyhow::Context;
use rankwright::traffic::profile::Profile;
use rankwright::traffic::read::transport;
use rankwright::units::counted;

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
            output::warn(verbosity, "partial: what ranks sent is missing (`--timeline transport`)");
        }
        return Ok(false);
    }
    let hosts: Vec<String> = recorded.ranks.iter().map(|rank| rank.host.clone()).collect();
    let added = transport::add(profile, &files, &hosts)
        .with_context(|| format!("{} has nothing of what ranks sent", profile.display()))?;
    let messages = added.of_ucx + added.of_pml;
    let pieces = added.passages.saturating_sub(messages as u64);
    let mut parts = Vec::new();
    if pieces > 0 || messages == 0 {
        parts.push(format!("{pieces} pieces over TCP connections"));
    }
    for (messages, to) in [(added.of_ucx, "UCX"), (added.of_pml, "Open MPI's PML")] {
        if messages > 0 {
            parts.push(counted(messages, "message") + " handed to " + to);
        }
    }
    output::note(verbosity, format!("{:<16}{}", "transport", parts.join(", ")));
    if added.ranks < ranks {
        let missing = ranks - added.ranks;
        let text = format!("partial: what {missing} of {ranks} ranks sent is missing");
        output::warn(verbosity, text);
    } else if added.passages == 0 {
        let text = "no bytes between ranks went over TCP connections, through UCX or Open MPI's PML: the MPI library \
                    uses other ways, of which `--timeline device` tells when";
        output::warn(verbosity, text);
    }
    Ok(added.ranks >= ranks)
}
