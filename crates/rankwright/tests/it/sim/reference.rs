//! The simulator against a slow one that shares nothing with it but the clocks and the paths: one
//! heap with all events, every message and every visit kept.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

use proptest::prelude::*;

use rankwright::cluster::{Cluster, Nic, Rates, ServiceCurve, Switch};
use rankwright::ids::{NumaId, Rank};
use rankwright::map::{Budget, Problem, Strategy as Mapping};
use rankwright::network::{Path, ServerKind, Servers};
use rankwright::placement::{Granularity, JobShape, Placement, slots};
use rankwright::sim::{
    Arrivals, Clock, Options, Outcome, Pacing, RandomStream, Service, replicate, simulate,
};
use rankwright::traffic::generate::pattern::Pattern;
use rankwright::traffic::{Job, Send, Source, Workload};
use rankwright::units::{Bytes, BytesPerSecond, PerSecond, Seconds};

use crate::clusters::{Kind, cluster, with_switches};

/// A placement by the strategy with this name.
pub(crate) fn placed(cluster: &Cluster, workload: &Workload, strategy: &str) -> Placement {
    let problem = Problem::new(cluster, workload, Granularity::Cores(1)).unwrap();
    let mapping = strategy.parse::<Mapping>().unwrap().map(&problem, &Budget::default()).unwrap();
    let slots = slots(cluster, Granularity::Cores(1), mapping.len()).unwrap();
    let shapes = JobShape::of(workload);
    Placement::from_slots(cluster, &shapes, strategy, &slots, mapping.as_indices()).unwrap()
}

pub(crate) fn run(
    cluster: &Cluster,
    workload: &Workload,
    placement: &Placement,
    options: &Options,
) -> Outcome {
    let mut observer = |_: &_| ControlFlow::Continue(());
    simulate(cluster, workload, placement, options, &mut observer).unwrap()
}

/// A clock with its messages.
struct Sender<'a> {
    job: usize,
    clock: Clock,
    /// Of its first message: whose turn of several network devices it is.
    turn: usize,
    /// The paths of each send.
    sends: Vec<Vec<Path>>,
    servers: &'a Servers<'a>,
    state: Round,
}

/// The present round of a clock.
#[derive(Clone, Copy, Default)]
struct Round {
    number: usize,
    outstanding: usize,
    begun: u64,
    ready: u64,
    /// The longest way of a message of this round.
    longest: u64,
    /// How long the clock has stood still in the rounds before.
    stood: u64,
}

struct Message {
    sender: usize,
    born: u64,
    path: Path,
    hop: usize,
    arrived: Option<u64>,
}

/// A message's stay at a server.
#[derive(Clone, Copy)]
struct Visit {
    message: usize,
    arrival: u64,
    begin: u64,
    departure: u64,
}

/// Time; who it comes from (servers first, then ticks before, those least before first, then clocks);
/// a running number.
type Key = (u64, (usize, u64), usize);

struct Reference<'a> {
    senders: Vec<Sender<'a>>,
    pacing: Pacing,
    messages: Vec<Message>,
    visits: Vec<Vec<Visit>>,
    /// With a key a message that comes to its next server, or none for a tick.
    events: BinaryHeap<Reverse<(Key, Option<usize>)>>,
    number: usize,
    ticks: u64,
}

fn picoseconds(time: Seconds) -> u64 {
    (time.0 * 1e12).round() as u64
}

