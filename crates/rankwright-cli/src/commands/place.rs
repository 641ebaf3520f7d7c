//! `rankwright place`.

mod pack_or_spread;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use rankwright::choose::{Candidate, PermutationEffects};
use rankwright::cluster::Cluster;
use rankwright::launch::{LAUNCHERS, Launcher, ProgramLine};
use rankwright::map::{NodeGroups, Problem, Strategy};
use rankwright::placement::JobEntry;
use rankwright::report::PermutationReport;
use rankwright::traffic::Workload;

use pack_or_spread::PopulationOptions;

use super::compare;
use crate::cli::Verbosity;
use crate::exit_code::UsageError;
use crate::inputs;
use crate::launch_files::{self, LAUNCHER_NAME};
use crate::launching::{TargetOptions, programs};
use crate::mpi_launcher;
use crate::network::{Gpus, SelectionOptions};
use crate::output::{self, Format};
use crate::planning::{self, ClusterOptions, EvaluationRequest, RankSize, SearchOptions};
use crate::simulating::SimulationOptions;

/// Options of `rankwright place`.
#[derive(Debug, Args)]
#[command(after_help = planning::strategy_help())]
pub(crate) struct Place {
    #[arg(required = true, value_name = "WORKLOAD", help = inputs::WORKLOAD_HELP)]
    workloads: Vec<String>,
    #[command(flatten)]
    cluster: ClusterOptions,
    /// The strategies to try, separated by commas; all of them by default
    #[arg(long, value_name = "LIST")]
    strategies: Option<String>,
    #[command(flatten)]
    rank_size: RankSize,
    #[command(flatten)]
    search: SearchOptions,
    /// Only placements where the ranks that shared a node still do, and no others join them: as in
    /// the recorded run (`recorded`, the default where it is known) or in block order (`block`)
    #[arg(
        long,
        value_enum,
        value_name = "AS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "recorded"
    )]
    keep_node_groups: Option<KeepAs>,
    #[command(flatten)]
    selection: SelectionOptions,
    #[command(flatten)]
    populations: PopulationOptions,
    /// How to write the comparison
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
    /// Write the placement to this file
    #[arg(short, long, value_name = "FILE", default_value = "placement.json")]
    output: PathBuf,
    /// The launcher to write files for; by default the one that is installed, else openmpi4
    #[arg(long = "for", value_name = "LAUNCHER", value_parser = LAUNCHER_NAME)]
    launcher: Option<&'static Launcher>,
    /// Write the launch files to this folder [default: beside the placement, NAME.launch]
    #[arg(long, value_name = "FOLDER")]
    launch_files: Option<PathBuf>,
    /// The program and its arguments, for the launch files; or several: -n 2 ./a x : -n 6 ./b y
    #[arg(last = true, value_name = "PROGRAM")]
    program: Vec<String>,
    #[command(flatten)]
    simulation: SimulationOptions,
}

/// As when ranks are to share nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum KeepAs {
    /// On the hosts of the recorded run; in block order where they are not known
    Recorded,
    /// In block order on this cluster
    Block,
}

impl Place {
    pub(crate) fn run(self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        output::refuse_stdout(&self.output)?;
        if !self.program.is_empty() && self.workloads.len() > 1 {
            let text = "one program for several jobs: leave out `-- PROGRAM`, and write the launch \
                        files of each with `rankwright launch --job NAME`";
            return Err(UsageError(text.to_owned()).into());
        }
        let line = (!self.program.is_empty()).then(|| programs(&self.program)).transpose()?;
        let strategies = self.search.strategies(self.strategies.as_deref())?;
        let several = self.cluster.read_several()?;
        let (cluster, best, workload);
        if let Some((of_most, counts)) = several {
            self.selection.refuse_without_devices(&of_most)?;
            (cluster, workload) = (of_most, self.workload(verbosity)?);
            best = self.pack_or_spread(&cluster, &counts, &workload, &strategies, verbosity)?;
        } else {
            self.populations.refuse()?;
            cluster = self.cluster.read()?;
            self.selection.refuse_without_devices(&cluster)?;
            workload = self.workload(verbosity)?;
            best = self.best(&cluster, &workload, &strategies, verbosity)?;
        }
        self.write(&cluster, &workload, &best, line.as_ref(), verbosity)?;
        Ok(ExitCode::SUCCESS)
    }

