//! A time line as text, JSON, CSV, picture and trace.

mod perfetto;
mod picture;
mod text;
mod words;

use serde::Serialize;

use crate::cluster::Cluster;
use crate::ids::{NodeId, Rank};
use crate::timeline::{
    Bins, Counted, Device, Efficiency, Measures, Sites, Steadiness, Timeline, measures_of_counters,
};
use crate::traffic::read::counter_series::NodeSeries;
use crate::units::Seconds;

pub use perfetto::perfetto;
pub use picture::timeline_picture;

/// Where the times of messages come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TimesFrom {
    /// The calls of the program: when messages are handed to the MPI library.
    Mpi,
    /// When bytes are handed to the kernel on TCP connections, or messages to UCX or Open MPI's PML.
    Transport,
    /// The counters of network devices.
    Device,
    /// A replay of the calls under a placement.
    Replay,
}

/// Where the bandwidths of devices come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BandwidthFrom {
    /// Measured by numbers of senders (`rankwright calibrate`).
    Curve,
    /// The cluster: the same for any number of senders.
    Device,
    /// The user.
    Given,
    /// Nobody.
    Assumed,
    /// The highest rate that was counted.
    Counted,
}

/// A time line for people and programs. `docs/src/formats.md` describes its JSON form.
#[derive(Debug, Clone, Serialize)]
pub struct TimelineReport {
    /// The first line for people.
    pub answer: String,
    /// Where times come from.
    pub times_from: TimesFrom,
    /// Where bandwidths come from.
    pub bandwidth_from: BandwidthFrom,
    /// The length of the run.
    pub span_s: f64,
    /// The number of ranks.
    pub ranks: usize,
    /// How the network is used.
    #[serde(flatten)]
    pub measures: Measures,
    /// Whether the traffic is steady; `None` without messages.
    pub steady: Option<bool>,
    /// The test of that.
    pub steadiness: Option<Steadiness>,
    /// Windows of equal length.
    pub windows: Vec<Efficiency>,
    /// The devices.
    pub devices: Vec<DeviceRow>,
    /// What devices counted, where that was recorded.
    pub counted: Vec<CountedRow>,
    /// The width of a bin.
    pub bin_s: f64,
    /// By rank: the share of each bin in which it sends to other nodes.
    pub busy_ranks: Vec<Vec<f64>>,
    /// The rate, in bytes per second, that fills a row of a counter.
    #[serde(skip)]
    pub highest: f64,
}

/// A network device. Index of lists: bin.
#[derive(Debug, Clone, Serialize)]
pub struct DeviceRow {
    /// The node.
    pub node: String,
    /// The device; empty if it is not known which.
    pub device: String,
    /// Bytes per second.
    pub bandwidth: f64,
    /// Share of the run in which it sends.
    pub utilisation_out: f64,
    /// Share of the run in which it receives.
    pub utilisation_in: f64,
    /// Seconds with k senders at once. Index: k; that of 0 is not counted.
    pub by_senders: Vec<f64>,
    /// Bytes out of the node.
    pub bytes_out: Vec<f64>,
    /// Bytes into the node.
    pub bytes_in: Vec<f64>,
}

/// A device that carries less than this share of what the busiest one does is not that of the job.
const LITTLE: f64 = 0.02;

/// What a network device counted, with all headers. Index of lists: bin.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CountedRow {
    /// The host.
    pub node: String,
    /// The device.
    pub device: String,
    /// Bytes out of the node.
    pub bytes_out: Vec<f64>,
    /// Bytes into the node.
    pub bytes_in: Vec<f64>,
}

impl CountedRow {
    /// A row for each device that carried more than others without a job do.
    #[must_use]
    pub fn of(counted: Vec<Counted>) -> Vec<Self> {
        let total = |counted: &Counted| counted.bytes.iter().map(Bins::total).fold(0.0, f64::max);
        let most = counted.iter().map(total).fold(0.0, f64::max);
        let is_used = |counted: &Counted| total(counted) >= LITTLE * most;
        let row = |Counted { node, device, bytes: [out, into] }| Self {
            node,
            device,
            bytes_out: out.values,
            bytes_in: into.values,
        };
        counted.into_iter().filter(is_used).map(row).collect()
    }
}

impl TimelineReport {
    /// A report of a run of which only counters were recorded, from sample to sample of this width.
    #[must_use]
    pub fn of_counters(series: &[NodeSeries], width: f64, span: f64, ranks: usize) -> Self {
        let (measures, steadiness, highest) = measures_of_counters(series, width);
        let steady = match steadiness {
            Some(steadiness) if steadiness.has_level() => "its amount is steady",
            Some(_) => "its amount is not steady",
            None => "it carries nothing",
        };
        let answer = format!(
            "The network is busy {:.1} % of the time; {steady}. By whom was not recorded \
             (`profile --timeline mpi`).",
            100.0 * measures.used
        );
        Self {
            answer,
            times_from: TimesFrom::Device,
            bandwidth_from: BandwidthFrom::Counted,
            span_s: span,
            ranks,
            measures,
            steady: steadiness.map(|steadiness| steadiness.is_steady()),
            steadiness,
            windows: Vec::new(),
            devices: Vec::new(),
            counted: Vec::new(),
            bin_s: width,
            busy_ranks: Vec::new(),
            highest,
        }
    }

