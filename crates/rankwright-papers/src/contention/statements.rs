//! Statements of the papers in words: messages wait equally long under several mappings, longer
//! under one than under another, least or acceptably under one; or one mapping finishes first.

use super::reasons::explained;
use crate::row::{Reading, Row, Verdict};
use crate::simulation::{CaseResult, Results, short_name};

/// Two times count as equal if the larger is larger by at most this share.
pub(super) const EQUAL: f64 = 0.02;

/// "Acceptable" is read as at most this share more than the least, as is "no significant differences"
/// between the best and the worst.
pub(super) const ACCEPTABLE: f64 = 0.25;

/// "In nearly all" workloads is read as this share of them.
const NEARLY_ALL: f64 = 0.75;

/// The statements of a section. Without the simulations, a statement is `None`. Mappings are given as
/// in [`MAPPINGS`](crate::simulation::MAPPINGS).
pub(super) struct Statements<'a> {
    pub(super) item: &'static str,
    pub(super) results: &'a Results,
    pub(super) reading: Reading,
}

impl Statements<'_> {
    /// Messages wait equally long under these mappings: the longest waiting exceeds the shortest by
    /// at most the share `tolerance`.
    pub(super) fn alike(&self, workload: &str, mappings: &[&str], tolerance: f64) -> Option<Row> {
        let mappings: Vec<&str> =
            mappings.iter().map(|mapping| self.reading.mapping(mapping)).collect();
        let waiting = mappings.iter().map(|mapping| self.results.waiting(workload, mapping));
        let waiting: Vec<f64> = waiting.collect::<Option<_>>()?;
        let least = waiting.iter().copied().fold(f64::INFINITY, f64::min);
        let largest = waiting.iter().copied().fold(0.0, f64::max);
        let what = format!("{workload}: {} wait alike; largest over least", mappings.join(", "));
        let ours = ratio(largest, least)?;
        Some(self.row(workload, what, ours, ours <= 1.0 + tolerance))
    }

    /// Messages wait longer under one mapping than under another.
    pub(super) fn longer(&self, workload: &str, worse: &str, better: &str) -> Option<Row> {
        let [worse, better] = [worse, better].map(|mapping| self.reading.mapping(mapping));
        let waiting = |mapping| self.results.waiting(workload, mapping);
        let what = format!("{workload}: {worse} waits longer than {better}; ratio");
        let ours = ratio(waiting(worse)?, waiting(better)?)?;
        Some(self.row(workload, what, ours, ours > 1.0 + EQUAL))
    }

    /// Messages wait least under one mapping.
    pub(super) fn least(&self, workload: &str, best: &str) -> Option<Row> {
        self.over_the_best(workload, best, "waits least", EQUAL)
    }

    /// Messages wait at most [`ACCEPTABLE`] longer under one mapping than under the best other.
    pub(super) fn acceptable(&self, workload: &str, mapping: &str) -> Option<Row> {
        self.over_the_best(workload, mapping, "waits acceptably", ACCEPTABLE)
    }

    fn over_the_best(
        &self,
        workload: &str,
        mapping: &str,
        statement: &str,
        tolerance: f64,
    ) -> Option<Row> {
        let mapping = self.reading.mapping(mapping);
        let waiting = |mapping| self.results.waiting(workload, mapping);
        let others = self.reading.mappings().into_iter().filter(|other| *other != mapping);
        let least = others.filter_map(waiting).fold(f64::INFINITY, f64::min);
        let what = format!("{workload}: {mapping} {statement}; over the least of the others");
        let ours = ratio(waiting(mapping)?, least)?;
        Some(self.row(workload, what, ours, ours <= 1.0 + tolerance))
    }

    fn row(&self, workload: &str, what: String, ours: f64, holds: bool) -> Row {
        let row = Row::new(self.item, what, ours, "").with_verdict(Verdict::reproduced_if(holds));
        explained(row, workload, self.results)
    }
}

/// When something finishes, in seconds.
type Finish = fn(&CaseResult) -> f64;

/// The two finish times that the papers draw.
const FINISHES: [(&str, Finish); 2] = [
    ("workload finish", |result| result.workload_finish_s),
    ("total finish", |result| result.total_finish_s),
];

/// A mapping finishes first "in nearly all" workloads: a row for the workload finish, which the
/// first figure draws, and one for the total finish.
pub(super) fn finishes_first(
    (results, reading): (&Results, Reading),
    figures: [&str; 2],
    mapping: &str,
    workloads: &[&str],
) -> Vec<Row> {
    let mapping = reading.mapping(mapping);
    let row = |(figure, (metric, finish)): (&str, (&str, Finish))| {
        let is_first = |workload: &&str| {
            let of_mapping = |mapping| results.find(short_name(workload), mapping, 1.0).map(finish);
            let mappings = reading.mappings().into_iter();
            let least = mappings.filter_map(of_mapping).fold(f64::INFINITY, f64::min);
            Some(of_mapping(mapping)? <= least * (1.0 + EQUAL))
        };
        let first: Vec<bool> = workloads.iter().map(is_first).collect::<Option<_>>()?;
        let (count, total) = (first.iter().filter(|first| **first).count(), first.len());
        let what = format!("{metric} of {mapping} within 2 % of the least, of {total} workloads");
        let holds = count as f64 >= NEARLY_ALL * total as f64;
        let row = Row::new(figure, what, count as f64, "");
        let row = row.with_verdict(Verdict::reproduced_if(holds));
        let why = "\"in nearly all scenarios\" is read as three of four";
        Some(if holds { row } else { row.because(why) })
    };
    figures.into_iter().zip(FINISHES).filter_map(row).collect()
}

/// 1 if both are 0, as nothing waits; `None` if only the second is 0.
fn ratio(time: f64, other: f64) -> Option<f64> {
    let ratio = if time == 0.0 && other == 0.0 { 1.0 } else { time / other };
    ratio.is_finite().then_some(ratio)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_waits_as_long_as_nothing() {
        assert_eq!([ratio(0.0, 0.0), ratio(3.0, 2.0)], [Some(1.0), Some(1.5)]);
        assert_eq!(ratio(1.0, 0.0), None);
    }
}
