//! Placements of jobs that share nodes, for `launch` and `run`.

use std::collections::BTreeMap;

use rankwright::pairing::{Group, Pairing, Part, nodes_of, placed_from};
use rankwright::placement::{JobShape, PlacementFile};
use rankwright::traffic::Workload;

use super::profiles::Predicted;
use crate::output::exit_code::Infeasible;
use crate::output::{self, Verbosity};

/// Writes a placement of each group, on nodes of its own as far as there are, if the user wants it.
pub(super) fn write(
    predicted: &Predicted,
    pairing: &Pairing,
    copies: usize,
    verbosity: &Verbosity,
) -> anyhow::Result<()> {
    let Some(folder) = &predicted.placements else { return Ok(()) };
    let mut used = 0;
    for (number, group) in pairing.groups.iter().enumerate() {
        let (file, nodes) = match placed_on(predicted, group, copies, used) {
            Ok(placed) => placed,
            Err(error) if used == 0 => return Err(error),
            // All nodes are taken: this group and the next ones run after the first ones.
            Err(_) => {
                used = 0;
                placed_on(predicted, group, copies, used)?
            }
        };
        used += nodes;
        let path = folder.join(format!("group-{}.json", number + 1));
        file.write(&path)?;
        let path = path.display();
        output::note(verbosity, format!("{path}: placement of jobs that share nodes"));
        for job in &file.jobs {
            let line = format!(
                "rankwright launch {path} --job {} --for slurm --launcher-args=--overlap -o FOLDER -- PROGRAM",
                job.name
            );
            output::note(verbosity, line);
        }
    }
    Ok(())
}

/// The placement of a group and the number of its nodes, without the first `skipped` nodes.
fn placed_on(
    predicted: &Predicted,
    group: &Group,
    copies: usize,
    skipped: usize,
) -> anyhow::Result<(PlacementFile, usize)> {
    let kinds: Vec<usize> = group.members.iter().map(|member| member.job / copies).collect();
    let mut workload = Workload::default();
    for kind in &kinds {
        let mut job = predicted.jobs[*kind].clone();
        job.name.clone_from(&predicted.recorded.names[*kind]);
        workload.push(job);
    }
    let parts = Part::shared(&vec![1; kinds.len()]);
    let jobs: Vec<(JobShape, Part)> = JobShape::of(&workload).into_iter().zip(parts).collect();
    let placement = placed_from(&predicted.cluster, skipped, &jobs, "pair");
    let placement = placement.map_err(|error| Infeasible(error.to_string()))?;
    let nodes = nodes_of(&placement).len();
    Ok((PlacementFile::new(&predicted.cluster, &workload, &placement, BTreeMap::new()), nodes))
}
