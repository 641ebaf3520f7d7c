//! The file of a job's counters: readings before and after it, and what was predicted.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::reading::NodeReading;
use crate::files::{InputError, WriteError, read_text, write_atomically};
use crate::ids::Rank;
use crate::placement::{JobEntry, PlacementFile};
use crate::traffic::expansion::expand;
use crate::traffic::{Flow, Job};

/// The version of the format that is read and written.
const VERSION: u32 = 1;

/// What a record is, in errors.
pub const EXPECTED: &str = "a record as `rankwright run --counters` writes it";

/// The most pairs of ranks that a record lists; about 30 bytes each.
const MOST_FLOWS: usize = 1_000_000;

/// The counters of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The version of the format: 1.
    pub version: u32,
    /// The name of the cluster of the placement.
    pub cluster: String,
    /// `sha256:...` of that cluster.
    pub cluster_digest: String,
    /// The strategy of the placement.
    pub strategy: String,
    /// The name of the job.
    pub job: String,
    /// The variables by which the ranks were given their devices.
    #[serde(default)]
    pub variables: Vec<String>,
    /// The nodes with ranks.
    pub nodes: Vec<NodeDevices>,
    /// The position is the rank.
    pub ranks: Vec<RankDue>,
    /// Whether the traffic of the job was given.
    pub predicted: bool,
    /// Sender, receiver, bytes, messages, and of the bytes those of collective calls; empty if unknown, or
    /// if there are too many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<(u32, u32, u64, u64, u64)>,
    /// Before the job.
    pub before: Readings,
    /// After the job.
    pub after: Readings,
    /// How the job ended; `None` if it was killed together with its launcher.
    pub end: Option<RunEnd>,
}

/// A node with its network devices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeDevices {
    /// The host name.
    pub name: String,
    /// Of each device its name and its aliases.
    pub devices: Vec<Vec<String>>,
}

/// A rank with its part of the prediction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RankDue {
    /// The position of its node in `nodes`.
    pub node: usize,
    /// Its network devices; empty if it has none of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nics: Vec<String>,
    /// To other nodes.
    pub out: Due,
    /// From other nodes.
    #[serde(rename = "in")]
    pub incoming: Due,
}

/// Predicted traffic in one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Due {
    /// Payload of messages, in bytes.
    pub bytes: f64,
    /// The part of it that is of collective calls, whose algorithm is not known for certain.
    pub estimated: f64,
    /// The number of messages.
    pub messages: f64,
}

impl Due {
    pub(super) fn add(&mut self, other: &Self, share: f64) {
        self.bytes += share * other.bytes;
        self.estimated += share * other.estimated;
        self.messages += share * other.messages;
    }
}

/// The readings of the nodes at one end of a job.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Readings {
    /// In the order of [`Record::nodes`]; without the nodes that failed.
    pub nodes: Vec<NodeReading>,
    /// Nodes without a reading, with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed: BTreeMap<String, String>,
    /// Why there is no reading at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RunEnd {
    /// The exit code of the launcher, as it is passed on.
    pub exit_code: u8,
    /// From the start of the launcher until its end.
    pub seconds: f64,
}

impl Record {
    /// The record of a job before it runs, without readings.
    ///
    /// # Panics
    /// If a rank's node is not among the nodes of the placement, which a placement that was read rules
    /// out.
    #[must_use]
    pub fn new(placement: &PlacementFile, job: &JobEntry, traffic: Option<&Job>) -> Self {
        let mut nodes: Vec<NodeDevices> = Vec::new();
        let mut ranks = Vec::new();
        for entry in &job.ranks {
            let at = nodes.iter().position(|node| node.name == entry.node);
            let node = at.unwrap_or_else(|| {
                let listed = placement.node(&entry.node).expect("the node of a rank is listed");
                let names = |device: &crate::placement::DeviceEntry| {
                    device.names().map(str::to_owned).collect()
                };
                let devices = listed.nics.iter().map(names).collect();
                nodes.push(NodeDevices { name: entry.node.clone(), devices });
                nodes.len() - 1
            });
            let none = Due::default();
            ranks.push(RankDue { node, nics: entry.nics.clone(), out: none, incoming: none });
        }
        let mut record = Self {
            version: VERSION,
            cluster: placement.cluster.name.clone(),
            cluster_digest: placement.cluster.digest.clone(),
            strategy: placement.strategy.clone(),
            job: job.name.clone(),
            variables: Vec::new(),
            nodes,
            ranks,
            predicted: traffic.is_some(),
            flows: traffic.map(flows).unwrap_or_default(),
            before: Readings::default(),
            after: Readings::default(),
            end: None,
        };
        record.predict();
        if record.flows.len() > MOST_FLOWS {
            record.flows.clear();
        }
        record
    }

    /// The record, judged against another placement of the same job.
    ///
    /// # Errors
    /// A sentence, if the placement is of another cluster, has no job of this name and size, or the
    /// record has no traffic.
    pub fn placed_as(&self, placement: &PlacementFile) -> Result<Self, String> {
        if placement.cluster.digest != self.cluster_digest {
            let name = &placement.cluster.name;
            return Err(match *name == self.cluster {
                true => format!(
                    "the placement was made for another description of `{name}` than that of the record: place \
                     again, or record a run with the placement"
                ),
                false => format!(
                    "the placement is for another cluster, `{name}`, than the record, `{}`",
                    self.cluster
                ),
            });
        }
        let fits = |job: &&JobEntry| job.name == self.job && job.ranks.len() == self.ranks.len();
        let job = placement.jobs.iter().find(fits).ok_or_else(|| {
            format!("the placement has no job `{}` of {} ranks", self.job, self.ranks.len())
        })?;
        if self.flows.is_empty() {
            return Err("the record does not have the traffic between ranks".to_owned());
        }
        let mut other = Self::new(placement, job, None);
        other.flows.clone_from(&self.flows);
        other.predict();
        let Self { nodes, ranks, strategy, .. } = other;
        Ok(Self { nodes, ranks, strategy, ..self.clone() })
    }

