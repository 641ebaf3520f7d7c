//! Compares what devices counted with what was due.

use serde::Serialize;

use super::counted::{Counted, OfDevice, of_device};
use super::findings::Findings;
use super::reading::{DeviceSample, NodeReading};
use super::record::{Due, NodeDevices, Record};
use super::wire;
use crate::estimate::Direction;

/// Whether the devices carried what was predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// They did.
    AsPredicted,
    /// They did not.
    Fault,
    /// The readings do not tell.
    CannotTell,
}

/// The judgement of a record.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judgement {
    /// Whether the devices carried what was predicted.
    pub verdict: Verdict,
    /// The verdict in a sentence.
    pub sentence: String,
    /// What is wrong, a sentence each.
    pub faults: Vec<String>,
    /// What cannot be told, and why.
    pub untold: Vec<String>,
    /// What is unusual and no fault.
    pub notes: Vec<String>,
    /// The devices.
    pub devices: Vec<Row>,
}

impl Judgement {
    /// The predicted and the counted bytes out of all devices with ranks; `None` unless all carried what
    /// was predicted.
    #[must_use]
    pub fn bytes(&self) -> Option<[u64; 2]> {
        let placed = self.devices.iter().filter(|row| row.placed);
        let known = placed.filter_map(|row| Some([row.predicted_out, row.out?]));
        let sum = known.fold([0; 2], |[a, b]: [u64; 2], [c, d]| [a + c, b + d]);
        (self.verdict == Verdict::AsPredicted).then_some(sum)
    }
}

/// A device beside its prediction. Bytes are without the background.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The node.
    pub node: String,
    /// The device; `all` for all of the node, if its ranks have no devices of their own.
    pub device: String,
    /// Whether the placement has ranks on it.
    pub placed: bool,
    /// The counters that were read.
    pub source: String,
    /// Bytes out of the node; `None` if unknown.
    pub out: Option<u64>,
    /// Payload that was predicted to leave through it.
    pub predicted_out: u64,
    /// Their ratio.
    pub ratio_out: Option<f64>,
    /// Bytes into the node; `None` if unknown.
    #[serde(rename = "in")]
    pub incoming: Option<u64>,
    /// Payload that was predicted to enter through it.
    pub predicted_in: u64,
    /// Their ratio.
    pub ratio_in: Option<f64>,
    /// Background bytes during the job, both directions together.
    pub background: Option<u64>,
    /// What is to be said about it, in a few words.
    pub remark: String,
}

/// A direction through devices beside what was due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    /// As predicted.
    Fits,
    /// Too little was due to be judged.
    LittleDue,
    /// Nothing of what was due.
    Nothing,
    /// Less than can be.
    TooLittle,
    /// More than can be.
    TooMuch,
    /// The background may hide a difference.
    Hidden,
}

/// The directions, by their index.
pub(super) const DIRECTIONS: [Direction; 2] = [Direction::Out, Direction::In];

/// Devices of a node that are judged together.
pub(super) struct Group {
    /// Position in [`Record::nodes`].
    pub(super) node: usize,
    pub(super) device: String,
    source: String,
    /// Out and in.
    pub(super) due: [Due; 2],
    pub(super) counted: OfDevice,
    /// Whether ranks were placed on it.
    pub(super) placed: bool,
}

/// How a direction fits.
pub(super) fn fit(due: &Due, counted: &Counted, opposite: &Counted) -> Fit {
    let opposite = opposite.net();
    let (low, high) = wire::expected(due, opposite);
    let (least, most) = counted.bounds();
    let is_due = due.bytes >= wire::MIN_DUE;
    match () {
        () if wire::is_nothing(due, most, opposite) => Fit::Nothing,
        () if is_due && most < low => Fit::TooLittle,
        () if least > high => Fit::TooMuch,
        () if !is_due => Fit::LittleDue,
        () if counted.uncertain > wire::MOST_UNCERTAIN * due.bytes => Fit::Hidden,
        () => Fit::Fits,
    }
}

