//! Numbers of things.

use std::num::{NonZeroU32, NonZeroUsize};
use std::str::FromStr;

/// A type of whole numbers.
pub(crate) trait Whole: FromStr {
    /// The least one.
    const LEAST: u64;
    /// The largest one.
    const MOST: u64;
}

macro_rules! whole {
    ($($type:ty: $least:literal to $most:expr;)*) => {
        $(impl Whole for $type {
            const LEAST: u64 = $least;
            const MOST: u64 = $most;
        })*
    };
}

whole! {
    u32: 0 to u32::MAX as u64;
    u64: 0 to u64::MAX;
    usize: 0 to usize::MAX as u64;
    NonZeroU32: 1 to u32::MAX as u64;
    NonZeroUsize: 1 to usize::MAX as u64;
}

/// A number, from the least to the largest of its type.
pub(crate) fn parse_count<Number: Whole>(text: &str) -> Result<Number, String> {
    text.parse().map_err(|_| expected(text, Number::LEAST, Number::MOST))
}

/// A number from 1 to `MOST`.
pub(crate) fn parse_count_to<const MOST: u32>(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| (1..=MOST).contains(number));
    number.ok_or_else(|| format!("expected a number from 1 to {MOST}"))
}

fn expected(text: &str, least: u64, most: u64) -> String {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let too_large = is_number && text.parse().map_or(true, |number: u64| number > most);
    if too_large {
        format!("expected a number up to {most}")
    } else {
        format!("expected a number from {least}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_count_is_told_in_plain_words() {
        let wrong = |text| parse_count::<u32>(text).expect_err("it is wrong");
        for text in ["", "x", "-1", "1.5"] {
            assert_eq!(wrong(text), "expected a number from 0");
        }
        assert_eq!(wrong("99999999999999999999999"), "expected a number up to 4294967295");
        assert_eq!(parse_count::<NonZeroU32>("0").unwrap_err(), "expected a number from 1");
        assert_eq!(parse_count_to::<8>("9").unwrap_err(), "expected a number from 1 to 8");
        assert_eq!((parse_count("7"), parse_count_to::<8>("8")), (Ok(7_u64), Ok(8)));
    }
}
