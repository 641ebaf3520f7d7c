//! Tests on a machine with jobs, imitated by files.

use super::process::Process;
use super::ranks::Shared;
use super::system::System;

/// A machine of two cores with two PUs each: P#0, P#2 and P#1, P#3.
struct Made(tempfile::TempDir);

impl Made {
    fn new() -> Self {
        let made = Self(tempfile::tempdir().unwrap());
        made.write("sys/devices/system/cpu/online", "0-3\n");
        for (pu, siblings) in [(0, "0,2"), (1, "1,3"), (2, "0,2"), (3, "1,3")] {
            let file = format!("sys/devices/system/cpu/cpu{pu}/topology/thread_siblings_list");
            made.write(&file, siblings);
        }
        made.write("sys/devices/system/node/node0/cpulist", "0-3\n");
        made
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.0.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn process(
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

    fn look<T>(&self, with: impl Fn(System<'_>) -> T) -> T {
        let (proc, sys) = (self.0.path().join("proc"), self.0.path().join("sys"));
        with(System { proc: &proc, sys: &sys })
    }
}

/// Processes of `flux alloc` and of a job in it, as Flux 0.88 has them.
#[test]
fn the_processes_of_a_flux_instance_are_no_ranks() {
    let made = Made::new();
    let outer = ["FLUX_JOB_ID=ƒ24bwAA3", "FLUX_TASK_RANK=0", "PMI_RANK=0"];
    made.process((20, 1), ("flux-broker-0", 900), "0-3", &outer);
    made.process((21, 20), ("sched-simple", 90), "0-3", &outer);
    made.process((22, 20), ("flux-shell", 9), "0-3", &outer);
    made.process((23, 20), ("bash", 9), "0-3", &["FLUX_ENCLOSING_ID=ƒ24bwAA3"]);
    made.process((24, 21), ("python3", 9), "0-3", &outer);
    // In a container the broker may be the first process.
    made.process((1, 0), ("flux-broker-1", 900), "0-3", &["PMI_RANK=1"]);
    made.process((11, 1), ("sched-simple", 900), "0-3", &["PMI_RANK=1"]);
    let task = |rank| {
        let rank = format!("FLUX_TASK_RANK={rank}");
        ["FLUX_JOB_ID=ƒmW7SdM".to_owned(), rank, "FLUX_ENCLOSING_ID=ƒ24bwAA3".to_owned()]
    };
    for rank in [0, 1] {
        let environment = task(rank);
        let environment: Vec<&str> = environment.iter().map(String::as_str).collect();
        made.process((30 + rank, 22), ("app", 50), "0", &environment);
    }
    let ranks = made.look(|system| system.ranks(None).unwrap().ranks);
    let seen: Vec<_> = ranks
        .iter()
        .map(|running| (running.process.pid, running.rank, running.job.as_str()))
        .collect();
    assert_eq!(seen, [(30, Some(0), "flux ƒmW7SdM"), (31, Some(1), "flux ƒmW7SdM")]);
}

#[test]
fn ranks_of_all_jobs_are_found_once() {
    let made = Made::new();
    let of_mpirun =
        |rank| [format!("OMPI_COMM_WORLD_RANK={rank}"), "OMPI_MCA_ess_base_jobid=77".to_owned()];
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
    let ranks = made.look(|system| system.ranks(None).unwrap().ranks);
    let seen: Vec<_> = ranks
        .iter()
        .map(|running| (running.process.pid, running.rank, running.job.as_str()))
        .collect();
    let openmpi = "slurm 7, openmpi 77";
    let expected = [(30, Some(0), openmpi), (31, Some(1), openmpi), (40, Some(3), "slurm 8.0")];
    assert_eq!(seen, expected);
    assert_eq!(made.look(|system| system.ranks(Some("8")).unwrap().ranks.len()), 1);
    assert_eq!(made.look(|system| system.ranks(Some("9")).unwrap().ranks.len()), 0);
    let shared = made.look(|system| system.shared(&ranks));
    let of_others = |at: usize| -> Vec<bool> {
        shared[at].iter().map(|shared: &Shared| shared.with_other_job).collect()
    };
    assert_eq!([of_others(0), of_others(1)], [vec![false], vec![false, true]]);
    let shared: Vec<Vec<String>> = shared
        .iter()
        .map(|shared| shared.iter().map(|shared| shared.clause.clone()).collect())
        .collect();
    assert_eq!(shared[0], ["shares PU P#0 with rank 1 (process 31)"]);
    let of_1 = [
        "shares PU P#0 with rank 0 (process 30)",
        "shares the core of PU P#3 with rank 3 of job slurm 8.0 (process 40)",
    ];
    assert_eq!(shared[1], of_1);
    let of_3 = "shares the core of PU P#1 with rank 1 of job slurm 7, openmpi 77 (process 31)";
    assert_eq!(shared[2], [of_3]);
}

#[test]
fn a_process_is_read_as_the_kernel_shows_it() {
    let made = Made::new();
    made.process((5, 1), ("a) b (c", 12), "1-2", &["A=1=2", "B="]);
    let process = made.look(|system| Process::read(&system, 5).unwrap());
    assert_eq!((process.program.as_str(), process.parent), ("a) b (c", 1));
    assert_eq!(process.variable("A").as_deref(), Some("1=2"));
    assert_eq!((process.pus.to_string().as_str(), process.running_on), ("1-2", Some(1)));
    assert_eq!((process.numa.as_str(), process.memory.as_str()), ("0", "preferred:0"));
    assert_eq!(process.pages_in_words(), "P#0 83 %, P#1 16 %");
    assert!(made.look(|system| Process::read(&system, 6).is_err()));
}
