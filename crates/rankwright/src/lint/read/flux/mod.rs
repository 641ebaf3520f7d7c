//! Flux: `--taskmap=hostfile:FILE` with a host per rank, a task map, or a script with `flux run`;
//! `-o cpu-affinity=map:0;1` by local rank.

mod affinity;
pub(in crate::lint) mod script;
pub(in crate::lint) mod taskmap;

use affinity::Affinity;

use super::slurm;
use crate::files::InputError;
use crate::lint::{Reading, Source, traps};
use crate::units::counted;

/// Reads as Flux does; a list that is too short starts again.
pub(in crate::lint) fn read(source: &Source<'_>) -> Result<Reading, InputError> {
    if script::is_one(source.text) {
        return script::read(source);
    }
    if taskmap::is_one(source.text) {
        return by_taskmap(source);
    }
    let mut reading = Reading::default();
    let listed = slurm::host_per_rank(source)?;
    refuse_words(source, &mut reading);
    let ranks = source.arguments.ranks().unwrap_or(listed.len()).min(crate::lint::MOST_RANKS);
    if ranks > listed.len() {
        let text = format!(
            "{ranks} ranks are started, but the list has {}",
            counted(listed.len(), "host")
        );
        reading.warn(&traps::WRAPS, None, text);
    }
    let hosts: Vec<(String, usize)> = listed.into_iter().cycle().take(ranks).collect();
    Affinity::of(source)?.place(&hosts, source, &mut reading);
    Ok(reading)
}

/// Flux separates hosts by commas and blanks and knows nothing else.
fn refuse_words(source: &Source<'_>, reading: &mut Reading) {
    for (line, text) in (1..).zip(source.text.split('\n')) {
        let what = match text {
            _ if text.contains('#') => "a comment",
            _ if text.contains('*') => "a number of ranks behind `*`",
            _ if text.ends_with('\r') => "a carriage return, as on Windows",
            _ => continue,
        };
        reading.refuse(&traps::HOST_WORD, line, format!("the line has {what}"));
    }
}

/// Reads a task map, for the first nodes of the cluster.
fn by_taskmap(source: &Source<'_>) -> Result<Reading, InputError> {
    let mut reading = Reading::default();
    let expected = "a task map such as [[0,2,4,1]]: first node, nodes, tasks on each, times";
    let nodes = taskmap::nodes_of_tasks(source.text)
        .ok_or_else(|| source.wrong(None, source.text.trim(), expected))?;
    let names = source.machines.cluster().map(|cluster| &cluster.nodes);
    let host = |node: usize| match names {
        None => Ok((format!("node{node}"), 1)),
        Some(names) => names.get(node).map(|node| (node.name.clone(), 1)).ok_or_else(|| {
            let found = format!("node {node}, from 0");
            source.wrong(None, &found, &format!("one of {}", counted(names.len(), "node")))
        }),
    };
    let hosts: Result<Vec<(String, usize)>, InputError> = nodes.into_iter().map(host).collect();
    reading
        .notes
        .push("the nodes of the job are taken to be the first ones of the cluster".to_owned());
    Affinity::of(source)?.place(&hosts?, source, &mut reading);
    Ok(reading)
}
