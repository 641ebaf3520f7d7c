//! The nodes of a job, and how many tasks each has.

use super::options::{NODES_NOT_PREDICTED, Options};
use crate::cluster::hostlist;
use crate::files::InputError;
use crate::lint::{MOST_RANKS, Source};
use crate::units::counted;

/// What a job or step asks for.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) nodes: Option<usize>,
    pub(super) tasks: Option<usize>,
    pub(super) per_node: Option<usize>,
    pub(super) cpus: Option<usize>,
}

/// An error about a line of the script.
pub(super) fn wrong(source: &Source<'_>, line: usize, found: &str, expected: &str) -> InputError {
    source.wrong((line > 0).then_some(line), found, expected)
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

/// The names of the nodes, in Slurm's order, by name and number.
pub(super) fn nodes(
    source: &Source<'_>,
    (job, step): (&Options, &Options),
    (of_job, of_step): (&Counts, &Counts),
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
    let mut names = match (list, source.machines.cluster()) {
        (Some(list), _) if list.value.contains('/') => {
            return Err(wrong(
                source,
                list.line,
                &list.value,
                "the names of the nodes, not a file",
            ));
        }
        (Some(list), _) => hostlist::expand(&list.value)
            .map_err(|error| wrong(source, list.line, &error.found, &error.expected))?,
        (None, Some(cluster)) => cluster.nodes.iter().map(|node| node.name.clone()).collect(),
        (None, None) => Vec::new(),
    };
    names.sort_by_key(|name| natural(name));
    names.dedup();
    let count = wanted.unwrap_or(if list.is_some() || names.len() == 1 { names.len() } else { 0 });
    if count == 0 || count != names.len() {
        let of = if wanted.is_none() { "a job without --nodes" } else { "a job" };
        let found = match wanted {
            Some(wanted) if !names.is_empty() => {
                format!("{of} on {} and the names of {}", counted(wanted, "node"), names.len())
            }
            Some(wanted) => format!("{of} on {} without names", counted(wanted, "node")),
            None => of.to_owned(),
        };
        return Err(source
            .wrong(None, &found, "the nodes that the job has")
            .with_advice("name them, as --nodelist=n[0-3] in the script or in --launcher-args"));
    }
    Ok(names)
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
