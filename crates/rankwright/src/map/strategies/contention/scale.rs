//! How what is predicted of a placement becomes one number to search on.

use crate::estimate::RoundTripTimes;
use crate::map::Objective;

/// What a model says of a placement, seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Measure {
    /// Of all messages, with what cores have to do more because of where devices are.
    pub(super) waiting: f64,
    /// Until the last message of the last job arrives.
    pub(super) finish: f64,
    /// A smooth form of `finish`, which also falls with servers that are nearly the busiest
    /// ([`OfferedLoad::finish`](crate::estimate::OfferedLoad::finish)).
    pub(super) smooth: f64,
}

impl Measure {
    /// The same where the rounds of each source take at least so long.
    pub(super) fn or_later(self, trips: RoundTripTimes) -> Self {
        Self {
            finish: self.finish.max(trips.longest.0),
            smooth: (self.smooth.powi(8) + trips.powers).powf(0.125),
            ..self
        }
    }
}

/// How measures become one number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    objective: Objective,
    /// Whether senders wait.
    pub(super) closed: bool,
    /// Whether the end is seen in its smooth form where it is the aim: that shows a way where no step
    /// changes the end itself.
    smooth: bool,
    /// How much a logarithm of the end may grow before that counts as later.
    later: f64,
    /// What counts as 1: the least of all placements that the search begins with, each for itself.
    least: Measure,
}

/// Waiting below this part of the least at the beginning is none.
const NEGLIGIBLE: f64 = 1e-5;
/// How much what is not the aim counts: it decides where the aim does not.
const SIDE: f64 = 0.02;
/// How much a logarithm of the end may grow before that counts as later, and what it costs then.
const LATER: f64 = 0.015;
const LATE: f64 = 20.0;
/// In a closed loop a server that is nearly as busy as the busiest holds others up too, so that the
/// busiest has pauses.
const HELD_UP: f64 = 0.1;

impl Scale {
    pub(super) fn new(objective: Objective, closed: bool, starts: &[Measure]) -> Self {
        let least = |of: fn(&Measure) -> f64| starts.iter().map(of).fold(f64::INFINITY, f64::min);
        let least = Measure {
            waiting: least(|start| start.waiting),
            finish: least(|start| start.finish),
            smooth: least(|start| start.smooth),
        };
        Self { objective, closed, smooth: false, later: LATER, least }
    }

    /// The same for an end that many steps leave as it is.
    pub(super) fn with_smooth_end(self) -> Self {
        Self { smooth: true, ..self }
    }

    /// The same where the end may grow so many times as much before that counts as later.
    pub(super) fn with_patience(self, times: f64) -> Self {
        Self { later: times * self.later, ..self }
    }

    /// What a placement costs: a weighted sum of logarithms, so that a change by a hundredth counts
    /// the same at the beginning and at the end of a search.
    pub(super) fn cost(&self, measure: &Measure) -> f64 {
        let none = NEGLIGIBLE * self.least.waiting + f64::MIN_POSITIVE;
        let waiting = ((measure.waiting.max(0.0) + none) / (self.least.waiting + none)).ln();
        let ratio = |of: fn(&Measure) -> f64| {
            let none = f64::MIN_POSITIVE;
            ((of(measure) + none) / (of(&self.least) + none)).ln()
        };
        let (finish, smooth) = (ratio(|of| of.finish), ratio(|of| of.smooth));
        let end = match (self.smooth, self.closed) {
            (true, _) => smooth,
            (false, true) => finish + HELD_UP * smooth,
            (false, false) => finish,
        };
        match self.objective {
            Objective::Waiting => waiting + SIDE * finish,
            Objective::Balanced if !self.closed => {
                waiting + SIDE * finish + LATE * (finish - self.later).max(0.0)
            }
            Objective::Balanced | Objective::Finish => end + SIDE * waiting,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure(waiting: f64, finish: f64) -> Measure {
        Measure { waiting, finish, smooth: finish }
    }

    #[test]
    fn each_objective_prefers_what_it_names() {
        let starts = [measure(10.0, 5.0), measure(20.0, 4.0)];
        let cost = |objective, closed, waiting, finish| {
            Scale::new(objective, closed, &starts).cost(&measure(waiting, finish))
        };
        let waits_less = |objective, closed| {
            cost(objective, closed, 5.0, 5.0) < cost(objective, closed, 8.0, 4.0)
        };
        assert!(waits_less(Objective::Waiting, false) && waits_less(Objective::Waiting, true));
        assert!(!waits_less(Objective::Finish, false) && !waits_less(Objective::Finish, true));
        assert!(!waits_less(Objective::Balanced, false) && !waits_less(Objective::Balanced, true));
        // Nobody ends later: less waiting wins.
        let balanced = |waiting| cost(Objective::Balanced, false, waiting, 4.0);
        assert!(balanced(7.0) < balanced(8.0) && balanced(0.0).is_finite());
    }

    #[test]
    fn nothing_to_wait_for_costs_nothing() {
        let scale = Scale::new(Objective::Balanced, false, &[measure(0.0, 0.0)]);
        assert_eq!(scale.cost(&measure(0.0, 0.0)), 0.0);
        assert!(scale.cost(&measure(1.0, 1.0)) > 0.0);
    }
}
