//! OTF2 archives, as written by Score-P, in the form printed by `otf2-print --show-all`:
//! definitions, then the events of all locations in time order. The archive is binary; the caller
//! of [`read`] runs that program.
//!
//! Memory is bounded by the number of communicating pairs and open requests, not by the number of
//! events.

mod collectives;
mod date;
mod definitions;
mod events;
mod line;
mod pairs;

use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};

use definitions::Definitions;
use events::Events;
use line::Line;

use crate::files::{InputError, describe, names_in};
use crate::traffic::profile::Profile;

/// The program that prints an archive, with its options; the archive is the last argument.
pub const PRINTER: [&str; 2] = ["otf2-print", "--show-all"];

/// First line of its output.
const TITLE: &str = "=== OTF2-PRINT ===";

/// Start of an anchor file, after one byte each for chunk and byte order.
const MAGIC: &[u8] = b"OTF2";
const BEFORE_MAGIC: usize = 2;

/// Longest line accepted, in bytes.
const LONGEST_LINE: u64 = 1 << 28;

const EXPECTED: &str = "a whole OTF2 archive of an MPI program (its anchor file, traces.otf2)";

/// Whether a text is output of the printer.
#[must_use]
pub fn sniff(text: &str) -> bool {
    super::first_line(text) == TITLE
}

/// The anchor file of an archive: `path`, or the only one in the folder `path`.
#[must_use]
pub fn anchor(path: &Path) -> Option<PathBuf> {
    if !path.is_dir() {
        let first = crate::files::first_bytes(path, BEFORE_MAGIC + MAGIC.len()).ok()?;
        return (first.get(BEFORE_MAGIC..) == Some(MAGIC)).then(|| path.to_owned());
    }
    let names = names_in(path, EXPECTED).ok()?;
    let mut anchors =
        names.iter().filter(|name| name.ends_with(".otf2")).map(|name| path.join(name));
    match (anchors.next(), anchors.next()) {
        (Some(only), None) => anchor(&only),
        _ => None,
    }
}

/// Reads the printer's output as a stream; `file` names the archive in errors.
///
/// Point-to-point and one-sided transfers become flows with times; collective operations stay calls
/// with the rank's contribution. Score-P counts what a linear algorithm would send; this is
/// converted back where possible, see `docs/src/formats.md`.
///
/// # Errors
/// If the archive is truncated or not from an MPI program, a message refers to an undefined
/// communicator, window or rank, or reading fails.
pub fn read(text: &mut dyn BufRead, file: &str) -> Result<Profile, InputError> {
    let mut lines = Lines { text, buffer: Vec::new(), file };
    let definitions = definitions(&mut lines)?;
    let mut events = Events::new(&definitions);
    while let Some(text) = lines.next()? {
        if Section::headed(&text).is_some() {
            break;
        }
        if let Some(line) = Line::of_event(&text) {
            events.add(&line).map_err(|found| lines.wrong(found))?;
        }
    }
    events.finish(&super::job_name(file)).map_err(|found| lines.wrong(found))
}

/// Reads everything before the events.
fn definitions(lines: &mut Lines<'_>) -> Result<Definitions, InputError> {
    let mut section = Section::Other;
    let mut definitions = Definitions::default();
    while let Some(text) = lines.next()? {
        match (Section::headed(&text), section) {
            (Some(Section::Events), _) => {
                definitions.finish().map_err(|found| lines.wrong(found))?;
                return Ok(definitions);
            }
            (Some(next), _) => section = next,
            (None, Section::Anchor) => definitions.anchor_line(&text),
            (None, Section::Definitions) => {
                if let Some(line) = Line::of_definition(&text) {
                    definitions.add(&line).map_err(|found| lines.wrong(found))?;
                }
            }
            (None, Section::Events | Section::Other) => {}
        }
    }
    Err(lines.wrong("no events".to_owned()))
}

/// Sections of the printer's output, in order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Anchor,
    Definitions,
    Events,
    Other,
}

impl Section {
    /// The section that starts with this line.
    fn headed(text: &str) -> Option<Self> {
        let title = text.strip_prefix("=== ")?.trim_end_matches(['=', '\n', '\r', ' ']);
        Some(match title {
            "OTF2-PRINT" => Self::Anchor,
            "Global Definitions" => Self::Definitions,
            "Events" => Self::Events,
            _ => Self::Other,
        })
    }
}

/// Lines of the printer's output.
struct Lines<'a> {
    text: &'a mut dyn BufRead,
    buffer: Vec<u8>,
    file: &'a str,
}

impl Lines<'_> {
    /// The next line; invalid UTF-8 is replaced.
    fn next(&mut self) -> Result<Option<String>, InputError> {
        self.buffer.clear();
        let read = (&mut *self.text).take(LONGEST_LINE).read_until(b'\n', &mut self.buffer);
        let length = read.map_err(|error| self.wrong(describe(&error)))?;
        if length as u64 == LONGEST_LINE {
            return Err(self.wrong(format!("a line of more than {LONGEST_LINE} bytes")));
        }
        let line = String::from_utf8_lossy(&self.buffer);
        Ok((length > 0).then(|| line.trim_end().to_owned()))
    }

    fn wrong(&self, found: String) -> InputError {
        InputError::new(self.file, found, EXPECTED)
    }
}

#[cfg(test)]
mod tests;
