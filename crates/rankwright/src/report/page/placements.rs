//! Where ranks run under each placement, and what that means for the rest of a report.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::data::Report;
use super::findings::Found;
use super::machine::Machine;
use super::packed::Packed;
use super::traffic::{Traffic, job_ranks};
use crate::cluster::Cluster;
use crate::estimate::{Load, NicLoad};
use crate::ids::NodeId;
use crate::placement::{Placement, RankPlacement};
use crate::traffic::Workload;
use crate::units::counted;

/// Above this number of ranks a report shows groups of ranks.
pub const MOST_RANKS: usize = 8192;

/// The core of a rank that is bound to none.
pub(super) const UNBOUND: u32 = 65_535;

/// Where every rank runs. In a report whose traffic is aggregated, the lists of the first placement have an
/// entry for each group of ranks, which has a node of its own, and the lists of the others are empty.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlacementView {
    /// Its role.
    pub role: PlacementRole,
    /// The strategy that made it.
    pub name: String,
    /// By rank: position in [`Machine::nodes`].
    pub node: Packed,
    /// By rank: its first core (L#); 65535 if it is not bound.
    pub core: Packed,
    /// By rank: number of its cores.
    pub cores: Packed,
    /// The cores (L#) of all ranks, one rank after the other; only if those of a rank do not follow each
    /// other. Without it they are `core` and those behind it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core_list: Option<Packed>,
    /// By rank: its position in the order of places (node, then core).
    pub position: Packed,
    /// By rank: the names of its network devices; only if some were chosen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nics: Vec<Vec<String>>,
    /// By rank: the names of its GPUs; only if some were assigned.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<Vec<String>>,
    /// Bytes between nodes.
    pub inter_node_bytes: u64,
}

/// The role of a placement in a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PlacementRole {
    /// The launcher's default.
    Default,
    /// The best.
    Best,
    /// The next best.
    Next,
    /// The one that the user gave.
    Given,
}

impl PlacementRole {
    /// The role in words.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Default => "launcher's default",
            Self::Best => "best",
            Self::Next => "next best",
            Self::Given => "given",
        }
    }
}

/// A placement that a report shows.
#[derive(Debug, Clone)]
pub struct Shown<'a> {
    /// Its role.
    pub role: PlacementRole,
    /// The strategy that made it.
    pub name: String,
    /// Where the ranks run.
    pub placement: &'a Placement,
    /// What passes network devices.
    pub load: &'a Load,
}

