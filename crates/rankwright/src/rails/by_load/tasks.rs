//! The devices of ranks as a scheduling problem.

use super::busy_times::{device_times, far_core_times, lower_bound};
use super::makespan::{CapacityExceeded, Mode, schedule};
use crate::cluster::Cluster;
use crate::rails::SelectionError;
use crate::rails::internode_traffic::InternodeTraffic;
use crate::rails::node_view::{DeviceSet, NodeView};
use crate::rails::psm2_modes::exhausted;

/// How much longer than the lower bound the busiest device may be busy before ranks are striped.
const GOOD_ENOUGH: f64 = 1.1;

/// A rank of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Member {
    /// The position of its node's view.
    pub(super) view: usize,
    /// Its position in [`NodeView::ranks`].
    pub(super) rank: usize,
}

/// One way to give a task its devices.
#[derive(Debug, Clone)]
pub(super) struct DeviceOption {
    /// The devices of each member. Index: as the members of the task.
    pub(super) of_member: Vec<DeviceSet>,
}

/// The options of a task with these members. Only with the flag may ranks be striped; the options
/// without striping come first.
pub(super) type Options<'a> = dyn Fn(&[Member], bool) -> Vec<DeviceOption> + 'a;

/// Ranks on some nodes that need devices.
pub(super) struct DeviceProblem<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) views: &'a [NodeView],
    pub(super) traffic: &'a InternodeTraffic,
    /// The members of each task: ranks that take one option together. Index: task.
    pub(super) tasks: Vec<Vec<Member>>,
    pub(super) options: &'a Options<'a>,
}

/// The first machines of a view. Devices are counted over all views, then the cores of all ranks.
#[derive(Clone, Copy)]
struct FirstMachines {
    /// Of its devices.
    device: usize,
    /// Of the cores of its ranks.
    core: usize,
}

impl DeviceProblem<'_> {
    /// The devices of each rank of each view.
    pub(super) fn solve(&self) -> Result<Vec<Vec<DeviceSet>>, SelectionError> {
        let contexts = self.contexts();
        let (single, modes) = self.tasks(false);
        let mode_of = schedule(&modes, &contexts, None).map_err(|full| self.error(full))?;
        let chosen = self.chosen(&single, &mode_of);
        let bound = lower_bound(self.views, self.traffic);
        if self.busiest_device(&chosen) <= bound.0 * GOOD_ENOUGH {
            return Ok(chosen);
        }
        let (striped, modes) = self.tasks(true);
        let Ok(mode_of) = schedule(&modes, &contexts, Some(&mode_of)) else {
            return Ok(chosen);
        };
        let striped = self.chosen(&striped, &mode_of);
        let better = self.makespan(&striped) * GOOD_ENOUGH.sqrt() < self.makespan(&chosen);
        Ok(if better { striped } else { chosen })
    }

    /// The error for a task that exceeds the contexts.
    fn error(&self, full: CapacityExceeded) -> SelectionError {
        let name = |view: &NodeView| self.cluster.node(view.node).name.clone();
        let is_full = |view: &&NodeView| {
            let served = view.active().map(|device| view.devices[device].contexts.map(u64::from));
            served.sum::<Option<u64>>().is_some_and(|served| served < view.ranks.len() as u64)
        };
        if let Some(view) = self.views.iter().find(is_full) {
            return exhausted(view, &name(view));
        }
        let members = &self.tasks[full.task];
        let ranks_on = |view: usize| members.iter().filter(|member| member.view == view).count();
        let views = (0..self.views.len()).rev();
        let fullest = views.max_by_key(|view| ranks_on(*view)).unwrap_or_default();
        SelectionError::RailsExhausted {
            node: name(&self.views[fullest]),
            ranks: ranks_on(fullest),
        }
    }

    /// The contexts of each machine; cores have no limit.
    fn contexts(&self) -> Vec<Option<u32>> {
        let devices = self.views.iter().flat_map(|view| &view.devices);
        let ranks: usize = self.views.iter().map(|view| view.ranks.len()).sum();
        devices.map(|device| device.contexts).chain(std::iter::repeat_n(None, ranks)).collect()
    }

    /// The options of each task, and their modes.
    fn tasks(&self, striped: bool) -> (Vec<Vec<DeviceOption>>, Vec<Vec<Mode>>) {
        let firsts = self.first_machines();
        let task = |members: &Vec<Member>| {
            let options = (self.options)(members, striped);
            let modes = options.iter().map(|option| self.mode(members, option, &firsts)).collect();
            (options, modes)
        };
        self.tasks.iter().map(task).unzip()
    }

    fn chosen(&self, options: &[Vec<DeviceOption>], mode_of: &[usize]) -> Vec<Vec<DeviceSet>> {
        let none = |view: &NodeView| vec![DeviceSet::default(); view.ranks.len()];
        let mut chosen: Vec<Vec<DeviceSet>> = self.views.iter().map(none).collect();
        for ((members, options), mode) in self.tasks.iter().zip(options).zip(mode_of) {
            for (member, devices) in members.iter().zip(&options[*mode].of_member) {
                chosen[member.view][member.rank].clone_from(devices);
            }
        }
        chosen
    }

    /// Index: view.
    fn first_machines(&self) -> Vec<FirstMachines> {
        let devices: usize = self.views.iter().map(|view| view.devices.len()).sum();
        let mut next = FirstMachines { device: 0, core: devices };
        let count = |view: &NodeView| {
            let first = next;
            next.device += view.devices.len();
            next.core += view.ranks.len();
            first
        };
        self.views.iter().map(count).collect()
    }

    fn mode(&self, members: &[Member], option: &DeviceOption, firsts: &[FirstMachines]) -> Mode {
        let mut mode = Mode::default();
        for (member, devices) in members.iter().zip(&option.of_member) {
            let Member { view: index, rank } = *member;
            let view = &self.views[index];
            let far = far_core_times(view, self.traffic, rank, devices);
            if far != [0.0; 2] {
                mode.add(firsts[index].core + rank, far);
            }
            for device in devices.iter() {
                let times = device_times(view, self.traffic, rank, device, devices);
                mode.add(firsts[index].device + device, times);
                mode.distance += view.ranks[rank].distances[device] as f64 / devices.len() as f64;
            }
        }
        mode
    }

    /// How long the busiest device is busy, in seconds.
    fn busiest_device(&self, chosen: &[Vec<DeviceSet>]) -> f64 {
        let mut longest: f64 = 0.0;
        for (view, of_ranks) in self.views.iter().zip(chosen) {
            let mut busy = vec![[0.0_f64; 2]; view.devices.len()];
            for (rank, devices) in of_ranks.iter().enumerate() {
                for device in devices.iter() {
                    let times = device_times(view, self.traffic, rank, device, devices);
                    busy[device] = [busy[device][0] + times[0], busy[device][1] + times[1]];
                }
            }
            longest = busy.into_iter().flatten().fold(longest, f64::max);
        }
        longest
    }

    /// How long the busiest device is busy, or the core that far devices cost most.
    fn makespan(&self, chosen: &[Vec<DeviceSet>]) -> f64 {
        let mut longest = self.busiest_device(chosen);
        for (view, of_ranks) in self.views.iter().zip(chosen) {
            for (rank, devices) in of_ranks.iter().enumerate() {
                let far = far_core_times(view, self.traffic, rank, devices);
                longest = longest.max(far[0]).max(far[1]);
            }
        }
        longest
    }
}
