//! How little the messages of all-to-all jobs can wait under any placement.
//!
//! Let `a` of the `P` ranks of a job be on a node. They send `N = rounds · a · (P - a)` messages
//! through the node's network device, which serves them one at a time for `S` seconds each. So the
//! i-th that it serves begins at the earliest `(i - 1) S` after the start, and has waited since it was
//! sent, except while its memory served it. Summed over the messages,
//!
//! `waiting ≥ S N (N - 1) / 2 - N (mean time of sending + service before the device)`.
//!
//! Where the device keeps up, the messages that one rank sends at once still wait for each other. All
//! other messages, and all other servers, only add waiting. What is least over all ways to divide the
//! ranks among the nodes holds for every placement.

use anyhow::Context as _;
use rankwright::cluster::Cluster;
use rankwright::ids::{GlobalRank, NodeId, ServerId};
use rankwright::map::Problem;
use rankwright::network::{Path, ServerKind, Servers};
use rankwright::placement::Granularity;
use rankwright::traffic::{Job, Workload};
use rankwright::units::Bytes;

use crate::strategies;

/// The waiting of an all-to-all job depends on these alone.
#[derive(Debug, Clone, Copy, PartialEq)]
struct AllToAll {
    ranks: usize,
    rounds: f64,
    /// Rounds per second.
    rate: f64,
    /// Of every message.
    length: Bytes,
}

/// The times of a message in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Times {
    /// At the sender's network device.
    device: f64,
    /// From sending to the device, without waiting.
    before: f64,
}

/// A lower bound of the total waiting of the workload in seconds, over all placements with at most
/// one rank per core; 0 if no job is an all-to-all of equal messages. Times of sending count with
/// their means; the clocks of a simulation differ from these by far less than 1 %.
///
/// The cluster's nodes must be alike and have one network device each.
///
/// # Errors
/// If the workload does not fit the cluster.
pub(super) fn least_waiting(cluster: &Cluster, workload: &Workload) -> anyhow::Result<f64> {
    let jobs: Vec<AllToAll> = workload.jobs.iter().filter_map(AllToAll::of_job).collect();
    let cores = cluster.machine(NodeId(0)).cores.len();
    let mut sum = 0.0;
    for job in jobs {
        let times = times(cluster, job.length)?;
        let of_node: Vec<f64> = (0..=cores).map(|ranks| job.waiting(ranks, times)).collect();
        sum += least_sum(&of_node, cluster.nodes.len(), job.ranks);
    }
    Ok(sum)
}

impl AllToAll {
    /// `None` if the job is anything else.
    fn of_job(job: &Job) -> Option<Self> {
        let ranks = job.ranks as usize;
        let first = job.sources.first()?;
        let length = first.sends.first()?.length;
        let alike = job.sources.iter().zip(0..).all(|(source, rank)| {
            let mut peers: Vec<u32> = source.sends.iter().map(|send| send.destination.0).collect();
            peers.sort_unstable();
            source.rank.0 == rank
                && source.rounds == first.rounds
                && source.rate == first.rate
                && source.sends.iter().all(|send| send.length == length)
                && peers.into_iter().eq((0..job.ranks).filter(|peer| *peer != rank))
        });
        let (rounds, rate) = (first.rounds as f64, first.rate.0);
        (alike && job.sources.len() == ranks).then_some(Self { ranks, rounds, rate, length })
    }

    /// A lower bound for the messages that this many of its ranks, all on one node, send to others, in
    /// seconds.
    fn waiting(&self, on_node: usize, times: Times) -> f64 {
        let Some(peers) = self.ranks.checked_sub(on_node) else { return 0.0 };
        let (on_node, peers) = (on_node as f64, peers as f64);
        let messages = self.rounds * on_node * peers;
        // The mean of k / rate for k = 1 to rounds.
        let sent = (self.rounds + 1.0) / (2.0 * self.rate);
        let one_queue =
            times.device * messages * (messages - 1.0) / 2.0 - messages * (sent + times.before);
        let at_once = times.device * (peers - 1.0) / 2.0 - times.before;
        one_queue.max(messages * at_once).max(0.0)
    }
}

