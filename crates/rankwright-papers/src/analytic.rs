//! The analytic part of Soryani et al. 2013 (section 3): what the queueing model says beside what
//! the paper prints.

use super::{Printed, Row, Verdict, table_1};
use rankwright::cluster::Cluster;
use rankwright::cluster::read::built_in;
use rankwright::estimate::{slowdown_by_variation, uncontended};
use rankwright::units::{Bytes, PerSecond};

/// Numbers in the text of section 3, and f of Eq. (13).
const PRINTED: &str = include_str!("../../../papers/2013/section-3.csv");

const KB: Bytes = Bytes(1 << 10);
const KB_64: Bytes = Bytes(1 << 16);
const KB_512: Bytes = Bytes(1 << 19);
const MB: Bytes = Bytes(1 << 20);
const MB_2: Bytes = Bytes(1 << 21);
/// Message lengths with the names that the paper gives them.
const LENGTHS: [(&str, Bytes); 5] =
    [("1 kB", KB), ("64 kB", KB_64), ("512 kB", KB_512), ("1 MB", MB), ("2 MB", MB_2)];
const RATES: [f64; 5] = [10.0, 50.0, 100.0, 500.0, 1000.0];
const VARIATIONS: [f64; 5] = [0.0, 0.5, 1.0, 2.0, 3.0];

/// All numbers of the analytic part, on the cluster `paper:2013-model`, in the order of the paper.
///
/// # Panics
/// Never: a test calls it.
#[must_use]
pub fn rows() -> Vec<Row> {
    let cluster = built_in::find("paper:2013-model").expect("a built-in cluster").cluster();
    let mut rows: Vec<Row> = PRINTED.lines().skip(1).map(|line| printed(&cluster, line)).collect();
    rows.extend(times(&cluster));
    rows.extend(variations(&cluster));
    rows.extend(table_1::rows(&cluster));
    rows.extend(utilisations(&cluster));
    rows
}

/// A line of the file: `key,where,what,value,unit`.
fn printed(cluster: &Cluster, line: &str) -> Row {
    let mut fields = line.split(',');
    let mut field = || fields.next().unwrap_or_default();
    let (key, item, what, value, unit) = (field(), field(), field(), field(), field());
    let value = Printed::parse(value).expect("a number");
    let unit = if unit == "%" { "%" } else { "us" };
    let (ours, why, otherwise) = ours(cluster, key);
    let row = Row::beside(item, what, (value, unit), ours, otherwise);
    if row.verdict == Verdict::Reproduced { row } else { row.because(why) }
}

/// Our number for a key of the file; why it may differ and what is to be said of it then.
fn ours(cluster: &Cluster, key: &str) -> (f64, &'static str, Verdict) {
    let time = |length, rate, cv| microseconds(cluster, length, rate, cv);
    let growth = |length| 100.0 * (time(length, 50.0, 1.0) / time(length, 10.0, 1.0) - 1.0);
    let by_cv = |length| 100.0 * (time(length, 100.0, 3.0) / time(length, 100.0, 0.5) - 1.0);
    let factor =
        |length| slowdown_by_variation(cluster, length, PerSecond(10.0)).unwrap_or(f64::INFINITY);
    let plain = |ours| (ours, "", Verdict::NotReproduced);
    match key {
        "time-512k" => plain(time(KB_512, 10.0, 1.0)),
        "time-1m" => plain(time(MB, 10.0, 1.0)),
        "time-rate" => (
            growth(MB),
            "for 1 MB; 1.6 % for 512 kB and 7.0 % for 2 MB: the paper does not say for which. The \
             rate matters little beside the length, as it concludes",
            Verdict::SameOrdering,
        ),
        "cv-1m" => plain(by_cv(MB)),
        "cv-64k" => plain(by_cv(KB_64)),
        "cv-1k" => (by_cv(KB), "one digit printed; negligible in both", Verdict::SameOrdering),
        "f-1m-square" => (
            factor(MB),
            "6 % less. It depends on how the time before the port is split between queue pair and \
             processing, which the paper does not print",
            Verdict::SameOrdering,
        ),
        "f-1m-linear" => (
            0.0,
            "Eq. 6 is linear in the square of Ca, so the model has no such term",
            Verdict::SameOrdering,
        ),
        "f-64k-square" => (
            factor(KB_64),
            "the paper's own Fig. 5 disagrees with its 0.12: 5 % from Ca 0.5 to 3 at 100 req/s is \
             0.057 at 10 req/s, which is ours",
            Verdict::NotReproduced,
        ),
        _ => unreachable!("a test reads all keys"),
    }
}

