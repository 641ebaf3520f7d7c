//! Whether a placement was made for the cluster and the workload that the user names.

use rankwright::cluster::Cluster;
use rankwright::placement::{Placement, PlacementError, PlacementFile, digest};
use rankwright::traffic::Workload;

use crate::options::inputs;
use crate::output::exit_code::Infeasible;

/// The placement of a file on the cluster that the user names.
///
/// # Errors
/// If the cluster lacks what the placement uses.
pub(crate) fn placement(file: &PlacementFile, cluster: &Cluster) -> anyhow::Result<Placement> {
    file.placement(cluster).map_err(|error| match (&error, other_count(file, cluster)) {
        (PlacementError::NoSuch { .. }, Some(advice)) => {
            Infeasible(format!("{error}: {advice}")).into()
        }
        _ => error.into(),
    })
}

/// What to do if the cluster is the same description of one node as that of the placement, but stands for another
/// number of nodes.
pub(crate) fn other_count(placement: &PlacementFile, cluster: &Cluster) -> Option<String> {
    let (made_for, used) = (&placement.cluster, placement.nodes.len());
    let same_node = inputs::stands_for_many(cluster) && made_for.name == cluster.name;
    (same_node && made_for.digest != digest(cluster)).then(|| {
        format!(
            "repeat `--nodes N` with the number of nodes that it was placed on (it uses {used})"
        )
    })
}

/// A warning that a placement was made for another cluster, with what to do if that is known.
pub(crate) fn with_advice(warning: String, placement: &PlacementFile, cluster: &Cluster) -> String {
    match other_count(placement, cluster) {
        Some(advice) => format!("{warning}: {advice}"),
        None => warning,
    }
}

/// That a placement was made for another cluster than that of `--on`, if so.
pub(crate) fn other_cluster(placement: &PlacementFile, cluster: &Cluster) -> Option<String> {
    let (made_for, given) = (&placement.cluster, digest(cluster));
    let of_placement = (made_for.name.as_str(), made_for.digest.as_str());
    other("cluster", of_placement, "--on", (&cluster.name, &given))
}

/// That a placement was made for another workload than that of `--profile`, if so. Of one that was made from a
/// launcher's file the number of ranks counts.
pub(crate) fn other_workload(placement: &PlacementFile, workload: &Workload) -> Option<String> {
    if placement.workload_digest.is_empty() {
        let placed: Vec<usize> = placement.jobs.iter().map(|job| job.ranks.len()).collect();
        let wanted: Vec<usize> = workload.jobs.iter().map(|job| job.ranks as usize).collect();
        return (placed != wanted).then(|| {
            format!(
                "the placement has jobs of {placed:?} ranks, `{}` has {wanted:?}",
                workload.name
            )
        });
    }
    let jobs: Vec<&str> = placement.jobs.iter().map(|job| job.name.as_str()).collect();
    let of_placement = (&*jobs.join(", "), placement.workload_digest.as_str());
    other("workload", of_placement, "--profile", (&workload.name, &digest(workload)))
}

/// Each of the two with its name and digest.
fn other(what: &str, made_for: (&str, &str), option: &str, given: (&str, &str)) -> Option<String> {
    (made_for.1 != given.1).then(|| {
        format!(
            "the placement was made for another {what}: for `{}` with the digest {}, while {option} \
             gives `{}` with the digest {}",
            made_for.0,
            short(made_for.1),
            given.0,
            short(given.1)
        )
    })
}

/// The beginning of a digest, enough to tell digests apart.
fn short(digest: &str) -> &str {
    digest.get(..15).unwrap_or(digest)
}
