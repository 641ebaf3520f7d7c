//! XML texts, event by event, with errors that name the line.

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::InputError;

/// Reads the events of an XML text one after the other: what is not kept needs no memory.
pub(crate) struct XmlReader<'a> {
    reader: Reader<&'a [u8]>,
    text: &'a str,
    file: &'a str,
    /// What the file should have been, for errors.
    expected: &'static str,
    /// The byte at which the present event begins.
    begin: usize,
    /// Up to which byte lines are counted, and the line there, from 1. Ascending, so that each byte is
    /// looked at once.
    counted: usize,
    line: usize,
}

impl<'a> XmlReader<'a> {
    /// A reader for the text of `file`.
    pub(crate) fn new(text: &'a str, file: &'a str, expected: &'static str) -> Self {
        let reader = Reader::from_str(text);
        Self { reader, text, file, expected, begin: 0, counted: 0, line: 1 }
    }

    /// The reader, for texts with `&` that begin no entity.
    pub(crate) fn with_bare_ampersands(mut self) -> Self {
        self.reader.config_mut().allow_dangling_amp = true;
        self
    }

    /// The next event; [`Event::Eof`] at the end of the text.
    ///
    /// # Errors
    /// If the text is not well-formed.
    pub(crate) fn event(&mut self) -> Result<Event<'a>, InputError> {
        self.begin = position(self.reader.buffer_position());
        self.reader.read_event().map_err(|error| {
            self.begin = position(self.reader.error_position());
            self.broken(&error)
        })
    }

    /// The attributes of the present element, with entities replaced.
    ///
    /// # Errors
    /// If one is not well-formed, or two have the same name.
    pub(crate) fn attributes(
        &mut self,
        tag: &BytesStart<'_>,
    ) -> Result<Vec<(String, String)>, InputError> {
        let mut attributes = Vec::new();
        for attribute in tag.attributes() {
            let attribute = attribute.map_err(|error| self.broken(&error))?;
            let value = attribute.normalized_value(XmlVersion::Implicit1_0);
            let value = value.map_err(|error| self.broken(&error))?;
            attributes.push((attribute.key.as_ref().to_owned(), value.into_owned()));
        }
        Ok(attributes)
    }

    /// The line at which the present event begins.
    pub(crate) fn line(&mut self) -> usize {
        let end = self.begin.min(self.text.len());
        if end > self.counted {
            let passed = &self.text.as_bytes()[self.counted..end];
            self.line += passed.iter().filter(|byte| **byte == b'\n').count();
            self.counted = end;
        }
        self.line
    }

    /// An error at the present event.
    pub(crate) fn error(&mut self, found: impl std::fmt::Display) -> InputError {
        InputError::new(self.file, found, self.expected).at_line(self.line())
    }

    fn broken(&mut self, error: &impl std::fmt::Display) -> InputError {
        self.error(format_args!("broken XML ({error})"))
    }
}

/// The value of an attribute; `None` where there is none, or it is not well-formed.
pub(crate) fn xml_attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let attribute = tag.try_get_attribute(name).ok().flatten()?;
    let value = attribute.normalized_value(XmlVersion::Implicit1_0);
    value.ok().map(std::borrow::Cow::into_owned)
}

fn position(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_line_of_its_event() {
        let text = "<a>\n<b x='1' y='&lt;'/>\n<c x='1' x='2'/>\n<d>\n</a>";
        let mut reader = XmlReader::new(text, "x.xml", "a file");
        let mut next = || -> Result<String, String> {
            loop {
                match reader.event().map_err(|error| error.to_string())? {
                    Event::Empty(tag) => {
                        let attributes = reader.attributes(&tag).map_err(|e| e.to_string())?;
                        return Ok(format!("{} {attributes:?}", reader.line()));
                    }
                    Event::Eof => return Ok("end".to_owned()),
                    _ => {}
                }
            }
        };
        assert_eq!(next().unwrap(), r#"2 [("x", "1"), ("y", "<")]"#);
        assert!(next().unwrap_err().starts_with("x.xml:3: found broken XML (position "));
        assert!(next().unwrap_err().starts_with("x.xml:5: found broken XML (ill-formed"));
    }

    #[test]
    fn many_attributes_take_no_more_than_their_length() {
        let many: String = (0..200_000).map(|number| format!(" a{number}='1'")).collect();
        let text = format!("<a{many}/>");
        let mut reader = XmlReader::new(&text, "x.xml", "a file");
        let Ok(Event::Empty(tag)) = reader.event() else { panic!("one element") };
        assert_eq!(reader.attributes(&tag).unwrap().len(), 200_000);
    }
}
