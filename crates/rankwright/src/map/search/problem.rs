//! The input of a mapper: ranks, slots, and the constraints of a mapping.

use std::borrow::Cow;

use super::compute_balance::{ComputeBalance, DEFAULT_BALANCE};
use super::graph::{EdgeWeights, Graph};
use super::node_groups::{KeptGroups, NodeGroups};
use super::tree::Tree;
use crate::cluster::{Cluster, Levels};
use crate::ids::NodeId;
use crate::map::MapError;
use crate::placement::{Granularity, Mapping, PlacementError, Slot, rank_classes, slots};
use crate::rails::{Selection, SelectionError, UsableSlots};
use crate::traffic::Workload;
use crate::units::counted;

/// Ranks that need slots. Ranks are numbered over all jobs: [`GlobalRank`](crate::ids::GlobalRank).
#[derive(Debug, Clone)]
pub struct Problem<'a> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// The jobs.
    pub workload: &'a Workload,
    /// Ordered by node. Index: [`SlotId`](crate::ids::SlotId).
    slots: Vec<Slot>,
    levels: Levels,
    graph: Graph,
    /// Index: [`GlobalRank`](crate::ids::GlobalRank); 1 where ranks do not share slots.
    loads: Vec<u64>,
    /// The mean load of a slot, rounded up.
    share: u64,
    /// The load that a slot may hold at most.
    limit: u64,
    compute_balance: Option<ComputeBalance>,
    /// The classes of ranks and slots, where there are several.
    classes: Option<ComputeBalance>,
    /// Index: [`GlobalRank`](crate::ids::GlobalRank); empty where all are of one class.
    rank_classes: Vec<u32>,
    /// By which share the makespan of the computing times may exceed its lower bound, from 0.
    balance: f64,
    /// Groups of ranks that have to share a node.
    kept: Option<KeptGroups>,
    /// Whether ranks wait for their messages before they send more.
    closed_loop: bool,
    /// How ranks get their network devices.
    selection: Selection,
}

impl<'a> Problem<'a> {
    /// One slot for every rank.
    ///
    /// # Errors
    /// If there are more ranks than slots.
    pub fn new(
        cluster: &'a Cluster,
        workload: &'a Workload,
        granularity: Granularity,
    ) -> Result<Self, PlacementError> {
        let ranks = workload.rank_count();
        let mut classes = Vec::new();
        if let Granularity::Programs { programs, own_nodes } = &granularity {
            classes = rank_classes(programs, *own_nodes);
            if classes.len() != ranks {
                return Err(PlacementError::RanksDiffer {
                    found: format!("programs of {}", counted(classes.len(), "rank")),
                    expected: counted(ranks, "rank"),
                });
            }
        }
        let slots = slots(cluster, granularity, ranks)?;
        let mut problem = Self::with_slots(cluster, workload, slots, vec![1; ranks], 1);
        problem.rank_classes = classes;
        let balance = problem.balance;
        Ok(problem.with_balance(balance))
    }

    /// One of these slots for every rank. They are ordered by node.
    ///
    /// # Panics
    /// If there are fewer slots than ranks.
    #[must_use]
    pub fn in_slots(cluster: &'a Cluster, workload: &'a Workload, slots: Vec<Slot>) -> Self {
        let ranks = workload.rank_count();
        assert!(ranks <= slots.len(), "{ranks} ranks in {} slots", slots.len());
        Self::with_slots(cluster, workload, slots, vec![1; ranks], 1)
    }

    /// Adds the constraint that every group of ranks shares a node, without other ranks of its job.
    /// The strategy chooses the node, and the slot of each rank on it.
    ///
    /// # Errors
    /// If no nodes are found for all groups.
    ///
    /// # Panics
    /// If ranks may share slots.
    pub fn keeping(mut self, groups: NodeGroups) -> Result<Self, PlacementError> {
        assert!(self.limit == 1, "one slot for each rank");
        if !self.rank_classes.is_empty() {
            let why = "programs have slots of their own".to_owned();
            return Err(PlacementError::GroupsDoNotFit { why });
        }
        self.kept = Some(KeptGroups::new(&self, groups)?);
        Ok(self)
    }

