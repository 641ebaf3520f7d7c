//! Numbers as a paper prints them.

/// A number agrees with the paper's if it differs by at most this share of it: 5 %.
pub(crate) const TOLERANCE: f64 = 0.05;

/// A number as it is printed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Printed {
    /// The number; infinite for `#`, which stands for "saturated".
    pub(crate) value: f64,
    /// The largest rounding error: half a unit of its last digit.
    pub(crate) rounding: f64,
}

impl Printed {
    /// A number printed without decimals.
    pub(crate) const fn whole(value: f64) -> Self {
        Self { value, rounding: 0.5 }
    }

    /// A number that is not rounded: a count, or one computed from printed numbers.
    pub(crate) const fn exact(value: f64) -> Self {
        Self { value, rounding: 0.0 }
    }

    /// Reads `0.05` or `#`; `None` if it is neither.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text == "#" {
            return Some(Self::exact(f64::INFINITY));
        }
        let value: f64 = text.parse().ok()?;
        let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let rounding = 0.5 * 0.1_f64.powi(i32::try_from(decimals).ok()?);
        value.is_finite().then_some(Self { value, rounding })
    }

    /// Whether a number agrees with it, within its rounding or [`TOLERANCE`].
    pub(crate) fn agrees_with(self, number: f64) -> bool {
        let allowed = (1.0 + 1e-9) * self.rounding.max(TOLERANCE * self.value.abs());
        let close = self.value.is_finite() && (number - self.value).abs() <= allowed;
        number == self.value || close
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_digit_says_how_far_a_number_is_rounded() {
        assert_eq!(Printed::parse("40"), Some(Printed::whole(40.0)));
        let printed = Printed::parse("0.05").unwrap();
        assert!((printed.rounding - 0.005).abs() < 1e-12);
        assert!(printed.agrees_with(0.055) && !printed.agrees_with(0.0551));
        assert!(Printed::whole(100.0).agrees_with(105.0));
        assert!(!Printed::whole(100.0).agrees_with(105.1));
    }

    #[test]
    fn saturated_agrees_with_saturated_only() {
        let saturated = Printed::parse("#").unwrap();
        assert!(saturated.agrees_with(f64::INFINITY) && !saturated.agrees_with(1e9));
        assert!(!Printed::whole(40.0).agrees_with(f64::INFINITY));
    }

    #[test]
    fn other_text_is_not_a_number() {
        for text in ["", "inf", "NaN", "5 %", "1,2"] {
            assert_eq!(Printed::parse(text), None, "{text}");
        }
    }
}
