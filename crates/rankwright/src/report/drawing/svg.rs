//! Pictures as SVG text: rectangles, lines and texts on a page, with one style sheet. Lengths are
//! CSS pixels.

use std::fmt::Write as _;

/// The size of plain text.
pub(in crate::report) const TEXT: i32 = 12;
/// The size of the text in small boxes.
pub(in crate::report) const SMALL: i32 = 10;

/// A picture in the making.
#[derive(Debug, Default)]
pub(in crate::report) struct Drawing {
    body: String,
    width: i32,
    height: i32,
}

impl Drawing {
    /// A box with round corners; `tip` is shown when a pointer rests on it.
    pub(in crate::report) fn rectangle(
        &mut self,
        class: &str,
        [x, y, width, height]: [i32; 4],
        tip: Option<&str>,
    ) {
        self.reach(x + width, y + height);
        let shape = format!("<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" ");
        let radius = if height < 20 { 2 } else { 4 };
        let _ = write!(self.body, "{shape}height=\"{height}\" rx=\"{radius}\"");
        self.body += &match tip {
            Some(tip) => format!("><title>{}</title></rect>\n", escaped(tip)),
            None => "/>\n".to_owned(),
        };
    }

    /// A text whose first baseline begins at this point.
    pub(in crate::report) fn text(&mut self, class: &str, x: i32, y: i32, text: &str) {
        self.reach(x + width(text, if class == "small" { SMALL } else { TEXT }), y + 4);
        let text = escaped(text);
        let _ = writeln!(self.body, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{text}</text>");
    }

    /// A line from the right of one box to the left of another: across, down, across.
    pub(in crate::report) fn connection(
        &mut self,
        [x, y]: [i32; 2],
        middle: i32,
        [to_x, to_y]: [i32; 2],
    ) {
        self.reach(x.max(to_x), y.max(to_y));
        let _ = writeln!(self.body, "<path class=\"link\" d=\"M{x} {y}H{middle}V{to_y}H{to_x}\"/>");
    }

    /// The whole file. `styles` are the rules for the classes that were used.
    pub(in crate::report) fn finish(self, title: &str, styles: &str) -> String {
        let (width, height) = (self.width + MARGIN, self.height + MARGIN);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\">\n<title>{}</title>\n<style>\n\
             text {{ font: {TEXT}px Helvetica, Arial, 'DejaVu Sans', sans-serif; fill: #1a1a1a }}\n\
             .small {{ font-size: {SMALL}px }}\n.bold {{ font-weight: bold }}\n\
             .heading {{ font-size: 18px; font-weight: bold }}\n\
             .link {{ fill: none; stroke: #666; stroke-width: 1.5 }}\n\
             {styles}</style>\n<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n{}</svg>\n",
            escaped(title),
            self.body
        )
    }

    fn reach(&mut self, x: i32, y: i32) {
        self.width = self.width.max(x);
        self.height = self.height.max(y);
    }
}

/// Free space around a picture.
pub(in crate::report) const MARGIN: i32 = 20;

/// About how wide a text is; rather more, since fonts differ.
pub(in crate::report) fn width(text: &str, size: i32) -> i32 {
    // In hundredths of the size, by the wide letters of DejaVu Sans.
    let letter = |c: char| match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '|' | '\'' | ' ' => 36,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '-' | '/' => 44,
        'm' | 'w' | 'M' | 'W' | '#' | '×' | '…' => 96,
        'A'..='Z' => 74,
        _ => 64,
    };
    let sum: i32 = text.chars().map(letter).sum();
    (sum * size + 99) / 100
}

/// The text, or its beginning with `…` if it is wider than that.
pub(in crate::report) fn shortened(text: &str, size: i32, most: i32) -> String {
    if width(text, size) <= most {
        return text.to_owned();
    }
    let mut kept = String::new();
    for letter in text.chars() {
        kept.push(letter);
        if width(&kept, size) + width("…", size) > most {
            kept.pop();
            break;
        }
    }
    kept + "…"
}

/// Text as XML takes it; control characters, which it does not take, become spaces.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            letter if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => {
                escaped.push(' ');
            }
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped_and_widen_the_page() {
        let mut drawing = Drawing::default();
        drawing.text("small", 10, 10, "<a & \"b\"\u{1}>");
        let svg = drawing.finish("t<", "");
        assert!(svg.contains(">&lt;a &amp; &quot;b&quot; &gt;</text>"), "{svg}");
        assert!(svg.contains("<title>t&lt;</title>"), "{svg}");
        assert!(!svg.contains("width=\"20\""), "{svg}");
    }

    #[test]
    fn long_texts_lose_their_end() {
        assert_eq!(shortened("node[00-15]", TEXT, 200), "node[00-15]");
        let short = shortened("node[00-15],fat[0-3]", TEXT, 60);
        assert!(short.starts_with("node") && short.ends_with('…') && width(&short, TEXT) <= 60);
    }
}
