//! A Slurm of the lab's own.

use std::fs;

use serde_json::Value;

use super::mpi::ring_program;
use super::{Labs, counters, wait_until};
use crate::command::{repository, say, signal};

const UP: [&str; 9] = ["up", "--nodes", "2", "--cores", "4", "--nic", "1 Gbit/s", "--name", "a"];

/// `None` where Slurm is not installed; the reason is printed.
fn with_slurm() -> Option<Labs> {
    let labs = Labs::new()?;
    let output = labs.run(&[&UP[..], &["--slurm"]].concat());
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    if let Some((_, what)) = error.split_once("error: --slurm needs ") {
        assert!(what.contains("apt install ") || what.starts_with("root: "), "{error}");
        say(format_args!("SKIPPED: the Slurm of a lab needs {what}"));
        return None;
    }
    assert!(output.status.success(), "{error}");
    Some(labs)
}

#[test]
fn jobs_run_across_the_nodes() {
    let Some(labs) = with_slurm() else { return };
    // A job that hangs must not hold up all tests.
    let on_head = |words: &[&str]| {
        let command = [&["exec", "--name", "a", "head", "timeout", "60"][..], words].concat();
        labs.ok(&command)
    };
    assert_eq!(on_head(&["sinfo", "--noheader", "--format=%D %c %T"]), "2 4 idle\n");
    let job = labs.folder.path().join("job.sh");
    let out = labs.folder.path().join("job.out");
    fs::write(&job, "#!/bin/sh\nhostname\nsrun hostname | sort\n").unwrap();
    let (job, out) = (job.display().to_string(), out.display().to_string());
    on_head(&["sbatch", "--wait", "-N2", "-n4", "--ntasks-per-node=2", "-o", &out, &job]);
    assert_eq!(fs::read_to_string(&out).unwrap(), "node0\nnode0\nnode0\nnode1\nnode1\n");
    for (compiler, kind) in [("mpicc.openmpi", "pmix"), ("mpicc.mpich", "pmi2")] {
        let Some(program) = ring_program(&labs, compiler) else { continue };
        let (mpi, program) = (format!("--mpi={kind}"), program.display().to_string());
        let before = counters(&labs, "a");
        let text = on_head(&["srun", "-N2", "-n2", &mpi, &program, "100000", "5"]);
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["0 node0", "1 node1"], "{kind}");
        for ((out, _), (out_before, _)) in counters(&labs, "a").iter().zip(&before) {
            let bytes = out - out_before;
            assert!((500_000..550_000).contains(&bytes), "{kind}: {bytes} bytes of 500000");
        }
    }
    let text = on_head(&["salloc", "-N2", "sh", "-c", "echo $SLURM_JOB_NODELIST"]);
    assert_eq!(text, "node[0-1]\n");
    labs.ok(&["down", "--name", "a"]);
    labs.assert_nothing_left();
}

#[test]
fn a_waiting_job_starts_where_pair_says() {
    let Some(labs) = with_slurm() else { return };
    let on_head = |words: &[&str]| {
        let command = [&["exec", "--name", "a", "head", "timeout", "60"][..], words].concat();
        labs.ok(&command)
    };
    let job = labs.folder.path().join("job.sh");
    fs::write(&job, "#!/bin/sh\nsleep 60\n").unwrap();
    let job = job.display().to_string();
    let submit = |name: &str, more: &[&str]| {
        let options = ["sbatch", "--parsable", "-J", name, "-o", "/dev/null"];
        let id = on_head(&[&options[..], more, &[&job]].concat());
        id.trim().to_owned()
    };
    // cg has a node for itself and room for two more CPUs; ep is held, so that it does not start.
    let cg = submit("cg", &["-N1", "-n2", "-w", "node1"]);
    let ep = submit("ep-large", &["-N1", "-n2", "--hold"]);
    wait_until("cg runs", || on_head(&["squeue", "-h", "-t", "R", "-o", "%i"]).trim() == cg);
    let facts = repository().join("testdata/queues/pairing.toml").display().to_string();
    let pair = [env!("CARGO_BIN_EXE_rankwright"), "pair", "--jobs", &facts, "--format", "json"];
    // Slurm counts four CPUs, the file eight: neither matters here.
    let proposal = on_head(&[&pair[..], &["--queue"]].concat());
    let proposal: Value = serde_json::from_str(&proposal).unwrap();
    let start = &proposal["starts"][0];
    assert_eq!((&start["job"], &start["beside"]), (&ep.clone().into(), &cg.into()));
    assert_eq!(start["nodes"], "node1");
    let command = start["commands"][0].as_str().unwrap();
    on_head(&command.split(' ').collect::<Vec<_>>());
    on_head(&["scontrol", "release", &ep]);
    wait_until("ep runs", || on_head(&["squeue", "-h", "-j", &ep, "-o", "%N"]).trim() == "node1");
    on_head(&["scancel", "--user", on_head(&["id", "-un"]).trim()]);
    labs.ok(&["down", "--name", "a"]);
    labs.assert_nothing_left();
}

#[test]
fn a_lab_whose_slurm_has_died_says_so_and_goes_down() {
    let Some(labs) = with_slurm() else { return };
    let record = fs::read_to_string(labs.path().join("a/lab.json")).unwrap();
    let record: Value = serde_json::from_str(&record).unwrap();
    let services = record["services"].as_array().expect("a list");
    let names: Vec<&str> = services.iter().filter_map(|service| service["name"].as_str()).collect();
    assert_eq!(names, ["munged", "slurmctld", "slurmd of node0", "slurmd of node1"]);
    assert!(labs.ok(&["status", "--format", "csv"]).contains("\na,up,2,4,"));
    signal("KILL", services[1]["pid"].as_i64().expect("a number"));
    wait_until("the lab is broken", || {
        labs.ok(&["status", "--format", "csv"]).contains("\na,broken,2,4,")
    });
    labs.ok(&["down", "--name", "a"]);
    labs.assert_nothing_left();
}
