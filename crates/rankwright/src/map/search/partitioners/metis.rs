//! METIS 5 (Karypis and Kumar 1998), made safe to call from several threads.

use std::sync::Mutex;

use metis::Graph as MetisGraph;
use metis::option::{Seed, UFactor};

use crate::map::MapError;
use crate::map::search::graph::{Graph, scale_weights};

const LIBRARY: &str = "METIS";

/// METIS draws from the C library's `rand()`, which all threads share.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The two methods of METIS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::map) enum Method {
    /// `METIS_PartGraphKway`.
    Kway,
    /// `METIS_PartGraphRecursive`.
    Recursive,
}

/// The part of each vertex. `shares` is how much of the load each part should get, relative to the
/// others, and `imbalance` how much more it may get (0.03 for 3 %). Both are targets, not bounds. The
/// graph must have an edge and more vertices than parts.
pub(in crate::map) fn partition(
    method: Method,
    graph: &Graph,
    loads: &[u64],
    shares: &[u64],
    imbalance: f64,
    seed: u64,
) -> Result<Vec<u32>, MapError> {
    let too_large = |what| move |_| MapError::TooLarge { library: LIBRARY, what };
    let failed =
        |error: metis::Error| MapError::Library { library: LIBRARY, what: error.to_string() };
    let narrow = |index: usize| metis::Idx::try_from(index);
    let offsets: Result<Vec<_>, _> = graph.offsets().iter().map(|o| narrow(*o)).collect();
    let offsets = offsets.map_err(|_| too_large("the graph")(()))?;
    let neighbours: Result<Vec<_>, _> =
        graph.neighbours().iter().map(|n| metis::Idx::try_from(*n)).collect();
    let neighbours = neighbours.map_err(|_| too_large("the graph")(()))?;
    let weights = scale_weights(graph.weights(), 1 << 31)
        .map_err(|_| too_large("the number of edges")(()))?;
    let loads = scale_weights(loads, 1 << 31).map_err(|_| too_large("the number of ranks")(()))?;
    let parts = narrow(shares.len()).map_err(|_| too_large("the number of nodes")(()))?;
    let sum: f64 = shares.iter().map(|share| *share as f64).sum();
    let targets: Vec<metis::Real> =
        shares.iter().map(|share| (*share as f64 / sum) as metis::Real).collect();
    // In thousandths above 1; METIS takes at least 1.
    let factor = (imbalance * 1000.0).clamp(1.0, 1e6) as metis::Idx;
    let mut part_of = vec![0; graph.vertex_count()];
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let call = MetisGraph::new(1, parts, &offsets, &neighbours)
        .map_err(|error| failed(error.into()))?
        .set_adjwgt(&weights)
        .set_vwgt(&loads)
        .set_tpwgts(&targets)
        .set_option(Seed(metis::Idx::try_from(seed).unwrap_or(metis::Idx::MAX)))
        .set_option(UFactor(factor));
    match method {
        Method::Kway => call.part_kway(&mut part_of),
        Method::Recursive => call.part_recursive(&mut part_of),
    }
    .map_err(failed)?;
    Ok(part_of.into_iter().map(|part| part as u32).collect())
}
