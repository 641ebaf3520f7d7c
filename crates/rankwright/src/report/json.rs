//! The JSON form of results.

use serde::Serialize;

/// The version of all JSON forms; `docs/src/formats.md` describes them.
const VERSION: u32 = 1;

/// A result with keys as JSON: `version`, its keys, a line end.
///
/// # Panics
/// If it is no structure or map, or has a key that is not text.
#[must_use]
pub fn to_json(result: &impl Serialize) -> String {
    let versioned = Versioned { version: VERSION, result };
    serde_json::to_string_pretty(&versioned).expect(HAS_A_FORM) + "\n"
}

/// As [`to_json`], on one line.
#[must_use]
pub(super) fn to_compact_json(result: &impl Serialize) -> String {
    let versioned = Versioned { version: VERSION, result };
    serde_json::to_string(&versioned).expect(HAS_A_FORM)
}

const HAS_A_FORM: &str = "plain data has a JSON form";

/// A result below its version.
#[derive(Serialize)]
struct Versioned<'a, T: Serialize> {
    version: u32,
    #[serde(flatten)]
    result: &'a T,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_stands_first() {
        let json = to_json(&serde_json::json!({"a": 1.5, "z": null}));
        assert_eq!(json, "{\n  \"version\": 1,\n  \"a\": 1.5,\n  \"z\": null\n}\n");
    }
}
