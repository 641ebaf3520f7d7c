//! The names of formats and of collective algorithms on the command line.

use rankwright::traffic::expansion::{EXPANSIONS, Expansion};
use rankwright::traffic::read::import::FORMATS;

/// The expansion with this name on the command line.
pub(super) fn parse_expansion(name: &str) -> Result<Expansion, String> {
    let names = || EXPANSIONS.map(|(name, _)| name).join(", ");
    let row = EXPANSIONS.iter().find(|(row, _)| *row == name);
    row.map(|(_, expansion)| *expansion).ok_or_else(|| format!("expected one of {}", names()))
}

/// The names of the formats, for `--help` and errors.
pub(super) fn format_names() -> String {
    FORMATS.map(|format| format.name).join(", ")
}