    /// Slots that several ranks may share. Each rank has a load; with W the sum of all loads and C
    /// the number of slots, a slot may hold the larger of (1 + `imbalance`) ⌈W / C⌉, rounded down,
    /// and ⌈W / C⌉ plus the largest load minus 1. (The second guarantees that a solution exists;
    /// where all loads are 1 it is never the larger one.)
    ///
    /// # Errors
    /// If the cluster has no slot.
    ///
    /// # Panics
    /// If there is not exactly one load for each rank.
    pub fn sharing(
        cluster: &'a Cluster,
        workload: &'a Workload,
        granularity: Granularity,
        loads: Vec<u64>,
        imbalance: f64,
    ) -> Result<Self, PlacementError> {
        assert_eq!(loads.len(), workload.rank_count(), "one load for each rank");
        let slots = slots(cluster, granularity, 1)?;
        let sum = loads.iter().fold(0_u64, |sum, load| sum.saturating_add(*load));
        let share = sum.div_ceil(slots.len() as u64).max(1);
        let largest = loads.iter().max().copied().unwrap_or(1).max(1);
        let limit =
            (((1.0 + imbalance) * share as f64) as u64).max(share.saturating_add(largest - 1));
        let mut problem = Self::with_slots(cluster, workload, slots, loads, share);
        problem.limit = limit;
        // The limit balances the loads instead.
        problem.compute_balance = None;
        Ok(problem)
    }

    fn with_slots(
        cluster: &'a Cluster,
        workload: &'a Workload,
        slots: Vec<Slot>,
        loads: Vec<u64>,
        share: u64,
    ) -> Self {
        let graph = Graph::from_workload(workload);
        let levels = Levels::new(cluster);
        let compute_balance = ComputeBalance::new(cluster, workload, &slots, DEFAULT_BALANCE);
        Self {
            cluster,
            workload,
            slots,
            levels,
            graph,
            loads,
            share,
            limit: share,
            compute_balance,
            classes: None,
            rank_classes: Vec::new(),
            balance: DEFAULT_BALANCE,
            kept: None,
            closed_loop: false,
            selection: Selection::NONE,
        }
    }

    /// The same problem with some of its slots, ascending.
    ///
    /// # Panics
    /// If groups of ranks have to share nodes ([`Problem::keeping`]), or if there are fewer slots than
    /// ranks.
    pub(in crate::map) fn in_part(&self, slots: &[usize]) -> Self {
        assert!(self.kept.is_none(), "groups after slots");
        assert!(self.rank_count() <= slots.len(), "a slot for every rank");
        let slots = slots.iter().map(|slot| self.slots[*slot].clone()).collect();
        let part = Self { slots, ..self.clone() };
        let balance = part.balance;
        part.with_balance(balance)
    }

    /// Sets by which share the makespan of the computing times may exceed its lower bound. It has an
    /// effect where nodes differ in speed and the times that ranks compute are known.
    #[must_use]
    pub fn with_balance(mut self, balance: f64) -> Self {
        self.balance = balance;
        if !self.rank_classes.is_empty() {
            // Ranks that need a kind of slot cannot also go to the fastest nodes.
            self.compute_balance = None;
            self.classes = Some(ComputeBalance::of_classes(&self.rank_classes, &self.slots));
            return self;
        }
        self.compute_balance =
            ComputeBalance::new(self.cluster, self.workload, &self.slots, balance);
        self
    }

    /// Which ranks need fast nodes; `None` where that makes no difference.
    #[must_use]
    pub(crate) fn compute_balance(&self) -> Option<&ComputeBalance> {
        self.compute_balance.as_ref()
    }

    /// Which ranks may go to which slots: by class, or by [`Problem::compute_balance`]; `None` where all
    /// may go to all.
    #[must_use]
    pub(in crate::map) fn fitting(&self) -> Option<&ComputeBalance> {
        self.classes.as_ref().or(self.compute_balance.as_ref())
    }

