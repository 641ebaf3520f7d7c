//! The shim `rankwright-exec`, started as a launcher would: the rank is in the environment.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output, Stdio};

use rankwright::launch::RANK_VARIABLES;
use rankwright::placement::ranks_map::ranks_map;
use rankwright::placement::{MemoryPolicy, PlacementFile, Settings};
use tempfile::TempDir;

use crate::command::{on_this_host, pus_here, rankwright, say, signal};
use crate::placements::{device, placement};

/// A map in a folder.
struct Map {
    folder: TempDir,
}

impl Map {
    fn new(placement: &PlacementFile) -> Self {
        Self::with(placement, &Settings::NOTHING)
    }

    fn with(placement: &PlacementFile, settings: &Settings) -> Self {
        let folder = tempfile::tempdir().expect("a folder for the map");
        let text = ranks_map(placement, &placement.jobs[0], settings);
        std::fs::write(folder.path().join("ranks.map"), text).expect("the folder is writable");
        Self { folder }
    }

    /// `rankwright-exec --map ranks.map` with more arguments, as this rank.
    fn exec(&self, rank: &[(&str, &str)], arguments: &[&str]) -> Output {
        let map = self.folder.path().join("ranks.map");
        let mut command = shim();
        command.arg("--map").arg(map).args(arguments).envs(rank.iter().copied());
        command.output().expect("the shim starts")
    }
}

fn shim() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rankwright-exec"));
    // Launchers around the tests set some.
    for name in RANK_VARIABLES {
        command.env_remove(name);
    }
    command
}

