//! What `lint` reads, held against what the launchers do: Open MPI 4 and 5 and MPICH 4 and 5 tell their
//! bindings on a machine that an hwloc file describes. Every run has a timeout.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

use crate::command::{rankwright, repository, say};
use crate::invented_hosts::{can_invent_hosts, fake_ssh, for_invented_hosts};

pub(crate) const OPENMPI_4: &str = "mpirun.openmpi";
pub(crate) const OPENMPI_5: &str = ".mpi/openmpi5/bin/mpirun";

/// The exit code of `timeout` where a launcher did not end.
const TIMED_OUT: i32 = 124;

fn data(name: &str) -> PathBuf {
    repository().join("testdata/lint").join(name)
}

/// A launcher for invented hosts with a timeout; `None` (and said so) if it is not installed.
pub(crate) fn launcher(program: &str) -> Option<Command> {
    let path = if program.contains('/') { repository().join(program) } else { program.into() };
    let version = Command::new(&path).arg("--version").output();
    if !version.is_ok_and(|output| output.status.success()) {
        say(format_args!("SKIPPED: {program} is not installed"));
        return None;
    }
    let mut command = Command::new("timeout");
    command.arg("30").arg(path);
    let mut command = for_invented_hosts(&command);
    for name in ["OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT"] {
        command.env(name, "1").env(format!("{name}_CONFIRM"), "1");
    }
    Some(command)
}

/// What `lint` makes of a text for the machines that the hwloc file describes.
fn read(text: &str, from: &str, arguments: &str) -> Value {
    read_on(Some("testdata/lint/cluster.toml"), text, from, arguments)
}

/// What `lint` makes of a text, for a cluster or without one.
pub(crate) fn read_on(on: Option<&str>, text: &str, from: &str, arguments: &str) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    std::fs::write(&file, text).expect("it is ours");
    let file = file.to_str().expect("it is UTF-8");
    let on = on.map(|on| ["--on", on]);
    let more = ["--format", "json", "--launcher-args", arguments];
    let on = on.as_ref().map_or(&[][..], |on| on);
    let command = [&["lint", file, "--from", from], on, &more].concat();
    let output = rankwright(&command).output().expect("the program starts");
    // A syntax error has no JSON.
    serde_json::from_slice(&output.stdout).unwrap_or(Value::Null)
}

/// Host and cores (L#) of every rank; no cores for one that is not bound.
pub(super) type Cores = BTreeMap<u64, (String, Vec<u64>)>;

pub(super) fn cores_read(reading: &Value) -> Cores {
    let numbers = |value: &Value| -> Vec<u64> {
        value.as_array().into_iter().flatten().filter_map(Value::as_u64).collect()
    };
    let ranks = reading["ranks"].as_array().expect("it could be read");
    let rank = |rank: &Value| {
        let bound = rank["bound"] == true;
        let cores = if bound { numbers(&rank["cores"]) } else { Vec::new() };
        let host = rank["host"].as_str().unwrap_or_default().to_owned();
        (rank["rank"].as_u64().unwrap_or_default(), (host, cores))
    };
    ranks.iter().map(rank).collect()
}

pub(crate) fn told(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// Hosts of the ranks of a map (`Data for node: n0`, `Process rank: 0` or `Data for proc: [x,0]`).
pub(super) fn hosts_shown(text: &str) -> BTreeMap<u64, String> {
    let (mut ranks, mut host) = (BTreeMap::new(), String::new());
    for line in text.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("Data for node: ") {
            host = rest.split_whitespace().next().unwrap_or_default().to_owned();
        }
        let of_4 = line.split_once("Process rank: ").and_then(|(_, rest)| rest.split(' ').next());
        let of_5 = line.strip_prefix("Data for proc: ").and_then(|rest| rest.rsplit(',').next());
        if let Some(rank) = of_4.or(of_5) {
            ranks.insert(rank.trim_end_matches(']').parse().expect("a rank"), host.clone());
        }
    }
    ranks
}

