//! Makespan scheduling on unrelated parallel machines (R || Cmax), with a choice of machine sets.
//!
//! A **task** is processed in one of several **modes**; a mode keeps some **machines** busy at the same
//! time, each in two directions, and takes contexts of machines that have a limited number. What is
//! minimised is the longest time of a machine and direction. Already with one machine per mode no
//! polynomial algorithm comes within 3/2 of the optimum unless P = NP (Lenstra, Shmoys and Tardos
//! 1990), so the schedule is
//!
//! 1. a list schedule, longest processing time first (LPT, Graham 1969),
//! 2. improved by local search: tasks change their modes, pairs of tasks swap them,
//! 3. where few tasks take time, replaced by the best schedule that a branch and bound finds.
//!
//! With n tasks of k modes a round of the local search takes O(n k + n²) changes.
//!
//! | file | what it has |
//! |---|---|
//! | `mode` | how long a mode keeps which machines busy |
//! | `schedule` | the mode of each task; list scheduling and local search |
//! | `branch_and_bound` | all schedules of few tasks that could be better |

mod branch_and_bound;
mod mode;
mod schedule;
#[cfg(test)]
mod tests;

pub(super) use mode::{Directions, Mode};
pub(super) use schedule::{CapacityExceeded, schedule};
