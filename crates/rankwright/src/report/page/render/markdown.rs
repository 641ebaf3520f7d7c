//! Markdown for issue trackers (GitHub's and GitLab's flavour).

use super::parts::Part;
use super::text::printable;

/// The parts as Markdown.
pub(super) fn markdown(parts: &[Part]) -> String {
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
            Part::Strong(strong) => text += &format!("**{}**\n\n", escaped(strong)),
            Part::Paragraph(paragraph) => text += &format!("{}\n\n", escaped(paragraph)),
            Part::List(items) => {
                items.iter().for_each(|item| text += &format!("- {}\n", escaped(item)));
            }
            Part::Code(code) => text += &fenced(code),
            Part::Table(header, rows) => text += &(table(header, rows) + "\n"),
        }
    }
    text.trim_end().to_owned() + "\n"
}

fn table(header: &[String], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| escaped(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let rule = format!("|{}\n", "---|".repeat(header.len()));
    let rows: String = rows.iter().map(|row| line(row)).collect();
    line(header) + &rule + &rows
}

/// A code block; its fence is longer than any in the text.
fn fenced(code: &str) -> String {
    let longest = code.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest + 1));
    let lines: Vec<String> = code.lines().map(printable).collect();
    format!("{fence}sh\n{}\n{fence}\n\n", lines.join("\n"))
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
