//! What strategies share: the problem, the budget, and the structures that searches work on.

pub(super) mod budget;
pub(super) mod compute_balance;
pub(super) mod graph;
pub(super) mod node_groups;
pub(super) mod partitioners;
pub(super) mod problem;
pub(super) mod repair;
pub(super) mod tree;
pub(super) mod within_groups;
