//! `rankwright map`.

mod bare_graph;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, ValueEnum};
use rankwright::cluster::Levels;
use rankwright::files::write_atomically;
use rankwright::map::{Problem, Strategy};
use rankwright::placement::Placement;
use rankwright::report::{mapping_header, mapping_rows};

use crate::cli::Verbosity;
use crate::exit_code::UsageError;
use crate::network::{Gpus, SelectionOptions};
use crate::planning::{self, EvaluationRequest, RankSize, SearchOptions};
use crate::simulating::SimulationOptions;
use crate::{inputs, output};

/// Options of `rankwright map`.
#[derive(Debug, Args)]
#[command(after_help = planning::strategy_help())]
pub(crate) struct Map {
    #[arg(required_unless_present = "graph", conflicts_with = "graph", help = inputs::WORKLOAD_HELP)]
    workload: Option<String>,
    /// The cluster: a cluster.toml, an hwloc XML file, or a built-in name
    #[arg(
        long,
        value_name = "CLUSTER",
        required_unless_present = "graph",
        conflicts_with = "graph"
    )]
    on: Option<String>,
    /// How many nodes, where the cluster is one node's hwloc description
    #[arg(long, value_name = "NUMBER", requires = "on", conflicts_with = "graph")]
    nodes: Option<u32>,
    /// The strategy
    #[arg(long, value_name = "STRATEGY")]
    strategy: String,
    #[command(flatten)]
    search: SearchOptions,
    #[command(flatten)]
    rank_size: RankSize,
    #[command(flatten)]
    selection: SelectionOptions,
    /// How to write the result [default: table; json with --output; list with --graph]
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

/// How a mapping is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MapFormat {
    /// Aligned columns for people
    Table,
    /// A placement file
    Json,
    /// Comma-separated values with a header line
    Csv,
    /// One line per rank: the L# of its first core, counted over all nodes
    List,
}

impl Map {
    pub(crate) fn run(self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        let strategy = self.search.strategy(&self.strategy)?;
        if !strategy.chooses() && !strategy.starts_from_others() {
            self.simulation.refuse("for strategies that simulate")?;
        }
        if let Some(graph) = &self.bare_graph.graph {
            self.refuse_for_graph(&strategy)?;
            if self.format.is_some_and(|format| format != MapFormat::List) {
                let text = "--graph: the result has one form only, --format list";
                return Err(UsageError(text.to_owned()).into());
            }
            let mapping = self.bare_graph.map(graph, &strategy, &self.search)?;
            self.write(&list(mapping.cores.iter().copied()))?;
            output::note(verbosity, format!("J = {}", mapping.cost));
            planning::note_moves(verbosity, strategy.id(), mapping.moves);
            return Ok(ExitCode::SUCCESS);
        }
        // clap has made sure that both are there.
        let on = self.on.as_deref().context("--on is missing")?;
        let cluster = inputs::cluster(on, self.nodes)?;
        self.selection.refuse_without_devices(&cluster)?;
        let name = self.workload.as_deref().context("no workload")?;
        let workload = inputs::workload(name, verbosity)?;
        let simulation = self.simulation.options(self.search.seed(), &inputs::split(name));
        let request = EvaluationRequest { simulation, all: false };
        let problem = Problem::new(&cluster, &workload, self.rank_size.granularity())?;
        let problem = self.selection.ask(problem)?;
        let found = self.search.candidates_of(problem, &[strategy], request, verbosity)?;
        let candidate = found.candidates.first().context("no strategy")?;
        planning::note_choice(verbosity, candidate);
        let file = self.selection.file(&cluster, &workload, candidate, Gpus::Near, verbosity)?;
        self.write(&match self.format() {
            MapFormat::Table => output::table(&mapping_header(), &mapping_rows(&file)),
            MapFormat::Csv => output::csv(&mapping_header(), &mapping_rows(&file)),
            MapFormat::Json => file.to_json(),
            MapFormat::List => list(cores(&Levels::new(&cluster), &candidate.placement)),
        })?;
        Ok(ExitCode::SUCCESS)
    }

    /// An error if the user gave an option that says nothing about a bare graph.
    fn refuse_for_graph(&self, strategy: &Strategy) -> Result<(), UsageError> {
        let why = "for workloads";
        self.simulation.refuse(why)?;
        self.rank_size.refuse(why)?;
        self.search.refuse_for_graph(strategy)?;
        self.selection.refuse("the cores of --hierarchy have no devices beside them")
    }

    fn format(&self) -> MapFormat {
        let default = if self.output.is_some() { MapFormat::Json } else { MapFormat::Table };
        self.format.unwrap_or(default)
    }

    fn write(&self, text: &str) -> anyhow::Result<()> {
        match &self.output {
            Some(path) if path.as_os_str() != "-" => Ok(write_atomically(path, text.as_bytes())?),
            _ => output::print(text),
        }
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
