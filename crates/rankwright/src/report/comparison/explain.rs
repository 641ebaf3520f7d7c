//! Why a candidate is the best, in a few sentences.

use crate::choose::{Basis, Candidate, Evaluation, NO_GAIN, RankedCandidates, SeedComparison};
use crate::cluster::Cluster;
use crate::estimate::BusiestNic;
use crate::ranking::{Ranking, TOLERANCE, counts_as_equal};
use crate::statistics::Estimate;
use crate::units::{Seconds, counted};

/// The advice where the launcher's default counts as equal to the best.
const DEFAULT_WILL_DO: &str = " It does not matter here: keep your launcher's default.";

/// Why the best candidate is the best.
#[must_use]
pub(super) fn reason(
    cluster: &Cluster,
    candidates: &[Candidate],
    ranked: &RankedCandidates,
    evaluation: Option<&Evaluation>,
) -> String {
    let ranking = &ranked.ranking;
    let excluded = ranking.excluded();
    let eligible = ranking.order().len() + ranking.on_more_nodes().len();
    let best = name(&candidates[ranked.best()]);
    let reason = match evaluation {
        _ if eligible == 1 && !excluded.is_empty() => {
            format!("Only {best} balances the computing times.")
        }
        Some(evaluation) => ByTimes { candidates, ranked, evaluation }.reason(),
        None => ByBytes { cluster, candidates, ranked }.reason(),
    };
    match excluded.is_empty() {
        true => reason,
        false => reason + &computing_longer(candidates, excluded),
    }
}

/// ` Under blocked and cyclic ranks compute for up to 8 s, where 4 s is possible, so they cannot win.`
fn computing_longer(candidates: &[Candidate], excluded: &[usize]) -> String {
    let computing = excluded.iter().filter_map(|at| candidates[*at].computing);
    let longest = computing.clone().map(|computing| computing.makespan.0).fold(0.0, f64::max);
    let least = computing.map(|computing| computing.lower_bound.0).fold(0.0, f64::max);
    let names: Vec<String> = excluded.iter().map(|at| name(&candidates[*at])).collect();
    let (last, first) =
        names.split_last().map_or(("", &[][..]), |(last, first)| (last.as_str(), first));
    let (names, pronoun) = match first.is_empty() {
        true => (last.to_owned(), "it"),
        false => (format!("{} and {last}", first.join(", ")), "they"),
    };
    format!(
        " Under {names} ranks compute for up to {:.2}, where {:.2} is possible, so {pronoun} cannot \
         win.",
        Seconds(longest),
        Seconds(least)
    )
}

/// The strategy's name without options.
/// The strategy as tables show it.
fn name(candidate: &Candidate) -> String {
    candidate.strategy.to_string()
}

fn limit() -> String {
    format!("{:.0} %", 100.0 * TOLERANCE)
}

/// The reason if all strategies count as equal with the ranks of a node kept together. The launcher's
/// default is not advised, because it may not keep them together.
pub(super) fn equal_with_kept_node_groups() -> String {
    format!(
        "All strategies are within {} of each other where the ranks of a node are kept together.",
        limit()
    )
}

/// Candidates that were ranked by bytes alone.
struct ByBytes<'a> {
    cluster: &'a Cluster,
    candidates: &'a [Candidate],
    ranked: &'a RankedCandidates,
}

