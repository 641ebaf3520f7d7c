//! XML text as a tree of elements that know their lines.

use std::collections::BTreeMap;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::EXPECTED;
use crate::files::InputError;

/// No machine's tree is deeper; what is deeper wants to exhaust the stack.
const DEEPEST: usize = 256;

/// An element with all in it.
#[derive(Debug, Default)]
pub(super) struct Element {
    pub(super) name: String,
    pub(super) attributes: Vec<(String, String)>,
    /// The text directly inside.
    pub(super) text: String,
    pub(super) children: Vec<Element>,
    /// Where it begins, from 1.
    pub(super) line: usize,
}

impl Element {
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The value of the `<info>` of this name inside.
    pub(super) fn info(&self, name: &str) -> Option<&str> {
        let mut infos = self.children.iter().filter(|child| child.name == "info");
        infos.find(|info| info.attribute("name") == Some(name))?.attribute("value")
    }

    /// This element and all below it by the number that hwloc gives each object (`gp_index`).
    pub(super) fn by_number(&self) -> BTreeMap<u64, &Self> {
        let mut all = BTreeMap::new();
        let mut left = vec![self];
        while let Some(element) = left.pop() {
            left.extend(&element.children);
            // hwloc 3 calls 7 `obj7` too.
            let id = || element.attribute("id")?.strip_prefix("obj");
            let number = element.attribute("gp_index").or_else(id);
            if let Some(number) = number.and_then(|number| number.parse().ok()) {
                all.insert(number, element);
            }
        }
        all
    }
}

/// Reads the root element.
pub(super) fn parse(text: &str, file: &str) -> Result<Element, InputError> {
    Parser { text, file, counted: 0, line: 1 }.root()
}

struct Parser<'a> {
    text: &'a str,
    file: &'a str,
    /// Up to which byte the lines are counted.
    counted: usize,
    /// The line of that byte.
    line: usize,
}

impl Parser<'_> {
    fn root(&mut self) -> Result<Element, InputError> {
        let mut reader = Reader::from_str(self.text);
        let mut open: Vec<Element> = Vec::new();
        loop {
            let start = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
            let event = reader.read_event().map_err(|error| {
                let position = usize::try_from(reader.error_position()).unwrap_or(start);
                self.error(position, format!("broken XML ({error})"))
            })?;
            let closed = match event {
                Event::Start(tag) => {
                    if open.len() >= DEEPEST {
                        let found = format!("elements nested deeper than {DEEPEST}");
                        return Err(self.error(start, found));
                    }
                    let element = self.element(start, &tag)?;
                    open.push(element);
                    None
                }
                Event::Empty(tag) => Some(self.element(start, &tag)?),
                Event::End(_) => open.pop(),
                Event::Text(text) => {
                    if let Some(element) = open.last_mut() {
                        element.text.push_str(text.as_ref());
                    }
                    None
                }
                Event::DocType(definition) if definition.as_ref().contains('[') => {
                    return Err(
                        self.error(start, "a document type that defines entities".to_owned())
                    );
                }
                Event::Eof => {
                    let found = match open.last() {
                        Some(element) => format!("the end of the file inside <{}>", element.name),
                        None => "no element".to_owned(),
                    };
                    return Err(self.error(start, found));
                }
                _ => None,
            };
            if let Some(element) = closed {
                match open.last_mut() {
                    Some(parent) => parent.children.push(element),
                    None => return Ok(element),
                }
            }
        }
    }

    fn element(&mut self, start: usize, tag: &BytesStart<'_>) -> Result<Element, InputError> {
        let mut element = Element {
            name: tag.name().as_ref().to_owned(),
            line: self.line_of(start),
            ..Element::default()
        };
        for attribute in tag.attributes() {
            let attribute =
                attribute.map_err(|error| self.error(start, format!("broken XML ({error})")))?;
            let value = attribute
                .normalized_value(quick_xml::XmlVersion::Implicit1_0)
                .map_err(|error| self.error(start, format!("broken XML ({error})")))?;
            element.attributes.push((attribute.key.as_ref().to_owned(), value.into_owned()));
        }
        Ok(element)
    }

    fn error(&mut self, position: usize, found: String) -> InputError {
        let line = self.line_of(position);
        InputError::new(self.file, found, EXPECTED).at_line(line)
    }

    /// The line of a byte; the bytes asked for ascend, so that each is looked at once.
    fn line_of(&mut self, position: usize) -> usize {
        let end = position.min(self.text.len());
        if end > self.counted {
            let passed = &self.text.as_bytes()[self.counted..end];
            self.line += passed.iter().filter(|byte| **byte == b'\n').count();
            self.counted = end;
        }
        self.line
    }
}
