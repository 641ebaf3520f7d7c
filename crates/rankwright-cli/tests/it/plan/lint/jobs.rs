//! Job scripts and hostfiles as the guides of computing centres have them.

use super::lint;
use crate::command::repository;

const TWO: &str = "testdata/lint/cluster.toml";
const FOUR_NUMA: &str = "testdata/lint/four-numa.toml";
const SIX_GPUS: &str = "testdata/lint/six-gpus.toml";
const GPUS: &str = "examples/clusters/epyc-slingshot.toml";

/// Files with their cluster and `--launcher-args`.
const FILES: [(&str, &str, &str); 15] = [
    ("openmpi-ppr.sbatch", FOUR_NUMA, ""),
    ("hybrid.sbatch", TWO, "--nodelist=nodeA[00-01]"),
    ("gpu.sbatch", GPUS, "--nodelist=x1000c0s0b[0-1]n0"),
    ("select-gpu.sh", GPUS, "srun -n 4"),
    ("coupled.sbatch", TWO, "--nodelist=nodeA[00-01]"),
    ("coupled.conf", TWO, "-N 2 -n 6 --exclusive --nodelist=nodeA[00-01]"),
    ("arbitrary.sbatch", TWO, ""),
    ("intel.sbatch", TWO, "--nodelist=nodeA[00-01]"),
    ("shared-nodes.sbatch", TWO, ""),
    ("loop.sbatch", TWO, "--nodelist=nodeA00"),
    ("flux.sh", TWO, ""),
    ("openmpi.hosts", TWO, ""),
    ("openmpi.hosts", FOUR_NUMA, "mpirun --map-by ppr:2:package:PE=4 ./a"),
    ("hydra-in-openmpi.hosts", TWO, "mpirun --mca pml ucx -np 16 ./a"),
    ("machines.intel", TWO, "mpiexec.hydra -genv I_MPI_PIN_DOMAIN [0x3,0xc,0x30,0xc0] -n 8"),
];

#[test]
fn scripts_of_computing_centres_are_read_or_refused_with_a_way_out() {
    let mut text = String::new();
    for (file, on, arguments) in FILES {
        let file = format!("testdata/lint/jobs/{file}");
        text += &lint(&[&file, "--on", on, "--launcher-args", arguments]);
        text += "\n";
    }
    // The way out for the loop.
    let file = "testdata/lint/jobs/loop.sbatch";
    text += &lint(&[file, "--on", TWO, "--launcher-args", "ranks=4 --nodelist=nodeA00"]);
    assert_golden!("jobs", text);
}

/// Scripts for PBS and LSF with their cluster.
const BATCH: [(&str, &str); 20] = [
    ("hydra.pbs", TWO),
    ("scatter.pbs", FOUR_NUMA),
    ("torque.pbs", TWO),
    ("io-chunk.pbs", TWO),
    ("pals.pbs", TWO),
    ("pals-list.pbs", TWO),
    ("pals-wrapper.pbs", GPUS),
    ("aprun.pbs", TWO),
    ("hostfile.pbs", TWO),
    ("without-mpiprocs.pbs", TWO),
    ("too-many.pbs", TWO),
    ("broken-select.pbs", TWO),
    ("broken-count.pbs", TWO),
    ("two-systems.sh", TWO),
    ("ptile.lsf", TWO),
    ("no-span.lsf", TWO),
    ("summit.lsf", SIX_GPUS),
    ("cyclic.lsf", SIX_GPUS),
    ("beyond.lsf", SIX_GPUS),
    ("jsrun.lsf", TWO),
];

#[test]
fn scripts_for_pbs_and_lsf_are_read() {
    let mut text = String::new();
    for (file, on) in BATCH {
        text += &lint(&[&format!("testdata/lint/jobs/{file}"), "--on", on]);
        text += "\n";
    }
    // The way out where nothing says how many nodes the job has.
    let file = "testdata/lint/jobs/broken-count.pbs";
    let arguments = "-l select=1:ncpus=8:mpiprocs=8 NP=4";
    text += &lint(&[file, "--on", TWO, "--launcher-args", arguments]);
    assert_golden!("batch", text);
}

#[test]
fn a_job_without_names_has_the_first_nodes_of_the_cluster() {
    let file = "testdata/lint/jobs/unnamed.sbatch";
    let xml = "testdata/lint/two-packages.xml";
    let mut text = String::new();
    for options in [
        &[][..],
        &["--on", TWO],
        &["--on", TWO, "--nodes", "nodeA[04-05]"],
        &["--on", TWO, "--nodes", "nodeA04"],
        &["--on", xml, "--nodes", "c[001-002]"],
        &["--on", xml],
        &["--on", TWO, "--launcher-args", "--nodelist=nodeA[00-02]"],
    ] {
        text += &lint(&[&[file], options].concat());
        text += "\n";
    }
    assert_golden!("unnamed", text);
}

#[test]
fn mappings_of_open_mpi_are_read_in_jobs() {
    let mut text = String::new();
    for name in ["core", "numa", "package"] {
        let file = format!("testdata/lint/jobs/openmpi-{name}.sbatch");
        text += &lint(&[&file, "--on", FOUR_NUMA]);
        text += "\n";
    }
    // What differs between the versions is shown for the one that is named.
    for version in ["openmpi4", "openmpi5"] {
        let file = "testdata/lint/jobs/openmpi-numa.sbatch";
        text += &lint(&[file, "--on", FOUR_NUMA, "--from", version]);
        text += "\n";
    }
    assert_golden!("map-by", text);
}
