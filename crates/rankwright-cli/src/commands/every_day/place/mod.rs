//! `rankwright place`.

mod files;
mod populations;
mod sharing;

use std::process::ExitCode;

use clap::Args;
use rankwright::choose::{Candidate, Planner};
use rankwright::cluster::Cluster;
use rankwright::map::{Problem, Strategy};
use rankwright::placement::{Granularity, PREDICTED_RUN_TIME, digest};
use rankwright::report::Answer;
use rankwright::traffic::Workload;

use files::FileOptions;
use populations::PopulationOptions;
use sharing::{Mode, together_and_apart};

use crate::host::batch_job::TaskShares;
use crate::host::signals::interrupt;
use crate::options::{
    ClusterOptions, Format, Given, NodeGroupOptions, ProgramsOption, RankSize, SearchOptions,
    SelectionOptions, SimulationOptions, inputs, programs, refuse, strategy_help,
};
use crate::output::exit_code::UsageError;
use crate::output::{self, Verbosity};
use crate::planning::answer::LauncherDefault;
use crate::planning::plan::Planning;
use crate::planning::{accuracy, comparison, devices, granted_tasks, plan, steadiness};

/// Options of `rankwright place`.
#[derive(Debug, Args)]
#[command(after_help = strategy_help())]
pub(crate) struct Place {
    #[command(flatten)]
    given: Given,
    #[arg(required = true, value_name = "WORKLOAD", help = inputs::WORKLOAD_HELP)]
    workloads: Vec<String>,
    #[command(flatten)]
    cluster: ClusterOptions,
    /// Strategies to try, separated by commas, like blocked,drb:seed=3 [default: all]
    #[arg(long, value_name = "LIST")]
    strategies: Option<String>,
    /// How jobs share nodes: exclusive-full, exclusive-half (half of the cores of twice as many nodes),
    /// shared, shared:K (K jobs per node), shared:apart (on sockets of their own) [default: of several
    /// jobs whichever is best]
    #[arg(long, value_name = "MODE", conflicts_with = "strategies")]
    share: Option<Mode>,
    #[command(flatten)]
    rank_size: RankSize,
    #[command(flatten)]
    search: SearchOptions,
    #[command(flatten)]
    node_groups: NodeGroupOptions,
    #[command(flatten)]
    selection: SelectionOptions,
    #[command(flatten)]
    populations: PopulationOptions,
    /// At the first Ctrl-C end the search and write the best placement so far, instead of nothing; the
    /// second one ends at once
    #[arg(long)]
    keep_best: bool,
    /// Format of the comparison
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
    #[command(flatten)]
    files: FileOptions,
    #[command(flatten)]
    programs: ProgramsOption,
    /// The program and its arguments, for the launch files; or several programs: -n 2 ./a x : -n 6
    /// ./b y
    #[arg(last = true, value_name = "PROGRAM")]
    program: Vec<String>,
    #[command(flatten)]
    simulation: SimulationOptions,
}

/// What is placed where, and what each rank gets.
type Placed<'a> = (&'a Cluster, &'a Workload, &'a Granularity);

impl Place {
    pub(crate) fn run(mut self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        // `place .. | head` must not end before the files are written.
        interrupt::survive_closed_pipe();
        self.files.take_defaults()?;
        self.files.check()?;
        if !self.program.is_empty() && self.workloads.len() > 1 {
            let text = "one program for several jobs: leave out `-- PROGRAM`, and write the launch \
                        files of each with `rankwright launch --job NAME`";
            return Err(UsageError(text.to_owned()).into());
        }
        let line = (!self.program.is_empty()).then(|| programs(&self.program)).transpose()?;
        let mut strategies = self.search.strategies(self.strategies.as_deref())?;
        let several = self.cluster.read_several()?;
        if several.is_none() {
            let why = " needs several numbers of nodes, like --nodes 4..16";
            refuse(&[(self.given.first_of::<PopulationOptions>(), why)])?;
        }
        let (whole, counts) = match several {
            Some((of_most, counts)) => (of_most, Some(counts)),
            None => (self.cluster.read()?, None),
        };
        self.selection = self.selection.on(&whole, &self.rank_size);
        devices::require_devices(&whole, &self.selection.nics())?;
        let workload = self.workload(verbosity)?;
        steadiness::warn(&workload, verbosity);
        strategies = self.with_modes(strategies, &whole, workload.jobs.len())?;
        let launcher = self.files.launcher(&workload);
        let ranks = workload.rank_count();
        let of_programs = self.programs.granularity(line.as_ref(), ranks, &self.rank_size)?;
        let granularity = match of_programs {
            Some(of_programs) => of_programs,
            None => self.granularity(&whole, ranks, verbosity),
        };
        let cluster =
            self.cluster.nodes.chosen(&whole, workload.rank_count(), &granularity, verbosity)?;
        let (best, run_time);
        if let Some(counts) = counts {
            let job = (&cluster, &workload, &granularity);
            best = self.best_of(&counts, job, &strategies, verbosity)?;
            run_time = None;
        } else {
            let named = self.strategies.is_some() || self.share.is_some();
            let default = LauncherDefault::add(&mut strategies, launcher, ranks, named)?;
            let job = (&cluster, &workload, &granularity);
            (best, run_time) = self.best(job, &strategies, &default, verbosity)?;
        }
        self.share.map_or(Ok(()), |mode| mode.check(&cluster, &best.placement))?;
        let mut file =
            devices::placement_file(&self.selection, &cluster, &workload, &best, verbosity)?;
        file.cluster.digest = digest(&whole);
        let run_time = run_time.map(|seconds| (PREDICTED_RUN_TIME.to_owned(), seconds));
        file.predicted.extend(run_time);
        let table = devices::ranks_of_gpus(&self.rank_size, &cluster, &file, verbosity);
        if self.format == Format::Table {
            let table = table.unwrap_or_else(|| devices::ranks_of_nodes(&file, verbosity));
            output::print_unless_closed(&table, false)?;
        }
        let strategy = best.strategy.to_string();
        let cluster_digest = file.cluster.digest.clone();
        self.files.write(file, (&strategy, launcher), line.as_ref(), verbosity)?;
        accuracy::quote(&cluster_digest, verbosity);
        Ok(ExitCode::SUCCESS)
    }

