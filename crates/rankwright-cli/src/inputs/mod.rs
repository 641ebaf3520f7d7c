//! What users name on the command line: clusters and workloads, each as a file or by a built-in
//! name.

mod cluster;
mod workload;

use std::io::Read;
use std::path::Path;

use rankwright::files::{InputError, LARGEST_TEXT, read_text};

pub(crate) use cluster::cluster;
pub(crate) use workload::{imported, is_profile, parse_pattern, profile, workload};

/// Reads a text input: a file, or standard input for `-`.
pub(crate) fn read_text_or_stdin(path: &Path, expected: &str) -> Result<String, InputError> {
    if path.as_os_str() != "-" {
        return read_text(path, expected);
    }
    let mut text = String::new();
    let read = std::io::stdin().lock().take(LARGEST_TEXT).read_to_string(&mut text);
    read.map_err(|error| InputError::new("-", error, expected))?;
    Ok(text)
}
