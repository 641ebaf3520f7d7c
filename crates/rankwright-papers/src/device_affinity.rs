//! Ganapathi, Gopalakrishnan, McGuire 2017, "MPI process and network device affinitization for
//! optimal HPC application performance": the gain from network devices on the socket of the ranks.
//!
//! The paper measures two nodes with four devices each (configuration 3, Fig. 3). It prints four
//! gains and draws everything else. Ours are simulated on `paper:2017`, whose rates are calibrated
//! with two of the four gains.

use std::ops::ControlFlow;

use rankwright::cluster::Cluster;
use rankwright::ids::{CoreId, NodeId, NumaId, Rank};
use rankwright::placement::{JobPlacement, JobShape, Placement, PlacementError, RankPlacement};
use rankwright::sim::{Options, Pacing, simulate};
use rankwright::traffic::{Job, Send, Source, Workload};
use rankwright::units::{Bytes, PerSecond, Seconds};

use crate::built_in;
use crate::printed::Printed;
use crate::row::{Assumption, Row, Verdict};

const CLUSTER: &str = "paper:2017";

/// The network devices that all ranks of a run share.
#[derive(Debug)]
struct DevicePattern {
    name: &'static str,
    devices: &'static [&'static str],
}

const fn pattern(name: &'static str, devices: &'static [&'static str]) -> DevicePattern {
    DevicePattern { name, devices }
}

// All ranks are on the first socket, which has devices 0 and 1.
const LOCAL: DevicePattern = pattern("local", &["hfi1_0"]);
const REMOTE: DevicePattern = pattern("remote", &["hfi1_2"]);
const BOTH_LOCAL: DevicePattern = pattern("both local", &["hfi1_0", "hfi1_1"]);
const BOTH_REMOTE: DevicePattern = pattern("both remote", &["hfi1_2", "hfi1_3"]);
const ALL: DevicePattern = pattern("all", &["hfi1_0", "hfi1_1", "hfi1_2", "hfi1_3"]);

/// The five patterns of configuration 3.
const PATTERNS: [DevicePattern; 5] = [LOCAL, REMOTE, BOTH_LOCAL, BOTH_REMOTE, ALL];

/// Message lengths in bytes, 1 B to 8 kB.
const LENGTHS: [u64; 14] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192];

/// Messages per round, as in the OSU benchmarks; one for latency. A round begins when the messages
/// of the last have arrived, and its answer.
const WINDOW: usize = 64;
/// In bytes. `osu_bw` and `osu_mbw_mr` answer each window; `osu_bibw` does not, and in `osu_latency`
/// the answer is the next message.
const ANSWER: u64 = 4;
/// Rounds per run.
const ROUNDS: u64 = 50;

const CALIBRATED: &str = "a calibration, not a finding: the rates of paper:2017 give the printed gains \
                          in latency and message rate";
const FOLLOWS: &str = "not calibrated: it follows from the two calibrated gains";
const BIDIRECTIONAL: &str = "in the model, sending and receiving are independent servers; on the machine \
                             one core does both";

/// The meaning of [`assumptions`] for the printed gains.
pub(crate) const CAVEAT: &str = "The gains in latency and message rate are calibrated, so they are not findings; \
                                 the gain in bandwidth follows from the message rate.";

/// The measured quantity of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quantity {
    Bandwidth,
    BidirectionalBandwidth,
    Latency,
    MessageRate,
}

/// A quantity with the largest gain that the paper prints for a local device over a remote one, in
/// percent, and its figure.
const PRINTED_GAINS: [(Quantity, f64, &str); 4] = [
    (Quantity::Bandwidth, 40.0, "Fig. 4"),
    (Quantity::BidirectionalBandwidth, 48.0, "Fig. 5"),
    (Quantity::Latency, 32.0, "Fig. 6"),
    (Quantity::MessageRate, 40.0, "Fig. 7"),
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

    /// Whether the receiver answers each window.
    fn has_answers(self) -> bool {
        matches!(self, Self::Bandwidth | Self::MessageRate)
    }

    /// Whether the rates of the cluster are calibrated with its gain.
    fn is_calibrated(self) -> bool {
        matches!(self, Self::Latency | Self::MessageRate)
    }

    fn why(self) -> &'static str {
        match self {
            Self::Bandwidth => FOLLOWS,
            Self::BidirectionalBandwidth => BIDIRECTIONAL,
            Self::Latency | Self::MessageRate => CALIBRATED,
        }
    }

    /// The gain of local devices, in percent.
    fn gain(self, local: f64, remote: f64) -> f64 {
        let ratio = if self == Self::Latency { remote / local } else { local / remote };
        100.0 * (ratio - 1.0)
    }
}

