//! Ganapathi, Gopalakrishnan, McGuire 2017, "MPI process and network device affinitization for optimal HPC
//! application performance": what ranks gain from devices beside their own socket.
//!
//! The paper measures two nodes with four devices each (configuration 3, Fig. 3) and prints four gains;
//! everything else is drawn. Here the same is simulated on `paper:2017`, whose rates are calibrated by two
//! of the four.

use std::ops::ControlFlow;

use super::{Assumption, Printed, Row, Verdict};
use crate::cluster::Cluster;
use crate::cluster::read::built_in;
use crate::ids::{CoreId, NodeId, NumaId, Rank};
use crate::placement::{JobPlacement, JobShape, Placement, RankPlacement};
use crate::sim::{Options, Pacing, simulate};
use crate::traffic::{Job, Send, Source, Workload};
use crate::units::{Bytes, PerSecond, Seconds};

/// Which devices the ranks use: the five combinations of configuration 3. All ranks are on the first
/// socket, beside devices 0 and 1.
const PATTERNS: [(&str, &[&str]); 5] = [
    ("local", &["hfi1_0"]),
    ("remote", &["hfi1_2"]),
    ("both local", &["hfi1_0", "hfi1_1"]),
    ("both remote", &["hfi1_2", "hfi1_3"]),
    ("all", &["hfi1_0", "hfi1_1", "hfi1_2", "hfi1_3"]),
];
const LOCAL: usize = 0;
const REMOTE: usize = 1;
const BOTH_LOCAL: usize = 2;
const BOTH_REMOTE: usize = 3;

/// Lengths of messages in bytes, 1 B to 8 kB.
const LENGTHS: [u64; 14] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192];

/// Messages that are sent before an answer is waited for, as in the OSU benchmarks.
const WINDOW: usize = 64;
/// How often.
const ROUNDS: u64 = 50;

const CALIBRATED: &str = "a calibration, no finding: the rates of paper:2017 are chosen so that the gains \
                          in latency and message rate are those printed";
const FOLLOWS: &str = "no rate is chosen for it: it follows from the two that are";
const BIDIRECTIONAL: &str = "sending and receiving are two servers of the model that do not hinder each \
                             other, on the machine one core does both";

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quantity {
    Bandwidth,
    BidirectionalBandwidth,
    Latency,
    MessageRate,
}

const QUANTITIES: [Quantity; 4] = [
    Quantity::Bandwidth,
    Quantity::BidirectionalBandwidth,
    Quantity::Latency,
    Quantity::MessageRate,
];

impl Quantity {
    fn name(self) -> &'static str {
        match self {
            Self::Bandwidth => "bandwidth",
            Self::BidirectionalBandwidth => "bidirectional bandwidth",
            Self::Latency => "latency",
            Self::MessageRate => "message rate",
        }
    }

    fn unit(self) -> &'static str {
        match self {
            Self::Bandwidth | Self::BidirectionalBandwidth => "MB/s",
            Self::Latency => "us",
            Self::MessageRate => "M/s",
        }
    }

    /// What the device beside the own socket gains over one beside the other, in percent.
    fn gain(self, local: f64, remote: f64) -> f64 {
        let ratio = if self == Self::Latency { remote / local } else { local / remote };
        100.0 * (ratio - 1.0)
    }
}

