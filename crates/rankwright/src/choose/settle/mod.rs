//! Settling by simulation which of several answers is best.
//!
//! All answers are simulated with the same clocks: the seed decides when ranks send, whatever their
//! places (common random numbers). A run of all messages with every answer comes first where that is
//! affordable: near saturation a short run misleads, because there waiting grows with the square of
//! the run in some placements and in proportion to it in others. Where it is not, shorter runs of all
//! go before longer ones of the better half; the fluid says by how much a short run falls short. Then
//! those that are left are run again with other seeds, until one is left or the seeds are at an end;
//! after each run those that are clearly worse drop out.
//!
//! How much is simulated is counted in messages, so that the result is the same on every machine and
//! for any number of threads.

mod measures;
mod race;
mod run;

use std::num::NonZeroUsize;
use std::ops::ControlFlow;

pub use measures::{Measure, Settled, Times, Versus};

use crate::estimate::{Fluid, FluidOutcome};
use crate::map::{Clock, Cost, Criterion, Objective, Problem};
use crate::placement::{Mapping, Placement};
use crate::sim::{Options, Pacing, SimulationError};
use crate::traffic::Workload;
use race::Race;

/// An answer that is judged.
#[derive(Debug, Clone, Copy)]
pub struct Contender<'a> {
    /// The slot of each rank, among those of the problem.
    pub slot_of: &'a [usize],
    /// The same as a placement.
    pub placement: &'a Placement,
}

/// How much is simulated, and what counts.
#[derive(Clone, Copy)]
pub struct Settling<'a> {
    /// What should be small.
    pub objective: Objective,
    /// What is simulated beside the workload. Its seed is that of the search: the runs draw from
    /// seeds of 2^63 and more that follow from it, so no run has a seed that anybody judges the
    /// result by and that is smaller.
    pub simulation: Options,
    /// How many messages may be simulated in all, over all answers and runs.
    pub messages: u64,
    /// With how many seeds an answer is simulated at most; 16 times as many where that takes little of
    /// the messages.
    pub seeds: usize,
    /// How many simulations may run at the same time.
    pub threads: NonZeroUsize,
    /// An end by time instead; the result then depends on the machine.
    pub clock: Option<&'a Clock<'a>>,
    /// Told from several threads how many messages have been simulated; when it breaks, all stop.
    pub observer: &'a Observer<'a>,
}

impl Settling<'_> {
    /// By what answers to a problem are compared.
    pub(super) fn criterion(&self, problem: &Problem) -> Criterion {
        let closed_loop = self.simulation.pacing != Pacing::Open;
        Criterion { objective: self.objective, closed_loop, ranks: problem.rank_count() }
    }
}

/// Is told how many messages have been simulated, and may end it.
pub type Observer<'a> = dyn Fn(u64) -> ControlFlow<()> + Sync + 'a;

/// Why nothing is settled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unsettled {
    /// It cannot be simulated.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// Even a few messages of each rank with every answer are more than may be simulated.
    #[error("simulating it takes more messages than allowed")]
    TooMany,
    /// The time was over before every answer had been simulated once.
    #[error("the time was over before every answer had been simulated")]
    Late,
    /// The observer stopped it.
    #[error("interrupted")]
    Stopped,
}

/// Settles which of several answers is best.
///
/// No answer is better than the winner by the measures that are returned.
///
/// # Errors
/// If the workload cannot be simulated or the budget does not allow it, or the observer stops it.
///
/// # Panics
/// If there is no answer.
pub fn settle(
    problem: &Problem,
    contenders: &[Contender],
    settling: &Settling,
) -> Result<Settled, Unsettled> {
    assert!(!contenders.is_empty(), "an answer to judge");
    Race::new(problem, contenders, settling).run()
}

/// What the fluid says of several answers, with a part of the workload or all of it; `None` if a slot
/// does not exist.
fn fluid_of(
    problem: &Problem,
    workload: &Workload,
    contenders: &[Contender],
) -> Option<Vec<FluidOutcome>> {
    if !problem.selection().is_none() {
        // Two answers may differ in their devices alone.
        let of = |contender: &Contender| {
            Fluid::of_placement(problem.cluster, workload, contender.placement).ok()
        };
        return contenders.iter().map(of).collect();
    }
    let mut fluid = Fluid::new(problem.cluster, workload, problem.slots()).ok()?;
    Some(
        contenders
            .iter()
            .map(|contender| fluid.evaluate(&Mapping::from(contender.slot_of)))
            .collect(),
    )
}

/// What the model says of several answers: the waiting in a fluid, in an open loop. `None` if a slot
/// does not exist.
///
/// # Panics
/// If there is no answer.
#[must_use]
pub fn predict(
    problem: &Problem,
    contenders: &[Contender],
    criterion: Criterion,
) -> Option<Settled> {
    let outcomes = fluid_of(problem, problem.workload, contenders)?;
    let times: Vec<Times> = outcomes.iter().map(Times::from).collect();
    let costs: Vec<Cost> = times.iter().map(Times::cost).collect();
    let losses = criterion.losses(&costs);
    let measure = |((times, loss), predicted)| Measure {
        times,
        loss,
        runs: Vec::new(),
        predicted: Some(predicted),
    };
    Some(Settled {
        best: criterion.best(&costs),
        measures: times.into_iter().zip(losses).zip(outcomes).map(measure).collect(),
        share: 0.0,
        simulated: 0,
        criterion,
    })
}
