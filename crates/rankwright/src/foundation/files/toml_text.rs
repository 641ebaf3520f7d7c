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
            Some((found, expected)) => in_words(found, expected),
            None => match (message.strip_prefix("missing field "), mistake(&message)) {
                (Some(field), _) => (format!("no field {field}"), format!("{field} in this table")),
                (None, Some((found, expected))) => (found.to_owned(), expected.to_owned()),
                (None, None) => (message, expected.to_owned()),
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

/// A mistake of writing that the parser found: what it is, and what is right.
fn mistake(found: &str) -> Option<(&'static str, &'static str)> {
    Some(match found {
        "string values must be quoted" => ("a text without quotes", "a text in quotes"),
        _ if found.starts_with("invalid date") => ("a text without quotes", "a text in quotes"),
        "invalid basic string" | "invalid literal string" => {
            ("a text whose quotes are not closed", "the same quote at its end")
        }
        "key with no value" => ("a name without a value", "NAME = VALUE"),
        "unquoted keys cannot be empty" => ("a value without a name", "NAME = VALUE"),
        "duplicate key" => ("a name that the table has already", "each name once in a table"),
        "unexpected key or value" => ("something behind the value", "the end of the line, or #"),
        "unclosed array table" => ("`[[` that is not closed", "`]]` behind the name"),
        "unclosed table" => ("`[` that is not closed", "`]` behind the name"),
        "unclosed array" => ("a list that is not closed", "`]` behind its last value"),
        "unclosed inline table" => ("`{` that is not closed", "`}` behind the last value"),
        "missing escaped value" => {
            ("a backslash in double quotes", "two of them, or the text in single quotes")
        }
        "invalid float" | "integer number overflowed" | "unexpected leading zero" => {
            ("a number that cannot be read", "a number like 12, 1.5 or 1e9, or a text in quotes")
        }
        _ => return None,
    })
}

/// What the parser found and expected, in the words of a person who writes the file.
fn in_words(found: &str, expected: &str) -> (String, String) {
    // Words that begin like `nan`, `inf`, `true` or `false` are taken for these.
    let is_word = ["`nan`", "`inf`", "`true`", "`false`"].contains(&expected);
    let found = if is_word { "string values must be quoted" } else { found };
    if let Some((found, expected)) = mistake(found) {
        return (found.to_owned(), expected.to_owned());
    }
    let Some(value) = found.strip_prefix("invalid type: ") else {
        return (found.to_owned(), expected.to_owned());
    };
    let (kind, text) = value.split_once(' ').unwrap_or((value, ""));
    let text = text.trim_start_matches("point ").trim_matches('`');
    let found = match kind {
        "integer" | "floating" => format!("the number {text}"),
        "string" => format!("the text {text}"),
        "boolean" => text.to_owned(),
        "sequence" => "a list".to_owned(),
        "map" => "a table".to_owned(),
        _ => value.to_owned(),
    };
    let expected = match expected {
        "a string" => "a text in quotes",
        "a sequence" => "a list in [ ]",
        "a boolean" => "true or false",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number",
        "i64" => "a whole number, perhaps negative",
        "f32" | "f64" => "a number",
        expected if expected.starts_with("struct ") => "a table",
        expected => expected,
    };
    (found, expected.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[expect(dead_code, reason = "only read")]
    struct Row {
        names: String,
        count: Option<u32>,
        list: Option<Vec<String>>,
    }

    #[test]
    fn mistakes_are_told_in_the_words_of_who_writes_the_file() {
        for (text, told) in [
            ("names = n0", "f:1: found a text without quotes, expected a text in quotes"),
            ("names = host0", "f:1: found a text without quotes, expected a text in quotes"),
            ("names = tx0", "f:1: found a text without quotes, expected a text in quotes"),
            ("names = 3", "f:1: found the number 3, expected a text in quotes"),
            ("names = ['a']", "f:1: found a list, expected a text in quotes"),
            ("names = 'a'\ncount = 'b'", "f:2: found the text \"b\", expected a whole number"),
            ("names = 'a'\nlist = true", "f:2: found true, expected a list in [ ]"),
            ("names", "f:1: found a name without a value, expected NAME = VALUE"),
            ("[[node", "f:1: found `[[` that is not closed, expected `]]` behind the name"),
            (
                "names = 'a",
                "f:1: found a text whose quotes are not closed, expected the same quote at its end",
            ),
            (
                "list = ['a'",
                "f:1: found a list that is not closed, expected `]` behind its last value",
            ),
            (
                "names = 'a' b",
                "f:1: found something behind the value, expected the end of the line, or #",
            ),
            ("= 'a'", "f:1: found a value without a name, expected NAME = VALUE"),
            (
                "names = 'a'\nnames = 'b'",
                "f:2: found a name that the table has already, expected each name once in a table",
            ),
            (
                r#"names = "\q""#,
                "f:1: found a backslash in double quotes, expected two of them, or the text in single quotes",
            ),
            (
                "count = 01",
                "f:1: found a number that cannot be read, expected a number like 12, 1.5 or 1e9, or a text in quotes",
            ),
            ("names = 1979-13-01", "f:1: found a text without quotes, expected a text in quotes"),
        ] {
            let toml = TomlText { file: "f", text, folder: Path::new("") };
            let error = ::toml::from_str::<Row>(text).expect_err(text);
            assert_eq!(toml.syntax(&error, "a row").to_string(), told);
        }
    }
}