impl ByBytes<'_> {
    fn reason(&self) -> String {
        let (candidates, ranking) = (self.candidates, &self.ranked.ranking);
        let (best, compared) = (&candidates[ranking.best()], ranking.order().len());
        let more_nodes = self.on_more_nodes();
        if ranking.all_equal() && compared > 1 {
            return self.all_equal(&more_nodes);
        }
        match self.ranked.rival {
            Some(rival) => self.against(best, &candidates[rival]) + &more_nodes,
            None if candidates.len() > ranking.excluded().len() + 1 => {
                format!("{} is the only strategy on so few nodes.{more_nodes}", name(best))
            }
            None => format!("{} is the only strategy that was tried.", name(best)),
        }
    }

    fn all_equal(&self, more_nodes: &str) -> String {
        let ranking = &self.ranked.ranking;
        let is_default = |at: &usize| self.candidates[*at].score.launcher_default;
        let advice = match ranking.launcher_default() {
            Some(_) => DEFAULT_WILL_DO,
            None if ranking.on_more_nodes().iter().any(is_default) => {
                " blocked, the launcher's default, is not among them."
            }
            None => "",
        };
        format!(
            "All {} strategies {}are within {} of each other.{advice}{more_nodes}",
            ranking.order().len(),
            if more_nodes.is_empty() { "" } else { "on as few nodes " },
            limit()
        )
    }

    /// A sentence on the strategies that were not compared because they use more nodes.
    fn on_more_nodes(&self) -> String {
        let ranking = &self.ranked.ranking;
        let nodes = self.candidates[ranking.best()].score.nodes.unwrap_or_default();
        let count = ranking.on_more_nodes().len();
        let (strategies, use_them) = match count {
            0 => return String::new(),
            1 => ("1 strategy", "uses"),
            _ => ("strategies", "use"),
        };
        let count = if count == 1 { String::new() } else { format!("{count} ") };
        format!(
            " {count}{strategies} that {use_them} more than {} cannot be compared with these by \
             traffic alone.",
            counted(nodes, "node")
        )
    }

    fn against(&self, best: &Candidate, other: &Candidate) -> String {
        let (best_name, other_name) = (name(best), name(other));
        let share = |candidate: &Candidate| percent(candidate.load.inter_node_share());
        let first = if best.load.inter_node.0 == 0 && other.load.inter_node.0 == 0 {
            format!("Neither {best_name} nor {other_name} sends anything between nodes.")
        } else {
            format!(
                "{best_name} sends {} of the bytes between nodes, {other_name} {}.",
                share(best),
                share(other)
            )
        };
        format!("{first} {}", self.difference(best, other))
    }

    fn difference(&self, best: &Candidate, other: &Candidate) -> String {
        let (best_name, other_name) = (name(best), name(other));
        let (time, other_time) = (best.load.busiest_nic_time(), other.load.busiest_nic_time());
        let hops = format!(
            "bytes travel {:.1} hops on average under {best_name}, {:.1} under {other_name}",
            best.load.mean_hops(),
            other.load.mean_hops()
        );
        let same_time = counts_as_equal(other_time.0, time.0);
        let hop_bytes = |candidate: &Candidate| candidate.load.hop_bytes as f64;
        match best.load.busiest_nic() {
            _ if same_time && counts_as_equal(hop_bytes(other), hop_bytes(best)) => {
                let why = match best.score.launcher_default {
                    true => "the launcher's default",
                    false => "named first",
                };
                let limit = limit();
                format!("The two are within {limit} of each other, and {best_name} is {why}.")
            }
            Some(nic) if !same_time => format!(
                "The busiest NIC of {best_name} ({}) carries {:.1}, {:.1} at {}{}, against \
                 {other_time:.1} for {other_name}.",
                describe(self.cluster, &nic),
                nic.bytes,
                nic.time,
                nic.bandwidth,
                if nic.is_far_from_some() { " and for ranks far from it" } else { "" }
            ),
            Some(nic) => format!(
                "The busiest NICs need {:.1} and {other_time:.1}, which counts as equal, but {hops}.",
                nic.time
            ),
            None if other_time.0 > 0.0 => {
                format!("It needs no NIC, against {other_time:.1} for {other_name}.")
            }
            None => format!("Inside the nodes, {hops}."),
        }
    }
}

