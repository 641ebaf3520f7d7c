//! What a report says, as parts of a text: the same for Markdown and for terminals.

use super::super::data::{Cell, Column, Command, Report, Table};
use super::super::placements::DeviceLoad;
use super::super::strategies::StrategyRow;
use super::by_node::{ranks_per_node, traffic};
use crate::units::{Bytes, Seconds, counted, four_digits, percent};

/// A part of a text.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part {
    /// The title of the report.
    Title(String),
    /// The title of a section.
    Heading(String),
    /// What matters most.
    Strong(String),
    /// A paragraph.
    Paragraph(String),
    /// A list.
    List(Vec<String>),
    /// Something to type or to save, and its language.
    Code(String, &'static str),
    /// A table: header and rows.
    Table(Vec<String>, Vec<Vec<String>>),
}

/// The most devices of a text: those that carry most under some placement.
const DEVICES: usize = 16;

/// The most lines of a launch file in a text.
const LINES: usize = 40;

/// All parts of a report, in the order of the page.
pub(super) fn parts(report: &Report) -> Vec<Part> {
    let mut parts =
        vec![Part::Title(report.title.clone()), Part::Strong(report.verdict.text.clone())];
    if !report.verdict.details.is_empty() {
        parts.push(Part::List(report.verdict.details.clone()));
    }
    let facts = report.facts.iter().map(|fact| vec![fact.name.clone(), fact.value.clone()]);
    section(&mut parts, "What, when, where", table(&["", ""], facts));
    section(&mut parts, "What to type", report.commands.iter().flat_map(command).collect());
    section(&mut parts, "Traffic", traffic(report));
    section(&mut parts, "Ranks per node", ranks_per_node(report));
    section(&mut parts, "Bytes per network device", devices(report));
    section(&mut parts, "Time line", timeline(report));
    section(&mut parts, "Strategies", strategies(report));
    for table in &report.tables {
        section(&mut parts, &table.title, own_table(table));
    }
    section(&mut parts, "Findings", findings(report));
    let missing = report.missing.iter().flat_map(|missing| {
        let text = Part::List(vec![missing.text.clone()]);
        [Some(text), missing.snippet.clone().map(typed)].into_iter().flatten()
    });
    section(&mut parts, "Not measured", missing.collect());
    parts
}

/// Adds a section, unless it is empty.
fn section(parts: &mut Vec<Part>, title: &str, content: Vec<Part>) {
    if !content.is_empty() {
        parts.push(Part::Heading(title.to_owned()));
        parts.extend(content);
    }
}

/// A table, unless it has no row.
pub(super) fn table(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Vec<Part> {
    let rows: Vec<Vec<String>> = rows.collect();
    let header = header.iter().map(|title| (*title).to_owned()).collect();
    if rows.is_empty() { Vec::new() } else { vec![Part::Table(header, rows)] }
}

/// What helps: commands for a shell, or lines of cluster.toml.
fn typed(text: String) -> Part {
    let is_shell = text.lines().any(|line| line.starts_with("rankwright "));
    Part::Code(text, if is_shell { SHELL } else { "toml" })
}

const SHELL: &str = "sh";

/// A file is a script if it says so; others have rows for a launcher.
fn language(command: &Command) -> &'static str {
    let is_script = |file: &str| file.ends_with(".sh") || command.text.starts_with("#!");
    match &command.file {
        Some(file) if !is_script(file) => "text",
        _ => SHELL,
    }
}

fn command(command: &Command) -> Vec<Part> {
    let lines = command.text.lines().count();
    let title = match &command.file {
        Some(file) => format!("{} ({file})", command.title),
        None => command.title.clone(),
    };
    let whole = command.file.is_none() || lines <= LINES;
    let code = match whole {
        true => Part::Code(command.text.clone(), language(command)),
        false => Part::Paragraph(format!("{}; the page has them.", counted(lines, "line"))),
    };
    vec![Part::Paragraph(format!("{title}:")), code]
}

pub(super) fn bytes(bytes: u64) -> String {
    format!("{:.1}", Bytes(bytes))
}

fn time(seconds: Option<f64>, error: Option<f64>) -> String {
    let error = error.map_or(String::new(), |error| format!(" ± {:.2}", Seconds(error)));
    seconds.map_or_else(|| "-".to_owned(), |time| format!("{:.3}{error}", Seconds(time)))
}

fn devices(report: &Report) -> Vec<Part> {
    let Some(machine) = &report.machine else { return Vec::new() };
    let most = |load: &DeviceLoad| {
        load.out.iter().chain(&load.incoming).chain(&load.counted_out).copied().max()
    };
    let mut shown: Vec<&DeviceLoad> = report.devices.iter().collect();
    shown.sort_by_key(|load| std::cmp::Reverse(most(load)));
    shown.truncate(DEVICES);
    let counted_some = shown.iter().any(|load| load.counted_out.is_some());
    let mut header = vec!["device".to_owned()];
    for placement in &report.placements {
        header.extend(["out", "in"].map(|way| format!("{way}, {}", placement.name)));
    }
    if counted_some {
        header.extend(["counted out", "counted in", "remark"].map(str::to_owned));
    }
    let row = |load: &&DeviceLoad| {
        let node = machine.nodes.get(load.node as usize).map_or("", |node| &node.name);
        let name = match &load.nic {
            Some(nic) => format!("{node} {nic}"),
            None => node.to_owned(),
        };
        let both = load.out.iter().zip(&load.incoming).flat_map(|(out, into)| [*out, *into]);
        let mut cells: Vec<String> = [name].into_iter().chain(both.map(bytes)).collect();
        if counted_some {
            let counted = |count: Option<u64>| count.map_or_else(|| "-".to_owned(), bytes);
            cells.extend([counted(load.counted_out), counted(load.counted_in)]);
            cells.push(load.counted_note.clone().unwrap_or_default());
        }
        cells
    };
    let rows: Vec<Vec<String>> = shown.iter().map(row).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let mut parts = vec![Part::Table(header, rows)];
    if report.devices.len() > DEVICES {
        let more = counted(report.devices.len() - DEVICES, "more device");
        parts.push(Part::Paragraph(format!("And {more} that carry less.")));
    }
    parts
}

