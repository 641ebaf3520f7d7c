//! Boxes inside boxes: each has a label and rows of boxes below it, and is as large as they need.

use super::svg::{Drawing, SMALL, TEXT, width};

/// The space between a box's border and what is in it.
const PADDING: i32 = 6;
/// The space between boxes.
const GAP: i32 = 6;

/// A box.
#[derive(Debug, Clone)]
pub(in crate::report) struct Frame {
    /// Its class in the style sheet.
    class: &'static str,
    /// The lines of text at its top.
    label: Vec<String>,
    /// Whether it is tight and its text small.
    small: bool,
    rows: Vec<Vec<Frame>>,
    /// Whether it is as wide as the box around it.
    wide: bool,
    tip: Option<String>,
    size: [i32; 2],
}

impl Frame {
    /// A box with padding around its text and boxes.
    pub(in crate::report) fn new(
        class: &'static str,
        label: Vec<String>,
        rows: Vec<Vec<Self>>,
    ) -> Self {
        Self { class, label, small: false, rows, wide: false, tip: None, size: [0; 2] }.measured()
    }

    /// A small box, like a core or PU.
    pub(in crate::report) fn small(
        class: &'static str,
        label: String,
        rows: Vec<Vec<Self>>,
    ) -> Self {
        let small = Self::new(class, vec![label], rows);
        Self { small: true, ..small }.measured()
    }

    /// The box, as wide as the one around it.
    pub(in crate::report) fn wide(self) -> Self {
        Self { wide: true, ..self }
    }

    /// The box with a minimum width.
    pub(in crate::report) fn at_least(mut self, width: i32) -> Self {
        self.size[0] = self.size[0].max(width);
        self
    }

    /// The box with a tooltip.
    pub(in crate::report) fn with_tip(self, tip: String) -> Self {
        Self { tip: Some(tip), ..self }
    }

    /// Its width, pixels.
    pub(in crate::report) fn width(&self) -> i32 {
        self.size[0]
    }

    /// Its height, pixels.
    pub(in crate::report) fn height(&self) -> i32 {
        self.size[1]
    }

    fn text_size(&self) -> i32 {
        if self.small { SMALL } else { TEXT }
    }

    fn padding(&self) -> i32 {
        if self.small { 3 } else { PADDING }
    }

    fn gap(&self) -> i32 {
        if self.small { 1 } else { GAP }
    }

    fn line(&self) -> i32 {
        self.text_size() + 3
    }

    fn label_height(&self) -> i32 {
        self.label.iter().map(|_| self.line()).sum()
    }

    fn measured(mut self) -> Self {
        let text = self.label.iter().map(|line| width(line, self.text_size())).max().unwrap_or(0);
        let rows = self.rows.iter().map(|row| {
            row.iter().map(|frame| frame.size[0] + self.gap()).sum::<i32>() - self.gap()
        });
        let inner = rows.max().unwrap_or(0).max(text);
        let heights: i32 = self.rows.iter().map(|row| row_height(row) + self.gap()).sum();
        self.size = [
            inner + 2 * self.padding(),
            self.label_height() + heights + 2 * self.padding() - self.gap().min(heights),
        ];
        if !self.label.is_empty() && !self.rows.is_empty() {
            self.size[1] += self.gap() / 2;
        }
        self
    }

    /// Draws it with its upper left corner at this point.
    pub(in crate::report) fn draw(&self, drawing: &mut Drawing, x: i32, y: i32) {
        self.draw_as_wide_as(drawing, x, y, self.size[0]);
    }

    fn draw_as_wide_as(&self, drawing: &mut Drawing, x: i32, y: i32, width: i32) {
        let height = self.size[1];
        drawing.rectangle(self.class, [x, y, width, height], self.tip.as_deref());
        let mut below = y + self.padding();
        let class = if self.small { "small" } else { "plain" };
        for (index, line) in self.label.iter().enumerate() {
            let bold = if index == 0 && !self.small { "bold" } else { class };
            drawing.text(bold, x + self.padding(), below + self.text_size() - 1, line);
            below += self.line();
        }
        if !self.label.is_empty() {
            below += self.gap() / 2;
        }
        for row in &self.rows {
            let mut right = x + self.padding();
            for frame in row {
                let wide =
                    if frame.wide { x + width - self.padding() - right } else { frame.size[0] };
                frame.draw_as_wide_as(drawing, right, below, wide);
                right += wide + self.gap();
            }
            below += row_height(row) + self.gap();
        }
    }
}

fn row_height(row: &[Frame]) -> i32 {
    row.iter().map(|frame| frame.size[1]).max().unwrap_or(0)
}

/// Boxes in rows of `columns`.
pub(in crate::report) fn in_columns(frames: Vec<Frame>, columns: usize) -> Vec<Vec<Frame>> {
    let alone = frames.len() == 1;
    let mut rows: Vec<Vec<Frame>> = Vec::new();
    for mut frame in frames {
        frame.wide |= alone && !frame.small;
        match rows.last_mut() {
            Some(row) if row.len() < columns => row.push(frame),
            _ => rows.push(vec![frame]),
        }
    }
    rows
}

/// The number of columns for `count` boxes: one that divides `count`, if possible near `best`.
pub(in crate::report) fn columns(count: usize, best: f64) -> usize {
    let away = |columns: usize| (columns as f64 - best).abs();
    let fitting = (1..=count).filter(|columns| count.is_multiple_of(*columns));
    let fitting = fitting.filter(|columns| (best / 1.7..=best * 1.7).contains(&(*columns as f64)));
    let nearest = fitting.min_by(|a, b| away(*a).total_cmp(&away(*b)));
    nearest.unwrap_or_else(|| (1..=count).find(|c| *c as f64 >= best).unwrap_or(count)).max(1)
}

/// Boxes in rows of limited width, at least one box each.
pub(in crate::report) fn wrapped(frames: Vec<Frame>, most: i32) -> Vec<Vec<Frame>> {
    let mut rows: Vec<Vec<Frame>> = Vec::new();
    let mut used = 0;
    for frame in frames {
        let wanted = frame.width() + GAP;
        match rows.last_mut() {
            Some(row) if used + wanted <= most => {
                used += wanted;
                row.push(frame);
            }
            _ => {
                used = wanted;
                rows.push(vec![frame]);
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_holds_its_label_and_its_rows() {
        let small = || Frame::small("pu", "P#0".to_owned(), Vec::new());
        let inner = small();
        let outer = Frame::new("core", vec!["L".to_owned()], in_columns(vec![small(); 5], 2));
        assert_eq!(outer.rows.len(), 3);
        assert_eq!(outer.width(), 2 * inner.width() + GAP + 2 * PADDING);
        assert!(outer.height() >= 3 * inner.height() + 2 * GAP + 2 * PADDING + TEXT);
        let most = 2 * inner.width() + 3 * GAP;
        assert_eq!(wrapped(vec![small(); 5], most).len(), 3);
        assert_eq!(wrapped(vec![small(); 2], 1).len(), 2);
    }

    #[test]
    fn columns_leave_no_rest_where_that_is_possible() {
        let results = [2, 4, 6, 7, 8, 24].map(|count| columns(count, (2.0 * count as f64).sqrt()));
        assert_eq!(results, [2, 2, 3, 4, 4, 6]);
        assert_eq!((columns(1, 1.0), columns(4, 2.0), columns(0, 1.0)), (1, 2, 1));
    }
}
