//! What a profile tells before any placement, as `traffic show` and `profile` print it.

use rankwright::report::to_json;
use rankwright::report::traffic::TrafficSummary;
use rankwright::report::triage::Triage;
use rankwright::report::workload::Sending;
use rankwright::traffic::Flow;
use serde::Serialize;

use crate::output::{csv, table};

/// Columns of the heaviest pairs.
const PAIR: [&str; 5] = ["source", "destination", "messages", "bytes", "largest"];

/// The report on one job.
#[derive(Debug, Serialize)]
pub(crate) struct TrafficReport {
    #[serde(flatten)]
    summary: TrafficSummary,
    #[serde(skip_serializing_if = "Option::is_none")]
    sending: Option<Sending>,
    triage: Triage,
}

impl TrafficReport {
    pub(crate) fn new(summary: TrafficSummary, sending: Option<Sending>, triage: Triage) -> Self {
        Self { summary, sending, triage }
    }

    /// Lines of text without the heaviest pairs.
    pub(crate) fn text(&self) -> String {
        let mut text = self.summary.title() + &self.summary.partners();
        text += &(self.triage.text() + &self.summary.text());
        if let Some(sending) = &self.sending {
            text += &format!("{:<16}{}\n", "sending", sending.line());
        }
        text
    }

    /// The heaviest pairs as a table with a title; empty if there are none.
    pub(crate) fn heaviest(&self) -> String {
        let rows = self.rows();
        if rows.is_empty() {
            return String::new();
        }
        format!("\nheaviest pairs\n{}", table(&PAIR, &rows))
    }

    /// Whether no pair of ranks sends anything, while collective calls carry bytes.
    pub(crate) fn has_only_collectives(&self) -> bool {
        self.summary.bytes == 0 && self.summary.collectives.iter().any(|calls| calls.bytes > 0)
    }

    pub(crate) fn json(&self) -> anyhow::Result<String> {
        Ok(to_json(self))
    }

    /// The heaviest pairs.
    pub(crate) fn csv(&self) -> String {
        csv(&PAIR, &self.rows())
    }

    fn rows(&self) -> Vec<Vec<u64>> {
        let cells = |flow: &Flow| {
            let (source, destination) = (flow.source.0.into(), flow.destination.0.into());
            vec![source, destination, flow.messages, flow.bytes, flow.largest]
        };
        self.summary.heaviest.iter().map(cells).collect()
    }
}