/// `node2, out` or `node2 mlx5_0, in`.
fn describe(cluster: &Cluster, nic: &BusiestNic) -> String {
    let node = &cluster.node(nic.node).name;
    match &nic.nic {
        Some(name) => format!("{node} {name}, {}", nic.direction),
        None => format!("{node}, {}", nic.direction),
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// Candidates that were ranked by their times.
struct ByTimes<'a> {
    candidates: &'a [Candidate],
    ranked: &'a RankedCandidates,
    evaluation: &'a Evaluation,
}

impl ByTimes<'_> {
    fn reason(&self) -> String {
        let ranking: &Ranking = &self.ranked.ranking;
        let (best, compared) = (ranking.best(), ranking.order().len());
        let default = ranking.launcher_default();
        // The default wins against mappings that are a little better.
        let least = ranking.order().iter().copied().find(|at| ranking.loss(*at) <= 1.0);
        let is_close = ranking.loss(best) <= 1.0 + TOLERANCE;
        match (least.filter(|at| Some(best) == default && *at != best), default) {
            (Some(least), _) if is_close => format!(
                "{}, the launcher's default, is within {} of {}, the best of {compared}.\
                 {DEFAULT_WILL_DO} {}",
                name(&self.candidates[best]),
                limit(),
                name(&self.candidates[least]),
                self.times(least, &[(best, "")])
            ),
            (Some(least), _) => format!(
                "{}, the launcher's default, is kept: {}, the best of {compared}, is not proven to be \
                 better. {}",
                name(&self.candidates[best]),
                name(&self.candidates[least]),
                self.times(least, &[(best, "")])
            ),
            (None, _) if compared > 1 && ranking.all_equal() => format!(
                "All {compared} strategies are within {} of each other.{}",
                limit(),
                default.map_or("", |_| DEFAULT_WILL_DO)
            ),
            _ => self.against_others(),
        }
    }

    fn against_others(&self) -> String {
        let ranking = &self.ranked.ranking;
        let best = ranking.best();
        let (Some(rival), runner_up) = (self.ranked.rival, self.ranked.runner_up) else {
            return match ranking.order().len() {
                1 => {
                    format!("{} is the only strategy that was tried.", name(&self.candidates[best]))
                }
                count => format!("All {count} strategies give the same placement."),
            };
        };
        let role = if Some(rival) == runner_up { ", the next best," } else { "" };
        let mut shown = vec![(rival, role)];
        let default = ranking.launcher_default();
        if let Some(default) = default.filter(|at| *at != best && *at != rival) {
            shown.push((default, ", the launcher's default,"));
        }
        let mut text = self.times(best, &shown);
        text += &self.equal_to_best(rival);
        if self.evaluation.basis() == Basis::Simulation {
            let (first, second) = (&self.candidates[best], &self.candidates[rival]);
            let seeds = self.evaluation.by_seeds(first.number, second.number);
            text += &confidence((&name(first), &name(second)), &seeds);
        }
        text
    }

    /// A sentence on the other strategies that count as equal to the best, if the rival does not.
    fn equal_to_best(&self, rival: usize) -> String {
        let (candidates, ranking) = (self.candidates, &self.ranked.ranking);
        let best = ranking.best();
        let is_other = |at: &usize| candidates[*at].number != candidates[best].number;
        let mut equal: Vec<usize> = ranking.order().to_vec();
        equal.retain(|at| is_other(at) && ranking.is_equal_to_best(*at));
        equal.sort_unstable();
        let names: Vec<String> = equal.iter().map(|at| name(&candidates[*at])).collect();
        match names.split_last() {
            Some((last, first)) if !ranking.is_equal_to_best(rival) => {
                let (first, are) = match first.len() {
                    0 => (String::new(), "is"),
                    _ => (first.join(", ") + " and ", "are"),
                };
                format!(" {first}{last} {are} within {} of it.", limit())
            }
            _ => String::new(),
        }
    }

    /// `Total waiting, summed over all messages, and simulated end: a 3 s and 2 s; b 4 s and 3 s.`
    fn times(&self, best: usize, others: &[(usize, &str)]) -> String {
        let times = |(at, role): &(usize, &str)| {
            let Candidate { score, .. } = &self.candidates[*at];
            let name = name(&self.candidates[*at]);
            format!("{name}{role} {:.2} and {:.2}", score.total_waiting(), score.last_arrival())
        };
        let all: Vec<String> = std::iter::once(&(best, "")).chain(others).map(times).collect();
        let all = all.join("; ");
        format!("Total waiting, summed over all messages, and simulated end: {all}.")
    }
}

/// How certain it is that the winner is better, by the simulations with different seeds.
fn confidence((best, rival): (&str, &str), by_seeds: &SeedComparison) -> String {
    let SeedComparison { seeds, wins, waiting, finish } = by_seeds;
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
    let finish = match finish.mean.abs() < NO_GAIN && finish.half_width < NO_GAIN {
        true => "is as long".to_owned(),
        false => format!("ends {}", part(finish, "earlier", "later")),
    };
    if *seeds == 0 {
        return String::new();
    }
    let within = |estimate: &Estimate| estimate.mean.abs() <= estimate.half_width;
    let chance = match *seeds > 1 && within(&by_seeds.waiting) && within(&by_seeds.finish) {
        true => " That may be chance.",
        false => "",
    };
    // The times above are means over all seeds of each, these shares means over the seeds of both.
    let (seeds, by_seed) = match seeds {
        1 => ("1 seed".to_owned(), ""),
        _ => (format!("{seeds} seeds"), "on average over the seeds, "),
    };
    format!(
        " {best} is better than {rival} with {wins} of {seeds}: {by_seed}messages wait {waiting}, the run \
         {finish}.{chance}"
    )
}
