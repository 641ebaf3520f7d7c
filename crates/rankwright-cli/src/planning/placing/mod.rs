//! Placing a workload: its options, and the way from them to a plan, for `place` and `report`.

mod launcher;

use clap::Args;
use rankwright::choose::{
    Plan, Planner, SharingError, SharingMode, granularity_of_tasks, together_and_apart,
};
use rankwright::cluster::Cluster;
use rankwright::launch::{Launcher, ProgramLine};
use rankwright::map::Strategy;
use rankwright::placement::{Granularity, Placement, PlacementFile, digest};
use rankwright::report::{Comparison, LauncherDefault, Weakness};
use rankwright::traffic::Workload;
use rankwright::units::counted;

pub(crate) use launcher::LauncherOptions;

use super::plan::Planning;
use super::{devices, launcher_default};
use crate::host::batch_job;
use crate::options::{
    ClusterOptions, NodeGroupOptions, ProgramsOption, RankSize, SearchOptions, SelectionOptions,
    SimulationOptions, inputs,
};
use crate::output::exit_code::Infeasible;
use crate::output::progress::ProgressLine;
use crate::output::{self, Verbosity};

/// What is placed where, and how.
#[derive(Debug, Args)]
pub(crate) struct PlacingOptions {
    #[arg(required = true, value_name = "WORKLOAD", help = inputs::WORKLOAD_HELP)]
    pub(crate) workloads: Vec<String>,
    #[command(flatten)]
    pub(crate) cluster: ClusterOptions,
    /// Strategies to try, separated by commas, like blocked,drb:seed=3 [default: all]
    #[arg(long, value_name = "LIST", alias = "strategy")]
    strategies: Option<String>,
    /// How jobs share nodes: exclusive-full, exclusive-half (half of the cores of twice as many nodes),
    /// shared, shared:K (K jobs per node), shared:apart (on sockets of their own) [default: of several
    /// jobs whichever is best]
    #[arg(long, value_name = "MODE", conflicts_with = "strategies")]
    share: Option<SharingMode>,
    #[command(flatten)]
    pub(crate) rank_size: RankSize,
    #[command(flatten)]
    pub(crate) search: SearchOptions,
    #[command(flatten)]
    node_groups: NodeGroupOptions,
    #[command(flatten)]
    pub(crate) selection: SelectionOptions,
    #[command(flatten)]
    programs: ProgramsOption,
    #[command(flatten)]
    pub(crate) simulation: SimulationOptions,
}

/// A workload on the nodes that it is to use.
#[derive(Debug)]
pub(crate) struct Job {
    /// The cluster with all its nodes.
    pub(crate) whole: Cluster,
    /// The nodes to use.
    pub(crate) cluster: Cluster,
    pub(crate) workload: Workload,
    /// What each rank gets.
    pub(crate) granularity: Granularity,
    pub(crate) strategies: Vec<Strategy>,
    /// Recorded runs whose traffic is not steady.
    pub(crate) unsteady: Vec<Weakness>,
}

impl PlacingOptions {
    /// The strategies to try, before the jobs are known.
    pub(crate) fn strategies(&self) -> anyhow::Result<Vec<Strategy>> {
        self.search.strategies(self.strategies.as_deref())
    }

    /// Refuses workloads that are something else, before anything is read.
    pub(crate) fn refuse_misplaced(&self) -> anyhow::Result<()> {
        inputs::refuse_misplaced(&self.workloads, self.cluster.name())
    }

    /// Reads the workload and chooses the nodes. `line` has the programs, if the user gave them.
    ///
    /// # Errors
    /// If the workload cannot be read, or its ranks do not fit.
    pub(crate) fn job(
        &mut self,
        whole: Cluster,
        usual: Vec<Strategy>,
        line: Option<&ProgramLine>,
        verbosity: &Verbosity,
    ) -> anyhow::Result<Job> {
        self.selection = self.selection.on(&whole, &self.rank_size)?;
        devices::require_devices(&whole, &self.selection.nics())?;
        let workload = self.workload(verbosity)?;
        let watching = ProgressLine::new(verbosity, "looking whether the traffic is steady");
        let unsteady = Weakness::of_unsteady_traffic(&workload.jobs);
        drop(watching);
        let strategies = self.with_modes(usual, workload.jobs.len())?;
        let ranks = workload.rank_count();
        let of_programs = self.programs.granularity(line, ranks, &self.rank_size)?;
        let granularity = match of_programs {
            Some(of_programs) => of_programs,
            None => self.granularity(&whole, ranks, verbosity),
        };
        let cluster = self.cluster.nodes.chosen(&whole, ranks, &granularity, verbosity)?;
        if let Some(mode) = self.share {
            mode.check_sockets(&cluster, workload.jobs.len()).map_err(not_shared)?;
        }
        Ok(Job { whole, cluster, workload, granularity, strategies, unsteady })
    }

