//! The expected run time of recorded programs under each candidate.

use super::{Basis, Candidate, Evaluation};
use crate::cluster::Cluster;
use crate::map::NodeGroups;
use crate::placement::Slot;
use crate::statistics::Estimate;
use crate::traffic::{Job, Workload};
use crate::units::Seconds;

/// Communication below this share of the run time is negligible: no placement can gain more.
const NEGLIGIBLE: f64 = 0.01;

/// The error of a predicted gain beyond the noise of the simulation, as a share of the run time, with
/// rates measured on the cluster and the calls replayed. `docs/src/choosing.md` says where it comes from.
const ERROR_REPLAYED: f64 = 0.04;
/// As [`ERROR_REPLAYED`], simulated by clocks.
const ERROR_BY_CLOCKS: f64 = 0.10;
/// As [`ERROR_REPLAYED`], with assumed rates.
const ERROR_ASSUMED: f64 = 0.15;

/// The share by which a simulated run may be longer than the recorded one before the answer says so.
const DISAGREEMENT: f64 = 0.25;

/// A gain below this share of the run time is none: it is told as 0.0 %.
pub(crate) const NO_GAIN: f64 = 0.0005;

/// The expected run time of a recorded program under each candidate: the recorded time plus the
/// simulated difference to the placement of the recorded run, but at least the computing time of the
/// critical rank. After a disturbed run, whose clocks are those of the computing, the simulated time.
///
/// The recorded run counts as placed by the launcher's default if the same ranks shared nodes, and as
/// free of contention at network devices if all ranks were on one node. Otherwise, and after a run in
/// which ranks shared PUs and their waiting for one was not recorded, only ratios are known.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RunTimes {
    /// By candidate. Only their ratios have a meaning if `only_ratios`.
    pub times: Vec<Seconds>,
    /// Why the times are not seconds of a real run.
    pub only_ratios: Option<NoSeconds>,
    /// The computing time of the rank that computes longest, the critical rank; `None` if unknown.
    pub computing: Option<Seconds>,
    /// The simulated and the recorded time of the same placement, if the simulated one is much longer.
    pub disagreement: Option<(Seconds, Seconds)>,
    /// By candidate: the number of its mapping in the evaluation.
    numbers: Vec<usize>,
}

/// Why run times are known as ratios only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoSeconds {
    /// Ranks shared PUs in the recorded run.
    SharedPus,
    /// Other ranks shared nodes in the recorded run.
    OtherNodes,
}

impl NoSeconds {
    /// The reason in words.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::SharedPus => "ranks shared PUs in the recorded run",
            Self::OtherNodes => "other ranks shared nodes in the recorded run",
        }
    }
}

/// The share of run time that a candidate saves against another.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Gain {
    /// The share; negative for a longer run.
    pub share: f64,
    /// Half the width of its 95 % interval: the noise of the simulation, and what it does not model.
    pub error: f64,
}

