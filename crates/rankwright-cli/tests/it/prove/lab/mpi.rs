//! Real MPIs across the nodes of a lab.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Labs, counters};
use crate::command::{rankwright, say};

pub(super) const RING: &str = r#"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Sends BYTES around the ring of ranks ROUNDS times, and adds one number by one-sided communication;
   every rank prints its number and host. */
int main(int argc, char **argv)
{
    int rank, size, bytes = atoi(argv[1]), rounds = atoi(argv[2]);
    char host[64], *out = calloc(bytes, 1), *in = calloc(bytes, 1);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < rounds; i++)
        MPI_Sendrecv(out, bytes, MPI_CHAR, (rank + 1) % size, 0, in, bytes, MPI_CHAR,
                     (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    int *sum, one = 1;
    MPI_Win window;
    MPI_Win_allocate(sizeof *sum, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &sum, &window);
    *sum = 0;
    MPI_Win_fence(0, window);
    MPI_Accumulate(&one, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, MPI_SUM, window);
    MPI_Win_fence(0, window);
    if (*sum != 1)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Win_free(&window);
    gethostname(host, sizeof host);
    printf("%d %s\n", rank, host);
    MPI_Finalize();
    return 0;
}
"#;

/// A program with its MPI: the compiler, the launcher, and the words before the number of ranks.
struct Mpi {
    compiler: &'static str,
    launcher: &'static str,
    hosts: &'static [&'static str],
}

/// Runs the ring on these nodes, one for each rank; the hosts by rank, or `None` if it hung.
fn ring(labs: &Labs, mpi: &Mpi, nodes: &[usize], program: &Path) -> Option<Vec<String>> {
    let hosts: String = nodes.iter().map(|node| format!("node{node}\n")).collect();
    let hostfile = labs.folder.path().join("hosts");
    fs::write(&hostfile, hosts).unwrap();
    let mut run = labs.command(&["exec", "--name", "a", "head", "timeout", "-k", "5", "15"]);
    run.args([mpi.launcher, "-n", &nodes.len().to_string()]).args(mpi.hosts).arg(&hostfile);
    let output = run.arg(program).args(["100000", "20"]).output().expect("it starts");
    if output.status.code() == Some(124) {
        return None;
    }
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines: Vec<(usize, String)> = text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(rank, host)| (rank.parse().expect("a rank"), host.to_owned()))
        .collect();
    lines.sort();
    Some(lines.into_iter().map(|(_, host)| host).collect())
}

/// The ring, built by a compiler; `None` (and said so) where that is missing.
pub(super) fn ring_program(labs: &Labs, compiler: &str) -> Option<PathBuf> {
    let source = labs.folder.path().join("ring.c");
    let program = labs.folder.path().join(format!("ring.{compiler}"));
    fs::write(&source, RING).unwrap();
    let status = Command::new(compiler).arg("-o").args([&program, &source]).status();
    if !status.is_ok_and(|status| status.success()) {
        say(format_args!("SKIPPED: {compiler} is missing or fails"));
        return None;
    }
    Some(program)
}

/// Ranks run where they are wanted, and what they send goes through the counted devices.
fn ring_goes_through_the_devices(mpi: &Mpi, ranks: usize, nodes: usize) {
    let Some(labs) = Labs::new() else { return };
    let Some(program) = ring_program(&labs, mpi.compiler) else { return };
    // Open MPI 4.1.4 hangs in one of a hundred starts: one more try, in a new lab.
    for attempt in 1..=2 {
        labs.up("a", &nodes.to_string());
        let in_turn: Vec<usize> = (0..ranks).map(|rank| rank % nodes).collect();
        let hosts = ring(&labs, mpi, &in_turn, &program);
        let counters = counters(&labs, "a");
        labs.ok(&["down", "--name", "a"]);
        let Some(hosts) = hosts else {
            say(format_args!("{} hung, attempt {attempt}", mpi.launcher));
            continue;
        };
        let wanted: Vec<String> = (0..ranks).map(|rank| format!("node{}", rank % nodes)).collect();
        assert_eq!(hosts, wanted);
        let sent = (ranks / nodes * 20 * 100_000) as f64;
        for (out, back) in counters {
            for bytes in [out as f64, back as f64] {
                assert!((1.0..1.05).contains(&(bytes / sent)), "{bytes} bytes of {sent}");
            }
        }
        labs.assert_nothing_left();
        return;
    }
    panic!("{} hung twice", mpi.launcher);
}

/// What a run says that does not hang; Open MPI 4.1.4 hangs in one of a hundred.
fn not_hung<T>(mut run: impl FnMut() -> Option<T>) -> T {
    run().unwrap_or_else(|| {
        say("RETRIED: Open MPI hung");
        run().expect("it hung twice")
    })
}

const OPEN_MPI: Mpi = Mpi {
    compiler: "mpicc.openmpi",
    launcher: "mpirun.openmpi",
    hosts: &["--bind-to", "none", "--mca", "rmaps", "seq", "--hostfile"],
};

#[test]
fn open_mpi_runs_across_the_nodes() {
    ring_goes_through_the_devices(&OPEN_MPI, 8, 4);
}

