//! Devices by load: which device (or rails) each rank uses so that the busiest is least busy.
//!
//! Under a placement every node sends and receives a known number of bytes, so each node is a problem
//! of its own: ranks are the work, devices the machines. A device that is not beside the rank costs
//! what [`FarDevice`] says, as in the models and the simulator: the device needs longer for
//! every byte, or the rank's core has more to do with every message. What that is above the least
//! that the rank cannot avoid counts as a machine of the rank's own. On rail-optimised fabrics, where
//! all devices have a rail, both ends of a pair use the same rail: there the work are the sets of
//! ranks that exchange anything, directly or through others, over all nodes.
//!
//! A rank uses one device where that comes within [`GOOD_ENOUGH`] of the lower bound; else ranks may
//! be striped over the nearest devices, or over all, as far as these have contexts left.

mod assign;
mod sets;

use super::local::LocalView;
use super::spread::exhausted;
use super::traffic::BetweenNodes;
use super::{Chosen, SelectionError};
use crate::cluster::Cluster;
use crate::network::FarDevice;
use crate::units::Seconds;
use assign::{Choice, NoRoom, assign};
pub use sets::DeviceSets;

/// How much longer than the lower bound the busiest device may take before ranks are striped.
const GOOD_ENOUGH: f64 = 1.1;

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
/// striped; those of ranks that are not come first then.
type Options<'a> = dyn Fn(&Problem<'_>, usize, bool) -> Vec<Vec<Vec<usize>>> + 'a;

/// The options of all items.
struct Work {
    /// Per item and option, for each of the item's ranks its devices.
    sets: Vec<Vec<Vec<Vec<usize>>>>,
    /// What each of them costs.
    choices: Vec<Vec<Choice>>,
}

impl Problem<'_> {
    fn solve(&self, options: &Options<'_>) -> Result<Chosen, SelectionError> {
        let single = self.work(options, false);
        let contexts = self.contexts();
        let taken = assign(&single.choices, &contexts, None).map_err(|full| self.no_room(full))?;
        let chosen = self.chosen(&single, &taken);
        let bound = lower_bound(self.views, self.traffic);
        if self.busiest(&chosen) <= bound.0 * GOOD_ENOUGH {
            return Ok(chosen);
        }
        let striped = self.work(options, true);
        let Ok(taken) = assign(&striped.choices, &contexts, Some(&taken)) else {
            return Ok(chosen);
        };
        let striped = self.chosen(&striped, &taken);
        let better = self.longest(&striped) * GOOD_ENOUGH.sqrt() < self.longest(&chosen);
        Ok(if better { striped } else { chosen })
    }

    /// Why there is no choice: an item found no room.
    fn no_room(&self, full: NoRoom) -> SelectionError {
        let name = |view: &LocalView| self.cluster.node(view.node).name.clone();
        let is_full = |view: &&LocalView| {
            let served = view.active().map(|device| view.devices[device].contexts.map(u64::from));
            served.sum::<Option<u64>>().is_some_and(|served| served < view.ranks.len() as u64)
        };
        if let Some(view) = self.views.iter().find(is_full) {
            return exhausted(view, &name(view));
        }
        let ranks_on =
            |node: usize| self.items[full.work].iter().filter(|(at, _)| *at == node).count();
        let nodes = (0..self.views.len()).rev();
        let fullest = nodes.max_by_key(|node| ranks_on(*node)).unwrap_or_default();
        SelectionError::RailsExhausted {
            node: name(&self.views[fullest]),
            ranks: ranks_on(fullest),
        }
    }

    /// How many ranks each device serves; without a limit the cores of the ranks.
    fn contexts(&self) -> Vec<Option<u32>> {
        let devices = self.views.iter().flat_map(|view| &view.devices);
        let ranks: usize = self.views.iter().map(|view| view.ranks.len()).sum();
        devices.map(|device| device.contexts).chain(std::iter::repeat_n(None, ranks)).collect()
    }

    fn work(&self, options: &Options<'_>, striped: bool) -> Work {
        let firsts = self.firsts();
        let sets: Vec<Vec<Vec<Vec<usize>>>> =
            (0..self.items.len()).map(|item| options(self, item, striped)).collect();
        let choices = sets.iter().zip(&self.items).map(|(sets, members)| {
            sets.iter().map(|set| self.choice(members, set, &firsts)).collect()
        });
        Work { choices: choices.collect(), sets }
    }

    fn chosen(&self, work: &Work, taken: &[usize]) -> Chosen {
        let mut chosen: Chosen =
            self.views.iter().map(|view| vec![Vec::new(); view.ranks.len()]).collect();
        for ((members, sets), taken) in self.items.iter().zip(&work.sets).zip(taken) {
            for ((node, rank), devices) in members.iter().zip(&sets[*taken]) {
                chosen[*node][*rank].clone_from(devices);
            }
        }
        chosen
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
            let far = far_times(view, self.traffic, *rank, devices);
            if far != [0.0; 2] {
                choice.add(firsts[*node].1 + rank, far);
            }
            for device in devices {
                let times = times(view, self.traffic, *rank, *device, devices);
                choice.add(firsts[*node].0 + device, times);
                choice.distance +=
                    view.ranks[*rank].distances[*device] as f64 / devices.len() as f64;
            }
        }
        choice
    }

    /// What the busiest device needs.
    fn busiest(&self, chosen: &Chosen) -> f64 {
        let mut longest: f64 = 0.0;
        for (view, of_node) in self.views.iter().zip(chosen) {
            let mut loads = vec![[0.0_f64; 2]; view.devices.len()];
            for (rank, devices) in of_node.iter().enumerate() {
                for device in devices {
                    let times = times(view, self.traffic, rank, *device, devices);
                    loads[*device] = [loads[*device][0] + times[0], loads[*device][1] + times[1]];
                }
            }
            longest = loads.into_iter().flatten().fold(longest, f64::max);
        }
        longest
    }

    /// What the busiest device needs, or the core that far devices cost most.
    fn longest(&self, chosen: &Chosen) -> f64 {
        let mut longest = self.busiest(chosen);
        for (view, of_node) in self.views.iter().zip(chosen) {
            for (rank, devices) in of_node.iter().enumerate() {
                let far = far_times(view, self.traffic, rank, devices);
                longest = longest.max(far[0]).max(far[1]);
            }
        }
        longest
    }
}

