//! The simulator against queueing theory.
//!
//! One server: a message from one rank to another beside the same memory, which it passes once. A
//! tandem: a message between nodes passes memory, network device out, network device in, memory.
//! Means of independent replications lie within their confidence interval of the exact value,
//! widened by the bias of beginning empty.

use std::ops::ControlFlow;

use rankwright::cluster::Cluster;
use rankwright::ids::Rank;
use rankwright::network::ServerKind;
use rankwright::sim::{Arrivals, Options, Outcome, Pacing, Service, replicate, simulate};
use rankwright::statistics::Estimate;
use rankwright::traffic::generate::pattern::Pattern;
use rankwright::traffic::{Job, Send, Source, Workload};
use rankwright::units::{Bytes, BytesPerSecond, PerSecond};

use super::reference::{placed, run as simulated};
use crate::clusters::{Kind, cluster};

/// All messages are as long as this; a service at the memory takes one second.
const LENGTH: Bytes = Bytes(1000);
const ROUNDS: u64 = 20_000;
const REPLICATIONS: usize = 8;

/// Two nodes of two cores; memories and network devices serve one message a second.
fn slow_cluster() -> Cluster {
    let mut parts = cluster(&[(2, Kind(1, 1, 2, 1))]).into_description();
    parts.rates.memory_copies = 1;
    parts.rates.cache_limit = Bytes(0);
    parts.rates.memory_bandwidth = Some(BytesPerSecond(1000.0));
    parts.rates.nic_bandwidth = Some(BytesPerSecond(1000.0));
    parts.build().unwrap()
}

/// Rank 0 sends to the rank `destination`; 0 and 1 are on one node, 2 and 3 on the other.
fn sends_to(destination: u32, utilisation: f64, cv: f64) -> Workload {
    let send = Send { destination: Rank(destination), length: LENGTH };
    let rate = PerSecond(utilisation);
    let source =
        Source { rank: Rank(0), rate, cv, in_step: None, rounds: ROUNDS, sends: vec![send] };
    Workload::single(Job::from_sources("job", 4, vec![source]).unwrap())
}

fn outcomes(workload: &Workload, service: Service) -> Vec<Outcome> {
    let cluster = slow_cluster();
    let placement = placed(&cluster, workload, "blocked");
    let options = Options { service, ..Options::default() };
    let observer = |_: usize, _: &_| ControlFlow::Continue(());
    let runs = (REPLICATIONS, 2);
    replicate(&cluster, workload, &placement, &options, runs, &observer).unwrap().outcomes
}

/// The mean waiting at the first server of a kind, over replications.
fn mean_waiting(outcomes: &[Outcome], wanted: impl Fn(&ServerKind) -> bool) -> Estimate {
    let waiting = |outcome: &Outcome| {
        let server = outcome.servers.iter().find(|server| wanted(&server.kind)).unwrap();
        assert_eq!(server.messages, ROUNDS);
        server.mean_waiting.0
    };
    Estimate::of(&outcomes.iter().map(waiting).collect::<Vec<_>>())
}

fn is_memory(kind: &ServerKind) -> bool {
    matches!(kind, ServerKind::Memory { .. })
}

#[track_caller]
fn assert_near(found: Estimate, exact: f64) {
    let tolerance = 1.5 * found.half_width + 0.005 * exact;
    assert!(
        (found.mean - exact).abs() <= tolerance && found.half_width < 0.15 * exact,
        "found {} ± {}, expected {exact}",
        found.mean,
        found.half_width
    );
}

#[test]
fn poisson_arrivals_and_exponential_service_are_an_m_m_1_queue() {
    for load in [0.3, 0.5, 0.8] {
        let outcomes = outcomes(&sends_to(1, load, 1.0), Service::Exponential);
        assert_near(mean_waiting(&outcomes, is_memory), load / (1.0 - load));
    }
}

#[test]
fn poisson_arrivals_and_constant_service_are_an_m_d_1_queue() {
    for load in [0.3, 0.5, 0.8] {
        let outcomes = outcomes(&sends_to(1, load, 1.0), Service::Deterministic);
        // Pollaczek and Khinchine.
        assert_near(mean_waiting(&outcomes, is_memory), load / (2.0 * (1.0 - load)));
    }
}

/// The root of σ = A*(μ (1 − σ)) below 1, with the Laplace transform A*(s) of gamma distributed
/// gaps of mean 1/`load`, by bisection; μ is 1.
fn sigma(load: f64, cv: f64) -> f64 {
    let shape = 1.0 / (cv * cv);
    let transform = |s: f64| (1.0 + s / (load * shape)).powf(-shape);
    let (mut low, mut high) = (0.0, 1.0 - 1e-9);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if transform(1.0 - middle) > middle { low = middle } else { high = middle }
    }
    low
}