impl<'a> Reference<'a> {
    fn new(servers: &'a Servers, workload: &Workload, options: &Options) -> Self {
        let mut senders = Vec::new();
        for (job, (traffic, offset)) in
            workload.jobs.iter().zip(workload.rank_offsets()).enumerate()
        {
            for (number, source) in traffic.sources.iter().enumerate() {
                let from = source.rank.global(offset);
                let path =
                    |send: &Send| servers.paths(from, send.destination.global(offset), send.length);
                let others = source.sends.iter().enumerate();
                let others: Vec<(usize, Vec<Path>)> = others
                    .filter(|(_, send)| send.destination != source.rank)
                    .map(|(position, send)| (position, path(send)))
                    .collect();
                let with = |other: &Source| other.in_step == source.in_step;
                let first = match (options.arrivals, source.in_step) {
                    (Arrivals::PerSource, Some(_)) => traffic.sources.iter().position(with),
                    _ => Some(number),
                };
                let mut add = |send: Option<usize>, turn: usize, sends: Vec<Vec<Path>>| {
                    let source_number = first.unwrap();
                    let stream =
                        RandomStream { seed: options.seed, job, source: source_number, send };
                    let clock = match options.pacing {
                        Pacing::Open => Clock::new(source, stream),
                        _ => Clock::new(source, stream).within_its_run(),
                    };
                    let turn = from.index() + turn;
                    senders.push(Sender {
                        job,
                        clock,
                        turn,
                        sends,
                        servers,
                        state: Round::default(),
                    });
                };
                match options.arrivals {
                    Arrivals::PerSource if others.is_empty() => (),
                    Arrivals::PerSource => add(None, 0, others.into_iter().map(|o| o.1).collect()),
                    Arrivals::PerPair => {
                        let others = others.into_iter().enumerate();
                        others.for_each(|(turn, (send, paths))| add(Some(send), turn, vec![paths]));
                    }
                }
            }
        }
        let mut reference = Self {
            visits: vec![Vec::new(); servers.kinds().len()],
            senders,
            pacing: options.pacing,
            messages: Vec::new(),
            events: BinaryHeap::new(),
            number: 0,
            ticks: 0,
        };
        reference.run();
        reference
    }

    fn run(&mut self) {
        (0..self.senders.len()).for_each(|sender| self.schedule(sender));
        while let Some(Reverse(((time, (from, _), _), message))) = self.events.pop() {
            match message {
                Some(message) => self.arrive(message, time),
                None => self.tick(from - self.visits.len() - 1, time),
            }
        }
    }

    fn push(&mut self, time: u64, from: (usize, u64), message: Option<usize>) {
        self.number += 1;
        self.events.push(Reverse(((time, from, self.number), message)));
    }

    fn schedule(&mut self, sender: usize) {
        if let Some(time) = self.senders[sender].clock.next() {
            let Round { stood, ready, .. } = self.senders[sender].state;
            let time = (time + stood).max(ready);
            self.push(time, (self.visits.len() + 1 + sender, 0), None);
        }
    }

    fn tick(&mut self, number: usize, time: u64) {
        self.ticks += 1;
        let sender = &mut self.senders[number];
        let round = sender.state.number;
        sender.state.number += 1;
        sender.state.outstanding = sender.sends.len();
        (sender.state.begun, sender.state.longest) = (time, 0);
        // One message after the other takes the network devices in turn.
        let first = sender.turn + round * sender.sends.len();
        let path = |(paths, turn): (&Vec<Path>, usize)| paths[turn % paths.len()].clone();
        let paths: Vec<Path> = sender.sends.iter().zip(first..).map(path).collect();
        for path in paths {
            let message = self.messages.len();
            let late = picoseconds(path.latency);
            self.messages.push(Message { sender: number, born: time, path, hop: 0, arrived: None });
            // One without a server is at its receiver then.
            match late {
                0 => self.arrive(message, time),
                _ => self.push(time + late, (self.visits.len(), late), Some(message)),
            }
        }
        if self.pacing == Pacing::Open {
            self.schedule(number);
        }
    }