impl Group {
    /// How both directions fit; `None` if the bytes are unknown.
    pub(super) fn fits(&self) -> Option<[Fit; 2]> {
        let [out, incoming] = self.counted.as_ref().ok()?;
        Some([fit(&self.due[0], out, incoming), fit(&self.due[1], incoming, out)])
    }

    /// Bytes without the background, in a direction.
    pub(super) fn net(&self, direction: usize) -> Option<f64> {
        Some(self.counted.as_ref().ok()?[direction].net())
    }
}

/// Judges a record.
#[must_use]
pub fn judge(record: &Record) -> Judgement {
    let mut groups: Vec<Group> = Vec::new();
    for node in 0..record.nodes.len() {
        groups.extend(groups_of(record, node));
    }
    let Findings { verdict, sentence, faults, untold, notes } = Findings::new(record, &groups);
    let shown = groups.iter().filter(|group| group.placed || is_busy(group));
    let devices = shown.map(|group| row(record, group)).collect();
    Judgement { verdict, sentence, faults, untold, notes, devices }
}

/// Whether a device without ranks carried something that is worth a row.
fn is_busy(group: &Group) -> bool {
    (0..2).any(|direction| group.net(direction).is_some_and(|bytes| bytes >= wire::MIN_DUE))
}

/// The devices of a node, those without ranks last.
fn groups_of(record: &Record, node: usize) -> Vec<Group> {
    let NodeDevices { name, devices } = &record.nodes[node];
    let readings = readings_of(record, name);
    let ranks = || record.ranks.iter().filter(|rank| rank.node == node);
    let alone = ranks().any(|rank| rank.nics.is_empty());
    let seen = seen_devices(&readings, devices);
    let listed: Vec<Vec<String>> = if devices.is_empty() { seen.clone() } else { devices.clone() };
    let parts: Vec<(String, Vec<&Vec<String>>)> = match &listed[..] {
        [] => vec![("all".to_owned(), Vec::new())],
        [only] => vec![(only[0].clone(), vec![only])],
        _ if alone => vec![("all".to_owned(), listed.iter().collect())],
        _ => listed.iter().map(|names| (names[0].clone(), vec![names])).collect(),
    };
    let together = parts.len() == 1;
    let mut groups = Vec::new();
    for (device, members) in parts {
        let mut due = [Due::default(); 2];
        for rank in ranks() {
            let is_used = |nic: &&String| members.iter().any(|names| names.contains(nic));
            let share = match together {
                true => 1.0,
                false => {
                    rank.nics.iter().filter(is_used).count() as f64 / rank.nics.len().max(1) as f64
                }
            };
            due[0].add(&rank.out, share);
            due[1].add(&rank.incoming, share);
        }
        let (counted, source) = count(&readings, &members);
        groups.push(Group { node, device, source, due, counted, placed: true });
    }
    for names in &seen {
        let is_listed = listed.iter().flatten().any(|name| names.contains(name));
        if !is_listed {
            let (counted, source) = count(&readings, &[names]);
            let (device, due) = (names[0].clone(), [Due::default(); 2]);
            groups.push(Group { node, device, source, due, counted, placed: false });
        }
    }
    groups
}

/// Both readings of a node, or why one is missing.
type OfNode<'a> = Result<[&'a NodeReading; 2], String>;

fn readings_of<'a>(record: &'a Record, node: &str) -> OfNode<'a> {
    let ends = [(&record.before, "before"), (&record.after, "after")];
    let [before, after] = ends.map(|(readings, when)| {
        let found = readings.nodes.iter().find(|reading| reading.host == node);
        found.ok_or_else(|| match (readings.failed.get(node), &readings.missing) {
            (Some(why), _) => format!("no reading {when} the job: {why}"),
            (None, Some(why)) => format!("no reading {when} the job: {why}"),
            (None, None) => format!("no reading {when} the job"),
        })
    });
    Ok([before?, after?])
}

