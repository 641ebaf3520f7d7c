//! The same simulation with several seeds, and how much its results differ.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Options, Outcome, Progress, SimulationError, simulate};
use crate::cluster::Cluster;
use crate::placement::Placement;
use crate::traffic::Workload;

/// Outcomes with the seeds `seed`, `seed + 1`, ... and what they say together.
#[derive(Debug, Clone, PartialEq)]
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

/// A mean over replications.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of the 95 % confidence interval (Student's t); infinite for one replication.
    pub half_width: f64,
}

/// Runs `count` simulations on up to `threads` threads. The result is the same for any number of
/// threads. The observer is told which replication has got how far, from several threads; when it
/// breaks, all stop.
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
    let next = AtomicUsize::new(0);
    let results = Mutex::new(vec![None; count]);
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return;
            }
            let options = Options { seed: options.seed.wrapping_add(number as u64), ..*options };
            let mut observer = |progress: &Progress| observer(number, progress);
            let result = simulate(cluster, workload, placement, &options, &mut observer);
            let stopped = result.as_ref().map_or(true, |outcome| outcome.stopped.is_some());
            if stopped {
                next.fetch_max(count, Ordering::Relaxed);
            }
            if let Ok(mut results) = results.lock() {
                results[number] = Some(result);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(count) {
            scope.spawn(work);
        }
        work();
    });
    let results = results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let outcomes: Vec<Outcome> = results.into_iter().flatten().collect::<Result<_, _>>()?;
    Ok(together(outcomes))
}

fn together(outcomes: Vec<Outcome>) -> Replications {
    let estimate = |of: fn(&Outcome) -> f64| {
        // What was stopped is not a sample.
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

impl Estimate {
    /// Of independent samples.
    #[must_use]
    pub fn of(samples: &[f64]) -> Self {
        let count = samples.len() as f64;
        if samples.is_empty() {
            return Self { mean: 0.0, half_width: f64::INFINITY };
        }
        let mean = samples.iter().sum::<f64>() / count;
        if samples.len() == 1 {
            return Self { mean, half_width: f64::INFINITY };
        }
        let squares: f64 = samples.iter().map(|sample| (sample - mean).powi(2)).sum();
        let error = (squares / (count - 1.0) / count).sqrt();
        Self { mean, half_width: error * student_t(samples.len() - 1) }
    }
}

/// The 97.5 % quantile of Student's t distribution.
fn student_t(degrees: usize) -> f64 {
    const EXACT: [f64; 12] = [
        12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281, 2.2010,
        2.1788,
    ];
    if let Some(exact) = degrees.checked_sub(1).and_then(|at| EXACT.get(at)) {
        return *exact;
    }
    // The expansion around the normal distribution (Abramowitz and Stegun 26.7.5).
    let (z, n) = (1.959_964, degrees as f64);
    let z3 = z * z * z;
    let z5 = z3 * z * z;
    z + (z3 + z) / (4.0 * n)
        + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * n * n)
        + (3.0 * z5 * z * z + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * n * n * n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_widths_are_students() {
        assert_eq!(Estimate::of(&[2.0]), Estimate { mean: 2.0, half_width: f64::INFINITY });
        let estimate = Estimate::of(&[1.0, 2.0, 3.0]);
        assert_eq!(estimate.mean, 2.0);
        assert!((estimate.half_width - 4.3027 / 3.0_f64.sqrt()).abs() < 1e-12);
        for (degrees, value) in [(13, 2.1604), (20, 2.0860), (30, 2.0423), (1000, 1.9623)] {
            assert!((student_t(degrees) - value).abs() < 1e-4, "{degrees}");
        }
    }
}
