//! A report as a page, as Markdown, as text and as JSON.

mod html;
mod markdown;
mod parts;
mod text;

use super::Report;
use crate::report::to_json;

/// The form of a written report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportForm {
    /// One HTML file that needs no network.
    Html,
    /// Markdown for an issue tracker.
    Markdown,
    /// Text for a terminal.
    Text,
    /// The data of the page.
    Json,
}

impl Report {
    /// The report in one of its forms, with a line end. Names of hosts, programs and jobs are text in all of
    /// them, never markup, script or control sequences.
    #[must_use]
    pub fn render(&self, form: ReportForm) -> String {
        match form {
            ReportForm::Html => html::page(self),
            ReportForm::Markdown => markdown::markdown(&parts::parts(self)),
            ReportForm::Text => text::text(&parts::parts(self)),
            ReportForm::Json => to_json(self),
        }
    }
}

#[cfg(test)]
mod tests;
