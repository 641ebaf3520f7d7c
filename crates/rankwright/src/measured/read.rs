//! Run times as comma-separated values: a header, then one line for each run. `run --compare --format csv`
//! writes such files, `benchmarks/proof` too.
//!
//! Columns are found by name, in any order. `way` and `seconds` are required; `run` and other columns are
//! left out. Lines that begin with `#` are comments.

use csv::{ReaderBuilder, StringRecord};

use super::{Program, RunTimes, Way};
use crate::files::InputError;

/// What the file should be.
const EXPECTED: &str = "run times: a header with the columns way,seconds, and a line for each run";

/// The most runs of a way.
const MOST_RUNS: usize = 10_000;

/// Seconds: from, to.
const SECONDS: (f64, f64) = (1e-9, 1e12);

/// What `place --format json` has as its `verdict` where it promises a shorter run.
const PROMISE: &str = "shorter_run";

/// Whether a text is such a file, by its first line that is no comment.
#[must_use]
pub fn is_run_times(text: &str) -> bool {
    let header = text.lines().find(|line| !line.starts_with('#')).unwrap_or_default();
    let names: Vec<&str> = header.split(',').map(|name| name.trim().trim_matches('"')).collect();
    ["way", "seconds"].iter().all(|name| names.contains(name))
}

/// Reads run times.
///
/// # Errors
/// If a column is missing, a line has another number of cells, a time is not a positive number, or lines of one
/// program or way contradict each other. The error has the line and the column.
pub fn read(text: &str, file: &str) -> Result<RunTimes, InputError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = ReaderBuilder::new()
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .has_headers(false)
        .flexible(true)
        .from_reader(text.as_bytes());
    let mut records = reader.records();
    let mut next = || -> Result<Option<(usize, StringRecord)>, InputError> {
        let Some(record) = records.next() else { return Ok(None) };
        let record = record.map_err(|error| InputError::new(file, error, EXPECTED))?;
        let line = record.position().map_or(0, |position| line_of(text, position));
        Ok(Some((line, record)))
    };
    let Some((line, header)) = next()? else {
        return Err(InputError::new(file, "no line", EXPECTED));
    };
    let columns = Columns::new(&header, file).map_err(|error| error.at_line(line))?;
    let mut times = RunTimes { programs: Vec::new() };
    while let Some((line, record)) = next()? {
        let added = columns.add(&record, &mut times, file);
        added.map_err(|error| error.at_line(line))?;
    }
    if times.programs.is_empty() {
        return Err(InputError::new(file, "no run", EXPECTED));
    }
    Ok(times)
}

/// The number of the line of a record, from 1; its position is before the empty lines and comments above it.
fn line_of(text: &str, position: &csv::Position) -> usize {
    let rest = text.get(position.byte() as usize..).unwrap_or_default();
    let above = rest.lines().take_while(|line| line.trim().is_empty() || line.starts_with('#'));
    position.line() as usize + above.count()
}

/// The positions of the columns.
struct Columns {
    count: usize,
    way: usize,
    seconds: usize,
    program: Option<usize>,
    group: Option<usize>,
    answer: Option<usize>,
    predicted: Option<usize>,
}

impl Columns {
    fn new(header: &StringRecord, file: &str) -> Result<Self, InputError> {
        let position = |name: &str| header.iter().position(|column| column == name);
        let required = |name: &str| {
            let found = format!("no column `{name}`");
            position(name).ok_or_else(|| InputError::new(file, found, EXPECTED))
        };
        Ok(Self {
            count: header.len(),
            way: required("way")?,
            seconds: required("seconds")?,
            program: position("program"),
            group: position("group"),
            answer: position("answer"),
            predicted: position("predicted_s"),
        })
    }

    /// Adds the run of a line.
    fn add(
        &self,
        record: &StringRecord,
        times: &mut RunTimes,
        file: &str,
    ) -> Result<(), InputError> {
        if record.len() != self.count {
            let (found, expected) = (record.len(), self.count);
            return Err(InputError::new(
                file,
                format!("{found} cells"),
                format!("{expected}, as the header has"),
            ));
        }
        let cell = |at: usize| record.get(at).unwrap_or_default();
        let optional = |at: Option<usize>| at.map_or("", cell);
        let name = cell(self.way);
        if name.is_empty() {
            let error = InputError::new(file, "nothing", "the name of a way, like default");
            return Err(error.in_field("way"));
        }
        let seconds = time(cell(self.seconds), file).map_err(|error| error.in_field("seconds"))?;
        let predicted_s = match optional(self.predicted) {
            "" | "-" => None,
            text => Some(time(text, file).map_err(|error| error.in_field("predicted_s"))?),
        };
        let promised = Some(optional(self.answer)).filter(|answer| !answer.is_empty());
        let program = times.program(optional(self.program));
        let told = [
            ("group", !agree(&mut program.group, optional(self.group))),
            ("answer", !agree_on(&mut program.promised, promised.map(|it| it == PROMISE))),
        ];
        let way = program.way(name);
        let told = told
            .into_iter()
            .chain([("predicted_s", !way.seconds.is_empty() && way.predicted_s != predicted_s)]);
        if let Some((field, _)) = told.into_iter().find(|(_, differs)| *differs) {
            let found = format!("another value than in a line above, for `{name}`");
            return Err(InputError::new(file, found, "the same in all lines").in_field(field));
        }
        if way.seconds.len() == MOST_RUNS {
            let found = format!("more than {MOST_RUNS} runs of `{name}`");
            return Err(InputError::new(file, found, format!("at most {MOST_RUNS}")));
        }
        way.predicted_s = predicted_s;
        way.seconds.push(seconds);
        Ok(())
    }
}

