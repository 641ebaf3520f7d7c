//! Devices by load: which device (or rails) each rank uses so that the busiest is least busy.
//!
//! Under a placement every node sends and receives a known number of bytes, so each node is a problem
//! of its own: ranks are the work, devices the machines. A device that is not beside the rank costs
//! what [`Cluster::far_device`] says, as in the models and the simulator: the device needs longer for
//! every byte, or the rank's core has more to do with every message. What that is above the least
//! that the rank cannot avoid counts as a machine of the rank's own. On rail-optimised fabrics, where
//! all devices have a rail, both ends of a pair use the same rail: there the work are the sets of
//! ranks that exchange anything, directly or through others, over all nodes.
//!
//! A rank uses one device where that comes within [`GOOD_ENOUGH`] of the lower bound; else ranks may
//! be striped over the nearest devices, or over all.

mod assign;
mod sets;

use super::local::LocalView;
use super::spread::exhausted;
use super::traffic::BetweenNodes;
use super::{Chosen, SelectionError};
use crate::cluster::{Cluster, FarDevice};
use crate::units::Seconds;
use assign::{Choice, assign};
pub use sets::DeviceSets;

/// How much longer than the lower bound the busiest device may take before ranks are striped.
const GOOD_ENOUGH: f64 = 1.1;

/// How busy the busiest device of all nodes is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Balance {
    /// How long it needs for all that passes it one way, with what it needs more for ranks that it is
    /// far from.
    pub busiest: Seconds,
    /// No choice of devices for the same placement has a busiest device that needs less.
    pub lower_bound: Seconds,
}

/// A choice of devices for each rank of each node, as positions in [`LocalView::devices`].
pub(super) fn choose(
    cluster: &Cluster,
    views: &[LocalView],
    traffic: &BetweenNodes,
) -> Result<Chosen, SelectionError> {
    if sets::are_railed(views) {
        return same_rails(cluster, views, traffic);
    }
    let mut chosen = Vec::with_capacity(views.len());
    for view in views {
        let items: Vec<Vec<(usize, usize)>> = (0..view.ranks.len()).map(|r| vec![(0, r)]).collect();
        let one_node = std::slice::from_ref(view);
        let problem = Problem { cluster, views: one_node, traffic, items };
        let options = |problem: &Problem<'_>, item: usize, striped: bool| {
            let rank = problem.items[item][0].1;
            sets::of_rank(view, rank, striped).into_iter().map(|set| vec![set]).collect()
        };
        chosen.extend(problem.solve(&options)?);
    }
    Ok(chosen)
}

/// On rail-optimised fabrics: one rail, or all of them, for all ranks that exchange anything.
fn same_rails(
    cluster: &Cluster,
    views: &[LocalView],
    traffic: &BetweenNodes,
) -> Result<Chosen, SelectionError> {
    let items = connected(views, traffic);
    let problem = Problem { cluster, views, traffic, items };
    let options = |problem: &Problem<'_>, item: usize, striped: bool| {
        let members = &problem.items[item];
        let nodes: Vec<usize> = members.iter().map(|(node, _)| *node).collect();
        let rails = sets::common_rails(views, &nodes);
        let of_rail =
            |rail: &u32| nodes.iter().map(|node| sets::of_rail(&views[*node], *rail)).collect();
        let mut options: Vec<Vec<Vec<usize>>> = rails.iter().map(of_rail).collect();
        if (striped && rails.len() > 1) || rails.is_empty() {
            let all = nodes.iter().map(|node| sets::of_all_rails(&views[*node], &rails));
            options.push(all.collect());
        }
        options
    };
    problem.solve(&options)
}

/// Sets of ranks, as (position of the node's view, position of the rank in it), that exchange
/// something directly or through others.
fn connected(views: &[LocalView], traffic: &BetweenNodes) -> Vec<Vec<(usize, usize)>> {
    let mut above: Vec<usize> = (0..traffic.out.len()).collect();
    fn top(above: &mut [usize], mut rank: usize) -> usize {
        while above[rank] != rank {
            above[rank] = above[above[rank]];
            rank = above[rank];
        }
        rank
    }
    for (from, to) in &traffic.pairs {
        let (a, b) = (top(&mut above, *from), top(&mut above, *to));
        above[a.max(b)] = a.min(b);
    }
    let mut position = vec![usize::MAX; above.len()];
    let mut sets: Vec<Vec<(usize, usize)>> = Vec::new();
    for (node, view) in views.iter().enumerate() {
        for (index, local) in view.ranks.iter().enumerate() {
            let of = top(&mut above, local.rank);
            if position[of] == usize::MAX {
                position[of] = sets.len();
                sets.push(Vec::new());
            }
            sets[position[of]].push((node, index));
        }
    }
    sets
}

