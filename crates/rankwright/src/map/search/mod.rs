//! What strategies share: the problem, the budget, and the structures that searches work on.
//!
//! | file | what it has |
//! |---|---|
//! | `problem` | [`Problem`](problem::Problem): ranks, slots, graph and constraints of a mapping |
//! | `budget` | threads, time and mappings that a strategy may use |
//! | `alike_nodes` | the nodes that a search needs, where many are alike |
//! | `tree` | slots as the leaves of a tree |
//! | `graph/` | communication graphs and multilevel bisection |
//! | `partitioners/` | bindings to METIS and Scotch |
//! | `repair` | makes an assignment keep exact capacities |
//! | `compute_balance` | ranks that compute long on fast nodes |
//! | `node_groups/` | ranks that have to share a node |

pub(super) mod alike_nodes;
pub(super) mod budget;
pub(super) mod compute_balance;
pub(super) mod graph;
pub(super) mod node_groups;
pub(super) mod partitioners;
pub(super) mod problem;
pub(super) mod repair;
pub(super) mod tree;
