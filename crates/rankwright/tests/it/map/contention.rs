//! `mapping-2012` and `mapping-2013` on the synthetic workloads of their papers.

use std::fmt::Write;

use rankwright::cluster::Cluster;
use rankwright::cluster::read::built_in;
use rankwright::ids::{GlobalRank, Rank};
use rankwright::map::{Budget, Mapping2012, Mapping2013, Problem, Strategy};
use rankwright::placement::Granularity;
use rankwright::traffic::generate::pattern::Pattern;
use rankwright::traffic::{Flow, Job, Send, Source, Workload};
use rankwright::units::{Bytes, PerSecond};

use crate::clusters::{Kind, cluster, four_by_four, without_cores};
use crate::workloads::{flow, job, workload};

const SHAPES: [&str; 4] = ["all-to-all", "bcast", "gather", "linear"];

fn jobs(patterns: impl IntoIterator<Item = String>) -> Workload {
    workload(
        patterns.into_iter().map(|text| Pattern::parse(&text).unwrap().job().unwrap()).collect(),
    )
}

/// One job of each shape for every kind of message, all with the same number of ranks.
fn mixed(ranks: u32, messages: &[&str]) -> Workload {
    let of_all_shapes = |message: &&str| {
        SHAPES.map(|shape| format!("{shape}:{ranks}:messages=2000,{message}")).to_vec()
    };
    jobs(messages.iter().flat_map(of_all_shapes))
}

/// `Mixed_1` to `Mixed_6`, Tables 4 and 5, 2013.
fn mixed_workloads() -> [Workload; 6] {
    let two = ["rate=10,length=2MiB", "rate=10,length=64KiB"];
    [
        mixed(64, &["rate=100,length=64KiB"]),
        mixed(64, &["rate=1000,length=64KiB"]),
        mixed(64, &two[..1]),
        mixed(64, &["rate=100,length=2MiB"]),
        mixed(32, &two),
        mixed(24, &two),
    ]
}

/// A workload of one shape, Table 3, 2013.
fn fixed_pattern(shape: &str, messages: u32) -> Workload {
    let kinds = [
        "rate=500,length=2MiB",
        "rate=500,length=2MiB",
        "rate=100,length=2MiB",
        "rate=10,length=2MiB",
        "rate=1000,length=64KiB",
        "rate=100,length=64KiB",
        "rate=10,length=64KiB",
        "rate=1000,length=1KiB",
    ];
    jobs(kinds.map(|kind| format!("{shape}:32:messages={messages},{kind}")))
}

fn paper() -> Cluster {
    built_in::find("paper:2013").expect("it is built in").cluster()
}

fn problem<'a>(cluster: &'a Cluster, workload: &'a Workload) -> Problem<'a> {
    Problem::new(cluster, workload, Granularity::Cores(1)).expect("the ranks fit")
}

fn map(strategy: &str, problem: &Problem) -> Vec<usize> {
    let mapping = strategy.parse::<Strategy>().unwrap().map(problem, &Budget::default());
    mapping.unwrap().into_indices()
}

/// The thresholds of a workload's jobs on the cluster of the papers, by the two strategies.
fn thresholds(workload: &Workload) -> [Vec<Option<u64>>; 2] {
    let cluster = paper();
    let problem = problem(&cluster, workload);
    [Mapping2012::default().thresholds(&problem), Mapping2013::default().thresholds(&problem)]
}

#[test]
fn all_to_all_jobs_of_the_mixed_workloads_have_the_thresholds_of_the_papers() {
    let four = vec![Some(4), None, None, None];
    let two_jobs = |first, second| {
        let (first, second): (u64, u64) = (first, second);
        vec![Some(first), None, None, None, Some(second), None, None, None]
    };
    for (number, workload) in (1..).zip(mixed_workloads()) {
        let expected = match number {
            1..=4 => [four.clone(), four.clone()],
            5 => [two_jobs(2, 2), two_jobs(2, 2)],
            _ => [two_jobs(1, 1), two_jobs(2, 2)],
        };
        assert_eq!(thresholds(&workload), expected, "Mixed_{number}");
    }
}

#[test]
fn contention_between_jobs_is_severe_where_all_send_to_all() {
    let [old, new] = thresholds(&fixed_pattern("all-to-all", 1500));
    assert_eq!(old, [Some(2); 8]);
    assert_eq!(new, [None; 8]);
    for shape in &SHAPES[1..] {
        assert_eq!(thresholds(&fixed_pattern(shape, 2000)), [[None; 8], [None; 8]], "{shape}");
    }
}

#[test]
fn a_job_alone_contends_with_no_other() {
    let (cluster, alone) = (paper(), jobs(["all-to-all:64:rate=100".to_owned()]));
    let problem = problem(&cluster, &alone);
    assert_eq!(Mapping2013::default().thresholds(&problem), [Some(4)]);
    let printed = map("mapping-2013:severe=any", &problem);
    assert_eq!(printed, map("mapping-2013:threshold=none", &problem));
    assert_ne!(printed, map("mapping-2013", &problem));
}

