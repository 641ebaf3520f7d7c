//! Verdicts in words, as a table and for other programs.

use rankwright::report::to_json;

use super::verdict::{Actual, Verdict, Wanted};
use crate::options::Format;
use crate::output;

const HEADER: [&str; 9] = [
    "rank",
    "host wanted",
    "host",
    "PUs P# wanted",
    "PUs P#",
    "NUMA P# wanted",
    "NUMA P#",
    "memory",
    "verdict",
];

/// The number of ranks that differ in anything.
pub(super) fn wrong(verdicts: &[Verdict]) -> usize {
    verdicts.iter().filter(|verdict| !verdict.is_ok()).count()
}

/// Whether all ranks are where they should be, as a sentence.
pub(super) fn sentence(verdicts: &[Verdict]) -> String {
    let misplaced = verdicts.iter().filter(|verdict| !verdict.in_place).count();
    match (verdicts.len(), misplaced) {
        (1, 0) => format!("the only rank is where it should be{}", but(verdicts)),
        (ranks, 0) => format!("all {ranks} ranks are where they should be{}", but(verdicts)),
        (1, _) => "the only rank is not where it should be".to_owned(),
        (ranks, wrong) => format!("{wrong} of {ranks} ranks are not where they should be"),
    }
}

/// What other jobs have to do with ranks that are in their places; empty if nothing.
fn but(verdicts: &[Verdict]) -> String {
    let count = |has: fn(&Verdict) -> bool| verdicts.iter().filter(|verdict| has(verdict)).count();
    let beside = match (verdicts.len(), count(|verdict| verdict.other_jobs.beside)) {
        (_, 0) => None,
        (1, _) => Some("shares its core with another job".to_owned()),
        (_, 1) => Some("1 shares its core with another job".to_owned()),
        (_, ranks) => Some(format!("{ranks} share cores with another job")),
    };
    let several = match (verdicts.len(), count(|verdict| verdict.other_jobs.several)) {
        (_, 0) => None,
        (1, _) => Some("several jobs have it".to_owned()),
        (_, ranks) => Some(format!("several jobs have {ranks} of these ranks")),
    };
    let clauses: Vec<String> = beside.into_iter().chain(several).collect();
    if clauses.is_empty() { String::new() } else { format!(", but {}", clauses.join(", and ")) }
}

/// The result in the wanted format. The table is below the sentence and has the wrong ranks; if `verbose`,
/// all ranks.
pub(super) fn render(
    verdicts: &[Verdict],
    format: Format,
    verbose: bool,
) -> anyhow::Result<String> {
    let rows = |chosen: &dyn Fn(&Verdict) -> bool| -> Vec<Vec<String>> {
        verdicts.iter().filter(|verdict| chosen(verdict)).map(cells).collect()
    };
    let all_ok = verdicts.iter().all(Verdict::is_ok);
    Ok(match format {
        Format::Table => {
            let rows = rows(&|verdict| verbose || !verdict.is_ok());
            let table = (!rows.is_empty()).then(|| format!("\n{}", output::table(&HEADER, &rows)));
            sentence(verdicts) + "\n" + &table.unwrap_or_default()
        }
        Format::Csv => output::csv(&HEADER, &rows(&|_| true)),
        Format::Json => {
            let json = serde_json::json!({"ok": all_ok, "ranks": verdicts});
            to_json(&json)
        }
    })
}

fn cells(verdict: &Verdict) -> Vec<String> {
    let dash = || "-".to_owned();
    let number = |number: Option<u32>| number.map_or_else(dash, |number| number.to_string());
    let wanted = |field: fn(&Wanted) -> String| verdict.wanted.as_ref().map_or_else(dash, field);
    let actual = |field: fn(&Actual) -> String| verdict.actual.as_ref().map_or_else(dash, field);
    vec![
        number(verdict.rank),
        wanted(|wanted| wanted.host.clone()),
        actual(|actual| actual.host.clone()),
        wanted(|wanted| wanted.pus.clone()),
        actual(|actual| actual.pus.clone()),
        wanted(|wanted| wanted.numa.map_or("-".to_owned(), |numa| numa.to_string())),
        actual(|actual| actual.numa.clone()),
        actual(|actual| actual.memory.clone()),
        if verdict.is_ok() { "ok".to_owned() } else { verdict.differences.join("; ") },
    ]
}
