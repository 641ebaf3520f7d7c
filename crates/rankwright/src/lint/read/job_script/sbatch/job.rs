//! The nodes of a job, and how many tasks each has.

use std::collections::BTreeSet;

use super::super::allocation::unnamed;
use super::super::launch_line::wrong;
use super::options::{NODES_NOT_PREDICTED, Options};
use crate::cluster::hostlist;
use crate::files::InputError;
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

/// A name with its numbers as numbers.
fn natural(name: &str) -> Vec<(String, u64)> {
    let mut parts: Vec<(String, u64)> = Vec::new();
    let mut digits = false;
    for letter in name.chars() {
        match letter.to_digit(10) {
            Some(digit) => {
                if parts.is_empty() {
                    parts.push((String::new(), 0));
                }
                if let Some((_, number)) = parts.last_mut() {
                    *number = number.saturating_mul(10).saturating_add(u64::from(digit));
                }
                digits = true;
            }
            None => {
                if digits || parts.is_empty() {
                    parts.push((String::new(), 0));
                }
                if let Some((text, _)) = parts.last_mut() {
                    text.push(letter);
                }
                digits = false;
            }
        }
    }
    parts
}

/// The node of every rank, as a position: `tasks` are spread evenly over the nodes, the first ones
/// have one more.
pub(super) fn node_of_rank(tasks: usize, nodes: usize, cyclic: bool) -> Vec<usize> {
    if cyclic {
        return (0..tasks).map(|rank| rank % nodes).collect();
    }
    let counts = crate::launch::launchers::craympich::block_counts(tasks, nodes);
    counts.enumerate().flat_map(|(node, count)| std::iter::repeat_n(node, count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_in_the_order_of_their_numbers() {
        let mut names = ["n10", "n9", "a", "n1b2", "n1b10", "7"];
        names.sort_by_key(|name| natural(name));
        assert_eq!(names, ["7", "a", "n1b2", "n1b10", "n9", "n10"]);
    }
}
