//! Command lines as a POSIX shell reads them.
//!
//! The `shlex` crate does not fit. It also quotes words with `=`, `,` or `%`, which would make launch
//! files harder to read. Its `split` drops words after `#` and does not say which quote is open.

/// A word as a shell reads it back unchanged; quoted only if needed.
#[must_use]
pub fn quote(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// A command line.
#[must_use]
pub fn join(words: &[String]) -> String {
    words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
}

/// A quote without its closing quote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{quote} without a closing quote")]
pub struct OpenQuote {
    /// The quote, `'` or `"`.
    pub quote: char,
}

/// The words of a text as a shell splits them, at blanks that are not quoted or behind a backslash.
/// Nothing is expanded.
///
/// # Errors
/// If a closing quote is missing.
pub fn split(text: &str) -> Result<Vec<String>, OpenQuote> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            blank if blank.is_whitespace() => words.extend(word.take()),
            quote @ ('\'' | '"') => {
                let word = word.get_or_insert_default();
                let open = OpenQuote { quote };
                loop {
                    match characters.next().ok_or(open)? {
                        end if end == quote => break,
                        '\\' if quote == '"' => match characters.next().ok_or(open)? {
                            escaped @ ('"' | '\\' | '$' | '`') => word.push(escaped),
                            other => word.extend(['\\', other]),
                        },
                        other => word.push(other),
                    }
                }
            }
            '\\' => word.get_or_insert_default().extend(characters.next()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_are_quoted_only_where_needed() {
        let words = ["./app", "--grid=4x4", "two words", "it's", "", "$HOME", "a;b"];
        let words: Vec<String> = words.map(str::to_owned).into();
        let line = r"./app --grid=4x4 'two words' 'it'\''s' '' '$HOME' 'a;b'";
        assert_eq!(join(&words), line);
    }

    #[test]
    fn words_split_as_in_a_shell() {
        let text = r#"--mca btl "self,tcp" -x "A=\"b\" \c" x\ y ''"#;
        let words = ["--mca", "btl", "self,tcp", "-x", r#"A="b" \c"#, "x y", ""];
        assert_eq!(split(text).unwrap(), words);
        assert_eq!(split("a # 'b'"), Ok(["a", "#", "b"].map(str::to_owned).into()));
        assert_eq!(split("a 'b").unwrap_err().to_string(), "' without a closing quote");
        assert_eq!(split(r#"a "b\"#), Err(OpenQuote { quote: '"' }));
    }

    proptest! {
        #[test]
        fn a_joined_line_splits_into_its_words(words: Vec<String>) {
            prop_assert_eq!(split(&join(&words)), Ok(words));
        }
    }
}
