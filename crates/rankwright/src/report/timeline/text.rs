//! A time line in a terminal: a row for each device and rank, time across.

use super::TimelineReport;
use super::words::lines;
use crate::units::Seconds;

/// How full a column is, in eighths.
const LEVELS: [char; 9] = ['·', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The fewest columns of time.
const LEAST: usize = 20;

impl TimelineReport {
    /// The text, at most this wide, with at most this many rows of ranks: beyond that, neighbours share
    /// one. Its bins should be as many as [`TimelineReport::columns`] says.
    #[must_use]
    pub fn text(&self, rows: usize) -> String {
        let mut text = self.answer.clone() + "\n\n";
        for (name, what) in lines(self) {
            text += &format!("{name:<17}{what}\n");
        }
        if self.measures.bytes > 0 || self.measures.messages > 0 {
            text += "\n";
            text += &self.drawn(rows);
        }
        text
    }

    /// The number of columns of time in a text of this width.
    #[must_use]
    pub fn columns(labels: impl Iterator<Item = usize>, width: usize) -> usize {
        let label = labels.max().unwrap_or(0).max("ranks 0-0".len());
        width.saturating_sub(label + 2).max(LEAST)
    }

    fn drawn(&self, rows: usize) -> String {
        let mut drawn: Vec<(String, Vec<f64>)> = Vec::new();
        for device in &self.devices {
            let whole = device.bandwidth * self.bin_s;
            for (direction, bytes) in [("out", &device.bytes_out), ("in", &device.bytes_in)] {
                let shares = bytes.iter().map(|bytes| bytes / whole).collect();
                drawn.push((label(&device.node, &device.device, direction), shares));
            }
        }
        for device in &self.counted {
            let whole = self.highest * self.bin_s;
            for (direction, bytes) in [("out", &device.bytes_out), ("in", &device.bytes_in)] {
                let name = label(&device.node, &device.device, &format!("counted {direction}"));
                drawn.push((name, bytes.iter().map(|bytes| bytes / whole).collect()));
            }
        }
        let together = self.busy_ranks.len().div_ceil(rows.max(1)).max(1);
        for (group, ranks) in self.busy_ranks.chunks(together).enumerate() {
            let first = group * together;
            let name = match ranks.len() {
                1 => format!("rank {first}"),
                count => format!("ranks {first}-{}", first + count - 1),
            };
            let mean =
                |bin: usize| ranks.iter().map(|rank| rank[bin]).sum::<f64>() / ranks.len() as f64;
            drawn.push((name, (0..ranks[0].len()).map(mean).collect()));
        }
        let width = drawn.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        let columns = drawn.first().map_or(0, |(_, shares)| shares.len());
        let end = format!("{:.3}", Seconds(self.bin_s * columns as f64));
        let gap = columns.saturating_sub(end.chars().count() + 1);
        let mut text = format!("{:width$}  0{:gap$}{end}\n", "", "");
        for (name, shares) in drawn {
            let row: String = shares.iter().map(|share| level(*share)).collect();
            text += &format!("{name:<width$}  {row}\n");
        }
        text += "\nOf a device: share of its bandwidth; of a rank: share of time in which it sends to \
                 other nodes.\n";
        text
    }
}

/// The label of a row.
pub(super) fn label(node: &str, device: &str, direction: &str) -> String {
    [node, device, direction]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

fn level(share: f64) -> char {
    let eighths = (share * 8.0).round().clamp(0.0, 8.0) as usize;
    // Very little is more than nothing.
    LEVELS[if share > 1e-6 { eighths.max(1) } else { eighths }]
}
