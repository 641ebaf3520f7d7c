//! Which resource decides what a job loses beside another: the network, or a memory.

use super::Recorded;
use crate::cluster::Cluster;
use crate::pairing::{MemoryLoad, Pairing};

/// The resource that decides for each job beside the one that it shares nodes with, and for each that stays
/// alone beside the one that costs it most; a sentence each. `copies` of each job were paired. Empty where the
/// use of memories is not known.
#[must_use]
pub fn deciding_resources(
    cluster: &Cluster,
    recorded: &Recorded,
    pairing: &Pairing,
    copies: usize,
) -> Vec<String> {
    let lost = |measured: usize, other: usize| {
        let losses = recorded.prediction.losses(other, measured);
        losses.map_or(0.0, |losses| losses.memory.0 + losses.network.0)
    };
    let mut beside: Vec<(usize, usize)> = Vec::new();
    for group in &pairing.groups {
        let jobs = || group.members.iter().map(|member| member.job);
        let others = |job: usize| jobs().filter(move |other| *other != job);
        beside.extend(jobs().flat_map(|job| others(job).map(move |other| (job, other))));
    }
    for job in &pairing.alone {
        let others = pairing.alone.iter().filter(|other| *other != job);
        let worst = others.max_by(|a, b| {
            lost(job / copies, **a / copies).total_cmp(&lost(job / copies, **b / copies))
        });
        beside.extend(worst.map(|other| (*job, *other)));
    }
    let mut lines: Vec<String> = Vec::new();
    for (measured, other) in beside {
        let line = line(cluster, recorded, measured / copies, other / copies);
        lines.extend(line.filter(|line| !lines.contains(line)));
    }
    lines
}

/// Losses below this share of the run time are none.
const NONE: f64 = 0.005;

fn line(cluster: &Cluster, recorded: &Recorded, measured: usize, other: usize) -> Option<String> {
    let losses = recorded.prediction.losses(other, measured)?;
    let load = losses.load.as_ref()?;
    let there = described(cluster, load);
    let solo = &recorded.prediction.alone[measured];
    let alone = solo.half.0;
    let as_loaded_alone = solo.memory.is_some_and(|whole| whole.stretch() >= load.stretch());
    let percent = |seconds: f64| format!("{:+.1} %", 100.0 * seconds / alone);
    let (memory, network) = (percent(losses.memory.0), percent(losses.network.0));
    let who = format!("{} beside {}", recorded.names[measured], recorded.names[other]);
    let is_small = losses.memory.0 < NONE * alone && losses.network.0 < NONE * alone;
    Some(if is_small && load.stretch() > 1.0 && as_loaded_alone {
        let name = &recorded.names[measured];
        format!("{who}: nothing is lost: alone {name} already wants more than there is: {there}")
    } else if is_small {
        format!("{who}: neither memory nor network matters: {there}")
    } else if losses.memory.0 > losses.network.0 {
        format!("{who}: memory decides ({memory}; network {network}): {there}")
    } else {
        format!("{who}: the network decides ({network}; memory {memory}): {there}")
    })
}

/// `memory bandwidth of n0's NUMA node L#0: 94 GB/s wanted, 76 GB/s there`.
fn described(cluster: &Cluster, load: &MemoryLoad) -> String {
    let node = &cluster.node(load.node).name;
    let there = cluster.memory_bandwidth(load.node, load.numa);
    let mut text = format!(
        "memory bandwidth of {node}'s NUMA node L#{}: {:.1} wanted, {there} there",
        load.numa, load.wanted
    );
    if load.cache_growth > 1.0 {
        let more = 100.0 * (load.cache_growth - 1.0);
        text += &format!(
            " ({more:.0} % more traffic, because the last-level cache is too small for both)"
        );
    }
    text
}
