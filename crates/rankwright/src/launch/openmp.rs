//! The variables of OpenMP for ranks with several cores (hybrid MPI and OpenMP): the number of
//! threads and where in the PUs of the rank each of them runs.
//!
//! Places are given by name (`OMP_PLACES=cores`), not by number: names apply to the PUs that a rank
//! is bound to, so one value is right for all ranks on all hosts, also if the launcher binds.
//! Numbers (P#) would differ for each rank; if none of them is among the PUs of a rank, GCC's
//! OpenMP does not bind.

use std::fmt;
use std::str::FromStr;

use crate::placement::{JobEntry, RankEntry, Settings};
use crate::units::counted;

/// OpenMP threads per core of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThreadsPerCore {
    /// This number, at least 1.
    Count(u32),
    /// One on every PU (hardware thread, SMT) of the rank.
    All,
}

/// A text that is not a number of threads per core.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("found `{0}`, expected `all` or a number of threads per core from 1")]
pub struct ThreadsPerCoreError(String);

impl FromStr for ThreadsPerCore {
    type Err = ThreadsPerCoreError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse() {
            _ if text == "all" => Ok(Self::All),
            Ok(count) if count > 0 => Ok(Self::Count(count)),
            _ => Err(ThreadsPerCoreError(text.to_owned())),
        }
    }
}

impl fmt::Display for ThreadsPerCore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => count.fmt(f),
            Self::All => f.write_str("all"),
        }
    }
}

/// A rank whose cores have fewer PUs than threads are wanted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "rank {rank} has {} on {}, too few for {} per core; use --threads-per-core all, or place again \
     with more free PUs",
    counted(*pus, "PU"), counted(*cores, "core"), counted(*threads as usize, "thread")
)]
pub struct TooFewPus {
    rank: u32,
    pus: usize,
    cores: usize,
    threads: u32,
}

/// Sets `OMP_NUM_THREADS`, `OMP_PLACES` and `OMP_PROC_BIND` for the bound ranks of a job. Without
/// `threads`: one thread per core if a rank has several cores, else nothing.
///
/// # Errors
/// If the cores of a rank have fewer PUs than threads are wanted.
pub fn set(
    settings: &mut Settings,
    job: &JobEntry,
    threads: Option<ThreadsPerCore>,
) -> Result<(), TooFewPus> {
    let bound = || job.ranks.iter().filter(|entry| entry.bound && !entry.cores.is_empty());
    if threads.is_none() && bound().all(|entry| entry.cores.len() == 1) {
        return Ok(());
    }
    for entry in bound() {
        let (count, places) = threads_of(entry, threads.unwrap_or(ThreadsPerCore::Count(1)))?;
        let rank = entry.rank.index();
        settings.set(rank, "OMP_NUM_THREADS", count.to_string());
        settings.set(rank, "OMP_PLACES", places);
        settings.set(rank, "OMP_PROC_BIND", "close");
    }
    Ok(())
}

/// The number of threads of a rank, and the name of their places. With places of one core, several
/// threads share a place and stay on that core.
fn threads_of(
    entry: &RankEntry,
    wanted: ThreadsPerCore,
) -> Result<(usize, &'static str), TooFewPus> {
    let (cores, pus) = (entry.cores.len(), entry.pus.len());
    match wanted {
        ThreadsPerCore::All => Ok((pus, "threads")),
        ThreadsPerCore::Count(threads) => {
            let count = cores.saturating_mul(threads as usize);
            if count > pus {
                return Err(TooFewPus { rank: entry.rank.0, pus, cores, threads });
            }
            Ok((count, "cores"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{CoreId, PuId, Rank};

    /// A rank with `cores` cores of two PUs each.
    fn rank(index: u32, cores: u32) -> RankEntry {
        RankEntry {
            rank: Rank(index),
            node: "n0".to_owned(),
            cores: (0..cores).map(CoreId).collect(),
            pus: (0..2 * cores).map(PuId).collect(),
            numa: None,
            nics: Vec::new(),
            gpus: Vec::new(),
            bound: true,
        }
    }

    fn variables(ranks: Vec<RankEntry>, threads: Option<&str>) -> Vec<String> {
        let count = ranks.len();
        let job = JobEntry { name: String::new(), mpi_library: String::new(), ranks };
        let mut settings = Settings::default();
        let threads = threads.map(|text| text.parse().unwrap());
        set(&mut settings, &job, threads).unwrap();
        let of_rank = |rank| {
            let values = settings.variables(rank).iter();
            values.map(|(_, value)| value.as_str()).collect::<Vec<_>>().join(" ")
        };
        (0..count).map(of_rank).collect()
    }

    #[test]
    fn ranks_of_one_core_get_nothing_unless_threads_are_asked_for() {
        assert_eq!(variables(vec![rank(0, 1)], None), [""]);
        assert_eq!(variables(vec![rank(0, 1)], Some("1")), ["1 cores close"]);
        assert_eq!(variables(vec![rank(0, 1)], Some("all")), ["2 threads close"]);
    }

    #[test]
    fn threads_are_counted_by_core_and_by_pu() {
        let ranks = || vec![rank(0, 4), rank(1, 1)];
        assert_eq!(variables(ranks(), None), ["4 cores close", "1 cores close"]);
        assert_eq!(variables(ranks(), Some("2")), ["8 cores close", "2 cores close"]);
        assert_eq!(variables(ranks(), Some("all")), ["8 threads close", "2 threads close"]);
        let mut unbound = ranks();
        unbound[0].bound = false;
        assert_eq!(variables(unbound, Some("1")), ["", "1 cores close"]);
    }

    #[test]
    fn more_threads_than_pus_are_an_error() {
        let job =
            JobEntry { name: String::new(), mpi_library: String::new(), ranks: vec![rank(0, 4)] };
        let error = set(&mut Settings::default(), &job, Some(ThreadsPerCore::Count(3)));
        let said = error.unwrap_err().to_string();
        assert!(said.starts_with("rank 0 has 8 PUs on 4 cores, too few for 3 threads"), "{said}");
        assert!("0".parse::<ThreadsPerCore>().is_err() && "two".parse::<ThreadsPerCore>().is_err());
    }
}