/// The four gains that the paper prints, then the multirail statement, then all that it draws.
///
/// # Panics
/// Never: the cluster is built in.
#[must_use]
pub fn rows() -> Vec<Row> {
    let cluster = built_in::find("paper:2017").expect("it is built in").cluster();
    let mut rows = Vec::new();
    let printed = [("40", "Fig. 4"), ("48", "Fig. 5"), ("32", "Fig. 6"), ("40", "Fig. 7")];
    for (quantity, (printed, figure)) in QUANTITIES.into_iter().zip(printed) {
        let gain = largest_gain(&cluster, quantity, [LOCAL, REMOTE], 1);
        let calibrated = matches!(quantity, Quantity::Latency | Quantity::MessageRate);
        let name = quantity.name();
        let how = if calibrated { " (calibrated)" } else { "" };
        let what = format!("largest gain in {name}, local over remote device{how}");
        let printed = Printed::parse(printed).expect("a number");
        let row = Row::beside(figure, what, (printed, "%"), gain, Verdict::SameOrdering);
        rows.push(row.because(match quantity {
            Quantity::Bandwidth => FOLLOWS,
            Quantity::BidirectionalBandwidth => BIDIRECTIONAL,
            Quantity::Latency | Quantity::MessageRate => CALIBRATED,
        }));
    }
    rows.extend(multirail(&cluster));
    for quantity in QUANTITIES {
        for pairs in [1, 2] {
            rows.extend(PATTERNS.iter().zip(0..).flat_map(|((pattern, _), number)| {
                curve(&cluster, quantity, (pattern, number), pairs)
            }));
        }
    }
    rows
}

/// The rates of `paper:2017`, of which the paper prints none: two times that are calibrated, and what was
/// assumed for these.
///
/// # Panics
/// Never: the cluster is built in.
#[must_use]
pub fn assumptions() -> Vec<Assumption> {
    const FITTED: &str = "calibrated: gives the printed gains in latency and message rate, with 1.1 us from \
                          process to process";
    let cluster = built_in::find("paper:2017").expect("it is built in").cluster();
    let rates = &cluster.rates;
    let short = LENGTHS[0];
    let long = LENGTHS[LENGTHS.len() - 1];
    let microseconds = |time: Seconds| 1e6 * time.0;
    let core = |length| microseconds(rates.queue_pair.time(Bytes(length)));
    let more = microseconds(rates.inter_socket.time(Bytes(short)));
    [
        ("a core, for a message up to 512 B", core(short), "us", FITTED),
        ("a core, more through the other socket's device", more, "us", FITTED),
        ("a core, for a message of 8 KiB", core(long), "us", "assumed: one core copies 5 GB/s"),
        ("from device to device", microseconds(rates.nic_latency), "us", "assumed"),
        ("a device", 1e-9 * rates.nic_bandwidth.0, "GB/s", "that of the product"),
        ("a memory", 1e-9 * rates.memory_bandwidth.0, "GB/s", "assumed"),
    ]
    // Other units leave traces in the last digits.
    .map(|(what, value, unit, from)| Assumption {
        what,
        value: (1e9 * value).round() / 1e9,
        unit,
        from,
    })
    .to_vec()
}

/// What [`assumptions`] make of the printed gains, in a sentence.
pub const NO_FINDING: &str = "The gains in latency and message rate go in by this calibration, so they are no \
                              findings; that in bandwidth follows from the message rate.";

/// "In the same range as single HFI": the gain of two local devices over two remote ones against that
/// of one over one, in bandwidth, with one and two processes per node.
fn multirail(cluster: &Cluster) -> [Row; 2] {
    let single = largest_gain(cluster, Quantity::Bandwidth, [LOCAL, REMOTE], 1);
    [(1, "Fig. 8"), (2, "Fig. 9")].map(|(pairs, figure)| {
        let both = largest_gain(cluster, Quantity::Bandwidth, [BOTH_LOCAL, BOTH_REMOTE], pairs);
        let what = format!(
            "largest gain in bandwidth, two local over two remote devices, {pairs} per node, \
             against that of one device"
        );
        let printed = Printed { value: 1.0, rounding: 0.0 };
        Row::beside(figure, what, (printed, ""), both / single, Verdict::NotReproduced)
    })
}

fn largest_gain(
    cluster: &Cluster,
    quantity: Quantity,
    [local, remote]: [usize; 2],
    pairs: usize,
) -> f64 {
    let gain = |length: &u64| {
        let measured = |pattern: usize| measure(cluster, quantity, pattern, pairs, *length);
        quantity.gain(measured(local), measured(remote))
    };
    LENGTHS.iter().map(gain).fold(0.0, f64::max)
}

