//! `MPICH_RANK_ORDER` of Cray MPICH: the i-th number is the rank in the i-th slot. PALS (`--ppn`)
//! fills one node after the other; srun distributes the tasks evenly over the nodes.

use std::path::Path;

use super::cpu_bind::CpuBind;
use super::slurm;
use crate::cluster::hostlist;
use crate::files::{self, InputError};
use crate::launch::launchers::craympich::block_counts;
use crate::lint::{MOST_RANKS, Reading, Source, listed, traps};
use crate::units::counted;

/// The option of PALS for the number of ranks per node.
const PALS: [&str; 2] = ["--ppn", "-ppn"];

/// The options that name the nodes.
const NODE_LISTS: [&str; 4] = ["-w", "--nodelist", "--hosts", "--host"];

/// The variable that says how ranks are ordered: 3 by the file.
const METHOD: &str = "MPICH_RANK_REORDER_METHOD";

const EXPECTED: &str = "ranks and ranges with commas, like 0,4,1-3";

/// Reads as Cray MPICH does under srun or PALS, according to its documentation.
pub(in crate::lint) fn read(source: &Source<'_>) -> Result<Reading, InputError> {
    let mut reading = Reading::default();
    let arguments = source.arguments;
    let ignored = "the job starts, and its ranks are not in the order of this file";
    match arguments.variable(METHOD) {
        Some("3") => {}
        Some(other) => {
            reading.warn(&traps::ORDER_UNUSED, None, format!("{METHOD}={other}: {ignored}"));
        }
        // Without any argument nothing is known of the launch.
        None if arguments.words().next().is_none() => {}
        None => {
            let text = format!("{METHOD} is not given; unless the environment has 3, {ignored}");
            reading.warn(&traps::ORDER_UNUSED, None, text);
        }
    }
    let distribution = arguments.value(&["-m", "--distribution"]);
    if let Some(other) = distribution.filter(|d| d.split([':', ',']).next() != Some("block")) {
        let text = format!("the distribution `{other}`");
        reading.refuse(&traps::ORDER_DISTRIBUTION, None, text);
    }
    let order = order(source, &mut reading)?;
    let bind = CpuBind::of_srun(source, &mut reading)?;
    let hosts = hosts(source)?;
    let each = ranks_per_node(source, &hosts, &mut reading)?;
    let filled = arguments.value(&PALS).is_some();
    let nodes = match wanted_nodes(source, &hosts)? {
        // srun gives every node at least one task.
        Some(nodes) if !filled => nodes.min(order.len()).max(order.len().div_ceil(each)),
        _ => order.len().div_ceil(each),
    };
    if nodes > hosts.len() {
        let line = order.get(hosts.len() * each).map(|(_, line)| *line);
        let ranks_and_nodes = format!(
            "{} for {} of {each}",
            counted(order.len(), "rank"),
            counted(hosts.len(), "host")
        );
        return Err(source.wrong(line, &ranks_and_nodes, "a host for every rank"));
    }
    let counts: Vec<usize> = if filled {
        (0..nodes).map(|node| each.min(order.len() - node * each)).collect()
    } else {
        block_counts(order.len(), nodes).collect()
    };
    let mut places = order.iter();
    for (host, count) in hosts.iter().zip(&counts) {
        for (place, (rank, line)) in places.by_ref().take(*count).enumerate() {
            reading.add(*rank, host, bind.place(place), *line);
        }
    }
    let most = counts.first().copied().unwrap_or(0);
    if let Some(host) = hosts.first() {
        bind.warn_if_short(host, most, &mut reading);
    }
    Ok(reading)
}

