//! The mode of each task: list scheduling, then local search.

use std::cmp::{Ordering, Reverse};

use super::mode::{Directions, Mode};

/// Times that differ by less than this share of them are equal.
pub(super) const PRECISION: f64 = 1e-9;
/// Rounds of the local search at most.
const MAX_ROUNDS: usize = 100;

/// A task of which no mode leaves all machines within their contexts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct CapacityExceeded {
    /// Its position among the tasks.
    pub(in super::super) task: usize,
}

/// The mode of each task with a short makespan. `capacities` are the contexts of each machine, `None`
/// without a limit. With the modes of a schedule in `start`, none with a longer makespan is returned.
///
/// # Errors
/// If no mode is found for a task within the contexts.
pub(in super::super) fn schedule(
    tasks: &[Vec<Mode>],
    capacities: &[Option<u32>],
    start: Option<&[usize]>,
) -> Result<Vec<usize>, CapacityExceeded> {
    let shortest =
        |modes: &Vec<Mode>| modes.iter().map(Mode::longest).fold(f64::INFINITY, f64::min);
    let lengths: Vec<f64> = tasks.iter().map(shortest).collect();
    let mut longest_first: Vec<usize> = (0..tasks.len()).collect();
    longest_first.sort_by(|a, b| lengths[*b].total_cmp(&lengths[*a]).then(a.cmp(b)));
    let mut schedule = Schedule {
        tasks,
        capacities,
        times: vec![[0.0; 2]; capacities.len()],
        contexts: vec![0; capacities.len()],
        mode_of: vec![0; tasks.len()],
        touched: Vec::new(),
    };
    let mut starts: Vec<Vec<usize>> = start.map(<[usize]>::to_vec).into_iter().collect();
    match schedule.list_schedule(&longest_first) {
        Ok(()) => starts.push(schedule.mode_of.clone()),
        Err(_) if starts.is_empty() => {
            schedule.pack_contexts()?;
            starts.push(schedule.mode_of.clone());
        }
        Err(_) => (),
    }
    let mut best: Option<(f64, Vec<usize>)> = None;
    for start in starts {
        schedule.set_modes(start);
        schedule.improve();
        let makespan = schedule.makespan();
        if best.as_ref().is_none_or(|(least, _)| makespan < least * (1.0 - PRECISION)) {
            best = Some((makespan, schedule.mode_of.clone()));
        }
    }
    if let Some((_, modes)) = best {
        schedule.set_modes(modes);
    }
    schedule.branch_and_bound(&longest_first);
    Ok(schedule.mode_of)
}

/// The modes of tasks, and what they need of the machines.
pub(super) struct Schedule<'a> {
    /// The modes of each task. Index: task.
    pub(super) tasks: &'a [Vec<Mode>],
    /// The contexts of each machine; `None` without a limit. Index: machine.
    capacities: &'a [Option<u32>],
    /// How long each machine is busy, in seconds. Index: machine.
    pub(super) times: Vec<Directions>,
    /// How many contexts of each machine are taken. Index: machine.
    contexts: Vec<u32>,
    /// Positions among the modes of each task. Index: task.
    pub(super) mode_of: Vec<usize>,
    /// The machines of a change; kept to allocate once, because there are very many changes.
    touched: Vec<usize>,
}

