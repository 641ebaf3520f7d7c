//! Section 5 of both papers: their statements about simulations, and ours.

use rankwright::files::InputError;

use super::limits;
use super::reasons::explained;
use super::statements::{ACCEPTABLE, EQUAL, Statements, finishes_first};
use super::workloads::{RATES, REAL_2012, REAL_2013, SYNTHETIC_2012, SYNTHETIC_2013, mixed_2013};
use crate::data_file::{Cell, DataFile, data_file};
use crate::printed::Printed;
use crate::row::{Reading, Row, Verdict};
use crate::simulation::{MAPPINGS, Results, short_name};

/// How much less messages wait under one mapping than under others, in percent, from the text.
const PERCENTAGES_2013: DataFile = data_file!("2013/section-5.csv");
const PERCENTAGES_2012: DataFile = data_file!("2012/section-5.csv");

/// The rows of section 5 of 2013 by our reading, then by the rules as printed, then what it does not
/// print.
pub(crate) fn rows_2013(results: &Results) -> anyhow::Result<Vec<Row>> {
    let mut rows = statements_2013(results, Reading::Ours)?;
    rows.extend(implied(results)?);
    rows.extend(as_printed(statements_2013(results, Reading::Printed)?));
    rows.extend(limits::rows(results, &mixed_2013())?);
    rows.extend(sensitivity(results, &REAL_2013, "mapping-2013"));
    rows.extend(metrics(results));
    Ok(rows)
}

/// The rows of section 5 of 2012 by our reading, then by the rules as printed, then what it does not
/// print.
pub(crate) fn rows_2012(results: &Results) -> anyhow::Result<Vec<Row>> {
    let mut rows = statements_2012(results, Reading::Ours)?;
    rows.extend(as_printed(statements_2012(results, Reading::Printed)?));
    rows.extend(limits::rows(results, &SYNTHETIC_2012)?);
    rows.extend(sensitivity(results, &REAL_2012, "mapping-2012"));
    rows.extend(metrics(results));
    Ok(rows)
}

/// The rows in which a mapping by the rules as printed appears.
fn as_printed(rows: Vec<Row>) -> impl Iterator<Item = Row> {
    let rows = rows.into_iter().filter(|row| row.what.contains("as printed"));
    rows.map(|row| Row { reading: Reading::Printed, ..row })
}

fn statements_2013(results: &Results, reading: Reading) -> anyhow::Result<Vec<Row>> {
    let synthetic = Statements { item: "Section 5.1", results, reading };
    let mut rows = Vec::new();
    for workload in ["bcast", "gather"] {
        let alike = ["blocked", "drb", "mapping-2012", "mapping-2013"];
        rows.extend(synthetic.alike(workload, &alike, EQUAL));
        rows.extend(synthetic.longer(workload, "cyclic", "mapping-2013"));
    }
    rows.extend(synthetic.alike("all-to-all", &["blocked", "drb", "mapping-2013"], EQUAL));
    rows.extend(synthetic.longer("all-to-all", "cyclic", "mapping-2013"));
    rows.extend(synthetic.longer("all-to-all", "mapping-2012", "mapping-2013"));
    rows.extend(synthetic.alike("linear", &["mapping-2012", "mapping-2013"], EQUAL));
    rows.extend(synthetic.longer("linear", "cyclic", "blocked"));
    let workloads = [&SYNTHETIC_2013[..], &REAL_2013].concat();
    rows.extend(percentages((results, reading), PERCENTAGES_2013, &workloads)?);
    let real = Statements { item: "Section 5.2", results, reading };
    for workload in ["hw-1", "hw-2"] {
        for worse in ["blocked", "drb"] {
            rows.extend(real.longer(workload, worse, "cyclic"));
        }
    }
    let why = "\"no significant differences\" is read as 25 % between the best and the worst";
    rows.extend(real.alike("mw", &MAPPINGS, ACCEPTABLE).map(|row| row.because(why)));
    rows.extend(real.least("mw", "mapping-2013"));
    for workload in ["lw-1", "lw-2"] {
        rows.extend(real.acceptable(workload, "mapping-2013"));
    }
    let figures = ["Fig. 10", "Fig. 11"];
    rows.extend(finishes_first((results, reading), figures, "mapping-2013", &SYNTHETIC_2013));
    Ok(rows)
}