/// Runs Open MPI 4, or the mapper only of 5, with a hostfile; its machines are those of the hwloc file `xml`.
pub(super) fn openmpi(version: &str, xml: &str, hosts: &str, arguments: &str) -> Option<Output> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("hosts");
    std::fs::write(&file, hosts).expect("it is ours");
    let mut command;
    if version == "openmpi4" {
        command = launcher(OPENMPI_4)?;
        command.args(["--mca", "plm_rsh_agent"]).arg(fake_ssh());
        command.args(["--mca", "plm_rsh_no_tree_spawn", "1", "--display-map"]);
        // Its daemons say what they bind to.
        command.args(["--leave-session-attached", "--mca", "rmaps_base_verbose", "5"]);
        // Cores that this machine does not have cannot be bound to.
        command.args(["--mca", "rtc", "^hwloc"]);
        command.env("HWLOC_XMLFILE", data(xml)).env("HWLOC_THISSYSTEM", "1");
    } else {
        command = launcher(OPENMPI_5)?;
        command.args(["--prtemca", "hwloc_use_topo_file"]).arg(data(xml));
        command.args(["--runtime-options", "donotlaunch", "--display", "map"]);
    }
    command.arg("--hostfile").arg(file).args(arguments.split_whitespace()).arg("true");
    Some(run(command))
}

/// What a launcher says. On a machine that is busy, PMIx sometimes does not start, proxies of MPICH lose their
/// connection, or a launcher waits for ever: then it is started again, once.
pub(crate) fn run(mut command: Command) -> Output {
    let mut start = || command.output().expect("timeout is everywhere");
    let first = start();
    let text = told(&first);
    let failed = ["listener thread failed to start", "assert (!closed) failed"];
    let failed = text.is_empty()
        || first.status.code() == Some(TIMED_OUT)
        || failed.iter().any(|message| text.contains(message));
    let output = if failed { start() } else { first };
    assert_ne!(output.status.code(), Some(TIMED_OUT), "{command:?}: {}", told(&output));
    output
}

/// Runs Open MPI 4 with a rankfile; its machines are those of the hwloc file.
fn openmpi_4(rankfile: &str) -> Option<Output> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("ranks");
    std::fs::write(&file, rankfile).expect("it is ours");
    let mut command = launcher(OPENMPI_4)?;
    let agent = fake_ssh();
    command.args(["--mca", "plm_rsh_agent"]).arg(agent);
    command.args(["--mca", "plm_rsh_no_tree_spawn", "1", "--display-devel-map", "-rf"]);
    command.arg(file).arg("true").env("HWLOC_XMLFILE", data("two-packages.xml"));
    Some(run(command))
}

/// Ranks, hosts and bindings (`[BB/..][../..]`) of a map of Open MPI 4.
fn map_of_4(text: &str) -> Cores {
    let mut map = Cores::new();
    let (mut host, mut rank) = (String::new(), 0);
    for line in text.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("Data for node: ") {
            host = rest.split_whitespace().next().unwrap_or_default().to_owned();
        } else if let Some((_, number)) = line.split_once("Data for proc: [[") {
            let number = number.rsplit(',').next().unwrap_or_default();
            rank = number.trim_end_matches(']').parse().expect("a rank");
        } else if let Some(binding) = line.strip_prefix("Binding:") {
            let binding = binding.trim().replace("][", "/");
            let cores = binding.trim_matches(['[', ']']).split('/');
            let bound = (0..).zip(cores).filter(|(_, core)| core.contains('B'));
            map.insert(rank, (host.clone(), bound.map(|(core, _)| core).collect()));
        }
    }
    map
}

#[test]
fn open_mpi_4_binds_as_read() {
    if !can_invent_hosts() {
        return;
    }
    let text = std::fs::read_to_string(data("odd.rankfile")).expect("it is there");
    // One host is enough: ranks may share cores.
    let numbers = (0..20).rev().map(|number| format!("nodeA{number:02}"));
    let text = numbers.fold(text, |text, name| text.replace(&name, "nodeA00"));
    // It refuses what 5 takes: a package list without its package.
    let Some(output) = openmpi_4(&text) else { return };
    assert!(output.status.success(), "{}", told(&output));
    let reading = read(&text, "openmpi4", "");
    assert_eq!(reading["starts"], true, "{reading:#}");
    assert_eq!(map_of_4(&told(&output)), cores_read(&reading));
}

