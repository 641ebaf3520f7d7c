//! Quantities with their units, and the texts people write for them: `64 KiB`, `1 GB/s`,
//! `100 ns`, `100 /s`. Prefixes k, M, G, T are powers of 1000; Ki, Mi, Gi, Ti of 1024.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Why a text is not a quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("found `{found}`, expected {expected}")]
pub struct UnitError {
    /// The text.
    pub found: String,
    /// What could stand there.
    pub expected: &'static str,
}

/// An amount of data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A length of time in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd)]
pub struct Seconds(pub f64);

/// A transfer rate in bytes per second; positive and finite where it was parsed.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd)]
pub struct BytesPerSecond(pub f64);

/// How often something happens, per second; positive and finite where it was parsed.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd)]
pub struct PerSecond(pub f64);

const DECIMAL: [(&str, f64); 5] = [("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)];
const BINARY: [(&str, f64); 5] = [
    ("", 1.0),
    ("Ki", 1024.0),
    ("Mi", 1_048_576.0),
    ("Gi", 1_073_741_824.0),
    ("Ti", 1_099_511_627_776.0),
];

/// Splits `1.5 GB/s` into 1.5 and `GB/s`.
fn split_number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let is_number_part = |(index, c): (usize, char)| {
        c.is_ascii_digit()
            || c == '.'
            || (matches!(c, '+' | '-') && (index == 0 || text[..index].ends_with(['e', 'E'])))
            || (matches!(c, 'e' | 'E')
                && text[index + 1..]
                    .starts_with(|next: char| next.is_ascii_digit() || matches!(next, '+' | '-')))
    };
    let end =
        text.char_indices().find(|part| !is_number_part(*part)).map_or(text.len(), |(i, _)| i);
    let number: f64 = text[..end].parse().ok()?;
    Some((number, text[end..].trim_start()))
}

/// The factor of a prefix before `unit`: 1e9 for `GB/s` with the unit `B/s`.
fn factor(text: &str, unit: &str) -> Option<f64> {
    let prefix = text.strip_suffix(unit)?;
    let prefix = if prefix == "K" { "k" } else { prefix };
    DECIMAL.iter().chain(&BINARY).find(|(name, _)| *name == prefix).map(|(_, factor)| *factor)
}

/// The shortest of the texts for `value` with a decimal prefix: `1.5 GB/s`.
fn with_prefix(f: &mut fmt::Formatter<'_>, value: f64, unit: &str) -> fmt::Result {
    let (prefix, factor) =
        DECIMAL.iter().rev().find(|(_, factor)| value.abs() >= *factor).unwrap_or(&DECIMAL[0]);
    let text = without_sign_of_zero(value / factor, f.precision());
    write!(f, "{text} {prefix}{unit}")
}

/// A count with its noun: `1 node`, `2 nodes`.
#[must_use]
pub fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// The smallest magnitude that does not round to 0 with six decimals.
const NOTHING: f64 = 5e-7;

/// A number without a unit: four significant digits, at most six decimals, no decimals from 1000 on.
#[must_use]
pub fn four_digits(value: f64) -> String {
    let size = value.abs();
    let digits = match (NOTHING..1000.0).contains(&size) {
        true => (3 - size.log10().floor() as i32).clamp(0, 6) as usize,
        false => 0,
    };
    without_sign_of_zero(value, Some(digits))
}

/// A share from 0 to 1 in percent: `12.3 %`.
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{} %", without_sign_of_zero(100.0 * share, Some(1)))
}

/// A number with `digits` decimals, or with as many as it has. Zero gets no sign: the sum of no numbers
/// is -0.0 in Rust.
fn without_sign_of_zero(value: f64, digits: Option<usize>) -> String {
    let text = digits.map_or_else(|| value.to_string(), |digits| format!("{value:.digits$}"));
    match text.strip_prefix('-') {
        Some(rest) if rest.bytes().all(|byte| b"0.".contains(&byte)) => rest.to_owned(),
        _ => text,
    }
}

const BYTES: &str = "an amount of data from 0 B up, like 64 KiB or 1.5 MB";

impl FromStr for Bytes {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let wrong = || UnitError { found: text.to_owned(), expected: BYTES };
        let (number, unit) = split_number(text).ok_or_else(wrong)?;
        let bytes = number * factor(unit, "B").ok_or_else(wrong)?;
        let representable = (0.0..9.2e18).contains(&bytes) && bytes.fract() == 0.0;
        if representable { Ok(Self(bytes as u64)) } else { Err(wrong()) }
    }
}

impl fmt::Display for Bytes {
    /// With a binary prefix where that is exact (`64 KiB`), else decimal; `{:.1}` rounds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.precision().is_some() && self.0 >= 1000 {
            return with_prefix(f, self.0 as f64, "B");
        }
        for (prefix, factor) in BINARY.iter().rev() {
            let factor = *factor as u64;
            if self.0 >= factor && self.0.is_multiple_of(factor) && factor > 1 {
                return write!(f, "{} {prefix}B", self.0 / factor);
            }
        }
        write!(f, "{} B", self.0)
    }
}

const SECONDS: &str = "a time from 0 s to 10^12 s, like 100 ns, 1.5 ms or 2 min";
/// Seconds. Nothing that is measured or waited for takes longer.
const LONGEST_TIME: f64 = 1e12;
const TIME_UNITS: [(&str, f64); 7] = [
    ("ns", 1e-9),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("min", 60.0),
    ("h", 3600.0),
];

impl FromStr for Seconds {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let wrong = || UnitError { found: text.to_owned(), expected: SECONDS };
        let (number, unit) = split_number(text).ok_or_else(wrong)?;
        let (_, factor) = TIME_UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
        let seconds = number * factor;
        if (0.0..=LONGEST_TIME).contains(&seconds) { Ok(Self(seconds)) } else { Err(wrong()) }
    }
}