    /// A message comes to its next server, or to its receiver.
    fn arrive(&mut self, message: usize, time: u64) {
        let Message { sender, ref path, hop, .. } = self.messages[message];
        let Some(at) = path.hops.get(hop) else {
            return self.deliver(message, time);
        };
        let server = at.server.index();
        let free = self.visits[server].last().map_or(0, |visit| visit.departure);
        let begin = time.max(free);
        let departure = begin + picoseconds(at.service).max(1);
        let next = departure + picoseconds(at.latency);
        let side = |server: usize| self.senders[sender].servers.kinds()[server];
        let behind = path.hops[hop + 1..].iter().map(|hop| side(hop.server.index()));
        let leaves = match side(server) {
            ServerKind::NicOut { .. } => true,
            ServerKind::Memory { .. } => {
                let mut behind = behind;
                hop + 1 == path.hops.len() && !self.crosses(message) && behind.next().is_none()
            }
            _ => false,
        };
        let last = hop + 1 == path.hops.len();
        self.visits[server].push(Visit { message, arrival: time, begin, departure });
        self.messages[message].hop += 1;
        if leaves && self.pacing == Pacing::AfterDeparture {
            self.release(sender, departure, 0);
        }
        if last {
            self.deliver(message, next);
        } else {
            self.push(next, (server, 0), Some(message));
        }
    }

    fn crosses(&self, message: usize) -> bool {
        let Message { sender, ref path, .. } = self.messages[message];
        let kinds = self.senders[sender].servers.kinds();
        path.hops.iter().any(|hop| matches!(kinds[hop.server.index()], ServerKind::NicOut { .. }))
    }

    fn deliver(&mut self, number: usize, time: u64) {
        let message = &mut self.messages[number];
        message.arrived = Some(time);
        let services = message.path.hops.iter().map(|hop| picoseconds(hop.service).max(1));
        let overlap = services.clone().sum::<u64>() - services.max().unwrap_or(0);
        let direct = message.path.hops.is_empty();
        let sender = message.sender;
        match self.pacing {
            Pacing::AfterArrival => self.release(sender, time, overlap),
            Pacing::AfterDeparture if direct => self.release(sender, time, overlap),
            _ => (),
        }
    }

    fn release(&mut self, number: usize, time: u64, overlap: u64) {
        let round = &mut self.senders[number].state;
        round.outstanding -= 1;
        round.ready = round.ready.max(time);
        round.longest = round.longest.max(time - overlap - round.begun);
        if round.outstanding == 0 {
            round.stood += round.longest;
            self.schedule(number);
        }
    }
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * a.abs().max(b.abs())
}

/// The integral of the number of waiting messages, step by step, and its largest value just after
/// an arrival.
fn queue(visits: &[Visit]) -> (u128, u64) {
    let mut changes: Vec<(u64, i64)> = Vec::new();
    for visit in visits {
        changes.extend([(visit.arrival, 1), (visit.begin, -1)]);
    }
    // At one time first those who leave the queue; who does not wait at all counts for nothing.
    changes.sort_unstable();
    let (mut area, mut length, mut before) = (0, 0, 0);
    for (time, change) in changes {
        area += u128::from(time - before) * u128::try_from(length.max(0)).unwrap();
        length += change;
        before = time;
    }
    // Arrivals and begins both ascend.
    let waiting = |time: u64| {
        let come = visits.partition_point(|visit| visit.arrival <= time);
        let begun = visits.partition_point(|visit| visit.begin <= time);
        come.saturating_sub(begun) as u64
    };
    (area, visits.iter().map(|visit| waiting(visit.arrival)).max().unwrap_or(0))
}

