//! `rankwright map --graph`: maps a METIS graph onto a uniform hierarchy, the benchmark of the
//! mapping literature. This form stays stable for benchmarks by others.

use std::path::{Path, PathBuf};

use clap::Args;
use rankwright::choose;
use rankwright::map::{Budget, Hierarchy, Problem, Strategy};
use rankwright::placement::{Granularity, PlacementError};
use rankwright::traffic::read::import::metis;

use crate::host::signals::termination::ended_by_sigterm;
use crate::options::SearchOptions;
use crate::options::inputs::read_text_or_stdin;
use crate::output::exit_code::{Infeasible, UsageError};

/// A graph, a hierarchy and the allowed imbalance.
#[derive(Debug, Args)]
#[command(next_help_heading = "A bare graph instead of a workload and a cluster")]
pub(super) struct BareGraph {
    /// METIS graph; edge weights are the traffic of both directions together
    #[arg(long, value_name = "FILE", requires_all = ["hierarchy", "distances"])]
    pub(super) graph: Option<PathBuf>,
    /// Sizes of the levels, from the core up, like 4:8:32 (4 cores per package, 8 packages per
    /// node, 32 nodes)
    #[arg(long, value_name = "SIZES", requires = "graph")]
    hierarchy: Option<String>,
    /// Distance of two cores by the lowest level that they share, like 1:10:100
    #[arg(long, value_name = "DISTANCES", requires = "graph")]
    distances: Option<String>,
    /// Let vertices share cores, each core with at most this share above the mean, like 0.03
    #[arg(long, value_name = "SHARE", requires = "graph", allow_negative_numbers = true)]
    imbalance: Option<f64>,
}

/// The core of each vertex, and the cost.
pub(super) struct BareMapping {
    /// The L# of each vertex's core, counted over all nodes.
    pub(super) cores: Vec<usize>,
    /// The sum over all edges of weight times distance.
    pub(super) cost: u128,
    /// Number of moves that the search tried.
    pub(super) moves: u64,
}

impl BareGraph {
    pub(super) fn map(
        &self,
        graph: &Path,
        strategy: &Strategy,
        search: &SearchOptions,
    ) -> anyhow::Result<BareMapping> {
        let sizes = self.hierarchy.as_deref().unwrap_or_default();
        let distances = self.distances.as_deref().unwrap_or_default();
        let hierarchy =
            Hierarchy::parse(sizes, distances).map_err(|error| UsageError(format!("--{error}")))?;
        let imbalance = self.imbalance.unwrap_or(0.0);
        if !(0.0..=1000.0).contains(&imbalance) {
            let text = format!("--imbalance: found {imbalance:?}, expected a share from 0 to 1000");
            return Err(UsageError(text).into());
        }
        let text = read_text_or_stdin(graph, "a METIS graph")?;
        let file = graph.display().to_string();
        let workload = metis::read(&text, &file)?;
        let cluster = hierarchy.cluster();
        let whole_core = Granularity::Cores(1);
        let problem = if imbalance > 0.0 {
            let loads = metis::vertex_weights(&text, &file)?;
            Problem::sharing(&cluster, &workload, whole_core, loads, imbalance)?
        } else {
            Problem::new(&cluster, &workload, whole_core).map_err(|error| match error {
                PlacementError::TooFewSlots { ranks, slots, .. } => {
                    let text = format!(
                        "{file} has {ranks} vertices, but hierarchy {sizes} has {slots} cores; \
                         with --imbalance 0.03 vertices share cores"
                    );
                    anyhow::Error::from(Infeasible(text))
                }
                other => other.into(),
            })?
        };
        let problem = problem.with_distances(&hierarchy.distances());
        let clock = search.clock(&workload, (0, 1));
        let budget = Budget::default().with_threads(search.threads());
        let budget = match &clock {
            Some(clock) => budget.with_clock(clock),
            None => budget,
        };
        let mapping = ended_by_sigterm(|| choose::map(&problem, strategy, &budget))?;
        Ok(BareMapping {
            cost: problem.cost(mapping.as_indices()),
            moves: budget.moves(),
            cores: mapping.iter().map(|(_, slot)| problem.core(slot.index())).collect(),
        })
    }
}