/// One curve of a figure.
fn curve(
    cluster: &Cluster,
    quantity: Quantity,
    (pattern, number): (&str, usize),
    pairs: usize,
) -> Vec<Row> {
    let row = |length: &u64| {
        let what = format!("{}, {pattern}, {pairs} per node, {length} B", quantity.name());
        let ours = measure(cluster, quantity, number, pairs, *length);
        Row::ours_only("Figs. 4-9", what, ours, quantity.unit())
    };
    LENGTHS.iter().map(row).collect()
}

/// A measurement with so many processes on each node, rank r of the first node with rank r of the
/// second.
fn measure(
    cluster: &Cluster,
    quantity: Quantity,
    pattern: usize,
    pairs: usize,
    length: u64,
) -> f64 {
    let window = if quantity == Quantity::Latency { 1 } else { WINDOW };
    let source = |rank: usize, to: usize| Source {
        rank: Rank::from_index(rank),
        // As fast as it can: the next round begins when the last has arrived.
        rate: PerSecond(1e12),
        cv: 0.0,
        in_step: None,
        rounds: ROUNDS,
        sends: vec![Send { destination: Rank::from_index(to), length: Bytes(length) }; window],
    };
    let mut sources: Vec<Source> = (0..pairs).map(|pair| source(pair, pairs + pair)).collect();
    if quantity == Quantity::BidirectionalBandwidth {
        sources.extend((0..pairs).map(|pair| source(pairs + pair, pair)));
    }
    let job = Job::from_sources("osu", 2 * pairs as u32, sources).expect("a valid job");
    let workload = Workload::single(job);
    let placement = placement(cluster, &workload, pattern, pairs);
    let options = Options { pacing: Pacing::AfterArrival, ..Options::default() };
    let outcome =
        simulate(cluster, &workload, &placement, &options, &mut |_| ControlFlow::Continue(()));
    let outcome = outcome.expect("the job has clocks");
    let seconds = outcome.workload_finish.0;
    let messages = outcome.messages as f64;
    match quantity {
        Quantity::Latency => 1e6 * seconds / ROUNDS as f64,
        Quantity::MessageRate => 1e-6 * messages / seconds,
        Quantity::Bandwidth | Quantity::BidirectionalBandwidth => {
            1e-6 * messages * length as f64 / seconds
        }
    }
}

fn placement(cluster: &Cluster, workload: &Workload, pattern: usize, pairs: usize) -> Placement {
    let (_, devices) = PATTERNS[pattern];
    let rank = |rank: usize| {
        let (node, core) = (NodeId::from_index(rank / pairs), CoreId::from_index(rank % pairs));
        RankPlacement {
            node,
            cores: vec![core],
            pus: cluster.machine(node).cores[core.index()].pus.clone(),
            numa: Some(NumaId(0)),
            nics: devices.iter().map(|device| (*device).to_owned()).collect(),
            gpus: Vec::new(),
            bound: true,
        }
    };
    let job = JobPlacement { name: "osu".to_owned(), ranks: (0..2 * pairs).map(rank).collect() };
    Placement::new(cluster, &JobShape::of(workload), PATTERNS[pattern].0, vec![job])
        .expect("a valid placement")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calibration_is_that_of_the_cluster() {
        let values: Vec<f64> = assumptions().iter().map(|one| one.value).collect();
        let expected = [0.44, 0.176, 1.64, 0.2, 12.5, 60.0];
        assert!(values.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{values:?}");
    }

    #[test]
    fn the_printed_gains_are_met_or_in_the_same_order() {
        let cluster = built_in::find("paper:2017").unwrap().cluster();
        let gain = |quantity| largest_gain(&cluster, quantity, [LOCAL, REMOTE], 1);
        for (quantity, printed) in
            [(Quantity::Bandwidth, 40.0), (Quantity::Latency, 32.0), (Quantity::MessageRate, 40.0)]
        {
            assert!((gain(quantity) - printed).abs() < 0.05 * printed, "{quantity:?}");
        }
        assert!(gain(Quantity::BidirectionalBandwidth) > 30.0);
        let short = measure(&cluster, Quantity::Bandwidth, REMOTE, 1, 8);
        let all = measure(&cluster, Quantity::Bandwidth, 4, 1, 8);
        assert!(all > short, "half of the messages go through devices beside the socket");
    }
}
