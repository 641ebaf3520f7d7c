//! `rankwright run` in jobs of LSF and PBS, with variables and files of the shapes that are documented;
//! `slurm/` has a real Slurm.

use crate::every_day::run::site::{LAUNCHER, PLACED, Site};

/// `rankwright run --dry-run` in a job that has these variables.
fn dry_run_in(site: &Site, what: &str, variables: &[(&str, &str)]) -> String {
    let arguments = [&["run", "--dry-run"], &PLACED[..]].concat();
    let mut command = site.outside(&arguments);
    command.envs(variables.iter().copied());
    let (output, text) = site.output(command, &arguments);
    assert!(output.status.success(), "{text}");
    format!("## {what}\n{text}\n")
}

/// Variables and files as IBM's documentation of LSF and Open MPI's reader of them have them; nobody
/// ran LSF here.
#[test]
fn a_job_of_lsf_is_placed_for_its_hosts_and_cpus() {
    let site = Site::new();
    let tasks = |of: &dyn Fn(usize) -> String| (0..8).map(of).collect::<String>();
    let hosts = tasks(&|task| format!("n{}\n", task / 2));
    site.file("hosts", &hosts);
    let one = |task: usize| format!("n{} {} 0 1\n", task / 2, 1 + 2 * (task % 2));
    site.file("one-each", &tasks(&one));
    let two = |task: usize| format!("n{} {},{} 0 1\n", task / 2, task % 2 * 2, task % 2 * 2 + 1);
    site.file("two-each", &tasks(&two));
    site.file("broken", "n0 0 0 1\nn0 one\n");
    site.file("empty", "");
    let whole = ("LSB_MCPU_HOSTS", "n1 4 n0 4 ");
    let half = ("LSB_MCPU_HOSTS", "n0 2 n1 2 n2 2 n3 2 ");
    let mut all = String::new();
    for (what, hosts, affinity) in [
        ("whole nodes, the batch host first", whole, None),
        ("half of each node, nobody says which", half, Some("empty")),
        ("by affinity, a core for each task", half, Some("one-each")),
        ("by affinity, two cores for each task", half, Some("two-each")),
        ("a file of affinity that nobody can read", half, Some("broken")),
    ] {
        let job = [("LSB_JOBID", "712"), ("LSB_DJOB_HOSTFILE", "hosts"), hosts];
        let affinity = affinity.map(|file| ("LSB_AFFINITY_HOSTFILE", file));
        let variables: Vec<_> = job.into_iter().chain(affinity).collect();
        all += &dry_run_in(&site, what, &variables);
    }
    insta::assert_snapshot!(all);
    // Open MPI would take the order of the ranks from that file.
    site.program("mpirun", &LAUNCHER.replace("started: $*", "file: ${LSB_AFFINITY_HOSTFILE-none}"));
    let arguments = [&["run"], &PLACED[..]].concat();
    let mut command = site.outside(&arguments);
    command.envs([("LSB_JOBID", "712"), half, ("LSB_AFFINITY_HOSTFILE", "one-each")]);
    let (_, text) = site.output(command, &arguments);
    assert!(text.contains("file: none"), "{text}");
}

/// Node files as the manuals of Torque and of PBS Professional describe them; nobody ran either here.
#[test]
fn a_job_of_pbs_is_placed_for_its_hosts() {
    let site = Site::new();
    // Torque, nodes=2:ppn=4, and PBS Professional, select=2:ncpus=4:mpiprocs=4.
    let lines = |hosts: &[(&str, usize)]| -> String {
        hosts.iter().map(|(host, times)| format!("{host}\n").repeat(*times)).collect()
    };
    site.file("four-each", &lines(&[("n1", 4), ("n0", 4)]));
    // select=4:ncpus=4:mpiprocs=2:ompthreads=2.
    site.file("two-each", &lines(&[("n0", 2), ("n1", 2), ("n2", 2), ("n3", 2)]));
    // place=scatter may come back to a host; full names.
    site.file(
        "in-turns",
        &lines(&[("n0.site", 2), ("n1.site", 2), ("n0.site", 2), ("n1.site", 2)]),
    );
    // select=2:ncpus=4 without mpiprocs: one line for each chunk.
    site.file("chunks", &lines(&[("n0", 1), ("n1", 1)]));
    let mut all = String::new();
    for (what, file) in [
        ("whole nodes", "four-each"),
        ("half of each node, nobody says which", "two-each"),
        ("hosts in turns", "in-turns"),
        ("chunks, fewer than ranks", "chunks"),
        ("a file that is not there", "none"),
    ] {
        all += &dry_run_in(&site, what, &[("PBS_JOBID", "88.head"), ("PBS_NODEFILE", file)]);
    }
    insta::assert_snapshot!(all);
}
