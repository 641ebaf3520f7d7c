//! Messages that share servers at once: each gets its max-min fair share of bytes per second (Bertsekas
//! and Gallager, "Data Networks", section 6.5.2), as TCP connections roughly do.
//!
//! Messages that pass the same servers have the same rate, so they form a class, in which the bytes that
//! each of them has got since the class was made are one number: a message ends when that number
//! reaches what it was at its begin plus the length (virtual time). A server's *level* is the highest
//! rate at which it is not overloaded; a class has the least level of its servers. When a message begins
//! or ends, levels are computed again from its servers outwards, until no level changes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use super::agenda::Agenda;
use crate::sim::time::Time;

/// An event with this bit set is the end of a message of a class.
pub(super) const OF_CLASS: u32 = 1 << 30;

/// Levels that differ by less than this share count as equal.
const SAME: f64 = 1e-6;

/// Most levels that are computed for one change; the rest are computed with the next one.
const MOST_LEVELS: usize = 4096;

/// Identifies a class: the servers that its messages pass, with picoseconds per byte (as bits).
type Route = Box<[(u32, u64)]>;

/// All messages that share servers.
#[derive(Debug)]
pub(super) struct Sharing {
    classes: Vec<Class>,
    by_route: FxHashMap<Route, u32>,
    /// Used while a class is looked up.
    route: Vec<(u32, u64)>,
    /// Index: [`ServerId`](crate::ids::ServerId).
    servers: Vec<Shared>,
    /// Servers whose level has to be computed again.
    dirty: Vec<u32>,
    /// Classes whose rate may have changed.
    changed: Vec<u32>,
    /// Used while a level is computed: by class of the server the rate that its other servers allow,
    /// and the time that it takes of the server per byte of each message.
    limits: Vec<(f64, f64)>,
}

#[derive(Debug)]
struct Class {
    /// The servers, each with picoseconds per byte.
    legs: Vec<(u32, f64)>,
    /// Bytes per picosecond of each message.
    rate: f64,
    /// The bytes that a message which has been there from the begin has got, at `updated`.
    progress: f64,
    updated: Time,
    /// The progress at which each message ends.
    ends: BinaryHeap<Reverse<End>>,
    /// The time of the valid event of this class in the agenda.
    due: Option<Time>,
    is_changed: bool,
}

/// The end of a message: the progress of its class, its number.
#[derive(Debug, Clone, Copy, PartialEq)]
struct End(f64, u32);

impl Eq for End {}

impl PartialOrd for End {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for End {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0).then(self.1.cmp(&other.1))
    }
}

#[derive(Debug, Clone)]
struct Shared {
    /// Bytes per picosecond of each message; infinite if no message is limited here.
    level: f64,
    /// The classes with messages.
    classes: Vec<u32>,
    is_dirty: bool,
}

impl Sharing {
    pub(super) fn new(servers: usize) -> Self {
        let idle = Shared { level: f64::INFINITY, classes: Vec::new(), is_dirty: false };
        Self {
            classes: Vec::new(),
            by_route: FxHashMap::default(),
            route: Vec::new(),
            servers: vec![idle; servers],
            dirty: Vec::new(),
            changed: Vec::new(),
            limits: Vec::new(),
        }
    }

    /// A message of this length begins to pass servers, each with its picoseconds per byte.
    pub(super) fn begin(
        &mut self,
        message: u32,
        bytes: f64,
        legs: &[(u32, f64)],
        now: Time,
        agenda: &mut Agenda,
    ) {
        let number = self.class(legs);
        self.advance(number, now);
        let class = &mut self.classes[number as usize];
        class.ends.push(Reverse(End(class.progress + bytes, message)));
        if class.ends.len() == 1 {
            for (server, _) in legs {
                let classes = &mut self.servers[*server as usize].classes;
                if !classes.contains(&number) {
                    classes.push(number);
                }
            }
        }
        self.change(number, None);
        self.settle(now, agenda);
    }

