//! The table of the answer.

use super::sentence::{percent, time};
use super::{Answer, AnswerRow, Role};
use crate::units::Bytes;

/// A column: its title, and its cell for a row.
type Column = (&'static str, fn(&AnswerRow) -> String);

const RUN_TIME: [Column; 3] = [
    ("run time", |row| about(row) + &time(row.run_time_s)),
    ("gain", |row| row.gain.map_or_else(|| "-".to_owned(), |gain| about(row) + &percent(gain))),
    ("communication", |row| about(row) + &time(row.communication_s)),
];

const WAITING: [Column; 2] = [
    ("waiting", |row| about(row) + &time(row.total_waiting_s)),
    ("end", |row| about(row) + &time(row.workload_finish_s)),
];

const TRAFFIC: [Column; 2] = [
    ("between nodes", |row| {
        format!("{:.1} ({})", Bytes(row.inter_node_bytes), percent(row.inter_node_share))
    }),
    ("busiest NIC", |row| match row.busiest_nic_busy {
        Some(busy) => format!("{} busy", percent(busy)),
        None => time(Some(row.busiest_nic_time_s)),
    }),
];

/// Before the times of a placement that was not replayed.
fn about(row: &AnswerRow) -> String {
    if row.estimated { "~".to_owned() } else { String::new() }
}

const HOPS: Column = ("hops/byte", |row| format!("{:.2}", row.hops_per_byte));

const NODES: [Column; 2] = [
    ("nodes", |row| row.nodes.to_string()),
    ("ranks/node", |row| match row.ranks_per_node {
        [least, most] if least == most => least.to_string(),
        [least, most] => format!("{least}-{most}"),
    }),
];

impl Answer {
    /// The placements of the answer for people: header and rows.
    #[must_use]
    pub fn table(&self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        self.table_with(&[])
    }

    /// As [`table`](Self::table), followed by all other candidates, the best first.
    #[must_use]
    pub fn table_of_all(&self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        self.table_with(&self.others)
    }

    fn table_with(&self, others: &[AnswerRow]) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let rows = self.rows.iter().map(|row| (name(row, self.launcher), row));
        let others = others.iter().map(|row| (row.strategy.to_string(), row));
        let rows: Vec<(String, &AnswerRow)> = rows.chain(others).collect();
        let columns = columns(rows.iter().map(|(_, row)| *row));
        let cells = |(name, row): (String, &AnswerRow)| {
            [name].into_iter().chain(columns.iter().map(|(_, cell)| cell(row))).collect()
        };
        let titles = columns.iter().map(|(title, _)| *title);
        (["placement"].into_iter().chain(titles).collect(), rows.into_iter().map(cells).collect())
    }

    /// What weakens the answer, for people: a line each.
    #[must_use]
    pub fn remarks(&self) -> String {
        self.weaknesses.iter().map(|weakness| format!("- {weakness}\n")).collect()
    }
}

/// The columns in which rows have something to show.
fn columns<'a>(rows: impl Iterator<Item = &'a AnswerRow> + Clone) -> Vec<Column> {
    let any = |known: fn(&AnswerRow) -> bool| rows.clone().any(known);
    let mut columns: Vec<Column> = Vec::new();
    if any(|row| row.run_time_s.is_some()) || any(|row| row.gain.is_some()) {
        let known = |(title, _): &&Column| match *title {
            "run time" => any(|row| row.run_time_s.is_some()),
            "communication" => any(|row| row.communication_s.is_some()),
            _ => true,
        };
        columns.extend(RUN_TIME.iter().filter(known));
    } else if any(|row| row.workload_finish_s.is_some()) {
        columns.extend(WAITING);
    }
    columns.extend(TRAFFIC);
    columns.extend((!any(|row| row.workload_finish_s.is_some())).then_some(HOPS));
    columns.extend(NODES);
    columns
}

/// Whether two placements show the same figures.
pub(super) fn look_alike(first: &AnswerRow, second: &AnswerRow) -> bool {
    let both = [first.clone(), second.clone()];
    let same = |(title, cell): &Column| {
        // The launcher's default has no gain against itself.
        let unknown = *title == "gain" && both.iter().any(|row| row.gain.is_none());
        unknown || cell(first) == cell(second)
    };
    columns(both.iter()).iter().all(same)
}

/// The role of a placement, and its strategy.
fn name(row: &AnswerRow, launcher: &str) -> String {
    match row.role {
        Role::DefaultAndBest | Role::Default => {
            format!("default of {launcher}: {}", row.strategy)
        }
        Role::Best => format!("best: {}", row.strategy),
        Role::Next => format!("next best: {}", row.strategy),
    }
}
