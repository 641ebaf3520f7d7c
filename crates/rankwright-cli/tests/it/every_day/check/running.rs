//! `rankwright check --pid` and `--running`: processes that run on this host already.

use std::process::{Child, Command, Output, Stdio};

use crate::command::{on_this_host, pus_here, rankwright, say, transcript};
use crate::placements::{device, placement, write};

/// Two ranks that sleep, each started by the shim on a PU; ended with this value.
struct Ranks {
    folder: tempfile::TempDir,
    children: Vec<Child>,
}

impl Ranks {
    /// Of a job of LSF with this number, both on PU P#0.
    fn start(job: u32) -> Self {
        Self::start_on(job, [0, 0])
    }

    fn start_on(job: u32, pus: [u32; 2]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let host = on_this_host();
        let mut children = Vec::new();
        for (rank, pu) in pus.into_iter().enumerate() {
            let mut alone = placement(2, false, &[(&host, 0), (&host, 1)]);
            alone.jobs[0].ranks[rank].pus = vec![rankwright::ids::PuId(pu)];
            let map = rankwright::placement::ranks_map::ranks_map(
                &alone,
                &alone.jobs[0],
                &rankwright::placement::Settings::NOTHING,
            );
            let file = folder.path().join(format!("{rank}.map"));
            std::fs::write(&file, map).expect("the folder is writable");
            let mut shim = Command::new(env!("CARGO_BIN_EXE_rankwright-exec"));
            shim.arg("--map").arg(&file).args(["sleep", "100"]).stdin(Stdio::null());
            shim.env_clear().env("PATH", "/usr/bin:/bin").env("PMI_RANK", rank.to_string());
            shim.env("LSB_JOBID", job.to_string());
            children.push(shim.spawn().expect("the shim starts"));
        }
        write(&placement(2, false, &[(&host, 0), (&host, 1)]), folder.path());
        let ranks = Self { folder, children };
        ranks.wait_for_programs();
        ranks
    }

