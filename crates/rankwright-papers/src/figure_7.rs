//! Fig. 7, Soryani 2013: whether what a rank of BT sends stays the same while it runs. From a trace
//! of our own.

use std::collections::BTreeSet;

use super::{Row, Verdict};

/// The first 1000 messages of rank 1 of BT, class B on 25 ranks, as `traffic messages` lists them:
/// `message,time_s,destination,bytes`.
pub const MESSAGES: &str = include_str!("../../../papers/2013/figure-7.csv");

/// Messages of the start, in which the rate has not settled.
const WARM_UP: usize = 100;

/// What the paper concludes from the figure: lengths and peers stay as they are, and the rate settles.
///
/// # Panics
/// Never: a test calls it.
#[must_use]
pub fn rows() -> Vec<Row> {
    let cell = |line: &str, at: usize| -> f64 {
        line.split(',').nth(at).and_then(|cell| cell.parse().ok()).expect("a number")
    };
    let column = |at| -> Vec<f64> { MESSAGES.lines().skip(1).map(|line| cell(line, at)).collect() };
    let (times, peers, lengths) = (column(1), column(2), column(3));
    let kinds = |values: &[f64]| -> BTreeSet<u64> { values.iter().map(|v| *v as u64).collect() };
    let half = times.len() / 2;
    let same = |values: &[f64]| kinds(&values[..half]) == kinds(&values[half..]);
    let rate = |from: usize, to: usize| (to - from) as f64 / (times[to] - times[from]);
    let (before, after) = (rate(WARM_UP, half), rate(half, times.len() - 1));
    let row = |what: &str, ours: f64, unit, holds: bool| Row {
        verdict: if holds { Verdict::Reproduced } else { Verdict::NotReproduced },
        ..Row::ours_only("Fig. 7", what, ours, unit)
    };
    let count = |values: &[f64]| kinds(values).len() as f64;
    vec![
        row(
            "BT rank 1: lengths of messages, the same in both halves",
            count(&lengths),
            "",
            same(&lengths),
        ),
        row("BT rank 1: peers, the same in both halves", count(&peers), "", same(&peers)),
        row(
            "BT rank 1: rate of the second half over that of the first without its first 100",
            after / before,
            "",
            (after / before - 1.0).abs() < 0.2,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_bt_sends_stays_the_same() {
        let rows = rows();
        assert!(rows.iter().all(|row| row.verdict == Verdict::Reproduced), "{rows:?}");
        assert_eq!((rows[0].ours, rows[1].ours), (6.0, 6.0));
    }
}
