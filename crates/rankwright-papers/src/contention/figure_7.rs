//! Fig. 7, Soryani 2013: whether lengths, peers and rate of the messages of a BT rank stay the same
//! during a run. The trace is ours; the paper's is not published.

use std::collections::BTreeSet;

use anyhow::ensure;

use crate::data_file::{Cell, DataFile, data_file};
use crate::row::{Row, Verdict};

/// The first 1000 messages of rank 1 of BT, class B on 25 ranks, as `rankwright traffic messages`
/// lists them.
pub(crate) const FIGURE_7: DataFile = data_file!("2013/figure-7.csv");

/// Number of messages at the start whose rate is ignored.
const WARM_UP: usize = 100;

/// The rate is stable if it changes by less than this share.
const SETTLED: f64 = 0.2;

/// The paper's conclusions from the figure: lengths and peers do not change, and the rate becomes
/// stable.
pub(crate) fn rows() -> anyhow::Result<[Row; 3]> {
    let messages = FIGURE_7.records(["message", "time_s", "destination", "bytes"])?;
    let (count, half) = (messages.len(), messages.len() / 2);
    ensure!(
        half > WARM_UP,
        "{}: found {count} messages, expected more than {}",
        FIGURE_7.path,
        2 * WARM_UP
    );
    let times = messages.iter().map(|[_, time, _, _]| time.number());
    let times: Vec<f64> = times.collect::<Result<_, _>>()?;
    let rate = |from: usize, to: usize| (to - from) as f64 / (times[to] - times[from]);
    let growth = rate(half, count - 1) / rate(WARM_UP, half);
    // The number of different values in the whole trace, and whether both halves have the same
    // ones.
    let values = |value: fn(&[Cell; 4]) -> Cell| {
        let distinct = |messages: &[[Cell; 4]]| -> BTreeSet<&str> {
            messages.iter().map(|message| value(message).text).collect()
        };
        let (first, second) = messages.split_at(half);
        (distinct(&messages).len() as f64, distinct(first) == distinct(second))
    };
    let row = |what: &str, (ours, holds): (f64, bool)| {
        Row::new("Fig. 7", what, ours, "").with_verdict(Verdict::reproduced_if(holds))
    };
    Ok([
        row(
            "BT rank 1: lengths of messages, the same in both halves",
            values(|[_, _, _, bytes]| *bytes),
        ),
        row("BT rank 1: peers, the same in both halves", values(|[_, _, peer, _]| *peer)),
        row(
            "BT rank 1: rate of the second half over that of the first without its first 100",
            (growth, (growth - 1.0).abs() < SETTLED),
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_peers_of_bt_do_not_change() {
        let rows = rows().unwrap();
        assert!(rows.iter().all(|row| row.verdict == Verdict::Reproduced), "{rows:?}");
        assert_eq!((rows[0].ours, rows[1].ours), (6.0, 6.0));
    }
}
