//! When the network is used.

use serde::Serialize;

use super::data::{FactGroup, Finding, Kind, Outcome, Report, Verdict};
use super::findings::{Found, Unmeasured};
use super::packed::Packed;
use crate::report::timeline::{CountedRow, DeviceRow, TimelineReport, TimesFrom};
use crate::timeline::Efficiency;
use crate::traffic::Workload;
use crate::traffic::profile::{OversubscribedHost, Profile};
use crate::units::{Seconds, counted};

/// The most rows for ranks; of more ranks, nodes are shown.
const MOST_ROWS: usize = 1024;

/// The most network devices; of more, those that carry most are shown.
const MOST_DEVICES: usize = 256;

/// A time line. Its fields are those of `timeline show --format json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Timeline {
    /// The first line of `timeline show`.
    pub answer: String,
    /// Where times come from.
    pub times_from: TimesFrom,
    /// The length of the run.
    pub span_s: f64,
    /// The width of a bin.
    pub bin_s: f64,
    /// Share of the run in which some device sends or receives.
    pub used: f64,
    /// Share of the run in which a device sends, on average over the devices.
    pub utilisation: f64,
    /// Share of the time in which a device sends that several processes do so at once.
    pub overlap: f64,
    /// Seconds, over all devices, in which k processes send at once. Index: k.
    pub by_senders: Vec<f64>,
    /// The figures of windows of equal length.
    pub windows: Vec<Efficiency>,
    /// Network devices.
    pub devices: Vec<DeviceUse>,
    /// What network devices counted, where that was recorded.
    pub counted: Vec<CountedRow>,
    /// Row by rank or node, column by bin: the share in which it sends to other nodes; 255 is the whole bin,
    /// and 0 is none of it.
    pub busy: Packed,
    /// Number of rows of `busy`.
    pub busy_rows: usize,
    /// What the rows of `busy` are.
    pub rows_are: Rows,
}

/// What rows of a time line are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Rows {
    /// The ranks of the run.
    Ranks,
    /// Its nodes: means over their ranks.
    Nodes,
}

/// A network device. Index of lists: bin.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceUse {
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
    /// Bytes out of the node.
    pub bytes_out: Vec<f64>,
    /// Bytes into the node.
    pub bytes_in: Vec<f64>,
}

/// Where a recorded run was not like one on the nodes of a cluster.
#[must_use]
pub fn doubts_of_recording(profile: &Profile) -> Vec<Finding> {
    let mut found = Vec::new();
    if let Some(OversubscribedHost { host, ranks, pus }) = profile.shared_pus() {
        let text = format!(
            "{ranks} ranks shared {pus} PUs on {host}: the times of the run include waiting for a PU"
        );
        found.push(Found::new("shared-pus", text));
    }
    if let [first, others @ ..] = &profile.ranks[..]
        && !others.is_empty()
        && others.iter().all(|rank| rank.host == first.host)
    {
        let text = format!(
            "all {} ran on one host: --placement FILE shows what they would send between the nodes of a \
             placement",
            counted(profile.ranks.len(), "rank")
        );
        found.push(Found::new("one-host", text));
    }
    found.into_iter().map(Found::finding).collect()
}

impl Report {
    /// The report of the time line of a recorded run of `workload`; `node_of` as in [`Report::with_timeline`].
    #[must_use]
    pub fn of_timeline(workload: &Workload, timeline: &TimelineReport, node_of: &[u32]) -> Self {
        let ranks = counted(workload.rank_count(), "rank");
        let title = format!("{}, {ranks}: when the network is used", workload.name);
        let verdict = Verdict {
            text: timeline.answer.clone(),
            outcome: Outcome::Unknown,
            details: Vec::new(),
        };
        let report = Self::new(Kind::Timeline, title, verdict);
        let mut report = report.with_workload_facts(workload);
        let span = format!("{:.2}", Seconds(timeline.span_s));
        report.fact(FactGroup::Run, "length of the time line", span);
        if timeline.times_from == TimesFrom::Device {
            report.lack(Unmeasured::TimeLine);
        }
        if let Some(false) = timeline.steady {
            let text =
                "the traffic is not steady: one placement by totals may fit no part of the run";
            report.find([Found::new("traffic-not-steady", text).finding()]);
        }
        report.with_timeline(timeline, node_of)
    }

