//! The rules by which scores are compared.

use std::cmp::Ordering;

use super::{ObjectiveRule, Score, SmoothObjective, counts_as_equal};

/// The rule by which scores are compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule {
    /// With message timing: the least loss by the objective. Equal losses are ordered by finish, or by
    /// waiting if the finish is the objective. The launcher's default wins if its waiting and its
    /// finish count as equal to those of the best; in a closed loop the finish must be within 0.5 %.
    Objective(ObjectiveRule),
    /// By traffic alone: the least time of the busiest network device, then the least hop-bytes, each
    /// within [`TOLERANCE`](super::TOLERANCE); between mappings that count as equal, the launcher's default. Mappings on
    /// more nodes than others are not compared: each of their devices carries less, but traffic alone
    /// does not show what that gains.
    Static,
    /// By the estimated run time, then as [`Rule::Static`] for mappings on the same number of nodes,
    /// without a preference for the launcher's default.
    RunTime,
    /// By the estimated run time within [`TOLERANCE`](super::TOLERANCE), then by node-hours.
    Fastest,
    /// By node-hours within [`TOLERANCE`](super::TOLERANCE), then by the run time.
    FewestNodeHours,
    /// By hop-bytes alone, for a graph without other metrics.
    HopBytes,
    /// By the objective of a search.
    Smooth(SmoothObjective),
}

/// A number of a score in a lexicographic comparison.
#[derive(Debug, Clone, Copy)]
enum Key {
    Finish,
    NodeHours,
    BusiestNic,
    HopBytes,
}

/// How close a number must be to the least to count as equal.
#[derive(Debug, Clone, Copy)]
enum Ties {
    WithinTolerance,
    Exact,
}

/// The compared indices, the best first; the losses of all scores; and the indices that count as equal
/// to the best.
pub(super) type Order = (Vec<usize>, Vec<f64>, Vec<usize>);

impl Rule {
    pub(super) fn order(&self, scores: &[Score], compared: &[usize]) -> Order {
        match self {
            Self::Objective(rule) => by_objective(rule, scores, compared),
            Self::Smooth(smooth) => by_smooth_objective(smooth, scores, compared),
            Self::Static
            | Self::RunTime
            | Self::Fastest
            | Self::FewestNodeHours
            | Self::HopBytes => lexicographic(self.keys(), *self == Self::Static, scores, compared),
        }
    }

    fn keys(&self) -> &'static [(Key, Ties)] {
        use Key::{BusiestNic, Finish, HopBytes, NodeHours};
        use Ties::{Exact, WithinTolerance};
        match self {
            Self::Static => &[(BusiestNic, WithinTolerance), (HopBytes, WithinTolerance)],
            Self::RunTime => &[
                (Finish, WithinTolerance),
                (BusiestNic, WithinTolerance),
                (HopBytes, WithinTolerance),
            ],
            Self::Fastest => &[(Finish, WithinTolerance), (NodeHours, Exact)],
            Self::FewestNodeHours => &[(NodeHours, WithinTolerance), (Finish, Exact)],
            Self::HopBytes => &[(HopBytes, Exact)],
            Self::Objective(_) | Self::Smooth(_) => &[],
        }
    }
}

fn by_objective(rule: &ObjectiveRule, scores: &[Score], compared: &[usize]) -> Order {
    let those: Vec<&Score> = compared.iter().map(|at| &scores[*at]).collect();
    let mut losses = vec![f64::INFINITY; scores.len()];
    for (at, loss) in compared.iter().zip(rule.losses(&those)) {
        losses[*at] = loss;
    }
    let mut order = compared.to_vec();
    order.sort_by(|a, b| {
        let second = |at: &usize| rule.second(&scores[*at]);
        losses[*a].total_cmp(&losses[*b]).then(second(a).total_cmp(&second(b)))
    });
    let best = &scores[order[0]];
    let equal = |at: &usize| rule.counts_as_equal(&scores[*at], best);
    let equal: Vec<usize> = compared.iter().copied().filter(equal).collect();
    let is_default = |at: &usize| scores[*at].launcher_default;
    let as_good = |at: &usize| equal.contains(at) && rule.ends_as_early(&scores[*at], best);
    if let Some(default) = order.iter().position(|at| is_default(at) && as_good(at)) {
        order[..=default].rotate_right(1);
    }
    (order, losses, equal)
}

