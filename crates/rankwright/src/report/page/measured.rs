//! The report of measured run times, beside predicted ones where there are some.

use serde::Serialize;

use super::data::{Cell, Column, FactGroup, Kind, Outcome, Report, Table, Verdict};
use super::findings::{Found, Unmeasured};
use crate::measured::{PairedResult, Program, Promise, RunTimes};
use crate::statistics::median;
use crate::units::counted;

/// The run times of a program started in one way, with the 95 % interval of their median.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredWay {
    /// The program; empty if the file has no names.
    pub program: String,
    /// The way.
    pub way: String,
    /// Whether the other ways of the program are compared with this one.
    pub is_first: bool,
    /// Whether it is the placement of `place`.
    pub is_placed: bool,
    /// The predicted run time.
    pub predicted_s: Option<f64>,
    /// The median of the runs.
    pub median_s: f64,
    /// The lower end of its interval.
    pub low_s: f64,
    /// The upper end.
    pub high_s: f64,
    /// All runs.
    pub seconds: Vec<f64>,
}

/// A prediction that is further from the median than this share of it is a finding.
const FAR_OFF: f64 = 0.2;

/// A placement that took this factor longer than the fastest is a finding.
const REGRET: f64 = 1.03;

/// How intervals are computed.
const METHOD: &str = "Medians have a 95 % interval that assumes no distribution: of five runs the shortest and \
                      the longest. What is saved is by pairs of runs, with Student's 95 % interval.";

impl Report {
    /// The report of measured run times.
    #[must_use]
    pub fn of_run_times(times: &RunTimes) -> Self {
        let programs = &times.programs[..];
        let ways: Vec<MeasuredWay> = programs.iter().flat_map(measured_ways).collect();
        let has_predictions = ways.iter().any(|way| way.predicted_s.is_some());
        let what = if has_predictions { "predicted and measured" } else { "measured" };
        let title = match programs {
            [program] if program.name.is_empty() => format!("Run times, {what}"),
            [program] => format!("{}, {what}", program.name),
            several => format!("{}, {what}", counted(several.len(), "program")),
        };
        let verdict = match programs {
            [program] => of_one(program),
            several => of_several(several),
        };
        let mut report = Self::new(Kind::RunTimes, title, verdict);
        let runs: usize = ways.iter().map(|way| way.seconds.len()).sum();
        let text = format!("{} in {}", counted(runs, "run"), counted(ways.len(), "way"));
        report.fact(FactGroup::Run, "measured", text);
        if programs.len() > 1 {
            report.tables.push(groups(programs));
        }
        report.tables.push(rows(programs, has_predictions));
        report.measured = ways;
        report.find(programs.iter().flat_map(found).map(Found::finding));
        if !has_predictions {
            report.lack(Unmeasured::Predicted);
        }
        report
    }
}

fn measured_ways(program: &Program) -> Vec<MeasuredWay> {
    let placed = program.placed();
    let way = |(at, way): (usize, &crate::measured::Way)| {
        let (median_s, (low_s, high_s)) = way.median()?;
        Some(MeasuredWay {
            program: program.name.clone(),
            way: way.name.clone(),
            is_first: at == 0,
            is_placed: placed == Some(at),
            predicted_s: way.predicted_s,
            median_s,
            low_s,
            high_s,
            seconds: way.seconds.clone(),
        })
    };
    program.ways.iter().enumerate().filter_map(way).collect()
}

/// What the runs of one program say: of `place`'s way against the first, else of the fastest other one.
fn of_one(program: &Program) -> Verdict {
    let other = program.placed().filter(|way| *way > 0).or_else(|| {
        let medians =
            (1..program.ways.len()).filter_map(|way| Some((way, program.ways[way].median()?.0)));
        medians.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(way, _)| way)
    });
    let Some((way, saved)) = other.and_then(|way| Some((way, program.saved(way)?))) else {
        let text = "There are runs of one way only: nothing to compare.".to_owned();
        return Verdict { text, outcome: Outcome::Unknown, details: Vec::new() };
    };
    let (first, other) = (&program.ways[0], &program.ways[way]);
    let mut details = vec![METHOD.to_owned()];
    if let (Some(before), Some(after)) = (first.predicted_s, other.predicted_s) {
        let (share, word) = match after <= before {
            true => (1.0 - after / before, "faster"),
            false => (after / before - 1.0, "slower"),
        };
        details.insert(0, format!("Predicted was {:.1} % {word}.", 100.0 * share));
    }
    Verdict {
        text: format!("{} against {}: {}.", other.name, first.name, saved.words()),
        outcome: match saved.result() {
            PairedResult::Faster => Outcome::Gain,
            PairedResult::Slower => Outcome::Fault,
            PairedResult::NoDifference => Outcome::NoGain,
            PairedResult::Unclear | PairedResult::TooFewRuns => Outcome::Unknown,
        },
        details,
    }
}

