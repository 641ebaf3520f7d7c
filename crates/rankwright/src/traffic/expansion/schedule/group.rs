//! Communicators as the algorithms of collective operations see them.

use std::collections::HashMap;

use crate::ids::Rank;
use crate::traffic::communicator::Communicator;

/// A communicator as the algorithms see it. Made once per communicator.
#[derive(Debug, Clone, Default)]
pub struct Group {
    /// World rank of each member; those of the remote group of an intercommunicator follow.
    /// `None` for a process outside the job.
    pub(super) members: Vec<Option<Rank>>,
    /// Number of members of the local group.
    pub(super) local: usize,
    /// Whether all members are ranks of the job.
    is_whole: bool,
    /// Index of each rank; empty if every rank is its own index.
    places: HashMap<Rank, usize>,
    /// The nodes of the members, if known.
    layout: Option<Layout>,
}

impl Group {
    /// The group of a communicator.
    #[must_use]
    pub fn new(communicator: &Communicator) -> Self {
        Self::of(&communicator.members, &communicator.remote_members)
    }

    pub(crate) fn of(members: &[Option<Rank>], remote: &[Option<Rank>]) -> Self {
        let local = members.len();
        let members = [members, remote].concat();
        let is_world = members
            .iter()
            .enumerate()
            .all(|(place, member)| member.is_some_and(|rank| rank.index() == place));
        let present = members.iter().enumerate().filter(|_| !is_world);
        let places = present.filter_map(|(place, member)| Some(((*member)?, place))).collect();
        let is_whole = members.iter().all(Option::is_some);
        Self { members, local, is_whole, places, layout: None }
    }

    /// The group with the node of each rank.
    #[must_use]
    pub fn on(mut self, node: &dyn Fn(Rank) -> u32) -> Self {
        let members = self.members[..self.local].iter();
        // A process outside the job is on a node of its own.
        let outside = |place: usize| u64::from(u32::MAX) + 1 + place as u64;
        let nodes = members.enumerate().map(|(place, member)| {
            member.map_or_else(|| outside(place), |rank| u64::from(node(rank)))
        });
        self.layout = Some(Layout::new(nodes));
        self
    }

    /// The nodes of the members, if known.
    pub(in super::super) fn layout(&self) -> Option<&Layout> {
        self.layout.as_ref()
    }

    /// Index of a rank; `None` if it is no member.
    #[must_use]
    pub fn place(&self, rank: Rank) -> Option<usize> {
        if self.places.is_empty() {
            return (rank.index() < self.members.len()).then_some(rank.index());
        }
        self.places.get(&rank).copied()
    }

    /// World rank of a member; `None` for a process outside the job.
    #[must_use]
    pub fn rank(&self, place: usize) -> Option<Rank> {
        self.members.get(place).copied().flatten()
    }

    /// Number of members of the local group.
    #[must_use]
    pub fn members(&self) -> usize {
        self.local
    }

    /// Whether all members are ranks of the job.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Whether it is the group of an intercommunicator.
    #[must_use]
    pub fn is_between_groups(&self) -> bool {
        self.members.len() > self.local
    }
}

/// The members of a communicator by node. Members are indices into the [`Group`].
#[derive(Debug, Clone, Default)]
pub(in super::super) struct Layout {
    /// Members of each node in ascending order; nodes in the order of their first members.
    pub(in super::super) nodes: Vec<Vec<u32>>,
    /// Members with the same number on their nodes, in ascending order: `across[0]` are the first
    /// members of all nodes.
    pub(in super::super) across: Vec<Vec<u32>>,
    /// Of each member: the index of its node, and its number on it.
    pub(in super::super) place: Vec<(u32, u32)>,
}

impl Layout {
    fn new(nodes: impl Iterator<Item = u64>) -> Self {
        let mut layout = Self::default();
        let mut indices = HashMap::new();
        for (member, node) in (0..).zip(nodes) {
            let index = *indices.entry(node).or_insert(layout.nodes.len());
            if index == layout.nodes.len() {
                layout.nodes.push(Vec::new());
            }
            let number = layout.nodes[index].len();
            layout.nodes[index].push(member);
            layout.place.push((index as u32, number as u32));
        }
        for node in &layout.nodes {
            for (number, member) in node.iter().enumerate() {
                if layout.across.len() <= number {
                    layout.across.push(Vec::new());
                }
                layout.across[number].push(*member);
            }
        }
        layout.across.iter_mut().for_each(|members| members.sort_unstable());
        layout
    }

    /// Whether all nodes have equally many members.
    pub(in super::super) fn is_even(&self) -> bool {
        self.nodes.windows(2).all(|pair| pair[0].len() == pair[1].len())
    }
}
