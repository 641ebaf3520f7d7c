//! Ranks of jobs that run on this host, as `/proc` shows them.

mod identity;
mod process;

use std::collections::BTreeMap;
use std::path::Path;

use rankwright::ids::{PuId, PuSet};

pub(crate) use process::Process;

/// A process that is a rank, or that the user names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Running {
    pub(crate) process: Process,
    /// Its rank; `None` if it does not know.
    pub(crate) rank: Option<u32>,
    /// Its job, for people: `slurm 7.0`, `openmpi 393216`.
    pub(crate) job: String,
}

/// Where the system tells what runs and what the hardware is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct System<'a> {
    pub(crate) proc: &'a Path,
    pub(crate) sys: &'a Path,
}

impl System<'static> {
    /// This host's.
    pub(crate) fn here() -> Self {
        Self { proc: Path::new("/proc"), sys: Path::new("/sys") }
    }
}

/// The ranks that run here, each once, by job and rank, and how many processes may not be looked at.
pub(crate) struct Ranks {
    pub(crate) ranks: Vec<Running>,
    pub(crate) hidden: usize,
}

impl System<'_> {
    /// All ranks that run on this host; of a job only, where the user names one.
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
                // It has ended meanwhile, or is a thread of the kernel.
                Err(_) => {}
            }
        }
        let ranks = processes.values().filter(|process| identity::is_rank(process));
        // Wrappers and their children all inherit the rank; the program is the largest of them.
        let mut largest: BTreeMap<(String, u32), &Process> = BTreeMap::new();
        for process in ranks {
            let Some(rank) = identity::rank(process) else { continue };
            let title = identity::job(process, &processes);
            if job.is_some_and(|job| job != title && !identity::belongs_to(process, job)) {
                continue;
            }
            let key = (title, rank);
            let known = largest.entry(key).or_insert(process);
            if (process.resident_kb, process.pid) > (known.resident_kb, known.pid) {
                *known = process;
            }
        }
        let running = |((job, rank), process): ((String, u32), &Process)| Running {
            process: process.clone(),
            rank: Some(rank),
            job,
        };
        Ok(Ranks { ranks: largest.into_iter().map(running).collect(), hidden })
    }

    /// A process, whatever it is.
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

    /// Who runs on the same PUs: for each process, sentences that name the others. Ranks of one job
    /// may have the PUs of a core between them, several jobs may not. Processes that are not bound
    /// share all PUs as a matter of course.
    pub(crate) fn shared(&self, running: &[Running]) -> Vec<Vec<String>> {
        let online = std::fs::read_to_string(self.sys.join("devices/system/cpu/online"));
        let online: usize =
            online.ok().and_then(|list| list.trim().parse().ok()).map_or(0, |pus: PuSet| pus.len());
        let mut on_pu: BTreeMap<PuId, Vec<usize>> = BTreeMap::new();
        let is_bound = |one: &Running| online == 0 || one.process.pus.len() < online;
        for (at, one) in running.iter().enumerate().filter(|(_, one)| is_bound(one)) {
            for pu in one.process.pus.as_slice() {
                on_pu.entry(*pu).or_default().push(at);
            }
        }
        let mut sentences = vec![Vec::new(); running.len()];
        for (at, one) in running.iter().enumerate().filter(|(_, one)| is_bound(one)) {
            let mut told = Vec::new();
            for pu in one.process.pus.as_slice() {
                for sibling in self.siblings(*pu).as_slice() {
                    for &other in on_pu.get(sibling).into_iter().flatten() {
                        let same_job = running[other].job == one.job;
                        if other == at || told.contains(&other) || (same_job && sibling != pu) {
                            continue;
                        }
                        told.push(other);
                        sentences[at].push(shares(&running[other], same_job, *sibling));
                    }
                }
            }
        }
        sentences
    }
}

