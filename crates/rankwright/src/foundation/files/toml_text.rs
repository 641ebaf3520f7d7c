//! The text of a TOML file, for errors that name line and field.

use std::ops::Range;
use std::path::Path;
use std::str::FromStr;

use ::toml::Spanned;

use super::InputError;
use crate::units::UnitError;

/// A TOML text that is being read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TomlText<'a> {
    /// The name of the file in errors.
    pub(crate) file: &'a str,
    /// The whole file.
    pub(crate) text: &'a str,
    /// The folder that relative paths in the file start from.
    pub(crate) folder: &'a Path,
}

impl TomlText<'_> {
    /// The line where a span begins, from 1.
    pub(crate) fn line(&self, span: Range<usize>) -> usize {
        let before = &self.text.as_bytes()[..span.start.min(self.text.len())];
        1 + before.iter().filter(|byte| **byte == b'\n').count()
    }

    /// An error at a span.
    pub(crate) fn error(
        &self,
        span: Range<usize>,
        field: &str,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> InputError {
        let error = InputError::new(self.file, found.into(), expected.into());
        error.at_line(self.line(span)).in_field(field)
    }

    /// An error of the TOML parser as ours; `expected` is what the file should have been.
    pub(crate) fn syntax(&self, error: &::toml::de::Error, expected: &str) -> InputError {
        let message = error.message().trim().replace('\n', " ");
        let (found, expected) = match message.split_once(", expected ") {
            Some((found, expected)) => (found.to_owned(), expected.to_owned()),
            None => match message.strip_prefix("missing field ") {
                Some(field) => (format!("no field {field}"), format!("{field} in this table")),
                None => (message, expected.to_owned()),
            },
        };
        let input = InputError::new(self.file, found, expected);
        match error.span() {
            Some(span) => input.at_line(self.line(span)),
            None => input,
        }
    }

    /// A text as a quantity.
    pub(crate) fn quantity<T: FromStr<Err = UnitError>>(
        &self,
        text: &Spanned<String>,
        field: &str,
    ) -> Result<T, InputError> {
        let wrong =
            |e: UnitError| self.error(text.span(), field, format!("`{}`", e.found), e.expected);
        text.get_ref().parse().map_err(wrong)
    }
}
