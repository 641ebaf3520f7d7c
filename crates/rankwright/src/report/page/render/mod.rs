//! A report as a page, as Markdown, as text and as JSON.

mod by_node;
mod html;
mod markdown;
mod parts;
mod text;

use super::{Cell, Report};
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
            ReportForm::Markdown => markdown::markdown(&parts::parts(self), &self.names()),
            ReportForm::Text => text::text(&parts::parts(self)),
            ReportForm::Json => to_json(self),
        }
    }

    /// Names that users gave, as far as they have backticks: of jobs, rows, the cluster and files.
    fn names(&self) -> Vec<&str> {
        let jobs = self.jobs.iter().map(|job| &job.name);
        let rows = self.tables.iter().flat_map(|table| &table.rows).filter_map(|row| row.first());
        let rows = rows.filter_map(|cell| match cell {
            Cell::Text(name) => Some(name),
            _ => None,
        });
        let cluster = self.machine.iter().map(|machine| &machine.name);
        let all = jobs.chain(rows).chain(cluster).chain(&self.given_names).map(String::as_str);
        all.filter(|name| name.contains('`')).collect()
    }
}

#[cfg(test)]
mod tests;