fn check(outcome: &Outcome, reference: &Reference, jobs: usize) {
    let departures: usize = reference.visits.iter().map(Vec::len).sum();
    assert_eq!(outcome.events, departures as u64 + reference.ticks);
    assert_eq!(outcome.messages, reference.messages.len() as u64);
    let finish = |job: usize| {
        let messages = reference.messages.iter().filter(|m| reference.senders[m.sender].job == job);
        messages.map(|message| message.arrived.expect("every message arrives")).max().unwrap_or(0)
    };
    let end = (0..jobs).map(finish).max().unwrap_or(0);
    assert!(near(outcome.workload_finish.0, end as f64 / 1e12));
    assert!(near(outcome.total_finish.0, (0..jobs).map(finish).sum::<u64>() as f64 / 1e12));
    for (server, visits) in outcome.servers.iter().zip(&reference.visits) {
        let waits = || visits.iter().map(|visit| visit.begin - visit.arrival);
        let sum: u128 = waits().map(u128::from).sum();
        let busy: u64 = visits.iter().map(|visit| visit.departure - visit.begin).sum();
        assert_eq!(server.messages, visits.len() as u64, "{}", server.name);
        assert!(near(server.waiting.0, sum as f64 / 1e12), "{} {sum}", server.name);
        assert!(near(server.longest_waiting.0, waits().max().unwrap_or(0) as f64 / 1e12));
        assert!(near(server.service.0, busy as f64 / 1e12));
        let (area, longest) = queue(visits);
        assert_eq!(area, sum, "Little's law");
        assert!(end == 0 || near(server.mean_queue, area as f64 / end as f64));
        assert_eq!(server.longest_queue, longest, "{}", server.name);
        assert!(server.utilisation <= 1.0 + 1e-12);
        // Work conservation: no server rests while a message waits.
        for pair in visits.windows(2) {
            assert_eq!(pair[1].begin, pair[1].arrival.max(pair[0].departure));
        }
    }
    for (number, job) in outcome.jobs.iter().enumerate() {
        check_job(job, number, reference);
    }
}

fn check_job(job: &rankwright::sim::JobStatistics, number: usize, reference: &Reference) {
    let is_of_job =
        |message: usize| reference.senders[reference.messages[message].sender].job == number;
    let mut latencies: Vec<u64> = (0..reference.messages.len())
        .filter(|message| is_of_job(*message))
        .map(|message| {
            reference.messages[message].arrived.unwrap() - reference.messages[message].born
        })
        .collect();
    latencies.sort_unstable();
    let visits = reference.visits.iter().flatten().filter(|visit| is_of_job(visit.message));
    let waiting: u128 = visits.map(|visit| u128::from(visit.begin - visit.arrival)).sum();
    assert_eq!(job.messages, latencies.len() as u64);
    assert!(near(job.waiting.0, waiting as f64 / 1e12), "{} {waiting}", job.waiting.0);
    let Some(longest) = latencies.last() else { return };
    assert!(near(job.longest_latency.0, *longest as f64 / 1e12));
    let mean = latencies.iter().map(|l| *l as f64).sum::<f64>() / latencies.len() as f64 / 1e12;
    assert!((job.mean_latency.0 - mean).abs() <= 1e-9 * mean);
    let parts = [(0.5, job.latency_p50), (0.9, job.latency_p90), (0.99, job.latency_p99)];
    for (part, latency) in parts {
        let rank = (part * latencies.len() as f64).ceil() as usize;
        let exact = latencies[rank.max(1) - 1] as f64 / 1e12;
        assert!(
            (latency.0 - exact).abs() <= 0.008 * exact + 1e-12,
            "{part}: {} {exact}",
            latency.0
        );
    }
}

/// What a random cluster is made of.
#[derive(Debug, Clone)]
struct Shape {
    kinds: Vec<(usize, (u32, u32, u32))>,
    nics: Vec<(f64, bool)>,
    switches: Option<(usize, f64)>,
    modelled: bool,
    /// Everything takes a few picoseconds, so that many events are at the same time.
    tiny: bool,
    copies: u32,
    /// What a device beside another package costs a core, in some microseconds or, if tiny, picoseconds.
    far: Option<u32>,
}

fn shape() -> impl Strategy<Value = Shape> {
    let kind = (1_usize..4, (1_u32..3, 1_u32..3, 1_u32..4));
    (
        prop::collection::vec(kind, 1..3),
        prop::collection::vec((0.5_f64..4.0, any::<bool>()), 0..4),
        prop::option::of((1_usize..3, 0.5_f64..3.0)),
        any::<bool>(),
        any::<bool>(),
        1_u32..4,
        prop::option::of(1_u32..40),
    )
        .prop_map(|(kinds, nics, switches, modelled, tiny, copies, far)| Shape {
            kinds,
            nics,
            switches,
            modelled: modelled && !tiny,
            tiny,
            copies,
            far,
        })
}