/// What the runs of several programs say of predictions and of `place`.
fn of_several(programs: &[Program]) -> Verdict {
    let summary = Summary::new(programs.iter());
    let (right, pairs) = summary.pairs;
    let best = summary.regrets.iter().filter(|regret| **regret <= 1.0).count();
    let order = match pairs {
        0 => "No two ways that have predictions surely differ".to_owned(),
        _ => format!("Of two ways the predicted one is faster in {right} of {pairs} pairs"),
    };
    let placed = match summary.regrets.len() {
        0 => String::new(),
        all => format!(
            "; that of `place` is the fastest, within the intervals, for {best} of {}",
            counted(all, "program")
        ),
    };
    let mut details = Vec::new();
    if let (Some(seconds), Some(ratios)) = (spread(&summary.seconds), spread(&summary.ratios)) {
        details.push(format!(
            "Predicted run times are off by {seconds}; ratios to the first way by {ratios}."
        ));
    }
    let (kept, decided) = summary.promises;
    if decided > 0 {
        details.push(format!("What `place` said of a gain was right for {kept} of {decided}."));
    }
    details.push(METHOD.to_owned());
    let all_right = right == pairs && best == summary.regrets.len() && kept == decided;
    let outcome = match (pairs, all_right) {
        (0, _) => Outcome::Unknown,
        (_, true) => Outcome::AsPredicted,
        (_, false) => Outcome::NotAsPredicted,
    };
    Verdict { text: format!("{order}{placed}."), outcome, details }
}

/// The figures of several programs.
struct Summary {
    /// Pairs of ways in the predicted order, and all that surely differ.
    pairs: (usize, usize),
    /// Absolute errors of predicted run times, as shares of the medians.
    seconds: Vec<f64>,
    /// The same beyond the intervals of the medians.
    seconds_beyond: Vec<f64>,
    /// Absolute errors of ratios to the first way.
    ratios: Vec<f64>,
    /// The same beyond the intervals of the ratios.
    ratios_beyond: Vec<f64>,
    /// `place`'s median over the least one, for each program.
    regrets: Vec<f64>,
    /// Programs for which what `place` said was right, and for which the runs tell.
    promises: (usize, usize),
}

impl Summary {
    fn new<'a>(programs: impl Iterator<Item = &'a Program> + Clone) -> Self {
        let of_ways = |figure: &dyn Fn(&Program, usize) -> Option<f64>| -> Vec<f64> {
            let each = programs.clone().flat_map(|program| {
                let ways = (0..program.ways.len()).filter_map(|way| figure(program, way));
                ways.map(f64::abs).collect::<Vec<_>>()
            });
            each.collect()
        };
        let pairs = programs.clone().flat_map(Program::pairs);
        let pairs: Vec<bool> = pairs.map(|pair| pair.as_predicted).collect();
        let promises = programs.clone().map(Program::promise);
        let promises: Vec<Promise> =
            promises.filter(|promise| *promise != Promise::Undecided).collect();
        let kept = promises.iter().filter(|promise| **promise == Promise::Kept).count();
        Self {
            pairs: (pairs.iter().filter(|right| **right).count(), pairs.len()),
            seconds: of_ways(&|program, way| program.ways[way].error()),
            seconds_beyond: of_ways(&|program, way| program.ways[way].error_beyond_interval()),
            ratios: of_ways(&Program::ratio_error),
            ratios_beyond: of_ways(&Program::ratio_error_beyond_interval),
            regrets: programs.clone().filter_map(Program::regret).collect(),
            promises: (kept, promises.len()),
        }
    }

    fn cells(&self, name: &str, programs: usize) -> Vec<Cell> {
        let of = |(part, all): (usize, usize)| Cell::Text(format!("{part} of {all}"));
        let errors = [&self.seconds, &self.ratios, &self.seconds_beyond, &self.ratios_beyond];
        let errors = errors.map(|errors| spread(errors).map_or(Cell::Unknown, Cell::Text));
        let worst = self.regrets.iter().copied().fold(0.0, f64::max);
        let regret = (!self.regrets.is_empty()).then_some(Cell::Number(worst));
        let mut cells = vec![Cell::Text(format!("{name} ({programs})")), of(self.pairs)];
        cells.extend(errors);
        cells.extend([regret.unwrap_or(Cell::Unknown), of(self.promises)]);
        cells
    }
}

