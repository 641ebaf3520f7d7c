//! The times of all runs, and their comparison.

use rankwright::choose::PairedDifference;
use rankwright::report::to_json;
use rankwright::statistics::median;
use serde::Serialize;

use crate::options::Format;
use crate::output;

/// The times of every way, in seconds; the n-th time of every way is from the same block.
#[derive(Debug)]
pub(super) struct Times {
    ways: Vec<OfWay>,
    seed: u64,
    failed: Option<Failed>,
}

#[derive(Debug)]
struct OfWay {
    name: String,
    seconds: Vec<f64>,
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
    verdict: rankwright::choose::PairedResult,
    words: String,
    #[serde(flatten)]
    difference: PairedDifference,
}

impl Times {
    pub(super) fn new(names: Vec<String>, seed: u64) -> Self {
        let way = |name| OfWay { name, seconds: Vec::new() };
        Self { ways: names.into_iter().map(way).collect(), seed, failed: None }
    }

    pub(super) fn push(&mut self, way: usize, seconds: f64) {
        self.ways[way].seconds.push(seconds);
    }

    /// A run failed. Its time is not recorded, because a run that ends early is not fast.
    pub(super) fn failed(&mut self, way: usize, code: u8) {
        self.failed = Some(Failed { way: self.ways[way].name.clone(), code });
    }

    /// The median time of a way, seconds; `None` if it did not run.
    pub(super) fn median(&self, way: usize) -> Option<f64> {
        let seconds = &self.ways[way].seconds;
        (!seconds.is_empty()).then(|| median(seconds))
    }

    fn rows(&self) -> Vec<Row<'_>> {
        let first = &self.ways[0];
        let row = |(at, way): (usize, &'_ OfWay)| {
            let against = || {
                let times = |way: &OfWay| way.seconds.clone();
                let pairs: Vec<(f64, f64)> = times(first).into_iter().zip(times(way)).collect();
                let difference = PairedDifference::of(&pairs);
                Against { verdict: difference.result(), words: difference.words(), difference }
            };
            (at, (at > 0).then(against))
        };
        let againsts = self.ways.iter().enumerate().map(row);
        let rows = againsts.map(|(at, against_first)| {
            let OfWay { name, seconds } = &self.ways[at];
            Row {
                way: name,
                runs: seconds.len(),
                median_s: self.median(at),
                times_s: seconds,
                against_first,
            }
        });
        rows.collect()
    }

    /// The result in the wanted format; csv has a line for each run.
    pub(super) fn render(&self, format: Format) -> anyhow::Result<String> {
        let rows = self.rows();
        Ok(match format {
            Format::Table => {
                let against = format!("against {}", self.ways[0].name);
                let cells: Vec<Vec<String>> = rows.iter().map(cells).collect();
                output::table(&["way", "runs", "median s", &against], &cells)
            }
            Format::Json => {
                let json =
                    serde_json::json!({"seed": self.seed, "ways": rows, "failed": self.failed});
                to_json(&json)
            }
            Format::Csv => {
                let of_way = |way: &OfWay| -> Vec<Vec<String>> {
                    let run = |(at, time): (usize, &f64)| {
                        vec![way.name.clone(), (at + 1).to_string(), time.to_string()]
                    };
                    way.seconds.iter().enumerate().map(run).collect()
                };
                let runs: Vec<Vec<String>> = self.ways.iter().flat_map(of_way).collect();
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