/// Ranks that choose together, on some nodes.
struct Problem<'a> {
    cluster: &'a Cluster,
    views: &'a [LocalView],
    traffic: &'a BetweenNodes,
    /// Per item its ranks: the position of the node's view, and the rank's in it.
    items: Vec<Vec<(usize, usize)>>,
}

/// The options of an item: for each of its ranks a set of devices. The flag says whether ranks may be
/// striped.
type Options<'a> = dyn Fn(&Problem<'_>, usize, bool) -> Vec<Vec<Vec<usize>>> + 'a;

impl Problem<'_> {
    fn solve(&self, options: &Options<'_>) -> Result<Chosen, SelectionError> {
        let single = self.with(options, false)?;
        let balance = balance(self.cluster, self.views, self.traffic, &single);
        if balance.busiest.0 <= balance.lower_bound.0 * GOOD_ENOUGH {
            return Ok(single);
        }
        let Ok(striped) = self.with(options, true) else { return Ok(single) };
        let better = self.longest(&striped) * GOOD_ENOUGH.sqrt() < self.longest(&single);
        Ok(if better { striped } else { single })
    }

    /// What the busiest device needs, or the core that far devices cost most.
    fn longest(&self, chosen: &Chosen) -> f64 {
        let mut longest = busiest(self.cluster, self.views, self.traffic, chosen);
        for (view, of_node) in self.views.iter().zip(chosen) {
            for (rank, devices) in of_node.iter().enumerate() {
                let far = far_times(self.cluster, view, self.traffic, rank, devices);
                longest = longest.max(far[0]).max(far[1]);
            }
        }
        longest
    }

    fn with(&self, options: &Options<'_>, striped: bool) -> Result<Chosen, SelectionError> {
        let firsts = self.firsts();
        let sets: Vec<Vec<Vec<Vec<usize>>>> =
            (0..self.items.len()).map(|item| options(self, item, striped)).collect();
        let choices: Vec<Vec<Choice>> = sets
            .iter()
            .zip(&self.items)
            .map(|(sets, members)| {
                sets.iter().map(|set| self.choice(members, set, &firsts)).collect()
            })
            .collect();
        let capacities = self.views.iter().flat_map(|view| &view.devices);
        let mut capacities: Vec<Option<u32>> = capacities.map(|device| device.contexts).collect();
        // The cores of the ranks.
        let ranks: usize = self.views.iter().map(|view| view.ranks.len()).sum();
        capacities.resize(capacities.len() + ranks, None);
        let Some(taken) = assign(&choices, &capacities) else {
            let node = |view: &LocalView| self.cluster.node(view.node).name.clone();
            let full = self.views.iter().max_by_key(|view| view.ranks.len());
            return Err(full.map_or(SelectionError::NoDevice { node: String::new() }, |view| {
                exhausted(view, &node(view))
            }));
        };
        let mut chosen: Chosen =
            self.views.iter().map(|view| vec![Vec::new(); view.ranks.len()]).collect();
        for ((members, sets), taken) in self.items.iter().zip(&sets).zip(taken) {
            for ((node, rank), devices) in members.iter().zip(&sets[taken]) {
                chosen[*node][*rank].clone_from(devices);
            }
        }
        Ok(chosen)
    }

    /// The numbers of the first device and of the first rank's core of each view: all devices are
    /// counted through, then all ranks.
    fn firsts(&self) -> Vec<(usize, usize)> {
        let devices: usize = self.views.iter().map(|view| view.devices.len()).sum();
        let mut next = (0, devices);
        let count = |view: &LocalView| {
            let first = next;
            next = (next.0 + view.devices.len(), next.1 + view.ranks.len());
            first
        };
        self.views.iter().map(count).collect()
    }

    fn choice(
        &self,
        members: &[(usize, usize)],
        set: &[Vec<usize>],
        firsts: &[(usize, usize)],
    ) -> Choice {
        let mut choice = Choice::default();
        for ((node, rank), devices) in members.iter().zip(set) {
            let view = &self.views[*node];
            let far = far_times(self.cluster, view, self.traffic, *rank, devices);
            if far != [0.0; 2] {
                choice.add(firsts[*node].1 + rank, far);
            }
            for device in devices {
                let (out, into) = times(self.cluster, view, self.traffic, *rank, *device, devices);
                choice.add(firsts[*node].0 + device, [out, into]);
                choice.distance +=
                    view.ranks[*rank].distances[*device] as f64 / devices.len() as f64;
            }
        }
        choice
    }
}

