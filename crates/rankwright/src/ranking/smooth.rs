//! The objective in the form that simulated annealing minimises.

use super::{Objective, Score};
use crate::units::Seconds;

/// The objective as a smooth cost function for searches.
///
/// [`ObjectiveRule`](super::ObjectiveRule) ranks final mappings. It does not guide a search, which
/// takes millions of small steps: it is constant in the finish within the tolerance, depends only on
/// the latest rank in a closed loop, and its ratios change whenever the best mapping does. The cost
/// function therefore sums logarithms of ratios to fixed numbers, gives the other metric a small weight
/// for where the objective is constant (`SIDE_WEIGHT`), and penalises a later finish by a slope that
/// begins a little below the tolerance (`LATE_FROM`, `LATE_SLOPE`), so that a finish which the
/// fluid accepts is also accepted by the simulation that ranks. A test of the strategy `contention`
/// checks how often both order two mappings alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SmoothObjective {
    objective: Objective,
    closed_loop: bool,
    /// Whether the smooth form of the finish replaces the finish as the objective: it gives a direction
    /// where single steps do not change the finish.
    smooth_end: bool,
    /// The growth of the logarithm of the finish from which it counts as later.
    late_from: f64,
    /// The denominators of the ratios.
    least: Least,
}

/// The least value of each number over the starting mappings of the search, seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Least {
    waiting: f64,
    finish: f64,
    smooth_finish: f64,
}

/// Waiting below this share of the least counts as 0.
const NEGLIGIBLE: f64 = 1e-5;

/// The weight of the metric that is not the objective.
const SIDE_WEIGHT: f64 = 0.02;

/// The growth of the logarithm of the finish from which it counts as later: three quarters of
/// [`TOLERANCE`](super::TOLERANCE), because the fluid is not exact.
const LATE_FROM: f64 = 0.015;

/// The cost per unit of the logarithm of the finish beyond `LATE_FROM`. Steeper than the power of the
/// objective, 8, because later steps seldom make up for a later finish.
const LATE_SLOPE: f64 = 20.0;

/// The weight of the smooth finish beside the finish in a closed loop, where servers that are nearly
/// the busiest also delay ranks, so that the busiest is idle at times.
const HELD_UP: f64 = 0.1;

impl SmoothObjective {
    /// The objective relative to the mappings that a search starts from.
    #[must_use]
    pub fn new(objective: Objective, closed_loop: bool, starts: &[Score]) -> Self {
        let least = |time: fn(&Score) -> f64| starts.iter().map(time).fold(f64::INFINITY, f64::min);
        let least = Least {
            waiting: least(waiting),
            finish: least(finish),
            smooth_finish: least(smooth_finish),
        };
        Self { objective, closed_loop, smooth_end: false, late_from: LATE_FROM, least }
    }

    /// The objective for an evaluation whose finish many steps leave unchanged.
    #[must_use]
    pub(crate) fn with_smooth_end(self) -> Self {
        Self { smooth_end: true, ..self }
    }

    /// Multiplies the tolerated increase of the finish by `times`.
    #[must_use]
    pub(crate) fn with_patience(self, times: f64) -> Self {
        Self { late_from: times * self.late_from, ..self }
    }

    /// The cost, to be minimised: a weighted sum of logarithms, so that a change by 1 % counts the same
    /// at the beginning and at the end of a search.
    #[must_use]
    pub fn cost(&self, score: &Score) -> f64 {
        let none = NEGLIGIBLE * self.least.waiting + f64::MIN_POSITIVE;
        let waiting = ((waiting(score).max(0.0) + none) / (self.least.waiting + none)).ln();
        let log_ratio = |value: f64, least: f64| {
            let none = f64::MIN_POSITIVE;
            ((value + none) / (least + none)).ln()
        };
        let finish = log_ratio(finish(score), self.least.finish);
        let smooth = log_ratio(smooth_finish(score), self.least.smooth_finish);
        let end = match (self.smooth_end, self.closed_loop) {
            (true, _) => smooth,
            (false, true) => finish + HELD_UP * smooth,
            (false, false) => finish,
        };
        match self.objective {
            Objective::Waiting => waiting + SIDE_WEIGHT * finish,
            Objective::Balanced if !self.closed_loop => {
                let late = (finish - self.late_from).max(0.0);
                waiting + SIDE_WEIGHT * finish + LATE_SLOPE * late
            }
            Objective::Balanced | Objective::Finish => end + SIDE_WEIGHT * waiting,
        }
    }
}

fn waiting(score: &Score) -> f64 {
    score.total_waiting().0
}

fn finish(score: &Score) -> f64 {
    score.last_arrival().0
}

fn smooth_finish(score: &Score) -> f64 {
    score.smooth_finish.map_or(0.0, |Seconds(finish)| finish)
}

#[cfg(test)]
mod tests {
    use super::super::Waiting;
    use super::*;

    fn score(waiting: f64, finish: f64) -> Score {
        let waiting = Waiting { total: Seconds(waiting), ..Waiting::default() };
        let finish = Some(Seconds(finish));
        Score { waiting: Some(waiting), finish, smooth_finish: finish, ..Score::default() }
    }

    #[test]
    fn each_objective_prefers_what_it_names() {
        let starts = [score(10.0, 5.0), score(20.0, 4.0)];
        let cost = |objective, closed_loop, waiting, finish| {
            SmoothObjective::new(objective, closed_loop, &starts).cost(&score(waiting, finish))
        };
        let waits_less = |objective, closed_loop| {
            cost(objective, closed_loop, 5.0, 5.0) < cost(objective, closed_loop, 8.0, 4.0)
        };
        assert!(waits_less(Objective::Waiting, false) && waits_less(Objective::Waiting, true));
        assert!(!waits_less(Objective::Finish, false) && !waits_less(Objective::Finish, true));
        assert!(!waits_less(Objective::Balanced, false) && !waits_less(Objective::Balanced, true));
        // With the same finish less waiting wins.
        let balanced = |waiting| cost(Objective::Balanced, false, waiting, 4.0);
        assert!(balanced(7.0) < balanced(8.0) && balanced(0.0).is_finite());
    }

    #[test]
    fn nothing_to_wait_for_costs_nothing() {
        let smooth = SmoothObjective::new(Objective::Balanced, false, &[score(0.0, 0.0)]);
        assert_eq!(smooth.cost(&score(0.0, 0.0)), 0.0);
        assert!(smooth.cost(&score(1.0, 1.0)) > 0.0);
    }
}
