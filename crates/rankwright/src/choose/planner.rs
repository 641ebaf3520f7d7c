//! From a cluster and a workload to a placement.

use std::fmt;
use std::num::NonZeroUsize;

use super::{
    Candidate, ChooseOptions, Evaluation, Gain, NotSimulated, Observer, PlanError,
    RankedCandidates, RunTimes, candidates, negligible_communication, rank_candidates,
};
use crate::cluster::Cluster;
use crate::map::{
    Clock, DEFAULT_BALANCE, Effort, GroupOrigin, MAPPERS, NodeGroups, Problem, Strategy, StrategyId,
};
use crate::placement::{GpuUse, Granularity, Placement, RanksPer};
use crate::rails::Selection;
use crate::rails::gpus::{FarGpus, far_gpus};
use crate::ranking::{Objective, ObjectiveRule};
use crate::sim::{Options, Pacing};
use crate::traffic::Workload;

/// Plans where the ranks of a workload run on a cluster: runs strategies, evaluates their mappings,
/// ranks them.
///
/// What is not set is as in `rankwright place`: all strategies, one core for each rank, no choice of
/// network devices, objective [`Balanced`](Objective::Balanced), effort [`Normal`](Effort::Normal).
#[derive(Clone)]
pub struct Planner<'a> {
    cluster: &'a Cluster,
    workload: &'a Workload,
    strategies: Option<&'a [Strategy]>,
    granularity: Granularity,
    selection: Selection,
    node_groups: Option<GroupOrigin>,
    balance: f64,
    effort: Option<Effort>,
    options: ChooseOptions<'a>,
}

impl fmt::Debug for Planner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Planner")
            .field("cluster", &self.cluster.name)
            .field("workload", &self.workload.name)
            .field("strategies", &self.strategies)
            .finish_non_exhaustive()
    }
}

/// A placement, and why this one.
#[derive(Debug)]
#[non_exhaustive]
pub struct Plan {
    /// Where the ranks of the best candidate run. [`Candidate::file`] gives it names.
    pub placement: Placement,
    /// The candidates by position in `candidates`, the best first.
    pub ranking: RankedCandidates,
    /// The candidate of each strategy that has one.
    pub candidates: Vec<Candidate>,
    /// The strategies without a candidate, and why.
    pub left_out: Vec<(StrategyId, PlanError)>,
    /// The times of all different mappings, where message timing is known.
    pub evaluation: Option<Evaluation>,
    /// Why mappings were not simulated, where they should have been.
    pub not_simulated: Option<NotSimulated>,
    /// Whether the observer ended the search or the simulation ([`Planner::observer`]).
    pub stopped: bool,
    /// By what candidates are compared where their times are known.
    pub rule: ObjectiveRule,
    /// The expected run times of the candidates, where the program was recorded.
    pub run_times: Option<RunTimes>,
    /// The ranks of the best candidate whose GPU is on another package.
    #[doc(hidden)]
    pub far_gpus: Option<FarGpus>,
}

impl Plan {
    /// The best candidate.
    #[must_use]
    pub fn best(&self) -> &Candidate {
        &self.candidates[self.ranking.best()]
    }
}

impl<'a> Planner<'a> {
    /// A planner with everything as in `rankwright place`. Ranks of recorded runs wait for their
    /// messages before they send more, others send by their clocks alone
    /// ([`simulation`](Self::simulation) says otherwise).
    #[must_use]
    pub fn new(cluster: &'a Cluster, workload: &'a Workload) -> Self {
        let pacing = if workload.is_recorded() { Pacing::AfterArrival } else { Pacing::Open };
        let simulation = Options { pacing, ..Options::default() };
        Self {
            cluster,
            workload,
            strategies: None,
            granularity: Granularity::Cores(1),
            selection: Selection::NONE,
            node_groups: None,
            balance: DEFAULT_BALANCE,
            effort: None,
            options: ChooseOptions { simulation, evaluate_all: true, ..ChooseOptions::default() },
        }
    }

