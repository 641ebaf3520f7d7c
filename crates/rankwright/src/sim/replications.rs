//! Replications: a simulation with several seeds, and the confidence intervals of its results.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Options, Outcome, Progress, SimulationError, simulate};
use crate::cluster::Cluster;
use crate::parallel;
use crate::placement::Placement;
use crate::statistics::Estimate;
use crate::traffic::Workload;

/// The outcomes with the seeds `seed`, `seed + 1`, ..., with their means and confidence intervals.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Replications {
    /// In the order of the seeds. If the observer stopped one, those that were not begun are missing.
    pub outcomes: Vec<Outcome>,
    /// Seconds of waiting at all servers.
    pub total_waiting: Estimate,
    /// At network devices.
    pub nic_waiting: Estimate,
    /// At memories.
    pub memory_waiting: Estimate,
    /// Seconds until the last message arrived.
    pub workload_finish: Estimate,
    /// The sum over jobs of the seconds until their last message arrived.
    pub total_finish: Estimate,
}

/// Runs `count` simulations on up to `threads` threads. The result is the same for any number of
/// threads. The observer is called from several threads with the index and the progress of a
/// replication; when it breaks, all stop.
///
/// # Errors
/// As [`simulate`].
pub fn replicate(
    cluster: &Cluster,
    workload: &Workload,
    placement: &Placement,
    options: &Options,
    (count, threads): (usize, usize),
    observer: &(dyn Fn(usize, &Progress) -> ControlFlow<()> + Sync),
) -> Result<Replications, SimulationError> {
    let stopped = AtomicBool::new(false);
    let threads = NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN);
    let results = parallel::map(&vec![(); count], threads, |number, ()| {
        if stopped.load(Ordering::Relaxed) {
            return None;
        }
        let options = Options { seed: options.seed.wrapping_add(number as u64), ..*options };
        let mut observer = |progress: &Progress| observer(number, progress);
        let result = simulate(cluster, workload, placement, &options, &mut observer);
        if result.as_ref().map_or(true, |outcome| outcome.stopped.is_some()) {
            stopped.store(true, Ordering::Relaxed);
        }
        Some(result)
    });
    let outcomes: Vec<Outcome> = results.into_iter().flatten().collect::<Result<_, _>>()?;
    Ok(together(outcomes))
}

impl Replications {
    /// One run without noise, as a replay is.
    #[must_use]
    pub fn of_one(outcome: Outcome) -> Self {
        together(vec![outcome])
    }
}

fn together(outcomes: Vec<Outcome>) -> Replications {
    let estimate = |of: fn(&Outcome) -> f64| {
        // Stopped simulations are not samples.
        let whole = outcomes.iter().filter(|outcome| outcome.stopped.is_none());
        Estimate::of(&whole.map(of).collect::<Vec<f64>>())
    };
    Replications {
        total_waiting: estimate(|outcome| outcome.total_waiting.0),
        nic_waiting: estimate(|outcome| outcome.nic_waiting.0),
        memory_waiting: estimate(|outcome| outcome.memory_waiting.0),
        workload_finish: estimate(|outcome| outcome.workload_finish.0),
        total_finish: estimate(|outcome| outcome.total_finish.0),
        outcomes,
    }
}
