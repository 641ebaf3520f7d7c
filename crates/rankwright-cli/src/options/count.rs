//! Numbers of things.

use std::str::FromStr;

/// A number from 1.
pub(crate) fn parse_count<Number: FromStr>(text: &str) -> Result<Number, String> {
    text.parse().map_err(|_| "expected a number from 1".to_owned())
}
