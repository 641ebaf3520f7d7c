//! Placements by the strategies that the papers compare.

use rankwright::map::{Budget, Problem, Strategy};
use rankwright::placement::{JobShape, Placement};

/// The placement by a strategy. Ranks of strategies that do not bind may run anywhere on their
/// node.
pub(crate) fn place(problem: &Problem<'_>, strategy: &Strategy) -> anyhow::Result<Placement> {
    let mapping = strategy.map(problem, &Budget::default())?;
    let shapes = JobShape::of(problem.workload);
    let (cluster, slots) = (problem.cluster, problem.slots());
    let (name, slot_of) = (strategy.name(), mapping.as_indices());
    let placement = Placement::from_slots(cluster, &shapes, name, slots, slot_of)?;
    Ok(if strategy.binds() { placement } else { placement.unbound(cluster) })
}
