//! Cray MPICH: `srun` starts tasks in blocks, host by host, and the library assigns the ranks: with
//! `MPICH_RANK_REORDER_METHOD=3` it reads from a file which rank is in which slot. Ranks are bound
//! by `--cpu-bind` if all hosts need the same list, else by the shim. The shim finds its line by
//! the task number (`SLURM_PROCID`), because only MPI knows the rank. Follows the documentation
//! (intro_mpi); not tested with Cray MPICH itself.

use super::slurm::{MOST_CPUS, cpu_bind, end_with_a_refused_rank};
use crate::ids::Rank;
use crate::launch::local_sets::{LocalSets, Surplus};
use crate::launch::{Launch, LaunchError, Request, Task, text_file};
use crate::placement::{JobEntry, RankEntry, Settings};
use crate::units::counted;

const LAUNCHER: &str = "craympich";
const ORDER: &str = "MPICH_RANK_ORDER";
const HOSTS: &str = "hosts";

/// Writes for `srun` with Cray MPICH.
pub(in crate::launch) fn write(request: &Request<'_>) -> Result<Launch, LaunchError> {
    if let Some(reason) = impossible(request) {
        return Err(LaunchError::Impossible { launcher: LAUNCHER, reason });
    }
    let hosts = request.ranks_by_host();
    let slots: Vec<&RankEntry> = hosts.iter().flat_map(|(_, ranks)| ranks.clone()).collect();
    let per_host = hosts.first().map_or(1, |(_, ranks)| ranks.len());
    let sets = sets(request);
    let obstacle = sets.as_ref().err().cloned();
    let (by_exec, binding) = request.bind_by_exec(LAUNCHER, "--cpu-bind", obstacle)?;
    let bind = match sets {
        Ok(sets) if !by_exec => cpu_bind(&sets),
        _ => "--cpu-bind=none".to_owned(),
    };
    let (count, total) = (hosts.len().to_string(), slots.len().to_string());
    let per_host = format!("--ntasks-per-node={per_host}");
    let list = format!("--nodelist={}", request.path(HOSTS));
    let srun = request.program.unwrap_or("srun");
    let words = [srun, "-N", &count, "-n", &total, &per_host, "-m", "block", &list, &bind];
    let mut command: Vec<String> = words.map(str::to_owned).into();
    if by_exec {
        command.extend(end_with_a_refused_rank(request.arguments));
    }
    command.extend_from_slice(request.arguments);
    command.extend(request.one_command(by_exec)?.0);
    let lines = hosts.iter().map(|(_, ranks)| order_line(ranks)).collect();
    let names = hosts.iter().map(|(host, _)| format!("{host}\n")).collect();
    let mut files = vec![text_file(ORDER, lines), text_file(HOSTS, names)];
    files.extend(by_exec.then(|| by_slot(request, &slots)));
    let mut environment = request.variables(by_exec).to_vec();
    environment.push(("MPICH_RANK_REORDER_METHOD".to_owned(), "3".to_owned()));
    environment.push(("MPICH_RANK_REORDER_FILE".to_owned(), request.path(ORDER)));
    let notes = NOTES.map(str::to_owned).into();
    Ok(Launch { by_exec, binding, files, environment, command, notes })
}

const NOTES: [&str; 2] = [
    "this follows the documentation and is not tested with Cray MPICH: \
     MPICH_RANK_REORDER_DISPLAY=1 makes it print the order that it uses",
    "the slots count the hosts in the order of the placement, which must be Slurm's own (that of \
     SLURM_JOB_NODELIST)",
];

/// The ranks in the slots of one host.
fn order_line(ranks: &[&RankEntry]) -> String {
    let ranks: Vec<String> = ranks.iter().map(|entry| entry.rank.to_string()).collect();
    ranks.join(",") + "\n"
}

/// The map for the shim: line n belongs to slot n.
fn by_slot(request: &Request<'_>, slots: &[&RankEntry]) -> crate::launch::LaunchFile {
    let mut settings = Settings::default();
    settings.memory = request.settings.memory;
    let mut ranks = Vec::new();
    for (slot, entry) in slots.iter().enumerate() {
        for (name, value) in request.settings.variables(entry.rank.index()) {
            settings.set(slot, name, value);
        }
        ranks.push(RankEntry { rank: Rank::from_index(slot), ..(*entry).clone() });
    }
    let job = JobEntry { ranks, ..request.job.clone() };
    Request { job: &job, settings: &settings, ..*request }.ranks_map()
}