/// From ten hours on a rounded time is written in hours.
const IN_HOURS: f64 = 36_000.0;

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let magnitude = self.0.abs();
        // What rounds to 1000 ms is 1 s.
        let least = 1.0 - 0.5 * 0.1_f64.powi(3 + f.precision().map_or(9, |digits| digits as i32));
        let (unit, factor) = match magnitude {
            m if m >= IN_HOURS && f.precision().is_some() => ("h", 1.0 / 3600.0),
            m if m >= least || m == 0.0 => ("s", 1.0),
            m if m >= 1e-3 * least => ("ms", 1e3),
            m if m >= 1e-6 * least => ("us", 1e6),
            _ => ("ns", 1e9),
        };
        // Rounded to what a double keeps, so that 1.0000000000000002 us does not show.
        let scaled = self.0 * factor;
        let shown = if f.precision().is_some() { scaled } else { (scaled * 1e9).round() / 1e9 };
        write!(f, "{} {unit}", without_sign_of_zero(shown, f.precision()))
    }
}

const RATE: &str = "a rate from 1 B/s to 10^18 B/s, like 1 GB/s or 100 Mbit/s";

impl FromStr for BytesPerSecond {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let wrong = || UnitError { found: text.to_owned(), expected: RATE };
        let (number, unit) = split_number(text).ok_or_else(wrong)?;
        let bits = ["bit/s", "b/s", "bps"].into_iter().find_map(|bits| factor(unit, bits));
        let factor = factor(unit, "B/s").or(bits.map(|bits| bits / 8.0)).ok_or_else(wrong)?;
        let rate = number * factor;
        if (1.0..=LARGEST_RATE).contains(&rate) { Ok(Self(rate)) } else { Err(wrong()) }
    }
}

impl fmt::Display for BytesPerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_prefix(f, self.0, "B/s")
    }
}

const FREQUENCY: &str = "a rate above 0 /s, like 100 /s";

impl FromStr for PerSecond {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let wrong = || UnitError { found: text.to_owned(), expected: FREQUENCY };
        let (number, unit) = split_number(text).ok_or_else(wrong)?;
        let factor = factor(unit, "/s").ok_or_else(wrong)?;
        let rate = number * factor;
        if rate > 0.0 && rate <= LARGEST_RATE { Ok(Self(rate)) } else { Err(wrong()) }
    }
}

impl fmt::Display for PerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} /s", self.0)
    }
}

/// More per second than any machine has.
const LARGEST_RATE: f64 = 1e18;

macro_rules! serde_as_text {
    ($($name:ident),*) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}
serde_as_text!(Bytes, Seconds, BytesPerSecond, PerSecond);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_read_as_people_write_them() {
        assert_eq!("64 KiB".parse(), Ok(Bytes(65536)));
        assert_eq!("1.5MB".parse(), Ok(Bytes(1_500_000)));
        assert_eq!("1 GB/s".parse(), Ok(BytesPerSecond(1e9)));
        for bits in ["100 Mbit/s", "100Mbps", "100 Mb/s"] {
            assert_eq!(bits.parse(), Ok(BytesPerSecond(12.5e6)), "{bits}");
        }
        assert_eq!("2.5e9 B/s".parse(), Ok(BytesPerSecond(2.5e9)));
        assert_eq!("2 min".parse(), Ok(Seconds(120.0)));
        assert_eq!("100 /s".parse(), Ok(PerSecond(100.0)));
    }

    #[test]
    fn numbers_without_a_unit_have_four_significant_digits() {
        let shown = [12_345.6, 123.456, 1.0, 0.012_345_6, 0.000_001_234, 1.288e-12, -1e-9];
        let expected = ["12346", "123.5", "1.000", "0.01235", "0.000001", "0", "0"];
        assert_eq!(shown.map(four_digits), expected);
        assert_eq!([0.1234, -0.0001].map(percent), ["12.3 %", "0.0 %"]);
    }

    #[test]
    fn quantities_without_a_unit_or_sense_are_rejected() {
        for text in ["", "64", "GB", "-1 B", "nan B", "1.5 B", "1e30 B", "64 kb"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
        for text in ["0 B/s", "-1 GB/s", "inf B/s", "1e30 GB/s", "1e-320 GB/s", "1 GB"] {
            assert!(text.parse::<BytesPerSecond>().is_err(), "{text}");
        }
        assert!("-1 s".parse::<Seconds>().is_err());
        assert!("1e308 s".parse::<Seconds>().is_err());
        assert!("0 /s".parse::<PerSecond>().is_err());
    }

    #[test]
    fn quantities_show_with_a_fitting_unit() {
        assert_eq!(Bytes(65536).to_string(), "64 KiB");
        assert_eq!(Bytes(1500).to_string(), "1500 B");
        assert_eq!(format!("{:.1}", Bytes(1_234_567)), "1.2 MB");
        assert_eq!(BytesPerSecond(1.5e9).to_string(), "1.5 GB/s");
        assert_eq!(Seconds(100e-9).to_string(), "100 ns");
        assert_eq!(format!("{:.2}", Seconds(0.00123)), "1.23 ms");
        assert_eq!(format!("{:.2} {0:.3}", Seconds(0.999_996)), "1.00 s 999.996 ms");
        assert_eq!(format!("{:.1} {0}", Seconds(139_071.07)), "38.6 h 139071.07 s");
        assert_eq!(format!("{:.2}", Seconds(0.999_994)), "999.99 ms");
        assert_eq!(format!("{:.2} {0}", Seconds(-0.0)), "0.00 s 0 s");
        assert_eq!(format!("{:.1}", BytesPerSecond(-0.0)), "0.0 B/s");
    }
}