/// The times of a message between two nodes.
fn times(cluster: &Cluster, length: Bytes) -> anyhow::Result<Times> {
    let pair = Workload::single(Job::new("pair", 2, Vec::new())?);
    let problem = Problem::new(cluster, &pair, Granularity::Cores(1))?;
    let placement = strategies::place(&problem, &"cyclic".parse()?)?;
    let servers = Servers::new(cluster, &placement);
    let paths = servers.paths(GlobalRank(0), GlobalRank(1), length);
    let Path { hops, latency } = paths.first().context("a path between two nodes")?;
    let is_device =
        |server: ServerId| matches!(servers.kinds()[server.index()], ServerKind::NicOut { .. });
    let device = hops.iter().position(|hop| is_device(hop.server));
    let device = device.context("a network device on the path between two nodes")?;
    let before: f64 = hops[..device].iter().map(|hop| hop.service.0 + hop.latency.0).sum();
    Ok(Times { device: hops[device].service.0, before: latency.0 + before })
}

/// The least sum over `nodes` nodes that `ranks` ranks can have; `of_node` is indexed by the ranks on
/// a node, and infinite if they do not fit.
fn least_sum(of_node: &[f64], nodes: usize, ranks: usize) -> f64 {
    let mut least = vec![f64::INFINITY; ranks + 1];
    least[0] = 0.0;
    for _ in 0..nodes {
        let with = |total: usize| {
            let here = of_node.iter().enumerate().take(total + 1);
            here.map(|(ranks, waiting)| waiting + least[total - ranks])
                .fold(f64::INFINITY, f64::min)
        };
        least = (0..=ranks).map(with).collect();
    }
    least[ranks]
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::built_in;
    use rankwright::sim::{Options, simulate};
    use rankwright::traffic::generate::pattern::Pattern;

    #[test]
    fn ranks_are_divided_for_the_least_sum() {
        let square = |ranks: usize| (ranks * ranks) as f64;
        let of_node: Vec<f64> = (0..=16).map(square).collect();
        assert_eq!(least_sum(&of_node, 16, 64), 256.0);
        let all_or_none: Vec<f64> = (0..=16).map(|ranks| square(ranks % 16)).collect();
        assert_eq!(least_sum(&all_or_none, 16, 64), 0.0);
        assert_eq!(least_sum(&of_node, 3, 64), f64::INFINITY);
    }

    #[test]
    fn the_bound_is_that_of_the_printed_rates() {
        let cluster = built_in::cluster("paper:2013").unwrap();
        // By hand: 16 nodes with 4 ranks each, 2000 rounds of 4 · 60 messages of 2 MiB at 1 GB/s,
        // sent within 20 s, 0.5 ms in the memory before.
        let (service, messages) = (2.097152e-3, 480_000.0);
        let by_hand = 16.0 * messages * (service * (messages - 1.0) / 2.0 - 10.005 - service / 4.0);
        let workload = built_in::workload("paper:2013/mixed-4").unwrap();
        let bound = least_waiting(&cluster, &workload).unwrap();
        assert!((bound / by_hand - 1.0).abs() < 1e-6, "{bound} {by_hand}");
        let none = built_in::workload("paper:2013/gather").unwrap();
        assert_eq!(least_waiting(&cluster, &none).unwrap(), 0.0);
    }

    #[test]
    fn no_simulation_waits_less() {
        let cluster = built_in::cluster("paper:2013").unwrap();
        for spec in [
            "all-to-all:20:rate=100,length=2MiB,messages=40",
            "all-to-all:64:rate=2,length=64KiB,messages=10",
        ] {
            let job = Pattern::parse(spec).unwrap().job().unwrap();
            let workload = Workload::single(job);
            let bound = least_waiting(&cluster, &workload).unwrap();
            assert!(bound > 0.0);
            let problem = Problem::new(&cluster, &workload, Granularity::Cores(1)).unwrap();
            let mut closest = f64::INFINITY;
            for strategy in ["blocked", "cyclic", "random:seed=1", "random:seed=2"] {
                let placement = strategies::place(&problem, &strategy.parse().unwrap()).unwrap();
                let mut observer = |_: &_| ControlFlow::Continue(());
                let outcome =
                    simulate(&cluster, &workload, &placement, &Options::default(), &mut observer);
                closest = closest.min(outcome.unwrap().total_waiting.0 / bound);
            }
            assert!((1.0..3.0).contains(&closest), "{spec}: {closest}");
        }
    }
}