    /// The strategies for this number of jobs: that of --share alone; for several jobs also those that
    /// keep them together or apart.
    fn with_modes(
        &self,
        mut usual: Vec<Strategy>,
        whole: &Cluster,
        jobs: usize,
    ) -> anyhow::Result<Vec<Strategy>> {
        if let Some(mode) = self.share {
            mode.check_sockets(whole, jobs)?;
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
        let job = TaskShares::around().filter(|_| !by_options && !whole.invented);
        let of_job = job.and_then(|(title, shares)| {
            Some((title, granted_tasks::granularity(whole, ranks, &shares)?))
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

    /// Prints a row per number of nodes; returns the best placement.
    fn best_of(
        &self,
        counts: &[usize],
        (cluster, workload, granularity): Placed,
        strategies: &[Strategy],
        verbosity: &Verbosity,
    ) -> anyhow::Result<Candidate> {
        let job = (cluster, workload, granularity);
        let planner = self.planner(job, strategies, verbosity)?.evaluate_all(false);
        let planning = Planning::new(&self.search, verbosity).keep_best(self.keep_best);
        let mut candidates = |problem: Problem, (number, count)| {
            let nodes = format!("{} nodes", problem.cluster.node_ids().len());
            let planning = planning.part(number, count, &nodes);
            Ok(planning.plan_in(problem, &planner)?.candidates)
        };
        let granularity = granularity.clone();
        let compared =
            self.populations.compare(cluster, workload, granularity, counts, &mut candidates);
        let text = compared.show(self.format);
        let best = compared.best()?;
        output::print_unless_closed(&text, false)?;
        Ok(best)
    }

    /// Prints what the best placement gains against the launcher's default; returns the best with its
    /// expected run time, seconds, if that is known.
    fn best(
        &self,
        (cluster, workload, granularity): Placed,
        strategies: &[Strategy],
        default: &LauncherDefault,
        verbosity: &Verbosity,
    ) -> anyhow::Result<(Candidate, Option<f64>)> {
        let planner = self.planner((cluster, workload, granularity), strategies, verbosity)?;
        let planner = default.planner(planner);
        let planning = Planning::new(&self.search, verbosity).keep_best(self.keep_best);
        let mut plan = planning.plan(&planner)?;
        let mut comparison = default.comparison(&plan, cluster, workload, granularity)?;
        if self.node_groups.keep.is_some() {
            comparison = comparison.with_kept_node_groups();
        }
        let answer = comparison::show_answer(&comparison, self.format, verbosity);
        output::print_unless_closed(&answer, false)?;
        let best = plan.candidates.swap_remove(plan.ranking.best());
        // The number repeats a search under --time, unless that ended its first assignments.
        if verbosity.verbose || self.search.is_timed() {
            plan::note_moves(verbosity, &best.made_by, best.moves);
        }
        let run_time = comparison.answer.as_ref().and_then(Answer::run_time_s);
        Ok((best, run_time))
    }

    /// The planner that the options describe.
    fn planner<'a>(
        &self,
        (cluster, workload, granularity): Placed<'a>,
        strategies: &'a [Strategy],
        verbosity: &Verbosity,
    ) -> anyhow::Result<Planner<'a>> {
        let planner = self
            .search
            .planner(cluster, workload, strategies)?
            .granularity(granularity.clone())
            .devices(self.selection.nics())
            .gpus(devices::gpu_use(&self.selection, cluster, verbosity))
            .simulation(self.simulation.options(self.search.seed(), &self.workloads));
        Ok(match self.node_groups.keep {
            Some(keep) => planner.keep_node_groups(keep.origin()),
            None => planner,
        })
    }

    /// All jobs together.
    fn workload(&self, verbosity: &Verbosity) -> anyhow::Result<Workload> {
        if let [name] = self.workloads.as_slice() {
            return inputs::workload(name, verbosity);
        }
        let mut together = Workload::default();
        for name in &self.workloads {
            for job in inputs::workload(name, verbosity)?.jobs {
                together.push(job);
            }
        }
        let names: Vec<&str> = together.jobs.iter().map(|job| job.name.as_str()).collect();
        together.name = names.join("+");
        Ok(together)
    }
}