impl RunTimes {
    /// The run times of candidates of a workload, relative to one of them, the launcher's default.
    /// `None` if not all jobs were recorded, or the candidates were not simulated as closed loops.
    #[must_use]
    pub fn new(
        cluster: &Cluster,
        workload: &Workload,
        slots: &[Slot],
        candidates: &[Candidate],
        evaluation: Option<&Evaluation>,
    ) -> Option<Self> {
        let default = candidates.iter().find(|candidate| candidate.score.launcher_default)?;
        let closed_loop = evaluation.is_some_and(|evaluation| evaluation.rule.closed_loop);
        let wall = recorded_wall(workload).filter(|_| closed_loop)?;
        let finishes: Option<Vec<Seconds>> =
            candidates.iter().map(|candidate| candidate.score.finish).collect();
        let (finishes, of_default) = (finishes?, default.score.finish?);
        let groups = NodeGroups::recorded(cluster, workload, slots);
        let shared = workload.jobs.iter().any(|job| job.seen.shared_pus);
        let computing = computing(workload);
        let least = computing.unwrap_or_default().0;
        // Where the simulated default ends later than the recorded one, its difference counts in
        // proportion.
        let scale = (wall.0 / of_default.0.max(f64::MIN_POSITIVE)).min(1.0);
        let of_difference = |finish: f64| (wall.0 + scale * (finish - of_default.0)).max(least);
        // What the simulation adds to the computing of the clocks comes on top of a run without it.
        let share = workload.jobs.iter().map(Job::computing_share).fold(0.0, f64::max);
        let of_communication = |finish: f64| wall.0 + (finish - share * wall.0).max(0.0);
        // The clocks are those of the computing, so the simulated time is that of an undisturbed run.
        let disturbed = workload.jobs.iter().any(|job| job.seen.undisturbed.is_some());
        let (time, only_ratios): (&dyn Fn(f64) -> f64, _) = match groups {
            _ if disturbed && !shared => (&|finish| finish.max(least), None),
            _ if shared => (&|finish| finish, Some(NoSeconds::SharedPus)),
            Some(groups) if groups.changed(&default.placement) > 0 => {
                (&|finish| finish, Some(NoSeconds::OtherNodes))
            }
            None if default.score.nodes != Some(1) => (&of_communication, None),
            _ => (&of_difference, None),
        };
        let times = finishes.iter().map(|finish| Seconds(time(finish.0))).collect();
        let is_default_again =
            only_ratios.is_none() && !disturbed && (time(of_default.0) - wall.0).abs() < 1e-9;
        let disagreement = Some((of_default, wall)).filter(|(simulated, recorded)| {
            is_default_again && simulated.0 > recorded.0 * (1.0 + DISAGREEMENT)
        });
        let computing = computing.filter(|_| only_ratios.is_none());
        let numbers = candidates.iter().map(|candidate| candidate.number).collect();
        Some(Self { times, only_ratios, computing, disagreement, numbers })
    }

    /// The share of the run time that candidate `first` saves against `second`.
    #[must_use]
    pub fn gain(
        &self,
        cluster: &Cluster,
        evaluation: &Evaluation,
        (first, second): (usize, usize),
    ) -> Gain {
        let share = 1.0 - self.times[first].0 / self.times[second].0.max(f64::MIN_POSITIVE);
        let noise = match evaluation.by_seeds(self.numbers[first], self.numbers[second]).finish {
            Estimate { half_width, .. } if half_width.is_finite() => half_width,
            // Eliminated after one run, so much worse.
            _ => 0.0,
        };
        Gain { share, error: noise + model_error(cluster, evaluation.basis()) }
    }
}

/// The error of a predicted difference in run time beyond the noise of simulations, as a share of the run time.
pub(crate) fn model_error(cluster: &Cluster, by: Basis) -> f64 {
    match (cluster.rates.calibrated, by) {
        (false, _) => ERROR_ASSUMED,
        (true, Basis::Replay) => ERROR_REPLAYED,
        (true, _) => ERROR_BY_CLOCKS,
    }
}

impl Gain {
    /// Whether it is larger than its error.
    #[must_use]
    pub fn is_proven(&self) -> bool {
        self.share > self.error
    }
}

/// The longest recorded run time of the jobs; `None` unless all are known.
fn recorded_wall(workload: &Workload) -> Option<Seconds> {
    let walls: Option<Vec<Seconds>> = workload.jobs.iter().map(|job| job.seen.wall).collect();
    walls?.into_iter().reduce(|a, b| if a.0 >= b.0 { a } else { b })
}

/// The computing time of the critical rank.
fn computing(workload: &Workload) -> Option<Seconds> {
    let longest =
        |job: &Job| job.compute.iter().copied().reduce(|a, b| if a.0 >= b.0 { a } else { b });
    let of_jobs: Option<Vec<Seconds>> = workload.jobs.iter().map(longest).collect();
    of_jobs?.into_iter().reduce(|a, b| if a.0 >= b.0 { a } else { b })
}

/// The share of the recorded run time in which the critical rank communicates, if it is so small that
/// no placement helps. Time in libraries beside MPI counts as computing, so with them it is unknown; after a
/// disturbed run, too.
#[must_use]
pub fn negligible_communication(workload: &Workload) -> Option<f64> {
    let (wall, computing) = (recorded_wall(workload)?, computing(workload)?);
    if workload.jobs.iter().any(|job| job.seen.undisturbed.is_some()) {
        return None;
    }
    let share = (1.0 - computing.0 / wall.0).clamp(0.0, 1.0);
    let beside_mpi = workload.jobs.iter().any(|job| !job.seen.beside_mpi.is_empty());
    (!beside_mpi && share <= NEGLIGIBLE).then_some(share)
}
