//! Work to machines so that the longest finish is early: longest work first, then moves and swaps
//! while they help; where there is little work, then all ways that could be better.

mod all_ways;

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

    /// How many contexts it takes of devices that have a limit.
    fn contexts(&self, capacities: &[Option<u32>]) -> u64 {
        let limited = self.devices.iter().filter(|(device, ..)| capacities[*device].is_some());
        limited.map(|(_, _, ranks)| u64::from(*ranks)).sum()
    }

    fn longest(&self) -> f64 {
        self.devices.iter().fold(0.0, |most, (_, [out, into], _)| most.max(*out).max(*into))
    }
}

/// Two lengths that differ by less than this share of them are equal.
const PRECISION: f64 = 1e-9;
/// How often all work is gone through at most.
const MOST_ROUNDS: usize = 100;

/// A piece of work that finds no device with room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NoRoom {
    /// Its position in the work.
    pub(super) work: usize,
}

/// The choice of each piece of work. `capacities` are how many ranks each device serves; `known` is a
/// way that there is, if the caller has one: none that is worse is given.
///
/// # Errors
/// If a piece of work finds no device with room.
pub(super) fn assign(
    work: &[Vec<Choice>],
    capacities: &[Option<u32>],
    known: Option<&[usize]>,
) -> Result<Vec<usize>, NoRoom> {
    let shortest =
        |choices: &Vec<Choice>| choices.iter().map(Choice::longest).fold(f64::INFINITY, f64::min);
    let lengths: Vec<f64> = work.iter().map(shortest).collect();
    let mut order: Vec<usize> = (0..work.len()).collect();
    order.sort_by(|a, b| lengths[*b].total_cmp(&lengths[*a]).then(a.cmp(b)));
    let mut state = State {
        work,
        capacities,
        times: vec![[0.0; 2]; capacities.len()],
        ranks: vec![0; capacities.len()],
        taken: vec![0; work.len()],
        concerned: Vec::new(),
    };
    let mut starts: Vec<Vec<usize>> = known.map(<[usize]>::to_vec).into_iter().collect();
    match state.longest_first(&order) {
        Ok(()) => starts.push(state.taken.clone()),
        Err(_) if starts.is_empty() => {
            state.most_ranks_first()?;
            starts.push(state.taken.clone());
        }
        Err(_) => (),
    }
    let mut best: Option<(f64, Vec<usize>)> = None;
    for start in starts {
        state.take(start);
        state.improve();
        let longest = state.longest();
        if best.as_ref().is_none_or(|(least, _)| longest < least * (1.0 - PRECISION)) {
            best = Some((longest, state.taken.clone()));
        }
    }
    if let Some((_, taken)) = best {
        state.take(taken);
    }
    state.all_ways(&order);
    Ok(state.taken)
}

