//! Placements among the inputs.

use std::path::Path;

use rankwright::files::{first_bytes, read_text};

/// Whether a file is a placement, of any version: a JSON object with the digest of a workload.
pub(crate) fn is_placement(path: &Path) -> bool {
    let is_object = path.is_file() && first_bytes(path, 1).is_ok_and(|first| first == b"{");
    let text = is_object.then(|| read_text(path, "a placement").ok()).flatten();
    let value = text.and_then(|text| serde_json::from_str::<serde_json::Value>(&text).ok());
    value.is_some_and(|value| value.get("workload_digest").is_some())
}
