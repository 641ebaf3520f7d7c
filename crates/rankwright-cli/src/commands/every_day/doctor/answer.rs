//! The answer, and the findings below it.

use std::fmt::Write;

use rankwright::report::to_json;
use serde::Serialize;

use super::finding::{Finding, State};
use super::packages::Packages;
use super::table::Check;
use crate::options::Format;
use crate::output::{self, Meaning, Stream};

/// The commands of every day that can lack something.
const EVERY_DAY: [&str; 3] = ["profile", "place", "run"];

/// All findings.
pub(super) struct Examination {
    rows: Vec<Row>,
}

/// A finding of a check.
struct Row {
    check: &'static Check,
    finding: Finding,
}

/// The result for programs.
#[derive(Serialize)]
struct Report<'a> {
    works: bool,
    answer: String,
    checks: Vec<Entry<'a>>,
}

/// A finding for programs.
#[derive(Serialize)]
struct Entry<'a> {
    check: &'a str,
    part: &'a str,
    state: State,
    found: &'a str,
    needed_by: &'a [&'a str],
    purpose: &'a str,
    /// Whether the commands that need it do not work because of it.
    stops: bool,
    way_out: Option<String>,
    packages: Option<&'a Packages>,
}

impl Examination {
    pub(super) fn new(checks: impl Iterator<Item = (&'static Check, Vec<Finding>)>) -> Self {
        let rows = checks.flat_map(|(check, findings)| {
            findings.into_iter().map(move |finding| Row { check, finding })
        });
        Self { rows: rows.collect() }
    }

    /// Whether everything that the commands of every day need works.
    pub(super) fn works(&self) -> bool {
        self.stopped().is_empty()
    }

    /// The result in a format; `stream` is where it goes, `None` for a file.
    pub(super) fn show(&self, format: Format, stream: Option<Stream>) -> String {
        match format {
            Format::Table => self.table(stream),
            Format::Csv => self.csv(),
            Format::Json => {
                let checks = self.rows.iter().map(Row::entry).collect();
                let result = Report { works: self.works(), answer: self.answer(), checks };
                to_json(&result)
            }
        }
    }

    /// The commands of every day that do not work, each with the first reason; those with the same
    /// reason together.
    fn stopped(&self) -> Vec<(Vec<&'static str>, &Row)> {
        let mut stopped: Vec<(Vec<&'static str>, &Row)> = Vec::new();
        for command in EVERY_DAY {
            let stops = |row: &&Row| row.finding.stops && row.check.needed_by.contains(&command);
            let Some(row) = self.rows.iter().find(stops) else { continue };
            match stopped.iter_mut().find(|(_, other)| std::ptr::eq(*other, row)) {
                Some((commands, _)) => commands.push(command),
                None => stopped.push((vec![command], row)),
            }
        }
        stopped
    }

    /// One sentence.
    fn answer(&self) -> String {
        let stopped = self.stopped();
        if stopped.is_empty() {
            let but = self.launcher_beside_a_broken_one().unwrap_or_default();
            return format!("Everything that `profile`, `place` and `run` need works{but}.");
        }
        let because = |(commands, row): &(Vec<&str>, &Row)| {
            let names: Vec<String> = commands.iter().map(|name| format!("`{name}`")).collect();
            let verb = if commands.len() == 1 { "does" } else { "do" };
            let Finding { part, found, .. } = &row.finding;
            let way_out = row.finding.way_out().map_or(String::new(), |way| format!(": {way}"));
            format!("{} {verb} not work: {part}: {found}{way_out}", names.join(" and "))
        };
        stopped.iter().map(because).collect::<Vec<_>>().join("; ") + "."
    }

    /// The launcher that works, where the first on PATH does not: commands that name no launcher meet that.
    fn launcher_beside_a_broken_one(&self) -> Option<String> {
        let mut launchers = self.rows.iter().filter(|row| row.check.name == "launcher");
        let first = &launchers.next().filter(|row| row.finding.state == State::Broken)?.finding;
        let works = &launchers.find(|row| row.finding.state == State::Ok)?.finding.part;
        let way_out = first.way_out().map_or(String::new(), |way| format!(": {way}"));
        let Finding { part, found, .. } = first;
        Some(format!(" with {works}, but not with {part}, the first on PATH: {found}{way_out}"))
    }

    /// The answer, a line for each finding, and the way out below those that need one.
    fn table(&self, stream: Option<Stream>) -> String {
        let paint = |text: &str, meaning| match stream {
            Some(stream) => output::paint(text, meaning, stream),
            None => text.to_owned(),
        };
        let rows: Vec<Vec<String>> = self.rows.iter().map(Row::cells).collect();
        let table = output::table(&["state", "part", "needed by", "found"], &rows);
        let mut lines = table.lines();
        let answer = paint(&self.answer(), Meaning::Answer);
        let mut text = format!("{answer}\n\n{}\n", lines.next().unwrap_or_default());
        for (line, row) in lines.zip(&self.rows) {
            // The state stands first on its line.
            let state = row.finding.state;
            let rest = line.strip_prefix(state.name()).unwrap_or_default();
            let _ = writeln!(text, "{}{rest}", paint(state.name(), meaning(state)));
            if let Some(way_out) = row.finding.way_out() {
                let _ = writeln!(text, "    -> {way_out}");
            }
        }
        text
    }

    fn csv(&self) -> String {
        let header = [
            "check",
            "part",
            "state",
            "found",
            "needed by",
            "purpose",
            "stops",
            "way out",
            "debian",
            "fedora",
            "spack",
        ];
        let cells = |row: &Row| {
            let entry = row.entry();
            let package = |of: fn(&Packages) -> &'static str| {
                entry.packages.map_or(String::new(), |packages| of(packages).to_owned())
            };
            vec![
                entry.check.to_owned(),
                entry.part.to_owned(),
                entry.state.name().to_owned(),
                entry.found.to_owned(),
                entry.needed_by.join(" "),
                entry.purpose.to_owned(),
                entry.stops.to_string(),
                entry.way_out.unwrap_or_default(),
                package(|packages| packages.debian),
                package(|packages| packages.fedora),
                package(|packages| packages.spack),
            ]
        };
        output::csv(&header, &self.rows.iter().map(cells).collect::<Vec<_>>())
    }
}

/// The colour of a state.
fn meaning(state: State) -> Meaning {
    match state {
        State::Ok => Meaning::Good,
        State::Missing | State::NotNeeded | State::NotTried => Meaning::Warning,
        State::Broken => Meaning::Error,
    }
}

impl Row {
    fn entry(&self) -> Entry<'_> {
        let Finding { part, state, found, packages, stops, .. } = &self.finding;
        Entry {
            check: self.check.name,
            part,
            state: *state,
            found,
            needed_by: self.check.needed_by,
            purpose: self.check.purpose,
            stops: *stops,
            way_out: self.finding.way_out(),
            packages: *packages,
        }
    }

    fn cells(&self) -> Vec<String> {
        let commands: Vec<String> =
            self.check.needed_by.iter().map(|name| format!("`{name}`")).collect();
        let needed = format!("{}: {}", commands.join(", "), self.check.purpose);
        let Finding { part, state, found, .. } = &self.finding;
        vec![state.name().to_owned(), part.clone(), needed, found.clone()]
    }
}
