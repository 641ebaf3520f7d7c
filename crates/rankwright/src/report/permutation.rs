//! Side effects of a reordering of ranks, for people and programs.

use serde::Serialize;

use crate::choose::{CollectiveEffects, PermutationEffects};
use crate::estimate::{CollectiveCost, OperationCost};
use crate::ranking::counts_as_equal;
use crate::units::{Bytes, Seconds};

/// The side effects of a placement against block order. Its JSON form is described in
/// `docs/src/formats.md`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PermutationReport {
    /// The collective operations; `null` if none are known.
    pub collectives: Option<CollectivesRow>,
    /// Number of ranks that share their node with other ranks of their job than expected.
    pub changed_node_groups_ranks: usize,
    /// The origin of the expected node groups: `block-order` or `recorded`.
    pub expected_node_groups: &'static str,
    /// Names of the jobs that have a communicator for the ranks of each host.
    pub aware_jobs: Vec<String>,
    #[serde(skip)]
    ranks: usize,
    #[serde(skip)]
    by_run: bool,
}

/// The collective operations under the placement and in block order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CollectivesRow {
    /// Bytes of all messages of collective operations.
    pub bytes: u64,
    /// Their cost under the placement.
    pub placed: CollectiveCostRow,
    /// Their cost in block order.
    pub in_block_order: CollectiveCostRow,
}

/// The cost of collective operations.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CollectiveCostRow {
    /// Bytes between nodes.
    pub inter_node_bytes: u64,
    /// Time that the busiest network device needs for these bytes, seconds.
    pub busiest_nic_time_s: f64,
    /// Time along the critical path, seconds.
    pub time_s: f64,
    /// The cost of each operation.
    pub operations: Vec<OperationRow>,
}

/// The cost of all calls of one operation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OperationRow {
    /// Its name, like `Bcast`.
    pub operation: &'static str,
    /// Bytes of its messages.
    pub bytes: u64,
    /// Bytes between nodes.
    pub inter_node_bytes: u64,
    /// Time along its critical path, seconds.
    pub time_s: f64,
}

impl PermutationReport {
    /// The report on the effects of a placement.
    #[must_use]
    pub fn new(effects: &PermutationEffects) -> Self {
        let by_run = effects.expected.is_recorded();
        let row = |collectives: &CollectiveEffects| CollectivesRow {
            bytes: collectives.placed.bytes.0,
            placed: CollectiveCostRow::new(&collectives.placed),
            in_block_order: CollectiveCostRow::new(&collectives.in_block_order),
        };
        Self {
            collectives: effects.collectives.as_ref().map(row),
            changed_node_groups_ranks: effects.changed_ranks,
            expected_node_groups: if by_run { "recorded" } else { "block-order" },
            aware_jobs: effects.aware_jobs.clone(),
            ranks: effects.ranks,
            by_run,
        }
    }

    /// A sentence on what collective operations gain or lose; `None` if none are known.
    #[must_use]
    pub fn collectives_sentence(&self, total_bytes: u64) -> Option<String> {
        let CollectivesRow { bytes, placed, in_block_order } = self.collectives.as_ref()?;
        let share = 100.0 * *bytes as f64 / total_bytes.max(1) as f64;
        let pair = |row: &CollectiveCostRow| (row.inter_node_bytes as f64, row.time_s);
        let ((crossing, time), (crossing_before, time_before)) =
            (pair(placed), pair(in_block_order));
        let names: Vec<&str> = placed.operations.iter().map(|row| row.operation).collect();
        let which = match names.is_empty() {
            true => return None,
            false => format!("Collectives ({}; {share:.1} % of all bytes)", names.join(", ")),
        };
        if alike(crossing, crossing_before) && alike(time, time_before) {
            return Some(format!("{which} cost the same as with ranks placed in order."));
        }
        let worse = crossing > crossing_before || time > time_before;
        let order = if worse { " follow the order of the ranks:" } else { " gain too:" };
        let amount = |bytes: u64| format!("{:.1}", Bytes(bytes));
        let between = if alike(crossing, crossing_before) {
            format!("{} between nodes, as in block order", amount(placed.inter_node_bytes))
        } else if crossing_before == 0.0 {
            format!("{} between nodes, none in block order", amount(placed.inter_node_bytes))
        } else {
            format!(
                "{:.1} times as many bytes between nodes as in block order ({}, not {})",
                crossing / crossing_before,
                amount(placed.inter_node_bytes),
                amount(in_block_order.inter_node_bytes)
            )
        };
        Some(format!(
            "{which}{order} {between}; {:.2} along their critical path, not {:.2}.",
            Seconds(time),
            Seconds(time_before)
        ))
    }

    /// That ranks share their nodes with other ranks than expected, and the way out; `None` if they do
    /// not.
    #[must_use]
    pub fn node_groups(&self) -> Option<(String, &'static str)> {
        if self.changed_node_groups_ranks == 0 {
            return None;
        }
        let expected = if self.by_run { "in the recorded run" } else { "by default" };
        let mut text = format!(
            "{} of {} ranks have other node neighbours than {expected}. Programs that depend on them \
             (MPI_Comm_split_type, shared windows, a GPU by local rank, files per node) may run \
             differently",
            self.changed_node_groups_ranks, self.ranks
        );
        if !self.aware_jobs.is_empty() {
            text += &format!(
                ". {} has a communicator for each of its hosts, so it does depend on them",
                self.aware_jobs.join(", ")
            );
        }
        Some((text, "`--keep-node-groups` keeps the ranks of a node together"))
    }
}

impl CollectiveCostRow {
    fn new(cost: &CollectiveCost) -> Self {
        let operation = |cost: &OperationCost| OperationRow {
            operation: cost.operation,
            bytes: cost.bytes.0,
            inter_node_bytes: cost.inter_node.0,
            time_s: cost.time.0,
        };
        Self {
            inter_node_bytes: cost.inter_node.0,
            busiest_nic_time_s: cost.busiest_nic_time.0,
            time_s: cost.time.0,
            operations: cost.operations.iter().map(operation).collect(),
        }
    }
}

fn alike(value: f64, other: f64) -> bool {
    counts_as_equal(value, other) && counts_as_equal(other, value)
}