/// The four printed gains, then the statement on several devices, then all that is drawn.
pub(crate) fn rows() -> anyhow::Result<Vec<Row>> {
    let cluster = built_in::cluster(CLUSTER)?;
    let mut rows = printed_gains(&cluster)?;
    rows.extend(figures_8_and_9(&cluster)?);
    for (quantity, _, _) in PRINTED_GAINS {
        for per_node in [1, 2] {
            for pattern in &PATTERNS {
                rows.extend(curve(&cluster, quantity, pattern, per_node)?);
            }
        }
    }
    Ok(rows)
}

fn printed_gains(cluster: &Cluster) -> anyhow::Result<Vec<Row>> {
    let row = |(quantity, printed, figure): (Quantity, f64, &str)| {
        let gain = largest_gain(cluster, quantity, [&LOCAL, &REMOTE], 1)?;
        let is_calibrated = quantity.is_calibrated();
        let calibrated = if is_calibrated { " (calibrated)" } else { "" };
        let name = quantity.name();
        let what = format!("largest gain in {name}, local over remote device{calibrated}");
        let row = Row::new(figure, what, gain, "%");
        let row = match is_calibrated {
            true => row.beside(printed).with_verdict(Verdict::Calibrated),
            false => row.compared_with(Printed::whole(printed), Verdict::SameOrdering),
        };
        Ok(row.because(quantity.why()))
    };
    PRINTED_GAINS.into_iter().map(row).collect()
}

/// The rates of `paper:2017`. The paper prints no rates: two are calibrated, the others are
/// assumed.
pub(crate) fn assumptions() -> anyhow::Result<Vec<Assumption>> {
    const FITTED: &str = "calibrated: gives the printed gains in latency and message rate, with 1.1 us from \
                          process to process";
    let cluster = built_in::cluster(CLUSTER)?;
    let rates = &cluster.rates;
    let [short, .., long] = LENGTHS.map(Bytes);
    let microseconds = |time: Seconds| 1e6 * time.0;
    let core = |length| microseconds(rates.queue_pair.time(length));
    let more = microseconds(rates.inter_socket.time(short));
    let assumptions = [
        ("a core, for a message up to 512 B", core(short), "us", FITTED),
        ("a core, more through the other socket's device", more, "us", FITTED),
        ("a core, for a message of 8 KiB", core(long), "us", "assumed: one core copies 5 GB/s"),
        ("from device to device", microseconds(cluster.nic_latency(NodeId(0), 0)), "us", "assumed"),
        (
            "a device",
            1e-9 * cluster.nic_bandwidth(NodeId(0), 0).value.0,
            "GB/s",
            "that of the product",
        ),
        (
            "a memory",
            1e-9 * cluster.memory_bandwidth(NodeId(0), NumaId(0)).value.0,
            "GB/s",
            "assumed",
        ),
    ];
    // The conversion of units leaves rounding errors in the last digits.
    let rounded = |value: f64| (1e9 * value).round() / 1e9;
    let assumption =
        |(what, value, unit, from)| Assumption { what, value: rounded(value), unit, from };
    Ok(assumptions.map(assumption).to_vec())
}

/// "In the same range as single HFI": the gain in bandwidth of two local devices over two remote
/// ones, with one and two ranks per node, against that of one device over one.
fn figures_8_and_9(cluster: &Cluster) -> anyhow::Result<Vec<Row>> {
    let single = largest_gain(cluster, Quantity::Bandwidth, [&LOCAL, &REMOTE], 1)?;
    let row = |(per_node, figure)| {
        let patterns = [&BOTH_LOCAL, &BOTH_REMOTE];
        let both = largest_gain(cluster, Quantity::Bandwidth, patterns, per_node)?;
        let what = format!(
            "largest gain in bandwidth, two local over two remote devices, {per_node} per node, \
             against that of one device"
        );
        let row = Row::new(figure, what, both / single, "");
        Ok(row.compared_with(Printed::exact(1.0), Verdict::NotReproduced))
    };
    [(1, "Fig. 8"), (2, "Fig. 9")].into_iter().map(row).collect()
}

/// The largest gain of the first pattern over the second, over all lengths, in percent.
fn largest_gain(
    cluster: &Cluster,
    quantity: Quantity,
    [local, remote]: [&DevicePattern; 2],
    per_node: usize,
) -> anyhow::Result<f64> {
    let mut largest: f64 = 0.0;
    for length in LENGTHS {
        let measured = |pattern| measure(cluster, quantity, pattern, per_node, length);
        largest = largest.max(quantity.gain(measured(local)?, measured(remote)?));
    }
    Ok(largest)
}

/// One curve of Figs. 4 to 9: a row for each length.
fn curve(
    cluster: &Cluster,
    quantity: Quantity,
    pattern: &DevicePattern,
    per_node: usize,
) -> anyhow::Result<Vec<Row>> {
    let row = |length| {
        let (quantity_name, pattern_name) = (quantity.name(), pattern.name);
        let what = format!("{quantity_name}, {pattern_name}, {per_node} per node, {length} B");
        let ours = measure(cluster, quantity, pattern, per_node, length)?;
        Ok(Row::new("Figs. 4-9", what, ours, quantity.unit()))
    };
    LENGTHS.into_iter().map(row).collect()
}

