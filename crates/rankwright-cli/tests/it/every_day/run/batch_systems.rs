//! `rankwright run` in jobs of LSF and PBS, with variables and files of the shapes that are documented, and
//! in jobs of Flux, with what Flux 0.88 printed; `slurm/` has a real Slurm.

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

/// Stands for Flux: `FLUX_R` is the resource set of the job around, `FLUX_LEVEL` that of the instance.
const FLUX: &str = r#"#!/bin/sh
case "$*" in
  --version) echo 'commands:    		0.88.0'; echo 'libflux-core:		0.88.0' ;;
  "--parent job info f24bwAA3 R" | "job info f8R7ndyR R") echo "$FLUX_R" ;;
  "getattr instance-level") echo "$FLUX_LEVEL" ;;
  run*) echo "started: $*" ;;
  *) exit 1 ;;
esac
"#;

/// A resource set for these cores of two nodes, as Flux 0.88 printed it.
fn resource_set(children: &str) -> String {
    format!(
        r#"{{"version": 1, "execution": {{"R_lite": [{{"rank": "0-1", "children": {{{children}}}}}], "starttime": 1795722720.9015334, "expiration": 0.0, "nslots": 4, "nodelist": ["n[0-1]"]}}}}"#
    )
}

#[test]
fn a_job_of_flux_is_placed_for_its_hosts_and_cores() {
    let site = Site::new();
    site.program("flux", FLUX);
    let (whole, half) = (resource_set(r#""core": "0-3""#), resource_set(r#""core": "2-3""#));
    let alloc = ("FLUX_ENCLOSING_ID", "f24bwAA3");
    let mut all = String::new();
    for (what, job, set, level) in [
        ("flux alloc", alloc, &whole, "1"),
        ("a task of flux run", ("FLUX_JOB_ID", "f8R7ndyR"), &whole, "0"),
        ("half of each node", alloc, &half, "1"),
        ("half of each node, in an instance inside of another", alloc, &half, "2"),
        ("flux does not answer", ("FLUX_ENCLOSING_ID", "fX"), &whole, "1"),
    ] {
        all += &dry_run_in(&site, what, &[job, ("FLUX_R", set), ("FLUX_LEVEL", level)]);
    }
    insta::assert_snapshot!(all);
    let arguments = ["cluster", "import", "flux:", "--on", "cluster.toml"];
    let import = |job: (&str, &str)| {
        let mut command = site.outside(&arguments);
        command.envs([job, ("FLUX_R", &half), ("FLUX_LEVEL", "1")]);
        site.output(command, &arguments).1
    };
    let text = import(alloc);
    assert!(text.contains("names = \"n[0-1]\"") && text.contains("job-f24bwAA3"), "{text}");
    let text = import(("FLUX_ENCLOSING_ID", "fX"));
    let told =
        "flux: found `flux --parent job info fX R`: it failed (exit status: 1), expected a job of";
    assert!(text.contains(told), "{text}");
    let text = import(("HOME", "/"));
    assert!(text.contains("found no FLUX_JOB_ID or FLUX_ENCLOSING_ID in the env"), "{text}");
}

/// Of the four GPUs of a node Flux grants two, and MPI launchers are told the hosts.
#[test]
fn the_gpus_of_a_job_of_flux_are_known() {
    let site = Site::new();
    site.program("flux", FLUX);
    let gpus = [("0", "81"), ("0", "41"), ("1", "c1"), ("1", "a1")]
        .map(|(numa, bus)| {
            format!("{{ name = \"g{bus}\", pci = \"{bus}:00.0\", near = \"numa:{numa}\" }}, ")
        })
        .concat();
    let gpus = format!(
        "[[node]]\nnames = \"n[0-1]\"\ntopology = \"pack:2 numa:1 core:4 pu:1\"\ngpu = [{gpus}]\n"
    );
    site.file("gpus.toml", &gpus);
    let set = resource_set(r#""core": "0-7", "gpu": "1,3""#);
    let run = |arguments: &[&str]| {
        let placed = ["run", "--dry-run", "--profile", "app.rwp", "--on", "gpus.toml"];
        let arguments = [&placed[..], arguments, &["--", "./app"]].concat();
        let mut command = site.outside(&arguments);
        let job = [("FLUX_ENCLOSING_ID", "f24bwAA3"), ("FLUX_LEVEL", "1"), ("FLUX_R", &set)];
        command.envs(job);
        site.output(command, &arguments).1
    };
    // Flux numbers them in the order of the bus: 41, 81, a1, c1.
    let text = run(&[]);
    assert!(text.contains("ranks are ordered by GPU"), "{text}");
    let text = run(&["--gpus", "one-per-rank"]);
    let own = |bus: &str| text.contains(&format!("g{bus}@"));
    assert!(own("81") && own("c1") && !own("41") && !own("a1"), "{text}");
    let text = run(&["--strategy", "none"]);
    assert!(text.contains("flux run -n 8 ./app"), "{text}");
    let text = run(&["--strategy", "none", "--for", "mpich"]);
    assert!(text.contains("-hosts n0:8,n1:8 -n 8 ./app"), "{text}");
}