impl Schedule<'_> {
    /// Adds what a mode needs, or subtracts it with `sign` -1.
    pub(super) fn add(&mut self, mode: &Mode, sign: f64) {
        for used in &mode.uses {
            let times = &mut self.times[used.machine];
            *times = [times[0] + sign * used.times[0], times[1] + sign * used.times[1]];
            let contexts = &mut self.contexts[used.machine];
            *contexts =
                if sign > 0.0 { *contexts + used.contexts } else { *contexts - used.contexts };
        }
    }

    /// Whether the machines of a mode have contexts left for it.
    pub(super) fn fits(&self, mode: &Mode) -> bool {
        mode.uses.iter().all(|used| {
            self.capacities[used.machine]
                .is_none_or(|most| self.contexts[used.machine] + used.contexts <= most)
        })
    }

    /// The longest time of a machine and direction.
    pub(super) fn makespan(&self) -> f64 {
        self.times.iter().flatten().fold(0.0, |most, time| most.max(*time))
    }

    /// Removes all tasks from the machines.
    fn clear(&mut self) {
        self.times.fill([0.0; 2]);
        self.contexts.fill(0);
    }

    /// Replaces the modes of all tasks.
    pub(super) fn set_modes(&mut self, mode_of: Vec<usize>) {
        self.clear();
        let tasks = self.tasks;
        for (modes, mode) in tasks.iter().zip(&mode_of) {
            self.add(&modes[*mode], 1.0);
        }
        self.mode_of = mode_of;
    }

    /// List scheduling: each task takes the mode after which its machines are busy for the shortest
    /// time, of those that leave contexts for all later tasks.
    fn list_schedule(&mut self, order: &[usize]) -> Result<(), CapacityExceeded> {
        let (tasks, capacities) = (self.tasks, self.capacities);
        let least = |task: &usize| {
            tasks[*task].iter().map(|mode| mode.limited_contexts(capacities)).min().unwrap_or(0)
        };
        let mut needed: u64 = order.iter().map(least).sum();
        let mut free: u64 = capacities.iter().flatten().map(|most| u64::from(*most)).sum();
        self.clear();
        for task in order {
            needed -= least(task);
            let leaves_enough =
                |mode: &Mode| free >= needed.saturating_add(mode.limited_contexts(capacities));
            let best = self.best_mode(*task, leaves_enough);
            let best = best.ok_or(CapacityExceeded { task: *task })?;
            let mode = &tasks[*task][best];
            free -= mode.limited_contexts(capacities);
            self.mode_of[*task] = best;
            self.add(mode, 1.0);
        }
        Ok(())
    }

    /// Packs contexts where list scheduling finds no schedule: best fit decreasing. The task with the
    /// most contexts comes first, and each takes its mode with the most contexts on the fullest
    /// machines, which leaves machines for tasks of many ranks.
    fn pack_contexts(&mut self) -> Result<(), CapacityExceeded> {
        let (tasks, capacities) = (self.tasks, self.capacities);
        let most = |task: &usize| {
            tasks[*task].iter().map(|mode| mode.limited_contexts(capacities)).max().unwrap_or(0)
        };
        let mut order: Vec<usize> = (0..tasks.len()).collect();
        order.sort_by_key(|task| (Reverse(most(task)), *task));
        self.clear();
        for task in order {
            let fullest = |mode: &Mode| {
                let users = mode.uses.iter().map(|used| u64::from(self.contexts[used.machine]));
                (Reverse(mode.limited_contexts(capacities)), users.sum::<u64>())
            };
            let fitting = tasks[task].iter().enumerate().filter(|(_, mode)| self.fits(mode));
            let best = fitting.rev().max_by_key(|(_, mode)| fullest(mode));
            let (best, mode) = best.ok_or(CapacityExceeded { task })?;
            self.mode_of[task] = best;
            self.add(mode, 1.0);
        }
        Ok(())
    }

    /// Local search, until no change helps.
    fn improve(&mut self) {
        for _ in 0..MAX_ROUNDS {
            let moved = self.move_tasks();
            if !self.swap_modes() && !moved {
                break;
            }
        }
        self.try_last_modes();
    }

    /// Lets all tasks take their last mode (all devices, where there is such a mode), if that is
    /// better.
    fn try_last_modes(&mut self) {
        let (before, makespan) = (self.mode_of.clone(), self.makespan());
        self.set_modes(self.tasks.iter().map(|modes| modes.len() - 1).collect());
        let mut limits = self.contexts.iter().zip(self.capacities);
        let fits = limits.all(|(contexts, most)| most.is_none_or(|most| *contexts <= most));
        if !fits || self.makespan() >= makespan * (1.0 - PRECISION) {
            self.set_modes(before);
        }
    }

    /// The mode after which its machines are busy for the shortest time, of those that fit and are
    /// allowed.
    fn best_mode(&self, task: usize, is_allowed: impl Fn(&Mode) -> bool) -> Option<usize> {
        let key = |mode: &Mode| {
            let after = mode.uses.iter().fold(0.0_f64, |most, used| {
                let before = self.times[used.machine];
                most.max(before[0] + used.times[0]).max(before[1] + used.times[1])
            });
            // What sends nothing goes to a near device with few ranks.
            let after = if mode.longest() > 0.0 { after } else { 0.0 };
            let users = mode.uses.iter().map(|used| self.contexts[used.machine]).max();
            (after, mode.distance, users.unwrap_or(0), mode.uses.len())
        };
        let modes = self.tasks[task].iter().enumerate();
        let modes = modes.filter(|(_, mode)| self.fits(mode) && is_allowed(mode));
        let keyed = modes.map(|(index, mode)| (key(mode), index));
        let less = |a: &(f64, f64, u32, usize), b: &(f64, f64, u32, usize)| {
            let after = if is_close(a.0, b.0) { Ordering::Equal } else { a.0.total_cmp(&b.0) };
            after.then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)).then(a.3.cmp(&b.3))
        };
        keyed.min_by(|a, b| less(&a.0, &b.0).then(a.1.cmp(&b.1))).map(|(_, index)| index)
    }

    /// How busy some machines are: the longest time, then the sum of squares.
    fn pressure(&self, machines: &[usize]) -> (f64, f64) {
        let times = || machines.iter().flat_map(|machine| self.times[*machine]);
        (times().fold(0.0, f64::max), times().map(|time| time * time).sum())
    }

    /// Lets every task change to a mode that makes the machines of the change less busy.
    fn move_tasks(&mut self) -> bool {
        let mut moved = false;
        for task in 0..self.tasks.len() {
            for mode in 0..self.tasks[task].len() {
                moved |= self.mode_of[task] != mode && self.try_change(&[(task, mode)]);
            }
        }
        moved
    }

    /// Lets the tasks of the busiest machine swap modes with other tasks that have as many.
    fn swap_modes(&mut self) -> bool {
        let longest = |times: &Directions| times[0].max(times[1]);
        let busiest = (0..self.times.len()).max_by(|a, b| {
            longest(&self.times[*a]).total_cmp(&longest(&self.times[*b])).then(b.cmp(a))
        });
        let Some(busiest) = busiest else { return false };
        let uses_busiest = |schedule: &Self, task: usize| {
            let mode = &schedule.tasks[task][schedule.mode_of[task]];
            mode.uses.iter().any(|used| used.machine == busiest)
        };
        let mut swapped = false;
        for task in 0..self.tasks.len() {
            let mut concerned = uses_busiest(self, task);
            for other in 0..self.tasks.len() {
                let (a, b) = (self.mode_of[task], self.mode_of[other]);
                let alike = self.tasks[task].len() == self.tasks[other].len();
                if concerned && a != b && alike && self.try_change(&[(task, b), (other, a)]) {
                    swapped = true;
                    concerned = uses_busiest(self, task);
                }
            }
        }
        swapped
    }

    /// Changes the modes of tasks if that makes the machines of the change less busy.
    fn try_change(&mut self, changes: &[(usize, usize)]) -> bool {
        let tasks = self.tasks;
        let current = |schedule: &Self, task: usize| &tasks[task][schedule.mode_of[task]];
        let mut touched = std::mem::take(&mut self.touched);
        touched.clear();
        for (task, mode) in changes {
            for mode in [current(self, *task), &tasks[*task][*mode]] {
                touched.extend(mode.uses.iter().map(|used| used.machine));
            }
        }
        touched.sort_unstable();
        touched.dedup();
        let before = self.pressure(&touched);
        for (task, _) in changes {
            self.add(current(self, *task), -1.0);
        }
        let mut fits = true;
        for (task, mode) in changes {
            fits &= self.fits(&tasks[*task][*mode]);
            self.add(&tasks[*task][*mode], 1.0);
        }
        let after = self.pressure(&touched);
        self.touched = touched;
        let better = if is_close(after.0, before.0) {
            after.1 < before.1 * (1.0 - PRECISION)
        } else {
            after.0 < before.0
        };
        for (task, mode) in changes {
            if fits && better {
                self.mode_of[*task] = *mode;
            } else {
                self.add(&tasks[*task][*mode], -1.0);
                self.add(current(self, *task), 1.0);
            }
        }
        fits && better
    }
}

fn is_close(a: f64, b: f64) -> bool {
    (a - b).abs() <= PRECISION * a.abs().max(b.abs())
}