    /// Where it is placed.
    #[must_use]
    pub fn cluster(&self) -> &'a Cluster {
        self.cluster
    }

    /// What is placed.
    #[must_use]
    pub fn workload(&self) -> &'a Workload {
        self.workload
    }

    /// Only these strategies, in this order.
    #[must_use]
    pub fn strategies(mut self, strategies: &'a [Strategy]) -> Self {
        self.strategies = Some(strategies);
        self
    }

    /// The strategy that places as the launcher does by default
    /// ([`Launcher::default_strategy`](crate::launch::Launcher::default_strategy)), one of the
    /// strategies; by default `blocked`. A `reference` is evaluated for comparison and cannot win.
    #[must_use]
    pub fn launcher_default(mut self, strategy: &'a StrategyId, reference: bool) -> Self {
        self.options.launcher_default = Some(strategy);
        self.options.default_is_reference = reference;
        self
    }

    /// What each rank gets: whole cores or a PU.
    #[must_use]
    pub fn granularity(mut self, granularity: Granularity) -> Self {
        self.granularity = granularity;
        self
    }

    /// Chooses network devices of each rank too.
    #[must_use]
    pub fn devices(mut self, selection: Selection) -> Self {
        self.selection = selection;
        self
    }

    /// How the ranks use GPUs; by default not at all.
    #[must_use]
    pub fn gpus(mut self, gpus: GpuUse) -> Self {
        self.options.gpus = gpus;
        self
    }

    /// Only placements where the ranks that shared a node still do and no others join them: as in the
    /// recorded runs, or in block order.
    #[must_use]
    pub fn keep_node_groups(mut self, origin: GroupOrigin) -> Self {
        self.node_groups = Some(origin);
        self
    }

    /// By what share the rank that computes longest may take longer than it must, where nodes differ in
    /// speed.
    #[must_use]
    pub fn balance(mut self, share: f64) -> Self {
        self.balance = share;
        self
    }

    /// What should be small, where message timing is known.
    #[must_use]
    pub fn objective(mut self, objective: Objective) -> Self {
        self.options.objective = objective;
        self
    }

    /// How long strategies search and how much is simulated, counted in work.
    #[must_use]
    pub fn effort(mut self, effort: Effort) -> Self {
        self.effort = Some(effort);
        self
    }

    /// A limit by the clock instead of an effort: the share of the time that has passed. The result
    /// then depends on the machine.
    #[must_use]
    pub fn clock(mut self, clock: Option<&'a Clock<'a>>) -> Self {
        self.options.clock = clock;
        self
    }

    /// How many strategies or simulations run at the same time. The result does not depend on it.
    #[must_use]
    pub fn threads(mut self, threads: NonZeroUsize) -> Self {
        self.options.threads = threads;
        self
    }

    /// How mappings are simulated: seed, loop, clocks.
    #[must_use]
    pub fn simulation(mut self, simulation: Options) -> Self {
        self.options.simulation = simulation;
        self
    }

    /// Whether all mappings are evaluated even if no strategy needs that; by default they are.
    #[must_use]
    pub fn evaluate_all(mut self, all: bool) -> Self {
        self.options.evaluate_all = all;
        self
    }

    /// A function that gets what is being done and may end it: the plan is then the best so far.
    #[must_use]
    pub fn observer(mut self, observer: &'a Observer<'a>) -> Self {
        self.options.observer = observer;
        self
    }

    /// Plans the placement.
    ///
    /// # Errors
    /// If the ranks or their devices do not fit, or every strategy fails.
    pub fn plan(&self) -> Result<Plan, PlanError> {
        self.plan_in(Problem::new(self.cluster, self.workload, self.granularity.clone())?)
    }

    /// As [`plan`](Self::plan), for a problem with a choice of slots of its own, perhaps on a part of
    /// the cluster. Devices, groups of ranks, balance and loop of the planner apply to it.
    ///
    /// # Errors
    /// As [`plan`](Self::plan).
    pub fn plan_in(&self, problem: Problem) -> Result<Plan, PlanError> {
        let problem = self.under_conditions(problem)?;
        let usual;
        let strategies = match self.strategies {
            Some(strategies) => strategies,
            None => {
                usual = self.usual_strategies()?;
                &usual
            }
        };
        let options = self.choose_options(problem.rank_count());
        let made = candidates(&problem, strategies, &options);
        let (mut candidates, mut left_out) = (Vec::new(), Vec::new());
        for (strategy, result) in strategies.iter().zip(made.results) {
            match result {
                Ok(candidate) => candidates.push(candidate),
                Err(error) => left_out.push((strategy.id().clone(), error)),
            }
        }
        if candidates.iter().all(|candidate| candidate.score.reference) {
            let first = left_out.into_iter().next();
            return Err(first.map_or(PlanError::NoStrategy, |(_, error)| error));
        }
        let mut ranking = rank_candidates(&candidates, made.evaluation.as_ref());
        let run_times = RunTimes::new(
            self.cluster,
            self.workload,
            problem.slots(),
            &candidates,
            made.evaluation.as_ref(),
        );
        let of_best = || {
            let default = candidates.iter().position(|candidate| candidate.score.launcher_default);
            let (times, evaluation) = (run_times.as_ref()?, made.evaluation.as_ref()?);
            Some(times.gain(self.cluster, evaluation, (ranking.best(), default?)))
        };
        if self.gains_nothing(of_best()) {
            ranking = ranking.with_default_best();
        }
        let placement = candidates[ranking.best()].placement.clone();
        Ok(Plan {
            far_gpus: far_gpus(self.cluster, &placement),
            placement,
            ranking,
            candidates,
            left_out,
            evaluation: made.evaluation,
            not_simulated: made.not_simulated,
            stopped: made.stopped,
            rule: options.rule(&problem),
            run_times,
        })
    }

    /// Whether the best candidate, which saves a share of the run time, is not known to be better than the
    /// launcher's default. The run times of a program with traffic beside MPI are unknown.
    fn gains_nothing(&self, of_best: Option<Gain>) -> bool {
        let beside_mpi = self.workload.jobs.iter().any(|job| !job.seen.beside_mpi.is_empty());
        let wants_time = self.options.objective != Objective::Waiting && !beside_mpi;
        negligible_communication(self.workload).is_some()
            || (wants_time && of_best.is_some_and(|gain| !gain.is_proven()))
    }

    /// All strategies that take part in every comparison.
    fn usual_strategies(&self) -> Result<Vec<Strategy>, PlanError> {
        let usual = MAPPERS.iter().filter(|entry| entry.role.is_candidate());
        let strategy = |name: &str| -> Result<Strategy, PlanError> {
            let mut strategy: Strategy = name.parse()?;
            if let Some(effort) = self.effort {
                strategy = strategy.with_default("effort", effort.name())?;
            }
            if self.options.objective != Objective::default() {
                strategy =
                    strategy.with_default("objective", &self.options.objective.to_string())?;
            }
            Ok(strategy)
        };
        usual.map(|entry| strategy(entry.name)).collect()
    }

    /// Devices before groups of ranks: groups need to know which slots are left.
    fn under_conditions<'p>(&self, problem: Problem<'p>) -> Result<Problem<'p>, PlanError> {
        let selected = problem.with_selection(self.selection.clone());
        let mut problem = selected.map_err(|error| PlanError::selection(&self.selection, error))?;
        if let Some(origin) = self.node_groups {
            let (cluster, workload, slots) = (problem.cluster, problem.workload, problem.slots());
            let recorded = match origin {
                GroupOrigin::Recorded => NodeGroups::recorded(cluster, workload, slots),
                GroupOrigin::BlockOrder => None,
            };
            let groups =
                recorded.unwrap_or_else(|| NodeGroups::in_block_order(cluster, workload, slots));
            problem = problem.keeping(groups)?;
        }
        let closed_loop = self.options.simulation.pacing != Pacing::Open;
        Ok(problem.with_balance(self.balance).with_closed_loop(closed_loop))
    }

    fn choose_options(&self, ranks: usize) -> ChooseOptions<'a> {
        let (messages, seeds) = self.simulated(ranks);
        let gpus_per_rank = match self.granularity {
            Granularity::Part { ranks: RanksPer::Gpus { gpus, .. }, .. } => gpus.get() as usize,
            _ => 1,
        };
        ChooseOptions { messages, seeds, gpus_per_rank, ..self.options }
    }

    /// How many messages may be simulated to choose among candidates, and with how many seeds. In
    /// closed loops and with very many ranks a message takes longer, so there are fewer.
    fn simulated(&self, ranks: usize) -> (u64, usize) {
        let (messages, seeds): (u64, usize) = match (self.options.clock, self.effort) {
            (Some(_), _) => return (u64::MAX, 10),
            (None, Some(Effort::Fast)) => return (0, 0),
            (None, Some(Effort::Best)) => (2_000_000_000, 10),
            (None, Some(Effort::Normal) | None) => (100_000_000, 3),
        };
        let closed_loop = self.options.simulation.pacing != Pacing::Open;
        let messages = if closed_loop { messages / 5 } else { messages };
        (messages * 2000 / (ranks as u64).max(2000), seeds)
    }
}
