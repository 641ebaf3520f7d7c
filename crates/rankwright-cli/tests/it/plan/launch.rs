//! `rankwright launch`: what is written for every launcher, as snapshots.

use std::path::Path;
use std::process::Command;

use rankwright::ids::{CoreId, PuId};
use rankwright::launch::LAUNCHERS;
use rankwright::placement::{JobEntry, PlacementFile};

use crate::command::{pus_here, rankwright, repository, say, transcript};
use crate::placements::{EIGHT_ON_FOUR, placement, ranks, write};

/// Runs `launch` and returns what it printed and wrote, with the folder's name taken out.
fn launched(placement: &PlacementFile, arguments: &[&str]) -> String {
    launched_as(placement, arguments, &["./app", "-n", "two words"])
}

/// The same for other programs.
fn launched_as(placement: &PlacementFile, arguments: &[&str], programs: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let file = write(placement, folder.path());
    let out = folder.path().join("out");
    let shim = ["--shim", "/opt/bin/rankwright-exec"];
    let out_argument = ["-o", out.to_str().expect("it is UTF-8")];
    let file = [file.to_str().expect("it is UTF-8")];
    let all = [&["launch"], &file[..], arguments, &shim, &out_argument].concat();
    // The programs stand last.
    let command = [&all[..], &["--"], programs].concat();
    // The launchers of this machine may have other names.
    let output = rankwright(&command).env("PATH", "").output().expect("the program starts");
    let mut text = transcript(&command, &output);
    append_files(&out, &mut text);
    text.replace(folder.path().to_str().expect("it is UTF-8"), "[FOLDER]")
}

/// Adds every file below a folder; trailing blanks, which ranks.map has, are left out.
fn append_files(folder: &Path, text: &mut String) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            append_files(&path, text);
            continue;
        }
        let contents = std::fs::read_to_string(&path).expect("it is text");
        let lines: Vec<&str> = contents.lines().map(str::trim_end).collect();
        *text += &format!("--- {}\n{}\n", path.display(), lines.join("\n"));
    }
}

macro_rules! assert_golden {
    ($name:expr, $text:expr) => {
        insta::with_settings!({snapshot_path => repository().join("testdata/golden/launch"), prepend_module_to_snapshot => false}, {
            insta::assert_snapshot!($name, $text);
        });
    };
}

#[test]
fn every_launcher_gets_its_files_and_command_line() {
    let real = placement(4, false, &EIGHT_ON_FOUR);
    for launcher in LAUNCHERS {
        let text = launched(&real, &["--for", launcher.name]);
        assert_golden!(launcher.name.replace([':', '.'], "-"), text);
    }
}

#[test]
fn the_shim_binds_where_the_launcher_cannot() {
    let emulated = placement(4, true, &EIGHT_ON_FOUR);
    assert_golden!("openmpi4-emulated", launched(&emulated, &["--for", "openmpi4"]));
    assert_golden!("mpich-emulated", launched(&emulated, &["--for", "mpich"]));
    let mut half_cores = placement(4, false, &EIGHT_ON_FOUR);
    half_cores.nodes.iter_mut().for_each(|node| node.pus = 8);
    assert_golden!("openmpi4-half-cores", launched(&half_cores, &["--for", "openmpi4"]));
    let mut unbound = placement(4, false, &[("n0", 1), ("n1", 1)]);
    unbound.jobs[0].ranks[1].bound = false;
    assert_golden!("mpich-unbound", launched(&unbound, &["--for", "mpich"]));
}

/// Two hosts whose ranks have the same PUs by their rank on the host.
const SAME_LISTS: [(&str, u32); 4] = [("n1", 1), ("n0", 1), ("n0", 3), ("n1", 3)];

#[test]
fn one_list_binds_hosts_that_are_alike() {
    let mut same = placement(4, false, &SAME_LISTS);
    for launcher in ["intelmpi", "slurm", "flux", "craympich"] {
        assert_golden!(format!("{launcher}-same-lists"), launched(&same, &["--for", launcher]));
    }
    // Two PUs per rank.
    same.nodes.iter_mut().for_each(|node| node.pus = 8);
    for entry in &mut same.jobs[0].ranks {
        let core = entry.cores[0].0;
        entry.pus = vec![PuId(core), PuId(core + 4)];
    }
    let mut text = String::new();
    for launcher in ["intelmpi", "slurm", "flux"] {
        let options = ["--for", launcher, "--format", "csv"];
        text += &launched(&same, &options);
    }
    assert_golden!("same-lists-of-two-pus", text);
}

