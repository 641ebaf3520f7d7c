//! Branch and bound over the schedules of few tasks.

use super::schedule::{PRECISION, Schedule};

/// Tasks that take time, at most; with more there is no search.
const MAX_TASKS: usize = 24;
/// Modes that are tried, at most.
const MAX_NODES: usize = 20_000;

/// The best schedule of a search.
struct Incumbent {
    /// Seconds.
    makespan: f64,
    /// `None` while no schedule is better than the first.
    mode_of: Option<Vec<usize>>,
    /// Modes that may still be tried.
    nodes: usize,
}

impl Schedule<'_> {
    /// Tries all modes of the tasks that take time, the longest tasks first, where these are few. A
    /// branch ends where its makespan reaches the best one.
    pub(super) fn branch_and_bound(&mut self, longest_first: &[usize]) {
        let takes_time = |task: &&usize| self.tasks[**task].iter().any(|m| m.longest() > 0.0);
        let order: Vec<usize> = longest_first.iter().filter(takes_time).copied().collect();
        if order.len() > MAX_TASKS {
            return;
        }
        let before = self.mode_of.clone();
        let mut best = Incumbent { makespan: self.makespan(), mode_of: None, nodes: MAX_NODES };
        let tasks = self.tasks;
        order.iter().for_each(|task| self.add(&tasks[*task][before[*task]], -1.0));
        self.branch(&order, 0.0, &mut best);
        self.set_modes(best.mode_of.unwrap_or(before));
    }

    /// Tries all modes of the first task, with the makespan of the tasks before it.
    fn branch(&mut self, order: &[usize], makespan: f64, best: &mut Incumbent) {
        let Some((&task, rest)) = order.split_first() else {
            best.makespan = makespan;
            best.mode_of = Some(self.mode_of.clone());
            return;
        };
        let tasks = self.tasks;
        for (index, mode) in tasks[task].iter().enumerate() {
            if best.nodes == 0 || !self.fits(mode) {
                continue;
            }
            best.nodes -= 1;
            self.add(mode, 1.0);
            let times = mode.uses.iter().flat_map(|used| self.times[used.machine]);
            let makespan = times.fold(makespan, f64::max);
            if makespan < best.makespan * (1.0 - PRECISION) {
                self.mode_of[task] = index;
                self.branch(rest, makespan, best);
            }
            self.add(mode, -1.0);
        }
    }
}
