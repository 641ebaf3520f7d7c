//! Which other places of the ranks explain the bytes that the nodes counted.

use super::counted::Counted;
use super::judge::{Fit, fit};
use super::record::{Due, Record};

/// What is tried: steps over flows, at most.
const MOST_STEPS: usize = 300_000_000;

/// Directions that must disagree with the placement before ranks are looked for elsewhere. A file that is
/// read or written during the job makes two disagree at most: out of one node, into another.
const MIN_MISFITS: usize = 3;

/// Directions that may still disagree: those of such a file.
const MOST_UNEXPLAINED: usize = 2;

/// An explanation of counted bytes; `alone` if no other rank explains them nearly as well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Elsewhere {
    /// Two ranks have each other's node.
    Exchanged { ranks: [usize; 2], alone: bool },
    /// A rank is on another node.
    Moved { rank: usize, to: usize, alone: bool },
    /// All ranks of two nodes are exchanged.
    NodesExchanged([usize; 2]),
    /// Ranks are dealt to the nodes one by one.
    Cyclic,
    /// The nodes are filled one after the other.
    Blocked,
}

/// How far counted bytes are from an explanation.
struct Misfit {
    /// The number of directions that disagree.
    left: usize,
    /// How far the nodes that agree are from what is due, in bytes.
    bytes: f64,
}

/// An explanation that is less than this factor farther from the counted bytes is nearly as good.
const NEARLY: f64 = 1.5;

/// What nodes counted, out and in; `None` for a node that is unknown.
pub(super) type OfNodes = Vec<Option<[Counted; 2]>>;

/// The traffic of nodes under some places of the ranks.
struct Traffic<'a> {
    record: &'a Record,
    counted: &'a OfNodes,
    /// The flows of each rank, as positions.
    of_rank: Vec<Vec<u32>>,
}

/// How many directions of nodes disagree with the placement.
pub(super) fn misfits(record: &Record, counted: &OfNodes) -> usize {
    let due = due_of(record, &homes(record));
    (0..record.nodes.len()).map(|node| node_misfits(&due[node], counted[node].as_ref())).sum()
}

/// The simplest other places of ranks that explain what the nodes counted, if many directions disagree
/// with the placement, and few with the explanation.
pub(super) fn explain(record: &Record, counted: &OfNodes) -> Option<Elsewhere> {
    let now = misfits(record, counted);
    if now < MIN_MISFITS || record.flows.is_empty() {
        return None;
    }
    let enough = (now - 2).min(MOST_UNEXPLAINED);
    let mut of_rank = vec![Vec::new(); record.ranks.len()];
    for (at, flow) in (0..).zip(&record.flows) {
        of_rank[flow.0 as usize].push(at);
        of_rank[flow.1 as usize].push(at);
    }
    let traffic = Traffic { record, counted, of_rank };
    traffic.of_few_ranks(enough).or_else(|| traffic.of_all_ranks(enough))
}

/// The node of each rank.
fn homes(record: &Record) -> Vec<usize> {
    record.ranks.iter().map(|rank| rank.node).collect()
}

/// What is due for each node under some homes, out and in.
fn due_of(record: &Record, homes: &[usize]) -> Vec<[Due; 2]> {
    let mut due = vec![[Due::default(); 2]; record.nodes.len()];
    if record.flows.is_empty() {
        for rank in &record.ranks {
            due[rank.node][0].add(&rank.out, 1.0);
            due[rank.node][1].add(&rank.incoming, 1.0);
        }
    }
    record.flows.iter().for_each(|flow| add(&mut due, homes, flow, 1.0));
    due
}

/// Adds a flow to the nodes of its ends, if they differ.
fn add(
    due: &mut [[Due; 2]],
    homes: &[usize],
    (from, to, bytes, messages, estimated): &(u32, u32, u64, u64, u64),
    sign: f64,
) {
    let (from, to) = (homes[*from as usize], homes[*to as usize]);
    if from != to {
        let [bytes, messages, estimated] = [bytes, messages, estimated].map(|n| *n as f64);
        let flow = Due { bytes, estimated, messages };
        due[from][0].add(&flow, sign);
        due[to][1].add(&flow, sign);
    }
}

fn node_misfits(due: &[Due; 2], counted: Option<&[Counted; 2]>) -> usize {
    let Some([out, incoming]) = counted else { return 0 };
    let fits = [fit(&due[0], out, incoming), fit(&due[1], incoming, out)];
    fits.iter().filter(|fit| matches!(fit, Fit::Nothing | Fit::TooLittle | Fit::TooMuch)).count()
}

/// Whether what still disagrees is only more than predicted, which other traffic can be.
fn only_excess(due: &[[Due; 2]], counted: &OfNodes) -> bool {
    due.iter().zip(counted).all(|(due, counted)| {
        let Some([out, incoming]) = counted else { return true };
        let fits = [fit(&due[0], out, incoming), fit(&due[1], incoming, out)];
        fits.iter().all(|fit| !matches!(fit, Fit::Nothing | Fit::TooLittle))
    })
}

