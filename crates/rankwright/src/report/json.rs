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
    #[derive(Serialize)]
    struct Versioned<'a, T: Serialize> {
        version: u32,
        #[serde(flatten)]
        result: &'a T,
    }
    let versioned = Versioned { version: VERSION, result };
    serde_json::to_string_pretty(&versioned).expect("plain data has a JSON form") + "\n"
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