    /// Takes the messages of a class that end at `now`; none if its event is no longer valid.
    pub(super) fn end(
        &mut self,
        number: u32,
        now: Time,
        ended: &mut Vec<u32>,
        agenda: &mut Agenda,
    ) {
        if self.classes[number as usize].due != Some(now) {
            return;
        }
        self.advance(number, now);
        let class = &mut self.classes[number as usize];
        class.due = None;
        // What is left of a message is less than its share of a picosecond.
        let reached = class.progress + class.rate;
        while let Some(Reverse(End(progress, message))) = class.ends.peek().copied() {
            if progress > reached {
                break;
            }
            class.ends.pop();
            ended.push(message);
        }
        if class.ends.is_empty() {
            (class.rate, class.progress) = (0.0, 0.0);
            for (server, _) in &self.classes[number as usize].legs {
                self.servers[*server as usize].classes.retain(|other| *other != number);
            }
        }
        self.change(number, None);
        self.settle(now, agenda);
    }

    fn class(&mut self, legs: &[(u32, f64)]) -> u32 {
        self.route.clear();
        self.route.extend(legs.iter().map(|(server, cost)| (*server, cost.to_bits())));
        if let Some(number) = self.by_route.get(&self.route[..]) {
            return *number;
        }
        // A message that passes a server several times takes as much more of it.
        let mut sums: Vec<(u32, f64)> = Vec::with_capacity(legs.len());
        for (server, cost) in legs {
            match sums.iter_mut().find(|(other, _)| other == server) {
                Some((_, sum)) => *sum += cost,
                None => sums.push((*server, *cost)),
            }
        }
        let number = self.classes.len() as u32;
        self.classes.push(Class {
            legs: sums,
            rate: 0.0,
            progress: 0.0,
            updated: 0,
            ends: BinaryHeap::new(),
            due: None,
            is_changed: false,
        });
        self.by_route.insert(self.route.as_slice().into(), number);
        number
    }

    /// Brings the progress of a class up to `now`.
    fn advance(&mut self, number: u32, now: Time) {
        let class = &mut self.classes[number as usize];
        class.progress += class.rate * (now - class.updated) as f64;
        class.updated = now;
    }

    /// The number of messages of a class has changed, or the level of one of its servers, `known`.
    fn change(&mut self, number: u32, known: Option<u32>) {
        let class = &mut self.classes[number as usize];
        if !class.is_changed {
            class.is_changed = true;
            self.changed.push(number);
        }
        for (server, _) in &class.legs {
            let state = &mut self.servers[*server as usize];
            if !state.is_dirty && Some(*server) != known {
                state.is_dirty = true;
                self.dirty.push(*server);
            }
        }
    }

    /// Computes levels until none changes, then the rates and the next ends of their classes.
    fn settle(&mut self, now: Time, agenda: &mut Agenda) {
        let mut next = 0;
        while next < self.dirty.len().min(MOST_LEVELS) {
            let server = self.dirty[next];
            next += 1;
            self.servers[server as usize].is_dirty = false;
            self.level(server);
        }
        // The rest stays for the next change.
        self.dirty.drain(..next);
        for place in 0..self.changed.len() {
            let number = self.changed[place];
            self.advance(number, now);
            let rate = self.rate(number, None);
            let class = &mut self.classes[number as usize];
            class.is_changed = false;
            let Some(Reverse(End(progress, _))) = class.ends.peek() else { continue };
            class.rate = rate;
            let left = ((progress - class.progress) / rate).ceil().max(1.0);
            let due = now.saturating_add(left as Time);
            if class.due != Some(due) {
                class.due = Some(due);
                agenda.add(due, OF_CLASS | number);
            }
        }
        self.changed.clear();
    }

    /// The least level of the servers of a class but one, and what one message gets of an idle server.
    fn rate(&self, number: u32, without: Option<u32>) -> f64 {
        let legs = self.classes[number as usize].legs.iter();
        let others = legs.filter(|(server, _)| Some(*server) != without);
        let allowed =
            |(server, cost): &(u32, f64)| self.servers[*server as usize].level.min(1.0 / cost);
        others.map(allowed).fold(f64::INFINITY, f64::min)
    }

