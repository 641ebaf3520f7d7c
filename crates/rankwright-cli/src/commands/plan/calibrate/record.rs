//! The record that the probe prints; `probe/src/record.c` writes it.

use anyhow::Context;
use serde::Deserialize;

/// What stands before each line of the record: launchers print lines of their own.
const MARK: &str = "@rankwright-probe ";
/// The version of the record.
const VERSION: u32 = 1;

/// A record.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// The version string of the MPI library.
    pub(super) mpi: String,
    /// Number of ranks.
    pub(super) ranks: usize,
    /// Whether ranks share PUs, so that nothing inside nodes is measured.
    pub(super) shares_pus: bool,
    /// The hosts in the order of their first ranks.
    pub(super) hosts: Vec<Host>,
    pub(super) rates: Vec<Rate>,
    /// How long it took, in seconds; `None` if the record ends before its end.
    pub(super) seconds: Option<f64>,
}

/// A host.
#[derive(Debug, Deserialize)]
pub(super) struct Host {
    pub(super) host: String,
    /// The boot id of its kernel.
    pub(super) kernel: String,
    pub(super) ranks: usize,
    /// How many of them have a core or a PU of their own.
    pub(super) bound: usize,
}

/// A rate: the median and the quartiles of samples.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Rate {
    /// What: `one_way`, `bandwidth`, ...
    pub(super) rate: String,
    /// What the two ranks share: `core` to `node`, or `nodes` for ranks of different ones.
    pub(super) level: String,
    /// Levels of switches between the nodes, where the probe was told.
    pub(super) across: u32,
    /// The hosts of the ranks.
    pub(super) first: String,
    pub(super) second: String,
    /// The network device that sent most; empty if none counts.
    pub(super) device: String,
    /// The NUMA nodes of the ranks (P#), -1 if unknown.
    pub(super) numa: [i32; 2],
    /// Number of pairs of ranks; of memory copies, of ranks.
    pub(super) pairs: u32,
    /// Whether the ranks of a pair send to each other at once.
    pub(super) both: bool,
    /// In seconds, bytes per second or bytes.
    pub(super) mean: f64,
    pub(super) median: f64,
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) samples: u32,
}

impl Rate {
    /// Half of the distance between the quartiles, relative to the median.
    pub(super) fn spread(&self) -> f64 {
        (self.high - self.low) / (2.0 * self.median)
    }
}

/// A measurement that begins.
#[derive(Debug, Deserialize)]
pub(super) struct Step {
    pub(super) step: u32,
    pub(super) of: u32,
    pub(super) what: String,
}

/// A line of the record.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Line {
    Head { probe: u32, mpi: String, ranks: usize, shares_pus: bool },
    Host(Host),
    Step(Step),
    Rate(Rate),
    End { end: f64 },
}

impl Record {
    /// Takes a line of the launcher's output; the measurement that begins with it, if one does. `None`
    /// for lines that are not of the record.
    ///
    /// # Errors
    /// If the line cannot be read, or several programs write the record.
    pub(super) fn take(&mut self, text: &str) -> anyhow::Result<Option<Option<Step>>> {
        let Some((_, line)) = text.split_once(MARK) else { return Ok(None) };
        let line: Line = serde_json::from_str(line)
            .with_context(|| format!("a line of the probe that cannot be read: {line}"))?;
        match line {
            Line::Head { probe, mpi, ranks, shares_pus } => {
                anyhow::ensure!(
                    probe == VERSION,
                    "the probe writes version {probe} of its record, expected {VERSION}"
                );
                anyhow::ensure!(
                    self.ranks == 0,
                    "each rank was a job of its own: the launcher belongs to another MPI ({mpi} was \
                     found); give --mpi, or the launcher of that MPI"
                );
                (self.mpi, self.ranks, self.shares_pus) = (mpi, ranks, shares_pus);
            }
            Line::Host(host) => self.hosts.push(host),
            Line::Step(step) => return Ok(Some(Some(step))),
            Line::Rate(rate) => {
                if rate.median > 0.0 && [rate.low, rate.high].iter().all(|rate| rate.is_finite()) {
                    self.rates.push(rate);
                }
            }
            Line::End { end } => self.seconds = Some(end),
        }
        Ok(Some(None))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The record of a text.
    pub(in super::super) fn record(text: &str) -> anyhow::Result<Record> {
        let mut record = Record::default();
        for line in text.lines() {
            record.take(line)?;
        }
        Ok(record)
    }

    #[test]
    fn lines_of_launchers_are_left_out() {
        let text = "hello\n0: @rankwright-probe {\"probe\":1,\"mpi\":\"M\",\"ranks\":2,\"shares_pus\":false}\n\
                    @rankwright-probe {\"host\":\"n0\",\"kernel\":\"k\",\"ranks\":2,\"bound\":2}\n\
                    @rankwright-probe {\"end\":1.5}\n";
        let record = record(text).unwrap();
        assert_eq!((record.mpi.as_str(), record.ranks, record.seconds), ("M", 2, Some(1.5)));
        assert_eq!(record.hosts[0].host, "n0");
    }

    #[test]
    fn broken_lines_and_second_jobs_are_named() {
        let error = record("@rankwright-probe {\"rate\":\"one").unwrap_err().to_string();
        assert!(error.contains("cannot be read"), "{error}");
        let head =
            "@rankwright-probe {\"probe\":1,\"mpi\":\"M\",\"ranks\":1,\"shares_pus\":false}\n";
        let error = record(&head.repeat(2)).unwrap_err().to_string();
        assert!(error.contains("each rank was a job of its own"), "{error}");
        let newer = head.replace("\"probe\":1", "\"probe\":2");
        assert!(record(&newer).unwrap_err().to_string().contains("version 2"));
    }
}