    /// Makes a mapping keep [`Problem::fitting`].
    pub(in crate::map) fn balanced(&self, mut slot_of: Vec<usize>) -> Vec<usize> {
        if let Some(fitting) = self.fitting() {
            fitting.enforce(self, &mut slot_of);
        }
        slot_of
    }

    /// Makes a mapping give every rank a slot of its class.
    pub(in crate::map) fn by_class(&self, mapping: Mapping) -> Mapping {
        match &self.classes {
            Some(_) => self.balanced(mapping.into_indices()).into(),
            None => mapping,
        }
    }

    /// Sets whether ranks wait for their messages before they send more.
    #[must_use]
    pub fn with_closed_loop(mut self, closed_loop: bool) -> Self {
        self.closed_loop = closed_loop;
        self
    }

    /// Whether ranks wait for their messages before they send more; otherwise they send by clocks
    /// alone.
    #[must_use]
    pub(crate) fn is_closed_loop(&self) -> bool {
        self.closed_loop
    }

    /// Sets how ranks get their network devices, and removes the slots where ranks would get none:
    /// those of nodes without devices that can be used, and more on a node than its devices serve.
    ///
    /// # Errors
    /// If too few slots are left.
    ///
    /// # Panics
    /// If groups of ranks have to share nodes already ([`Problem::keeping`]).
    pub fn with_selection(mut self, selection: Selection) -> Result<Self, SelectionError> {
        assert!(self.kept.is_none(), "devices before groups");
        let UsableSlots { usable, why } = UsableSlots::new(self.cluster, &self.slots, &selection);
        self.selection = selection;
        let Some(why) = why else { return Ok(self) };
        let one_node = self.slots.iter().all(|slot| slot.node == self.slots[0].node);
        let mut usable = usable.into_iter();
        self.slots.retain(|_| usable.next().unwrap_or(true));
        let (ranks, places) = (self.rank_count(), self.slots.len());
        if (places as u64).saturating_mul(self.share) < self.loads.iter().sum() {
            return Err(match (why, one_node || places == 0) {
                (SelectionError::ContextsExhausted { node, contexts, .. }, true) => {
                    SelectionError::ContextsExhausted { node, ranks, contexts }
                }
                (why, true) => why,
                (why, false) => {
                    let why = match why {
                        SelectionError::NoDevice { node } => format!("node {node} has none"),
                        SelectionError::ContextsExhausted { node, contexts, .. } => {
                            format!("those of node {node} have {contexts} contexts")
                        }
                        other => other.to_string(),
                    };
                    SelectionError::TooFewPlaces { ranks, places, why }
                }
            });
        }
        let balance = self.balance;
        Ok(self.with_balance(balance))
    }

    /// How ranks get their network devices once they have their slots; strategies that choose devices
    /// too do so where it is `by-load`.
    #[must_use]
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// Replaces the distances: one for each level of [`Problem::levels`].
    ///
    /// # Panics
    /// If there are not as many distances as levels.
    #[must_use]
    pub fn with_distances(mut self, distances: &[u64]) -> Self {
        self.levels = self.levels.with_distances(distances);
        self
    }

    /// Ordered by node. Index: [`SlotId`](crate::ids::SlotId).
    #[must_use]
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// What the cores of the cluster share.
    #[must_use]
    pub fn levels(&self) -> &Levels {
        &self.levels
    }