    /// Computes the level of a server again; if it has changed, those of its classes' other servers are
    /// computed too.
    fn level(&mut self, server: u32) {
        let mut limits = std::mem::take(&mut self.limits);
        limits.clear();
        let cost_of = |class: &Class| {
            let leg = class.legs.iter().find(|(other, _)| *other == server);
            leg.map_or(0.0, |(_, cost)| *cost)
        };
        for number in &self.servers[server as usize].classes {
            let class = &self.classes[*number as usize];
            let time = cost_of(class) * class.ends.len() as f64;
            limits.push((self.rate(*number, Some(server)), time));
        }
        let level = fair_level(&mut limits);
        self.limits = limits;
        let state = &mut self.servers[server as usize];
        let before = std::mem::replace(&mut state.level, level);
        // Of two infinite levels the difference is no number.
        if level == before || (before.is_finite() && (level - before).abs() <= SAME * before) {
            return;
        }
        let classes = std::mem::take(&mut state.classes);
        for number in &classes {
            // A class that is limited elsewhere does not notice.
            if self.rate(*number, Some(server)) > level.min(before) {
                self.change(*number, Some(server));
            }
        }
        self.servers[server as usize].classes = classes;
    }
}

/// The rate at which classes use a server up: none gets more than its limit. `classes`: limit, and
/// picoseconds per byte of all its messages. Infinite if their limits do not use it up.
fn fair_level(classes: &mut [(f64, f64)]) -> f64 {
    classes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut left = 1.0;
    let mut time: f64 = classes.iter().map(|(_, time)| time).sum();
    for (limit, own) in classes.iter() {
        if left <= limit * time {
            return left / time;
        }
        left -= limit * own;
        time -= own;
    }
    f64::INFINITY
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Bytes per picosecond of messages by progressive filling: all rates grow until a server is used
    /// up, then those of the others. Every server passes one byte per picosecond.
    fn filled(routes: &[Vec<u32>], servers: usize) -> Vec<f64> {
        let mut rates = vec![None; routes.len()];
        while rates.iter().any(Option::is_none) {
            let level_of = |server: usize| {
                let passes = |route: &&Vec<u32>| route.contains(&(server as u32));
                let here = routes.iter().zip(&rates).filter(|(route, _)| passes(route));
                let used: f64 = here.clone().filter_map(|(_, rate)| *rate).sum();
                let open = here.filter(|(_, rate)| rate.is_none()).count();
                if open > 0 { (1.0 - used) / open as f64 } else { f64::INFINITY }
            };
            let levels: Vec<f64> = (0..servers).map(level_of).collect();
            let least = levels.iter().copied().fold(f64::INFINITY, f64::min);
            for (route, rate) in routes.iter().zip(&mut rates) {
                let is_full = |server: &u32| levels[*server as usize] <= least * (1.0 + 1e-12);
                if rate.is_none() && route.iter().any(is_full) {
                    *rate = Some(least);
                }
            }
        }
        rates.into_iter().flatten().collect()
    }

    proptest! {
        #[test]
        fn rates_are_those_of_progressive_filling(
            routes in prop::collection::vec(
                prop::collection::btree_set(0_u32..8, 1..4).prop_map(|set| set.into_iter().collect::<Vec<u32>>()),
                1..12,
            ),
        ) {
            let (mut sharing, mut agenda) = (Sharing::new(8), Agenda::default());
            for (number, route) in (0..).zip(&routes) {
                let legs: Vec<(u32, f64)> = route.iter().map(|server| (*server, 1.0)).collect();
                sharing.begin(number, 1e6, &legs, 0, &mut agenda);
            }
            for (route, expected) in routes.iter().zip(filled(&routes, 8)) {
                let key: Route = route.iter().map(|server| (*server, 1.0_f64.to_bits())).collect();
                let rate = sharing.classes[sharing.by_route[&key] as usize].rate;
                prop_assert!((rate / expected - 1.0).abs() < 1e-4, "{} {}", rate, expected);
            }
        }
    }

    #[test]
    fn a_message_alone_gets_all_and_two_get_half_each() {
        let (mut sharing, mut agenda, mut ended) = (Sharing::new(3), Agenda::default(), Vec::new());
        let legs = |servers: [u32; 2]| servers.map(|server| (server, 2.0));
        sharing.begin(1, 1000.0, &legs([0, 1]), 0, &mut agenda);
        // Half of the first is there; the second passes one server of it.
        sharing.begin(2, 1000.0, &legs([0, 2]), 1000, &mut agenda);
        let mut ends = Vec::new();
        while let Some((now, event)) = agenda.first() {
            agenda.replace_first(None);
            sharing.end(event & !OF_CLASS, now, &mut ended, &mut agenda);
            ends.extend(ended.drain(..).map(|message| (now, message)));
        }
        assert_eq!(ends, [(3000, 1), (4000, 2)]);
    }
}
