//! The nodes that a job has, and its placement on them.

use std::num::NonZeroUsize;

use rankwright::choose::Planner;
use rankwright::cluster::{Cluster, hostlist};
use rankwright::map::Effort;
use rankwright::placement::{Granularity, PlacementFile};
use rankwright::sim::{Options, Pacing};
use rankwright::traffic::Workload;

use super::nodes;
use super::options::PlacingOptions;
use super::strategies::{fast, tried};
use crate::host::batch_job::BatchJob;
use crate::host::signals::termination::ended_by_sigterm;
use crate::options::{Gpus, SelectionOptions};
use crate::output::exit_code::Infeasible;
use crate::output::{Verbosity, note};
use crate::planning::{devices, plan};

/// What there is to place, and on what.
pub(crate) struct Allocation {
    cluster: Cluster,
    workload: Workload,
    granularity: Granularity,
    /// How network devices are chosen.
    selection: SelectionOptions,
    /// Hosts that are granted in part, without saying which.
    in_part: Vec<String>,
}

impl Allocation {
    /// Finds out what the nodes are for what is to be placed.
    ///
    /// # Errors
    /// If they cannot be known, or the profile is of another number of ranks than `wanted`.
    pub(crate) fn new(
        options: &PlacingOptions,
        workload: Workload,
        wanted: Option<usize>,
        batch: Option<&BatchJob>,
        verbosity: &Verbosity,
    ) -> anyhow::Result<Self> {
        let ranks = workload.rank_count();
        if let Some(wanted) = wanted.filter(|wanted| *wanted != ranks) {
            let name = options.profile.as_deref().unwrap_or_default();
            let why = format!("{name} is a profile of {ranks} ranks, {wanted} are to be started");
            return Err(Infeasible(why).into());
        }
        let (cluster, in_part) = nodes::cluster(options, batch, verbosity)?;
        devices::require_devices(&cluster, &options.selection.nics)?;
        let granularity = nodes::granularity(options, &cluster, ranks, batch);
        let selection = options.selection.clone();
        Ok(Self { cluster, workload, granularity, selection, in_part })
    }

    /// How many ranks there are.
    pub(crate) fn ranks(&self) -> usize {
        self.workload.rank_count()
    }

    /// The placement by a strategy; without a name, the best of those that take little time.
    ///
    /// # Errors
    /// If the strategy does not exist, or the ranks or the devices that are wanted do not fit.
    pub(crate) fn placement(
        &self,
        strategy: Option<&str>,
        verbosity: &Verbosity,
    ) -> anyhow::Result<PlacementFile> {
        let strategies = match strategy {
            Some(name) => vec![fast(name)?],
            None => tried(&self.workload)?,
        };
        let simulation = Options { pacing: Pacing::AfterArrival, ..Options::default() };
        let planner = Planner::new(&self.cluster, &self.workload)
            .strategies(&strategies)
            .granularity(self.granularity)
            .devices(self.selection.nics.clone())
            .effort(Effort::Fast)
            .threads(std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
            .simulation(simulation)
            .evaluate_all(false);
        let plan = ended_by_sigterm(|| planner.plan()).map_err(plan::without_transparent)?;
        let best = plan.best();
        // Which GPUs are granted is not known: nothing is said of them unless devices are asked for.
        let gpus = if self.selection.nics.is_none() { Gpus::None } else { Gpus::Near };
        let (cluster, workload) = (&self.cluster, &self.workload);
        let mut file =
            devices::placement_file(&self.selection, cluster, workload, best, gpus, verbosity)?;
        self.unbind(&mut file);
        Ok(file)
    }

    /// Where it is not known which PUs of a node are granted, a binding to others would be refused: the
    /// ranks there run on whatever their node grants.
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

    /// What the user should know about the nodes.
    pub(crate) fn note(&self, verbosity: &Verbosity) {
        if !self.in_part.is_empty() && !self.cluster.emulated {
            note(
                verbosity,
                format_args!(
                    "{}: granted in part, and which PUs is not told; the ranks there are not bound",
                    hostlist::compress(&self.in_part)
                ),
            );
        }
    }
}