#[test]
fn a_placement_decides_what_passes_the_uplinks() {
    let Some(labs) = Labs::new() else { return };
    let Some(program) = ring_program(&labs, OPEN_MPI.compiler) else { return };
    labs.ok(&["up", "--name", "a", "--tiers", "2x2:1Gbit/s", "--cores", "1", "--nic", "1 Gbit/s"]);
    // Neighbours below one leaf, then below the other one: two or four messages of a round cross.
    for (nodes, crossing) in [([0, 1, 2, 3], 2), ([0, 2, 1, 3], 4)] {
        let passed = not_hung(|| {
            let mut hosts = None;
            let ring = || hosts = ring(&labs, &OPEN_MPI, &nodes, &program);
            let passed = labs.passed("a", "switches", 100_000, ring);
            hosts.map(|_| passed)
        });
        assert_eq!(passed.len(), 2, "{passed:?}");
        for (name, bytes) in passed {
            let ratio = bytes as f64 / f64::from(crossing / 2 * 20 * 100_000);
            assert!((1.0..1.08).contains(&ratio), "{name}: {bytes} bytes, ratio {ratio}");
        }
    }
    labs.ok(&["down", "--name", "a"]);
}

#[test]
fn a_placement_decides_which_devices_carry_its_messages() {
    let Some(labs) = Labs::new() else { return };
    let Some(program) = ring_program(&labs, OPEN_MPI.compiler) else { return };
    let folder = labs.folder.path();
    let options = ["--nodes", "2", "--cores", "2", "--nic", "1 Gbit/s", "--nics", "2"];
    let cluster = folder.join("lab.toml").display().to_string();
    labs.ok(&[&["up", "--name", "a", "-o", &cluster][..], &options].concat());
    let (file, program) =
        (folder.join("p.json").display().to_string(), program.display().to_string());
    for device in ["eth1", "eth0"] {
        let map = ["map", "pattern:ring:4", "--on", &cluster, "--strategy", "cyclic", "-o", &file];
        let nics = format!("round-robin-all:devices={device}");
        let output = rankwright(&[&map[..], &["--nics", &nics]].concat()).output();
        assert!(output.as_ref().is_ok_and(|output| output.status.success()), "{output:?}");
        let run = [env!("CARGO_BIN_EXE_rankwright"), "run", &file, "--for", "openmpi4"];
        let options = ["--fabric", "openmpi", "--timeout", "30s", "--", &program, "100000", "20"];
        let words = [&["exec", "--name", "a", "head"][..], &run, &options].concat();
        let passed = not_hung(|| {
            let mut run = labs.command(&words);
            run.current_dir(folder);
            let mut succeeded = false;
            let act = || succeeded = run.status().expect("it starts").success();
            let passed = labs.passed("a", "nodes", 100_000, act);
            succeeded.then_some(passed)
        });
        let names: Vec<&str> = passed.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, [format!("node0 {device}"), format!("node1 {device}")]);
        for (name, bytes) in passed {
            let ratio = bytes as f64 / f64::from(2 * 20 * 100_000);
            assert!((1.0..1.08).contains(&ratio), "{name}: {bytes} bytes, ratio {ratio}");
        }
    }
    labs.ok(&["down", "--name", "a"]);
}

#[test]
fn mpich_runs_across_the_nodes() {
    let mpi = Mpi { compiler: "mpicc.mpich", launcher: "mpiexec.mpich", hosts: &["-f"] };
    ring_goes_through_the_devices(&mpi, 2, 2);
}

#[test]
fn all_nodes_describe_themselves() {
    let Some(labs) = Labs::new() else { return };
    labs.up("a", "3");
    fs::write(labs.folder.path().join("hosts"), "node0\nnode1\nnode2\nnode1\n").unwrap();
    for (launcher, program) in [("openmpi4", "mpirun.openmpi"), ("mpich:4.0", "mpirun.mpich")] {
        let mut run =
            labs.command(&["exec", "--name", "a", "head", env!("CARGO_BIN_EXE_rankwright")]);
        run.args(["cluster", "discover", "--all-nodes", "--hostfile", "hosts", "--for", launcher]);
        run.current_dir(labs.folder.path());
        run.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        let output = run.output().expect("it starts");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.code() == Some(127) {
            say(format_args!("SKIPPED: {program} is missing"));
            continue;
        }
        assert!(output.status.success(), "{launcher}: {output:?}");
        assert!(text.contains("\n[[node]]\nnames = \"node[0-2]\"\n"), "{launcher}: {text}");
    }
    labs.ok(&["down", "--name", "a"]);
}

#[test]
fn a_comparison_runs_on_the_same_hosts() {
    let Some(labs) = Labs::new() else { return };
    labs.up("a", "3");
    let nodes = "emulated = true\n[[node]]\nnames = \"node[0-2]\"\ntopology = \"core:4 pu:1\"\n";
    fs::write(labs.folder.path().join("nodes.toml"), nodes).unwrap();
    let map = ["map", "pattern:ring:6", "--on", "nodes.toml", "--strategy", "cyclic"];
    let map = rankwright(&[&map[..], &["-o", "cyclic.json"]].concat())
        .current_dir(labs.folder.path())
        .output();
    assert!(map.expect("it starts").status.success());
    for (launcher, program) in [("openmpi4", "mpirun.openmpi"), ("mpich:4.0", "mpirun.mpich")] {
        let mut run =
            labs.command(&["exec", "--name", "a", "head", env!("CARGO_BIN_EXE_rankwright")]);
        run.args(["run", "cyclic.json", "--compare", "default,placement", "--repeat", "1"]);
        run.args(["--for", launcher, "--", "hostname"]).current_dir(labs.folder.path());
        run.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        let output = run.output().expect("it starts");
        if output.status.code() == Some(127) {
            say(format_args!("SKIPPED: {program} is missing"));
            continue;
        }
        assert!(output.status.success(), "{launcher}: {output:?}");
        // The output of the programs: two ranks on each node, under the default too.
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        for node in ["node0", "node1", "node2"] {
            let ranks = text.lines().filter(|line| *line == node).count();
            assert_eq!(ranks, 2 * 2, "{launcher}: {text}");
        }
    }
    labs.ok(&["down", "--name", "a"]);
}
