//! Colours on terminals. They repeat what the text says: without them nothing is lost.

use std::ffi::OsStr;
use std::io::{self, IsTerminal};

use anstyle::{AnsiColor, Style};

/// Where a text goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Output,
    Error,
}

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The answer: the first line of a result.
    Answer,
    Good,
    Warning,
    Error,
}

impl Meaning {
    fn style(self) -> Style {
        let colour = match self {
            Self::Answer => return Style::new().bold(),
            Self::Good => AnsiColor::Green,
            Self::Warning => AnsiColor::Yellow,
            Self::Error => AnsiColor::Red,
        };
        Style::new().bold().fg_color(Some(colour.into()))
    }
}

/// The text, in colour where the stream is a terminal that has colours, and `NO_COLOR` is not set.
pub(crate) fn paint(text: &str, meaning: Meaning, stream: Stream) -> String {
    let terminal = match stream {
        Stream::Output => io::stdout().is_terminal(),
        Stream::Error => io::stderr().is_terminal(),
    };
    let variable = |name: &str| std::env::var_os(name);
    if wanted(terminal, variable("NO_COLOR").as_deref(), variable("TERM").as_deref()) {
        styled(text, meaning)
    } else {
        text.to_owned()
    }
}

fn styled(text: &str, meaning: Meaning) -> String {
    let style = meaning.style();
    format!("{style}{text}{style:#}")
}

fn wanted(terminal: bool, no_color: Option<&OsStr>, term: Option<&OsStr>) -> bool {
    terminal && no_color.is_none_or(OsStr::is_empty) && term.is_none_or(|term| term != "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_need_a_terminal_that_has_them_and_a_user_who_does_not_mind() {
        let name = |text: &'static str| Some(OsStr::new(text));
        for (terminal, no_color, term, expected) in [
            (true, None, name("xterm"), true),
            (true, name(""), None, true),
            (true, name("1"), name("xterm"), false),
            (true, None, name("dumb"), false),
            (false, None, name("xterm"), false),
        ] {
            assert_eq!(wanted(terminal, no_color, term), expected, "{no_color:?} {term:?}");
        }
    }

    #[test]
    fn a_painted_text_contains_the_text() {
        for meaning in [Meaning::Answer, Meaning::Good, Meaning::Warning, Meaning::Error] {
            let painted = styled("words", meaning);
            assert!(painted.contains("words") && painted.starts_with('\x1b'), "{painted:?}");
            assert!(painted.ends_with("\x1b[0m"), "{painted:?}");
        }
    }
}
