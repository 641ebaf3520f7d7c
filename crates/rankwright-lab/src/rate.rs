//! The rates of a lab's network devices.

use rankwright::units::BytesPerSecond;

/// The rates that shaping can follow: above a few packets per second, below the resolution of its
/// clock.
const SLOWEST: f64 = 1e6 / 8.0;
const FASTEST: f64 = 100e9 / 8.0;

/// Reads a rate that shaping can follow.
///
/// # Errors
/// The text found and the expected range.
pub fn parse_rate(text: &str) -> Result<BytesPerSecond, String> {
    let rate: BytesPerSecond = text.parse().map_err(|error| format!("{error}"))?;
    if (SLOWEST..=FASTEST).contains(&rate.0) {
        Ok(rate)
    } else {
        Err(format!("found {rate}, expected a rate from 1 Mbit/s to 100 Gbit/s"))
    }
}

/// A rate in the usual units of network devices: `100 Mbit/s`.
#[must_use]
pub fn rate_text(rate: BytesPerSecond) -> String {
    let bits = (rate.0 * 8.0).round();
    let (factor, prefix) = if bits >= 1e9 { (1e9, "G") } else { (1e6, "M") };
    format!("{} {prefix}bit/s", bits / factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_that_shaping_cannot_follow_are_refused() {
        assert_eq!(parse_rate("100Mbit/s").unwrap(), BytesPerSecond(12.5e6));
        for text in ["0", "0 Mbit/s", "-1 Mbit/s", "999 kbit/s", "101 Gbit/s", "100", "fast"] {
            assert!(parse_rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rates_are_written_in_bits_as_they_were_given() {
        for text in ["100 Mbit/s", "1 Gbit/s", "2.5 Gbit/s", "1.5 Mbit/s"] {
            assert_eq!(rate_text(parse_rate(text).unwrap()), text);
        }
    }
}