/// Runs Open MPI 5's mapper only, for twenty nodes as the hwloc file describes.
fn openmpi_5(rankfile: &str) -> Option<Output> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("ranks");
    std::fs::write(&file, rankfile).expect("it is ours");
    let mut command = launcher(OPENMPI_5)?;
    command.args(["--prtemca", "ras", "simulator", "--prtemca", "ras_simulator_num_nodes", "20"]);
    command.args(["--prtemca", "ras_simulator_slots", "8", "--prtemca", "hwloc_use_topo_file"]);
    command.arg(data("two-packages.xml"));
    command.args(["--runtime-options", "donotlaunch", "--display", "map", "--map-by"]);
    command.arg(format!("rankfile:file={}", file.display())).arg("true");
    Some(run(command))
}

/// Ranks, hosts and bindings (`package[0][core:L1,3-4]`) of a map of Open MPI 5.
pub(super) fn map_of_5(text: &str) -> Cores {
    let mut map = Cores::new();
    let (mut host, mut rank) = (String::new(), 0);
    for line in text.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("Data for node: ") {
            host = rest.split_whitespace().next().unwrap_or_default().to_owned();
        } else if let Some(rest) = line.strip_prefix("Data for proc: ") {
            let number = rest.rsplit(',').next().unwrap_or_default();
            rank = number.trim_end_matches(']').parse().expect("a rank");
        } else if let Some(binding) = line.strip_prefix("Binding: ") {
            let mut cores = Vec::new();
            for list in binding.split("core:L").skip(1) {
                let list = list.split(']').next().unwrap_or_default();
                let indices = rankwright::ids::parse_index_list(list).expect("a list of cores");
                cores.extend(indices.into_iter().map(u64::from));
            }
            map.insert(rank, (host.clone(), cores));
        }
    }
    map
}

#[test]
fn open_mpi_5_binds_as_read() {
    let text = std::fs::read_to_string(data("odd.rankfile")).expect("it is there");
    let Some(output) = openmpi_5(&text) else { return };
    assert!(output.status.success(), "{}", told(&output));
    let reading = read(&text, "openmpi5", "");
    assert_eq!(reading["starts"], true, "{reading:#}");
    assert_eq!(map_of_5(&told(&output)), cores_read(&reading));
}

#[test]
fn open_mpi_refuses_what_is_said_to_be_refused() {
    if !can_invent_hosts() {
        return;
    }
    let lists = std::fs::read_to_string(data("refused.rankfiles")).expect("it is there");
    for line in lists.lines().filter(|line| !line.starts_with('#')) {
        let (versions, list) = line.split_once(' ').expect("versions and a list");
        let rankfile = format!("rank 0=nodeA00 slot={list}\n");
        for (version, start) in [("4", openmpi_4 as fn(&str) -> Option<Output>), ("5", openmpi_5)] {
            let Some(output) = start(&rankfile) else { continue };
            let refused = versions.contains(version);
            assert_eq!(!output.status.success(), refused, "{version} {list}: {}", told(&output));
            let reading = read(&rankfile, &format!("openmpi{version}"), "");
            assert_eq!(reading["starts"] != true, refused, "{version} {list}: {reading:#}");
        }
    }
}

