//! The times of all runs, and their comparison.

use rankwright::measured::{PairedDifference, PairedResult, Program, RunTimes, Way};
use rankwright::report::page::Report;
use rankwright::report::to_json;
use serde::Serialize;

use crate::options::Format;
use crate::output;

/// The times of every way, in seconds; the n-th time of every way is from the same block.
#[derive(Debug)]
pub(super) struct Times {
    program: Program,
    seed: u64,
    failed: Option<Failed>,
}

/// The run that ended the comparison.
#[derive(Debug, Clone, Serialize)]
struct Failed {
    way: String,
    code: u8,
}

/// A way compared with the first.
#[derive(Debug, Serialize)]
struct Row<'a> {
    way: &'a str,
    runs: usize,
    median_s: Option<f64>,
    times_s: &'a [f64],
    /// `None` for the first way itself.
    against_first: Option<Against>,
}

#[derive(Debug, Serialize)]
struct Against {
    verdict: PairedResult,
    words: String,
    #[serde(flatten)]
    difference: PairedDifference,
}

impl Times {
    /// No times of these ways.
    pub(super) fn new(names: Vec<String>, seed: u64) -> Self {
        let ways = names.into_iter().map(Way::new).collect();
        let program = Program { name: String::new(), group: String::new(), promised: None, ways };
        Self { program, seed, failed: None }
    }

    pub(super) fn push(&mut self, way: usize, seconds: f64) {
        self.program.ways[way].seconds.push(seconds);
    }

    /// A run failed. Its time is not recorded, because a run that ends early is not fast.
    pub(super) fn failed(&mut self, way: usize, code: u8) {
        self.failed = Some(Failed { way: self.program.ways[way].name.clone(), code });
    }

    /// The median time of a way, seconds; `None` if it did not run.
    pub(super) fn median(&self, way: usize) -> Option<f64> {
        self.program.ways[way].median().map(|(median, _)| median)
    }

    /// The report of the times of a program of this name.
    pub(super) fn page(&self, program: &str) -> Report {
        let program = Program { name: program.to_owned(), ..self.program.clone() };
        Report::of_run_times(&RunTimes { programs: vec![program] })
    }

    fn row(&self, at: usize) -> Row<'_> {
        let against = |difference: PairedDifference| Against {
            verdict: difference.result(),
            words: difference.words(),
            difference,
        };
        let Way { name, seconds, .. } = &self.program.ways[at];
        Row {
            way: name,
            runs: seconds.len(),
            median_s: self.median(at),
            times_s: seconds,
            against_first: self.program.saved(at).map(against),
        }
    }

    /// The result in the wanted format; csv has a line for each run.
    pub(super) fn render(&self, format: Format) -> anyhow::Result<String> {
        let ways = &self.program.ways;
        let rows: Vec<Row> = (0..ways.len()).map(|at| self.row(at)).collect();
        Ok(match format {
            Format::Table => {
                let against = format!("against {}", ways[0].name);
                let cells: Vec<Vec<String>> = rows.iter().map(cells).collect();
                output::table(&["way", "runs", "median s", &against], &cells)
            }
            Format::Json => {
                let json =
                    serde_json::json!({"seed": self.seed, "ways": rows, "failed": self.failed});
                to_json(&json)
            }
            Format::Csv => {
                let of_way = |way: &Way| -> Vec<Vec<String>> {
                    let run = |(at, time): (usize, &f64)| {
                        vec![way.name.clone(), (at + 1).to_string(), time.to_string()]
                    };
                    way.seconds.iter().enumerate().map(run).collect()
                };
                let runs: Vec<Vec<String>> = ways.iter().flat_map(of_way).collect();
                output::csv(&["way", "run", "seconds"], &runs)
            }
        })
    }
}

fn cells(row: &Row<'_>) -> Vec<String> {
    vec![
        row.way.to_owned(),
        row.runs.to_string(),
        row.median_s.map_or("-".to_owned(), |median| format!("{median:.3}")),
        row.against_first.as_ref().map_or(String::new(), |against| against.words.clone()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_shown_beside_the_first() {
        let names = ["default", "placement", "cyclic"].map(str::to_owned).to_vec();
        let mut times = Times::new(names, 1);
        for block in [[10.0, 9.0, 10.1], [10.2, 9.2, 9.9], [9.9, 8.9, 10.0], [10.1, 9.0, 10.3]] {
            block.into_iter().enumerate().for_each(|(way, seconds)| times.push(way, seconds));
        }
        insta::assert_snapshot!(times.render(Format::Table).unwrap());
        times.push(0, 10.0);
        times.failed(1, 7);
        insta::assert_snapshot!(times.render(Format::Json).unwrap());
        insta::assert_snapshot!(
            times.render(Format::Csv).unwrap().lines().take(3).collect::<Vec<_>>().join("\n")
        );
    }
}
