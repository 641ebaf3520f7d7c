//! Flux: `--taskmap=hostfile:FILE` with a host per rank, a task map, or a script with `flux run`;
//! `-o cpu-affinity=map:0;1` by local rank. Follows the documentation; not tested with Flux.

pub(in crate::lint) mod script;
pub(in crate::lint) mod taskmap;

use super::cpu_bind::CpuBind;
use super::{cpu_bind, slurm};
use crate::files::InputError;
use crate::ids::PuSet;
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
    let ranks = source.arguments.ranks().unwrap_or(listed.len()).min(crate::lint::MOST_RANKS);
    if ranks > listed.len() {
        let text = format!(
            "{ranks} ranks are started, but the list has {}",
            counted(listed.len(), "host")
        );
        reading.warn(&traps::WRAPS, None, text);
    }
    let hosts: Vec<(String, usize)> = listed.into_iter().cycle().take(ranks).collect();
    slurm::place(&hosts, &bind(source)?, &mut reading);
    Ok(reading)
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
    slurm::place(&hosts?, &bind(source)?, &mut reading);
    Ok(reading)
}

fn bind(source: &Source<'_>) -> Result<CpuBind, InputError> {
    let affinity = source.arguments.words().filter_map(|word| {
        let (_, value) = word.split_once("cpu-affinity=")?;
        Some(value)
    });
    let Some(affinity) = affinity.last() else { return Ok(CpuBind::Own) };
    let Some(list) = affinity.strip_prefix("map:") else {
        return Ok(if affinity == "off" { CpuBind::None } else { CpuBind::Own });
    };
    let wrong = |entry: &str| {
        source.wrong_argument(
            entry,
            "-o cpu-affinity=map: with lists of PUs (0-1;2,3) or masks (0x3;0xc)",
        )
    };
    let set = |entry: &str| {
        let pus = match entry.starts_with("0x") {
            true => cpu_bind::mask(entry),
            false => entry.parse::<PuSet>().ok().filter(|pus| !pus.is_empty()),
        };
        pus.ok_or_else(|| wrong(entry))
    };
    let sets: Result<Vec<PuSet>, InputError> = list.split(';').map(set).collect();
    Ok(CpuBind::List(sets?))
}