impl Report {
    /// Adds jobs, traffic, nodes, placements and devices. Of more than [`MOST_RANKS`] ranks, groups are
    /// shown: the ranks that the first placement puts on one node.
    #[must_use]
    pub fn with_placements(
        mut self,
        cluster: &Cluster,
        workload: &Workload,
        shown: &[Shown<'_>],
    ) -> Self {
        let nodes: BTreeSet<NodeId> =
            shown.iter().flat_map(|shown| shown.placement.ranks()).map(|rank| rank.node).collect();
        let nodes: Vec<NodeId> = match shown.is_empty() {
            true => cluster.node_ids().collect(),
            false => nodes.into_iter().collect(),
        };
        let position_of: BTreeMap<NodeId, u32> = nodes.iter().copied().zip(0..).collect();
        let ranks = workload.rank_count();
        let groups = shown.first().filter(|_| ranks > MOST_RANKS);
        let groups = groups.map(|shown| Groups::new(shown.placement, &position_of));
        let traffic = match &groups {
            Some(groups) => Traffic::between_groups(workload, &groups.of_rank),
            None => Traffic::new(workload),
        };
        if let Some(groups) = &groups {
            let text = format!(
                "{} are more than the {MOST_RANKS} that a report shows one by one: it shows {} of \
                 ranks, those that {} puts on one node",
                counted(ranks, "rank"),
                counted(groups.nodes.len(), "group"),
                shown[0].name
            );
            self.find([Found::new("ranks-aggregated", text).finding()]);
        }
        if traffic.rounded {
            let of = if traffic.aggregated { "groups of ranks" } else { "ranks" };
            let text = format!(
                "{} of {of} communicate: their bytes are stored as logarithms, within 9 %",
                counted(traffic.pairs(), "pair")
            );
            self.find([Found::new("bytes-rounded", text).finding()]);
        }
        self.jobs = if groups.is_some() { Vec::new() } else { job_ranks(workload) };
        self.traffic = (traffic.pairs() > 0).then_some(traffic);
        self.machine = Some(Machine::new(cluster, &nodes));
        self.placements = (shown.iter().enumerate())
            .map(|(at, shown)| match &groups {
                None => PlacementView::new(shown, &position_of),
                Some(groups) => groups.view(shown, at == 0),
            })
            .collect();
        self.devices = device_loads(shown, &position_of);
        self
    }
}

impl PlacementView {
    fn new(shown: &Shown<'_>, position_of: &BTreeMap<NodeId, u32>) -> Self {
        let ranks: Vec<&RankPlacement> = shown.placement.ranks().collect();
        let core = |rank: &RankPlacement| match rank.cores.first() {
            Some(core) if rank.bound => core.0,
            _ => UNBOUND,
        };
        let whole = |number: &dyn Fn(&RankPlacement) -> u32| {
            Packed::whole(&ranks.iter().map(|rank| number(rank)).collect::<Vec<_>>())
        };
        let lists: Vec<Vec<u32>> =
            ranks.iter().map(|rank| rank.cores.iter().map(|core| core.0).collect()).collect();
        let mut order: Vec<usize> = (0..ranks.len()).collect();
        order.sort_by_key(|at| (ranks[*at].node, core(ranks[*at]), *at));
        let mut position = vec![0; ranks.len()];
        for (place, rank) in (0..).zip(order) {
            position[rank] = place;
        }
        let names = |of: fn(&RankPlacement) -> &Vec<String>| match ranks
            .iter()
            .any(|rank| !of(rank).is_empty())
        {
            true => ranks.iter().map(|rank| of(rank).clone()).collect(),
            false => Vec::new(),
        };
        Self {
            role: shown.role,
            name: shown.name.clone(),
            node: whole(&|rank| position_of[&rank.node]),
            core: whole(&core),
            cores: whole(&|rank| rank.cores.len() as u32),
            core_list: core_list(&lists),
            position: Packed::whole(&position),
            nics: names(|rank| &rank.nics),
            gpus: names(|rank| &rank.gpus),
            inter_node_bytes: shown.load.inter_node.0,
        }
    }
}

/// All lists of cores, one after the other; `None` if the cores of each follow each other.
fn core_list(lists: &[Vec<u32>]) -> Option<Packed> {
    let has_gap = |cores: &Vec<u32>| cores.windows(2).any(|pair| pair[1] != pair[0] + 1);
    lists.iter().any(has_gap).then(|| Packed::whole(&lists.concat()))
}

/// The ranks that a placement puts on one node.
struct Groups {
    /// By rank: its group.
    of_rank: Vec<u32>,
    /// By group: the position of its node in the report.
    nodes: Vec<u32>,
    /// By group: the cores of its ranks, ascending.
    cores: Vec<Vec<u32>>,
}

impl Groups {
    fn new(placement: &Placement, position_of: &BTreeMap<NodeId, u32>) -> Self {
        let mut cores: BTreeMap<NodeId, BTreeSet<u32>> = BTreeMap::new();
        for rank in placement.ranks() {
            cores.entry(rank.node).or_default().extend(rank.cores.iter().map(|core| core.0));
        }
        let group: BTreeMap<NodeId, u32> = cores.keys().copied().zip(0..).collect();
        Self {
            of_rank: placement.ranks().map(|rank| group[&rank.node]).collect(),
            nodes: cores.keys().map(|node| position_of[node]).collect(),
            cores: cores.into_values().map(|cores| cores.into_iter().collect()).collect(),
        }
    }

    fn view(&self, shown: &Shown<'_>, is_first: bool) -> PlacementView {
        let list = |numbers: &[u32]| Packed::whole(if is_first { numbers } else { &[] });
        let count = self.nodes.len();
        let by_group = |number: &dyn Fn(&Vec<u32>) -> u32| {
            list(&self.cores.iter().map(number).collect::<Vec<_>>())
        };
        PlacementView {
            role: shown.role,
            name: shown.name.clone(),
            node: list(&self.nodes),
            core: by_group(&|cores| cores.first().copied().unwrap_or(UNBOUND)),
            cores: by_group(&|cores| cores.len() as u32),
            core_list: core_list(&self.cores).filter(|_| is_first),
            position: list(&(0..count as u32).collect::<Vec<_>>()),
            nics: Vec::new(),
            gpus: Vec::new(),
            inter_node_bytes: shown.load.inter_node.0,
        }
    }
}

/// Bytes through a network device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceLoad {
    /// Its node: position in [`Machine::nodes`](Machine::nodes).
    pub node: u32,
    /// Its name; `None` if all devices of the node count as one.
    pub nic: Option<String>,
    /// Bytes out of the node, by placement.
    pub out: Vec<u64>,
    /// Bytes into the node, by placement.
    #[serde(rename = "in")]
    pub incoming: Vec<u64>,
    /// Bytes out of the node that it counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted_out: Option<u64>,
    /// Bytes into the node that it counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted_in: Option<u64>,
    /// What `check --counters` says of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted_note: Option<String>,
}

