//! How several jobs share nodes: as the user wants, and by default whichever evaluates better.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use crate::cluster::Cluster;
use crate::ids::NodeId;
use crate::map::{Strategy, StrategyError};
use crate::placement::Placement;
use crate::units::counted;

/// How jobs share nodes: a mode of the paper on mixed workloads (Koop, Luo and Panda 2009).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SharingMode {
    /// Every job has whole nodes.
    ExclusiveFull,
    /// Every job has half of the cores of twice as many nodes, and no neighbour.
    ExclusiveHalf,
    /// Jobs share nodes.
    Shared {
        /// The most jobs on a node; `None` for all.
        per_node: Option<usize>,
        /// Whether jobs on a node have sockets of their own.
        apart: bool,
    },
}

/// The nodes or their sockets are too few for the way in which jobs are to share them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SharingError(String);

impl FromStr for SharingMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            "expected exclusive-full, exclusive-half, shared, shared:2 (jobs per node), shared:apart or \
             shared:2,apart (on sockets of their own)"
                .to_owned()
        };
        match text {
            "exclusive-full" => return Ok(Self::ExclusiveFull),
            "exclusive-half" => return Ok(Self::ExclusiveHalf),
            "shared" => return Ok(Self::Shared { per_node: None, apart: false }),
            _ => {}
        }
        let options = text.strip_prefix("shared:").ok_or_else(wrong)?;
        let (mut per_node, mut apart) = (None, false);
        for option in options.split(',') {
            match (option, option.parse::<usize>()) {
                ("apart", _) if !apart => apart = true,
                (_, Ok(number)) if number > 0 && per_node.is_none() => per_node = Some(number),
                _ => return Err(wrong()),
            }
        }
        Ok(Self::Shared { per_node, apart })
    }
}

impl SharingMode {
    /// The strategy that places so.
    ///
    /// # Errors
    /// If the strategy refuses its options.
    pub fn strategy(self) -> Result<Strategy, StrategyError> {
        let text = match self {
            Self::ExclusiveFull => "exclusive-full".to_owned(),
            Self::ExclusiveHalf => "exclusive-half".to_owned(),
            Self::Shared { per_node, apart } => {
                let count = per_node.map_or("all".to_owned(), |count| count.to_string());
                let sockets = if apart { "apart" } else { "shared" };
                format!("shared:per-node={count},sockets={sockets}")
            }
        };
        text.parse()
    }

    /// Refuses jobs that cannot be kept on sockets of their own, before the search. `cluster` has the nodes to use.
    ///
    /// # Errors
    /// If a node has too few sockets.
    pub fn check_sockets(self, cluster: &Cluster, jobs: usize) -> Result<(), SharingError> {
        let Self::Shared { per_node, apart: true } = self else { return Ok(()) };
        let together = per_node.map_or(jobs, |per_node| per_node.min(jobs));
        let sockets = |node: &NodeId| cluster.machine(*node).packages;
        let fewer = cluster.node_ids().find(|node| sockets(node) < together);
        fewer.map_or(Ok(()), |node| {
            let (sockets, node) = (counted(sockets(&node), "socket"), &cluster.node(node).name);
            Err(SharingError(format!(
                "{together} jobs on a node need a socket each, {node} of cluster `{}` has {sockets}: \
                 leave out `apart`, or fewer jobs per node",
                cluster.name
            )))
        })
    }

    /// Refuses a placement in which the jobs do not share nodes this way.
    ///
    /// # Errors
    /// If the nodes or their sockets are too few.
    pub fn check(self, cluster: &Cluster, placement: &Placement) -> Result<(), SharingError> {
        let mut jobs: BTreeMap<NodeId, BTreeSet<usize>> = BTreeMap::new();
        let mut sockets: BTreeMap<(NodeId, usize), BTreeSet<usize>> = BTreeMap::new();
        let mut cores: BTreeMap<NodeId, usize> = BTreeMap::new();
        for (number, job) in placement.jobs().iter().enumerate() {
            for rank in &job.ranks {
                jobs.entry(rank.node).or_default().insert(number);
                *cores.entry(rank.node).or_default() += rank.cores.len();
                for core in &rank.cores {
                    let socket = cluster.machine(rank.node).cores[core.index()].package;
                    sockets.entry((rank.node, socket)).or_default().insert(number);
                }
            }
        }
        let wrong =
            |what: String| Err(SharingError(format!("on cluster `{}` {what}", cluster.name)));
        let name = |node: NodeId| &cluster.node(node).name;
        let most = match self {
            Self::ExclusiveFull | Self::ExclusiveHalf => 1,
            Self::Shared { per_node, .. } => per_node.unwrap_or(usize::MAX),
        };
        let crowded = jobs.iter().find(|(_, jobs)| jobs.len() > most).map(|(node, _)| *node);
        let half = |node: &NodeId| (cluster.machine(*node).cores.len() / 2).max(1);
        let full = cores.iter().find(|(node, cores)| **cores > half(node)).map(|(node, _)| *node);
        let full = full.filter(|_| self == Self::ExclusiveHalf);
        if let Some(node) = crowded.or(full) {
            let node = name(node);
            return wrong(format!("the nodes are too few: ranks that did not fit are on {node}"));
        }
        let Self::Shared { apart, .. } = self else { return Ok(()) };
        let common = sockets.iter().find(|(_, jobs)| apart && jobs.len() > 1);
        if let Some(((node, socket), jobs)) = common {
            let jobs = jobs.iter().map(|job| format!("`{}`", placement.jobs()[*job].name));
            let (jobs, node) = (jobs.collect::<Vec<_>>().join(" and "), name(*node));
            return wrong(format!(
                "{jobs} are on one socket (L#{socket} of {node}): there are too few nodes, or sockets per \
                 node, to keep them apart"
            ));
        }
        let shared: BTreeSet<usize> =
            jobs.values().filter(|jobs| jobs.len() > 1).flatten().copied().collect();
        let count = placement.jobs().len();
        let has_partner = |job: usize| most > 1 && (!job.is_multiple_of(most) || job + 1 < count);
        match (0..count).find(|job| has_partner(*job) && !shared.contains(job)) {
            None => Ok(()),
            Some(job) => wrong(format!(
                "`{}` shares no node with another job: nodes have too few cores for all",
                placement.jobs()[job].name
            )),
        }
    }
}

/// For several jobs: apart on nodes of their own, and together on the same nodes, as candidates beside
/// the usual ones.
///
/// # Errors
/// If a strategy refuses its options.
pub fn together_and_apart() -> Result<[Strategy; 2], StrategyError> {
    let together = SharingMode::Shared { per_node: None, apart: false };
    Ok([SharingMode::ExclusiveFull.strategy()?, together.strategy()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_have_the_names_of_the_paper() {
        let shared = |per_node, apart| Ok(SharingMode::Shared { per_node, apart });
        assert_eq!("exclusive-half".parse(), Ok(SharingMode::ExclusiveHalf));
        assert_eq!("shared".parse(), shared(None, false));
        assert_eq!("shared:3".parse(), shared(Some(3), false));
        assert_eq!("shared:apart,2".parse(), shared(Some(2), true));
        for wrong in ["", "full", "shared:", "shared:0", "shared:2,3", "shared:-1", "exclusive"] {
            assert!(wrong.parse::<SharingMode>().is_err(), "{wrong}");
        }
        for mode in ["exclusive-full", "exclusive-half", "shared:2,apart"] {
            mode.parse::<SharingMode>().unwrap().strategy().unwrap();
        }
    }
}
