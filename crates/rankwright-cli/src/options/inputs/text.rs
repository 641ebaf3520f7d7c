//! Text inputs.

use std::path::Path;

use rankwright::files::{InputError, describe, read_text, read_to_end, text_of};

/// Reads a text input: a file, or standard input for `-`.
pub(crate) fn read_text_or_stdin(path: &Path, expected: &str) -> Result<String, InputError> {
    if path.as_os_str() != "-" {
        return read_text(path, expected);
    }
    let bytes = read_to_end(std::io::stdin().lock())
        .map_err(|error| InputError::new("-", describe(&error), expected))?;
    text_of(bytes, path, expected)
}