/// Fig. 4: lengths and rates.
fn times(cluster: &Cluster) -> Vec<Row> {
    let row = |(name, length), rate| {
        let what = format!("time of {name} messages at {rate} req/s");
        saturated(Row::ours_only("Fig. 4", what, microseconds(cluster, length, rate, 1.0), "us"))
    };
    LENGTHS.iter().flat_map(|length| RATES.iter().map(|rate| row(*length, *rate))).collect()
}

/// Fig. 5: lengths and coefficients of variation.
fn variations(cluster: &Cluster) -> Vec<Row> {
    let row = |(name, length), cv| {
        let what = format!("time of {name} messages at 100 req/s with Ca {cv}");
        saturated(Row::ours_only("Fig. 5", what, microseconds(cluster, length, 100.0, cv), "us"))
    };
    LENGTHS.iter().flat_map(|length| VARIATIONS.iter().map(|cv| row(*length, *cv))).collect()
}

/// Fig. 6: the utilisation of the output port.
fn utilisations(cluster: &Cluster) -> Vec<Row> {
    let bandwidth = cluster.rates.nic_bandwidth.0;
    let row = |(name, length): (&str, Bytes), rate: f64| {
        let what = format!("utilisation of the output port by {name} messages at {rate} req/s");
        Row::ours_only("Fig. 6", what, 100.0 * rate * length.0 as f64 / bandwidth, "%")
    };
    LENGTHS.iter().flat_map(|length| RATES.iter().map(|rate| row(*length, *rate))).collect()
}

/// The mean time of messages that nobody disturbs; infinite if they saturate a server.
fn microseconds(cluster: &Cluster, length: Bytes, rate: f64, cv: f64) -> f64 {
    let time = uncontended(cluster, length, PerSecond(rate), cv);
    time.map_or(f64::INFINITY, |time| 1e6 * time.total().0)
}

fn saturated(row: Row) -> Row {
    if row.ours.is_infinite() { row.because("saturated") } else { row }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_section_3() {
        let rows = rows();
        let text: Vec<String> = rows
            .iter()
            .take(PRINTED.lines().count() - 1)
            .map(|row| {
                let paper = row.paper.unwrap();
                format!("{}: {paper}, ours {:.3} {}: {}", row.what, row.ours, row.unit, row.verdict)
            })
            .collect();
        assert_eq!(
            text,
            [
                "time of 512 kB messages at 10 req/s: 2565, ours 2565.075 us: reproduced",
                "time of 1 MB messages at 10 req/s: 5333, ours 5332.823 us: reproduced",
                "growth of the time at five times the rate: 5, ours 3.313 %: same ordering",
                "growth of the time of 1 MB messages from Ca 0.5 to 3: 75, ours 73.675 %: reproduced",
                "growth of the time of 64 kB messages from Ca 0.5 to 3: 5, ours 5.095 %: reproduced",
                "growth of the time of 1 kB messages from Ca 0.5 to 3: 0.2, ours 0.249 %: reproduced",
                "factor of x² in f for 1 MB messages: 0.85, ours 0.800 %: same ordering",
                "factor of x in f for 1 MB messages: 0.01, ours 0.000 %: same ordering",
                "factor of x² in f for 64 kB messages: 0.12, ours 0.059 %: not reproduced",
            ]
        );
    }

    #[test]
    fn growth_with_the_rate_is_what_the_reason_says() {
        let cluster = built_in::find("paper:2013-model").unwrap().cluster();
        let growth = |length| {
            let time = |rate| microseconds(&cluster, length, rate, 1.0);
            format!("{:.1}", 100.0 * (time(50.0) / time(10.0) - 1.0))
        };
        assert_eq!([KB_512, MB_2].map(growth), ["1.6", "7.0"]);
    }

    #[test]
    fn figures_have_no_printed_numbers_but_ours() {
        let rows = rows();
        let drawn = rows.iter().filter(|row| row.item.starts_with("Fig") && row.paper.is_none());
        assert_eq!(drawn.clone().count(), 3 * 25);
        let saturated: Vec<&str> =
            drawn.filter(|row| row.ours.is_infinite()).map(|row| row.what.as_str()).collect();
        let names = ["1 MB messages at 1000", "2 MB messages at 500", "2 MB messages at 1000"];
        assert_eq!(saturated, names.map(|name| format!("time of {name} req/s")));
    }
}