#[test]
fn gamma_arrivals_and_exponential_service_are_a_gi_m_1_queue() {
    assert!((sigma(0.7, 1.0) - 0.7).abs() < 1e-6, "M/M/1");
    for (load, cv) in [(0.6, 0.5), (0.8, 0.5), (0.4, 2.0), (0.6, 2.0)] {
        let outcomes = outcomes(&sends_to(1, load, cv), Service::Exponential);
        let sigma = sigma(load, cv);
        assert_near(mean_waiting(&outcomes, is_memory), sigma / (1.0 - sigma));
    }
}

#[test]
fn constant_gaps_and_constant_service_never_wait() {
    let outcomes = outcomes(&sends_to(1, 0.99, 0.0), Service::Deterministic);
    assert!(outcomes.iter().all(|outcome| outcome.total_waiting.0 == 0.0));
}

#[test]
fn a_tandem_of_exponential_servers_is_one_m_m_1_queue_after_the_other() {
    let load = 0.6;
    let outcomes = outcomes(&sends_to(2, load, 1.0), Service::Exponential);
    let alone = load / (1.0 - load);
    assert_near(mean_waiting(&outcomes, is_memory), alone);
    let nic = |wanted: fn(&ServerKind) -> bool| {
        mean_waiting(&outcomes, move |kind| {
            wanted(kind) && matches!(kind, ServerKind::NicOut { .. } | ServerKind::NicIn { .. })
        })
    };
    // Burke: what leaves an M/M/1 queue is Poisson again.
    assert_near(nic(|kind| matches!(kind, ServerKind::NicOut { node, .. } if node.0 == 0)), alone);
    assert_near(nic(|kind| matches!(kind, ServerKind::NicIn { node, .. } if node.0 == 1)), alone);
    // Each server is passed in 1/(1 − ρ) seconds.
    let latency: Vec<f64> = outcomes.iter().map(|outcome| outcome.jobs[0].mean_latency.0).collect();
    assert_near(Estimate::of(&latency), 4.0 / (1.0 - load));
}

#[test]
fn a_tandem_of_equal_constant_servers_only_waits_at_the_first() {
    let outcomes = outcomes(&sends_to(2, 0.7, 1.0), Service::Deterministic);
    assert_near(mean_waiting(&outcomes, is_memory), 0.7 / 0.6);
    assert!(outcomes.iter().all(|outcome| outcome.nic_waiting.0 == 0.0));
}

#[test]
fn the_latency_of_an_m_m_1_queue_is_exponential() {
    let outcomes = outcomes(&sends_to(1, 0.5, 1.0), Service::Exponential);
    for (part, latency) in [
        (0.5_f64, (|outcome| outcome.jobs[0].latency_p50.0) as fn(&Outcome) -> f64),
        (0.9, |outcome| outcome.jobs[0].latency_p90.0),
        (0.99, |outcome| outcome.jobs[0].latency_p99.0),
    ] {
        let estimate = Estimate::of(&outcomes.iter().map(latency).collect::<Vec<_>>());
        assert_near(estimate, -(1.0 - part).ln() / 0.5);
    }
}

/// All-to-all in overload on 2 nodes.
fn overload() -> Workload {
    let pattern = Pattern::parse("all-to-all:4:rate=10,length=1KiB,messages=50").unwrap();
    Workload::single(pattern.job().unwrap())
}

#[test]
fn closed_loops_wait_for_their_messages() {
    let cluster = slow_cluster();
    let workload = overload();
    let placement = placed(&cluster, &workload, "cyclic");
    let run = |pacing, arrivals| {
        let options = Options { pacing, arrivals, ..Options::default() };
        simulated(&cluster, &workload, &placement, &options)
    };
    for arrivals in [Arrivals::PerSource, Arrivals::PerPair] {
        let [open, departed, arrived] =
            [Pacing::Open, Pacing::AfterDeparture, Pacing::AfterArrival]
                .map(|pacing| run(pacing, arrivals));
        assert!(open.total_waiting.0 > 2.0 * departed.total_waiting.0);
        assert!(departed.total_waiting.0 > arrived.total_waiting.0);
        assert!(departed.workload_finish.0 <= arrived.workload_finish.0);
        assert_eq!([open.messages, departed.messages, arrived.messages], [600; 3]);
        // Never more on the way than a round of every source.
        let most = arrived.servers.iter().map(|server| server.longest_queue).max();
        assert!(most < Some(12), "{most:?}");
    }
}