fn statements_2012(results: &Results, reading: Reading) -> anyhow::Result<Vec<Row>> {
    let workloads = [&SYNTHETIC_2012[..], &REAL_2012].concat();
    let mut rows = percentages((results, reading), PERCENTAGES_2012, &workloads)?;
    let synthetic = Statements { item: "Section 5.2", results, reading };
    for workload in SYNTHETIC_2012.map(short_name) {
        for worse in ["blocked", "drb"] {
            rows.extend(synthetic.longer(workload, worse, "cyclic"));
        }
    }
    let figures = ["Fig. 3", "Fig. 4"];
    rows.extend(finishes_first((results, reading), figures, "mapping-2012", &SYNTHETIC_2012));
    let real = Statements { item: "Section 5.3", results, reading };
    for workload in ["real-1", "real-2"] {
        for worse in ["blocked", "drb"] {
            rows.extend(real.longer(workload, worse, "cyclic"));
        }
    }
    rows.extend(real.alike("real-2", &["cyclic", "mapping-2012"], 0.05));
    rows.extend(real.least("real-3", "mapping-2012"));
    rows.extend(real.alike("real-4", &["blocked", "mapping-2012"], 0.05));
    for better in ["blocked", "drb", "mapping-2012"] {
        rows.extend(real.longer("real-4", "cyclic", better));
    }
    Ok(rows)
}

