//! The mappings of all requested strategies and of those they start from, without duplicates.

use super::run::{Limits, StrategyRun, run};
use super::{ChooseOptions, PlanError, has_message_timing};
use crate::choose::PlacedMapping;
use crate::map::{DeviceMapping, MapError, Problem, Role, Strategy, StrategyId};
use crate::parallel;
use crate::placement::{GpuUse, JobShape, Mapping, Placement};
use crate::rails;

/// The mappings, and which strategy proposed which.
pub(super) struct Mappings {
    /// The different mappings.
    placed: Vec<PlacedMapping>,
    /// By strategy: first independent strategies, then those that start from other mappings.
    proposals: Vec<Proposals>,
}

/// The proposals of a strategy.
struct Proposals {
    strategy: StrategyId,
    /// Number of moves that its search tried.
    moves: u64,
    /// Indices in [`Mappings::placed`], or why there are none.
    numbers: Result<Vec<usize>, PlanError>,
}

/// A mapping that a strategy proposed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Proposed<'a> {
    pub(super) strategy: &'a StrategyId,
    /// Number of moves that its search tried.
    pub(super) moves: u64,
    /// Index in [`Mappings::placed`].
    pub(super) number: usize,
}

/// The key by which mappings differ: slots and devices, and whether ranks are bound.
type Key<'a> = (&'a DeviceMapping, bool);

impl Mappings {
    pub(super) fn new(problem: &Problem, strategies: &[Strategy], options: &ChooseOptions) -> Self {
        let (mut proposals, mut others) = (Vec::new(), Vec::new());
        for strategy in strategies {
            match strategy.others() {
                Ok(needed) => others.extend(needed),
                Err(error) => proposals.push(Proposals {
                    strategy: strategy.id().clone(),
                    moves: 0,
                    numbers: Err(error.into()),
                }),
            }
        }
        let mut needed: Vec<&Strategy> = Vec::new();
        for strategy in strategies.iter().chain(&others) {
            if !strategy.chooses() && needed.iter().all(|other| other.id() != strategy.id()) {
                needed.push(strategy);
            }
        }
        let simulated = options.messages > 0 && has_message_timing(problem);
        let selects = !problem.selection().is_none();
        let limits = Limits {
            threads: options.threads,
            clock: options.clock,
            simulated,
            selects,
            launcher_default: options.launcher_default,
            observer: options.observer,
        };
        let mut runs = run(problem, &needed, &limits);
        if options.gpus == GpuUse::Near {
            runs.iter_mut().for_each(|run| order_by_gpu(problem, run, options));
        }
        let mut mappings = Self { placed: Vec::new(), proposals };
        mappings.place(problem, runs, options);
        mappings
    }

    /// Converts the different mappings to placements. A mapping whose ranks cannot be given devices is
    /// left out; if that happens to all mappings of a strategy, the strategy fails.
    fn place(&mut self, problem: &Problem, runs: Vec<StrategyRun>, options: &ChooseOptions) {
        let mut different: Vec<(Key, &StrategyId)> = Vec::new();
        let mut keys_of_runs: Vec<Vec<usize>> = Vec::new();
        for run in &runs {
            let binds = run.strategy.entry().binds;
            let mut number = |mapping| {
                let key = (mapping, binds);
                let equal = different.iter().position(|(other, _)| *other == key);
                equal.unwrap_or_else(|| {
                    different.push((key, &run.strategy));
                    different.len() - 1
                })
            };
            keys_of_runs.push(run.mappings.iter().flatten().map(&mut number).collect());
        }
        let placements =
            parallel::map(&different, options.threads, |at, ((mapping, binds), id)| {
                // Devices may take long to choose. Two are needed where one is for comparison only.
                let selects = mapping.nics.is_none() && !problem.selection().is_none();
                if selects && at >= 2 && options.is_late() && !options.is_launcher_default(id) {
                    let (strategy, error) = ((*id).clone(), MapError::NoTime);
                    return Err(PlanError::Map { strategy, error });
                }
                placement(problem, mapping, (*binds, options), id)
            });
        let mut numbers = Vec::with_capacity(placements.len());
        for (((device_mapping, _), _), placement) in different.iter().zip(&placements) {
            numbers.push(self.placed.len());
            let mapping = device_mapping.mapping.clone();
            let placement = placement.as_ref().ok().cloned();
            self.placed.extend(placement.map(|placement| PlacedMapping { mapping, placement }));
        }
        for (run, keys) in runs.iter().zip(keys_of_runs) {
            let failure = keys.iter().find_map(|key| placements[*key].as_ref().err());
            let placed = keys.iter().filter(|key| placements[**key].is_ok());
            let placed: Vec<usize> = placed.map(|key| numbers[*key]).collect();
            let result = match (&run.mappings, failure) {
                (Err(MapError::Selection(error)), _) => {
                    Err(PlanError::selection(problem.selection(), error.clone()))
                }
                (Err(error), _) => {
                    Err(PlanError::Map { strategy: run.strategy.clone(), error: error.clone() })
                }
                (Ok(_), Some(PlanError::Selection { .. } | PlanError::Map { .. }))
                    if !placed.is_empty() =>
                {
                    Ok(placed)
                }
                (Ok(_), Some(error)) => Err(error.clone()),
                (Ok(_), None) => Ok(placed),
            };
            let (strategy, moves) = (run.strategy.clone(), run.moves);
            self.proposals.push(Proposals { strategy, moves, numbers: result });
        }
    }