/// What all work has taken so far, and what that asks of the devices.
struct State<'a> {
    work: &'a [Vec<Choice>],
    capacities: &'a [Option<u32>],
    times: Vec<[f64; 2]>,
    ranks: Vec<u32>,
    taken: Vec<usize>,
    /// The devices of a change; kept because there are very many changes.
    concerned: Vec<usize>,
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

    /// Nothing has taken anything.
    fn clear(&mut self) {
        self.times.fill([0.0; 2]);
        self.ranks.fill(0);
    }

    /// What the devices have to do if the work is done so.
    fn take(&mut self, taken: Vec<usize>) {
        self.clear();
        let work = self.work;
        for (choices, taken) in work.iter().zip(&taken) {
            self.put(&choices[*taken], 1.0);
        }
        self.taken = taken;
    }

    /// One piece of work after the other takes the choice after which its devices are busy for the
    /// shortest time, of those that leave contexts to all that come later.
    fn longest_first(&mut self, order: &[usize]) -> Result<(), NoRoom> {
        let (work, capacities) = (self.work, self.capacities);
        let least = |item: &usize| {
            work[*item].iter().map(|choice| choice.contexts(capacities)).min().unwrap_or(0)
        };
        let mut needed: u64 = order.iter().map(least).sum();
        let mut free: u64 = capacities.iter().flatten().map(|most| u64::from(*most)).sum();
        self.clear();
        for item in order {
            needed -= least(item);
            let leaves_enough =
                |choice: &Choice| free >= needed.saturating_add(choice.contexts(capacities));
            let taken = self.best(*item, leaves_enough).ok_or(NoRoom { work: *item })?;
            let choice = &work[*item][taken];
            free -= choice.contexts(capacities);
            self.taken[*item] = taken;
            self.put(choice, 1.0);
        }
        Ok(())
    }

    /// Of all work that of most ranks first takes the choice with the fullest devices: that leaves
    /// room for many ranks at once.
    fn most_ranks_first(&mut self) -> Result<(), NoRoom> {
        let (work, capacities) = (self.work, self.capacities);
        let most = |item: &usize| {
            work[*item].iter().map(|choice| choice.contexts(capacities)).max().unwrap_or(0)
        };
        let mut order: Vec<usize> = (0..work.len()).collect();
        order.sort_by_key(|item| (std::cmp::Reverse(most(item)), *item));
        self.clear();
        for item in order {
            let fullest = |choice: &Choice| {
                let users =
                    choice.devices.iter().map(|(device, ..)| u64::from(self.ranks[*device]));
                (std::cmp::Reverse(choice.contexts(capacities)), users.sum::<u64>())
            };
            let fitting = work[item].iter().enumerate().filter(|(_, choice)| self.fits(choice));
            let best = fitting.rev().max_by_key(|(_, choice)| fullest(choice));
            let (taken, choice) = best.ok_or(NoRoom { work: item })?;
            self.taken[item] = taken;
            self.put(choice, 1.0);
        }
        Ok(())
    }

    /// Moves and swaps while they help.
    fn improve(&mut self) {
        for _ in 0..MOST_ROUNDS {
            let moved = self.moves();
            if !self.swaps() && !moved {
                break;
            }
        }
        self.all_last();
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

    /// The choice after which its devices are busy for the shortest time, of those that fit and may be
    /// taken.
    fn best(&self, item: usize, may_be: impl Fn(&Choice) -> bool) -> Option<usize> {
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
        let choices = self.work[item].iter().enumerate();
        let choices = choices.filter(|(_, choice)| self.fits(choice) && may_be(choice));
        let keyed = choices.map(|(index, choice)| (key(choice), index));
        let less = |a: &(f64, f64, u32, usize), b: &(f64, f64, u32, usize)| {
            let first =
                if nearly(a.0, b.0) { std::cmp::Ordering::Equal } else { a.0.total_cmp(&b.0) };
            first.then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)).then(a.3.cmp(&b.3))
        };
        keyed.min_by(|a, b| less(&a.0, &b.0).then(a.1.cmp(&b.1))).map(|(_, index)| index)
    }

    /// How busy some devices are: the longest time, then the sum of squares.
    fn pressure(&self, devices: &[usize]) -> (f64, f64) {
        let times = || devices.iter().flat_map(|device| self.times[*device]);
        (times().fold(0.0, f64::max), times().map(|time| time * time).sum())
    }

    /// Lets every piece of work move to a choice that makes the devices concerned less busy.
    fn moves(&mut self) -> bool {
        let mut moved = false;
        for item in 0..self.work.len() {
            for other in 0..self.work[item].len() {
                moved |= self.taken[item] != other && self.try_change(&[(item, other)]);
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
            let mut concerned = uses(self, item);
            for other in 0..self.work.len() {
                let (a, b) = (self.taken[item], self.taken[other]);
                let alike = self.work[item].len() == self.work[other].len();
                if concerned && a != b && alike && self.try_change(&[(item, b), (other, a)]) {
                    swapped = true;
                    concerned = uses(self, item);
                }
            }
        }
        swapped
    }

    /// Changes choices if that makes the devices concerned less busy.
    fn try_change(&mut self, changes: &[(usize, usize)]) -> bool {
        let work = self.work;
        let old = |state: &Self, item: usize| &work[item][state.taken[item]];
        let mut concerned = std::mem::take(&mut self.concerned);
        concerned.clear();
        for (item, to) in changes {
            for choice in [old(self, *item), &work[*item][*to]] {
                concerned.extend(choice.devices.iter().map(|(device, ..)| *device));
            }
        }
        concerned.sort_unstable();
        concerned.dedup();
        let before = self.pressure(&concerned);
        for (item, _) in changes {
            self.put(old(self, *item), -1.0);
        }
        let mut fits = true;
        for (item, to) in changes {
            fits &= self.fits(&work[*item][*to]);
            self.put(&work[*item][*to], 1.0);
        }
        let after = self.pressure(&concerned);
        self.concerned = concerned;
        let better = match nearly(after.0, before.0) {
            true => after.1 < before.1 * (1.0 - PRECISION),
            false => after.0 < before.0,
        };
        for (item, to) in changes {
            match fits && better {
                true => self.taken[*item] = *to,
                false => {
                    self.put(&work[*item][*to], -1.0);
                    self.put(old(self, *item), 1.0);
                }
            }
        }
        fits && better
    }
}

fn nearly(a: f64, b: f64) -> bool {
    (a - b).abs() <= PRECISION * a.abs().max(b.abs())
}

#[cfg(test)]
mod tests;
