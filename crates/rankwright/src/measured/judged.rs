//! What runs say of predictions: the order of ways, errors, and whether `place` was right.

use super::{PairedDifference, Program, Way};
use crate::statistics::{median, median_interval};

/// Two ways whose medians differ by less than this factor have no order that a prediction must get right.
const FAR: f64 = 1.10;

/// Names of the way that `place` chose.
const PLACED: [&str; 2] = ["place", "placement"];

/// A gain below this share is as good as none, where `place` promised none.
const SMALL_GAIN: f64 = 0.02;

/// Two ways that surely differ: their intervals do not overlap and their medians are more than 10 % apart.
/// Positions in [`Program::ways`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// The way that took less time.
    pub faster: usize,
    /// The way that took more.
    pub slower: usize,
    /// Whether the prediction has the same order.
    pub as_predicted: bool,
}

/// Whether the placement of `place` shortened the run as it said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promise {
    /// It said that the run gets shorter, and it did; or it did not say so, and the run did not.
    Kept,
    /// It said that the run gets shorter, and it did not.
    Broken,
    /// It did not say so, but the run got shorter.
    Modest,
    /// The runs, or what it said, do not tell.
    Undecided,
}

impl Way {
    /// The median run time and its 95 % interval ([`median_interval`]); `None` without runs.
    #[must_use]
    pub fn median(&self) -> Option<(f64, (f64, f64))> {
        (!self.seconds.is_empty()).then(|| (median(&self.seconds), median_interval(&self.seconds)))
    }

    /// How far the prediction is from the median, as a share of this: 0.1 where 10 % too much was predicted.
    #[must_use]
    pub fn error(&self) -> Option<f64> {
        Some(self.predicted_s? / self.median()?.0 - 1.0)
    }

    /// How far the prediction is outside the interval of the median, as a share of its nearer end.
    #[must_use]
    pub fn error_beyond_interval(&self) -> Option<f64> {
        Some(beyond(self.predicted_s?, self.median()?.1))
    }
}

/// How far a prediction is outside an interval, as a share of its nearer end; 0 inside.
fn beyond(predicted: f64, (low, high): (f64, f64)) -> f64 {
    (1.0 - predicted / low).max(predicted / high - 1.0).max(0.0)
}

impl Program {
    /// What a way saves against the first; `None` for the first itself.
    #[must_use]
    pub fn saved(&self, way: usize) -> Option<PairedDifference> {
        let [first, other] = [self.ways.first()?, self.ways.get(way)?];
        let pairs: Vec<(f64, f64)> =
            first.seconds.iter().copied().zip(other.seconds.iter().copied()).collect();
        (way > 0).then(|| PairedDifference::of(&pairs))
    }

    /// The predicted time of a way over that of the first way with a prediction, and the same of medians;
    /// `None` for that first way itself.
    fn ratios(&self, way: usize) -> Option<(f64, f64, usize)> {
        let first = self.ways.iter().position(|way| way.error().is_some())?;
        let [base, other] = [&self.ways[first], self.ways.get(way)?];
        let predicted = other.predicted_s? / base.predicted_s?;
        (way != first).then_some((predicted, other.median()?.0 / base.median()?.0, first))
    }

    /// How far the predicted ratio of a way to the first predicted one is from that of the medians.
    #[must_use]
    pub fn ratio_error(&self, way: usize) -> Option<f64> {
        self.ratios(way).map(|(predicted, measured, _)| predicted / measured - 1.0)
    }

    /// How far that ratio is outside the 95 % interval of the measured one, which is by pairs of runs
    /// ([`PairedDifference`]).
    #[must_use]
    pub fn ratio_error_beyond_interval(&self, way: usize) -> Option<f64> {
        let (predicted, _, first) = self.ratios(way)?;
        let ways = [&self.ways[first], &self.ways[way]];
        let pairs = ways[0].seconds.iter().copied().zip(ways[1].seconds.iter().copied());
        let (least, most) = PairedDifference::of(&pairs.collect::<Vec<_>>()).interval?;
        Some(beyond(predicted, (1.0 - most, 1.0 - least)))
    }

    /// The pairs of ways with predictions that surely differ.
    #[must_use]
    pub fn pairs(&self) -> Vec<Pair> {
        let known: Vec<(usize, f64, f64, (f64, f64))> = (self.ways.iter().enumerate())
            .filter_map(|(at, way)| {
                let (median, interval) = way.median()?;
                Some((at, way.predicted_s?, median, interval))
            })
            .collect();
        let mut pairs = Vec::new();
        for (position, one) in known.iter().enumerate() {
            for other in &known[position + 1..] {
                let (a, b) = if one.2 <= other.2 { (one, other) } else { (other, one) };
                if a.3.1 < b.3.0 && b.2 > FAR * a.2 {
                    pairs.push(Pair { faster: a.0, slower: b.0, as_predicted: a.1 < b.1 });
                }
            }
        }
        pairs
    }

    /// The way that `place` chose.
    #[must_use]
    pub fn placed(&self) -> Option<usize> {
        self.ways.iter().position(|way| PLACED.contains(&&*way.name) && !way.seconds.is_empty())
    }

    /// The way with the least median.
    #[must_use]
    pub fn fastest(&self) -> Option<usize> {
        let medians = self.ways.iter().map(|way| way.median().map_or(f64::INFINITY, |it| it.0));
        let least = medians.enumerate().min_by(|a, b| a.1.total_cmp(&b.1))?;
        least.1.is_finite().then_some(least.0)
    }