/// How long a device needs for what a rank sends and receives by it, if the rank uses `devices`.
fn times(
    cluster: &Cluster,
    view: &LocalView,
    traffic: &BetweenNodes,
    rank: usize,
    device: usize,
    devices: &[usize],
) -> (f64, f64) {
    let nic = &cluster.machine(view.node).nics[view.devices[device].position];
    let factor = far_device(cluster, view, rank, device).device_factor();
    let rate = cluster.nic_bandwidth(nic).0 * devices.len() as f64;
    let global = view.ranks[rank].rank;
    (traffic.out[global] * factor / rate, traffic.incoming[global] * factor / rate)
}

/// What is slower for a rank through a device; nothing where the rank is not bound to cores.
fn far_device(cluster: &Cluster, view: &LocalView, rank: usize, device: usize) -> FarDevice {
    let nic = &cluster.machine(view.node).nics[view.devices[device].position];
    let numa = view.ranks[rank].numa.first();
    numa.map_or(FarDevice::Near, |numa| cluster.far_device(view.node, *numa, nic))
}

/// How much longer the core of a rank has to do with what it sends and receives if that goes through
/// `devices`, above what no device saves it.
fn far_times(
    cluster: &Cluster,
    view: &LocalView,
    traffic: &BetweenNodes,
    rank: usize,
    devices: &[usize],
) -> [f64; 2] {
    let is_far = |device| far_device(cluster, view, rank, device) == FarDevice::Core;
    if devices.is_empty() || view.active().all(is_far) {
        return [0.0; 2];
    }
    let far = devices.iter().filter(|device| is_far(**device)).count();
    let share = far as f64 / devices.len() as f64;
    traffic.far[view.ranks[rank].rank].map(|seconds| share * seconds)
}

/// How busy the busiest device is under a choice; ranks without devices use all of their node.
pub(super) fn balance(
    cluster: &Cluster,
    views: &[LocalView],
    traffic: &BetweenNodes,
    chosen: &Chosen,
) -> Balance {
    let bound = |view: &LocalView| {
        let nics = &cluster.machine(view.node).nics;
        let rate = |device: usize| cluster.nic_bandwidth(&nics[view.devices[device].position]).0;
        let together: f64 = view.active().map(rate).sum();
        let least = |rank: usize| {
            let factor = |device| far_device(cluster, view, rank, device).device_factor();
            view.active().map(factor).reduce(f64::min).unwrap_or(1.0)
        };
        let sum = |bytes: &[f64]| -> f64 {
            let of = |rank: usize| bytes[view.ranks[rank].rank] * least(rank);
            (0..view.ranks.len()).map(of).sum()
        };
        sum(&traffic.out).max(sum(&traffic.incoming)) / together
    };
    let lower_bound = Seconds(views.iter().map(bound).fold(0.0, f64::max));
    Balance { busiest: Seconds(busiest(cluster, views, traffic, chosen)), lower_bound }
}

fn busiest(cluster: &Cluster, views: &[LocalView], traffic: &BetweenNodes, chosen: &Chosen) -> f64 {
    let mut longest: f64 = 0.0;
    for (view, of_node) in views.iter().zip(chosen) {
        let mut loads = vec![(0.0_f64, 0.0_f64); view.devices.len()];
        let all: Vec<usize> = view.active().collect();
        for (rank, devices) in of_node.iter().enumerate() {
            let devices = if devices.is_empty() { &all } else { devices };
            for device in devices {
                let (out, into) = times(cluster, view, traffic, rank, *device, devices);
                loads[*device].0 += out;
                loads[*device].1 += into;
            }
        }
        longest = loads.iter().fold(longest, |most, load| most.max(load.0).max(load.1));
    }
    longest
}