fn shares(other: &Running, same_job: bool, pu: PuId) -> String {
    let rank = other.rank.map_or("a process".to_owned(), |rank| format!("rank {rank}"));
    let pid = other.process.pid;
    match same_job {
        true => format!("shares PU P#{pu} with {rank} (process {pid})"),
        false => {
            format!("shares the core of PU P#{pu} with {rank} of job {} (process {pid})", other.job)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine of two cores with two PUs each: P#0, P#2 and P#1, P#3.
    pub(super) struct Made(tempfile::TempDir);

    impl Made {
        pub(super) fn new() -> Self {
            let made = Self(tempfile::tempdir().unwrap());
            made.write("sys/devices/system/cpu/online", "0-3\n");
            for (pu, siblings) in [(0, "0,2"), (1, "1,3"), (2, "0,2"), (3, "1,3")] {
                let file = format!("sys/devices/system/cpu/cpu{pu}/topology/thread_siblings_list");
                made.write(&file, siblings);
            }
            made.write("sys/devices/system/node/node0/cpulist", "0-3\n");
            made
        }

        pub(super) fn write(&self, file: &str, text: &str) {
            let path = self.0.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }

        pub(super) fn process(
            &self,
            (pid, parent): (u32, u32),
            (name, resident): (&str, u64),
            pus: &str,
            environment: &[&str],
        ) {
            let file = |file: &str| format!("proc/{pid}/{file}");
            let status = format!(
                "Name:\t{name}\nPPid:\t{parent}\nVmRSS:\t{resident} kB\nCpus_allowed_list:\t{pus}\n"
            );
            self.write(&file("status"), &status);
            let zeros = "0 ".repeat(35);
            self.write(&file("stat"), &format!("{pid} ({name}) S {zeros}1 0 0\n"));
            self.write(&file("environ"), &environment.join("\0"));
            self.write(
                &file("numa_maps"),
                "00400000 prefer:0 file=/bin/x N0=3 N1=1\n7f00 prefer:0 anon=2 N0=2\n",
            );
        }

        pub(super) fn look<T>(&self, with: impl Fn(System<'_>) -> T) -> T {
            let (proc, sys) = (self.0.path().join("proc"), self.0.path().join("sys"));
            with(System { proc: &proc, sys: &sys })
        }
    }

    #[test]
    fn ranks_of_all_jobs_are_found_once() {
        let made = Made::new();
        let of_mpirun = |rank| {
            [format!("OMPI_COMM_WORLD_RANK={rank}"), "OMPI_MCA_ess_base_jobid=77".to_owned()]
        };
        let batch = ["SLURM_JOB_ID=7", "SLURM_PROCID=0"];
        made.process((10, 1), ("slurm_script", 900), "0-3", &batch);
        made.process((11, 10), ("mpirun", 900), "0-3", &batch);
        for (pid, rank) in [(20, 0), (21, 1)] {
            let [rank, job] = of_mpirun(rank);
            let all = [&batch[..], &[&rank, &job]].concat();
            made.process((pid, 11), ("sh", 5), "0-3", &all);
            made.process((pid + 10, pid), ("app", 50), if pid == 20 { "0" } else { "0-1" }, &all);
        }
        let of_srun = ["SLURM_JOB_ID=8", "SLURM_STEP_ID=0", "SLURM_PROCID=3", "PMI_RANK=3"];
        made.process((40, 39), ("other", 50), "3", &of_srun);
        made.process((50, 1), ("bash", 50), "0-3", &["HOME=/root"]);
        let found = made.look(|system| system.ranks(None).unwrap().ranks);
        let told: Vec<_> =
            found.iter().map(|one| (one.process.pid, one.rank, one.job.as_str())).collect();
        let openmpi = "slurm 7, openmpi 77";
        let expected = [(30, Some(0), openmpi), (31, Some(1), openmpi), (40, Some(3), "slurm 8.0")];
        assert_eq!(told, expected);
        assert_eq!(made.look(|system| system.ranks(Some("8")).unwrap().ranks.len()), 1);
        assert_eq!(made.look(|system| system.ranks(Some("9")).unwrap().ranks.len()), 0);
        let shared = made.look(|system| system.shared(&found));
        assert_eq!(shared[0], ["shares PU P#0 with rank 1 (process 31)"]);
        let of_1 = [
            "shares PU P#0 with rank 0 (process 30)",
            "shares the core of PU P#3 with rank 3 of job slurm 8.0 (process 40)",
        ];
        assert_eq!(shared[1], of_1);
        let of_3 = "shares the core of PU P#1 with rank 1 of job slurm 7, openmpi 77 (process 31)";
        assert_eq!(shared[2], [of_3]);
    }
}
