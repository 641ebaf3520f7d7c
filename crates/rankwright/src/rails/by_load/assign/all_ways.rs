//! All ways in which little work can be done.

use super::{PRECISION, State};

/// Up to how many pieces of work all ways are tried, and how many steps that may take.
const FEW: usize = 24;
const MOST_STEPS: usize = 20_000;

/// The best way found while all are tried.
struct Found {
    longest: f64,
    taken: Option<Vec<usize>>,
    steps: usize,
}

impl State<'_> {
    /// Tries all ways in which the work that takes time can be done, the longest first, where there
    /// is little of it.
    pub(super) fn all_ways(&mut self, order: &[usize]) {
        let takes_time = |item: &&usize| self.work[**item].iter().any(|c| c.longest() > 0.0);
        let order: Vec<usize> = order.iter().filter(takes_time).copied().collect();
        if order.len() > FEW {
            return;
        }
        let before = self.taken.clone();
        let mut found = Found { longest: self.longest(), taken: None, steps: MOST_STEPS };
        let work = self.work;
        order.iter().for_each(|item| self.put(&work[*item][before[*item]], -1.0));
        self.descend(&order, 0.0, &mut found);
        self.take(found.taken.unwrap_or(before));
    }

    fn descend(&mut self, order: &[usize], longest: f64, found: &mut Found) {
        let Some((&item, rest)) = order.split_first() else {
            found.longest = longest;
            found.taken = Some(self.taken.clone());
            return;
        };
        let work = self.work;
        for (index, choice) in work[item].iter().enumerate() {
            if found.steps == 0 || !self.fits(choice) {
                continue;
            }
            found.steps -= 1;
            self.put(choice, 1.0);
            let times = choice.devices.iter().flat_map(|(device, _, _)| self.times[*device]);
            let longest = times.fold(longest, f64::max);
            if longest < found.longest * (1.0 - PRECISION) {
                self.taken[item] = index;
                self.descend(rest, longest, found);
            }
            self.put(choice, -1.0);
        }
    }
}
