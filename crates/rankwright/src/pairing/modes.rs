//! The paper's ways to run jobs, as placements: on whole nodes, on half of the cores of twice as many
//! nodes, and there together with others.

use crate::cluster::Cluster;
use crate::ids::NodeId;
use crate::placement::{Granularity, JobShape, Placement, PlacementError, Slot, slots};
use crate::units::counted;

/// A part of the cores of each node, as shares of their number in L# order: so jobs with parts of their
/// own are on different sockets where those divide the node that way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part {
    /// Where it begins, from 0.
    pub begin: f64,
    /// Where it ends, up to 1.
    pub end: f64,
}

impl Part {
    /// All cores of each node (Exclusive-Full of the paper).
    pub const WHOLE: Self = Self { begin: 0.0, end: 1.0 };

    /// The first half of the cores (Exclusive-Half if alone).
    pub const FIRST_HALF: Self = Self { begin: 0.0, end: 0.5 };

    /// The second half.
    pub const SECOND_HALF: Self = Self { begin: 0.5, end: 1.0 };

    /// The parts of jobs that share each node (Shared of the paper), one after the other, in proportion
    /// to `weights`.
    #[must_use]
    pub fn shared(weights: &[u32]) -> Vec<Self> {
        let sum: f64 = weights.iter().copied().map(f64::from).sum();
        let mut end = 0.0;
        let part = |weight: &u32| {
            let begin = end;
            end += f64::from(*weight) / sum;
            Self { begin, end }
        };
        weights.iter().map(part).collect()
    }

    /// Its slots among those of a node.
    fn of<'a>(&self, slots: &'a [Slot]) -> &'a [Slot] {
        let at = |share: f64| (share * slots.len() as f64 + 1e-9) as usize;
        &slots[at(self.begin)..at(self.end).min(slots.len())]
    }
}

/// Why jobs do not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModeError {
    /// There are not enough nodes.
    #[error(
        "job `{job}`: its {} take more than the {} of cluster `{cluster}`, where it gets {} of each (jobs \
         that share nodes get half); give a cluster of more nodes, \
         or a smaller job",
        counted(*ranks, "rank"), counted(*nodes, "node"), counted(*cores, "core")
    )]
    TooFewNodes {
        /// The job.
        job: String,
        /// Its ranks.
        ranks: usize,
        /// The cluster.
        cluster: String,
        /// Its nodes.
        nodes: usize,
        /// What the job gets of the first node.
        cores: usize,
    },
    /// The placement is not possible.
    #[error(transparent)]
    Placement(#[from] PlacementError),
}

/// Places jobs on their parts of the cluster's nodes, each in the order of its ranks from the first node
/// on; `name` is that of the strategy.
///
/// # Errors
/// As [`placed_from`].
pub fn placed(
    cluster: &Cluster,
    jobs: &[(JobShape, Part)],
    name: &str,
) -> Result<Placement, ModeError> {
    placed_from(cluster, 0, jobs, name)
}

/// As [`placed`], without the first `skipped` nodes.
///
/// # Errors
/// If a job has more ranks than its part of all nodes has cores.
pub fn placed_from(
    cluster: &Cluster,
    skipped: usize,
    jobs: &[(JobShape, Part)],
    name: &str,
) -> Result<Placement, ModeError> {
    let slots = slots(cluster, Granularity::Cores(1), 0)?;
    let by_node: Vec<&[Slot]> = slots.chunk_by(|a, b| a.node == b.node).skip(skipped).collect();
    let mut slot_of = Vec::new();
    for (shape, part) in jobs {
        let first_of = |node: &[Slot]| position(&slots, node);
        let parts = by_node.iter().map(|node| part.of(node)).filter(|part| !part.is_empty());
        let of_job = parts.flat_map(|part| {
            let first = first_of(part);
            first..first + part.len()
        });
        let before = slot_of.len();
        slot_of.extend(of_job.take(shape.ranks as usize));
        if slot_of.len() - before < shape.ranks as usize {
            return Err(ModeError::TooFewNodes {
                job: shape.name.clone(),
                ranks: shape.ranks as usize,
                cluster: cluster.name.clone(),
                nodes: by_node.len(),
                cores: by_node.first().map_or(0, |node| part.of(node).len()),
            });
        }
    }
    let shapes: Vec<JobShape> = jobs.iter().map(|(shape, _)| shape.clone()).collect();
    Ok(Placement::from_slots(cluster, &shapes, name, &slots, &slot_of)?)
}

/// The nodes that a placement uses.
#[must_use]
pub fn nodes_of(placement: &Placement) -> Vec<NodeId> {
    let mut nodes: Vec<NodeId> =
        placement.jobs().iter().flat_map(|job| job.ranks.iter().map(|rank| rank.node)).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// Where a part of a list begins in it.
fn position(all: &[Slot], part: &[Slot]) -> usize {
    let first = part.first();
    all.iter().position(|slot| Some(slot) == first).unwrap_or(all.len())
}
