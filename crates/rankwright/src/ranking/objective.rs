//! The objective for workloads with message timing, and the loss of a mapping against the best.

use std::fmt;
use std::str::FromStr;

use super::{Score, TOLERANCE, counts_as_equal};

/// What is minimised.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Objective {
    /// The total waiting of messages.
    Waiting,
    /// The arrival of the last message.
    Finish,
    /// The total waiting, but not at the cost of a later finish: see [`ObjectiveRule`].
    #[default]
    Balanced,
}

/// The objectives by their names on the command line.
pub const OBJECTIVES: [(&str, Objective); 3] = [
    ("waiting", Objective::Waiting),
    ("finish", Objective::Finish),
    ("balanced", Objective::Balanced),
];

/// An objective with the parameters of its formula, the loss of a mapping.
///
/// `w` is the ratio of its waiting to the least waiting. 1 % of the time of all ranks is added to
/// both, so that tiny waiting is not many times no waiting. `f` is the ratio of its finish to the
/// earliest finish. [`Objective::Waiting`] uses `w`, [`Objective::Finish`] uses `f`.
///
/// [`Objective::Balanced`] uses `w (f / 1.02)⁸` in an open loop, or `w` if `f` is at most 1.02: a
/// finish within 2 % of the earliest costs nothing, and each percent beyond must be paid for by
/// about 8 % less waiting. In a closed loop waiting is part of the time to the finish, so `f`
/// decides, and `w` between mappings that finish at almost the same time: `f + 0.005 (1 - 1 / w)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectiveRule {
    /// What is minimised.
    pub objective: Objective,
    /// Whether ranks wait for their messages before they send more.
    pub closed_loop: bool,
    /// Number of ranks.
    pub ranks: usize,
}

/// Added to the waiting, as a share of the time of all ranks: avoids ratios of numbers near 0.
const WAITING_FLOOR: f64 = 0.01;

/// The power of the finish where it is later than [`TOLERANCE`] allows.
const LATE_POWER: i32 = 8;

/// The largest delay of the finish in a closed loop for less waiting, as a share: 0.5 %.
pub(crate) const CLOSED_LOOP_FINISH: f64 = 0.005;

impl ObjectiveRule {
    /// By mapping: its loss, that is its ratio to the best; 1 for the best. Searches use
    /// `SmoothObjective` instead.
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

    /// The tie-breaker of equal losses: the finish, or the waiting if the finish is the objective.
    pub(super) fn second(&self, score: &Score) -> f64 {
        match self.objective {
            Objective::Finish => waiting(score),
            Objective::Waiting | Objective::Balanced => finish(score),
        }
    }

    /// Whether a mapping is within [`TOLERANCE`] of another in both waiting and finish.
    pub(super) fn counts_as_equal(&self, other: &Score, best: &Score) -> bool {
        [Objective::Waiting, Objective::Finish].into_iter().all(|objective| {
            let losses = Self { objective, ..*self }.losses(&[best, other]);
            counts_as_equal(losses[1], losses[0])
        })
    }

    /// Whether a mapping finishes so little later than the best that less waiting may decide: in a
    /// closed loop within 0.5 %, in an open loop always.
    pub(super) fn ends_as_early(&self, other: &Score, best: &Score) -> bool {
        !self.closed_loop || finish(other) <= finish(best) * (1.0 + CLOSED_LOOP_FINISH)
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