#[test]
fn hosts_with_other_lists_have_blocks_or_components_of_their_own() {
    let mut blocks = placement(4, false, &[("n1", 1), ("n1", 3), ("n0", 0), ("n0", 1)]);
    assert_golden!("slurm-blocks-unknown-library", launched(&blocks, &["--for", "slurm"]));
    blocks.jobs[0].mpi_library = "Open MPI v5.0.11".to_owned();
    assert_golden!("slurm-components", launched(&blocks, &["--for", "slurm"]));
    let native = ["--for", "intelmpi", "--binding", "native"];
    assert_golden!("intelmpi-configfile", launched_as(&blocks, &native, &["./app", "-n", "3"]));
    assert_golden!("intelmpi-configfile-with-blanks", launched(&blocks, &native));
}

/// Flux 0.88 refuses more tasks than cores, unless their number is given per node.
#[test]
fn flux_starts_more_ranks_than_cores_by_a_number_per_node() {
    let of = |places: &[(&str, u32)], library: &str| {
        let mut threads = placement(4, false, places);
        threads.nodes.iter_mut().for_each(|node| node.cores = 2);
        for entry in &mut threads.jobs[0].ranks {
            entry.cores = vec![CoreId(entry.pus[0].0 % 2)];
        }
        threads.jobs[0].mpi_library = library.to_owned();
        launched(&threads, &["--for", "flux"])
    };
    let six = [("n0", 0), ("n1", 1), ("n0", 2), ("n1", 3), ("n0", 1), ("n1", 0)];
    let text = of(&six, "");
    assert!(text.contains(" -N 2 --tasks-per-node 3 '--requires=host:n[0-1]' "), "{text}");
    let text = of(&six[..4], "");
    assert!(text.contains(" -N 2 -n 4 ") && !text.contains("pmix"), "{text}");
    assert!(
        of(&six[..4], "Open MPI v5.0.11").contains("note: Open MPI 5 needs the plugin flux-pmix")
    );
    let text = of(&six[..5], "");
    let told = "flux cannot launch this job: flux run refuses 5 tasks on 4 cores, and a number per node \
                takes only multiples of 2";
    assert!(text.contains(told), "{text}");
}

#[test]
fn what_cray_mpich_cannot_express_is_refused() {
    let uneven = placement(4, false, &[("n0", 0), ("n1", 1), ("n1", 2)]);
    assert_golden!("craympich-uneven", launched(&uneven, &["--for", "craympich"]));
    let last_is_short = placement(4, false, &[("n0", 0), ("n1", 1), ("n0", 2)]);
    assert_golden!("craympich-last-is-short", launched(&last_is_short, &["--for", "craympich"]));
}

#[test]
fn ranks_with_several_cores_get_the_variables_of_openmp() {
    let mut hybrid = placement(4, false, &[("n1", 0), ("n0", 0)]);
    hybrid.nodes.iter_mut().for_each(|node| node.pus = 8);
    for entry in &mut hybrid.jobs[0].ranks {
        entry.cores = vec![CoreId(0), CoreId(1)];
        entry.pus = [0, 4, 1, 5].map(PuId).into();
    }
    let mut text = String::new();
    for launcher in LAUNCHERS {
        text += &launched(&hybrid, &["--for", launcher.name, "--format", "csv"]);
    }
    assert_golden!("openmp", text);
    let all = ["--for", "openmpi4", "--threads-per-core", "all", "--format", "csv"];
    assert_golden!("openmp-all-threads", launched(&hybrid, &all));
    let bound = ["--for", "mpich", "--memory", "bind", "--threads-per-core", "2"];
    assert_golden!("openmp-memory-bind", launched(&hybrid, &bound));
    let many = ["--for", "mpich", "--threads-per-core", "3"];
    assert_golden!("openmp-too-many-threads", launched(&hybrid, &many));
    // Each has another number of threads.
    hybrid.jobs[0].ranks[1].cores.pop();
    hybrid.jobs[0].ranks[1].pus = [0, 4].map(PuId).into();
    assert_golden!("openmp-per-rank", launched(&hybrid, &["--for", "mpich"]));
    assert_golden!("openmp-numactl", launched(&hybrid, &["--for", "numactl", "--memory", "none"]));
}

#[test]
fn options_reach_the_command_line() {
    let hosts = placement(4, false, &[("n1", 1), ("n0", 1)]);
    let more = ["--agent", "/opt/my shell", "--launcher-args", "--tag-output -x 'A=b c'"];
    let options = [&["--for", "openmpi4", "--binding", "exec"][..], &more].concat();
    assert_golden!("openmpi4-options", launched(&hosts, &options));
    let more = ["--agent", "/opt/my shell", "--launcher-args", "-prepend-rank"];
    let options = [&["--for", "mpich:4.0", "--format", "json"][..], &more].concat();
    assert_golden!("mpich-4-0-options", launched(&hosts, &options));
}

