//! Clocks for jobs without message timing beside jobs with it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::ids::Rank;
use crate::traffic::{Flow, Job, Send, Source, Workload};
use crate::units::{Bytes, PerSecond};

/// Length of the longest message, bytes; more bytes are sent as several messages.
const LONGEST: u64 = 1 << 30;
/// The fastest clock, ticks per second.
const FASTEST: f64 = 1e12;

/// The workload with clocks for all jobs, as the models need them. Jobs that have clocks keep them, the
/// others spread their messages evenly over the run time of those. A workload without any clock stays
/// as it is.
///
/// Message lengths are rounded up to powers of two; the number of messages follows from the bytes.
pub(super) fn with_clocks(workload: &Workload) -> Cow<'_, Workload> {
    let lacks = |job: &&Job| job.sources.is_empty() && !job.flows.is_empty();
    if !workload.jobs.iter().any(|job| lacks(&job)) {
        return Cow::Borrowed(workload);
    }
    let sources = workload.jobs.iter().flat_map(|job| &job.sources);
    let ends = sources.map(|source| source.rounds as f64 / source.rate.0);
    let Some(end) = ends.reduce(f64::max) else { return Cow::Borrowed(workload) };
    let clocked = |job: &Job| if lacks(&job) { job_with_clocks(job, end) } else { job.clone() };
    let jobs = workload.jobs.iter().map(clocked).collect();
    Cow::Owned(Workload { name: workload.name.clone(), jobs })
}

/// The job with clocks that send all its bytes within `end` seconds.
fn job_with_clocks(job: &Job, end: f64) -> Job {
    let mut sends: BTreeMap<(Rank, u64), Vec<Send>> = BTreeMap::new();
    for flow in job.flows.iter().filter(|flow| flow.bytes > 0 && flow.source != flow.destination) {
        let (length, rounds) = split(flow);
        let send = Send { destination: flow.destination, length: Bytes(length) };
        sends.entry((flow.source, rounds)).or_default().push(send);
    }
    let source = |((rank, rounds), sends): ((Rank, u64), Vec<Send>)| {
        let rate = PerSecond((rounds as f64 / end).min(FASTEST));
        Source { rank, rate, cv: 0.0, in_step: None, rounds, sends }
    };
    let sources = sends.into_iter().map(source).collect();
    Job::from_sources(&job.name, job.ranks, sources).unwrap_or_else(|_| job.clone())
}

/// The length of the messages of a flow in bytes, and their number.
fn split(flow: &Flow) -> (u64, u64) {
    let mean = flow.bytes / flow.messages.max(1);
    let length = mean.clamp(1, LONGEST).next_power_of_two();
    (length, flow.bytes.div_ceil(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(destination: u32, messages: u64, bytes: u64) -> Flow {
        let (source, destination) = (Rank(0), Rank(destination));
        Flow { source, destination, messages, bytes, largest: bytes / messages.max(1) }
    }

    #[test]
    fn clocks_send_the_bytes_of_the_flows() {
        let largest = (1 << 63) - 1;
        let flows = vec![flow(0, 3, 9), flow(1, 10, 10_000), flow(2, 1, largest), flow(3, 5, 0)];
        let clocked = job_with_clocks(&Job::new("a", 4, flows).unwrap(), 1.0);
        let sent: Vec<(u32, u64, u64)> = clocked
            .sources
            .iter()
            .flat_map(|source| source.sends.iter().map(move |send| (source, send)))
            .map(|(source, send)| (send.destination.0, source.rounds, send.length.0))
            .collect();
        assert_eq!(sent, [(1, 10, 1024), (2, 1 << 33, 1 << 30)]);
    }

    #[test]
    fn clocks_that_exist_are_kept_and_the_others_run_as_long() {
        let job = |text: &str| {
            crate::traffic::generate::pattern::Pattern::parse(text).unwrap().job().unwrap()
        };
        let clocked = job("ring:4:rate=10,messages=50,length=1kB");
        let alone = Workload::single(clocked.clone());
        assert!(matches!(with_clocks(&alone), Cow::Borrowed(_)));
        let both = Workload {
            name: "both".to_owned(),
            jobs: vec![clocked.clone(), job("ring:4:messages=50,length=1kB")],
        };
        let both = with_clocks(&both);
        assert_eq!(both.jobs[0], clocked);
        for source in &both.jobs[1].sources {
            assert!((source.rounds as f64 / source.rate.0 - 5.0).abs() < 1e-9);
        }
    }
}
