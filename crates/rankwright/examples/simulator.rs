//! How fast the simulator is: workloads of Soryani et al. 2013 on their cluster.
//!
//! ```text
//! simulator                                   all of them, one line each
//! simulator WORKLOAD STRATEGY RATE MESSAGES   one, with parts of the rates and counts: mixed-1 blocked 1 0.1
//! ```

use std::ops::ControlFlow;

use rankwright::cluster::{Cluster, built_in};
use rankwright::map::{Problem, Strategy};
use rankwright::placement::{Granularity, JobShape, Placement, slots};
use rankwright::sim::{Options, simulate};
use rankwright::traffic::Workload;
use rankwright::traffic::pattern::Pattern;

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
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let cluster = built_in::find("paper:2013").expect("a built-in cluster").cluster();
    let number = |at: usize| arguments.get(at).map_or(1.0, |text| text.parse().expect("a number"));
    for (name, rows) in workloads() {
        let workload = workload(name, &rows, number(2), number(3));
        for strategy in ["blocked", "cyclic"] {
            let wanted = |at: usize, name: &str| arguments.get(at).is_none_or(|text| text == name);
            if wanted(0, name) && wanted(1, strategy) {
                measure(&cluster, &workload, strategy);
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

fn measure(cluster: &Cluster, workload: &Workload, strategy: &str) {
    let problem = Problem::new(cluster, workload, Granularity::Cores(1)).expect("enough cores");
    let strategy: Strategy = strategy.parse().expect("a strategy");
    let slot_of = strategy.map(&problem).expect("a mapping");
    let slots = slots(cluster, Granularity::Cores(1), slot_of.len()).expect("slots");
    let shapes = JobShape::of(workload);
    let placement = Placement::from_slots(cluster, &shapes, strategy.name(), &slots, &slot_of);
    let placement = placement.expect("a placement");
    let begin = processor_time();
    let mut observer = |_: &_| ControlFlow::Continue(());
    let outcome = simulate(cluster, workload, &placement, &Options::default(), &mut observer);
    let outcome = outcome.expect("a simulation");
    let time = processor_time() - begin;
    println!(
        "{:10} {:8} {:9} messages {:10} events {:7.3} s {:6.1} M messages/s {:6.1} M events/s  \
         waiting {:.6e} s, finish {:.3} s, longest queue {}",
        workload.name,
        strategy.name(),
        outcome.messages,
        outcome.events,
        time,
        outcome.messages as f64 / time / 1e6,
        outcome.events as f64 / time / 1e6,
        outcome.total_waiting.0,
        outcome.workload_finish.0,
        outcome.servers.iter().map(|server| server.longest_queue).max().unwrap_or(0),
    );
}

/// Seconds that this thread has had a processor: other programs then hardly matter.
fn processor_time() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let nanoseconds = text.split(' ').next().and_then(|first| first.parse::<f64>().ok());
    nanoseconds.expect("a number") / 1e9
}
