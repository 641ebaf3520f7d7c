//! Dates in the output of `otf2-print`.

/// Parses `2026-11-21 16:29:45.844073472 +0000` to nanoseconds since 1970.
pub(super) fn unix_ns(text: &str) -> Option<i64> {
    let mut words = text.split(' ');
    let (date, time, zone) = (words.next()?, words.next()?, words.next()?);
    let mut date = date.split('-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let mut time = time.split(':').map(|part| part.parse::<i64>().ok());
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    let possible = (1970..2200).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..=60).contains(&second);
    if !possible || fraction.len() > 9 {
        return None;
    }
    let nanoseconds: i64 = format!("{fraction:0<9}").parse().ok()?;
    let east: i64 = zone.parse().ok()?;
    let east = 60 * (60 * (east / 100) + east % 100);
    let seconds = 60 * (60 * (24 * days(year, month, day) + hour) + minute) + second - east;
    seconds.checked_mul(1_000_000_000)?.checked_add(nanoseconds)
}

/// Days since 1970-01-01 in the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years start in March, so that the leap day is the last day.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let before_month = (153 * month + 2) / 5;
    365 * year + year / 4 - year / 100 + year / 400 + before_month + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_a_calendar() {
        let at = |text: &str| unix_ns(text).map(|ns| (ns / 1_000_000_000, ns % 1_000_000_000));
        assert_eq!(at("1970-01-01 00:00:00.0 +0000"), Some((0, 0)));
        assert_eq!(at("2024-02-29 12:00:00.5 +0100"), Some((1_709_204_400, 500_000_000)));
        assert_eq!(at("2000-03-01 00:00:00.000000001 -0130"), Some((951_874_200, 1)));
        assert_eq!(at("UNDEFINED"), None);
        assert_eq!(at("2024-13-01 12:00:00.5 +0100"), None);
    }
}