/// The overlap of a path is computed from mean services; random ones may be shorter.
#[test]
fn closed_loops_run_with_random_services() {
    let cluster = slow_cluster();
    // Nothing waits, so that short services show.
    let pattern = Pattern::parse("ring:4:rate=1,length=1KiB,messages=300,cv=0").unwrap();
    let workload = Workload::single(pattern.job().unwrap());
    let placement = placed(&cluster, &workload, "cyclic");
    for pacing in [Pacing::AfterDeparture, Pacing::AfterArrival] {
        let run = |service| {
            let options = Options { pacing, service, ..Options::default() };
            simulated(&cluster, &workload, &placement, &options)
        };
        let [random, fixed] = [Service::Exponential, Service::Deterministic].map(run);
        assert_eq!(random.messages, fixed.messages);
        let ratio = random.workload_finish.0 / fixed.workload_finish.0;
        assert!((0.5..2.0).contains(&ratio), "{pacing:?}: {ratio}");
    }
}

#[test]
fn the_seed_decides_and_the_ticks_do_not_depend_on_the_placement() {
    let cluster = slow_cluster();
    let workload = overload();
    let run = |strategy: &str, seed| {
        let options = Options { seed, ..Options::default() };
        let placement = placed(&cluster, &workload, strategy);
        simulated(&cluster, &workload, &placement, &options)
    };
    assert_eq!(run("cyclic", 1), run("cyclic", 1));
    assert_ne!(run("cyclic", 1).total_waiting, run("cyclic", 2).total_waiting);
}

#[test]
fn an_observer_can_stop_and_is_told_how_far_it_is() {
    let cluster = slow_cluster();
    let pattern = Pattern::parse("all-to-all:4:rate=10,length=1KiB,messages=50000").unwrap();
    let workload = Workload::single(pattern.job().unwrap());
    let placement = placed(&cluster, &workload, "cyclic");
    let mut calls = Vec::new();
    let mut observer = |progress: &rankwright::sim::Progress| {
        calls.push(*progress);
        if calls.len() == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = Options::default();
    let outcome = simulate(&cluster, &workload, &placement, &options, &mut observer).unwrap();
    assert_eq!(calls.len(), 3);
    assert!(calls.windows(2).all(|pair| pair[0].events < pair[1].events));
    assert!(calls.windows(2).all(|pair| pair[0].time.0 <= pair[1].time.0));
    assert!(calls.iter().all(|progress| progress.messages == Some(600_000)));
    assert!(outcome.messages < 600_000 && outcome.messages > 0);
    assert!(outcome.stopped.is_some_and(|time| time.0 > 0.0));
}

#[test]
fn an_observer_can_stop_a_simulation_before_its_first_event() {
    let cluster = cluster(&[(4, Kind(1, 1, 32, 1))]);
    let pattern = Pattern::parse("all-to-all:128:rate=10,length=1KiB,messages=10").unwrap();
    let workload = Workload::single(pattern.job().unwrap());
    let placement = placed(&cluster, &workload, "blocked");
    let mut observer = |_: &_| ControlFlow::Break(());
    let options = Options::default();
    let outcome = simulate(&cluster, &workload, &placement, &options, &mut observer).unwrap();
    assert_eq!((outcome.messages, outcome.stopped.map(|time| time.0)), (0, Some(0.0)));
}

#[test]
fn what_cannot_be_simulated_is_an_error() {
    let cluster = slow_cluster();
    let text = |workload: &Workload| {
        let placement = placed(&cluster, workload, "blocked");
        let mut observer = |_: &_| ControlFlow::Continue(());
        let options = Options::default();
        simulate(&cluster, workload, &placement, &options, &mut observer).unwrap_err().to_string()
    };
    let silent = Pattern::parse("ring:4").unwrap().job().unwrap();
    let silent = text(&Workload::single(silent));
    assert!(silent.contains("job `ring-4`: no message timing"), "{silent}");
    for endless in ["ring:4:rate=1e-6,messages=100", "ring:4:rate=1000,length=1GB,messages=50"] {
        let endless = Workload::single(Pattern::parse(endless).unwrap().job().unwrap());
        assert!(text(&endless).contains("200 days"));
    }
    let (pair, other) = (sends_to(1, 0.5, 1.0), overload());
    let mut six = other.clone();
    six.jobs[0].ranks = 3;
    let placement = placed(&cluster, &pair, "blocked");
    let mut observer = |_: &_| ControlFlow::Continue(());
    let error = simulate(&cluster, &six, &placement, &Options::default(), &mut observer);
    assert!(error.unwrap_err().to_string().contains("4 ranks"));
}
