//! First assignments by multisection along the tree.
//!
//! | file | what it has |
//! |---|---|
//! | `division` | divides the vertices among the groups of a level, those of each group further |
//! | `capacities` | what groups of bins hold, and how spare capacity is shared out over the levels |
//! | `plan` | the effort for each division, by that of the strategy |

mod capacities;
mod division;
mod plan;
#[cfg(test)]
mod tests;

pub(super) use division::{Request, construct};