/// Whether a value is what is known, or nothing; what was not known is known from now on.
fn agree(known: &mut String, value: &str) -> bool {
    if known.is_empty() {
        value.clone_into(known);
    }
    value.is_empty() || known == value
}

fn agree_on(known: &mut Option<bool>, value: Option<bool>) -> bool {
    *known = known.or(value);
    value.is_none() || *known == value
}

fn time(text: &str, file: &str) -> Result<f64, InputError> {
    let (least, most) = SECONDS;
    let number = text.parse::<f64>().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| {
        InputError::new(file, format!("`{text}`"), "seconds as a number above 0, like 12.5")
    })
}

impl RunTimes {
    fn program(&mut self, name: &str) -> &mut Program {
        let at = self.programs.iter().position(|program| program.name == name);
        let at = at.unwrap_or_else(|| {
            self.programs.push(Program {
                name: name.to_owned(),
                group: String::new(),
                promised: None,
                ways: Vec::new(),
            });
            self.programs.len() - 1
        });
        &mut self.programs[at]
    }
}

impl Program {
    fn way(&mut self, name: &str) -> &mut Way {
        let at = self.ways.iter().position(|way| way.name == name);
        let at = at.unwrap_or_else(|| {
            self.ways.push(Way::new(name));
            self.ways.len() - 1
        });
        &mut self.ways[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_run_compare_writes_is_read() {
        let text =
            "way,run,seconds\ndefault,1,2.5\nplacement,1,2\nplacement,2,2.1\ndefault,2,2.4\n";
        assert!(is_run_times(text));
        let times = read(text, "runs.csv").unwrap();
        let [program] = &times.programs[..] else { panic!("{times:?}") };
        assert_eq!((&*program.name, program.promised), ("", None));
        assert_eq!(program.ways[0].seconds, [2.5, 2.4]);
        assert_eq!(program.ways[1].seconds, [2.0, 2.1]);
    }

    #[test]
    fn programs_have_groups_answers_and_predictions() {
        let text = "# by hand\nprogram,group,way,answer,predicted_s,run,seconds\n\
                    \"ring, 32 ranks\",odd,default,,1.5,1,2\n\
                    \"ring, 32 ranks\",odd,place,shorter_run,1,1,1.1\n\
                    heat,even,default,,,1,3\nheat,even,place,no_gain,2.5,1,3\n";
        assert!(is_run_times(text));
        let times = read(text, "runs.csv").unwrap();
        let [ring, heat] = &times.programs[..] else { panic!("{times:?}") };
        assert_eq!(
            (&*ring.name, &*ring.group, ring.promised),
            ("ring, 32 ranks", "odd", Some(true))
        );
        assert_eq!((heat.promised, heat.ways[0].predicted_s), (Some(false), None));
        assert_eq!(heat.ways[1].predicted_s, Some(2.5));
    }

    #[test]
    fn wrong_lines_are_named() {
        let error = |text: &str| read(text, "runs.csv").unwrap_err().to_string();
        for (text, expected) in [
            ("", "no line"),
            ("way,seconds\n", "no run"),
            ("way,time\nx,1\n", "runs.csv:1"),
            ("way,seconds\nx,1\nx\n", "runs.csv:3"),
            ("way,seconds\nx,1\n\nx,-1\n", "runs.csv:4"),
            ("way,seconds\nx,nan\n", "found `nan`"),
            ("way,seconds\n,1\n", "the name of a way"),
            ("way,predicted_s,seconds\nx,1,1\nx,2,1\n", "another value than in a line above"),
            ("way,answer,seconds\nx,no_gain,1\ny,shorter_run,1\n", "answer"),
        ] {
            assert!(error(text).contains(expected), "{text:?}: {}", error(text));
        }
        assert!(!is_run_times("source,destination,bytes\n0,1,2\n"));
    }
}