    /// The median of `place`'s way over that of the fastest one; 1 where their intervals overlap.
    #[must_use]
    pub fn regret(&self) -> Option<f64> {
        let [placed, fastest] =
            [self.placed()?, self.fastest()?].map(|way| self.ways[way].median());
        let (placed, fastest) = (placed?, fastest?);
        Some(if placed.1.0 <= fastest.1.1 { 1.0 } else { placed.0 / fastest.0 })
    }

    /// Whether what `place` said of its placement against the first way is what the runs say. A promised
    /// gain that the runs do not decide stays undecided if they leave room for it, and a gain below 2 % that
    /// was not promised counts as none.
    #[must_use]
    pub fn promise(&self) -> Promise {
        let saved = self.placed().and_then(|way| self.saved(way)?.interval);
        let (Some(promised), Some((least, most))) = (self.promised, saved) else {
            return Promise::Undecided;
        };
        let is_shorter = least > 0.0;
        let is_open = least <= 0.0 && most >= 0.0;
        match promised {
            true if is_shorter => Promise::Kept,
            true if is_open && most > SMALL_GAIN => Promise::Undecided,
            true => Promise::Broken,
            false if is_shorter && least >= SMALL_GAIN => Promise::Modest,
            false => Promise::Kept,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(name: &str, predicted_s: f64, seconds: &[f64]) -> Way {
        Way { name: name.to_owned(), predicted_s: Some(predicted_s), seconds: seconds.to_vec() }
    }

    fn program(promised: Option<bool>, ways: Vec<Way>) -> Program {
        Program { name: "ring".to_owned(), group: String::new(), promised, ways }
    }

    #[test]
    fn pairs_are_those_that_surely_differ() {
        let ways = vec![
            way("default", 2.0, &[2.0, 2.1, 1.9, 2.0, 2.05]),
            way("place", 1.1, &[1.0, 1.02, 0.99, 1.0, 1.01]),
            way("cyclic", 0.9, &[1.05, 1.04, 1.06, 1.05, 1.05]),
            way("random", 2.5, &[1.9, 3.1, 1.9, 2.0, 2.05]),
        ];
        let program = program(Some(true), ways);
        let pairs: Vec<(usize, usize, bool)> =
            program.pairs().iter().map(|it| (it.faster, it.slower, it.as_predicted)).collect();
        // `place` and `cyclic` are 5 % apart; `default` and `random` overlap.
        assert_eq!(pairs, [(1, 0, true), (2, 0, true), (1, 3, true), (2, 3, true)]);
        assert_eq!((program.placed(), program.fastest()), (Some(1), Some(1)));
        assert_eq!(program.regret(), Some(1.0));
        assert_eq!(program.promise(), Promise::Kept);
        assert!((program.ways[1].error().unwrap() - 0.1).abs() < 1e-12);
        // The interval of five runs ends with the longest one.
        let beyond = program.ways[1].error_beyond_interval().unwrap();
        assert!((beyond - (1.1 / 1.02 - 1.0)).abs() < 1e-12);
        assert!((program.ratio_error(1).unwrap() - 0.1).abs() < 1e-12);
        assert_eq!(program.ratio_error(0), None);
        assert!(program.ratio_error_beyond_interval(2).unwrap() > 0.05);
    }

    #[test]
    fn an_order_that_was_not_predicted_is_told() {
        let ways =
            vec![way("default", 1.0, &[2.0, 2.1, 1.9]), way("place", 1.2, &[1.0, 1.02, 0.99])];
        let pairs = program(None, ways).pairs();
        assert_eq!(pairs, [Pair { faster: 1, slower: 0, as_predicted: false }]);
    }

    #[test]
    fn promises_are_kept_broken_or_undecided() {
        let of = |promised, placed: &[f64]| {
            let default = way("default", 1.0, &[1.0, 1.01, 0.99, 1.0]);
            program(promised, vec![default, way("placement", 1.0, placed)]).promise()
        };
        let (shorter, same, longer) =
            ([0.8, 0.81, 0.79, 0.8], [1.0, 1.011, 0.989, 1.0], [1.2, 1.21, 1.19, 1.2]);
        assert_eq!(of(Some(true), &shorter), Promise::Kept);
        assert_eq!(of(Some(true), &same), Promise::Broken);
        assert_eq!(of(Some(true), &longer), Promise::Broken);
        assert_eq!(of(Some(true), &[0.9, 1.1, 0.8, 1.0]), Promise::Undecided);
        assert_eq!(of(Some(false), &same), Promise::Kept);
        assert_eq!(of(Some(false), &longer), Promise::Kept);
        assert_eq!(of(Some(false), &shorter), Promise::Modest);
        assert_eq!(of(Some(false), &[0.99, 0.999, 0.98, 0.99]), Promise::Kept);
        assert_eq!(of(None, &shorter), Promise::Undecided);
        assert_eq!(of(Some(true), &[0.8]), Promise::Undecided);
    }

    #[test]
    fn a_slower_choice_has_regret() {
        let ways = vec![
            way("default", 1.0, &[1.0, 1.0, 1.0]),
            way("place", 1.0, &[1.5, 1.5, 1.5]),
            Way::new("cyclic"),
        ];
        let program = program(None, ways);
        assert_eq!(program.regret(), Some(1.5));
        assert_eq!(program.ways[2].median(), None);
        assert_eq!(program.pairs(), [Pair { faster: 0, slower: 1, as_predicted: false }]);
    }
}