#[test]
fn open_mpi_has_the_buffers_that_are_said() {
    if !can_invent_hosts() {
        return;
    }
    // nodeA00 has 7 characters; lists of 50 and 51 make 57 and 58 with it.
    for length in [49, 51] {
        let list = format!("{}1", "0,".repeat(length / 2));
        let rankfile = format!("rank 0=nodeA00 slot={list}\n");
        let Some(output) = openmpi_4(&rankfile) else { break };
        let reading = read(&rankfile, "openmpi4", "");
        assert_eq!(output.status.success(), reading["starts"] == true, "{}", told(&output));
        assert_eq!(reading["starts"] == true, length == 49);
    }
    let rankfile = format!("rank 0=nodeA00 slot={}1,2,3\n", "0,".repeat(31));
    let Some(output) = openmpi_5(&rankfile) else { return };
    let reading = read(&rankfile, "openmpi5", "");
    assert_eq!(map_of_5(&told(&output)), cores_read(&reading));
    assert_eq!(reading["warnings"][0]["code"], "slot-list-too-long");
}

/// Host of every rank, and the PUs of those that are bound by `process N binding: 0110`.
fn hydra(program: &str, hosts: &str, arguments: &[&str]) -> Option<Output> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("hosts");
    std::fs::write(&file, hosts).expect("it is ours");
    let mut command = launcher(program)?;
    command.args(["-launcher", "ssh", "-launcher-exec"]).arg(fake_ssh()).arg("-f").arg(file);
    command.args(arguments).args(["sh", "-c", "echo \"rank $PMI_RANK $(uname -n)\""]);
    command.env("HWLOC_XMLFILE", data("two-packages.xml")).env("HYDRA_TOPO_DEBUG", "1");
    Some(run(command))
}

const MPICHS: [(&str, &str); 2] =
    [(".mpi/mpich5/bin/mpirun", "mpich"), ("mpiexec.mpich", "mpich:4.0")];

#[test]
fn mpich_binds_as_read() {
    if !can_invent_hosts() {
        return;
    }
    for (program, from) in MPICHS {
        for entries in ["0-3,5,1+7-8", "0x2,5", "3-1,0-,2+", "1,0", "4x3"] {
            let hosts = format!("nodeA00:4 binding=user:{entries}\n");
            let Some(output) = hydra(program, &hosts, &[]) else { break };
            let mut found = BTreeMap::new();
            for line in told(&output).lines() {
                let binding =
                    line.strip_prefix("process ").and_then(|l| l.split_once(" binding: "));
                let Some((rank, bits)) = binding else { continue };
                let pus = (0_u64..).zip(bits.chars()).filter(|(_, bit)| *bit == '1');
                let rank: u64 = rank.parse().expect("a rank");
                found.insert(rank, pus.map(|(pu, _)| pu).collect::<Vec<u64>>());
            }
            let reading = read(&hosts, from, "");
            let ranks = reading["ranks"].as_array().expect("it could be read");
            let bound = ranks.iter().filter(|rank| rank["bound"] == true).map(|rank| {
                let pus = rank["pus"].as_array().into_iter().flatten();
                let pus: Vec<u64> = pus.filter_map(Value::as_u64).collect();
                (rank["rank"].as_u64().unwrap_or_default(), pus)
            });
            assert_eq!(found, bound.collect(), "{program} {entries}: {}", told(&output));
        }
    }
}

#[test]
fn mpich_puts_ranks_on_hosts_as_read() {
    if !can_invent_hosts() {
        return;
    }
    let hosts =
        "# hosts\n nodeA00:2 user=root\nnodeA00\n\nnodeA01\nnodeA00:1\n".replace(" user=root", "");
    for (program, from) in MPICHS {
        let maps = ["-rankmap 1,0,2,0", "-rankmap 1,1 -n 3", "-rankmap (vector,(1,1,2),(0,1,1))"];
        let maps = if from == "mpich" { &maps[..] } else { &[] };
        for arguments in ["", "-n 3", "-n 7"].iter().chain(maps) {
            let arguments = if arguments.contains("-n") || !arguments.contains("rankmap") {
                (*arguments).to_owned()
            } else {
                format!("{arguments} -n 3")
            };
            let words: Vec<&str> = arguments.split_whitespace().collect();
            let Some(output) = hydra(program, &hosts, &words) else { break };
            let mut found = BTreeMap::new();
            for line in told(&output).lines() {
                if let Some((rank, host)) =
                    line.strip_prefix("rank ").and_then(|l| l.split_once(' '))
                {
                    found.insert(rank.parse().expect("a rank"), host.to_owned());
                }
            }
            let read = cores_read(&read(&hosts, from, &arguments));
            let read: BTreeMap<u64, String> =
                read.into_iter().map(|(rank, (host, _))| (rank, host)).collect();
            assert_eq!(found, read, "{program} {arguments}: {}", told(&output));
        }
    }
}