/// A run with `per_node` ranks on each of two nodes, messages of `length` bytes; in the unit of the
/// quantity.
fn measure(
    cluster: &Cluster,
    quantity: Quantity,
    pattern: &DevicePattern,
    per_node: usize,
    length: u64,
) -> anyhow::Result<f64> {
    let workload = workload(quantity, per_node, Bytes(length))?;
    let placement = placement(cluster, &workload, pattern, per_node)?;
    let options = Options { pacing: Pacing::AfterArrival, ..Options::default() };
    let mut observer = |_: &_| ControlFlow::Continue(());
    let outcome = simulate(cluster, &workload, &placement, &options, &mut observer)?;
    // An answer is alone on its way, so its time adds to that of the window.
    let answers = match quantity.has_answers() {
        true => 1e-6 * ROUNDS as f64 * measure(cluster, Quantity::Latency, pattern, 1, ANSWER)?,
        false => 0.0,
    };
    let (seconds, messages) = (outcome.workload_finish.0 + answers, outcome.messages as f64);
    Ok(match quantity {
        Quantity::Latency => 1e6 * seconds / ROUNDS as f64,
        Quantity::MessageRate => 1e-6 * messages / seconds,
        Quantity::Bandwidth | Quantity::BidirectionalBandwidth => {
            1e-6 * messages * length as f64 / seconds
        }
    })
}

/// Each rank of the first node sends to its partner on the second; for the bidirectional bandwidth
/// the partner sends too.
fn workload(quantity: Quantity, per_node: usize, length: Bytes) -> anyhow::Result<Workload> {
    let window = if quantity == Quantity::Latency { 1 } else { WINDOW };
    let source = |rank: usize, destination: usize| Source {
        rank: Rank::from_index(rank),
        // The clock never delays a round.
        rate: PerSecond(1e12),
        cv: 0.0,
        in_step: None,
        rounds: ROUNDS,
        sends: vec![Send { destination: Rank::from_index(destination), length }; window],
    };
    let mut sources: Vec<Source> =
        (0..per_node).map(|rank| source(rank, per_node + rank)).collect();
    if quantity == Quantity::BidirectionalBandwidth {
        sources.extend((0..per_node).map(|rank| source(per_node + rank, rank)));
    }
    Ok(Workload::single(Job::from_sources("osu", 2 * per_node as u32, sources)?))
}

/// The ranks on the first cores of both nodes.
fn placement(
    cluster: &Cluster,
    workload: &Workload,
    pattern: &DevicePattern,
    per_node: usize,
) -> Result<Placement, PlacementError> {
    let rank = |rank: usize| {
        let node = NodeId::from_index(rank / per_node);
        let core = CoreId::from_index(rank % per_node);
        RankPlacement {
            node,
            cores: vec![core],
            pus: cluster.machine(node).cores[core.index()].pus.clone(),
            numa: Some(NumaId(0)),
            nics: pattern.devices.iter().map(|device| (*device).to_owned()).collect(),
            gpus: Vec::new(),
            bound: true,
        }
    };
    let ranks = (0..2 * per_node).map(rank).collect();
    let job = JobPlacement { name: "osu".to_owned(), ranks };
    Placement::new(cluster, &JobShape::of(workload), pattern.name, vec![job])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calibration_is_that_of_the_cluster() {
        let values: Vec<f64> =
            assumptions().unwrap().iter().map(|assumption| assumption.value).collect();
        let expected = [0.44, 0.176, 1.64, 0.2, 12.5, 60.0];
        assert!(values.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{values:?}");
    }

    #[test]
    fn gains_are_reproduced_except_in_both_directions() {
        let cluster = built_in::cluster(CLUSTER).unwrap();
        let rows = [printed_gains(&cluster).unwrap(), figures_8_and_9(&cluster).unwrap()].concat();
        let line = |row: &Row| format!("{}: {:.2}, {}", row.item, row.ours, row.verdict);
        assert_eq!(
            rows.iter().map(line).collect::<Vec<_>>(),
            [
                "Fig. 4: 39.46, reproduced",
                "Fig. 5: 39.72, same ordering",
                "Fig. 6: 32.59, calibrated",
                "Fig. 7: 39.46, calibrated",
                "Fig. 8: 1.00, reproduced",
                "Fig. 9: 1.00, reproduced",
            ]
        );
    }

    #[test]
    fn all_devices_together_are_faster_than_remote_ones() {
        let cluster = built_in::cluster(CLUSTER).unwrap();
        let bandwidth = |pattern| measure(&cluster, Quantity::Bandwidth, pattern, 1, 8).unwrap();
        // Half of the messages go through devices of the ranks' socket.
        assert!(bandwidth(&ALL) > bandwidth(&REMOTE));
    }
}