    /// Adds a time line; `node_of` has the number of each rank's node, from 0.
    #[must_use]
    pub fn with_timeline(mut self, report: &TimelineReport, node_of: &[u32]) -> Self {
        let mut devices: Vec<&DeviceRow> = report.devices.iter().collect();
        if devices.len() > MOST_DEVICES {
            let total = |row: &DeviceRow| row.bytes_out.iter().chain(&row.bytes_in).sum::<f64>();
            devices.sort_by(|a, b| total(b).total_cmp(&total(a)));
            devices.truncate(MOST_DEVICES);
            devices.sort_by(|a, b| (&a.node, &a.device).cmp(&(&b.node, &b.device)));
            let text = format!(
                "the time line shows {MOST_DEVICES} of {} network devices: those that carry most",
                report.devices.len()
            );
            self.find([Found::new("devices-left-out", text).finding()]);
        }
        let (rows, rows_are) = busy_rows(&report.busy_ranks, node_of);
        let busy: Vec<u8> = rows.iter().flatten().map(|share| of_255(*share)).collect();
        let measures = &report.measures;
        self.timeline = Some(Timeline {
            answer: report.answer.clone(),
            times_from: report.times_from,
            span_s: report.span_s,
            bin_s: report.bin_s,
            used: measures.used,
            utilisation: measures.utilisation,
            overlap: measures.overlap,
            by_senders: measures.by_senders.clone(),
            windows: report.windows.clone(),
            devices: devices.into_iter().map(DeviceUse::new).collect(),
            counted: report.counted.iter().map(whole_bytes).collect(),
            busy: Packed::bytes(&busy),
            busy_rows: rows.len(),
            rows_are,
        });
        self
    }
}

impl DeviceUse {
    fn new(row: &DeviceRow) -> Self {
        Self {
            node: row.node.clone(),
            device: row.device.clone(),
            bandwidth: row.bandwidth,
            utilisation_out: row.utilisation_out,
            utilisation_in: row.utilisation_in,
            bytes_out: rounded(&row.bytes_out),
            bytes_in: rounded(&row.bytes_in),
        }
    }
}

fn whole_bytes(row: &CountedRow) -> CountedRow {
    let CountedRow { node, device, bytes_out, bytes_in } = row.clone();
    CountedRow { node, device, bytes_out: rounded(&bytes_out), bytes_in: rounded(&bytes_in) }
}

/// Whole numbers are shorter as text.
fn rounded(bytes: &[f64]) -> Vec<f64> {
    bytes.iter().map(|bytes| bytes.round()).collect()
}

/// A share of a bin in parts of 255; the least that is something is not nothing.
fn of_255(share: f64) -> u8 {
    ((255.0 * share.clamp(0.0, 1.0)).round() as u8).max(u8::from(share > 0.0))
}

/// A row for each rank, or the mean of each node's ranks if there are too many.
fn busy_rows(ranks: &[Vec<f64>], node_of: &[u32]) -> (Vec<Vec<f64>>, Rows) {
    if ranks.len() <= MOST_ROWS {
        return (ranks.to_vec(), Rows::Ranks);
    }
    let nodes = node_of.iter().max().map_or(0, |last| *last as usize + 1);
    let mut sums: Vec<(usize, Vec<f64>)> = vec![(0, Vec::new()); nodes];
    for (rank, node) in ranks.iter().zip(node_of) {
        let (count, sum) = &mut sums[*node as usize];
        *count += 1;
        sum.resize(rank.len().max(sum.len()), 0.0);
        sum.iter_mut().zip(rank).for_each(|(sum, share)| *sum += share);
    }
    let mean = |(count, sum): (usize, Vec<f64>)| {
        sum.into_iter().map(|sum| sum / count.max(1) as f64).collect()
    };
    (sums.into_iter().map(mean).collect(), Rows::Nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_messages_are_seen_in_a_long_run() {
        assert_eq!([0.0, 1e-6, 0.5, 1.0].map(of_255), [0, 1, 128, 255]);
    }

    #[test]
    fn many_ranks_are_shown_by_node() {
        let few = vec![vec![0.5, 1.0]; 4];
        assert_eq!(busy_rows(&few, &[0, 0, 1, 1]), (few.clone(), Rows::Ranks));
        let many: Vec<Vec<f64>> =
            (0..2 * MOST_ROWS).map(|rank| vec![f64::from(rank as u32 % 2)]).collect();
        let nodes: Vec<u32> = (0..many.len()).map(|rank| u32::from(rank >= MOST_ROWS)).collect();
        assert_eq!(busy_rows(&many, &nodes), (vec![vec![0.5]; 2], Rows::Nodes));
    }
}
