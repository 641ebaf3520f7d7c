//! How `rankwright run` ends under a real Slurm, and what it falls back to there.

use std::process::Output;

use crate::command::{rankwright, transcript};
use crate::every_day::profile::MPIS;
use crate::every_day::slurm::{Slurm, where_programs};
use crate::placements::{placement, write};

/// An allocation of both nodes, and `rankwright run` with srun in it.
const RUN: [&str; 6] =
    ["salloc", "-N2", "--exclusive", env!("CARGO_BIN_EXE_rankwright"), "run", "--for=slurm"];

#[test]
fn a_rank_that_dies_ends_the_job() {
    let Some(slurm) = Slurm::start() else { return };
    write(&placement(4, true, &[("n1", 1), ("n0", 0), ("n1", 0)]), slurm.folder.path());
    // The other ranks would sleep for longer than this test may take. srun drops output that has
    // not arrived when it ends the job.
    let dies =
        "[ $SLURM_PROCID != 1 ] || { echo rank 1 dies; sleep .5; exit 3; }; exec sleep 10000";
    let words = [&RUN[..], &["--binding=exec", "placement.json", "--", "sh", "-c", dies]].concat();
    let says = |what: &str, output: &Output| transcript(&[], output).contains(what);
    let output = slurm.retried(&words, |output| says("rank 1 dies", output));
    let text = transcript(&words, &output);
    assert!(text.contains("rank 1 dies"), "{text}");
    assert!(text.contains("n0: task 1: Exited with exit code 3"), "{text}");
    // Of all codes srun takes the largest, which is that of the ranks that it ended.
    let ended = [libc::SIGTERM, libc::SIGKILL].map(|signal| Some(128 + signal));
    assert!(ended.contains(&output.status.code()), "{text}");
    // So does one that the shim refuses: its PU is not there.
    write(&placement(60_001, false, &[("n1", 0), ("n0", 60_000)]), slurm.folder.path());
    let refused = ["--binding=exec", "--force", "placement.json", "--", "sleep", "10000"];
    let words = [&RUN[..], &refused].concat();
    let refusal = "rank 1 on n0: PUs P#60000 refused";
    let output = slurm.retried(&words, |output| says(refusal, output));
    let text = transcript(&words, &output);
    assert!(text.contains(refusal), "{text}");
    assert!(ended.contains(&output.status.code()), "{text}");
}

#[test]
fn ranks_that_are_not_placed_are_one_world() {
    let Some(slurm) = Slurm::start() else { return };
    let folder = slurm.folder.path();
    let made = rankwright(&["-q", "traffic", "generate", "ring:3", "-o", "three.rwp"]);
    assert!({ made }.current_dir(folder).status().expect("it starts").success());
    for mpi in &MPIS[..2] {
        let Some(()) = where_programs(&slurm, mpi) else { continue };
        // The profile is of another number of ranks.
        let words = [&RUN[..], &["--profile=three.rwp", "-n4", "--", "./where"]].concat();
        let output = slurm.retried(&words, |output| output.status.success());
        let text = transcript(&words, &output);
        assert!(output.status.success(), "{text}");
        assert!(
            text.contains("warning: not placed, srun starts the job by its default: "),
            "{text}"
        );
        // Without --mpi each would be rank 0 of a world of its own.
        for rank in 0..4 {
            let is_rank = |line: &&str| line.starts_with(&format!("rank {rank} "));
            assert_eq!(text.lines().filter(is_rank).count(), 1, "{}: {text}", mpi.launcher);
        }
    }
}