impl Traffic<'_> {
    /// Two ranks exchanged, or one moved; of several explanations the one that leaves least.
    fn of_few_ranks(&self, enough: usize) -> Option<Elsewhere> {
        let (ranks, nodes) = (self.record.ranks.len(), self.record.nodes.len());
        let flows = 2 * self.record.flows.len() / ranks.max(1) + nodes + 1;
        if ranks.saturating_mul(ranks + nodes).saturating_mul(flows) > MOST_STEPS {
            return None;
        }
        let mut homes = homes(self.record);
        let mut due = due_of(self.record, &homes);
        let mut found: Vec<(Misfit, Elsewhere)> = Vec::new();
        for first in 0..ranks {
            for second in first + 1..ranks {
                let pair = [homes[first], homes[second]];
                if pair[0] != pair[1] {
                    let change = [(first, pair[1]), (second, pair[0])];
                    let misfit = self.changed(&mut homes, &mut due, &change, enough);
                    let explanation = Elsewhere::Exchanged { ranks: [first, second], alone: true };
                    found.extend(misfit.map(|misfit| (misfit, explanation)));
                }
            }
        }
        for rank in 0..ranks {
            for to in (0..nodes).filter(|to| *to != self.record.ranks[rank].node) {
                let misfit = self.changed(&mut homes, &mut due, &[(rank, to)], enough);
                let explanation = Elsewhere::Moved { rank, to, alone: true };
                found.extend(misfit.map(|misfit| (misfit, explanation)));
            }
        }
        // A stable sort: of equals the first.
        found.sort_by(|(a, _), (b, _)| a.left.cmp(&b.left).then(a.bytes.total_cmp(&b.bytes)));
        let mut found = found.into_iter();
        let (best, mut explanation) = found.next()?;
        let is_near = |(other, _): (Misfit, Elsewhere)| {
            other.left == best.left && other.bytes < NEARLY * best.bytes
        };
        if found.next().is_some_and(is_near)
            && let Elsewhere::Exchanged { alone, .. } | Elsewhere::Moved { alone, .. } =
                &mut explanation
        {
            *alone = false;
        }
        Some(explanation)
    }

    /// How many directions disagree if ranks have other homes, if that is few enough. Restores `homes` and
    /// `due`.
    fn changed(
        &self,
        homes: &mut [usize],
        due: &mut [[Due; 2]],
        change: &[(usize, usize)],
        enough: usize,
    ) -> Option<Misfit> {
        let mut flows: Vec<u32> =
            change.iter().flat_map(|(rank, _)| &self.of_rank[*rank]).copied().collect();
        flows.sort_unstable();
        flows.dedup();
        let saved: Vec<[Due; 2]> = due.to_vec();
        let flow = |at: &u32| &self.record.flows[*at as usize];
        flows.iter().for_each(|at| add(due, homes, flow(at), -1.0));
        let before: Vec<usize> = change.iter().map(|(rank, _)| homes[*rank]).collect();
        change.iter().for_each(|(rank, to)| homes[*rank] = *to);
        flows.iter().for_each(|at| add(due, homes, flow(at), 1.0));
        let left = self.left(due, enough);
        change.iter().zip(before).for_each(|((rank, _), home)| homes[*rank] = home);
        due.copy_from_slice(&saved);
        left
    }

    /// How many directions disagree, if few enough, and only because there is more.
    fn left(&self, due: &[[Due; 2]], enough: usize) -> Option<Misfit> {
        let (mut left, mut bytes) = (0, 0.0);
        for (due, counted) in due.iter().zip(self.counted) {
            let wrong = node_misfits(due, counted.as_ref());
            left += wrong;
            if left > enough {
                return None;
            }
            if let (0, Some(counted)) = (wrong, counted) {
                bytes += (0..2).map(|at| (counted[at].net() - due[at].bytes).abs()).sum::<f64>();
            }
        }
        only_excess(due, self.counted).then_some(Misfit { left, bytes })
    }

    /// Whole nodes exchanged, or the ranks in the order of a launcher.
    fn of_all_ranks(&self, enough: usize) -> Option<Elsewhere> {
        let (homes, nodes) = (homes(self.record), self.record.nodes.len());
        let explains = |homes: &[usize]| self.left(&due_of(self.record, homes), enough).is_some();
        let mut room = vec![0; nodes];
        homes.iter().for_each(|home| room[*home] += 1);
        if explains(&blocked(&room)) {
            return Some(Elsewhere::Blocked);
        }
        if explains(&cyclic(&room)) {
            return Some(Elsewhere::Cyclic);
        }
        let steps =
            nodes.saturating_mul(nodes).saturating_mul(self.record.flows.len() + homes.len());
        if steps > MOST_STEPS {
            return None;
        }
        let pairs =
            (0..nodes).flat_map(|first| (first + 1..nodes).map(move |second| [first, second]));
        let exchanged = |[first, second]: [usize; 2]| -> Vec<usize> {
            let other = |home: &usize| match *home {
                home if home == first => second,
                home if home == second => first,
                home => home,
            };
            homes.iter().map(other).collect()
        };
        pairs.into_iter().find(|pair| explains(&exchanged(*pair))).map(Elsewhere::NodesExchanged)
    }
}

/// The nodes filled one after the other, each with as many ranks as it has.
fn blocked(room: &[usize]) -> Vec<usize> {
    room.iter().enumerate().flat_map(|(node, ranks)| std::iter::repeat_n(node, *ranks)).collect()
}

/// Ranks dealt to the nodes one by one, each with as many as it has.
fn cyclic(room: &[usize]) -> Vec<usize> {
    let mut left = room.to_vec();
    let mut homes = Vec::new();
    while left.iter().any(|ranks| *ranks > 0) {
        for (node, ranks) in left.iter_mut().enumerate().filter(|(_, ranks)| **ranks > 0) {
            homes.push(node);
            *ranks -= 1;
        }
    }
    homes
}
