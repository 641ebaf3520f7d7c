//! A job as network stacks see it: the ranks of each node with their devices.

use std::collections::HashMap;

use super::{FabricError, LocalRanks, Stack};
use crate::cluster::{Link, NicKind};
use crate::placement::{DeviceEntry, JobEntry, NodeEntry, PlacementFile, RankEntry, Settings};

/// A job as stacks see it.
pub(super) struct Job<'a> {
    pub(super) stack: &'static str,
    pub(super) nodes: Vec<LocalMap<'a>>,
    pub(super) local_ranks: LocalRanks,
}

/// The devices of the ranks on one node.
#[derive(Clone)]
pub(super) struct LocalMap<'a> {
    pub(super) node: &'a NodeEntry,
    /// Ascending; launchers number local ranks in this order.
    pub(super) ranks: Vec<LocalRank<'a>>,
}

/// A rank with its devices, at least one.
#[derive(Clone)]
pub(super) struct LocalRank<'a> {
    pub(super) entry: &'a RankEntry,
    pub(super) devices: Vec<&'a DeviceEntry>,
}

/// The variables that a stack sets.
pub(super) struct Output<'a> {
    pub(super) settings: &'a mut Settings,
    /// For the user.
    pub(super) notes: Vec<String>,
}

/// The nodes of a job that have ranks, with these in ascending order.
pub(super) fn local_ranks<'a>(
    placement: &'a PlacementFile,
    job: &'a JobEntry,
) -> Vec<(&'a NodeEntry, Vec<&'a RankEntry>)> {
    let mut nodes: Vec<(&NodeEntry, Vec<&RankEntry>)> =
        placement.nodes.iter().map(|node| (node, Vec::new())).collect();
    let index: HashMap<&str, usize> =
        placement.nodes.iter().enumerate().map(|(i, node)| (node.name.as_str(), i)).collect();
    for entry in &job.ranks {
        if let Some(index) = index.get(entry.node.as_str()) {
            nodes[*index].1.push(entry);
        }
    }
    nodes.retain(|(_, ranks)| !ranks.is_empty());
    nodes
}

/// The kind of a device.
pub(super) fn kind(device: &DeviceEntry) -> NicKind {
    NicKind::of(device.names())
}

pub(super) fn is_up(device: &DeviceEntry) -> bool {
    device.ports.is_empty() || device.ports.iter().any(|port| port.link != Some(Link::Down))
}

/// The number of a device's first port that is not down; 1 where its ports are not known.
pub(super) fn port(device: &DeviceEntry) -> u32 {
    let up = device.ports.iter().find(|port| port.link != Some(Link::Down));
    up.map_or(1, |port| port.number)
}

impl<'a> Job<'a> {
    pub(super) fn new(
        stack: &Stack,
        placement: &'a PlacementFile,
        job: &'a JobEntry,
        local_ranks: LocalRanks,
    ) -> Result<Self, FabricError> {
        let rank = |node: &'a NodeEntry, entry: &'a RankEntry| {
            let device = |name: &String| device_of(stack, node, entry, name);
            let devices: Vec<_> = entry.nics.iter().map(device).collect::<Result<_, _>>()?;
            if devices.is_empty() {
                let (rank, node) = (entry.rank.0, node.name.clone());
                return Err(FabricError::NoDevice { stack: stack.name, rank, node });
            }
            Ok(LocalRank { entry, devices })
        };
        let map = |(node, ranks): (&'a NodeEntry, Vec<&'a RankEntry>)| {
            let ranks = ranks.into_iter().map(|entry| rank(node, entry));
            Ok(LocalMap { node, ranks: ranks.collect::<Result<_, _>>()? })
        };
        let nodes = self::local_ranks(placement, job).into_iter().map(map);
        Ok(Self { stack: stack.name, nodes: nodes.collect::<Result<_, _>>()?, local_ranks })
    }

    pub(super) fn ranks(&self) -> impl Iterator<Item = (&LocalMap<'a>, &LocalRank<'a>)> {
        self.nodes.iter().flat_map(|map| map.ranks.iter().map(move |rank| (map, rank)))
    }