/// The exit code and what was said on standard error.
fn failure(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{:?}", failure(output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The PUs that the kernel says a program may run on.
const ALLOWED: [&str; 3] = ["--", "grep", "Cpus_allowed_list"];

#[test]
fn a_rank_is_bound_to_its_pu_and_becomes_the_program() {
    if pus_here() < 2 {
        say("SKIPPED: two PUs are needed");
        return;
    }
    let host = on_this_host();
    let map = Map::new(&placement(2, false, &[(&host, 1), (&host, 0)]));
    let arguments = [&ALLOWED[..], &["/proc/self/status"]].concat();
    let pus_of = |rank| stdout(&map.exec(&[("PMI_RANK", rank)], &arguments));
    assert_eq!(pus_of("0"), "Cpus_allowed_list:\t1\n");
    assert_eq!(pus_of("1"), "Cpus_allowed_list:\t0\n");
}

#[test]
fn a_stale_slurm_rank_does_not_count() {
    let map = Map::new(&placement(9, true, &[("localhost", 4), ("localhost", 7)]));
    let rank = [("SLURM_PROCID", "0"), ("OMPI_COMM_WORLD_RANK", "1")];
    let output = map.exec(&rank, &["printenv", "RANKWRIGHT_WANTED_PUS"]);
    assert_eq!(stdout(&output), "7\n");
    let output = map.exec(&rank[..1], &["printenv", "RANKWRIGHT_WANTED_PUS"]);
    assert_eq!(stdout(&output), "4\n");
}

#[test]
fn an_emulated_pu_becomes_one_that_exists() {
    let map = Map::new(&placement(64, true, &[("localhost", 63)]));
    let arguments = [&ALLOWED[..], &["/proc/self/status"]].concat();
    let text = stdout(&map.exec(&[("PMI_RANK", "0")], &arguments));
    assert!(!text.contains([',', '-']), "one PU: {text}");
}

#[test]
fn what_is_wrong_ends_the_rank_before_the_program() {
    let host = on_this_host();
    let here = Map::new(&placement(60_001, false, &[(&host, 60_000)]));
    let elsewhere = Map::new(&placement(1, false, &[("elsewhere", 0)]));
    let rank_0 = [("PMI_RANK", "0")];
    for (output, code, says) in [
        (here.exec(&rank_0, &["true"]), 125, "PUs P#60000 refused, this job may use P#0"),
        (elsewhere.exec(&rank_0, &["true"]), 125, "but is placed on elsewhere"),
        (here.exec(&[], &["true"]), 125, "no rank: none of OMPI_COMM_WORLD_RANK, "),
        (here.exec(&[("PMI_RANK", "x")], &["true"]), 125, "PMI_RANK: found `x`"),
        (here.exec(&[("PMI_RANK", "1")], &["true"]), 125, "has 1 ranks (0 to 0)"),
        (here.exec(&rank_0, &["--mpa"]), 125, "unknown option --mpa"),
        (
            shim().args(["--map", "/none", "true"]).env("PMI_RANK", "0").output().unwrap(),
            125,
            "/none: No such file",
        ),
        (shim().arg("/none").output().unwrap(), 127, "/none: not found on this host"),
        (shim().arg("/").output().unwrap(), 126, "/: cannot be run"),
    ] {
        let (found, text) = failure(&output);
        assert_eq!(found, Some(code), "{text}");
        assert!(text.contains(says), "expected `{says}` in `{text}`");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
}

#[test]
fn a_report_is_one_line_even_where_the_binding_is_refused() {
    let host = on_this_host();
    let map = Map::new(&placement(60_001, false, &[(&host, 60_000)]));
    let text = stdout(&map.exec(&[("PMI_RANK", "0")], &["--report"]));
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.starts_with(&format!("@rankwright-report rank=0 host={host} pus=0")), "{text}");
    assert!(text.ends_with(" @end\n"), "{text}");
}

#[test]
fn the_tracer_is_loaded_into_the_program_only() {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("tracer.so");
    std::fs::write(&library, "").unwrap();
    let library = library.to_str().unwrap();
    let trace = ["--trace", "/tmp/app.trace", "--tracer", library];
    let variables = ["printenv", "LD_PRELOAD", "RANKWRIGHT_TRACE_FILE"];
    // The empty library cannot be loaded, of which the dynamic linker warns and goes on.
    let output = shim().args(trace).args(variables).env("LD_PRELOAD", "").output().unwrap();
    assert_eq!(stdout(&output), format!("{library}\n/tmp/app.trace\n"));
    let output = shim().args(trace).args(variables).env("LD_PRELOAD", "/x.so").output().unwrap();
    assert_eq!(stdout(&output), format!("{library}:/x.so\n/tmp/app.trace\n"));
    let output = shim().args(["--trace=t", "--tracer=/none.so"]).args(variables).output().unwrap();
    assert_eq!(failure(&output).0, Some(125));
    assert!(failure(&output).1.contains("/none.so: No such file"));
}

#[test]
fn rankwright_exec_is_the_shim() {
    let output = rankwright(&["exec", "sh", "-c", "exit 9"]).output().unwrap();
    assert_eq!(output.status.code(), Some(9));
    let output = rankwright(&["exec", "--help"]).output().unwrap();
    assert!(stdout(&output).contains("Usage: rankwright-exec [OPTIONS]"));
}

#[test]
fn a_rank_gets_its_variables_but_none_that_the_user_has_set() {
    let mut settings = Settings::NOTHING;
    settings.set(1, "OMP_NUM_THREADS", "2");
    settings.set(1, "UCX_NET_DEVICES", "mlx5_0:1,mlx5_1:1 or %");
    let map = Map::with(&placement(2, true, &[("localhost", 0), ("localhost", 1)]), &settings);
    let print = ["printenv", "OMP_NUM_THREADS", "UCX_NET_DEVICES"];
    let output = map.exec(&[("PMI_RANK", "1")], &print);
    assert_eq!(stdout(&output), "2\nmlx5_0:1,mlx5_1:1 or %\n");
    let set = [("PMI_RANK", "1"), ("UCX_NET_DEVICES", "all")];
    assert_eq!(stdout(&map.exec(&set, &print)), "2\nall\n");
    let of_other = map.exec(&[("PMI_RANK", "0")], &print);
    assert!(of_other.stdout.is_empty());
    // The report has what was wanted and what is.
    let text = stdout(&map.exec(&set, &["--report"]));
    let wanted = "mlx5_0:1%2Cmlx5_1:1%20or%20%25";
    assert!(text.contains(&format!("UCX_NET_DEVICES={wanted}=all missing=")), "{text}");
}

/// Slurm gives all ranks of a node the same list; of what the user has chosen instead, nothing is undone.
#[test]
fn a_list_of_visible_gpus_is_narrowed_or_kept_with_a_warning() {
    let mut settings = Settings::NOTHING;
    settings.set(0, "CUDA_VISIBLE_DEVICES", "2");
    let map = Map::with(&placement(2, true, &[("localhost", 0)]), &settings);
    let print = ["printenv", "CUDA_VISIBLE_DEVICES"];
    let seen = |list: &str| {
        let set = [("PMI_RANK", "0"), ("CUDA_VISIBLE_DEVICES", list)];
        let output = map.exec(&set, &print);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (stdout(&output).trim().to_owned(), said, stdout(&map.exec(&set, &["--report"])))
    };
    let (list, said, report) = seen("0,1,2,3");
    assert_eq!((list.as_str(), said.as_str()), ("2", ""));
    assert!(report.contains(" variables=CUDA_VISIBLE_DEVICES=2=2 missing="), "{report}");
    let (list, said, report) = seen("3");
    assert_eq!(list, "3");
    let warning = "rank 0 on localhost: CUDA_VISIBLE_DEVICES=3 is kept: GPU 2, which the rank should \
                   get, is not in it";
    assert!(said.contains(warning), "{said}");
    assert!(report.contains("CUDA_VISIBLE_DEVICES=2=3 "), "{report}");
}

#[test]
fn a_device_that_its_host_does_not_have_is_told() {
    let host = on_this_host();
    let mut placement = placement(1, false, &[(&host, 0)]);
    placement.nodes[0].nics = ["lo", "mlx5_77", "port A"].map(device).to_vec();
    placement.nodes[0].gpus = vec![device("card77")];
    placement.jobs[0].ranks[0].nics = ["lo", "mlx5_77", "port A"].map(str::to_owned).to_vec();
    placement.jobs[0].ranks[0].gpus = vec!["card77".to_owned()];
    let rank = [("PMI_RANK", "0")];
    // The program runs, but not without a word.
    let output = Map::new(&placement).exec(&rank, &["true"]);
    let (code, said) = failure(&output);
    let warning = "this host does not have mlx5_77, card77";
    assert!(code == Some(0) && said.contains(warning), "{said}");
    let report = stdout(&Map::new(&placement).exec(&rank, &["--report"]));
    assert!(report.contains(" missing=mlx5_77,card77 untold=port%20A @end"), "{report}");
    // Devices of an emulated cluster exist nowhere.
    placement.cluster.emulated = true;
    let (code, said) = failure(&Map::new(&placement).exec(&rank, &["true"]));
    assert_eq!((code, said.as_str()), (Some(0), ""));
}

#[test]
fn memory_comes_from_the_node_that_the_map_names() {
    let host = on_this_host();
    let here = placement(1, false, &[(&host, 0)]);
    for (memory, expected) in
        [(MemoryPolicy::Bind, "bind:0"), (MemoryPolicy::Preferred, "prefer:0")]
    {
        let mut settings = Settings::NOTHING;
        settings.memory = memory;
        let map = Map::with(&here, &settings);
        let output = map.exec(&[("PMI_RANK", "0")], &["cat", "/proc/self/numa_maps"]);
        let text = stdout(&output);
        if !text.contains(expected) {
            say("SKIPPED: this container does not let processes choose their memory");
            return;
        }
        assert!(!text.contains(" default "), "{text}");
    }
}

#[test]
fn the_program_takes_the_place_of_the_shim() {
    let map = Map::new(&placement(2, true, &[("localhost", 0), ("localhost", 1)]));
    let file = map.folder.path().join("ranks.map");
    let start = |script: &str| {
        let mut command = shim();
        command.arg("--map").arg(&file).args(["sh", "-c", script]).env("PMI_RANK", "1");
        command.stdout(Stdio::piped()).spawn().expect("the shim starts")
    };
    let child = start("echo $$; exit 41");
    let pid = child.id();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{pid}\n"));
    assert_eq!(output.status.code(), Some(41));
    let mut child = start("echo ready; exec sleep 60");
    let mut first = [0; 6];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut first).unwrap();
    signal("TERM", i64::from(child.id()));
    assert_eq!(child.wait().unwrap().signal(), Some(15));
}