/// The ranks in the order of their slots, with their lines.
fn order(source: &Source<'_>, reading: &mut Reading) -> Result<Vec<(usize, usize)>, InputError> {
    let mut order: Vec<(usize, usize)> = Vec::new();
    let mut lines: Vec<Option<usize>> = Vec::new();
    for (number, text) in (1..).zip(source.text.lines()) {
        let text = text.split('#').next().unwrap_or_default();
        for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            let wrong = || source.wrong(Some(number), entry, EXPECTED);
            let (first, last) = entry.split_once('-').unwrap_or((entry, entry));
            let first: usize = first.trim().parse().map_err(|_| wrong())?;
            let last: usize = last.trim().parse().map_err(|_| wrong())?;
            if first > last || last >= MOST_RANKS {
                return Err(wrong());
            }
            for rank in first..=last {
                if lines.len() <= rank {
                    lines.resize(rank + 1, None);
                }
                if let Some(before) = lines[rank].replace(number) {
                    let text = format!("rank {rank} is on line {before} already");
                    reading.refuse(&traps::RANK_TWICE, number, text);
                    continue;
                }
                order.push((rank, number));
            }
        }
    }
    let missing: Vec<u32> =
        (0..).zip(&lines).filter(|(_, line)| line.is_none()).map(|(rank, _)| rank).collect();
    if !missing.is_empty() {
        let text = format!("the file has no {}", listed("rank", &missing));
        reading.refuse(&traps::RANK_MISSING, None, text);
    }
    Ok(order)
}

/// The number of nodes that srun uses: that of `-N`, else that of the names given.
fn wanted_nodes(source: &Source<'_>, hosts: &[String]) -> Result<Option<usize>, InputError> {
    let named = source.arguments.value(&NODE_LISTS).map(|_| hosts.len());
    let Some(count) = source.arguments.value(&["-N", "--nodes"]) else { return Ok(named) };
    let count = count.parse().ok().filter(|count| *count > 0);
    let wrong = || source.wrong_argument("-N", "-N with a number of nodes from 1");
    count.map(Some).ok_or_else(wrong)
}

/// The nodes in the order in which they are filled.
fn hosts(source: &Source<'_>) -> Result<Vec<String>, InputError> {
    if let Some(list) = source.arguments.value(&NODE_LISTS) {
        // For srun, a list with a slash is the name of a file.
        if list.contains('/') {
            let text = files::read_text(Path::new(list), "the names of the hosts")?;
            let listed = Source { text: &text, file: list, ..*source };
            let hosts = slurm::host_per_rank(&listed)?;
            return Ok(hosts.into_iter().map(|(host, _)| host).collect());
        }
        let names = hostlist::expand(list)
            .map_err(|error| source.wrong_argument(&error.found, &error.expected))?;
        return Ok(names);
    }
    let cluster = source.machines.cluster().ok_or_else(|| {
        source
            .wrong(None, "ranks without hosts", "the hosts of the ranks")
            .with_advice("name them: --on CLUSTER, or --nodelist in --launcher-args")
    })?;
    Ok(cluster.nodes.iter().map(|node| node.name.clone()).collect())
}

fn ranks_per_node(
    source: &Source<'_>,
    hosts: &[String],
    reading: &mut Reading,
) -> Result<usize, InputError> {
    let names = ["--ntasks-per-node", "--tasks-per-node"];
    if let Some(each) = source.arguments.value(&[&names[..], &PALS].concat()) {
        let each = each.parse().ok().filter(|each| (1..=MOST_RANKS).contains(each));
        return each.ok_or_else(|| {
            source.wrong_argument("--ntasks-per-node", "--ntasks-per-node with a number from 1")
        });
    }
    let cores = hosts.first().and_then(|host| source.machines.machine(host));
    let Some(cores) = cores.map(|machine| machine.cores.len()).filter(|cores| *cores > 0) else {
        return Err(source
            .wrong(None, "no number of ranks per node", "a number of ranks per node")
            .with_advice("put --ntasks-per-node into --launcher-args"));
    };
    let text = format!(
        "{} per node, the number of cores of {}; to change it, put --ntasks-per-node into --launcher-args",
        counted(cores, "rank"),
        hosts[0]
    );
    reading.warn(&traps::ORDER_PER_NODE, None, text);
    Ok(cores)
}
