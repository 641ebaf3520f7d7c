//! Whether traffic is uneven enough for it to matter who shares a node with whom.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use super::nodes::Nodes;
use super::partners::Partners;
use crate::traffic::Flow;
use crate::traffic::collectives::{CollectiveCalls, Operation};
use crate::traffic::expansion::Expansion;
use crate::traffic::profile::Profile;

/// From this part of the traffic on a difference between placements counts.
const COUNTS: f64 = 0.05;

/// More messages than this from collective calls are not made up.
const MOST_EXPANDED: usize = 1 << 24;

/// How much of the traffic stays within nodes, from 0 to 1, for several ways to place the ranks on
/// nodes that are alike.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Locality {
    /// What follows from it.
    pub unevenness: Unevenness,
    /// How many ranks a node holds.
    pub ranks_per_node: usize,
    /// Whether that is supposed: it ran on one node, or that is unknown.
    pub supposed: bool,
    /// What is counted.
    pub counted: Counted,
    /// Whether collective calls were left out because they are too many messages.
    pub without_collectives: bool,
    /// Expected of a random placement.
    pub at_random: f64,
    /// Ranks in their order, node after node, as launchers place them unasked.
    pub in_order: f64,
    /// The better of that and what a quick search finds.
    pub searched: f64,
    /// No placement exceeds this.
    pub at_most: f64,
}

/// Whether it matters who is near to whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unevenness {
    /// There is nothing between ranks.
    NoTraffic,
    /// Two ranks, or one.
    TooFewRanks,
    /// All placements are alike.
    Even,
    /// Placements differ, and the order of the ranks is as good as what a search finds.
    GoodInOrder,
    /// Placements differ, and a search finds better than the order of the ranks.
    Uneven,
}

/// What traffic is measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// Bytes.
    Bytes,
    /// Messages, where none has a byte.
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
        // Where the bound says that all are alike a search cannot find more.
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
        let verdict = match self.unevenness {
            Unevenness::NoTraffic => "hardly matters: nothing was sent between ranks",
            Unevenness::TooFewRanks => "hardly matters: two ranks are near to each other or not",
            Unevenness::Even => "hardly matters",
            Unevenness::GoodInOrder => "matters, the order of the ranks is good",
            Unevenness::Uneven => "matters",
        };
        f.write_str(verdict)?;
        if matches!(self.unevenness, Unevenness::NoTraffic | Unevenness::TooFewRanks) {
            return Ok(());
        }
        let counted = match self.counted {
            Counted::Bytes => "bytes",
            Counted::Messages => "messages",
        };
        let supposed = if self.supposed { " (supposed)" } else { "" };
        // A share may be a rounding error below 0, which must not be printed as -0.
        let [at_random, in_order, searched] = [self.at_random, self.in_order, self.searched]
            .map(|share| (100.0 * share).max(0.0) + 0.0);
        write!(
            f,
            ": nodes of {}{supposed} keep {at_random:.0} % of the {counted} at random, \
             {in_order:.0} % in order, {searched:.0} % if searched",
            self.ranks_per_node
        )?;
        if self.without_collectives {
            f.write_str("; collectives left out")?;
        }
        Ok(())
    }
}

/// The most ranks on any host, where all hosts are known, there are several, and not all ranks have
/// one of their own.
fn ranks_per_host(profile: &Profile) -> Option<usize> {
    let mut hosts: BTreeMap<&str, usize> = BTreeMap::new();
    for rank in &profile.ranks {
        *hosts.entry(&rank.host).or_default() += 1;
    }
    let known = hosts.len() > 1 && !hosts.contains_key("");
    hosts.into_values().max().filter(|ranks| known && *ranks > 1)
}

/// How many messages an expansion makes at least where everyone sends to everyone.
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
        communicator.map_or(0, |known| known.members.len() + known.remote_members.len())
    };
    groups.into_iter().map(|(known, ..)| size(known).saturating_pow(2)).sum()
}
