//! `treematch`: group the ranks from the leaves of the machine up.
//!
//! | file | what it has |
//! |---|---|
//! | `mapper` | the strategy: what it minimises, sources, complexity |
//! | `machine` | the machine as levels of parts |
//! | `groups` | the groups of a level, and the coarser graph that they make |
//! | `exhaustive` | all possible groups of a level, where they are few |
//! | `greedy` | groups that grow from the heaviest edges |

mod exhaustive;
mod greedy;
mod groups;
mod machine;
mod mapper;

pub(in crate::map) use mapper::TreeMatch;