fn timeline(report: &Report) -> Vec<Part> {
    let Some(timeline) = &report.timeline else { return Vec::new() };
    let share = |share: Option<f64>| share.map_or_else(|| "-".to_owned(), percent);
    let rows = timeline.windows.iter().map(|window| {
        vec![
            time(Some(window.begin_s), None),
            time(Some(window.end_s), None),
            share(window.load_balance),
            share(window.serialisation),
            share(Some(window.transfer)),
        ]
    });
    let header = ["from", "to", "load balance", "serialisation", "transfer"];
    let answer = (!report.verdict.says(&timeline.answer)).then(|| timeline.answer.clone());
    answer.map(Part::Paragraph).into_iter().chain(table(&header, rows)).collect()
}

fn strategies(report: &Report) -> Vec<Part> {
    /// A column: its title, whether a row has it, and its cell.
    type OfRow = (&'static str, fn(&StrategyRow) -> bool, fn(&StrategyRow) -> String);
    let Some(strategies) = &report.strategies else { return Vec::new() };
    let gain = |row: &StrategyRow| match (row.gain, row.gain_error) {
        (Some(gain), Some(error)) => format!("{} ± {}", percent(gain), percent(error)),
        (Some(gain), None) => percent(gain),
        _ => "-".to_owned(),
    };
    let columns: [OfRow; 8] = [
        ("run time", |row| row.run_time_s.is_some(), |row| time(row.run_time_s, None)),
        ("gain", |row| row.gain.is_some(), gain),
        ("waiting", |row| row.waiting_s.is_some(), |row| time(row.waiting_s, row.waiting_error_s)),
        ("end", |row| row.finish_s.is_some(), |row| time(row.finish_s, row.finish_error_s)),
        ("between nodes", |_| true, |row| bytes(row.inter_node_bytes)),
        (
            "busiest NIC",
            |row| row.busiest_nic_time_s.is_some(),
            |row| time(row.busiest_nic_time_s, None),
        ),
        ("nodes", |_| true, |row| row.nodes.to_string()),
        ("note", |row| row.note.is_some(), |row| row.note.clone().unwrap_or_default()),
    ];
    let columns: Vec<&OfRow> =
        columns.iter().filter(|(_, has, _)| strategies.rows.iter().any(has)).collect();
    let header: Vec<&str> =
        ["strategy", "role"].into_iter().chain(columns.iter().map(|(title, ..)| *title)).collect();
    let rows = strategies.rows.iter().map(|row| {
        let name_and_role = [row.name.clone(), strategies.role_of(row)];
        name_and_role.into_iter().chain(columns.iter().map(|(_, _, cell)| cell(row))).collect()
    });
    let reason = (!report.verdict.says(&strategies.reason)).then(|| strategies.reason.clone());
    reason.map(Part::Paragraph).into_iter().chain(table(&header, rows)).collect()
}

fn own_table(own: &Table) -> Vec<Part> {
    let header = own.columns.iter().map(titled).collect();
    let is_whole = |at: usize| {
        let mut cells = own.rows.iter().filter_map(|row| row.get(at));
        cells.all(|cell| !matches!(cell, Cell::Number(number) if number.fract() != 0.0))
    };
    let whole: Vec<bool> = (0..own.columns.len()).map(is_whole).collect();
    let cell = |(at, cell): (usize, &Cell)| match cell {
        Cell::Text(text) => text.clone(),
        Cell::Number(number) => shown(*number, own.columns[at].unit.as_deref(), whole[at]),
        Cell::Unknown => "-".to_owned(),
    };
    let rows = own.rows.iter().map(|row| row.iter().enumerate().map(cell).collect());
    vec![Part::Paragraph(own.caption.clone()), Part::Table(header, rows.collect())]
}

/// Units that a cell has beside its number, as on the command line.
const UNITS_OF_CELLS: [&str; 3] = ["s", "%", "share"];

/// The title of a column, with the unit if its cells have none.
fn titled(column: &Column) -> String {
    match column.unit.as_deref().filter(|unit| !UNITS_OF_CELLS.contains(unit)) {
        Some(unit) => format!("{}, {unit}", column.name),
        None => column.name.clone(),
    }
}

/// A number of a column with this unit; `whole` if all its numbers are.
fn shown(number: f64, unit: Option<&str>, whole: bool) -> String {
    match unit {
        Some("s") => format!("{:.3}", Seconds(number)),
        Some("%") => percent(number / 100.0),
        Some("share") => percent(number),
        _ if whole => format!("{number:.0}"),
        _ => four_digits(number),
    }
}

fn findings(report: &Report) -> Vec<Part> {
    let word = |value: serde_json::Result<serde_json::Value>| {
        value.ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
    };
    let mut parts = Vec::new();
    for finding in &report.findings {
        let severity = word(serde_json::to_value(finding.severity));
        let addressee = word(serde_json::to_value(finding.addressee));
        let remedy = match finding.remedy.as_str() {
            "" => String::new(),
            remedy => format!(": {remedy}"),
        };
        let text =
            format!("{severity} [{}], for the {addressee}: {}{remedy}", finding.code, finding.text);
        parts.push(Part::List(vec![text]));
        parts.extend(finding.snippet.clone().map(typed));
    }
    parts
}