/// A row for each network device that carries something under some placement.
pub(super) fn device_loads(
    shown: &[Shown<'_>],
    position_of: &BTreeMap<NodeId, u32>,
) -> Vec<DeviceLoad> {
    let mut rows: BTreeMap<(u32, Option<String>), DeviceLoad> = BTreeMap::new();
    let count = shown.len();
    for (at, shown) in shown.iter().enumerate() {
        for NicLoad { node, nic, out, incoming, .. } in &shown.load.nics {
            let node = position_of[node];
            let row = rows.entry((node, nic.clone())).or_insert_with(|| DeviceLoad {
                node,
                nic: nic.clone(),
                out: vec![0; count],
                incoming: vec![0; count],
                counted_out: None,
                counted_in: None,
                counted_note: None,
            });
            row.out[at] = out.0;
            row.incoming[at] = incoming.0;
        }
    }
    rows.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::super::data::{Kind, Outcome, Verdict};
    use super::*;
    use crate::cluster::Levels;
    use crate::placement::{Granularity, JobShape, slots};
    use crate::{cluster, traffic};

    #[test]
    fn ranks_are_in_the_order_of_places_and_devices_have_their_bytes() {
        let cluster = cluster::open("paper:2013").unwrap();
        let workload = traffic::open("pattern:ring:4:length=1000 B").unwrap();
        let slots = slots(&cluster, Granularity::Cores(1), 256).unwrap();
        let on = |core: usize| slots.iter().position(|slot| slot.cores[0].index() == core).unwrap();
        // Ranks 0 and 2 on the second node, ranks 1 and 3 on the first.
        let second = slots.iter().position(|slot| slot.node != slots[0].node).unwrap();
        let mapping = [second + 1, on(3), second, on(0)];
        let shapes = JobShape::of(&workload);
        let placement =
            Placement::from_slots(&cluster, &shapes, "by hand", &slots, &mapping).unwrap();
        let load = Load::new(&cluster, &Levels::new(&cluster), &workload, &placement);
        let (role, name) = (PlacementRole::Given, "by hand".to_owned());
        let shown = [Shown { role, name, placement: &placement, load: &load }];
        let verdict = Verdict { text: String::new(), outcome: Outcome::Unknown, details: vec![] };
        let report =
            Report::new(Kind::Placement, "", verdict).with_placements(&cluster, &workload, &shown);
        let view = &report.placements[0];
        assert_eq!(view.node.numbers(), [1.0, 0.0, 1.0, 0.0]);
        assert_eq!(view.position.numbers(), [3.0, 1.0, 2.0, 0.0]);
        assert_eq!(view.core.numbers(), [1.0, 3.0, 0.0, 0.0]);
        assert_eq!(view.core_list, None, "one core each");
        assert_eq!(report.machine.unwrap().nodes.len(), 2);
        let out: u64 = report.devices.iter().flat_map(|device| &device.out).sum();
        assert_eq!(out, view.inter_node_bytes);
        assert_eq!(out, report.traffic.unwrap().total_bytes, "neighbours are on different nodes");
    }
    #[test]
    fn cores_that_do_not_follow_each_other_are_listed() {
        assert_eq!(core_list(&[vec![0, 1], vec![], vec![7]]), None);
        let listed = core_list(&[vec![0, 2], vec![4, 5]]).unwrap();
        assert_eq!(listed.numbers(), [0.0, 2.0, 4.0, 5.0]);
        let cluster = free_on_even_cores();
        let workload = traffic::open("pattern:ring:4:length=1000 B").unwrap();
        let slots = slots(&cluster, Granularity::Cores(2), 4).unwrap();
        let shapes = JobShape::of(&workload);
        let placement =
            Placement::from_slots(&cluster, &shapes, "by hand", &slots, &[3, 2, 1, 0]).unwrap();
        let load = Load::new(&cluster, &Levels::new(&cluster), &workload, &placement);
        let (role, name) = (PlacementRole::Given, "by hand".to_owned());
        let shown = Shown { role, name, placement: &placement, load: &load };
        let nodes: BTreeMap<NodeId, u32> = cluster.node_ids().zip(0..).collect();
        let view = PlacementView::new(&shown, &nodes);
        let cores = [4.0, 6.0, 0.0, 2.0, 4.0, 6.0, 0.0, 2.0];
        assert_eq!(view.core_list.as_ref().unwrap().numbers(), cores);
        let groups = Groups::new(&placement, &nodes);
        let view = groups.view(&shown, true);
        assert_eq!(view.cores.numbers(), [4.0, 4.0]);
        let cores = [0.0, 2.0, 4.0, 6.0, 0.0, 2.0, 4.0, 6.0];
        assert_eq!(view.core_list.as_ref().unwrap().numbers(), cores);
        assert_eq!(groups.view(&shown, false).core_list, None);
    }

    /// Two nodes of eight cores, of which those with even numbers are free.
    fn free_on_even_cores() -> Cluster {
        let text = "name = \"even\"\nformat = 2\n[[node]]\nnames = \"n[0-1]\"\n\
                    topology = \"pack:1 core:8 pu:1\"\nfree = \"0,2,4,6\"\n";
        cluster::parse(text, "even.toml", cluster::NodeCount::AsDescribed).unwrap()
    }
}