    /// The value of every node, if all are equal.
    pub(super) fn same_for_all<T: PartialEq>(
        &self,
        value: impl Fn(&LocalMap<'a>) -> T,
    ) -> Option<T> {
        let mut values = self.nodes.iter().map(value);
        let first = values.next()?;
        values.all(|other| other == first).then_some(first)
    }

    /// The value of every node by local rank, if all are equal and local ranks are right.
    pub(super) fn same_by_local_rank<T: PartialEq>(
        &self,
        value: impl Fn(&LocalMap<'a>) -> T,
    ) -> Option<T> {
        (self.local_ranks == LocalRanks::Right).then(|| self.same_for_all(value))?
    }

    /// This job for a stack that uses one device per rank: the ranks of a node with the same devices
    /// take these in turn. Adds a note if that changes anything.
    pub(super) fn one_device_each(&self, output: &mut Output<'_>) -> Self {
        let mut job = Self { nodes: self.nodes.clone(), ..*self };
        for map in &mut job.nodes {
            let mut turns: HashMap<Vec<&str>, usize> = HashMap::new();
            for rank in &mut map.ranks {
                let set = rank.devices.iter().map(|device| device.name.as_str()).collect();
                let turn = turns.entry(set).or_default();
                rank.devices = vec![rank.devices[*turn % rank.devices.len()]];
                *turn += 1;
            }
        }
        if let Some((_, rank)) = self.ranks().find(|(_, rank)| rank.devices.len() > 1) {
            output.notes.push(format!(
                "{} uses one device per rank: ranks with several, like rank {}, take these in turn",
                self.stack, rank.entry.rank
            ));
        }
        job
    }

    /// This job for a stack in which ranks must have equal numbers of devices to connect: where they do
    /// not, each gets all devices of the ranks of its node, or one if these differ in number too. Adds a
    /// note if that changes anything.
    pub(super) fn as_many_devices_each(&self, output: &mut Output<'_>) -> Self {
        let mut job = Self { nodes: self.nodes.clone(), ..*self };
        let Some((_, first)) = self.ranks().next() else { return job };
        let count = first.devices.len();
        let Some((_, other)) = self.ranks().find(|(_, rank)| rank.devices.len() != count) else {
            return job;
        };
        output.notes.push(format!(
            "{} connects only ranks with as many devices as each other, but rank {} has {count} and \
             rank {} {}: each gets all that the ranks of its node have",
            self.stack,
            first.entry.rank,
            other.entry.rank,
            other.devices.len()
        ));
        for map in &mut job.nodes {
            let is_used = |nic: &&DeviceEntry| {
                map.ranks.iter().any(|rank| rank.devices.iter().any(|used| used.name == nic.name))
            };
            let all: Vec<&DeviceEntry> = map.node.nics.iter().filter(is_used).collect();
            map.ranks.iter_mut().for_each(|rank| rank.devices.clone_from(&all));
        }
        let number = |map: &LocalMap<'_>| map.ranks.first().map(|rank| rank.devices.len());
        if job.same_for_all(number).is_some() { job } else { self.one_device_each(output) }
    }
}

impl LocalRank<'_> {
    /// The devices as text, with `separator` between them.
    pub(super) fn list(&self, separator: &str, text: impl Fn(&DeviceEntry) -> String) -> String {
        let parts: Vec<String> = self.devices.iter().map(|device| text(device)).collect();
        parts.join(separator)
    }
}

impl Output<'_> {
    pub(super) fn set(&mut self, rank: &LocalRank<'_>, name: &str, value: impl Into<String>) {
        self.settings.set(rank.entry.rank.index(), name, value);
    }

    pub(super) fn set_for_all(&mut self, job: &Job<'_>, name: &str, value: &str) {
        job.ranks().for_each(|(_, rank)| self.set(rank, name, value));
    }
}

fn device_of<'a>(
    stack: &Stack,
    node: &'a NodeEntry,
    entry: &RankEntry,
    name: &str,
) -> Result<&'a DeviceEntry, FabricError> {
    let (rank, node_name) = (entry.rank.0, || node.name.clone());
    let Some(device) = node.nics.iter().find(|nic| nic.is_called(name)) else {
        let names: Vec<&str> = node.nics.iter().map(|nic| nic.name.as_str()).collect();
        let devices = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return Err(FabricError::NoSuchDevice {
            rank,
            node: node_name(),
            device: name.to_owned(),
            devices,
        });
    };
    if !is_up(device) {
        return Err(FabricError::Down { rank, node: node_name(), device: name.to_owned() });
    }
    if !stack.kinds.contains(&kind(device)) {
        let drives: Vec<&str> = stack.kinds.iter().map(|kind| kind.name()).collect();
        let (stack, drives, device) = (stack.name, drives.join(", "), name.to_owned());
        return Err(FabricError::WrongKind { stack, drives, rank, node: node_name(), device });
    }
    Ok(device)
}