    /// The numbers of the mappings in the order in which they should be evaluated: the launcher's
    /// default, those that were searched for by their times, all others.
    pub(super) fn by_promise(&self, options: &ChooseOptions) -> Vec<usize> {
        let urgency = |proposals: &&Proposals| match &proposals.strategy {
            strategy if options.is_launcher_default(strategy) => 0,
            strategy if strategy.entry().role == Role::StartsFromOthers => 1,
            _ => 2,
        };
        let mut proposals: Vec<&Proposals> = self.proposals.iter().collect();
        proposals.sort_by_key(urgency);
        let mut order: Vec<usize> = Vec::new();
        for number in proposals.iter().flat_map(|proposals| proposals.numbers.iter().flatten()) {
            if !order.contains(number) {
                order.push(*number);
            }
        }
        order
    }

    /// The mapping of the launcher's default.
    pub(super) fn of_default(&self, options: &ChooseOptions) -> Option<usize> {
        let mut proposals = self.proposals.iter();
        let default =
            proposals.find(|proposals| options.is_launcher_default(&proposals.strategy))?;
        default.numbers.as_ref().ok()?.first().copied()
    }

    /// Leaves out mappings that there was no time to compare, by their numbers.
    pub(super) fn retain(&mut self, kept: impl Fn(usize) -> bool) {
        let mut new_numbers = Vec::new();
        for number in 0..self.placed.len() {
            let before = new_numbers.iter().flatten().count();
            new_numbers.push(kept(number).then_some(before));
        }
        let mut number = 0..;
        self.placed.retain(|_| number.next().is_some_and(&kept));
        for Proposals { strategy, numbers, .. } in &mut self.proposals {
            let Ok(some) = numbers else { continue };
            let left: Vec<usize> = some.iter().filter_map(|number| new_numbers[*number]).collect();
            if left.is_empty() && !some.is_empty() {
                let (strategy, error) = (strategy.clone(), MapError::NoTime);
                *numbers = Err(PlanError::Map { strategy, error });
            } else {
                *some = left;
            }
        }
    }

    /// All different mappings.
    pub(super) fn placed(&self) -> &[PlacedMapping] {
        &self.placed
    }

    pub(super) fn mapping(&self, proposed: &Proposed) -> &Mapping {
        &self.placed[proposed.number].mapping
    }

    pub(super) fn placement(&self, proposed: &Proposed) -> &Placement {
        &self.placed[proposed.number].placement
    }

    /// The proposals of all strategies.
    pub(super) fn proposed(&self) -> impl Iterator<Item = Proposed<'_>> {
        self.proposals.iter().flat_map(|proposals| {
            let numbers = proposals.numbers.iter().flatten().copied();
            let (strategy, moves) = (&proposals.strategy, proposals.moves);
            numbers.map(move |number| Proposed { strategy, moves, number })
        })
    }

    /// The proposals of a strategy.
    pub(super) fn of(&self, strategy: &Strategy) -> Vec<Proposed<'_>> {
        self.proposed().filter(|proposed| proposed.strategy == strategy.id()).collect()
    }

    /// An error if a strategy failed.
    pub(super) fn failure(&self, strategy: &Strategy) -> Result<(), PlanError> {
        self.first_failure(|proposals| proposals.strategy == *strategy.id())
    }

    /// An error if any strategy failed.
    pub(super) fn any_failure(&self) -> Result<(), PlanError> {
        self.first_failure(|_| true)
    }

    fn first_failure(&self, wanted: impl Fn(&Proposals) -> bool) -> Result<(), PlanError> {
        let mut wanted = self.proposals.iter().filter(|proposals| wanted(proposals));
        let failure = wanted.find_map(|proposals| proposals.numbers.as_ref().err());
        failure.map_or(Ok(()), |error| Err(error.clone()))
    }
}

/// A mapping as a placement with network devices.
fn placement(
    problem: &Problem,
    placed: &DeviceMapping,
    (binds, options): (bool, &ChooseOptions),
    strategy: &StrategyId,
) -> Result<Placement, PlanError> {
    let (cluster, shapes) = (problem.cluster, JobShape::of(problem.workload));
    let (name, slot_of) = (strategy.to_string(), placed.mapping.as_indices());
    let bound = Placement::from_slots(cluster, &shapes, &name, problem.slots(), slot_of)?;
    let placement = if binds { bound } else { bound.unbound(cluster) };
    let selection = problem.selection();
    let placement = match &placed.nics {
        Some(nics) => placement.with_devices(cluster, nics.clone())?,
        None if selection.is_none() => placement,
        None => rails::select(cluster, problem.workload, placement, selection)
            .map_err(|error| PlanError::selection(selection, error))?,
    };
    Ok(rails::gpus::assign(cluster, placement, options.gpus, options.gpus_per_rank)?)
}

/// Lets the ranks of each node exchange slots so that each is near the GPU that it takes. Those whose
/// devices were chosen with their slots get others then.
fn order_by_gpu(problem: &Problem, run: &mut StrategyRun, options: &ChooseOptions) {
    let shapes = JobShape::of(problem.workload);
    for placed in run.mappings.iter_mut().flatten() {
        let (cluster, slots, each) = (problem.cluster, problem.slots(), options.gpus_per_rank);
        let ordered = rails::gpus::ordered(cluster, &shapes, slots, &placed.mapping, each);
        if ordered != placed.mapping {
            *placed = DeviceMapping::from(ordered);
        }
    }
}