#[test]
fn every_launcher_starts_several_programs() {
    let real = placement(4, false, &EIGHT_ON_FOUR);
    let programs = ["-n", "2", "./ocean", "a b", ":", "./air", ":", "-np", "1", "./ice", "-n", "5"];
    let mut text = String::new();
    for launcher in LAUNCHERS {
        text += &launched_as(&real, &["--for", launcher.name], &programs);
    }
    for (launcher, arguments) in
        [("openmpi4", "--tag-output -x A=b"), ("mpich", "-prepend-rank -env A b")]
    {
        let options = ["--for", launcher, "--binding", "exec", "--launcher-args", arguments];
        text += &launched_as(&real, &options, &programs);
    }
    // Only the lines with programs; those for one program are above.
    let starts = [
        "$ ",
        "mpirun ",
        "mpiexec ",
        "exec ",
        "numactl --",
        "SLURM_HOSTFILE=",
        "flux ",
        "[ ",
        "rankwright: ",
    ];
    let of_programs = |line: &&str| starts.iter().any(|start| line.starts_with(start));
    let lines: Vec<&str> = text.lines().filter(of_programs).collect();
    assert_golden!("several-programs", lines.join("\n"));
}

#[test]
fn several_pus_per_rank_and_several_jobs_are_written() {
    let mut file = placement(4, false, &[("n1", 0), ("n0", 2)]);
    file.nodes.iter_mut().for_each(|node| node.pus = 8);
    for entry in &mut file.jobs[0].ranks {
        let core = entry.cores[0].0;
        entry.pus = vec![PuId(core), PuId(core + 4)];
    }
    let mut other = ranks(&[("n0", 3)]);
    other[0].pus.push(PuId(7));
    file.jobs.push(JobEntry {
        name: "../post".to_owned(),
        mpi_library: String::new(),
        ranks: other,
    });
    assert_golden!("two-jobs-openmpi4", launched(&file, &["--for", "openmpi4", "--format", "csv"]));
    assert_golden!("one-of-two-jobs-mpich", launched(&file, &["--for", "mpich", "--job", "app"]));
}

#[test]
fn the_numactl_wrapper_binds_its_rank() {
    let numactl = Command::new("numactl").arg("--show").output();
    if pus_here() < 2 || !numactl.is_ok_and(|output| output.status.success()) {
        say("SKIPPED: numactl and two PUs are needed");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = write(&placement(2, false, &[("localhost", 1), ("localhost", 0)]), folder.path());
    let (file, out) = (file.to_str().unwrap(), folder.path().to_str().unwrap());
    let launch = ["launch", file, "--for", "numactl", "-o", out, "--", "./app"];
    assert!(rankwright(&launch).output().unwrap().status.success());
    let wrapper = |rank| {
        let mut command = Command::new(folder.path().join("bind.sh"));
        command.args(["grep", "-h", "Cpus_allowed_list", "/proc/self/status"]);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("PMI_RANK", rank).output().expect("it is executable")
    };
    assert_eq!(wrapper("0").stdout, b"Cpus_allowed_list:\t1\n");
    assert_eq!(wrapper("1").stdout, b"Cpus_allowed_list:\t0\n");
    assert_eq!(wrapper("2").status.code(), Some(125));
    assert_eq!(wrapper("").status.code(), Some(125));
}

/// Files of another launcher would be mistaken for this one's; those of the user stay.
#[test]
fn files_of_an_earlier_launch_do_not_stay_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = write(&placement(4, false, &EIGHT_ON_FOUR), folder.path());
    let out = folder.path().join("out");
    let launch = |launcher: &str| {
        let (file, to) = (file.display().to_string(), out.display().to_string());
        let arguments = ["launch", &file, "--for", launcher, "-o", &to, "--", "./app"];
        let output = rankwright(&arguments).output().expect("the program starts");
        assert!(output.status.success(), "{}", transcript(&arguments, &output));
        let mut names: Vec<String> = std::fs::read_dir(&out)
            .expect("it is there")
            .map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        (names, String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (names, _) = launch("openmpi4");
    assert_eq!(names, ["launch.sh", "rankfile"]);
    std::fs::write(out.join("my.notes"), "").expect("it is writable");
    let (names, said) = launch("slurm");
    assert!(!names.contains(&"rankfile".to_owned()), "{names:?}");
    assert!(names.contains(&"my.notes".to_owned()), "{names:?}");
    assert!(
        said.contains("removed ") && said.contains("/rankfile, of an earlier launch"),
        "{said}"
    );
    let (_, said) = launch("slurm");
    assert!(!said.contains("removed"), "{said}");
}