    /// Fills what is due for each rank from the flows.
    fn predict(&mut self) {
        for (from, to, bytes, messages, estimated) in &self.flows {
            let (from, to) = (*from as usize, *to as usize);
            if self.ranks[from].node == self.ranks[to].node {
                continue;
            }
            let [bytes, messages, estimated] =
                [bytes, messages, estimated].map(|number| *number as f64);
            let due = Due { bytes, estimated, messages };
            self.ranks[from].out.add(&due, 1.0);
            self.ranks[to].incoming.add(&due, 1.0);
        }
    }

    /// Reads a record and checks it.
    ///
    /// # Errors
    /// If it cannot be read, is no record, is of another version, or contradicts itself.
    pub fn read(path: &Path) -> Result<Self, InputError> {
        Self::parse(&read_text(path, EXPECTED)?, &path.display().to_string())
    }

    /// As [`Record::read`], from a text; `name` is the file in errors.
    ///
    /// # Errors
    /// As [`Record::read`].
    pub fn parse(text: &str, name: &str) -> Result<Self, InputError> {
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let malformed = |error| InputError::of_json(name, &error, EXPECTED);
        let Version { version } = serde_json::from_str(text).map_err(malformed)?;
        if version != VERSION {
            return Err(InputError::new(name, version, VERSION)
                .in_field("version")
                .with_advice("read it with the rankwright that wrote it, or run the job again"));
        }
        let record: Self = serde_json::from_str(text).map_err(malformed)?;
        record.check(name)?;
        Ok(record)
    }

    /// An error for indices that lead nowhere, and for numbers that are none.
    fn check(&self, name: &str) -> Result<(), InputError> {
        let (nodes, ranks) = (self.nodes.len(), self.ranks.len());
        if let Some((rank, wrong)) = (0..).zip(&self.ranks).find(|(_, rank)| rank.node >= nodes) {
            let expected = format!("the position of one of {nodes} nodes");
            let error = InputError::new(name, wrong.node, expected);
            return Err(error.in_field(format!("ranks[{}].node", Rank(rank))));
        }
        let is_rank = |rank: &u32| (*rank as usize) < ranks;
        let wrong = self.flows.iter().position(|flow| !is_rank(&flow.0) || !is_rank(&flow.1));
        if let Some(at) = wrong {
            let flow = &self.flows[at];
            let found = format!("ranks {} and {}", flow.0, flow.1);
            let error = InputError::new(name, found, format!("ranks below {ranks}"));
            return Err(error.in_field(format!("flows[{at}]")));
        }
        self.check_devices(name)?;
        let numbers = |due: &Due| [due.bytes, due.estimated, due.messages];
        let is_wrong = |number: f64| !number.is_finite() || number < 0.0;
        for (at, rank) in self.ranks.iter().enumerate() {
            let all = numbers(&rank.out).into_iter().chain(numbers(&rank.incoming));
            if let Some(number) = all.into_iter().find(|number| is_wrong(*number)) {
                let error = InputError::new(name, number, "a number of bytes or messages");
                return Err(error.in_field(format!("ranks[{at}]")));
            }
        }
        Ok(())
    }

    /// An error for a device without a name.
    fn check_devices(&self, name: &str) -> Result<(), InputError> {
        for (at, node) in self.nodes.iter().enumerate() {
            if let Some(device) = node.devices.iter().position(Vec::is_empty) {
                let expected = "the name of a device and its aliases";
                let error = InputError::new(name, "no name", expected);
                return Err(error.in_field(format!("nodes[{at}].devices[{device}]")));
            }
        }
        Ok(())
    }

    /// The text of the file.
    ///
    /// # Panics
    /// Never: the record is plain data.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("plain data has a JSON form") + "\n"
    }

    /// Writes the file, whole or not at all.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), WriteError> {
        write_atomically(path, self.to_json().as_bytes())
    }
}

/// The traffic between different ranks of a job; the part of collective calls as they were expanded.
fn flows(job: &Job) -> Vec<(u32, u32, u64, u64, u64)> {
    let made = &job.collectives;
    // Calls whose arguments say what goes to whom send just that.
    let calls: Vec<_> = made.calls.iter().filter(|call| call.row.is_empty()).cloned().collect();
    let mut estimated: BTreeMap<(Rank, Rank), u64> = BTreeMap::new();
    for flow in expand(&calls, &made.communicators, made.expansion) {
        *estimated.entry((flow.source, flow.destination)).or_default() += flow.bytes;
    }
    let others = job.flows.iter().filter(|flow| flow.source != flow.destination);
    let row = |flow: &Flow| {
        let of_calls = estimated.get(&(flow.source, flow.destination)).copied().unwrap_or(0);
        let of_calls = of_calls.min(flow.bytes);
        (flow.source.0, flow.destination.0, flow.bytes, flow.messages, of_calls)
    };
    others.map(row).collect()
}
