//! The traffic of each pair of ranks, both directions together.

use crate::traffic::Flow;

/// The partners of every rank, each with the traffic of the pair.
pub(super) struct Partners {
    /// By rank: the index of its first partner in `partners`; at the end the number of partners.
    begins: Vec<usize>,
    /// Partner, and bytes or messages in both directions; ascending for each rank.
    partners: Vec<(u32, f64)>,
}

impl Partners {
    /// The partners by the amounts of flows; messages of a rank to itself do not count.
    pub(super) fn new(ranks: usize, flows: &[Flow], amount: impl Fn(&Flow) -> f64) -> Self {
        let mut directed: Vec<(u32, u32, f64)> = Vec::with_capacity(2 * flows.len());
        for flow in flows.iter().filter(|flow| flow.source != flow.destination) {
            let (source, destination) = (flow.source.0, flow.destination.0);
            let amount = amount(flow);
            directed.push((source, destination, amount));
            directed.push((destination, source, amount));
        }
        directed.retain(|(.., amount)| *amount > 0.0);
        // Stable, so that amounts are added in one order.
        directed.sort_by_key(|(rank, partner, _)| (*rank, *partner));
        directed.dedup_by(|next, kept| {
            let same = (next.0, next.1) == (kept.0, kept.1);
            if same {
                kept.2 += next.2;
            }
            same
        });
        let mut begins = vec![0; ranks + 1];
        for (rank, ..) in &directed {
            begins[*rank as usize + 1] += 1;
        }
        for rank in 0..ranks {
            begins[rank + 1] += begins[rank];
        }
        let partners = directed.into_iter().map(|(_, partner, amount)| (partner, amount)).collect();
        Self { begins, partners }
    }

    pub(super) fn ranks(&self) -> usize {
        self.begins.len() - 1
    }

    /// The partners of a rank, ascending.
    pub(super) fn of(&self, rank: usize) -> &[(u32, f64)] {
        &self.partners[self.begins[rank]..self.begins[rank + 1]]
    }

    /// The traffic of two ranks.
    pub(super) fn between(&self, rank: usize, partner: usize) -> f64 {
        let partners = self.of(rank);
        let place = partners.binary_search_by_key(&partner, |(partner, _)| *partner as usize);
        place.map_or(0.0, |place| partners[place].1)
    }

    /// The traffic of all pairs, counted at both ends.
    pub(super) fn total(&self) -> f64 {
        self.partners.iter().map(|(_, amount)| amount).sum()
    }

    /// The part of it that no placement with `capacity` ranks per node can exceed within nodes: each
    /// rank has its heaviest partners, as many as fit beside it.
    pub(super) fn most_within(&self, capacity: usize) -> f64 {
        let heaviest = |rank: usize| -> f64 {
            let mut amounts: Vec<f64> = self.of(rank).iter().map(|(_, amount)| *amount).collect();
            amounts.sort_by(|a, b| b.total_cmp(a));
            amounts.iter().take(capacity.saturating_sub(1)).sum()
        };
        (0..self.ranks()).map(heaviest).sum::<f64>() / self.total()
    }
}
