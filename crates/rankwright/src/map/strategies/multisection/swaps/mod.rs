//! Local search by swaps, where few vertices share a bin: the quadratic assignment problem.
//!
//! | file | what it has |
//! |---|---|
//! | `local_search` | one search space: descent and annealing from an assignment, and its lower bounds |
//! | `descent` | best-improvement descent over neighbours of neighbours |
//! | `annealing` | simulated annealing, temperatures from acceptance ratios |
//! | `assignment` | the state of a search: who is where, the cost of each vertex, the change by a swap |
//! | `locations` | the locations of bins and the groups that they form |
//! | `scaled_graph` | edges and distances in 64 bits without overflow |

mod annealing;
mod assignment;
mod descent;
mod local_search;
mod locations;
mod scaled_graph;

pub(super) use annealing::AcceptanceRatios;
pub(super) use local_search::{Advance, CoolingLimit, LocalSearch, Solution};
