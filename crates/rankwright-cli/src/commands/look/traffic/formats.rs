//! The names of formats and of collective algorithms on the command line.

use rankwright::traffic::expansion::{EXPANSIONS, Expansion};
use rankwright::traffic::profile::Profile;
use rankwright::traffic::read::import::FORMATS;

use crate::output::{self, Verbosity};

/// The expansion with this name on the command line.
pub(super) fn parse_expansion(name: &str) -> Result<Expansion, String> {
    let names = || EXPANSIONS.map(|(name, _)| name).join(", ");
    let row = EXPANSIONS.iter().find(|(row, _)| *row == name);
    row.map(|(_, expansion)| *expansion).ok_or_else(|| format!("expected one of {}", names()))
}

/// Warns if the algorithms of the profile's MPI library are an estimate.
pub(super) fn warn_if_estimated(profile: &Profile, expansion: Expansion, verbosity: &Verbosity) {
    let library = profile.library();
    let why = library.estimated().filter(|_| expansion == Expansion::Library);
    if let (Some(why), false) = (why, profile.collectives.is_empty()) {
        output::warn(verbosity, format!("collectives are estimated: {why}"));
    }
}

/// The names of the formats, for `--help` and errors.
pub(super) fn format_names() -> String {
    FORMATS.map(|format| format.name).join(", ")
}