fn sets(request: &Request<'_>) -> Result<LocalSets, String> {
    if let Some(obstacle) = request.general_obstacle() {
        return Err(obstacle);
    }
    let sets = LocalSets::of_all(request, Surplus::Ignored)
        .map_err(|why| format!("{why}, --cpu-bind has one list for all hosts"))?;
    match sets.largest().filter(|pu| pu.0 >= MOST_CPUS) {
        Some(pu) => Err(format!("PU P#{pu} is beyond the {MOST_CPUS} CPUs of --cpu-bind")),
        None => Ok(sets),
    }
}

/// Why rank reordering cannot express the job.
fn impossible(request: &Request<'_>) -> Option<String> {
    if request.is_mpmd() {
        let reason = "a task learns its rank only inside MPI, too late to choose between several \
                      programs; use --for slurm if the site allows it";
        return Some(reason.to_owned());
    }
    if let Task::Report(_) = request.task {
        let reason = "a task learns its rank only inside MPI, so a report without MPI cannot name it; \
                      MPICH_RANK_REORDER_DISPLAY=1 shows where the ranks are";
        return Some(reason.to_owned());
    }
    let hosts = request.ranks_by_host();
    let counts = block_counts(request.job.ranks.len(), hosts.len());
    let ((host, ranks), tasks) =
        hosts.iter().zip(counts).find(|((_, ranks), tasks)| ranks.len() != *tasks)?;
    Some(format!(
        "srun in block order gives hosts as many tasks as each other, the first ones one more where \
         that does not divide: {tasks} on {host}, which has {}; use --for slurm where the site allows \
         -m arbitrary",
        counted(ranks.len(), "rank")
    ))
}

/// The number of tasks that srun puts on each host in block order. The numbers are those of a
/// cyclic distribution (Slurm 22.05: 20 tasks with `--ntasks-per-node=8` on three nodes are 7, 7
/// and 6).
pub(crate) fn block_counts(tasks: usize, hosts: usize) -> impl Iterator<Item = usize> {
    (0..hosts).map(move |host| tasks / hosts + usize::from(host < tasks % hosts))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::launch::testing::random_placement::{contents, native, placements};
    use crate::launch::{Binding, ProgramLine};

    proptest! {
        #[test]
        fn slots_and_order_read_back_are_the_placement(placement in placements()) {
            let line = ProgramLine::parse(&["./app".to_owned()]).unwrap();
            let task = Task::Programs(&line);
            let request = Request { binding: Binding::Exec, task, ..native(&placement) };
            let ranks = &placement.jobs[0].ranks;
            let Ok(launch) = write(&request) else {
                let mut counts = std::collections::BTreeMap::<&str, usize>::new();
                for entry in ranks {
                    *counts.entry(entry.node.as_str()).or_default() += 1;
                }
                let of_hosts = placement.nodes.iter().filter_map(|node| counts.get(node.name.as_str()));
                let of_hosts: Vec<usize> = of_hosts.copied().collect();
                let dealt: Vec<usize> = block_counts(ranks.len(), counts.len()).collect();
                prop_assert_ne!(of_hosts, dealt);
                return Ok(());
            };
            let order: Vec<usize> = contents(&launch, ORDER)
                .split([',', '\n'])
                .filter(|word| !word.is_empty())
                .map(|word| word.parse().unwrap())
                .collect();
            let option = "--ntasks-per-node=";
            let per_host = launch.command.iter().find_map(|word| word.strip_prefix(option));
            let per_host: usize = per_host.unwrap().parse().unwrap();
            let hosts: Vec<&str> = contents(&launch, HOSTS).lines().collect();
            let map: Vec<&str> = contents(&launch, "ranks.map").lines().skip(1).collect();
            prop_assert_eq!(order.len(), ranks.len());
            let counts: Vec<usize> = block_counts(order.len(), hosts.len()).collect();
            prop_assert_eq!(counts[0], per_host);
            let of_slots = hosts.iter().zip(counts).flat_map(|(host, n)| std::iter::repeat_n(*host, n));
            for ((slot, rank), host) in order.into_iter().enumerate().zip(of_slots) {
                let node = &ranks[rank].node;
                prop_assert_eq!(host, node);
                let start = format!("{slot} {node} ");
                prop_assert!(map[slot].starts_with(&start), "{}", map[slot]);
            }
        }
    }
}
