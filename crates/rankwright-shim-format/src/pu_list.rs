//! Sets of PUs (P#) as text: `0-3,8`.

/// Reads a list of numbers and ranges; `None` if it is malformed.
#[must_use]
pub fn parse(text: &str) -> Option<Vec<u32>> {
    let mut pus = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last > u32::from(u16::MAX) {
            return None;
        }
        pus.extend(first..=last);
    }
    Some(pus)
}

/// Writes ascending numbers as numbers and ranges.
#[must_use]
pub fn format(pus: &[u32]) -> String {
    let runs = pus.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [single] => single.to_string(),
        _ => format!("{}-{}", run[0], run[run.len() - 1]),
    });
    runs.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_read_back_as_written() {
        for text in ["", "0", "0-3", "0-3,8", "5,7,9-10"] {
            assert_eq!(format(&parse(text).unwrap()), text);
        }
        for text in ["a", "3-1", "-1", "0-99999999", "1-"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
