//! The nodes of a job, and how many tasks each has.

use std::collections::BTreeSet;

use super::super::allocation::unnamed;
use super::super::launch_line::wrong;
use super::options::{NODES_NOT_PREDICTED, Options};
use crate::cluster::hostlist;
use crate::files::InputError;
use crate::lint::machines::natural;
use crate::lint::{MOST_RANKS, Reading, Source};
use crate::units::counted;

/// What a job or step asks for.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) nodes: Option<usize>,
    pub(super) tasks: Option<usize>,
    pub(super) per_node: Option<usize>,
    pub(super) cpus: Option<usize>,
}

impl Counts {
    pub(super) fn of(source: &Source<'_>, options: &Options) -> Result<Self, InputError> {
        let number = |name: &str| {
            let Some(given) = options.get(name) else { return Ok(None) };
            let count = given.value.parse().ok().filter(|count| (1..=MOST_RANKS).contains(count));
            let found = format!("--{name} {}", given.value);
            let expected = format!("one number from 1 to {MOST_RANKS}");
            count.map(Some).ok_or_else(|| wrong(source, given.line, &found, &expected))
        };
        Ok(Self {
            nodes: number("nodes")?,
            tasks: number("ntasks")?,
            per_node: number("ntasks-per-node")?,
            cpus: number("cpus-per-task")?,
        })
    }
}

/// The names of the nodes, in Slurm's order, by name and number. A job that names none is taken to have
/// the first nodes of the cluster; without a cluster, made-up names stand for its nodes.
pub(super) fn nodes(
    source: &Source<'_>,
    (job, step): (&Options, &Options),
    (of_job, of_step): (&Counts, &Counts),
    reading: &mut Reading,
) -> Result<Vec<String>, InputError> {
    for (name, _) in NODES_NOT_PREDICTED {
        if let Some(given) = step.get(name).or_else(|| job.get(name)) {
            let expected = "the nodes by --nodelist; what this option selects is not predicted";
            return Err(wrong(source, given.line, &format!("--{name}"), expected));
        }
    }
    let wanted = of_step.nodes.or(of_job.nodes).or_else(|| {
        let (tasks, each) = (of_job.tasks?, of_job.per_node?);
        Some(tasks.div_ceil(each))
    });
    let list = step.get("nodelist").or_else(|| job.get("nodelist"));
    let mut names = match list {
        Some(list) if list.value.contains('/') => {
            let expected = "the names of the nodes, not a file";
            return Err(wrong(source, list.line, &list.value, expected));
        }
        Some(list) => hostlist::expand(&list.value)
            .map_err(|error| wrong(source, list.line, &error.found, &error.expected))?,
        None => {
            let one = source.machines.cluster().filter(|cluster| cluster.nodes.len() == 1);
            let wanted = wanted.or(one.map(|_| 1)).ok_or_else(|| {
                let advice =
                    "give their number or names, as -N 4 or --nodelist=n[0-3] in --launcher-args";
                let found = "a job without --nodes";
                source.wrong(None, found, "the nodes that the job has").with_advice(advice)
            })?;
            unnamed(source, wanted, &BTreeSet::new(), reading)?
        }
    };
    names.sort_by_key(|name| natural(name));
    names.dedup();
    match wanted.filter(|wanted| *wanted != names.len()) {
        None => Ok(names),
        Some(wanted) => {
            let found =
                format!("a job on {} and a --nodelist of {}", counted(wanted, "node"), names.len());
            let line = list.map_or(0, |list| list.line);
            let error = wrong(source, line, &found, "the nodes that the job has");
            Err(error.with_advice("name as many with --nodelist, in the script or --launcher-args"))
        }
    }
}

/// The CPUs of a node, and how many a core has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    pub(super) cpus: usize,
    pub(super) threads: usize,
}

impl Room {
    /// So many CPUs as whole cores have.
    fn whole(self, cpus: usize) -> usize {
        cpus.div_ceil(self.threads).saturating_mul(self.threads)
    }
}

