//! Which candidate wins, and why, in a few sentences.

use std::collections::BTreeSet;

use serde::Serialize;

use super::settle::{Measure, Settled, Versus};
use super::{Candidate, judge};
use crate::cluster::Cluster;
use crate::map::{Cost, Criterion, Objective};
use crate::statistics::Estimate;
use crate::units::Seconds;

/// Two results count as equal if the larger is larger by at most this share: 2 %. No judge is exact
/// enough to tell more of a real machine.
pub const TOLERANCE: f64 = 0.02;

/// The advice where what launchers do unasked counts as equal to the best.
pub(super) const DEFAULT_WILL_DO: &str = " It does not matter here: keep your launcher's default.";

/// By what candidates are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// Bytes through network devices, and how far they travel.
    Static,
    /// The model: the waiting in a fluid.
    Model,
    /// Simulation.
    Simulation,
}

/// Which of several candidates to take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The position of the winner.
    pub best: usize,
    /// Whether it makes a difference: not if what launchers do unasked, or where that was not tried
    /// all candidates, count as equal to the winner.
    pub matters: bool,
    /// Why, in a few sentences for people.
    pub reason: String,
}

/// The best of the candidates by how they were settled; where they were not, by the static judge. Where
/// nodes differ in speed, of those under which the ranks compute no longer than they may, if there are
/// any.
///
/// By simulation and by the model the winner is the best by the objective, however small the
/// difference, so no other candidate is better by the same measure.
///
/// # Panics
/// If there is no candidate.
#[must_use]
pub fn verdict(cluster: &Cluster, candidates: &[Candidate], settled: Option<&Settled>) -> Verdict {
    let is_balanced = |at: &usize| candidates[*at].computing.is_none_or(|one| one.is_balanced);
    let (balanced, others): (Vec<usize>, Vec<usize>) = (0..candidates.len()).partition(is_balanced);
    if balanced.is_empty() || others.is_empty() {
        return verdict_of_all(cluster, candidates, settled);
    }
    let eligible: Vec<Candidate> = balanced.iter().map(|at| candidates[*at].clone()).collect();
    let mut verdict = verdict_of_all(cluster, &eligible, settled);
    verdict.best = balanced[verdict.best];
    verdict.matters |= others.iter().any(|at| candidates[*at].strategy.is_launcher_default());
    if let [only] = eligible.as_slice() {
        verdict.reason = format!("Only {} keeps the ranks from computing longer.", name(only));
    }
    verdict.reason += &computing_longer(candidates, &others);
    verdict
}

/// ` Under blocked and cyclic ranks compute up to 8 s, 4 s is possible: they cannot win.`
fn computing_longer(candidates: &[Candidate], others: &[usize]) -> String {
    let computing = others.iter().filter_map(|at| candidates[*at].computing);
    let longest = computing.clone().map(|one| one.makespan.0).fold(0.0, f64::max);
    let least = computing.map(|one| one.lower_bound.0).fold(0.0, f64::max);
    let names: Vec<&str> = others.iter().map(|at| name(&candidates[*at])).collect();
    let (last, first) = names.split_last().map_or(("", &[][..]), |(last, first)| (*last, first));
    let names = match first.is_empty() {
        true => last.to_owned(),
        false => format!("{} and {last}", first.join(", ")),
    };
    format!(
        " Under {names} ranks compute up to {:.2}, where {:.2} is possible: that cannot win.",
        Seconds(longest),
        Seconds(least)
    )
}

fn verdict_of_all(
    cluster: &Cluster,
    candidates: &[Candidate],
    settled: Option<&Settled>,
) -> Verdict {
    let judged: Option<Vec<&(usize, Measure)>> =
        candidates.iter().map(|candidate| candidate.judged.as_ref()).collect();
    let (Some(settled), Some(judged)) = (settled, judged) else {
        return judge(cluster, candidates);
    };
    let costs: Vec<Cost> = judged.iter().map(|(_, measure)| measure.times.cost()).collect();
    let best = settled.criterion.best(&costs);
    let table = Table { candidates, judged, costs, settled };
    let blocked = (0..candidates.len()).find(|at| candidates[*at].strategy.is_launcher_default());
    let equal = |at: &usize| table.counts_as_equal(best, *at);
    let matters = match blocked {
        Some(blocked) if blocked != best => !equal(&blocked),
        _ => candidates.len() == 1 || !(0..candidates.len()).all(|at| equal(&at)),
    };
    let reason = if matters {
        table.explain(best, blocked)
    } else if let Some(blocked) = blocked.filter(|blocked| *blocked != best) {
        format!(
            "blocked, what launchers do unasked, is within {:.0} % of {}, the best of {}.\
             {DEFAULT_WILL_DO} {}",
            100.0 * TOLERANCE,
            name(&candidates[best]),
            candidates.len(),
            table.times(best, &[(blocked, "")])
        )
    } else {
        format!(
            "All {} strategies are within {:.0} % of each other.{}",
            candidates.len(),
            100.0 * TOLERANCE,
            blocked.map_or("", |_| DEFAULT_WILL_DO)
        )
    };
    Verdict { best, matters, reason }
}

