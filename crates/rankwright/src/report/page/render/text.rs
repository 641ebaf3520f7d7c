//! Text for terminals.

use super::parts::Part;

/// The parts as text.
pub(super) fn text(parts: &[Part]) -> String {
    let mut text = String::new();
    for part in parts {
        match part {
            Part::Title(title) => text += &format!("{}\n", printable(title)),
            Part::Heading(title) => text += &format!("\n== {}\n", printable(title)),
            Part::Strong(line) | Part::Paragraph(line) => text += &format!("{}\n", printable(line)),
            Part::List(items) => {
                items.iter().for_each(|item| text += &format!("- {}\n", printable(item)));
            }
            Part::Code(code, _) => {
                code.lines().for_each(|line| text += &format!("    {}\n", printable(line)));
            }
            Part::Table(header, rows) => text += &table(header, rows),
        }
    }
    text
}

/// Columns as wide as their widest cell; a table without titles has no header line.
fn table(header: &[String], rows: &[Vec<String>]) -> String {
    let titled = header.iter().any(|title| !title.is_empty());
    let lines = titled.then_some(header).into_iter().chain(rows.iter().map(Vec::as_slice));
    let lines: Vec<Vec<String>> =
        lines.map(|cells| cells.iter().map(|cell| printable(cell)).collect()).collect();
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|cells| cells.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let padded = |cells: &Vec<String>| {
        let cells = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    lines.iter().map(padded).collect()
}

/// A text on one line without control characters, which a terminal would obey.
pub(super) fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' | '\r' => printable.push(' '),
            other if other.is_control() || is_direction(other) => {
                printable.extend(other.escape_unicode());
            }
            other => printable.push(other),
        }
    }
    printable
}

/// Characters that reverse the direction of writing, so that a text reads other than it is.
fn is_direction(character: char) -> bool {
    matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
