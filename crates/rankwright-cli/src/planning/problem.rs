//! What commands ask of a problem beside its cluster and its workload.

use rankwright::map::{NodeGroups, Problem};
use rankwright::rails::Selection;

use super::candidates::EvaluationRequest;
use super::devices::with_selection;
use crate::options::{KeepAs, SearchOptions};

/// The conditions. They reach the problem here and nowhere else, in the order that the library needs:
/// devices before groups of ranks.
#[derive(Debug)]
pub(crate) struct Conditions<'a> {
    /// How ranks get their network devices, if they do.
    pub(crate) selection: Option<&'a Selection>,
    /// Which ranks must share nodes.
    pub(crate) node_groups: Option<KeepAs>,
    /// By which share the rank that computes longest may take longer than it must.
    pub(crate) balance: f64,
    /// Whether senders wait before their next round.
    pub(crate) closed_loop: bool,
}

impl<'a> Conditions<'a> {
    /// Those of a search, without devices and groups.
    pub(crate) fn new(search: &SearchOptions, request: &EvaluationRequest) -> Self {
        Self {
            selection: None,
            node_groups: None,
            balance: search.balance,
            closed_loop: request.closed_loop(),
        }
    }

    /// With network devices by a selection.
    pub(crate) fn with_devices(self, selection: &'a Selection) -> Self {
        Self { selection: Some(selection), ..self }
    }

    /// The problem under these conditions.
    ///
    /// # Errors
    /// If the devices or the groups are not possible.
    pub(crate) fn apply<'p>(&self, problem: Problem<'p>) -> anyhow::Result<Problem<'p>> {
        let mut problem = match self.selection {
            Some(selection) => with_selection(problem, selection)?,
            None => problem,
        };
        if let Some(wanted) = self.node_groups {
            let (cluster, workload, slots) = (problem.cluster, problem.workload, problem.slots());
            let recorded = match wanted {
                KeepAs::Recorded => NodeGroups::recorded(cluster, workload, slots),
                KeepAs::Block => None,
            };
            let groups =
                recorded.unwrap_or_else(|| NodeGroups::in_block_order(cluster, workload, slots));
            problem = problem.keeping(groups)?;
        }
        Ok(problem.with_balance(self.balance).with_closed_loop(self.closed_loop))
    }
}