/// Which ranks of which job each node has, memory by memory: `a 0-3,7 / b 1`.
fn picture(cluster: &Cluster, problem: &Problem, slot_of: &[usize]) -> String {
    let mut text = String::new();
    let first_ranks = problem.workload.rank_offsets();
    for node in cluster.node_ids() {
        let machine = cluster.machine(node);
        let mut memories: Vec<String> = Vec::new();
        for numa in 0..machine.numa_nodes.len() {
            let here = |rank: &usize| {
                let slot = &problem.slots()[slot_of[*rank]];
                let core = &machine.cores[slot.cores[0].index()];
                slot.node == node && core.numa.index() == numa
            };
            let of_job = |bounds: &[GlobalRank]| {
                let [first, end] = [bounds[0], bounds[1]].map(GlobalRank::index);
                let ranks = (first..end).filter(here).map(|rank| rank - first);
                compact(&ranks.collect::<Vec<_>>())
            };
            let jobs = (b'a'..).zip(first_ranks.windows(2).map(of_job));
            let jobs = jobs.filter(|(_, ranks)| !ranks.is_empty());
            let jobs: Vec<_> =
                jobs.map(|(name, ranks)| format!("{}{ranks}", char::from(name))).collect();
            memories.push(jobs.join(" "));
        }
        writeln!(text, "{:<7}{}", cluster.node(node).name, memories.join(" / ")).unwrap();
    }
    text
}

/// `0-3,7`.
fn compact(ranks: &[usize]) -> String {
    let runs = ranks.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [one] => one.to_string(),
        run => format!("{}-{}", run[0], run[run.len() - 1]),
    });
    runs.collect::<Vec<_>>().join(",")
}

#[test]
fn the_mixed_workloads_are_placed_as_the_papers_describe() {
    let (cluster, workloads) = (paper(), mixed_workloads());
    for (number, workload) in [(1, &workloads[0]), (5, &workloads[4])] {
        let problem = problem(&cluster, workload);
        for strategy in ["mapping-2012", "mapping-2013"] {
            let picture = picture(&cluster, &problem, &map(strategy, &problem));
            insta::assert_snapshot!(format!("mixed_{number}_{strategy}"), picture);
        }
    }
}

#[test]
fn large_messages_of_a_chain_are_spread_in_pieces() {
    // Three kinds of 2 MiB jobs come first; each rank takes its peers along, the next one left goes
    // to the node with the most free cores.
    let (cluster, workload) = (paper(), fixed_pattern("linear", 2000));
    let problem = problem(&cluster, &workload);
    let picture = picture(&cluster, &problem, &map("mapping-2013", &problem));
    insta::assert_snapshot!(picture);
}

#[test]
fn every_option_makes_a_difference_where_it_should() {
    let (cluster, workloads) = (paper(), mixed_workloads());
    let linear = fixed_pattern("linear", 2000);
    let unequal = unequal_messages();
    let cases = [
        ("demand=sent", &workloads[2], true),
        ("demand=sent", &workloads[0], true),
        ("stay=on", &linear, true),
        ("stay=on", &workloads[2], false),
        ("length=mean", &unequal, true),
        ("length=mean", &workloads[4], false),
        ("threshold=3", &workloads[0], true),
        ("threshold=3", &linear, false),
        ("threshold=none", &workloads[0], true),
        ("threshold=4", &workloads[0], false),
    ];
    let both = ["mapping-2012", "mapping-2013"].map(|name| cases.map(|case| (name, case)));
    let of_one_strategy = [
        ("mapping-2012", ("medium-sockets=spread", &workloads[0], true)),
        ("mapping-2012", ("medium-sockets=spread", &workloads[2], false)),
        ("mapping-2013", ("medium-sockets=spread", &workloads[0], true)),
        ("mapping-2013", ("ties=smallest", &workloads[4], true)),
        ("mapping-2013", ("ties=smallest", &linear, false)),
        ("mapping-2013", ("nodes=any", &workloads[0], false)),
        ("mapping-2013", ("cv=model", &workloads[0], false)),
    ];
    for (name, (option, workload, differs)) in both.into_iter().flatten().chain(of_one_strategy) {
        let problem = problem(&cluster, workload);
        let changed = map(&format!("{name}:{option}"), &problem);
        assert_eq!(changed != map(name, &problem), differs, "{name}:{option}");
    }
}

/// One rank has many short and one long message, another only messages of a middle length.
fn unequal_messages() -> Workload {
    let source = |rank, rate, lengths: &[(u32, u64)]| Source {
        rank: Rank(rank),
        rate: PerSecond(rate),
        cv: 1.0,
        in_step: None,
        rounds: 10,
        sends: lengths
            .iter()
            .map(|(to, length)| Send { destination: Rank(*to), length: Bytes(*length) })
            .collect(),
    };
    let sources = vec![
        source(0, 100.0, &[(1, 100)]),
        source(0, 1.0, &[(1, 500_000)]),
        source(2, 100.0, &[(3, 50_000)]),
    ];
    workload(vec![Job::from_sources("unequal", 4, sources).unwrap()])
}

