//! `rankwright map`.

mod bare_graph;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, ValueEnum};
use rankwright::cluster::Levels;
use rankwright::map::Strategy;
use rankwright::placement::{Placement, digest};
use rankwright::report::mapping_table;

use crate::options::{
    Format, Given, NodesOption, RankSize, ResultOptions, SearchOptions, SelectionOptions,
    SimulationOptions, given, inputs, refuse, strategy_help,
};
use crate::output::exit_code::UsageError;
use crate::output::{self, Verbosity};
use crate::planning::{devices, plan};

/// Options of `rankwright map`.
#[derive(Debug, Args)]
#[command(after_help = strategy_help())]
pub(crate) struct Map {
    #[command(flatten)]
    given: Given,
    #[arg(required_unless_present = "graph", conflicts_with = "graph", help = inputs::WORKLOAD_HELP)]
    workload: Option<String>,
    /// The cluster: a cluster.toml, an hwloc XML file, synthetic:STRING or a built-in name [default:
    /// that of site.toml]
    #[arg(long, value_name = "CLUSTER", conflicts_with = "graph")]
    on: Option<String>,
    #[command(flatten)]
    nodes: NodesOption,
    /// Strategy to place by (see below)
    #[arg(long, value_name = "STRATEGY")]
    strategy: String,
    #[command(flatten)]
    search: SearchOptions,
    #[command(flatten)]
    rank_size: RankSize,
    #[command(flatten)]
    selection: SelectionOptions,
    /// Format of the result [default: table; json with --output; list with --graph]
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<MapFormat>,
    /// Write the result to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    simulation: SimulationOptions,
    // Last, because its heading holds for all options behind it.
    #[command(flatten)]
    bare_graph: bare_graph::BareGraph,
}

/// The format of a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MapFormat {
    /// Aligned columns
    Table,
    /// A placement file
    Json,
    /// Comma-separated values with a header line
    Csv,
    /// One line per rank: the L# of its first core, counted over all nodes
    List,
}

impl Map {
    pub(crate) fn run(mut self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        let strategy = self.search.strategy(&self.strategy)?;
        self.refuse_without_effect(&strategy)?;
        self.destination().check()?;
        if let Some(graph) = &self.bare_graph.graph {
            let mapping = self.bare_graph.map(graph, &strategy, &self.search)?;
            self.destination().write(&list(mapping.cores.iter().copied()))?;
            output::note(verbosity, format!("J = {}", mapping.cost));
            plan::note_moves(verbosity, strategy.id(), mapping.moves);
            return Ok(ExitCode::SUCCESS);
        }
        let whole = self.nodes.read(self.on.as_deref())?;
        self.selection = self.selection.on(&whole, &self.rank_size)?;
        devices::require_devices(&whole, &self.selection.nics())?;
        // clap guarantees it.
        let name = self.workload.as_deref().context("no workload")?;
        let workload = inputs::workload(name, verbosity)?;
        let granularity = self.rank_size.granularity();
        let cluster = self.nodes.chosen(&whole, workload.rank_count(), &granularity, verbosity)?;
        let simulation = self.simulation.options(self.search.seed(), &inputs::split(name));
        let strategies = [strategy];
        let planner = self
            .search
            .planner(&cluster, &workload, &strategies)?
            .granularity(granularity)
            .devices(self.selection.nics())
            .gpus(devices::gpu_use(&self.selection, &cluster, verbosity))
            .simulation(simulation)
            .evaluate_all(false);
        let plan = plan::plan(&self.search, &planner, verbosity)?;
        let candidate = plan.best();
        plan::note_choice(verbosity, candidate);
        let mut file =
            devices::placement_file(&self.selection, &cluster, &workload, candidate, verbosity)?;
        file.cluster.digest = digest(&whole);
        // The table of all ranks has the same columns.
        devices::ranks_of_gpus(&self.rank_size, &cluster, &file, verbosity);
        let (header, rows) = mapping_table(&file);
        self.destination().write(&match self.format() {
            MapFormat::Table => output::table(&header, &rows),
            MapFormat::Csv => output::csv(&header, &rows),
            MapFormat::Json => file.to_json(),
            MapFormat::List => list(cores(&Levels::new(&cluster), &candidate.placement)),
        })?;
        Ok(ExitCode::SUCCESS)
    }

    /// An error for an option without effect on a bare graph or on the strategy.
    fn refuse_without_effect(&self, strategy: &Strategy) -> Result<(), UsageError> {
        let simulation = self.given.first_of::<SimulationOptions>();
        if self.bare_graph.graph.is_none() {
            let simulates = strategy.chooses() || strategy.starts_from_others();
            let name = &self.strategy;
            let why = format!(
                " has no effect with --strategy {name}: it applies to strategies that simulate"
            );
            return refuse(&[(simulation.filter(|_| !simulates), &why)]);
        }
        let table = self.format.is_some_and(|format| format != MapFormat::List);
        let no_objective = strategy.objective().is_none();
        let for_workloads = " has no effect with --graph: it applies to workloads";
        let no_devices = " has no effect with --graph: the cores of --hierarchy have no devices";
        refuse(&[
            (simulation, for_workloads),
            (self.given.first_of::<RankSize>(), for_workloads),
            (self.given.first_of::<NodesOption>(), for_workloads),
            (
                self.given.option_of::<SearchOptions>("objective").filter(|_| no_objective),
                " has no effect with --graph: it applies to workloads and to strategies that have it",
            ),
            (self.given.option_of::<SearchOptions>("balance"), for_workloads),
            (self.given.first_of::<SelectionOptions>(), no_devices),
            (given("--format", table), " has no effect with --graph: the only format is list"),
        ])
    }

    fn format(&self) -> MapFormat {
        let default = if self.output.is_some() { MapFormat::Json } else { MapFormat::Table };
        self.format.unwrap_or(default)
    }

    fn destination(&self) -> ResultOptions {
        ResultOptions { format: Format::default(), output: self.output.clone() }
    }
}

fn cores(levels: &Levels, placement: &Placement) -> impl Iterator<Item = usize> {
    let core = |place: &rankwright::placement::RankPlacement| {
        place.cores.first().map(|core| levels.core(place.node, *core))
    };
    placement.ranks().filter_map(core)
}

fn list(numbers: impl Iterator<Item = usize>) -> String {
    numbers.map(|number| format!("{number}\n")).collect()
}
