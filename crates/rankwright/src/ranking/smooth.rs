//! The objective in the form that annealing follows.

use super::{Objective, Score};
use crate::units::Seconds;

/// The objective as one smooth number to search on.
///
/// [`ObjectiveRule`](super::ObjectiveRule) ranks mappings that are finished; a search takes millions
/// of small steps between them, and that formula does not lead it: below a tolerated end it is flat
/// in the end, in a closed loop flat in everything but the latest rank, and its ratios mean something
/// else whenever the best mapping changes. So the search sums logarithms of ratios to fixed numbers,
/// lets the number that is not the objective decide where the objective does not
/// ([`SIDE_WEIGHT`]), and makes a later end a slope that begins a little before the tolerance is used
/// up ([`LATE_FROM`], [`LATE_SLOPE`]): what the fluid takes for early enough is then early enough for
/// the simulation that decides. A test of the strategy `contention` holds how often both order two
/// mappings alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SmoothObjective {
    objective: Objective,
    closed_loop: bool,
    /// Whether the end is seen in its smooth form where it is the objective: that shows a way where
    /// no step changes the end itself.
    smooth_end: bool,
    /// How much the logarithm of the end may grow before that counts as later.
    late_from: f64,
    /// The numbers that count as 1.
    least: Least,
}

/// The least numbers of the mappings that the search starts from, each for itself, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Least {
    waiting: f64,
    finish: f64,
    smooth_finish: f64,
}

/// Waiting below this share of the least counts as none.
const NEGLIGIBLE: f64 = 1e-5;

/// The weight of the number that is not the objective.
const SIDE_WEIGHT: f64 = 0.02;

/// How much the logarithm of the end may grow before that counts as later. Three quarters of
/// [`TOLERANCE`](super::TOLERANCE): the fluid is not exact.
const LATE_FROM: f64 = 0.015;

/// What the logarithm of the end costs beyond [`LATE_FROM`]. Steeper than the power of the objective,
/// 8, because a later end is seldom made good by later steps.
const LATE_SLOPE: f64 = 20.0;

/// In a closed loop a server that is nearly as busy as the busiest holds others up too, so that the
/// busiest has pauses: the weight of the smooth end beside the end.
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

    /// For an evaluation whose end many steps leave as it is.
    #[must_use]
    pub fn with_smooth_end(self) -> Self {
        Self { smooth_end: true, ..self }
    }

    /// Multiplies the tolerated increase of the end by `times`.
    #[must_use]
    pub fn with_patience(self, times: f64) -> Self {
        Self { late_from: times * self.late_from, ..self }
    }

    /// A weighted sum of logarithms, so that a change by a hundredth counts as much at the end of a
    /// search as at its beginning. The least is the best.
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
        // With equal ends less waiting wins.
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
