//! Days of the Gregorian calendar.

/// A day by its number since 1970-01-01: `2026-11-23`.
#[must_use]
pub fn day(number: u64) -> String {
    // Eras of 400 years from March of the year 0, so that the leap day is the last of a year.
    let days = number + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{day:02}", 400 * era + year + next)
}

#[cfg(test)]
mod tests {
    use super::day;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (number, text) in [
            (0, "1970-01-01"),
            (19_782, "2024-02-29"),
            (20_780, "2026-11-23"),
            (47_540, "2100-02-28"),
        ] {
            assert_eq!(day(number), text);
        }
    }
}