/// `7.1 % in the median, 71.4 % at worst`.
fn spread(errors: &[f64]) -> Option<String> {
    let worst = errors.iter().copied().reduce(f64::max)?;
    Some(format!("{:.1} % in the median, {:.1} % at worst", 100.0 * median(errors), 100.0 * worst))
}

/// A row for each group of programs, and one for all.
fn groups(programs: &[Program]) -> Table {
    let mut names: Vec<&str> = Vec::new();
    for program in programs {
        if !program.group.is_empty() && !names.contains(&&*program.group) {
            names.push(&program.group);
        }
    }
    let own = names.into_iter().map(|name| {
        let of = programs.iter().filter(|program| program.group == name);
        Summary::new(of.clone()).cells(name, of.count())
    });
    let all = Summary::new(programs.iter()).cells("all", programs.len());
    let text = |name: &str| column(name, None);
    Table {
        title: "How good predictions are".to_owned(),
        caption: "Pairs are two ways of a program whose intervals do not overlap and whose medians differ by more \
                  than 10 %. Errors are predicted over measured, less 1; beyond the interval: from its nearer \
                  end. Regret is the median of the placement of `place` over the least one, 1 where their \
                  intervals overlap."
            .to_owned(),
        columns: vec![
            text("programs"),
            text("pairs as predicted"),
            text("run times off"),
            text("ratios off"),
            text("run times off, beyond the interval"),
            text("ratios off, beyond the interval"),
            Column { numeric: true, ..text("worst regret") },
            text("gain as promised"),
        ],
        rows: own.chain([all]).collect(),
    }
}

fn column(name: &str, unit: Option<&str>) -> Column {
    Column { name: name.to_owned(), unit: unit.map(str::to_owned), numeric: unit.is_some() }
}

/// A column of the table of ways: its title and unit, whether it needs predictions, and its cell.
type WayColumn = (&'static str, Option<&'static str>, bool, fn(&Program, usize) -> Cell);

fn number(value: Option<f64>) -> Cell {
    value.map_or(Cell::Unknown, Cell::Number)
}

fn percent(share: Option<f64>) -> Cell {
    number(share.map(|share| 100.0 * share))
}

/// The columns of the table of ways, behind the program.
const COLUMNS: [WayColumn; 11] = [
    ("way", None, false, |program, way| Cell::Text(program.ways[way].name.clone())),
    ("runs", Some(""), false, |program, way| number(Some(program.ways[way].seconds.len() as f64))),
    ("predicted", Some("s"), true, |program, way| number(program.ways[way].predicted_s)),
    ("median", Some("s"), false, |program, way| number(program.ways[way].median().map(|it| it.0))),
    ("from", Some("s"), false, |program, way| number(program.ways[way].median().map(|it| it.1.0))),
    ("to", Some("s"), false, |program, way| number(program.ways[way].median().map(|it| it.1.1))),
    ("saved", Some("%"), false, |program, way| percent(program.saved(way).map(|it| it.saved))),
    ("saved at least", Some("%"), false, |program, way| {
        percent(program.saved(way).and_then(|it| it.interval).map(|it| it.0))
    }),
    ("saved at most", Some("%"), false, |program, way| {
        percent(program.saved(way).and_then(|it| it.interval).map(|it| it.1))
    }),
    ("run time off, beyond the interval", Some("%"), true, |program, way| {
        percent(program.ways[way].error_beyond_interval())
    }),
    ("ratio off, beyond the interval", Some("%"), true, |program, way| {
        percent(program.ratio_error_beyond_interval(way))
    }),
];

/// A row for each way of each program.
fn rows(programs: &[Program], has_predictions: bool) -> Table {
    let named = programs.iter().any(|program| !program.name.is_empty());
    let used: Vec<&WayColumn> =
        COLUMNS.iter().filter(|(_, _, predicted, _)| has_predictions || !predicted).collect();
    let mut columns: Vec<Column> = used
        .iter()
        .map(|(name, unit, ..)| Column {
            unit: unit.filter(|unit| !unit.is_empty()).map(str::to_owned),
            ..column(name, *unit)
        })
        .collect();
    if named {
        columns.insert(0, column("program", None));
    }
    let row = |(program, way): (&Program, usize)| -> Vec<Cell> {
        let name = named.then(|| Cell::Text(program.name.clone()));
        name.into_iter().chain(used.iter().map(|(.., cell)| cell(program, way))).collect()
    };
    let ways = programs.iter().flat_map(|program| {
        let measured = (0..program.ways.len()).filter(|way| !program.ways[*way].seconds.is_empty());
        measured.map(move |way| (program, way))
    });
    Table {
        title: "Run times".to_owned(),
        caption: "The median of the runs of each way with its 95 % interval, and the share of the time that the \
                  way saves against the first way of the program."
            .to_owned(),
        columns,
        rows: ways.map(row).collect(),
    }
}

