//! Which candidate wins where only the traffic is known, and why, in two sentences.

use super::Candidate;
use super::verdict::{DEFAULT_WILL_DO, TOLERANCE, Verdict, name, nodes};
use crate::cluster::Cluster;
use crate::estimate::BusiestNic;

/// Of the candidates on the fewest nodes, the one with the least time at its busiest network device; of
/// those that count as equal, the one with the least bytes times hops; of those that count as equal, `blocked`, because it is
/// what launchers do unasked, else the first.
///
/// Candidates on more nodes than others have less to carry at each device, but occupy more, and what
/// that is worth cannot be told from traffic alone: they are not compared with the others.
///
/// # Panics
/// If there is no candidate.
#[must_use]
pub fn judge(cluster: &Cluster, candidates: &[Candidate]) -> Verdict {
    let fewest = candidates.iter().map(nodes).min();
    let on_fewest = |at: &usize| Some(nodes(&candidates[*at])) == fewest;
    let all: Vec<usize> = (0..candidates.len()).filter(on_fewest).collect();
    let by_time = least(&all, |at| candidates[at].load.busiest_nic_time().0);
    let by_hops = least(&by_time, |at| hop_bytes(&candidates[at]));
    let blocked = all.iter().copied().find(|at| candidates[*at].strategy.is_launcher_default());
    let best = blocked.filter(|at| by_hops.contains(at)).unwrap_or(by_hops[0]);
    let wider = wider_than(fewest.unwrap_or_default(), candidates.len() - all.len());
    if by_hops.len() == all.len() && all.len() > 1 {
        let unasked = candidates.iter().any(|candidate| candidate.strategy.is_launcher_default());
        let advice = match (blocked, unasked) {
            (Some(_), _) => DEFAULT_WILL_DO,
            (None, true) => " blocked, what launchers do unasked, is not among them.",
            (None, false) => "",
        };
        let reason = format!(
            "All {} strategies {}are within {:.0} % of each other.{advice}{wider}",
            all.len(),
            if wider.is_empty() { "" } else { "on as few nodes " },
            TOLERANCE * 100.0
        );
        return Verdict { best, matters: blocked.is_none() && unasked, reason };
    }
    let next_best = || {
        let others: Vec<usize> = all.iter().copied().filter(|at| *at != best).collect();
        let by_time = least(&others, |at| candidates[at].load.busiest_nic_time().0);
        least(&by_time, |at| hop_bytes(&candidates[at])).first().copied()
    };
    let other = blocked.filter(|blocked| *blocked != best).or_else(next_best);
    let reason = match other {
        Some(other) => explain(cluster, &candidates[best], &candidates[other]) + &wider,
        None if candidates.len() > 1 => {
            format!("{} is the only strategy on so few nodes.{wider}", name(&candidates[best]))
        }
        None => format!("{} is the only strategy that was tried.", name(&candidates[best])),
    };
    Verdict { best, matters: true, reason }
}

/// Those of `positions` whose value counts as equal to the least.
fn least(positions: &[usize], value: impl Fn(usize) -> f64) -> Vec<usize> {
    let least = positions.iter().map(|at| value(*at)).fold(f64::INFINITY, f64::min);
    positions.iter().copied().filter(|at| equal(value(*at), least)).collect()
}

fn equal(value: f64, least: f64) -> bool {
    value <= least * (1.0 + TOLERANCE)
}

fn hop_bytes(candidate: &Candidate) -> f64 {
    candidate.load.hop_bytes as f64
}

/// A sentence on those that were not compared.
fn wider_than(nodes: usize, count: usize) -> String {
    let (strategies, use_them) = match count {
        0 => return String::new(),
        1 => ("1 strategy", "uses"),
        _ => ("strategies", "use"),
    };
    let count = if count == 1 { String::new() } else { format!("{count} ") };
    format!(
        " {count}{strategies} that {use_them} more than {nodes} nodes cannot be compared with these \
         by traffic alone."
    )
}

fn explain(cluster: &Cluster, best: &Candidate, other: &Candidate) -> String {
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
    let (time, other_time) = (best.load.busiest_nic_time(), other.load.busiest_nic_time());
    let hops = format!(
        "its bytes travel {:.1} hops on average, against {:.1} for {other_name}",
        best.load.mean_hops(),
        other.load.mean_hops()
    );
    let second = match best.load.busiest_nic() {
        _ if equal(other_time.0, time.0) && equal(hop_bytes(other), hop_bytes(best)) => {
            let why = if best.strategy.is_launcher_default() {
                "what launchers do unasked"
            } else {
                "named first"
            };
            let limit = TOLERANCE * 100.0;
            format!("The two are within {limit:.0} % of each other, and {best_name} is {why}.")
        }
        Some(nic) if !equal(other_time.0, time.0) => format!(
            "The busiest NIC of {best_name} ({}) carries {:.1}, {:.1} at {}{}, against \
             {other_time:.1} for {other_name}.",
            describe(cluster, &nic),
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
            format!("It needs no NIC at all, against {other_time:.1} for {other_name}.")
        }
        None => format!("Inside the nodes, {hops}."),
    };
    format!("{first} {second}")
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