/// The tasks of each node as Slurm 22.05 chooses them where all is free and nodes are shared. For the tasks `of_job`,
/// of `each` CPUs, it takes the cores of one node after the other, and leaves a task for each node behind; it deals
/// the tasks of a step to these cores in turn.
pub(super) fn filled(tasks: usize, of_job: usize, each: usize, nodes: &[Room]) -> Vec<usize> {
    let mut behind = nodes.iter().fold(0_usize, |sum, node| sum.saturating_add(node.whole(each)));
    let mut left = of_job.saturating_mul(each);
    let mut taken = Vec::with_capacity(nodes.len());
    for node in nodes {
        behind -= node.whole(each).min(behind);
        let cpus = node.whole(left.saturating_sub(behind)).min(node.cpus).max(each);
        left = left.saturating_sub(cpus);
        taken.push(cpus / each);
    }
    let (mut counts, mut left) = (vec![0; nodes.len()], tasks);
    let mut open: Vec<usize> = (0..nodes.len()).collect();
    while left > 0 && !open.is_empty() {
        open.iter().take(left).for_each(|node| counts[*node] += 1);
        left -= open.len().min(left);
        open.retain(|node| counts[*node] < taken[*node]);
    }
    // Slurm refuses more tasks than there is room for.
    if let Some(last) = counts.last_mut() {
        *last += left;
    }
    counts
}

/// The node of every rank, as a position, from the tasks of each node.
pub(super) fn node_of_rank(counts: &[usize], cyclic: bool) -> Vec<usize> {
    let of_node = |(node, count): (usize, &usize)| (0..*count).map(move |round| (round, node));
    let mut order: Vec<(usize, usize)> = counts.iter().enumerate().flat_map(of_node).collect();
    if cyclic {
        order.sort_unstable();
    }
    order.into_iter().map(|(_, node)| node).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_nodes_are_filled_as_by_slurm() {
        // As Slurm 22.05 did on idle nodes: of eight CPUs, and of eight cores with two threads.
        for (cpus, threads, tasks, each, counts) in [
            (8, 1, 4, 1, &[3, 1][..]),
            (8, 1, 8, 1, &[7, 1]),
            (8, 1, 14, 1, &[8, 6]),
            (8, 1, 10, 1, &[8, 1, 1]),
            (8, 1, 12, 1, &[8, 3, 1]),
            (8, 1, 4, 1, &[2, 1, 1]),
            (8, 1, 3, 1, &[1, 1, 1]),
            (8, 1, 4, 2, &[3, 1]),
            (8, 1, 7, 2, &[4, 3]),
            (8, 1, 4, 3, &[2, 1, 1]),
            (16, 2, 3, 1, &[2, 1]),
            (16, 2, 4, 1, &[2, 2]),
            (16, 2, 5, 1, &[3, 2]),
            (16, 2, 8, 1, &[6, 2]),
            (16, 2, 17, 1, &[15, 2]),
            (16, 2, 20, 1, &[16, 4]),
            (16, 2, 21, 1, &[15, 6]),
            (16, 2, 31, 1, &[16, 15]),
            (16, 2, 10, 2, &[8, 2]),
            (16, 2, 5, 4, &[4, 1]),
            // More than there are, and fewer than nodes.
            (8, 1, 20, 1, &[8, 12]),
            (8, 1, 1, 1, &[1, 0]),
        ] {
            let nodes = vec![Room { cpus, threads }; counts.len()];
            let found = filled(tasks, tasks, each, &nodes);
            assert_eq!(found, counts, "{tasks} of {each} on {nodes:?}");
        }
        let unknown = Room { cpus: usize::MAX, threads: 1 };
        assert_eq!(filled(9, 9, 1, &[unknown, unknown]), [8, 1]);
        // Steps of fewer tasks than the job.
        let (single, double) = (Room { cpus: 8, threads: 1 }, Room { cpus: 16, threads: 2 });
        assert_eq!(filled(8, 10, 1, &[single; 3]), [6, 1, 1]);
        assert_eq!(filled(9, 10, 2, &[double; 2]), [7, 2]);
        assert_eq!(node_of_rank(&[2, 3], false), [0, 0, 1, 1, 1]);
        assert_eq!(node_of_rank(&[2, 3], true), [0, 1, 0, 1, 1]);
    }
}
