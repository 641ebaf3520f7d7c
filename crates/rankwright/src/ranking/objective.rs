//! What should be small where message timing is known, and how much worse than the best a mapping is.

use std::fmt;
use std::str::FromStr;

use super::{Score, TOLERANCE, counts_as_equal};

/// What should be small.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Objective {
    /// How long messages wait in all.
    Waiting,
    /// When the last message arrives.
    Finish,
    /// How long messages wait, but not for the price of a later end: see [`ObjectiveRule::losses`].
    #[default]
    Balanced,
}

/// The objectives by the names that the command line knows.
pub const OBJECTIVES: [(&str, Objective); 3] = [
    ("waiting", Objective::Waiting),
    ("finish", Objective::Finish),
    ("balanced", Objective::Balanced),
];

/// An objective with what its formula needs to know of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectiveRule {
    /// What should be small.
    pub objective: Objective,
    /// Whether ranks wait for their messages before they send more.
    pub closed_loop: bool,
    /// How many ranks there are.
    pub ranks: usize,
}

/// Floor of the waiting, as a share of the time of all ranks: avoids ratios of numbers near 0.
const WAITING_FLOOR: f64 = 0.01;

/// The power with which an end counts that is later than [`TOLERANCE`] allows.
const LATE_POWER: i32 = 8;

/// How much later an end may be in a closed loop for less waiting: 0.5 %.
const CLOSED_LOOP_FINISH: f64 = 0.005;

impl ObjectiveRule {
    /// How many times worse than the best each mapping is: 1 for the best, else more.
    ///
    /// `w` is the ratio of its waiting to the least. 1 % of the time of all ranks is added to both,
    /// so that next to no waiting is not many times as much as none. `f` is the ratio of its time to
    /// the end to the least. [`Objective::Waiting`] takes `w`, [`Objective::Finish`] takes `f`.
    ///
    /// [`Objective::Balanced`] takes `w (f / 1.02)⁸` in an open loop, or `w` where `f` is at most
    /// 1.02: an end within 2 % of the earliest costs nothing, and every percent beyond must be paid
    /// for by about 8 % less waiting. In a closed loop waiting is part of the time to the end, so `f`
    /// decides, and `w` among those that end at almost the same time: `f + 0.005 (1 - 1 / w)`.
    /// [`SmoothObjective`](super::SmoothObjective) is what searches follow instead.
    pub(super) fn losses(&self, scores: &[&Score]) -> Vec<f64> {
        let least = |time: fn(&Score) -> f64| {
            scores.iter().map(|score| time(score)).fold(f64::INFINITY, f64::min)
        };
        let (least_waiting, least_finish) = (least(waiting), least(finish));
        let floor = WAITING_FLOOR * self.ranks as f64 * least_finish;
        let loss = |score: &&Score| {
            let w = ratio(waiting(score) + floor, least_waiting + floor);
            let f = ratio(finish(score), least_finish);
            match (self.objective, self.closed_loop) {
                (Objective::Waiting, _) => w,
                (Objective::Finish, _) => f,
                (Objective::Balanced, false) => w * ratio(f, 1.0 + TOLERANCE).powi(LATE_POWER),
                (Objective::Balanced, true) => f + CLOSED_LOOP_FINISH * (1.0 - 1.0 / w),
            }
        };
        let losses: Vec<f64> = scores.iter().map(loss).collect();
        let least = losses.iter().copied().fold(f64::INFINITY, f64::min);
        losses.into_iter().map(|loss| ratio(loss, least)).collect()
    }

    /// What decides between equal losses: the end, or where the end is the objective, the waiting.
    pub(super) fn second(&self, score: &Score) -> f64 {
        match self.objective {
            Objective::Finish => waiting(score),
            Objective::Waiting | Objective::Balanced => finish(score),
        }
    }

    /// Whether a mapping is within [`TOLERANCE`] of another in waiting and in the time to the end.
    pub(super) fn counts_as_equal(&self, other: &Score, best: &Score) -> bool {
        [Objective::Waiting, Objective::Finish].into_iter().all(|objective| {
            let losses = Self { objective, ..*self }.losses(&[best, other]);
            counts_as_equal(losses[1], losses[0])
        })
    }
}

fn waiting(score: &Score) -> f64 {
    score.waiting.map_or(f64::INFINITY, |waiting| waiting.total.0)
}

fn finish(score: &Score) -> f64 {
    score.finish.map_or(f64::INFINITY, |finish| finish.0)
}

/// A ratio to the least; 1 where both are 0.
fn ratio(value: f64, least: f64) -> f64 {
    if value <= least { 1.0 } else { value / least }
}

impl FromStr for Objective {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = OBJECTIVES.iter().find(|(name, _)| *name == text);
        named.map(|(_, objective)| *objective).ok_or_else(|| {
            let names = OBJECTIVES.map(|(name, _)| format!("`{name}`"));
            format!("expected {}", names.join(" or "))
        })
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = OBJECTIVES.iter().find(|(_, objective)| objective == self);
        f.write_str(named.map_or("", |(name, _)| name))
    }
}
