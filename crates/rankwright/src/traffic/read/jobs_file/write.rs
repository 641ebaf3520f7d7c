//! Writing patterns as a workload file.

use std::fmt::Write;

use crate::traffic::generate::pattern::Pattern;

/// The text of a workload file with a job for each pattern.
#[must_use]
pub fn write(patterns: &[Pattern]) -> String {
    let mut text = String::new();
    for (position, pattern) in patterns.iter().enumerate() {
        if position > 0 {
            text.push('\n');
        }
        table(&mut text, pattern);
    }
    text
}

fn table(text: &mut String, pattern: &Pattern) {
    let mut line = |field: &str, value: String| {
        let _ = writeln!(text, "{field}{value}");
    };
    let name = pattern.shape.name();
    line("[[job]]", String::new());
    line("processes = ", pattern.ranks.to_string());
    line("pattern = ", format!("\"{name}\""));
    if let Some(points) = pattern.points {
        line("points = ", points.to_string());
    }
    if let Some(grid) = &pattern.grid {
        let axes: Vec<String> = grid.iter().map(ToString::to_string).collect();
        line("grid = ", format!("\"{}\"", axes.join("x")));
    }
    if pattern.periodic {
        line("periodic = ", "true".to_owned());
    }
    if name == "random" {
        line("degree = ", pattern.degree.to_string());
    }
    line("length = ", format!("\"{}\"", pattern.length));
    line("messages = ", pattern.messages.to_string());
    if let Some(rate) = pattern.rate {
        line("rate = ", format!("\"{rate}\""));
        line("cv = ", format!("{:?}", pattern.cv));
        if pattern.in_step {
            line("in_step = ", "true".to_owned());
        }
    }
    if pattern.renumber {
        line("renumber = ", "true".to_owned());
    }
    if pattern.renumber || name == "random" {
        line("seed = ", pattern.seed.to_string());
    }
}
