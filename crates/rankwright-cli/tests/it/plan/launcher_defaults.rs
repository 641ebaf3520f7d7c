//! What launchers do by default, held against the strategies that stand for it: the maps of Open MPI
//! 4 and 5 and of srun for nodes that an hwloc file describes, and the hosts of ranks under Hydra.

use std::collections::BTreeMap;

use crate::command::{rankwright, repository};
use crate::invented_hosts::{can_invent_hosts, fake_ssh};
use crate::plan::lint::launchers::{OPENMPI_4, OPENMPI_5, launcher, run, told};
use crate::plan::lint::sbatch::{found, slurm_with_packages};

/// Two nodes of two packages, each one NUMA node with four cores.
const NODE: &str = "testdata/lint/two-packages.xml";

/// By rank: its node, from 0, and what it is bound to there.
type Map = BTreeMap<usize, (usize, usize)>;

/// The mapping of a strategy, with `part` of each rank's place.
fn mapped(ranks: usize, strategy: &str, part: impl Fn(&serde_json::Value) -> usize) -> Map {
    let (pattern, on) = (format!("pattern:ring:{ranks}"), repository().join(NODE));
    let on = on.display().to_string();
    let from = ["map", &pattern, "--on", &on, "--nodes", "2", "--strategy", strategy];
    let output = rankwright(&[&from[..], &["--format", "json"]].concat()).output().unwrap();
    let file: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let places = file["jobs"][0]["ranks"].as_array().expect("ranks").clone();
    let nodes: Vec<&serde_json::Value> = places.iter().map(|place| &place["node"]).collect();
    let place = |(rank, place): (usize, &serde_json::Value)| {
        (rank, (usize::from(place["node"] != *nodes[0]), part(place)))
    };
    places.iter().enumerate().map(place).collect()
}

fn first(place: &serde_json::Value, key: &str) -> usize {
    place[key].as_array().map_or(&place[key], |list| &list[0]).as_u64().expect("a number") as usize
}

#[test]
fn open_mpi_4_goes_by_numa_node_beyond_two_ranks() {
    if !can_invent_hosts() {
        return;
    }
    let default = rankwright::launch::find("openmpi4").expect("a launcher");
    for ranks in [3, 6, 11] {
        let Some(mut command) = launcher(OPENMPI_4) else { return };
        command.args(["--mca", "plm_rsh_agent"]).arg(fake_ssh());
        command.args(["--mca", "plm_rsh_no_tree_spawn", "1", "--host", "na:8,nb:8"]);
        command.args(["-np", &ranks.to_string(), "--display-devel-map", "true"]);
        command.env("HWLOC_XMLFILE", repository().join(NODE));
        let output = run(command);
        let (mut map, mut node, mut rank) = (Map::new(), 0, 0);
        for line in told(&output).lines().map(str::trim) {
            if let Some(rest) = line.strip_prefix("Data for node: ") {
                node = usize::from(rest.starts_with("nb"));
            } else if let Some((_, number)) = line.split_once("Data for proc: [[") {
                let number = number.rsplit(',').next().unwrap_or_default();
                rank = number.trim_end_matches(']').parse().expect("a rank");
            } else if let Some(locale) = line.strip_prefix("Locale:") {
                map.insert(rank, (node, usize::from(locale.trim().starts_with("[."))));
            }
        }
        let strategy = default.default_strategy(ranks);
        assert_eq!(map, mapped(ranks, strategy, |place| first(place, "numa")), "{strategy}");
    }
    assert_eq!(default.default_strategy(2), "blocked");
}

#[test]
fn open_mpi_5_goes_by_core() {
    let default = rankwright::launch::find("openmpi5").expect("a launcher");
    for ranks in [2, 6, 11] {
        let Some(mut command) = launcher(OPENMPI_5) else { return };
        command.args(["--prtemca", "ras", "simulator", "--prtemca", "ras_simulator_num_nodes"]);
        command.args(["2", "--prtemca", "ras_simulator_slots", "8", "--prtemca"]);
        command.arg("hwloc_use_topo_file").arg(repository().join(NODE));
        command.args(["--runtime-options", "donotlaunch", "--display", "map", "-np"]);
        command.args([&ranks.to_string(), "true"]);
        let output = run(command);
        let (mut map, mut node, mut rank) = (Map::new(), 0, 0);
        for line in told(&output).lines().map(str::trim) {
            if let Some(rest) = line.strip_prefix("Data for node: ") {
                node = usize::from(rest.starts_with("nodeA1"));
            } else if let Some(rest) = line.strip_prefix("Data for proc: ") {
                let number = rest.rsplit(',').next().unwrap_or_default();
                rank = number.trim_end_matches(']').parse().expect("a rank");
            } else if let Some((_, core)) = line.split_once("core:L") {
                let core = core.trim_end_matches(']').parse().expect("one core");
                map.insert(rank, (node, core));
            }
        }
        let strategy = default.default_strategy(ranks);
        assert_eq!(map, mapped(ranks, strategy, |place| first(place, "cores")), "{strategy}");
    }
}

/// As many tasks on each node as there are cores, which is what jobs ask for. The PUs of the first
/// package have even P#.
#[test]
fn slurm_goes_by_package() {
    let Some(slurm) = slurm_with_packages() else { return };
    let default = rankwright::launch::find("slurm").expect("a launcher");
    for job in ["--ntasks-per-node=8", "-n 16 --hint=nomultithread"] {
        let script = "#!/bin/bash\nsrun -v true\necho done\n";
        let found = found(&slurm, Some(job), script).into_iter();
        let place = |(rank, (host, mask)): (u64, (String, Option<u64>))| {
            let first = mask.expect("it is bound").trailing_zeros();
            (rank as usize, (usize::from(host == "n1"), first as usize % 2))
        };
        let map: Map = found.map(place).collect();
        assert_eq!(map, mapped(16, default.default_strategy(16), |place| first(place, "numa")));
    }
}

#[test]
fn hydra_fills_hosts_in_order() {
    if !can_invent_hosts() {
        return;
    }
    let default = rankwright::launch::find("mpich").expect("a launcher");
    for program in ["mpiexec.hydra", ".mpi/mpich5/bin/mpiexec"] {
        let Some(mut command) = launcher(program) else { return };
        command.args(["-launcher", "ssh", "-launcher-exec"]).arg(fake_ssh());
        command.args(["-hosts", "na:8,nb:8", "-n", "11", "sh", "-c"]);
        command.arg("echo \"rank=$PMI_RANK=$(hostname)\"");
        let output = run(command);
        let mut map = Map::new();
        for line in told(&output).lines().filter_map(|line| line.strip_prefix("rank=")) {
            let (rank, host) = line.split_once('=').expect("rank and host");
            map.insert(rank.parse().expect("a rank"), (usize::from(host == "nb"), 0));
        }
        assert_eq!(map, mapped(11, default.default_strategy(11), |_| 0), "{}", told(&output));
    }
}
