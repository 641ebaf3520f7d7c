//! Markdown for issue trackers (GitHub's and GitLab's flavour).

use super::parts::Part;
use super::text::printable;

/// The parts as Markdown. What stands between backticks in a sentence is code, but not in one of the `names`
/// that users gave.
pub(super) fn markdown(parts: &[Part], names: &[&str]) -> String {
    // Sentences are made printable before names are looked for.
    let names: Vec<String> = names.iter().map(|name| printable(name)).collect();
    let prose = |text: &str| prose(&printable(text), &names, &code);
    let mut text = String::new();
    let mut after_list = false;
    for part in parts {
        let is_list = matches!(part, Part::List(_));
        if after_list && !is_list {
            text.push('\n');
        }
        after_list = is_list;
        match part {
            Part::Title(title) => text += &format!("## {}\n\n", escaped(title)),
            Part::Heading(title) => text += &format!("### {}\n\n", escaped(title)),
            Part::Strong(strong) => text += &format!("**{}**\n\n", prose(strong)),
            Part::Paragraph(paragraph) => text += &format!("{}\n\n", prose(paragraph)),
            Part::List(items) => {
                items.iter().for_each(|item| text += &format!("- {}\n", prose(item)));
            }
            Part::Code(code, language) => text += &fenced(code, language),
            // Names with their values.
            Part::Table(header, rows) if header.iter().all(String::is_empty) => {
                rows.iter().for_each(|row| text += &format!("- {}\n", prose(&row.join(": "))));
                text.push('\n');
            }
            Part::Table(header, rows) => text += &(table(header, rows, &names) + "\n"),
        }
    }
    text.trim_end().to_owned() + "\n"
}

fn table(header: &[String], rows: &[Vec<String>], names: &[String]) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    // A bar ends a cell, in code too, and also one behind two backslashes.
    let code = |text: &str| match text.contains('\\') {
        true => escaped(&code(text)),
        false => code(&text.replace('|', "\\|")),
    };
    let cell = |cell: &String| prose(&printable(cell), names, &code);
    let rule = format!("|{}\n", "---|".repeat(header.len()));
    let rows: String = rows.iter().map(|row| line(row.iter().map(cell).collect())).collect();
    line(header.iter().map(|title| escaped(title)).collect()) + &rule + &rows
}

/// Code in a line, without a backtick.
fn code(text: &str) -> String {
    format!("`{text}`")
}

/// A code block; its fence is longer than any in the text.
fn fenced(code: &str, language: &str) -> String {
    let longest = code.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest + 1));
    let lines: Vec<String> = code.lines().map(printable).collect();
    format!("{fence}{language}\n{}\n{fence}\n\n", lines.join("\n"))
}

/// A printable sentence: what stands between backticks is code, all else is escaped, and names as a whole.
fn prose(text: &str, names: &[String], code: &dyn Fn(&str) -> String) -> String {
    let mut prose = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let found = names.iter().filter_map(|name| Some((rest.find(name.as_str())?, name.len())));
        let (at, length) = found
            .min_by_key(|(at, length)| (*at, std::cmp::Reverse(*length)))
            .unwrap_or((rest.len(), 0));
        prose += &with_code(&rest[..at], code);
        prose += &escaped(&rest[at..at + length]);
        rest = &rest[at + length..];
    }
    prose
}

/// Text without names: what stands between backticks is code.
fn with_code(text: &str, code: &dyn Fn(&str) -> String) -> String {
    let mut prose = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('`') {
        prose += &escaped(before);
        rest = match after.split_once('`') {
            Some((typed, behind)) if !typed.is_empty() => {
                prose += &code(typed);
                behind
            }
            _ => {
                prose += "\\`";
                after
            }
        };
    }
    prose + &escaped(rest)
}

/// A text in which nothing is markup: neither Markdown nor HTML, nor a mention of a person (`@name`).
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in printable(text).chars() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '@' => escaped.push_str("@<!-- -->"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' => {
                escaped.extend(['\\', character]);
            }
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_is_code_and_names_are_text() {
        let shown = |text: &str, names: &[&str]| {
            markdown(&[Part::Paragraph(text.to_owned())], names).trim_end().to_owned()
        };
        assert_eq!(shown("see `a_b <c>` and *d*", &[]), "see `a_b <c>` and \\*d\\*");
        let name = "x`y`z";
        assert_eq!(shown("x`y`z waits: `run`", &[name]), "x\\`y\\`z waits: `run`");
        assert_eq!(shown("``a` b`", &[]), "\\``a` b\\`");
        let row = vec!["`a|b` c|d".to_owned()];
        let table = markdown(&[Part::Table(vec!["t".to_owned()], vec![row])], &[]);
        assert_eq!(table.lines().last(), Some("| `a\\|b` c\\|d |"));
        let row = vec!["`a\\|<img>`".to_owned()];
        let table = markdown(&[Part::Table(vec!["t".to_owned()], vec![row])], &[]);
        assert_eq!(table.lines().last(), Some("| \\`a\\\\\\|&lt;img&gt;\\` |"));
        let facts = Part::Table(vec![String::new(); 2], vec![vec!["a".to_owned(), "b".to_owned()]]);
        assert_eq!(markdown(&[facts], &[]), "- a: b\n");
    }
}