    /// The communication graph, weighted by bytes. Vertices are global ranks.
    #[must_use]
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The communication graph, weighted by bytes or by bytes per second; by bytes where rates are not
    /// known.
    pub(in crate::map) fn weighted_graph(&self, weights: EdgeWeights) -> Cow<'_, Graph> {
        let rates = match weights {
            EdgeWeights::Bytes => None,
            EdgeWeights::Rate => Graph::from_rates(self.workload),
        };
        rates.map_or(Cow::Borrowed(&self.graph), Cow::Owned)
    }

    /// How many ranks there are.
    #[must_use]
    pub fn rank_count(&self) -> usize {
        self.loads.len()
    }

    /// The core of a slot, L# counted over all nodes; the first one where a slot has several.
    #[must_use]
    pub fn core(&self, slot: usize) -> usize {
        let slot = &self.slots[slot];
        self.levels.core(slot.node, slot.cores[0])
    }

    /// J: the sum over all pairs of ranks of their bytes in both directions times the distance of
    /// their cores.
    #[must_use]
    pub fn cost(&self, slot_of: &[usize]) -> u128 {
        let cores: Vec<usize> = slot_of.iter().map(|slot| self.core(*slot)).collect();
        self.graph.cost(|a, b| self.levels.distance(cores[a], cores[b]))
    }

    /// Checks that a mapping is valid: a slot for every rank, and no slot overfull.
    ///
    /// # Errors
    /// If it is not valid; that is an error of the mapper.
    pub(in crate::map) fn check(&self, slot_of: &[usize]) -> Result<(), MapError> {
        let wrong = |what: String| Err(MapError::Invalid { what });
        if slot_of.len() != self.rank_count() {
            return wrong(format!("{} slots for {} ranks", slot_of.len(), self.rank_count()));
        }
        let mut filled = vec![0_u64; self.slots.len()];
        for (rank, (slot, load)) in slot_of.iter().zip(&self.loads).enumerate() {
            let Some(filled) = filled.get_mut(*slot) else {
                return wrong(format!("slot {slot} of {} for rank {rank}", self.slots.len()));
            };
            *filled = filled.saturating_add(*load);
            if *filled > self.limit {
                return wrong(format!("slot {slot} holds {filled}, its limit is {}", self.limit));
            }
        }
        if self.classes.as_ref().is_some_and(|classes| !classes.is_met(slot_of)) {
            return wrong("a rank with a slot of another class".to_owned());
        }
        if let Some(kept) = &self.kept {
            let nodes: Vec<NodeId> = slot_of.iter().map(|slot| self.slots[*slot].node).collect();
            let changed = kept.groups.changed_on(&nodes);
            if changed > 0 {
                return wrong(format!("{changed} ranks with other ranks on their node"));
            }
        }
        Ok(())
    }

    pub(in crate::map) fn kept_groups(&self) -> Option<&KeptGroups> {
        self.kept.as_ref()
    }

    pub(in crate::map) fn loads(&self) -> &[u64] {
        &self.loads
    }

    pub(in crate::map) fn share(&self) -> u64 {
        self.share
    }

    pub(in crate::map) fn limit(&self) -> u64 {
        self.limit
    }

    /// The slots of each node, as ranges, in the order of the cluster; nodes without one left out.
    pub(in crate::map) fn slots_of_nodes(&self) -> Vec<std::ops::Range<usize>> {
        let mut end = 0;
        let nodes = self.slots.chunk_by(|a, b| a.node == b.node);
        nodes
            .map(|slots| {
                end += slots.len();
                end - slots.len()..end
            })
            .collect()
    }

    /// As [`Problem::slots_of_nodes`], of the fewest nodes, in the order of the cluster, that hold
    /// all ranks.
    pub(in crate::map) fn slots_of_fewest_nodes(&self) -> Vec<std::ops::Range<usize>> {
        let needed = self.loads.iter().fold(0_u64, |sum, load| sum.saturating_add(*load));
        let holds = |slots: usize| self.share.saturating_mul(slots as u64) >= needed;
        let mut nodes = self.slots_of_nodes();
        let last = nodes.iter().position(|slots| holds(slots.end));
        nodes.truncate(last.map_or(nodes.len(), |last| last + 1));
        nodes
    }

    /// The tree over the slots of [`Problem::slots_of_fewest_nodes`], and the slot of each of its
    /// bins.
    pub(in crate::map) fn tree_of_fewest_nodes(&self) -> (Tree, Vec<usize>) {
        let used = self.slots_of_fewest_nodes().last().map_or(0, |slots| slots.end);
        let cores: Vec<usize> = (0..used).map(|slot| self.core(slot)).collect();
        // The first `used` slots are those of whole nodes, so positions are slots.
        Tree::new(&self.levels, &cores)
    }
}
