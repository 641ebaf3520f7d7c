//! What a placement is judged by where the jobs say when they send.

use std::fmt;
use std::str::FromStr;

/// What should be small.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Objective {
    /// How long messages wait in all.
    Waiting,
    /// When the last message arrives.
    Finish,
    /// How long messages wait, but not for the price of a later end: see [`Criterion::losses`].
    #[default]
    Balanced,
}

/// What a placement costs in time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cost {
    /// Waiting of all messages at all servers, in seconds.
    pub waiting: f64,
    /// When the last message arrives, in seconds.
    pub finish: f64,
}

/// By what placements of a workload are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Criterion {
    /// What should be small.
    pub objective: Objective,
    /// Whether ranks wait for their messages before they send more.
    pub closed_loop: bool,
    /// How many ranks there are.
    pub ranks: usize,
}

/// The objectives by the names that the command line knows.
pub const OBJECTIVES: [(&str, Objective); 3] = [
    ("waiting", Objective::Waiting),
    ("finish", Objective::Finish),
    ("balanced", Objective::Balanced),
];

/// Times to the end that differ by at most this share count as equal: 2 %.
pub const FINISH_TOLERANCE: f64 = 0.02;

/// Waiting up to this share of the time of all ranks hardly counts: 1 %.
const HARDLY: f64 = 0.01;

/// The power with which an end that is too late counts.
const LATE: i32 = 8;

/// How much later an end may be in a closed loop for less waiting: 0.5 %.
const ALMOST: f64 = 0.005;

impl Criterion {
    /// How many times worse than the best each placement is: 1 for the best, else more.
    ///
    /// `w` is how many times as long messages wait as under the placement where they wait least. To
    /// both 1 % of the time of all ranks is added, so that next to nothing is not many times as long
    /// as nothing. `f` is how many times as long the run takes as under the placement where it takes
    /// least. [`Objective::Waiting`] takes `w`, [`Objective::Finish`] takes `f`.
    ///
    /// [`Objective::Balanced`] takes `w` times `(f / 1.02)⁸` in an open loop, or `w` where `f` is at
    /// most 1.02: an end within 2 % of the earliest costs nothing, and every percent beyond must be
    /// paid for by about 8 % less waiting. In a closed loop waiting is part of the time to the end, so
    /// `f` decides, and `w` among those that end at almost the same time: `f + 0.005 (1 - 1 / w)`.
    #[must_use]
    pub fn losses(&self, costs: &[Cost]) -> Vec<f64> {
        let least = |of: fn(&Cost) -> f64| costs.iter().map(of).fold(f64::INFINITY, f64::min);
        let (waiting, finish) = (least(|cost| cost.waiting), least(|cost| cost.finish));
        let hardly = HARDLY * self.ranks as f64 * finish;
        let loss = |cost: &Cost| {
            let w = times(cost.waiting + hardly, waiting + hardly);
            let f = times(cost.finish, finish);
            match (self.objective, self.closed_loop) {
                (Objective::Waiting, _) => w,
                (Objective::Finish, _) => f,
                (Objective::Balanced, false) => w * times(f, 1.0 + FINISH_TOLERANCE).powi(LATE),
                (Objective::Balanced, true) => f + ALMOST * (1.0 - 1.0 / w),
            }
        };
        let losses: Vec<f64> = costs.iter().map(loss).collect();
        let least = losses.iter().copied().fold(f64::INFINITY, f64::min);
        losses.into_iter().map(|loss| times(loss, least)).collect()
    }

    /// The position of the best placement: the one with the least loss; of equals, the one that ends
    /// first, or where the end decides, the one whose messages wait least; of equals, the first.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn best(&self, costs: &[Cost]) -> usize {
        let losses = self.losses(costs);
        let second = |at: usize| match self.objective {
            Objective::Finish => costs[at].waiting,
            Objective::Waiting | Objective::Balanced => costs[at].finish,
        };
        let order = |a: &usize, b: &usize| {
            losses[*a].total_cmp(&losses[*b]).then(second(*a).total_cmp(&second(*b)))
        };
        (0..costs.len()).min_by(order).expect("at least one placement")
    }
}

/// A quotient of two times; 1 where both are nothing.
fn times(value: f64, least: f64) -> f64 {
    if value <= least { 1.0 } else { value / least }
}

impl FromStr for Objective {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = OBJECTIVES.iter().find(|(name, _)| *name == text);
        found.map(|(_, objective)| *objective).ok_or_else(|| {
            let names = OBJECTIVES.map(|(name, _)| format!("`{name}`"));
            format!("expected {}", names.join(" or "))
        })
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = OBJECTIVES.iter().find(|(_, objective)| objective == self);
        f.write_str(found.map_or("", |(name, _)| name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(of: &[(f64, f64)]) -> Vec<Cost> {
        of.iter().map(|&(waiting, finish)| Cost { waiting, finish }).collect()
    }

    fn best(objective: Objective, closed_loop: bool, of: &[(f64, f64)]) -> usize {
        Criterion { objective, closed_loop, ranks: 10 }.best(&costs(of))
    }

    #[test]
    fn the_least_waiting_wins_unless_the_end_is_late() {
        let balanced = |of: &[(f64, f64)]| best(Objective::Balanced, false, of);
        assert_eq!(balanced(&[(100.0, 10.0), (99.0, 10.1)]), 1);
        // An end 10 % later is worth half the waiting, but not three quarters of it.
        assert_eq!(balanced(&[(100.0, 10.0), (75.0, 11.0)]), 0);
        assert_eq!(balanced(&[(100.0, 10.0), (50.0, 11.0)]), 1);
        // Next to no waiting is as good as none.
        assert_eq!(balanced(&[(0.001, 10.0), (0.0, 11.0)]), 0);
        assert_eq!(balanced(&[(0.001, 10.0), (0.0, 10.1)]), 1);
        assert_eq!(best(Objective::Waiting, false, &[(100.0, 10.0), (99.0, 11.0)]), 1);
        assert_eq!(best(Objective::Finish, false, &[(100.0, 10.0), (9.0, 10.1)]), 0);
        assert_eq!(best(Objective::Finish, true, &[(100.0, 10.0), (9.0, 10.0)]), 1);
    }

    #[test]
    fn in_a_closed_loop_the_end_decides() {
        let balanced = |of: &[(f64, f64)]| best(Objective::Balanced, true, of);
        assert_eq!(balanced(&[(100.0, 10.0), (50.0, 10.1)]), 0);
        assert_eq!(balanced(&[(100.0, 10.0), (50.0, 10.001)]), 1);
        assert_eq!(balanced(&[(100.0, 10.0), (100.0, 9.999)]), 1);
    }

    #[test]
    fn nothing_is_not_worse_than_nothing() {
        let none = costs(&[(0.0, 0.0), (0.0, 0.0)]);
        for (name, objective) in OBJECTIVES {
            for closed_loop in [false, true] {
                let criterion = Criterion { objective, closed_loop, ranks: 4 };
                assert_eq!(criterion.losses(&none), [1.0, 1.0], "{name}");
                assert_eq!(criterion.best(&none), 0);
            }
            assert_eq!(name.parse(), Ok(objective));
            assert_eq!(objective.to_string(), name);
        }
        assert!("both".parse::<Objective>().is_err());
    }
}