    fn wait_for_programs(&self) {
        for child in &self.children {
            let name = format!("/proc/{}/comm", child.id());
            let began = std::time::Instant::now();
            while std::fs::read_to_string(&name).unwrap_or_default() != "sleep\n" {
                assert!(began.elapsed().as_secs() < 20, "{name} does not become the program");
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
        }
    }

    fn pids(&self) -> String {
        let pids: Vec<String> = self.children.iter().map(|child| child.id().to_string()).collect();
        pids.join(",")
    }

    fn check(&self, arguments: &[&str]) -> (Output, String) {
        let arguments = [&["check"], arguments].concat();
        let mut command = rankwright(&arguments);
        let output = command.current_dir(self.folder.path()).output().expect("it starts");
        let text = transcript(&arguments, &output);
        (output, text)
    }
}

impl Drop for Ranks {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn running_ranks_are_held_against_their_places() {
    if pus_here() < 2 {
        say("SKIPPED: two PUs are needed");
        return;
    }
    let job = std::process::id();
    let ranks = Ranks::start(job);
    let pids = ranks.pids();
    let running = format!("--running={job}");
    // Without a placement: what shares PUs.
    for arguments in [&["--pid", &pids][..], &[&running]] {
        let (output, text) = ranks.check(arguments);
        assert_eq!(output.status.code(), Some(5), "{text}");
        for (rank, other) in [(0, 1), (1, 0)] {
            let pid = ranks.children[other].id();
            let shares = format!("shares PU P#0 with rank {other} (process {pid})");
            assert!(text.contains(&shares), "{rank}: {text}");
        }
        assert!(text.contains(&format!("lsf {job}, launcher {}", std::process::id())), "{text}");
    }
    // With one: rank 1 should be elsewhere.
    let (output, text) = ranks.check(&["placement.json", &running, "--format", "csv"]);
    assert_eq!(output.status.code(), Some(5), "{text}");
    assert!(text.contains("PUs P#0 instead of P#1; "), "{text}");
    assert!(text.contains("2 of 2 ranks are not where they should be"), "{text}");
    // Of one process, nothing is shared.
    let first = ranks.children[0].id().to_string();
    let (output, text) = ranks.check(&["placement.json", "--pid", &first]);
    assert_eq!(output.status.code(), Some(0), "{text}");
    let (output, text) = ranks.check(&["--pid", &first, "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{text}");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("json");
    assert_eq!(json["processes"][0]["pus"], "0", "{text}");
    assert_eq!(json["processes"][0]["program"], "sleep", "{text}");
}

#[test]
fn two_jobs_on_one_core_are_told() {
    // Numbers that no other test has.
    let [one, other] = [1, 2].map(|job| std::process::id() * 10 + job);
    let (ranks, _others) = (Ranks::start(one), Ranks::start(other));
    let (output, text) = ranks.check(&[&format!("--running={one}")]);
    assert_eq!(output.status.code(), Some(5), "{text}");
    if pus_here() < 2 {
        say("SKIPPED: two PUs are needed to tell bound ranks from others");
        return;
    }
    assert!(
        text.contains(&format!("shares the core of PU P#0 with rank 0 of job lsf {other}")),
        "{text}"
    );
}

#[test]
fn ranks_beside_another_job_are_where_they_should_be() {
    if pus_here() < 2 {
        say("SKIPPED: two PUs are needed");
        return;
    }
    let [one, other] = [4, 5].map(|job| std::process::id() * 10 + job);
    let (ranks, _others) = (Ranks::start_on(one, [0, 1]), Ranks::start_on(other, [0, 1]));
    let (output, text) = ranks.check(&["placement.json", &format!("--running={one}")]);
    assert_eq!(output.status.code(), Some(5), "{text}");
    let first = "all 2 ranks are where they should be, but 2 share cores with another job\n";
    assert!(text.contains(first), "{text}");
    let (output, text) = ranks.check(&["placement.json", "--running"]);
    assert_eq!(output.status.code(), Some(5), "{text}");
    assert!(text.contains("choose one with `--running=JOB`"), "{text}");
}

#[test]
fn variables_and_devices_of_running_ranks_are_held_against_the_plan() {
    let ranks = Ranks::start(std::process::id() * 10 + 3);
    let host = on_this_host();
    let mut planned = placement(2, false, &[(&host, 0), (&host, 1)]);
    planned.nodes[0].nics = vec![device("lo"), device("mlx5_71")];
    planned.jobs[0].ranks[0].nics = vec!["lo".to_owned()];
    planned.jobs[0].ranks[1].nics = vec!["mlx5_71".to_owned()];
    write(&planned, ranks.folder.path());
    let first = ranks.children[0].id().to_string();
    let (output, text) = ranks.check(&["placement.json", "--fabric", "tcp", "--pid", &first]);
    assert_eq!(output.status.code(), Some(5), "{text}");
    assert!(text.contains("FI_TCP_IFACE is not set, should be lo"), "{text}");
    assert!(!text.contains("has no device"), "{text}");
    // Without a word on variables: this host has the device of one rank and not that of the other.
    let pids = ranks.pids();
    let (output, text) = ranks.check(&["placement.json", "--pid", &pids, "--format", "csv"]);
    assert_eq!(output.status.code(), Some(5), "{text}");
    let missed: Vec<bool> =
        text.lines().map(|line| line.contains(&format!("{host} has no device mlx5_71"))).collect();
    assert_eq!(missed.iter().filter(|missed| **missed).count(), 1, "{text}");
}

/// What each launcher sets counts: MPICH before 4.1 miscounts the ranks of a host, so devices are told
/// rank by rank there, and elsewhere by local rank.
#[test]
fn variables_are_those_that_the_launcher_sets() {
    let host = on_this_host();
    let mut planned = placement(2, true, &[(&host, 0), ("other", 0), (&host, 1), ("other", 1)]);
    planned.nodes.iter_mut().for_each(|node| node.nics = ["mlx5_0", "mlx5_1"].map(device).to_vec());
    for (rank, entry) in planned.jobs[0].ranks.iter_mut().enumerate() {
        entry.nics = vec![format!("mlx5_{}", rank / 2)];
    }
    let by_local_rank = [
        ("MV2_PROCESS_TO_RAIL_MAPPING", "mlx5_0:mlx5_1"),
        ("MV2_RAIL_SHARING_POLICY", "FIXED_MAPPING"),
    ];
    let by_rank = [("MV2_IBA_HCA", "mlx5_1")];
    let (alone, both) = ([("MPI_LOCALNRANKS", "1")], [("MPI_LOCALNRANKS", "2")]);
    for (set, counted, says) in [
        (&by_local_rank[..], &both[..], None),
        (&by_local_rank, &[], None),
        (&by_rank, &alone, None),
        (&by_rank, &[], None),
        (&[], &both, Some("MV2_PROCESS_TO_RAIL_MAPPING is not set, should be mlx5_0:mlx5_1")),
        (&by_local_rank, &alone, Some("MV2_IBA_HCA is not set, should be mlx5_1")),
    ] {
        let mut sleep = Command::new("sleep");
        sleep.arg("100").env("PMI_RANK", "2").stdin(Stdio::null());
        let set = set.iter().chain(counted).copied();
        let children = vec![sleep.envs(set).spawn().expect("it starts")];
        let ranks = Ranks { folder: tempfile::tempdir().expect("a folder"), children };
        ranks.wait_for_programs();
        write(&planned, ranks.folder.path());
        let (output, text) =
            ranks.check(&["placement.json", "--fabric", "mvapich2", "--pid", &ranks.pids()]);
        assert_eq!(output.status.code(), Some(if says.is_some() { 5 } else { 0 }), "{text}");
        assert!(says.is_none_or(|says| text.contains(says)), "{says:?}: {text}");
    }
}

#[test]
fn what_does_not_run_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    for (arguments, code, says) in [
        (&["check", "--pid", "4194304"][..], 1, "no such process on this host"),
        (&["check", "--running=no-such-job"], 1, "no rank of job no-such-job runs on"),
        (&["check", "--running", "--", "./app"], 2, "start nothing"),
        (&["check", "--running", "--for", "mpich"], 2, "start nothing"),
        (&["check", "--pid", "1", "--running"], 2, "cannot be used with"),
        (&["check"], 2, "<PLACEMENT>"),
    ] {
        let output = rankwright(arguments).current_dir(folder.path()).output().expect("it starts");
        let text = transcript(arguments, &output);
        assert_eq!(output.status.code(), Some(code), "{text}");
        assert!(text.contains(says), "expected `{says}` in {text}");
    }
}
