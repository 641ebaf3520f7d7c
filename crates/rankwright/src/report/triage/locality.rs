//! Whether traffic is uneven enough that it matters which ranks share a node.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use super::nodes::Nodes;
use super::partners::Partners;
use crate::traffic::Flow;
use crate::traffic::collectives::{CollectiveCalls, Operation};
use crate::traffic::expansion::Expansion;
use crate::traffic::profile::Profile;

/// The smallest difference between placements that counts, as a share of the traffic.
const COUNTS: f64 = 0.05;

/// Collective calls are left out if their expansion would have more messages than this.
const MOST_EXPANDED: usize = 1 << 24;

/// The share of the traffic that stays within nodes, 0 to 1, for several placements of the ranks on
/// equal nodes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Locality {
    /// Whether the placement matters.
    pub unevenness: Unevenness,
    /// Number of ranks per node.
    pub ranks_per_node: usize,
    /// Whether that number is assumed, because the run had one host or its hosts are unknown.
    pub supposed: bool,
    /// Unit of the traffic.
    pub counted: Counted,
    /// Whether collective calls were left out because their expansion has too many messages.
    pub without_collectives: bool,
    /// Expected share for a random placement.
    pub at_random: f64,
    /// Share in block order, the launcher's default.
    pub in_order: f64,
    /// The larger of `in_order` and the share after a quick search.
    pub searched: f64,
    /// Upper bound for any placement.
    pub at_most: f64,
}

/// Whether the placement of the ranks matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unevenness {
    /// Ranks exchange nothing.
    NoTraffic,
    /// There are at most two ranks.
    TooFewRanks,
    /// All placements are about equally good.
    Even,
    /// Placements differ, and block order is as good as the result of the search.
    GoodInOrder,
    /// Placements differ, and the result of the search is better than block order.
    Uneven,
}

/// The unit of traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// Bytes.
    Bytes,
    /// Messages, if all are empty.
    Messages,
}

impl Locality {
    pub(super) fn new(profile: &Profile, expansion: Expansion, per_node: Option<u32>) -> Self {
        let ranks = profile.ranks.len();
        let without_collectives = expanded(profile, expansion) > MOST_EXPANDED;
        let expansion = if without_collectives { Expansion::None } else { expansion };
        let flows = profile.job(expansion).map(|job| job.flows).unwrap_or_default();
        let by_bytes = Partners::new(ranks, &flows, |flow: &Flow| flow.bytes as f64);
        let (counted, partners) = match by_bytes.total() > 0.0 {
            true => (Counted::Bytes, by_bytes),
            false => {
                let messages = |flow: &Flow| flow.messages as f64;
                (Counted::Messages, Partners::new(ranks, &flows, messages))
            }
        };
        let seen = ranks_per_host(profile);
        let given = per_node.map(|ranks| ranks.max(1) as usize);
        let ranks_per_node = given.or(seen).unwrap_or(ranks.div_ceil(4).max(2));
        let supposed = given.is_none() && seen.is_none();
        let none = Self {
            unevenness: Unevenness::TooFewRanks,
            ranks_per_node,
            supposed,
            counted,
            without_collectives,
            at_random: 0.0,
            in_order: 0.0,
            searched: 0.0,
            at_most: 0.0,
        };
        if partners.total() <= 0.0 {
            return Self { unevenness: Unevenness::NoTraffic, ..none };
        }
        if ranks <= 2 { none } else { none.measured(&partners) }
    }

    fn measured(self, partners: &Partners) -> Self {
        let (ranks, capacity) = (partners.ranks(), self.ranks_per_node);
        let at_random = Nodes::share_at_random(ranks, capacity);
        let in_order = Nodes::in_order(ranks, capacity).share_within(partners);
        let at_most = partners.most_within(capacity).min(1.0);
        // If the bound is close to a random placement, a search cannot find a better one.
        let searched = match at_most - at_random < COUNTS {
            true => in_order,
            false => Nodes::searched(partners, capacity).share_within(partners).max(in_order),
        };
        let unevenness = match (searched - at_random < COUNTS, searched - in_order < COUNTS) {
            (true, _) => Unevenness::Even,
            (false, true) => Unevenness::GoodInOrder,
            (false, false) => Unevenness::Uneven,
        };
        Self { unevenness, at_random, in_order, searched, at_most, ..self }
    }
}

impl fmt::Display for Locality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let result = match self.unevenness {
            Unevenness::NoTraffic => "hardly matters: nothing was sent between ranks",
            Unevenness::TooFewRanks => "hardly matters: there are at most two ranks",
            Unevenness::Even => "hardly matters",
            Unevenness::GoodInOrder => "matters, block order is good",
            Unevenness::Uneven => "matters",
        };
        f.write_str(result)?;
        if matches!(self.unevenness, Unevenness::NoTraffic | Unevenness::TooFewRanks) {
            return Ok(());
        }
        let counted = match self.counted {
            Counted::Bytes => "bytes",
            Counted::Messages => "messages",
        };
        let assumed = if self.supposed { " (assumed)" } else { "" };
        // A share may be a rounding error below 0, which must not be printed as -0.
        let [at_random, in_order, searched] = [self.at_random, self.in_order, self.searched]
            .map(|share| (100.0 * share).max(0.0) + 0.0);
        write!(
            f,
            ": with {} per node{assumed}, {counted} that stay inside nodes: {in_order:.0} % by \
             default, {searched:.0} % if placed well ({at_random:.0} % at random)",
            crate::units::counted(self.ranks_per_node, "rank")
        )?;
        if self.without_collectives {
            f.write_str("; collectives left out")?;
        }
        Ok(())
    }
}

/// The largest number of ranks on a host; `None` if hosts are unknown, if there is only one, or if
/// each rank has its own.
fn ranks_per_host(profile: &Profile) -> Option<usize> {
    let mut hosts: BTreeMap<&str, usize> = BTreeMap::new();
    for rank in &profile.ranks {
        *hosts.entry(&rank.host).or_default() += 1;
    }
    let several_hosts = hosts.len() > 1 && !hosts.contains_key("");
    hosts.into_values().max().filter(|ranks| several_hosts && *ranks > 1)
}

/// A lower bound of the number of messages of the collective calls in which all ranks send to all.
fn expanded(profile: &Profile, expansion: Expansion) -> usize {
    use Operation as O;
    let direct = |call: &&CollectiveCalls| {
        let always = matches!(
            call.operation,
            O::Alltoall | O::Alltoallv | O::Alltoallw | O::ReduceScatter | O::ReduceScatterBlock
        );
        let linear = matches!(call.operation, O::Allgather | O::Allgatherv);
        call.row.is_empty() && (always || linear && expansion == Expansion::Linear)
    };
    let calls = profile.collectives.iter().filter(direct);
    let groups: BTreeSet<_> =
        calls.map(|call| (call.communicator, call.operation, call.form)).collect();
    let size = |communicator: usize| {
        let communicator = profile.communicators.get(communicator);
        communicator.map_or(0, |record| record.members.len() + record.remote_members.len())
    };
    groups.into_iter().map(|(communicator, ..)| size(communicator).saturating_pow(2)).sum()
}