    /// Plans a job beside the default of `launcher`, and compares. `entry`: the prefix of a command
    /// that must run on the nodes of a lab; empty for other clusters.
    pub(crate) fn plan(
        &self,
        job: &mut Job,
        launcher: &'static Launcher,
        (keep_best, entry): (bool, &str),
        verbosity: &Verbosity,
    ) -> anyhow::Result<(Plan, Comparison)> {
        let default = self.launcher_default(job, launcher, verbosity)?;
        let job = &*job;
        let planner = default.planner(self.planner(job, verbosity)?);
        let plan = Planning::new(&self.search, verbosity).keep_best(keep_best).plan(&planner)?;
        let mut comparison =
            default.comparison(&plan, &job.cluster, &job.workload, &job.granularity)?;
        if let Some(name) = self.cluster.name_or_default() {
            comparison.answer = comparison.answer.map(|it| it.with_cluster_name(&name, entry));
        }
        if let Some(answer) = &mut comparison.answer {
            answer.weaknesses.extend(job.unsteady.iter().cloned());
        }
        if self.node_groups.keep.is_some() {
            comparison = comparison.with_kept_node_groups();
        }
        Ok((plan, comparison))
    }

    /// The default of `launcher`, added to the strategies of a job.
    pub(crate) fn launcher_default(
        &self,
        job: &mut Job,
        launcher: &'static Launcher,
        verbosity: &Verbosity,
    ) -> anyhow::Result<LauncherDefault> {
        let named = self.strategies.is_some() || self.share.is_some();
        let ranks = job.workload.rank_count();
        let default = launcher_default::strategy(launcher, ranks, verbosity);
        Ok(LauncherDefault::add(&mut job.strategies, launcher, default, named)?)
    }

    /// The planner that the options describe.
    pub(crate) fn planner<'a>(
        &self,
        job: &'a Job,
        verbosity: &Verbosity,
    ) -> anyhow::Result<Planner<'a>> {
        let cluster = &job.cluster;
        let planner = self
            .search
            .planner(cluster, &job.workload, &job.strategies)?
            .granularity(job.granularity.clone())
            .devices(self.selection.nics())
            .gpus(devices::gpu_use(&self.selection, cluster, verbosity))
            .simulation(self.simulation.options(self.search.seed(), &self.workloads));
        Ok(match self.node_groups.keep {
            Some(keep) => planner.keep_node_groups(keep.origin()),
            None => planner,
        })
    }

    /// The file of a candidate, for the whole cluster.
    ///
    /// # Errors
    /// If the nodes were too few for the way in which jobs are to share them.
    pub(crate) fn file(
        &self,
        job: &Job,
        best: &rankwright::choose::Candidate,
        verbosity: &Verbosity,
    ) -> anyhow::Result<PlacementFile> {
        self.check_sharing(&job.cluster, &best.placement)?;
        let (cluster, workload) = (&job.cluster, &job.workload);
        let mut file =
            devices::placement_file(&self.selection, cluster, workload, best, verbosity)?;
        file.cluster.digest = digest(&job.whole);
        Ok(file)
    }

    fn check_sharing(&self, cluster: &Cluster, placement: &Placement) -> Result<(), Infeasible> {
        self.share.map_or(Ok(()), |mode| mode.check(cluster, placement)).map_err(not_shared)
    }

    /// The strategies for this number of jobs: that of --share alone; for several jobs also those that
    /// keep them together or apart.
    fn with_modes(&self, mut usual: Vec<Strategy>, jobs: usize) -> anyhow::Result<Vec<Strategy>> {
        if let Some(mode) = self.share {
            return Ok(vec![mode.strategy()?]);
        }
        if jobs > 1 && self.strategies.is_none() {
            usual.extend(together_and_apart()?);
        }
        Ok(usual)
    }

    /// What each rank gets: by the options; else, in a batch job, as it has tasks.
    fn granularity(&self, whole: &Cluster, ranks: usize, verbosity: &Verbosity) -> Granularity {
        let by_options = self.rank_size.is_given() || self.cluster.nodes.is_given();
        let job = batch_job::task_shares().filter(|_| !by_options && !whole.invented);
        let tasks = batch_job::slurm_tasks();
        if let (Some((title, _)), Some(tasks)) = (&job, tasks.filter(|tasks| *tasks != ranks)) {
            let text = format!(
                "{title} was asked for {tasks} tasks, the workload has {}: srun starts {tasks} unless it gets \
                 -n {ranks}",
                counted(ranks, "rank")
            );
            output::warn(verbosity, text);
        }
        let of_job = job.and_then(|(title, shares)| {
            Some((title, granularity_of_tasks(whole, ranks, &shares)?))
        });
        let Some((title, granularity)) = of_job else { return self.rank_size.granularity() };
        let tasks = std::env::var("SLURM_TASKS_PER_NODE").unwrap_or_default();
        let text = format!(
            "ranks per node as {title} has tasks (SLURM_TASKS_PER_NODE={tasks}); --ranks-per-node or \
             --nodes overrides it"
        );
        output::note(verbosity, text);
        granularity
    }

    /// All jobs together.
    fn workload(&self, verbosity: &Verbosity) -> anyhow::Result<Workload> {
        if let [name] = self.workloads.as_slice() {
            return inputs::workload(name, verbosity);
        }
        let workloads = self.workloads.iter().map(|name| inputs::workload(name, verbosity));
        Ok(Workload::together(workloads.collect::<anyhow::Result<Vec<_>>>()?))
    }
}

fn not_shared(error: SharingError) -> Infeasible {
    Infeasible(format!("--share: {error}"))
}
