//! XML text as a tree of elements that know their lines.

use std::collections::BTreeMap;

use quick_xml::events::{BytesStart, Event};

use super::EXPECTED;
use crate::files::{InputError, XmlReader};

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
        self.attributes
            .iter()
            .find(|(attribute, _)| attribute == name)
            .map(|(_, value)| value.as_str())
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
    let mut reader = XmlReader::new(text, file, EXPECTED);
    let mut open: Vec<Element> = Vec::new();
    loop {
        let closed = match reader.event()? {
            Event::Start(tag) => {
                if open.len() >= DEEPEST {
                    return Err(reader.error(format!("elements nested deeper than {DEEPEST}")));
                }
                open.push(element(&mut reader, &tag)?);
                None
            }
            Event::Empty(tag) => Some(element(&mut reader, &tag)?),
            Event::End(_) => open.pop(),
            Event::Text(text) => {
                if let Some(element) = open.last_mut() {
                    element.text.push_str(text.as_ref());
                }
                None
            }
            Event::DocType(definition) if definition.as_ref().contains('[') => {
                return Err(reader.error("a document type that defines entities"));
            }
            Event::Eof => {
                return Err(match open.last() {
                    Some(last) => {
                        reader.error(format!("the end of the file inside <{}>", last.name))
                    }
                    None => reader.error("no element"),
                });
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

fn element(reader: &mut XmlReader<'_>, tag: &BytesStart<'_>) -> Result<Element, InputError> {
    let (name, attributes) = (tag.name().as_ref().to_owned(), reader.attributes(tag)?);
    Ok(Element { name, attributes, line: reader.line(), ..Element::default() })
}