/// How long a device needs for what a rank sends and receives by it, if the rank uses `devices`.
fn times(
    view: &LocalView,
    traffic: &BetweenNodes,
    rank: usize,
    device: usize,
    devices: &[usize],
) -> [f64; 2] {
    let rank = &view.ranks[rank];
    let share =
        rank.far[device].device_factor() / (view.devices[device].rate * devices.len() as f64);
    [traffic.out[rank.rank] * share, traffic.incoming[rank.rank] * share]
}

/// How much longer the core of a rank has to do with what it sends and receives if that goes through
/// `devices`, above what no device saves it.
fn far_times(view: &LocalView, traffic: &BetweenNodes, rank: usize, devices: &[usize]) -> [f64; 2] {
    let rank = &view.ranks[rank];
    let is_far = |device: &usize| rank.far[*device] == FarDevice::Core;
    let far = devices.iter().filter(|device| is_far(device)).count();
    if far == 0 || view.active().all(|device| is_far(&device)) {
        return [0.0; 2];
    }
    let share = far as f64 / devices.len() as f64;
    traffic.far[rank.rank].map(|seconds| share * seconds)
}

/// What the busiest device needs at least, however devices are chosen: all bytes of a node, through
/// the nearest devices, over all of them.
pub(super) fn lower_bound(views: &[LocalView], traffic: &BetweenNodes) -> Seconds {
    let bound = |view: &LocalView| {
        let together: f64 = view.active().map(|device| view.devices[device].rate).sum();
        let mut sums = [0.0; 2];
        for rank in &view.ranks {
            let factor = |device: usize| rank.far[device].device_factor();
            let least = view.active().map(factor).reduce(f64::min).unwrap_or(1.0);
            sums[0] += least * traffic.out[rank.rank];
            sums[1] += least * traffic.incoming[rank.rank];
        }
        sums[0].max(sums[1]) / together
    };
    Seconds(views.iter().map(bound).fold(0.0, f64::max))
}