/// The names of the devices that a node has, by its last sample before the job; without those whose bytes
/// others count, too: interfaces on top of others, and those below the ones that are `described`.
fn seen_devices(readings: &OfNode<'_>, described: &[Vec<String>]) -> Vec<Vec<String>> {
    let sample = readings.as_ref().ok().and_then(|[before, _]| before.samples.last());
    let Some(sample) = sample else { return Vec::new() };
    let is_described =
        |device: &DeviceSample| described.iter().flatten().any(|name| device.is_called(name));
    let mut below: Vec<&String> = Vec::new();
    let mut tops: Vec<&DeviceSample> =
        sample.devices.iter().filter(|device| is_described(device)).collect();
    while let Some(top) = tops.pop() {
        for name in &top.below {
            if !below.contains(&name) {
                below.push(name);
                tops.extend(sample.device([name.as_str()].into_iter()));
            }
        }
    }
    let counts_alone = |device: &&DeviceSample| {
        let is_below = below.iter().any(|name| device.is_called(name));
        is_described(device) || (device.below.is_empty() && !is_below)
    };
    let names = |device: &DeviceSample| {
        std::iter::once(&device.name).chain(&device.aliases).cloned().collect()
    };
    sample.devices.iter().filter(counts_alone).map(names).collect()
}

/// What devices counted together, and what was read.
fn count(readings: &OfNode<'_>, devices: &[&Vec<String>]) -> (OfDevice, String) {
    let [before, after] = match readings {
        Ok(both) => *both,
        Err(why) => return (Err(why.clone()), String::new()),
    };
    let mut sum = [Counted::default(); 2];
    let mut sources: Vec<String> = Vec::new();
    for names in devices {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let sample = before.samples.last().and_then(|s| s.device(names.iter().copied()));
        sources.extend(sample.map(DeviceSample::source).filter(|text| !text.is_empty()));
        match of_device(before, after, &names) {
            Ok(counted) => {
                sum.iter_mut().zip(&counted).for_each(|(sum, counted)| sum.add(counted));
            }
            Err(why) if devices.len() > 1 => {
                return (Err(format!("{}: {why}", names[0])), String::new());
            }
            Err(why) => return (Err(why), String::new()),
        }
    }
    sources.sort();
    sources.dedup();
    let counted = match devices {
        [] => Err("it has no network devices that are known".to_owned()),
        _ => Ok(sum),
    };
    (counted, sources.join(", "))
}

fn row(record: &Record, group: &Group) -> Row {
    let bytes = |direction: usize| group.net(direction).map(|bytes| bytes.round() as u64);
    let ratio = |direction: usize| {
        let due = group.due[direction].bytes;
        group.net(direction).filter(|_| due > 0.0).map(|bytes| bytes / due)
    };
    let background =
        group.counted.as_ref().ok().map(|both| both[0].background + both[1].background);
    Row {
        node: record.nodes[group.node].name.clone(),
        device: group.device.clone(),
        placed: group.placed,
        source: group.source.clone(),
        out: bytes(0),
        predicted_out: group.due[0].bytes.round() as u64,
        ratio_out: ratio(0),
        incoming: bytes(1),
        predicted_in: group.due[1].bytes.round() as u64,
        ratio_in: ratio(1),
        background: background.map(|bytes| bytes.round() as u64),
        remark: remark(record, group),
    }
}

fn remark(record: &Record, group: &Group) -> String {
    let Some(fits) = group.fits() else {
        return group.counted.as_ref().err().cloned().unwrap_or_default();
    };
    if !group.placed {
        return "not in the placement".to_owned();
    }
    if !record.predicted {
        return "nothing predicted".to_owned();
    }
    let words = |fit: Fit| match fit {
        Fit::Fits => "ok",
        Fit::LittleDue => "little due",
        Fit::Nothing => "nothing",
        Fit::TooLittle => "too little",
        Fit::TooMuch => "more",
        Fit::Hidden => "hidden by background",
    };
    match fits {
        [out, incoming] if out == incoming => words(out).to_owned(),
        [out, incoming] => format!("out {}, in {}", words(out), words(incoming)),
    }
}