/// A program that says where a rank is and what it may run on.
pub(crate) const TELL: &str = "#!/bin/sh
echo \"rank ${SLURM_PROCID:-$PMI_RANK} on $(uname -n) may $(sed -n 's/^Cpus_allowed_list:[^0-9]*//p' /proc/self/status)\"
";

/// Host and PUs of every rank as [`TELL`] said them.
pub(crate) fn places_told(text: &str) -> BTreeMap<u64, (String, String)> {
    let place = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["rank", rank, "on", host, "may", pus] = words[..] else { return None };
        Some((rank.parse().ok()?, (host.to_owned(), pus.to_owned())))
    };
    text.lines().filter_map(place).collect()
}

/// The same of a reading; ranks that are not bound may use `all`.
pub(crate) fn places_read(reading: &Value, all: &str) -> BTreeMap<u64, (String, String)> {
    let place = |rank: &Value| {
        let pus = rank["pus"].as_array().into_iter().flatten().filter_map(Value::as_u64);
        let pus: Vec<u32> = pus.filter_map(|pu| u32::try_from(pu).ok()).collect();
        let pus = match rank["bound"] == true {
            true => rankwright::ids::format_index_list(&pus),
            false => all.to_owned(),
        };
        let host = rank["host"].as_str().unwrap_or_default().to_owned();
        (rank["rank"].as_u64().unwrap_or_default(), (host, pus))
    };
    reading["ranks"].as_array().expect("it could be read").iter().map(place).collect()
}

/// Hosts have as many slots for Open MPI 5 as is read, and settings are taken once by Hydra.
#[test]
fn slots_and_settings_are_refused_as_read() {
    if !can_invent_hosts() {
        return;
    }
    let rankfile = "rank 0=n0 slot=0\nrank 1=n0 slot=0\n";
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("it is ours");
        path.to_str().expect("it is UTF-8").to_owned()
    };
    let ranks = at("ranks", rankfile);
    for hosts in [
        "-H n0:1".to_owned(),
        "-H n0:2".to_owned(),
        "-H n0".to_owned(),
        "-H n0,n0".to_owned(),
        format!("--hostfile {}", at("one", "n0 slots=1\n")),
        format!("--hostfile {}", at("two", "n0 slots=2\n")),
        format!("--hostfile {}", at("bare", "n0\nn0\n")),
    ] {
        let arguments = format!("{hosts} --bind-to core:overload-allowed");
        let Some(mut command) = launcher(OPENMPI_5) else { break };
        command.args(["--runtime-options", "donotlaunch"]).args(arguments.split_whitespace());
        command.args(["--map-by", &format!("rankfile:file={ranks}"), "true"]);
        let output = run(command);
        let reading = read_on(None, rankfile, "openmpi5", &arguments);
        let starts = reading["starts"] == true;
        assert_eq!(output.status.success(), starts, "{arguments}: {}", told(&output));
    }
    for (program, from) in MPICHS {
        for arguments in
            ["-bind-to core -n 1 true : -n 1 -bind-to core true", "-bind-to core -n 2 true"]
        {
            let Some(mut command) = launcher(program) else { break };
            let hosts = at("hosts", "n0:2\n");
            command.args(["-launcher", "ssh", "-launcher-exec"]).arg(fake_ssh());
            command.args(["-f", &hosts]).args(arguments.split_whitespace());
            let output = run(command);
            let reading = read_on(None, "n0:2\n", from, arguments);
            let starts = reading["starts"] == true;
            assert_eq!(output.status.success(), starts, "{arguments}: {}", told(&output));
        }
    }
}