/// The percentages in a file. Where the column `worse` names several mappings (`blocked+cyclic`),
/// the best of them counts.
fn percentages(
    (results, reading): (&Results, Reading),
    file: DataFile,
    workloads: &[&'static str],
) -> anyhow::Result<Vec<Row>> {
    let workloads: Vec<&str> = workloads.iter().map(|workload| short_name(workload)).collect();
    let row = |[item, workload, better, worse, percent]: [Cell; 5]| {
        let workload = workloads[workload.position_in(&workloads)?];
        better.position_in(&MAPPINGS)?;
        let better = reading.mapping(better.text);
        let others: Vec<&str> = worse.text.split('+').collect();
        if !others.iter().all(|other| MAPPINGS.contains(other)) {
            return Err(worse.unexpected(format!("some of {}, joined by +", MAPPINGS.join(", "))));
        }
        let others: Vec<&str> = others.into_iter().map(|other| reading.mapping(other)).collect();
        let printed = percent.printed()?;
        let Some(ours) = improvement(results, workload, better, &others, 1.0) else {
            return Ok(None);
        };
        let best = if others.len() > 1 { "the best of " } else { "" };
        let what = format!("{workload}: {better} waits less than {best}{}", others.join(", "));
        let row = compared(Row::new(item.text, what, ours, "%"), printed);
        Ok(Some(explained(row, workload, results)))
    };
    let records = file.records(["item", "workload", "better", "worse", "percent"])?;
    let rows: Result<Vec<Option<Row>>, InputError> = records.into_iter().map(row).collect();
    Ok(rows?.into_iter().flatten().collect())
}

/// How much less messages wait under `mapping-2012` than under `cyclic` by the two percentages that
/// 2013 prints for `mapping-2013` over each of them, and ours.
fn implied(results: &Results) -> anyhow::Result<Vec<Row>> {
    let records = PERCENTAGES_2013.records(["item", "workload", "better", "worse", "percent"])?;
    let mut rows = Vec::new();
    for [item, workload, _, worse, over_cyclic] in &records {
        let old = records.iter().find(|[_, other, _, worse, _]| {
            other.text == workload.text && worse.text == "mapping-2012"
        });
        let ours = improvement(results, workload.text, "mapping-2012", &["cyclic"], 1.0);
        let (Some([.., over_old]), "cyclic", Some(ours)) = (old, worse.text, ours) else {
            continue;
        };
        let printed = ratio_of_gains(over_cyclic.printed()?, over_old.printed()?);
        let what =
            format!("{}: mapping-2012 waits less than cyclic, as two gains imply", workload.text);
        let row = compared(Row::new(format!("{}, implied", item.text), what, ours, "%"), printed);
        rows.push(Row { implied: true, ..explained(row, workload.text, results) });
    }
    Ok(rows)
}

/// The gain in percent of the second baseline over the first, from the gains of one mapping over each.
fn ratio_of_gains(over_first: Printed, over_second: Printed) -> Printed {
    let gain = |first: f64, second: f64| 100.0 * (1.0 - (100.0 - first) / (100.0 - second));
    let value = gain(over_first.value, over_second.value);
    let most =
        gain(over_first.value + over_first.rounding, over_second.value - over_second.rounding);
    Printed { value, rounding: most - value }
}

/// A row of an improvement with the paper's number.
fn compared(row: Row, printed: Printed) -> Row {
    let same = direction(row.ours) == direction(printed.value);
    let otherwise = if same { Verdict::SameOrdering } else { Verdict::NotReproduced };
    row.compared_with(printed, otherwise)
}

/// Whether messages wait less (1), as long (0) or longer (-1), of an improvement in percent.
fn direction(percent: f64) -> i8 {
    match percent {
        percent if percent > 100.0 * EQUAL => 1,
        percent if percent < -100.0 * EQUAL => -1,
        _ => 0,
    }
}

/// How much less messages wait under `better` than under the best of `others`, in percent; `None`
/// if a result is missing.
pub(super) fn improvement(
    results: &Results,
    workload: &str,
    better: &str,
    others: &[&str],
    rate: f64,
) -> Option<f64> {
    let waiting = |mapping: &str| Some(results.find(workload, mapping, rate)?.total_waiting_s);
    let others: Vec<f64> = others.iter().map(|other| waiting(other)).collect::<Option<_>>()?;
    let least = others.into_iter().fold(f64::INFINITY, f64::min);
    let improvement = 100.0 * (1.0 - waiting(better)? / least);
    improvement.is_finite().then_some(improvement)
}

/// The dependence of the improvement over `cyclic` on the rates, which the papers do not print.
fn sensitivity(results: &Results, workloads: &[&str], mapping: &str) -> Vec<Row> {
    let at_rates = |reading| RATES.map(|rate| (reading, rate));
    let mut rows = Vec::new();
    for workload in workloads.iter().map(|workload| short_name(workload)) {
        for (reading, rate) in [Reading::Ours, Reading::Printed].into_iter().flat_map(at_rates) {
            let mapping = reading.mapping(mapping);
            let what =
                format!("{workload}: {mapping} waits less than cyclic at {rate} times the rates");
            let ours = improvement(results, workload, mapping, &["cyclic"], rate);
            let row = ours.map(|ours| Row::new("sensitivity", what, ours, "%"));
            rows.extend(row.map(|row| Row { reading, ..row }));
        }
    }
    rows
}

/// All times of all results at the rates of the workload, none of which is printed.
fn metrics(results: &Results) -> Vec<Row> {
    let mut rows = Vec::new();
    for result in results.0.iter().filter(|result| result.rate == 1.0) {
        let metrics = [
            ("waiting", result.total_waiting_s),
            ("waiting at network devices", result.nic_waiting_s),
            ("waiting at memories", result.memory_waiting_s),
            ("workload finish", result.workload_finish_s),
            ("total finish", result.total_finish_s),
        ];
        rows.extend(metrics.map(|(metric, time)| {
            let what = format!("{} {}: {metric}", short_name(result.workload), result.mapping);
            Row::new("metrics", what, time, "s")
        }));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::super::workloads::{cases_2012, cases_2013};
    use super::*;
    use crate::simulation::{Case, CaseResult};

    /// Results in which a mapping waits as long as its position in [`MAPPINGS`], from 1.
    fn results(cases: &[Case]) -> Results {
        let result = |case: &Case| {
            let name = case.mapping.trim_end_matches(" as printed");
            let position = MAPPINGS.iter().position(|mapping| *mapping == name);
            let waiting = position.map_or(0.5, |position| (position + 1) as f64);
            CaseResult {
                workload: case.workload,
                rate: case.rate,
                mapping: case.mapping,
                total_waiting_s: waiting,
                nic_waiting_s: waiting,
                memory_waiting_s: 0.0,
                workload_finish_s: waiting,
                total_finish_s: waiting,
                messages: 1,
                seeds: case.seeds,
            }
        };
        Results(cases.iter().map(result).collect())
    }

    fn row<'a>(rows: &'a [Row], what: &str) -> &'a Row {
        rows.iter().find(|row| row.what.starts_with(what)).unwrap_or_else(|| panic!("{what}"))
    }

    #[test]
    fn statements_are_judged_by_the_waiting() {
        let rows = rows_2013(&results(&cases_2013())).unwrap();
        let improvement = row(&rows, "mixed-1: mapping-2013 waits less than cyclic");
        assert_eq!((improvement.paper, improvement.ours), (Some(12.8), -150.0));
        assert_eq!(improvement.verdict, Verdict::NotReproduced);
        let best = row(&rows, "linear: mapping-2013 waits less than the best of");
        assert_eq!(best.ours, -400.0);
        let alike = row(&rows, "all-to-all: blocked, drb, mapping-2013 wait alike");
        assert_eq!((alike.ours, alike.verdict), (5.0, Verdict::NotReproduced));
        let longer = row(&rows, "linear: cyclic waits longer than blocked");
        assert_eq!((longer.ours, longer.verdict), (2.0, Verdict::Reproduced));
        let rows = rows_2012(&results(&cases_2012())).unwrap();
        let longer = row(&rows, "real-4: cyclic waits longer than mapping-2012");
        assert_eq!((longer.ours, longer.verdict), (0.5, Verdict::NotReproduced));
    }

    #[test]
    fn rows_by_the_printed_rules_are_marked() {
        let rows = rows_2013(&results(&cases_2013())).unwrap();
        let printed =
            row(&rows, "mixed-1: mapping-2013 as printed waits less than mapping-2012 as");
        assert_eq!((printed.paper, printed.ours), (Some(7.7), -25.0));
        for row in &rows {
            let marked = row.what.contains("as printed") && row.item != "metrics";
            assert_eq!(row.reading == Reading::Printed, marked, "{}", row.what);
        }
    }

    #[test]
    fn the_gain_of_2012_over_cyclic_follows_from_two_gains_of_2013() {
        let rows = rows_2013(&results(&cases_2013())).unwrap();
        let implied = |row: &&Row| row.implied;
        assert!(rows.iter().all(|row| row.implied == row.item.ends_with(", implied")));
        let of_paper: Vec<f64> = rows.iter().filter(implied).filter_map(|row| row.paper).collect();
        let rounded: Vec<f64> = of_paper.iter().map(|gain| (10.0 * gain).round() / 10.0).collect();
        assert_eq!(rounded, [5.5, 2.9, 8.5, 7.6, 28.9, 91.2, 11.6, -5.8]);
        assert_eq!(rows.iter().find(implied).unwrap().ours, -100.0);
    }

    #[test]
    fn rows_without_results_are_left_out() {
        assert!(rows_2013(&Results::default()).unwrap().is_empty());
        let mut some = results(&cases_2012());
        some.0.retain(|result| result.mapping != "drb");
        let rows = rows_2012(&some).unwrap();
        assert!(!rows.is_empty());
        assert!(rows.iter().all(|row| row.ours.is_finite() && !row.what.contains("drb")));
    }

    #[test]
    fn unknown_names_in_the_data_are_errors() {
        let message = |text| {
            let file = DataFile { path: "papers/2013/section-5.csv", text };
            let results = Results::default();
            let read = percentages((&results, Reading::Ours), file, &SYNTHETIC_2012);
            read.unwrap_err().to_string()
        };
        assert_eq!(
            message("item,workload,better,worse,percent\nS,synt-5,cyclic,drb,5\n"),
            "papers/2013/section-5.csv:2: workload: found `synt-5`, expected one of synt-1, synt-2, \
             synt-3, synt-4"
        );
        assert_eq!(
            message("item,workload,better,worse,percent\nS,synt-1,cyclic,drb+kway,5\n"),
            "papers/2013/section-5.csv:2: worse: found `drb+kway`, expected some of blocked, cyclic, \
             drb, mapping-2012, mapping-2013, joined by +"
        );
    }
}
