//! Work to machines so that the longest finish is early: longest work first, then moves and swaps
//! while they help; where there is little work, then all ways that could be better.

/// A way to do a piece of work: how long it keeps which devices busy.
#[derive(Debug, Clone, Default)]
pub(super) struct Choice {
    /// Device, time for what goes out and what comes in, and how many ranks use it; ascending.
    devices: Vec<(usize, [f64; 2], u32)>,
    /// How far the devices are; of equals the nearer is taken.
    pub(super) distance: f64,
}

impl Choice {
    pub(super) fn add(&mut self, device: usize, times: [f64; 2]) {
        match self.devices.binary_search_by_key(&device, |(known, _, _)| *known) {
            Ok(index) => {
                let (_, known, ranks) = &mut self.devices[index];
                *known = [known[0] + times[0], known[1] + times[1]];
                *ranks += 1;
            }
            Err(index) => self.devices.insert(index, (device, times, 1)),
        }
    }

    fn longest(&self) -> f64 {
        self.devices.iter().fold(0.0, |most, (_, [out, into], _)| most.max(*out).max(*into))
    }
}

/// Two lengths that differ by less than this share of them are equal.
const PRECISION: f64 = 1e-9;
/// How often all work is gone through at most.
const MOST_ROUNDS: usize = 100;
/// Up to how many pieces of work all ways are tried, and how many steps that may take.
const FEW: usize = 24;
const MOST_STEPS: usize = 20_000;

/// The choice of each piece of work; `None` if the devices cannot take all of it. `capacities` are how
/// many ranks each device serves.
pub(super) fn assign(work: &[Vec<Choice>], capacities: &[Option<u32>]) -> Option<Vec<usize>> {
    let length =
        |item: &usize| work[*item].iter().map(Choice::longest).fold(f64::INFINITY, f64::min);
    let mut order: Vec<usize> = (0..work.len()).collect();
    order.sort_by(|a, b| length(b).total_cmp(&length(a)).then(a.cmp(b)));
    let mut state = State {
        work,
        capacities,
        times: vec![[0.0; 2]; capacities.len()],
        ranks: vec![0; capacities.len()],
        taken: vec![0; work.len()],
    };
    for &item in &order {
        let taken = state.best(item)?;
        state.taken[item] = taken;
        state.put(&work[item][taken], 1.0);
    }
    for _ in 0..MOST_ROUNDS {
        let moved = state.moves();
        if !state.swaps() && !moved {
            break;
        }
    }
    state.all_last();
    state.all_ways(&order);
    Some(state.taken)
}

/// The best way found while all are tried.
struct Found {
    longest: f64,
    taken: Option<Vec<usize>>,
    steps: usize,
}

struct State<'a> {
    work: &'a [Vec<Choice>],
    capacities: &'a [Option<u32>],
    times: Vec<[f64; 2]>,
    ranks: Vec<u32>,
    taken: Vec<usize>,
}

