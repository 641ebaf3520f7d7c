//! The page: the built HTML file with the data in it.

use super::super::Report;
use crate::report::json::to_compact_json;

/// The page, built from `page/`.
const PAGE: &str = include_str!("../page.html");

/// What the data replaces.
const TOKEN: &str = "__REPORT_DATA__";

/// The page with a report in it.
pub(super) fn page(report: &Report) -> String {
    let (before, after) = PAGE.split_once(TOKEN).expect("the page has a place for the data");
    [before, &for_script(&to_compact_json(report)), after].concat()
}

/// JSON that can end no script element and begins no markup. The characters occur in strings only.
fn for_script(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                text.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            other => text.push(other),
        }
    }
    text
}
