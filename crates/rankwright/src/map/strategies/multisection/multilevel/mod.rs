//! Local search by moves of single vertices, where many vertices share a bin, over multilevel cycles.
//!
//! | file | what it has |
//! |---|---|
//! | `cycles` | coarsens the graph inside the bins and improves the assignment level by level |
//! | `moves` | one level: descent, balancing and local searches with hill-climbing |

mod cycles;
mod moves;

pub(super) use cycles::{Bins, CycleEffort, improve};