impl State<'_> {
    /// Adds what a choice needs, or takes it away with `sign` -1.
    fn put(&mut self, choice: &Choice, sign: f64) {
        for (device, [out, into], ranks) in &choice.devices {
            let times = &mut self.times[*device];
            *times = [times[0] + sign * out, times[1] + sign * into];
            let known = &mut self.ranks[*device];
            *known = if sign > 0.0 { *known + ranks } else { *known - ranks };
        }
    }

    fn fits(&self, choice: &Choice) -> bool {
        choice.devices.iter().all(|(device, _, ranks)| {
            self.capacities[*device].is_none_or(|most| self.ranks[*device] + ranks <= most)
        })
    }

    /// The longest time of a device.
    fn longest(&self) -> f64 {
        self.times.iter().flatten().fold(0.0, |most, time| most.max(*time))
    }

    /// What the devices have to do if the work is done so.
    fn take(&mut self, taken: Vec<usize>) {
        self.times.fill([0.0; 2]);
        self.ranks.fill(0);
        self.taken = taken;
        let work = self.work;
        for (item, taken) in self.taken.clone().into_iter().enumerate() {
            self.put(&work[item][taken], 1.0);
        }
    }

    /// Lets all work take its last choice, all devices where there is such a choice, if that is better.
    fn all_last(&mut self) {
        let (before, longest) = (self.taken.clone(), self.longest());
        self.take(self.work.iter().map(|choices| choices.len() - 1).collect());
        let fits = self.ranks.iter().zip(self.capacities);
        let fits = fits.into_iter().all(|(ranks, most)| most.is_none_or(|most| *ranks <= most));
        if !fits || self.longest() >= longest * (1.0 - PRECISION) {
            self.take(before);
        }
    }

    /// Tries all ways in which the work that takes time can be done, the longest first, where there
    /// is little of it.
    fn all_ways(&mut self, order: &[usize]) {
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

    /// The choice after which its devices are busy for the shortest time.
    fn best(&self, item: usize) -> Option<usize> {
        let key = |choice: &Choice| {
            let after = choice.devices.iter().fold(0.0_f64, |most, (device, times, _)| {
                let known = self.times[*device];
                most.max(known[0] + times[0]).max(known[1] + times[1])
            });
            // What sends nothing goes to a near device that few use.
            let after = if choice.longest() > 0.0 { after } else { 0.0 };
            let users = choice.devices.iter().map(|(device, _, _)| self.ranks[*device]).max();
            (after, choice.distance, users.unwrap_or(0), choice.devices.len())
        };
        let choices = self.work[item].iter().enumerate().filter(|(_, choice)| self.fits(choice));
        let keyed = choices.map(|(index, choice)| (key(choice), index));
        let less = |a: &(f64, f64, u32, usize), b: &(f64, f64, u32, usize)| {
            let first =
                if nearly(a.0, b.0) { std::cmp::Ordering::Equal } else { a.0.total_cmp(&b.0) };
            first.then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)).then(a.3.cmp(&b.3))
        };
        keyed.min_by(|a, b| less(&a.0, &b.0).then(a.1.cmp(&b.1))).map(|(_, index)| index)
    }

    /// How busy some devices are: the longest time, then the sum of squares.
    fn pressure(&self, choices: &[&Choice]) -> (f64, f64) {
        let mut devices: Vec<usize> = choices
            .iter()
            .flat_map(|choice| &choice.devices)
            .map(|(device, _, _)| *device)
            .collect();
        devices.sort_unstable();
        devices.dedup();
        let times = || devices.iter().flat_map(|device| self.times[*device]);
        (times().fold(0.0, f64::max), times().map(|time| time * time).sum())
    }

    /// Lets every piece of work move to a choice that makes the devices concerned less busy.
    fn moves(&mut self) -> bool {
        let mut moved = false;
        for item in 0..self.work.len() {
            for other in 0..self.work[item].len() {
                moved |= self.try_change(&[(item, other)]);
            }
        }
        moved
    }

    /// Lets the work of the busiest device swap its choice with other work that has the same ones.
    fn swaps(&mut self) -> bool {
        let longest = |times: &[f64; 2]| times[0].max(times[1]);
        let busiest = (0..self.times.len()).max_by(|a, b| {
            longest(&self.times[*a]).total_cmp(&longest(&self.times[*b])).then(b.cmp(a))
        });
        let Some(busiest) = busiest else { return false };
        let uses = |state: &Self, item: usize| {
            let devices = &state.work[item][state.taken[item]].devices;
            devices.iter().any(|(device, _, _)| *device == busiest)
        };
        let mut swapped = false;
        for item in 0..self.work.len() {
            for other in 0..self.work.len() {
                let (a, b) = (self.taken[item], self.taken[other]);
                let alike = self.work[item].len() == self.work[other].len();
                if a != b && alike && uses(self, item) {
                    swapped |= self.try_change(&[(item, b), (other, a)]);
                }
            }
        }
        swapped
    }

    /// Changes choices if that makes the devices concerned less busy.
    fn try_change(&mut self, changes: &[(usize, usize)]) -> bool {
        let work = self.work;
        if changes.iter().all(|(item, to)| self.taken[*item] == *to) {
            return false;
        }
        let old: Vec<&Choice> =
            changes.iter().map(|(item, _)| &work[*item][self.taken[*item]]).collect();
        let new: Vec<&Choice> = changes.iter().map(|(item, to)| &work[*item][*to]).collect();
        let concerned: Vec<&Choice> = old.iter().chain(&new).copied().collect();
        let before = self.pressure(&concerned);
        old.iter().for_each(|choice| self.put(choice, -1.0));
        let mut fits = true;
        for choice in &new {
            fits &= self.fits(choice);
            self.put(choice, 1.0);
        }
        let after = self.pressure(&concerned);
        let better = match nearly(after.0, before.0) {
            true => after.1 < before.1 * (1.0 - PRECISION),
            false => after.0 < before.0,
        };
        if fits && better {
            changes.iter().for_each(|(item, to)| self.taken[*item] = *to);
            return true;
        }
        new.iter().for_each(|choice| self.put(choice, -1.0));
        old.iter().for_each(|choice| self.put(choice, 1.0));
        false
    }
}

fn nearly(a: f64, b: f64) -> bool {
    (a - b).abs() <= PRECISION * a.abs().max(b.abs())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn choice(device: usize, out: f64, into: f64) -> Choice {
        let mut choice = Choice::default();
        choice.add(device, [out, into]);
        choice
    }

    fn longest(work: &[Vec<Choice>], devices: usize, taken: &[usize]) -> f64 {
        let mut times = vec![[0.0_f64; 2]; devices];
        for (choices, taken) in work.iter().zip(taken) {
            for (device, [out, into], _) in &choices[*taken].devices {
                times[*device] = [times[*device][0] + out, times[*device][1] + into];
            }
        }
        times.iter().flatten().fold(0.0, |most, time| most.max(*time))
    }

    #[test]
    fn devices_take_no_more_ranks_than_they_serve() {
        let work = vec![vec![choice(0, 1.0, 0.0), choice(1, 5.0, 0.0)]; 3];
        assert_eq!(assign(&work, &[Some(1), Some(2)]), Some(vec![0, 1, 1]));
        assert_eq!(assign(&work, &[Some(1), Some(1)]), None);
    }

    proptest! {
        #[test]
        fn answers_are_the_best_there_is_where_there_is_little_work(
            times in prop::collection::vec((0.0_f64..10.0, 0.0_f64..10.0, 0_usize..3), 1..8),
        ) {
            // Each piece of work is beside one of three devices; through the others it takes longer.
            let work: Vec<Vec<Choice>> = times.iter().map(|(out, into, near)| {
                let factor = |device| if device == *near { 1.0 } else { 1.3 };
                (0..3).map(|device| choice(device, out * factor(device), into * factor(device))).collect()
            }).collect();
            let ours = longest(&work, 3, &assign(&work, &[None; 3]).unwrap());
            let count = 3_usize.pow(u32::try_from(work.len()).unwrap());
            let of = |mut code: usize| {
                let taken: Vec<usize> = work.iter().map(|_| { let d = code % 3; code /= 3; d }).collect();
                longest(&work, 3, &taken)
            };
            let best = (0..count).map(of).fold(f64::INFINITY, f64::min);
            prop_assert!(ours <= best * (1.0 + 1e-6) + 1e-9, "{ours} against {best}");
        }
    }
}