    /// A report with bins of this width, in seconds.
    #[must_use]
    pub fn new(
        timeline: &Timeline,
        bin: f64,
        times_from: TimesFrom,
        bandwidth_from: BandwidthFrom,
    ) -> Self {
        let bins = bins_to_last_send(timeline, bin);
        Self {
            answer: words::answer(timeline),
            times_from,
            bandwidth_from,
            span_s: timeline.span,
            ranks: timeline.ranks.len(),
            measures: timeline.measures.clone(),
            steady: timeline.steadiness.map(|steadiness| steadiness.is_steady()),
            steadiness: timeline.steadiness,
            windows: timeline.efficiency.clone(),
            devices: timeline
                .devices
                .iter()
                .map(|device| row(device, &bins, timeline.span))
                .collect(),
            counted: Vec::new(),
            bin_s: bins.width,
            busy_ranks: busy_ranks(timeline, &bins),
            highest: timeline
                .devices
                .iter()
                .map(|d| d.site.curve.bandwidth().0)
                .fold(0.0, f64::max),
        }
    }

    /// Only the devices and the ranks of one node. What was said in words and shares is still about all.
    #[must_use]
    pub fn of_node(mut self, sites: &Sites, cluster: &Cluster, node: NodeId) -> Self {
        let name = &cluster.node(node).name;
        self.devices.retain(|device| device.node == *name);
        self.counted.retain(|device| device.node == *name);
        let mut rank = 0..;
        self.busy_ranks.retain(|_| {
            rank.next().is_some_and(|rank| sites.node(Rank::from_index(rank)) == node.0)
        });
        self
    }

    /// A row for each window.
    #[must_use]
    pub fn windows_table(&self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let share =
            |share: Option<f64>| share.map_or("-".to_owned(), |share| format!("{share:.3}"));
        let row = |window: &Efficiency| {
            vec![
                format!("{:.3}", Seconds(window.begin_s)),
                format!("{:.3}", Seconds(window.end_s)),
                share(window.load_balance),
                share(window.serialisation),
                share(Some(window.transfer)),
            ]
        };
        let header = vec!["from", "to", "load balance", "serialisation", "transfer"];
        (header, self.windows.iter().map(row).collect())
    }

    /// A line of CSV for each bin of each device.
    #[must_use]
    pub fn csv(&self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let mut rows = Vec::new();
        let cell = |values: Option<&Vec<f64>>, bin: usize| {
            values.map_or(String::new(), |values| {
                format!("{:.0}", values.get(bin).copied().unwrap_or(0.0))
            })
        };
        let places = self.devices.iter().map(|row| (&row.node, &row.device));
        let counted = self.counted.iter().map(|row| (&row.node, &row.device));
        let mut places: Vec<(&String, &String)> = places.chain(counted).collect();
        places.sort();
        places.dedup();
        for (node, device) in places {
            let computed =
                self.devices.iter().find(|row| (&row.node, &row.device) == (node, device));
            let counted =
                self.counted.iter().find(|row| (&row.node, &row.device) == (node, device));
            let count =
                computed.map(|row| row.bytes_out.len()).max(counted.map(|row| row.bytes_out.len()));
            for bin in 0..count.unwrap_or(0) {
                rows.push(vec![
                    format!("{:.9}", self.bin_s * bin as f64),
                    node.clone(),
                    device.clone(),
                    cell(computed.map(|row| &row.bytes_out), bin),
                    cell(computed.map(|row| &row.bytes_in), bin),
                    cell(counted.map(|row| &row.bytes_out), bin),
                    cell(counted.map(|row| &row.bytes_in), bin),
                ]);
            }
        }
        let header =
            vec!["time_s", "node", "device", "bytes_out", "bytes_in", "counted_out", "counted_in"];
        (header, rows)
    }
}

/// Empty bins over the run.
#[must_use]
pub fn bins_of(span: f64, width: f64) -> Bins {
    let width = if width > 0.0 { width } else { 1.0 };
    Bins::new(0.0, width, ((span / width).ceil() as usize).max(1))
}

/// Empty bins over the run, to the end of its last send.
#[must_use]
pub fn bins_to_last_send(timeline: &Timeline, width: f64) -> Bins {
    bins_of(last_send(timeline), width)
}

/// The end of the run or of its last send, but four times the run at most: a send may end after the run.
#[must_use]
pub fn last_send(timeline: &Timeline) -> f64 {
    let ends = timeline.devices.iter().filter_map(|device| device.out.occupation.busy.last());
    ends.map(|(_, end)| *end).fold(timeline.span, f64::max).min(4.0 * timeline.span)
}

fn row(device: &Device, bins: &Bins, span: f64) -> DeviceRow {
    let [out, into] = device.bins(bins);
    let share = |time: f64| if span > 0.0 { (time / span).min(1.0) } else { 0.0 };
    DeviceRow {
        node: device.site.node.clone(),
        device: device.site.device.clone(),
        bandwidth: device.site.curve.bandwidth().0,
        utilisation_out: share(device.out.occupation.busy_time()),
        utilisation_in: share(device.into.occupation.busy_time()),
        by_senders: device.out.occupation.by_senders.clone(),
        bytes_out: out.values,
        bytes_in: into.values,
    }
}

fn busy_ranks(timeline: &Timeline, bins: &Bins) -> Vec<Vec<f64>> {
    let shares = |intervals: &Vec<(f64, f64)>| {
        let mut busy = bins.clone();
        for (begin, end) in intervals {
            busy.add(*begin, *end, (end - begin) / bins.width);
        }
        busy.values
    };
    timeline.ranks.iter().map(shares).collect()
}