fn built(shape: &Shape) -> Cluster {
    let kind = |(count, (packages, numa, cores)): &(usize, (u32, u32, u32))| {
        (*count, Kind(*packages, *numa, *cores, 1))
    };
    let kinds: Vec<(usize, Kind)> = shape.kinds.iter().map(kind).collect();
    let mut cluster = cluster(&kinds);
    if let Some((each, _)) = shape.switches {
        cluster = with_switches(cluster, each);
    }
    let mut parts = cluster.into_description();
    let fast = if shape.tiny { 1e3 } else { 1.0 };
    if shape.modelled {
        parts.rates = Rates::named("paper-2013-model").unwrap();
    }
    parts.rates.memory_copies = shape.copies;
    for rate in [&mut parts.rates.nic_bandwidth, &mut parts.rates.memory_bandwidth] {
        *rate = rate.map(|rate| BytesPerSecond(rate.0 * fast));
    }
    if shape.tiny {
        parts.rates.nic_latency = Some(Seconds(2e-12));
    }
    if let Some(far) = shape.far {
        let time = |part: u32| Seconds(f64::from(part) * if shape.tiny { 1e-12 } else { 1e-6 });
        let points = vec![(Bytes(1), time(far)), (Bytes(1 << 16), time(2 * far))];
        parts.rates.inter_socket = ServiceCurve::new(points).unwrap();
    }
    for (number, group) in parts.groups.iter_mut().enumerate() {
        for (position, (bandwidth, near)) in shape.nics.iter().enumerate() {
            let mut nic = Nic::new(format!("nic{position}"));
            nic.bandwidth = Some(BytesPerSecond((bandwidth * 1e9).round() * fast));
            nic.latency = (number > 0).then_some(Seconds(3e-12));
            nic.near = if *near { vec![NumaId(0)] } else { Vec::new() };
            group.machine.nics.push(nic);
        }
    }
    if let Some((_, bandwidth)) = shape.switches {
        let root = parts.switches.len() - 1;
        // Every second link is finite, and there is one more switch above all.
        parts.switches[root].parent = Some(root + 1);
        parts.switches.push(Switch { name: "top".to_owned(), parent: None, uplink: None });
        for switch in parts.switches.iter_mut().step_by(2) {
            switch.uplink = Some(BytesPerSecond(bandwidth * 1e9 * fast));
        }
    }
    parts.build().unwrap()
}

fn source(ranks: u32, tiny: bool) -> impl Strategy<Value = Source> {
    let lengths = if tiny { vec![0, 1, 2, 5] } else { vec![0, 100, 1 << 10, 1 << 16, 1 << 21] };
    let rates = if tiny { vec![1e10, 1e11, 4e11] } else { vec![10.0, 1e3, 1e5] };
    let send = (0..ranks, prop::sample::select(lengths))
        .prop_map(|(to, length)| Send { destination: Rank(to), length: Bytes(length) });
    (
        0..ranks,
        prop::sample::select(rates),
        prop::sample::select(vec![0.0, 0.5, 1.0, 2.0]),
        prop::option::of(0_u32..2),
        1_u64..30,
        prop::collection::vec(send, 0..6),
    )
        .prop_map(|(rank, rate, cv, in_step, rounds, sends)| Source {
            rank: Rank(rank),
            rate: PerSecond(rate),
            cv,
            in_step,
            rounds,
            sends,
        })
}