#[test]
fn bursts_raise_the_demand() {
    // Rank 0 sends less than rank 2, but in bursts.
    let source = |rank, cv, rate| Source {
        rank: Rank(rank),
        rate: PerSecond(rate),
        cv,
        in_step: None,
        rounds: 10,
        sends: vec![Send { destination: Rank(rank + 1), length: Bytes(1 << 20) }],
    };
    let sources = vec![source(0, 8.0, 100.0), source(2, 0.0, 120.0)];
    let jobs = workload(vec![Job::from_sources("bursts", 4, sources).unwrap()]);
    let cluster = cluster(&[(2, Kind(1, 1, 2, 1))]);
    let problem = problem(&cluster, &jobs);
    assert_eq!(map("mapping-2012", &problem), [2, 3, 0, 1]);
    assert_eq!(map("mapping-2013", &problem), [0, 1, 2, 3]);
    assert_eq!(map("mapping-2013:cv=model", &problem), [0, 1, 2, 3]);
}

#[test]
fn without_rates_messages_count() {
    // Ranks 2 and 3 exchange most, so they come first, then 0 and 1; each pair, and rank 4, start on
    // the emptiest node.
    let flows = vec![flow(0, 1, 10), flow(2, 3, 500), flow(4, 4, 1_000_000)];
    let cluster = cluster(&[(2, Kind(2, 1, 2, 1))]);
    let pairs = workload(vec![job("a", 5, flows)]);
    let problem = problem(&cluster, &pairs);
    assert_eq!(map("mapping-2012", &problem), [4, 5, 0, 1, 2]);
    assert_eq!(map("mapping-2013", &problem), [4, 5, 0, 1, 2]);
    assert_eq!(map("mapping-2013:stay=on", &problem), [2, 3, 0, 1, 4]);
    // The threshold needs no rates where it takes the servers as saturated.
    let mixed = jobs(SHAPES.map(|shape| format!("{shape}:64")));
    assert_eq!(thresholds(&mixed), [[Some(4), None, None, None], [Some(4), None, None, None]]);
}

#[test]
fn taken_cores_and_unlike_nodes_are_respected() {
    // Nodes of the first kind have two free cores, so those of three come first.
    let cluster = without_cores(cluster(&[(2, Kind(2, 1, 2, 1)), (2, Kind(1, 1, 3, 1))]), &[0, 3]);
    let jobs = jobs(["linear:3".to_owned(), "linear:7".to_owned()]);
    let problem = problem(&cluster, &jobs);
    for strategy in ["mapping-2012", "mapping-2013"] {
        let slot_of = map(strategy, &problem);
        let nodes: Vec<u32> = slot_of.iter().map(|slot| problem.slots()[*slot].node.0).collect();
        assert_eq!(nodes[..3], [2, 2, 2], "{strategy}");
    }
}

#[test]
fn rates_weigh_the_edges_where_all_jobs_have_them() {
    // By bytes 0-1 and 2-3 belong together, by rate 0-2 and 1-3.
    let source = |rank, to, rate, rounds| Source {
        rank: Rank(rank),
        rate: PerSecond(rate),
        cv: 1.0,
        in_step: None,
        rounds,
        sends: vec![Send { destination: Rank(to), length: Bytes(1000) }],
    };
    let sources = vec![
        source(0, 1, 0.001, 1000),
        source(0, 2, 0.1, 10),
        source(1, 3, 0.1, 10),
        source(2, 3, 0.001, 1000),
    ];
    let clocks = workload(vec![Job::from_sources("clocks", 4, sources).unwrap()]);
    let flows: Vec<Flow> = clocks.jobs[0].flows.clone();
    let plain = workload(vec![job("plain", 4, flows)]);
    let cluster = cluster(&[(2, Kind(1, 1, 2, 1))]);
    for strategy in ["drb", "kway"].into_iter().filter(|name| rankwright::map::find(name).is_some())
    {
        let together = |workload: &Workload, weights: &str| {
            let problem = problem(&cluster, workload);
            let slot_of = map(&format!("{strategy}:weights={weights}"), &problem);
            (slot_of[0] / 2 == slot_of[1] / 2, slot_of[0] / 2 == slot_of[2] / 2)
        };
        assert_eq!(together(&clocks, "bytes"), (true, false), "{strategy}");
        assert_eq!(together(&clocks, "rate"), (false, true), "{strategy}");
        assert_eq!(together(&plain, "rate"), (true, false), "{strategy}");
    }
}

#[test]
fn nodes_are_filled_up_to_the_last_place() {
    let cluster = four_by_four();
    for ranks in [13, 16] {
        let jobs = jobs([format!("all-to-all:{ranks}:rate=100,length=2MiB")]);
        let problem = problem(&cluster, &jobs);
        for strategy in ["mapping-2012", "mapping-2013", "mapping-2013:threshold=2"] {
            let mut slots = map(strategy, &problem);
            slots.sort_unstable();
            slots.dedup();
            assert_eq!(slots.len(), ranks, "{strategy}");
        }
    }
}
