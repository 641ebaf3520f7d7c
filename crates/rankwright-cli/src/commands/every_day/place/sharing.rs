//! How several jobs share nodes: `--share`, and by default whichever evaluates better.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use rankwright::cluster::Cluster;
use rankwright::ids::NodeId;
use rankwright::map::Strategy;
use rankwright::placement::Placement;

use crate::output::exit_code::Infeasible;

/// A mode of the paper on mixed workloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    ExclusiveFull,
    ExclusiveHalf,
    Shared { per_node: Option<usize>, apart: bool },
}

impl FromStr for Mode {
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

impl Mode {
    /// The strategy that places so.
    pub(super) fn strategy(self) -> anyhow::Result<Strategy> {
        let text = match self {
            Self::ExclusiveFull => "exclusive-full".to_owned(),
            Self::ExclusiveHalf => "exclusive-half".to_owned(),
            Self::Shared { per_node, apart } => {
                let count = per_node.map_or("all".to_owned(), |count| count.to_string());
                let sockets = if apart { "apart" } else { "shared" };
                format!("shared:per-node={count},sockets={sockets}")
            }
        };
        Ok(text.parse()?)
    }

    /// Refuses a placement for which the nodes were too few.
    pub(super) fn check(self, cluster: &Cluster, placement: &Placement) -> Result<(), Infeasible> {
        let mut jobs: BTreeMap<NodeId, BTreeSet<usize>> = BTreeMap::new();
        let mut cores: BTreeMap<NodeId, usize> = BTreeMap::new();
        for (number, job) in placement.jobs().iter().enumerate() {
            for rank in &job.ranks {
                jobs.entry(rank.node).or_default().insert(number);
                *cores.entry(rank.node).or_default() += rank.cores.len();
            }
        }
        let most = match self {
            Self::ExclusiveFull | Self::ExclusiveHalf => 1,
            Self::Shared { per_node, .. } => per_node.unwrap_or(usize::MAX),
        };
        let crowded = jobs.iter().find(|(_, jobs)| jobs.len() > most).map(|(node, _)| *node);
        let half = |node: &NodeId| (cluster.machine(*node).cores.len() / 2).max(1);
        let full = cores.iter().find(|(node, cores)| **cores > half(node)).map(|(node, _)| *node);
        let full = full.filter(|_| self == Self::ExclusiveHalf);
        match crowded.or(full) {
            None => Ok(()),
            Some(node) => Err(Infeasible(format!(
                "--share: cluster `{}` has too few nodes for this: ranks without a place were left for {}",
                cluster.name,
                cluster.node(node).name
            ))),
        }
    }
}

/// For several jobs: apart on nodes of their own, and together on the same nodes, as candidates beside
/// the usual ones.
pub(super) fn together_and_apart() -> anyhow::Result<[Strategy; 2]> {
    let together = Mode::Shared { per_node: None, apart: false };
    Ok([Mode::ExclusiveFull.strategy()?, together.strategy()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_have_the_names_of_the_paper() {
        let shared = |per_node, apart| Ok(Mode::Shared { per_node, apart });
        assert_eq!("exclusive-half".parse(), Ok(Mode::ExclusiveHalf));
        assert_eq!("shared".parse(), shared(None, false));
        assert_eq!("shared:3".parse(), shared(Some(3), false));
        assert_eq!("shared:apart,2".parse(), shared(Some(2), true));
        for wrong in ["", "full", "shared:", "shared:0", "shared:2,3", "shared:-1", "exclusive"] {
            assert!(wrong.parse::<Mode>().is_err(), "{wrong}");
        }
        for mode in ["exclusive-full", "exclusive-half", "shared:2,apart"] {
            mode.parse::<Mode>().unwrap().strategy().unwrap();
        }
    }
}