/// What is not as it was predicted.
fn found(program: &Program) -> Vec<Found> {
    let ways = &program.ways;
    let of = match &*program.name {
        "" => String::new(),
        name => format!("{name}: "),
    };
    let wrong = program.pairs().into_iter().filter(|pair| !pair.as_predicted).map(|pair| {
        let [faster, slower] = [&ways[pair.faster].name, &ways[pair.slower].name];
        let text =
            format!("{of}{faster} is faster than {slower}, predicted was the other way round");
        Found::new("order-not-predicted", text)
    });
    let mut found: Vec<Found> = wrong.collect();
    if let (Some(regret), Some(fastest)) =
        (program.regret().filter(|regret| *regret > REGRET), program.fastest())
    {
        let text = format!(
            "{of}the placement of `place` takes {regret:.2} times as long as {}",
            ways[fastest].name
        );
        found.push(Found::new("not-the-fastest", text));
    }
    match program.promise() {
        Promise::Broken => found.push(Found::new(
            "gain-not-measured",
            format!("{of}`place` promised a shorter run, and the runs are not shorter"),
        )),
        Promise::Modest => found.push(Found::new(
            "gain-not-promised",
            format!("{of}the placement is faster, and `place` did not say so"),
        )),
        Promise::Kept | Promise::Undecided => {}
    }
    let far = ways.iter().filter_map(|way| Some((way, way.error()?)));
    let worst = far.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
    if let Some((way, error)) = worst.filter(|(_, error)| error.abs() > FAR_OFF) {
        let text =
            format!("{of}{} took {:.2} times as long as predicted", way.name, 1.0 / (1.0 + error));
        found.push(Found::new("run-time-not-predicted", text));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::read;

    fn report(text: &str) -> Report {
        Report::of_run_times(&read(text, "runs.csv").unwrap())
    }

    #[test]
    fn one_program_has_the_words_of_run_compare() {
        let mut text = "way,run,seconds\n".to_owned();
        for (run, (default, placed)) in
            [(10.0, 9.0), (10.2, 9.2), (9.9, 8.9), (10.1, 9.0)].into_iter().enumerate()
        {
            text += &format!("default,{run},{default}\nplacement,{run},{placed}\n");
        }
        let report = report(&text);
        let expected = "placement against default: 10.2 % faster (9.4 % to 11.0 %), n = 4.";
        assert_eq!((&*report.verdict.text, report.verdict.outcome), (expected, Outcome::Gain));
        assert_eq!(report.measured.len(), 2);
        assert!(report.measured[0].is_first && report.measured[1].is_placed);
        assert_eq!(report.missing.len(), 1, "no predictions");
        let [table] = &report.tables[..] else { panic!("{:?}", report.tables) };
        assert!(table.columns.iter().all(|column| column.name != "predicted"));
    }

    #[test]
    fn several_programs_are_summarised_and_misses_are_findings() {
        let header = "program,group,way,answer,predicted_s,seconds\n";
        let runs =
            |program: &str, way: &str, answer: &str, predicted: f64, seconds: f64| -> String {
                let run = |number: u32| {
                    let seconds = seconds * (1.0 + 0.001 * f64::from(number));
                    format!("{program},odd,{way},{answer},{predicted},{seconds}\n")
                };
                (0..5).map(run).collect()
            };
        let text = [
            header.to_owned(),
            runs("ring", "default", "", 2.0, 2.1),
            runs("ring", "place", "shorter_run", 1.0, 1.1),
            runs("heat", "default", "", 2.0, 1.0),
            runs("heat", "place", "shorter_run", 1.0, 1.5),
        ]
        .concat();
        let report = report(&text);
        let text = &report.verdict.text;
        assert!(
            text.starts_with("Of two ways the predicted one is faster in 1 of 2 pairs"),
            "{text}"
        );
        assert!(text.ends_with("for 1 of 2 programs."), "{text}");
        assert!(report.verdict.details[1].ends_with("right for 1 of 2."), "{:?}", report.verdict);
        let codes: Vec<&str> = report.findings.iter().map(|it| &*it.code).collect();
        let expected = [
            "order-not-predicted",
            "not-the-fastest",
            "gain-not-measured",
            "run-time-not-predicted",
        ];
        assert_eq!(codes, expected);
        assert_eq!(report.tables[0].rows.len(), 2, "one group and all");
        assert_eq!(report.tables[1].rows.len(), 4);
    }
}
