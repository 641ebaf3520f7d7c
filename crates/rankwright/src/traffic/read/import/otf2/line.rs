//! Parses one line of `otf2-print`. Names are not escaped, so attributes are searched from the end,
//! where numbers are.

/// A record.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// Record type, such as `MPI_SEND`.
    pub(super) record: &'a str,
    /// Id of the definition, or location of the event; `None` for definitions without id.
    pub(super) id: Option<u64>,
    /// Time in ticks; 0 for definitions.
    pub(super) ticks: u64,
    /// Rest of the line.
    pub(super) attributes: &'a str,
}

impl<'a> Line<'a> {
    /// Parses `GROUP   4  Name: ...`.
    pub(super) fn of_definition(text: &'a str) -> Option<Self> {
        let (record, rest) = record(text)?;
        let (id, attributes) = match number(rest) {
            Some((id, attributes)) => (Some(id), attributes),
            None => (None, rest),
        };
        Some(Self { record, id, ticks: 0, attributes })
    }

    /// Parses `MPI_SEND   0   7397467382760060  Receiver: ...`.
    pub(super) fn of_event(text: &'a str) -> Option<Self> {
        let (record, rest) = record(text)?;
        let (location, rest) = number(rest)?;
        let (ticks, attributes) = number(rest)?;
        Some(Self { record, id: Some(location), ticks, attributes })
    }

    /// The text before and after the last `, NAME: `, or after `NAME: ` at the start.
    pub(super) fn split(&self, name: &str) -> Option<(&'a str, &'a str)> {
        split(self.attributes, name)
    }
}

/// Splits off the record type: capitals at the start of the line.
fn record(text: &str) -> Option<(&str, &str)> {
    let (record, rest) = text.split_once(' ').unwrap_or((text, ""));
    let capital = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    (record.len() > 1 && record.chars().all(capital)).then(|| (record, rest.trim_start()))
}

/// Splits off a number at the start.
fn number(text: &str) -> Option<(u64, &str)> {
    let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
    Some((first.parse().ok()?, rest.trim_start()))
}

/// The text before and after the last `, NAME: `, or after `NAME: ` at the start.
pub(super) fn split<'a>(text: &'a str, name: &str) -> Option<(&'a str, &'a str)> {
    let inside = text.rmatch_indices(name).find(|(place, _)| {
        (*place == 0 || text[..*place].ends_with(", "))
            && text[place + name.len()..].starts_with(": ")
    });
    let (place, _) = inside?;
    let before = text[..place].strip_suffix(", ").unwrap_or_default();
    Some((before, &text[place + name.len() + 2..]))
}

/// Id of a reference: `"name" <3>`, `INVALID <77>`.
pub(super) fn reference(text: &str) -> Option<u64> {
    let inside = text.strip_suffix('>')?;
    inside.rsplit_once('<')?.1.parse().ok()
}

/// Name of a reference: the text in quotation marks.
pub(super) fn name(text: &str) -> &str {
    let quoted = text.rsplit_once(" <").map_or(text, |(quoted, _)| quoted);
    quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(quoted)
}

/// Number at the start of a text: `3 ("Master thread" <0>)`.
pub(super) fn leading_number(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_contain_anything() {
        let text = "MPI_SEND    3   5007105  Receiver: 0 (\"T, Tag: 1\" <0>), Communicator: \"odd \
                    \"ones\", Tag: 5 <9>\" <2>, Tag: 1, Length: 64";
        let line = Line::of_event(text).unwrap();
        assert_eq!((line.record, line.id, line.ticks), ("MPI_SEND", Some(3), 5_007_105));
        let (rest, length) = line.split("Length").unwrap();
        let (rest, tag) = split(rest, "Tag").unwrap();
        let (rest, communicator) = split(rest, "Communicator").unwrap();
        assert_eq!((length, tag, reference(communicator)), ("64", "1", Some(2)));
        assert_eq!(name(communicator), "odd \"ones\", Tag: 5 <9>");
        assert_eq!(leading_number(split(rest, "Receiver").unwrap().1), Some(0));
        assert_eq!(reference("INVALID <77>"), Some(77));
        assert_eq!(reference("UNDEFINED"), None);
    }

    #[test]
    fn other_lines_are_none() {
        for text in
            ["", "----", "      ADDITIONAL ATTRIBUTES: (x)", "Event   Location", "==ERROR=="]
        {
            assert_eq!(Line::of_event(text), None, "{text}");
            assert_eq!(Line::of_definition(text), None, "{text}");
        }
        let clock = Line::of_definition("CLOCK_PROPERTIES       Ticks per Seconds: 10, Length: 1");
        assert_eq!(clock.unwrap().id, None);
    }
}