/// Of a map on a file system that thousands of ranks read at the same time, each reads its own line:
/// one call for the header, one for the line, however long the map is.
#[test]
fn a_long_map_is_not_read_whole() {
    let ranks = 100_000;
    let places = vec![("localhost", 0); ranks];
    let mut long = placement(1, true, &places);
    long.jobs[0].ranks.iter_mut().for_each(|entry| entry.bound = false);
    let map = Map::new(&long);
    let file = map.folder.path().join("ranks.map");
    assert!(std::fs::metadata(&file).unwrap().len() > 3_000_000);
    let log = map.folder.path().join("calls");
    let mut strace = Command::new("strace");
    strace.arg("-o").arg(&log).args(["-e", "trace=openat,read,pread64,mmap", "-P"]).arg(&file);
    strace.arg(env!("CARGO_BIN_EXE_rankwright-exec")).arg("--map").arg(&file);
    strace.args(["--", "true"]).env("PMI_RANK", "77777");
    let traced = strace.output();
    if !traced.is_ok_and(|output| output.status.success()) {
        say("SKIPPED: strace is not installed, or not permitted here");
        return;
    }
    let calls = std::fs::read_to_string(&log).unwrap();
    let reads: Vec<&str> = calls.lines().filter(|line| line.contains("read")).collect();
    assert!(reads.len() <= 2, "{calls}");
    let bytes = |line: &&str| line.rsplit_once("= ").and_then(|(_, n)| n.parse::<u64>().ok());
    let sum: u64 = reads.iter().filter_map(bytes).sum();
    assert!((1..=8192).contains(&sum), "{calls}");
}
