//! The workload of some ranks, or of groups of ranks.

use crate::ids::{GlobalRank, Rank};
use crate::traffic::{Flow, Job, Send, Source, Workload};

/// The quotient of a workload: ranks with the same number become one. Numbers count over all jobs:
/// those of a job are consecutive and after those of the jobs before it. Messages within a number,
/// and messages from or to a rank without a number, are left out.
pub(super) fn quotient(
    workload: &Workload,
    number: &dyn Fn(GlobalRank) -> Option<usize>,
) -> Workload {
    let mut first_number = 0;
    let mut quotient = Workload { name: workload.name.clone(), jobs: Vec::new() };
    for (job, first) in workload.jobs.iter().zip(workload.rank_offsets()) {
        let rank_of = |rank: Rank| {
            let number = number(rank.global(first))?;
            Some(Rank::from_index(number - first_number))
        };
        let ranks = (0..job.ranks).filter_map(|rank| rank_of(Rank(rank)));
        let Some(last) = ranks.max() else { continue };
        let ranks = last.0 + 1;
        let flows = job.flows.iter().filter_map(|flow| {
            let (source, destination) = (rank_of(flow.source)?, rank_of(flow.destination)?);
            (source != destination).then_some(Flow { source, destination, ..*flow })
        });
        let sources = job.sources.iter().filter_map(|source| {
            let rank = rank_of(source.rank)?;
            let send =
                |send: &Send| Some(Send { destination: rank_of(send.destination)?, ..*send });
            let sends: Vec<Send> =
                source.sends.iter().filter_map(send).filter(|s| s.destination != rank).collect();
            (!sends.is_empty()).then_some(Source { rank, sends, ..source.clone() })
        });
        let timed = Job::from_sources(job.name.clone(), ranks, sources.collect());
        let timed = timed.ok().filter(|_| !job.sources.is_empty());
        let merged = timed.or_else(|| Job::new(job.name.clone(), ranks, flows).ok());
        quotient.jobs.extend(merged);
        first_number += ranks as usize;
    }
    quotient
}
