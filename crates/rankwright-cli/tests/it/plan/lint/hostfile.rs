//! What `lint` reads of Open MPI's hostfiles, held against the maps of its versions 4 and 5.

use std::collections::BTreeMap;
use std::process::Output;

use crate::command::repository;
use crate::every_day::real_launchers::{can_invent_hosts, fake_ssh};
use crate::plan::lint::launchers::{launcher, read_on, told};

/// Hostfiles with arguments: hosts of eight cores each.
const HOSTFILES: [(&str, &str); 13] = [
    ("nodeA01 slots=2\nnodeA00 slots=3 # two more\n", ""),
    ("nodeA01 slots=2\nnodeA00 slots=3 max_slots=4\n", "-np 4"),
    ("nodeA01 slots=2\nnodeA00 slots=3\n", "-np 5 --map-by node"),
    // A host without a number has a slot per line, or one per core if it has one line.
    ("nodeA01\nnodeA00\nnodeA01\n", ""),
    ("nodeA01\nnodeA00\nnodeA01\n", "-np 5"),
    ("# all\n\nnodeA00\n", "-np 7"),
    ("nodeA00 max-slots=2\nnodeA01 slots=1\n", ""),
    // Refused.
    ("nodeA00 slots=2\nnodeA01 slots=1\n", "-np 4"),
    ("nodeA00 slots=2\nnodeA01 slots=1\nnodeA00 slots=1\n", ""),
    ("nodeA00 slots=2\nnodeA00\n", ""),
    ("nodeA00\nnodeA00 slots=2\n", ""),
    ("nodeA00 slots=2 max_slots=1\n", ""),
    ("nodeA00 slots=2\nnodeA01 slots=2\n", "-np 3 --map-by node"),
];

/// Hosts of the ranks of a map (`Data for node: n0`, `Process rank: 0` or `Data for proc: [x,0]`).
fn map(text: &str) -> BTreeMap<u64, String> {
    let (mut ranks, mut host) = (BTreeMap::new(), String::new());
    for line in text.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("Data for node: ") {
            host = rest.split_whitespace().next().unwrap_or_default().to_owned();
        }
        let of_4 = line.split_once("Process rank: ").map(|(_, rest)| rest.split(' ').next());
        let of_5 = line.strip_prefix("Data for proc: ").map(|rest| rest.rsplit(',').next());
        if let Some(rank) = of_4.or(of_5).flatten() {
            ranks.insert(rank.trim_end_matches(']').parse().expect("a rank"), host.clone());
        }
    }
    ranks
}

fn run(version: &str, hosts: &str, arguments: &str) -> Option<Output> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("hosts");
    std::fs::write(&file, hosts).expect("it is ours");
    let topology = repository().join("testdata/lint/two-packages.xml");
    let mut command = match version {
        "openmpi4" => {
            let mut command = launcher("mpirun.openmpi")?;
            command.args(["--mca", "plm_rsh_agent"]).arg(fake_ssh());
            command.args(["--mca", "plm_rsh_no_tree_spawn", "1", "--display-map"]);
            command.args(["--bind-to", "none"]).env("HWLOC_XMLFILE", topology);
            command
        }
        _ => {
            let mut command = launcher(".mpi/openmpi5/bin/mpirun")?;
            command.args(["--prtemca", "hwloc_use_topo_file"]).arg(topology);
            command.args(["--runtime-options", "donotlaunch", "--display", "map"]);
            command
        }
    };
    command.arg("--hostfile").arg(file).args(arguments.split_whitespace()).arg("true");
    Some(command.output().expect("timeout is everywhere"))
}

#[test]
fn open_mpi_fills_hosts_as_read() {
    if !can_invent_hosts() {
        return;
    }
    for version in ["openmpi4", "openmpi5"] {
        for (hosts, arguments) in HOSTFILES {
            let Some(output) = run(version, hosts, arguments) else { break };
            let reading = read_on(Some("testdata/lint/cluster.toml"), hosts, version, arguments);
            let starts = reading["starts"] == true;
            let what = format!("{version} {arguments}: {hosts}{}{reading:#}", told(&output));
            assert_eq!(output.status.success(), starts, "{what}");
            if starts {
                let ranks = reading["ranks"].as_array().expect("it could be read").iter();
                let read: BTreeMap<u64, String> = ranks
                    .map(|rank| (rank["rank"].as_u64(), rank["host"].as_str()))
                    .map(|(rank, host)| (rank.unwrap_or(0), host.unwrap_or_default().to_owned()))
                    .collect();
                assert_eq!(map(&told(&output)), read, "{what}");
            }
        }
    }
}
