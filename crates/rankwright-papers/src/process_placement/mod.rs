//! Mercier, Clet-Ortega 2009, "Towards an efficient process placement policy for MPI applications in
//! multicore environments".

mod benchmarks;
mod lu_mapping;

use anyhow::Context as _;
use rankwright::cluster::Cluster;
use rankwright::map::{Problem, Strategy};
use rankwright::placement::{Granularity, Placement};
use rankwright::traffic::{Job, Workload};

use crate::row::Row;
use crate::{built_in, strategies};

/// All rows, in the order of the paper.
pub(crate) fn rows() -> anyhow::Result<Vec<Row>> {
    let cluster = built_in::cluster("paper:2009-placement")?;
    let mut rows = lu_mapping::rows(&cluster)?;
    rows.extend(benchmarks::rows(&cluster)?);
    Ok(rows)
}

/// The job on the cluster by one of the paper's policies.
fn place(cluster: &Cluster, job: Job, policy: &str) -> anyhow::Result<(Workload, Placement)> {
    let workload = Workload::single(job);
    let strategy: Strategy = policy
        .parse()
        .with_context(|| format!("the paper needs `{policy}`, which needs Scotch"))?;
    let problem = Problem::new(cluster, &workload, Granularity::Cores(1))?;
    let placement = strategies::place(&problem, &strategy)?;
    Ok((workload, placement))
}

#[cfg(test)]
mod tests;
