//! The nodes of a job, and its placement on them.

use rankwright::choose::Planner;
use rankwright::cluster::{Cluster, hostlist};
use rankwright::launch::{Launcher, ProgramLine};
use rankwright::map::Effort;
use rankwright::placement::{
    GpuUse, Granularity, PREDICTED_RUN_TIME, PlacementError, PlacementFile,
};
use rankwright::report::{Answer, LauncherDefault};
use rankwright::sim::{Options, Pacing};
use rankwright::traffic::Workload;

use super::nodes::{self, GrantedNodes};
use super::options::PlacingOptions;
use super::strategies;
use crate::host::batch_job::BatchJob;
use crate::host::mpi::launcher::Profiled;
use crate::host::signals::termination::ended_by_sigterm;
use crate::host::this_host::usable_pus;
use crate::options::{NodesOption, SelectionOptions};
use crate::output::exit_code::Infeasible;
use crate::output::{Verbosity, note};
use crate::planning::{devices, launcher_default, plan};

/// A workload and the nodes to place it on.
pub(crate) struct Allocation {
    cluster: Cluster,
    /// The digest of the cluster that it is a part of.
    described: String,
    workload: Workload,
    granularity: Granularity,
    /// The selection of network devices.
    selection: SelectionOptions,
    /// How the ranks use GPUs.
    gpus: GpuUse,
    effort: Effort,
    /// Hosts that are granted in part, without numbers of the granted PUs.
    in_part: Vec<String>,
    /// What to do where they have too few cores.
    larger: &'static str,
}

impl Allocation {
    /// Finds the nodes for a workload.
    ///
    /// # Errors
    /// If the nodes are unknown, or the profile does not have the `wanted` number of ranks.
    pub(crate) fn new(
        options: &PlacingOptions,
        workload: Workload,
        (wanted, line): (Option<usize>, &ProgramLine),
        batch: Option<&BatchJob>,
        verbosity: &Verbosity,
    ) -> anyhow::Result<Self> {
        let ranks = workload.rank_count();
        if let Some(wanted) = wanted.filter(|wanted| *wanted != ranks) {
            let name = options.profile.as_deref().unwrap_or_default();
            let why =
                format!("{name} is a profile of {ranks} ranks, but {wanted} are to be started");
            return Err(Infeasible(why).into());
        }
        let GrantedNodes { cluster, described, in_part } =
            nodes::cluster(options, batch, verbosity)?;
        let of_programs = options.programs.granularity(Some(line), ranks, &options.rank_size)?;
        let granularity = |cluster: &Cluster| match &of_programs {
            Some(of_programs) => of_programs.clone(),
            None => nodes::granularity(options, cluster, ranks, batch),
        };
        let cluster = match &options.nodes {
            Some(nodes) => NodesOption::new(nodes)?.chosen(
                &cluster,
                ranks,
                &granularity(&cluster),
                verbosity,
            )?,
            None => cluster,
        };
        let selection = options.selection.on(&cluster, &options.rank_size)?;
        devices::require_devices(&cluster, &selection.nics())?;
        let granularity = granularity(&cluster);
        let gpus = devices::gpu_use(&selection, &cluster, verbosity);
        let effort = options.effort;
        let larger = match (&options.hostfile, batch) {
            (Some(_), _) => "list more hosts in the hostfile",
            (None, Some(_)) => "ask the batch system for more cores or nodes",
            (None, None) => {
                "start it in a batch job, list hosts (--hostfile), or emulate them (`rankwright lab`)"
            }
        };
        let nodes = Self {
            cluster,
            described,
            workload,
            granularity,
            selection,
            gpus,
            effort,
            in_part,
            larger,
        };
        Ok(nodes)
    }

    /// The MPI library that the program was profiled with, and the number of its ranks.
    pub(crate) fn profiled(&self) -> Profiled<'_> {
        let mpi_library = self.workload.jobs.first().map_or("", |job| job.mpi_library.as_str());
        Profiled { mpi_library, ranks: Some(self.ranks()) }
    }

    /// The workload.
    pub(crate) fn into_workload(self) -> Workload {
        self.workload
    }

    /// The number of ranks.
    pub(crate) fn ranks(&self) -> usize {
        self.workload.rank_count()
    }

    /// The placement by a strategy; without a name, the best of those that the effort allows and the
    /// default of `launcher`. With what it gains against that default.
    ///
    /// # Errors
    /// If the strategy does not exist, or the cluster has too few slots or not the wanted devices.
    pub(crate) fn placement(
        &self,
        strategy: Option<&str>,
        launcher: &'static Launcher,
        verbosity: &Verbosity,
    ) -> anyhow::Result<(PlacementFile, Option<Answer>)> {
        let mut strategies = match strategy {
            Some(name) => vec![strategies::strategy(name, self.effort)?],
            None => strategies::tried(&self.workload, self.effort)?,
        };
        let named = strategy.is_some();
        let default = launcher_default::strategy(launcher, self.ranks(), verbosity);
        let default = LauncherDefault::add(&mut strategies, launcher, default, named)?;
        let simulation = Options { pacing: Pacing::AfterArrival, ..Options::default() };
        let planner = Planner::new(&self.cluster, &self.workload)
            .strategies(&strategies)
            .granularity(self.granularity.clone())
            .devices(self.selection.nics())
            .gpus(self.gpus)
            .effort(self.effort)
            .threads(usable_pus())
            .simulation(simulation)
            // With one candidate, an effort that simulates gives it an expected run time, as in `place`.
            .evaluate_all(self.effort != Effort::Fast);
        let planner = default.planner(planner);
        let plan = ended_by_sigterm(|| planner.plan()).map_err(plan::without_transparent);
        let plan = plan.map_err(|error| match error.downcast_ref() {
            Some(PlacementError::TooFewSlots { .. }) => {
                Infeasible(format!("{error}; {}", self.larger)).into()
            }
            _ => error,
        })?;
        let best = plan.best();
        let (cluster, workload) = (&self.cluster, &self.workload);
        let comparison = default.comparison(&plan, cluster, workload, &self.granularity)?;
        let mut file =
            devices::placement_file(&self.selection, cluster, workload, best, verbosity)?;
        self.unbind(&mut file);
        file.cluster.digest.clone_from(&self.described);
        let run_time = comparison.answer.as_ref().and_then(Answer::run_time_s);
        let run_time = run_time.map(|seconds| (PREDICTED_RUN_TIME.to_owned(), seconds));
        file.predicted.extend(run_time);
        Ok((file, comparison.answer))
    }

    /// Leaves ranks unbound on nodes whose granted PUs are not known, because binding to other PUs
    /// would be refused.
    fn unbind(&self, file: &mut PlacementFile) {
        if self.cluster.emulated || self.in_part.is_empty() {
            return;
        }
        for entry in file.jobs.iter_mut().flat_map(|job| &mut job.ranks) {
            if self.in_part.contains(&entry.node)
                && let Some(node) = self.cluster.find_node(&entry.node)
            {
                entry.bound = false;
                entry.numa = None;
                entry.pus = self.cluster.machine(node).pus.iter().map(|pu| pu.id).collect();
                entry.pus.sort_unstable();
            }
        }
    }

    /// Notes about the nodes.
    pub(crate) fn note(&self, verbosity: &Verbosity) {
        if !self.in_part.is_empty() && !self.cluster.emulated {
            note(
                verbosity,
                format_args!(
                    "{}: granted in part, without numbers of the PUs; the ranks there are not bound",
                    hostlist::compress(&self.in_part)
                ),
            );
        }
    }
}
