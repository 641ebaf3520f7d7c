//! The ranks among the processes, and the PUs that they share.

use std::collections::BTreeMap;

use rankwright::ids::{PuId, PuSet};

use super::identity;
use super::process::Process;
use super::system::System;

/// A process that is a rank, or that the user named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Running {
    pub(crate) process: Process,
    /// Its rank; `None` if it has no rank.
    pub(crate) rank: Option<u32>,
    /// Its job, for messages: `slurm 7.0`, `openmpi 393216`.
    pub(crate) job: String,
}

/// What a process shares with another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shared {
    /// A clause that names what is shared and the other.
    pub(crate) clause: String,
    /// Whether the other one is of another job.
    pub(crate) with_other_job: bool,
}

/// The ranks on this host, by job and rank, and the number of processes that may not be read.
pub(crate) struct Ranks {
    pub(crate) ranks: Vec<Running>,
    pub(crate) hidden: usize,
}

impl System<'_> {
    /// All ranks on this host; with `job`, only those of that job.
    pub(crate) fn ranks(&self, job: Option<&str>) -> std::io::Result<Ranks> {
        let mut processes = BTreeMap::new();
        let mut hidden = 0;
        for entry in std::fs::read_dir(self.proc)?.flatten() {
            let name = entry.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
                continue;
            };
            match Process::read(self, pid) {
                Ok(process) => {
                    processes.insert(pid, process);
                }
                Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => hidden += 1,
                // The process has ended, or is a kernel thread.
                Err(_) => {}
            }
        }
        let is_rank = |process: &&Process| {
            identity::is_rank(process) && !identity::serves_instance(process, &processes)
        };
        let ranks = processes.values().filter(is_rank);
        // Wrappers and their children inherit the rank; the program is the largest of them.
        let mut largest: BTreeMap<(String, u32), &Process> = BTreeMap::new();
        for process in ranks {
            let Some(rank) = identity::rank(process) else { continue };
            let title = identity::job(process, &processes);
            if job.is_some_and(|job| job != title && !identity::belongs_to(process, job)) {
                continue;
            }
            let key = (title, rank);
            let kept = largest.entry(key).or_insert(process);
            if (process.resident_kb, process.pid) > (kept.resident_kb, kept.pid) {
                *kept = process;
            }
        }
        let running = |((job, rank), process): ((String, u32), &Process)| Running {
            process: process.clone(),
            rank: Some(rank),
            job,
        };
        Ok(Ranks { ranks: largest.into_iter().map(running).collect(), hidden })
    }

    /// A process, rank or not.
    pub(crate) fn process(&self, pid: u32) -> std::io::Result<Running> {
        let process = Process::read(self, pid)?;
        let rank = identity::rank(&process);
        let job = identity::job(&process, &BTreeMap::new());
        Ok(Running { process, rank, job })
    }

    /// The PUs of the core that a PU belongs to.
    fn siblings(&self, pu: PuId) -> PuSet {
        let file = format!("devices/system/cpu/cpu{pu}/topology/thread_siblings_list");
        let list = std::fs::read_to_string(self.sys.join(file)).ok();
        let list = list.and_then(|list| list.trim().parse().ok());
        list.unwrap_or_else(|| std::iter::once(pu).collect())
    }

    /// Shared PUs: for each process, which others share them. Ranks of one job may share a
    /// core on different PUs, ranks of several jobs may not. Unbound processes are left out,
    /// because they share all PUs.
    pub(crate) fn shared(&self, running: &[Running]) -> Vec<Vec<Shared>> {
        let online = std::fs::read_to_string(self.sys.join("devices/system/cpu/online"));
        let online: usize =
            online.ok().and_then(|list| list.trim().parse().ok()).map_or(0, |pus: PuSet| pus.len());
        let mut on_pu: BTreeMap<PuId, Vec<usize>> = BTreeMap::new();
        let is_bound = |rank: &Running| online == 0 || rank.process.pus.len() < online;
        for (at, rank) in running.iter().enumerate().filter(|(_, rank)| is_bound(rank)) {
            for pu in rank.process.pus.as_slice() {
                on_pu.entry(*pu).or_default().push(at);
            }
        }
        let mut shared = vec![Vec::new(); running.len()];
        for (at, rank) in running.iter().enumerate().filter(|(_, rank)| is_bound(rank)) {
            let mut named = Vec::new();
            for pu in rank.process.pus.as_slice() {
                for sibling in self.siblings(*pu).as_slice() {
                    for &other in on_pu.get(sibling).into_iter().flatten() {
                        let same_job = running[other].job == rank.job;
                        if other == at || named.contains(&other) || (same_job && sibling != pu) {
                            continue;
                        }
                        named.push(other);
                        shared[at].push(shares(&running[other], same_job, *sibling));
                    }
                }
            }
        }
        shared
    }
}

fn shares(other: &Running, same_job: bool, pu: PuId) -> Shared {
    let rank = other.rank.map_or("a process".to_owned(), |rank| format!("rank {rank}"));
    let pid = other.process.pid;
    let clause = match same_job {
        true => format!("shares PU P#{pu} with {rank} (process {pid})"),
        false => {
            format!("shares the core of PU P#{pu} with {rank} of job {} (process {pid})", other.job)
        }
    };
    Shared { clause, with_other_job: !same_job }
}