/// What is known of all candidates.
struct Table<'a> {
    candidates: &'a [Candidate],
    judged: Vec<&'a (usize, Measure)>,
    costs: Vec<Cost>,
    settled: &'a Settled,
}

impl Table<'_> {
    /// Whether another candidate is as good as the best in waiting and in time to the end.
    fn counts_as_equal(&self, best: usize, other: usize) -> bool {
        let costs = [self.costs[best], self.costs[other]];
        [Objective::Waiting, Objective::Finish].into_iter().all(|objective| {
            let losses = Criterion { objective, ..self.settled.criterion }.losses(&costs);
            losses[1] <= losses[0] * (1.0 + TOLERANCE)
        })
    }

    fn explain(&self, best: usize, blocked: Option<usize>) -> String {
        let own = self.judged[best].0;
        let others: Vec<usize> =
            (0..self.candidates.len()).filter(|at| self.judged[*at].0 != own).collect();
        let costs: Vec<Cost> = others.iter().map(|at| self.costs[*at]).collect();
        if others.is_empty() {
            let name = name(&self.candidates[best]);
            return match self.candidates.len() {
                1 => format!("{name} is the only strategy that was tried."),
                count => format!("All {count} strategies give the same placement."),
            };
        }
        let next = others[self.settled.criterion.best(&costs)];
        let (equal, unequal): (Vec<usize>, Vec<usize>) =
            others.iter().partition(|at| self.counts_as_equal(best, **at));
        let costs: Vec<Cost> = unequal.iter().map(|at| self.costs[*at]).collect();
        // A rival that counts as equal says nothing of what is gained.
        let rival = match unequal.is_empty() {
            true => next,
            false => unequal[self.settled.criterion.best(&costs)],
        };
        let mut shown = vec![(rival, if rival == next { ", the next best," } else { "" })];
        if let Some(blocked) = blocked.filter(|at| *at != best && *at != rival) {
            shown.push((blocked, ", what launchers do unasked,"));
        }
        let mut text = self.times(best, &shown);
        let names: Vec<&str> = equal.iter().map(|at| name(&self.candidates[*at])).collect();
        if let (false, Some((last, first))) = (unequal.is_empty(), names.split_last()) {
            let (first, are) = match first.len() {
                0 => (String::new(), "is"),
                _ => (first.join(", ") + " and ", "are"),
            };
            text += &format!(" {first}{last} {are} within {:.0} % of it.", 100.0 * TOLERANCE);
        }
        if self.settled.by() == By::Simulation {
            let versus = self.settled.versus(own, self.judged[rival].0);
            let names = (name(&self.candidates[best]), name(&self.candidates[rival]));
            text += &confidence(names, &versus);
        }
        text
    }

    /// `Under a messages wait 3 s in all and the last arrives after 2 s; under b 4 s and 3 s.`
    fn times(&self, best: usize, others: &[(usize, &str)]) -> String {
        let time = |seconds: f64| format!("{:.2}", Seconds(seconds));
        let of = |at: usize| (time(self.costs[at].waiting), time(self.costs[at].finish));
        let (waiting, finish) = of(best);
        let mut text = format!(
            "Under {} messages wait {waiting} in all and the last arrives after {finish}",
            name(&self.candidates[best])
        );
        for (at, what) in others {
            let (waiting, finish) = of(*at);
            let name = name(&self.candidates[*at]);
            text += &format!("; under {name}{what} {waiting} and {finish}");
        }
        text + "."
    }
}

/// How sure the winner is.
fn confidence((best, rival): (&str, &str), versus: &Versus) -> String {
    let Versus { seeds, wins, waiting, finish } = versus;
    let part = |estimate: &Estimate, less: &str, more: &str| {
        let (share, word) = match estimate.mean {
            mean if mean < 0.0 => (-mean, more),
            mean => (mean, less),
        };
        let width = match estimate.half_width {
            width if width.is_finite() => format!(" (± {:.1})", 100.0 * width),
            _ => String::new(),
        };
        format!("{:.1} %{width} {word}", 100.0 * share)
    };
    let waiting = part(waiting, "less", "longer");
    let finish = part(finish, "earlier", "later");
    if *seeds == 0 {
        return String::new();
    }
    let within = |estimate: &Estimate| estimate.mean.abs() <= estimate.half_width;
    let chance = match *seeds > 1 && within(&versus.waiting) && within(&versus.finish) {
        true => " That may be chance.",
        false => "",
    };
    let seeds = if *seeds == 1 { "1 seed".to_owned() } else { format!("{seeds} seeds") };
    format!(
        " {best} is better than {rival} with {wins} of {seeds}: messages wait {waiting}, the run ends \
         {finish}.{chance}"
    )
}

/// The strategy's name without options.
pub(super) fn name(candidate: &Candidate) -> &str {
    candidate.strategy.name()
}

/// How many nodes hold ranks.
pub(super) fn nodes(candidate: &Candidate) -> usize {
    candidate.placement.ranks().map(|rank| rank.node).collect::<BTreeSet<_>>().len()
}
