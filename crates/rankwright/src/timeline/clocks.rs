//! The clocks of the hosts of a run: where they were compared, on that of rank 0's host.

use super::recorded::Gatherings;
use crate::files::InputError;
use crate::ids::Rank;
use crate::traffic::collectives::Operation;
use crate::traffic::read::events::matching::{Collective, Matching};
use crate::traffic::read::events::store::Recording;

/// Clocks that disagree by more than this, in seconds, make a time line useless.
const MOST: f64 = 0.1;

/// When MPI started on each rank.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Clocks {
    /// Seconds since the first. Index: rank.
    origins: Vec<f64>,
    /// Nanoseconds since 1970.
    first_start: i64,
}

impl Clocks {
    /// The clocks of a recorded run.
    ///
    /// # Errors
    /// If the profile is damaged.
    pub(super) fn of(recording: &Recording) -> Result<Self, InputError> {
        let starts = recording.starts()?;
        let first = starts.iter().copied().min().unwrap_or(0);
        let origins = starts.iter().map(|start| start.abs_diff(first) as f64 * 1e-9).collect();
        Ok(Self { origins, first_start: first })
    }

    /// When MPI started on the first rank, in nanoseconds since 1970.
    pub(super) fn first_start(&self) -> i64 {
        self.first_start
    }

    /// When MPI started on a rank, in seconds since it started on the first.
    pub(super) fn origin(&self, rank: Rank) -> f64 {
        self.origins.get(rank.index()).copied().unwrap_or(0.0)
    }

    /// From an operation in which each rank waits for all others nobody returns before the last has
    /// called it.
    ///
    /// # Errors
    /// If one did, by the clocks.
    pub(super) fn check(
        &self,
        recording: &Recording,
        matching: &Matching,
        gatherings: &Gatherings,
    ) -> Result<(), InputError> {
        let mut worst = (MOST, None);
        for (communicator, gathered) in gatherings {
            for (operation, gathering) in matching.collectives(*communicator).iter().zip(gathered) {
                let early = gathering.last_begin - gathering.first_end;
                let ranks = (gathering.first_to_leave, gathering.last_to_come);
                let waits = waits_for_all(operation) && !operation.nonblocking;
                // The same for any order of the communicators.
                let later = early == worst.0 && worst.1.is_none_or(|(worst, _)| ranks < worst);
                if waits && (early > worst.0 || later) {
                    worst = (early, Some((ranks, operation.operation)));
                }
            }
        }
        let (early, Some(((first, last), operation))) = worst else { return Ok(()) };
        let found = format!(
            "rank {first} returned from an MPI_{} {early:.3} s before rank {last} called it: the clocks \
             of their hosts disagree",
            operation.name()
        );
        let advice = "set the clocks of the hosts (NTP, chrony) and record the run again";
        Err(recording.wrong(found).with_advice(advice))
    }
}

/// Whether no rank can return from it before all have called it.
fn waits_for_all(operation: &Collective) -> bool {
    match operation.operation {
        Operation::Barrier => true,
        Operation::Allreduce | Operation::Allgather => operation.largest > 0,
        _ => false,
    }
}