    /// Prints what all strategies give; the best placement.
    fn best(
        &self,
        cluster: &Cluster,
        workload: &Workload,
        strategies: &[Strategy],
        verbosity: &Verbosity,
    ) -> anyhow::Result<Candidate> {
        let granularity = self.rank_size.granularity();
        let problem = self.keep(Problem::new(cluster, workload, granularity)?)?;
        let request = self.evaluation(true);
        let mut made = self.search.candidates_of(problem, strategies, request, verbosity)?;
        let (ranked, mut comparison) = made.ranked(cluster);
        let best = made.candidates.swap_remove(ranked.best());
        planning::note_moves(verbosity, &best.made_by, best.moves);
        let effects = PermutationEffects::new(cluster, workload, granularity, &best.placement)?;
        let effects = PermutationReport::new(&effects);
        let warning = effects.node_groups_warning();
        comparison.permutation = Some(effects);
        if self.keep_node_groups.is_some() {
            comparison = comparison.with_kept_node_groups();
        }
        output::print(&compare::show(&comparison, self.format))?;
        if let Some(warning) = warning {
            output::warn(verbosity, warning);
        }
        Ok(best)
    }

    /// How mappings are evaluated: all of them, or only where a strategy needs it.
    fn evaluation(&self, all: bool) -> EvaluationRequest {
        let simulation = self.simulation.options(self.search.seed(), &self.workloads);
        EvaluationRequest { simulation, all }
    }

    /// The problem with the devices and the condition that the user wants.
    fn keep<'a>(&self, problem: Problem<'a>) -> anyhow::Result<Problem<'a>> {
        let problem = self.selection.ask(problem)?;
        let Some(wanted) = self.keep_node_groups else { return Ok(problem) };
        let (cluster, workload, slots) = (problem.cluster, problem.workload, problem.slots());
        let recorded = match wanted {
            KeepAs::Recorded => NodeGroups::recorded(cluster, workload, slots),
            KeepAs::Block => None,
        };
        let groups =
            recorded.unwrap_or_else(|| NodeGroups::in_block_order(cluster, workload, slots));
        Ok(problem.keeping(groups)?)
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

    /// Writes what starts the jobs as placed.
    fn write(
        &self,
        cluster: &Cluster,
        workload: &Workload,
        best: &Candidate,
        line: Option<&ProgramLine>,
        verbosity: &Verbosity,
    ) -> anyhow::Result<()> {
        let file = self.selection.file(cluster, workload, best, Gpus::Near, verbosity)?;
        let launcher = self.launcher.or_else(|| installed_launcher(&file.jobs));
        let launcher = launcher.unwrap_or(&LAUNCHERS[0]);
        let folder = match &self.launch_files {
            Some(folder) => Some(folder.clone()),
            // Nothing can start from a placement that went to a device, and nobody wants files
            // beside one.
            None if self.output.metadata().is_ok_and(|found| !found.is_file()) => None,
            None => Some(self.output.with_extension("launch")),
        };
        let of_job = |job: &JobEntry| match line {
            Some(line) => Ok(line.clone()),
            None => Ok(programs(&[format!("./{}", job.name)])?),
        };
        let name = self.output.display().to_string();
        let prepared = TargetOptions::default().prepare(file, name)?;
        let launches = match &folder {
            Some(folder) => launch_files::plan(&prepared, launcher, folder, &of_job)?,
            None => Vec::new(),
        };

        prepared.placement().write(&self.output)?;
        let output = self.output.display();
        output::note(verbosity, format!("{output}: placement by {}", best.strategy));
        for job in launch_files::write(launches)? {
            let folder = job.folder.display();
            output::note(verbosity, format!("{folder}: launch files for {}", launcher.name));
            output::note(verbosity, job.command_line());
        }
        if line.is_none() {
            output::note(verbosity, "give `-- PROGRAM ARGUMENTS` to have your own in these lines");
        }
        Ok(())
    }
}

/// The row of the launcher table for what is installed here and fits the jobs.
fn installed_launcher(jobs: &[JobEntry]) -> Option<&'static Launcher> {
    let found = mpi_launcher::find_for(jobs.first()?);
    found.ok().map(|installed| installed.launcher)
}