fn by_smooth_objective(smooth: &SmoothObjective, scores: &[Score], compared: &[usize]) -> Order {
    let costs: Vec<f64> = scores.iter().map(|score| smooth.cost(score)).collect();
    let mut order = compared.to_vec();
    order.sort_by(|a, b| costs[*a].total_cmp(&costs[*b]));
    let least = costs[order[0]];
    let mut losses = vec![f64::INFINITY; scores.len()];
    compared.iter().for_each(|at| losses[*at] = (costs[*at] - least).exp());
    let equal = compared.iter().copied().filter(|at| counts_as_equal(losses[*at], 1.0)).collect();
    (order, losses, equal)
}

fn lexicographic(
    keys: &[(Key, Ties)],
    prefer_default: bool,
    scores: &[Score],
    compared: &[usize],
) -> Order {
    let equal = equal_to_least(keys, scores, compared);
    let is_default = |at: &usize| scores[*at].launcher_default;
    let default = equal.iter().copied().find(is_default).filter(|_| prefer_default);
    let mut order = vec![default.unwrap_or(equal[0])];
    let mut rest: Vec<usize> = compared.iter().copied().filter(|at| *at != order[0]).collect();
    while !rest.is_empty() {
        let next = equal_to_least(keys, scores, &rest)[0];
        rest.retain(|at| *at != next);
        order.push(next);
    }
    let first = |at: usize| keys.first().map_or(0.0, |(key, _)| key.value(&scores[at]));
    let least = compared.iter().map(|at| first(*at)).fold(f64::INFINITY, f64::min);
    let mut losses = vec![f64::INFINITY; scores.len()];
    for at in compared {
        losses[*at] = if first(*at) <= least { 1.0 } else { first(*at) / least };
    }
    (order, losses, equal)
}

/// The scores that remain after all but the least were removed, key by key.
fn equal_to_least(keys: &[(Key, Ties)], scores: &[Score], compared: &[usize]) -> Vec<usize> {
    let mut left = compared.to_vec();
    for (key, ties) in keys {
        let least = left.iter().copied().min_by(|a, b| key.compare(&scores[*a], &scores[*b]));
        let Some(least) = least.map(|at| &scores[at]) else { break };
        left.retain(|at| match ties {
            Ties::WithinTolerance => counts_as_equal(key.value(&scores[*at]), key.value(least)),
            Ties::Exact => key.compare(&scores[*at], least).is_eq(),
        });
    }
    left
}

/// Removes the mappings that occupy more nodes than others from `compared`, and returns them.
pub(super) fn on_more_nodes(scores: &[Score], compared: &mut Vec<usize>) -> Vec<usize> {
    let nodes = |at: &usize| scores[*at].nodes;
    let fewest = compared.iter().map(nodes).min().flatten();
    let (few, many): (Vec<usize>, Vec<usize>) =
        compared.iter().copied().partition(|at| nodes(at) == fewest);
    *compared = few;
    many
}

impl Key {
    /// Seconds, hours or bytes; infinite if unknown.
    fn value(self, score: &Score) -> f64 {
        let value = match self {
            Self::Finish => score.finish.map(|time| time.0),
            Self::NodeHours => score.node_hours(),
            Self::BusiestNic => score.busiest_nic.map(|time| time.0),
            Self::HopBytes => score.hop_bytes.map(|bytes| bytes as f64),
        };
        value.unwrap_or(f64::INFINITY)
    }

    fn compare(self, a: &Score, b: &Score) -> Ordering {
        match (self, a.hop_bytes, b.hop_bytes) {
            // Different sums may round to one floating-point number.
            (Self::HopBytes, Some(a), Some(b)) => a.cmp(&b),
            _ => self.value(a).total_cmp(&self.value(b)),
        }
    }
}