fn case() -> impl Strategy<Value = (Cluster, Workload)> {
    shape().prop_flat_map(|shape| {
        let cluster = built(&shape);
        let cores = cluster.core_count() as u32;
        let job = move |ranks: u32| {
            prop::collection::vec(source(ranks, shape.tiny), 0..8)
                .prop_map(move |sources| (ranks, sources))
        };
        let jobs = prop::collection::vec((1..cores.max(2)).prop_flat_map(job), 1..4);
        (Just(cluster), jobs).prop_map(|(cluster, jobs)| {
            let mut free = cluster.core_count() as u32;
            let mut built = Vec::new();
            for (number, (ranks, sources)) in jobs.into_iter().enumerate() {
                if ranks <= free {
                    free -= ranks;
                    built.push(Job::from_sources(format!("job{number}"), ranks, sources).unwrap());
                }
            }
            (cluster, Workload { name: "random".to_owned(), jobs: built })
        })
    })
}

fn options() -> impl Strategy<Value = Options> {
    let pacings = [Pacing::Open, Pacing::AfterDeparture, Pacing::AfterArrival];
    (
        prop::sample::select(vec![Arrivals::PerSource, Arrivals::PerPair]),
        prop::sample::select(pacings.to_vec()),
        any::<u64>(),
    )
        .prop_map(|(arrivals, pacing, seed)| Options {
            arrivals,
            pacing,
            service: Service::Deterministic,
            seed,
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]
    #[test]
    fn both_simulators_agree(
        (cluster, workload) in case(),
        options in options(),
        seed in 0_u32..1000,
    ) {
        let placement = placed(&cluster, &workload, &format!("random:seed={seed}"));
        let servers = Servers::new(&cluster, &placement);
        let reference = Reference::new(&servers, &workload, &options);
        let outcome = run(&cluster, &workload, &placement, &options);
        prop_assert_eq!(outcome.stopped, None);
        check(&outcome, &reference, workload.jobs.len());
    }
}

/// Enough messages for every limit of the engine: long queues at memories and network devices, and
/// receivers that never send.
#[test]
fn both_simulators_agree_in_overload() {
    let cluster = cluster(&[(4, Kind(2, 1, 4, 1)), (2, Kind(1, 2, 3, 1))]);
    let job = |(name, text): (&str, &str)| {
        let mut job = Pattern::parse(text).unwrap().job().unwrap();
        job.name = name.to_owned();
        job
    };
    let jobs = [
        ("a", "all-to-all:12:rate=3000,messages=30"),
        ("b", "bcast:10:rate=9000,length=64KiB,messages=700"),
        ("c", "gather:10:rate=1000,length=1MiB,messages=300"),
        ("d", "linear:10:rate=5000,length=2KiB,messages=300,cv=3"),
    ];
    let workload = Workload { name: "mixed".to_owned(), jobs: jobs.map(job).to_vec() };
    for pacing in [Pacing::Open, Pacing::AfterDeparture, Pacing::AfterArrival] {
        for strategy in ["blocked", "cyclic"] {
            let options = Options { pacing, ..Options::default() };
            let placement = placed(&cluster, &workload, strategy);
            let servers = Servers::new(&cluster, &placement);
            let reference = Reference::new(&servers, &workload, &options);
            let outcome = run(&cluster, &workload, &placement, &options);
            check(&outcome, &reference, workload.jobs.len());
        }
    }
}

#[test]
fn replications_are_the_same_for_any_number_of_threads() {
    let cluster = cluster(&[(4, Kind(2, 1, 2, 1))]);
    let job = |text: &str| {
        rankwright::traffic::generate::pattern::Pattern::parse(text).unwrap().job().unwrap()
    };
    let workload = Workload::single(job("all-to-all:16:rate=2000,messages=20,cv=2"));
    let placement = placed(&cluster, &workload, "cyclic");
    let replicated = |threads| {
        let observer = |_: usize, _: &_| ControlFlow::Continue(());
        let options = Options::default();
        replicate(&cluster, &workload, &placement, &options, (5, threads), &observer).unwrap()
    };
    let expected = replicated(1);
    assert_eq!(expected.outcomes.len(), 5);
    assert!(expected.total_waiting.half_width > 0.0);
    for threads in [2, 3, 8] {
        assert_eq!(replicated(threads), expected);
    }
}
