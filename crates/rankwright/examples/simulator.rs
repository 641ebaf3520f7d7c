//! The synthetic workloads of Soryani et al. 2013 on their cluster, to measure the simulator.
//!
//! ```text
//! simulator                                   all of them with blocked and cyclic, one line each
//! simulator WORKLOAD STRATEGY RATE MESSAGES   one, with parts of the rates and counts: mixed-1 blocked 1 0.1
//! simulator ... --write FILE                  writes servers, paths and ticks for other simulators instead
//! ```
//! Each line: workload, strategy, messages, events, total waiting in seconds, and seconds of processor
//! time.

#![expect(clippy::print_stdout, reason = "a program of its own")]

use std::fmt::Write;
use std::ops::ControlFlow;

use rankwright::cluster::Cluster;
use rankwright::cluster::read::built_in;
use rankwright::map::{Budget, Problem, Strategy};
use rankwright::network::Servers;
use rankwright::placement::{Granularity, JobShape, Placement, slots};
use rankwright::sim::{Clock, Options, RandomStream, simulate};
use rankwright::traffic::Workload;
use rankwright::traffic::generate::pattern::Pattern;
use rankwright::units::Seconds;

/// One job: shape, ranks, length, rate, messages for each pair.
type Row = (&'static str, u32, &'static str, f64, u64);

/// The synthetic workloads (tables 3 to 5).
fn workloads() -> Vec<(&'static str, Vec<Row>)> {
    let mut all = Vec::new();
    let jobs = [
        ("2MiB", 500.0),
        ("2MiB", 500.0),
        ("2MiB", 100.0),
        ("2MiB", 10.0),
        ("64KiB", 1000.0),
        ("64KiB", 100.0),
        ("64KiB", 10.0),
        ("1KiB", 1000.0),
    ];
    for (shape, count) in
        [("all-to-all", 1500), ("bcast", 2000), ("gather", 2000), ("linear", 2000)]
    {
        all.push((shape, jobs.map(|(length, rate)| (shape, 32, length, rate, count)).to_vec()));
    }
    let mixed = |ranks, length, rate| {
        ["all-to-all", "bcast", "gather", "linear"].map(|shape| (shape, ranks, length, rate, 2000))
    };
    all.push(("mixed-1", mixed(64, "64KiB", 100.0).to_vec()));
    all.push(("mixed-2", mixed(64, "64KiB", 1000.0).to_vec()));
    all.push(("mixed-3", mixed(64, "2MiB", 10.0).to_vec()));
    all.push(("mixed-4", mixed(64, "2MiB", 100.0).to_vec()));
    all.push(("mixed-5", [mixed(32, "2MiB", 10.0), mixed(32, "64KiB", 10.0)].concat()));
    all.push(("mixed-6", [mixed(24, "2MiB", 10.0), mixed(24, "64KiB", 10.0)].concat()));
    all
}

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let write = arguments.iter().position(|text| text == "--write");
    let file = write.map(|at| arguments.drain(at..).nth(1).expect("--write FILE"));
    let cluster = built_in::find("paper:2013").expect("a built-in cluster").cluster();
    let number = |at: usize| arguments.get(at).map_or(1.0, |text| text.parse().expect("a number"));
    let wanted = |at: usize, name: &str| arguments.get(at).is_none_or(|text| text == name);
    let strategies = match arguments.get(1) {
        Some(strategy) => vec![strategy.as_str()],
        None => vec!["blocked", "cyclic"],
    };
    for (name, rows) in workloads().into_iter().filter(|(name, _)| wanted(0, name)) {
        let workload = workload(name, &rows, number(2), number(3));
        for strategy in &strategies {
            let placement = place(&cluster, &workload, strategy);
            match &file {
                Some(file) => write_tables(&cluster, &workload, &placement, file),
                None => measure(&cluster, &workload, &placement),
            }
        }
    }
}

fn workload(name: &str, rows: &[Row], rate: f64, messages: f64) -> Workload {
    let job = |(number, row): (usize, &Row)| {
        let (shape, ranks, length, row_rate, count) = *row;
        let count = (count as f64 * messages).round();
        let rate = row_rate * rate;
        let text = format!("{shape}:{ranks}:rate={rate},length={length},messages={count}");
        let mut job = Pattern::parse(&text).expect("a pattern").job().expect("a job");
        job.name = format!("{}-{number}", job.name);
        job
    };
    Workload { name: name.to_owned(), jobs: rows.iter().enumerate().map(job).collect() }
}

fn place(cluster: &Cluster, workload: &Workload, strategy: &str) -> Placement {
    let problem = Problem::new(cluster, workload, Granularity::Cores(1)).expect("enough cores");
    let mapping =
        strategy.parse::<Strategy>().expect("a strategy").map(&problem, &Budget::default());
    let mapping = mapping.expect("a mapping");
    let slots = slots(cluster, Granularity::Cores(1), mapping.len()).expect("slots");
    let shapes = JobShape::of(workload);
    Placement::from_slots(cluster, &shapes, strategy, &slots, mapping.as_indices())
        .expect("a placement")
}

fn measure(cluster: &Cluster, workload: &Workload, placement: &Placement) {
    let begin = processor_time();
    let mut observer = |_: &_| ControlFlow::Continue(());
    let outcome = simulate(cluster, workload, placement, &Options::default(), &mut observer);
    let outcome = outcome.expect("a simulation");
    println!(
        "{} {} {} {} {:.9e} {:.6}",
        workload.name,
        placement.strategy(),
        outcome.messages,
        outcome.events,
        outcome.total_waiting.0,
        processor_time() - begin,
    );
}

/// Numbers apart by white space: servers, sources; for each source its rank, sends, ticks; for each
/// send the rank it goes to, its length, paths; for each path the latency before its first server (all of
/// it where there is none) and hops; for each hop server, service and latency; at the end of a source its
/// ticks. All times in picoseconds.
fn write_tables(cluster: &Cluster, workload: &Workload, placement: &Placement, file: &str) {
    let servers = Servers::new(cluster, placement);
    let picoseconds = |time: Seconds| (time.0 * 1e12).round() as u64;
    let sources: usize = workload.jobs.iter().map(|job| job.sources.len()).sum();
    let mut text = format!("{} {sources}\n", servers.kinds().len());
    for (job, offset) in workload.rank_offsets().into_iter().enumerate().take(workload.jobs.len()) {
        for (number, source) in workload.jobs[job].sources.iter().enumerate() {
            let from = offset + source.rank.index();
            let _ = writeln!(text, "{from} {} {}", source.sends.len(), source.rounds);
            for send in &source.sends {
                let to = offset + send.destination.index();
                let paths = servers.paths(from, to, send.length);
                let _ = writeln!(text, "{to} {} {}", send.length.0, paths.len());
                for path in paths {
                    let _ = write!(text, "{} {}", picoseconds(path.latency), path.hops.len());
                    for hop in path.hops {
                        let (service, latency) =
                            (picoseconds(hop.service), picoseconds(hop.latency));
                        let _ = write!(text, " {} {service} {latency}", hop.server);
                    }
                    text.push('\n');
                }
            }
            let stream = RandomStream { seed: 1, job, source: number, send: None };
            for tick in Clock::new(source, stream) {
                let _ = write!(text, "{tick} ");
            }
            text.push('\n');
        }
    }
    std::fs::write(file, text).expect("a file that can be written");
}

/// Seconds that this thread has had a processor: other programs then hardly matter.
fn processor_time() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let nanoseconds = text.split(' ').next().and_then(|first| first.parse::<f64>().ok());
    nanoseconds.expect("a number") / 1e9
}
