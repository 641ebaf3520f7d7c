//! Open MPI 5 reads the rankfiles for clusters of any size: its mapper works on simulated nodes of a
//! given topology and displays where every rank would be, without starting anything.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use rankwright::ids::{CoreId, PuId, parse_index_list};
use rankwright::placement::{PlacementFile, RankEntry};

use crate::command::{rankwright, repository, say};
use crate::placements::{placement, write};

/// The map that `mpirun` displays: host and cores (L#) of every rank.
fn displayed(text: &str) -> BTreeMap<usize, (String, Vec<CoreId>)> {
    let mut map = BTreeMap::new();
    let (mut host, mut rank) = (String::new(), 0);
    for line in text.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("Data for node: ") {
            rest.split_whitespace().next().unwrap_or_default().clone_into(&mut host);
        } else if let Some(rest) = line.strip_prefix("Data for proc: ") {
            let number = rest.trim_end_matches(']').rsplit(',').next();
            rank = number.and_then(|number| number.parse().ok()).expect("a rank");
        } else if let Some(rest) = line.strip_prefix("Binding: ") {
            // package[0][core:L0,5] package[1][core:L7]
            let lists = rest.split("core:L").skip(1).map(|part| part.split(']').next());
            let cores = lists.flat_map(|list| parse_index_list(list.expect("a list")).unwrap());
            map.insert(rank, (host.clone(), cores.map(CoreId).collect()));
        }
    }
    map
}

/// What Open MPI 5 makes of the rankfile for a placement on nodes of a topology; `None` without it.
fn map_of(
    placement: &PlacementFile,
    nodes: usize,
    topology: &Path,
) -> Option<BTreeMap<usize, (String, Vec<CoreId>)>> {
    let mpirun = repository().join(".mpi/openmpi5/bin/mpirun");
    if !mpirun.exists() {
        say("SKIPPED: Open MPI 5 is not installed");
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = write(placement, folder.path());
    let files = folder.path().join("files");
    let launched = rankwright(&["launch", "--for", "openmpi5", "--binding", "native", "-o"])
        .args([&files, &file])
        .args(["--", "hostname"])
        .output()
        .expect("the program starts");
    assert!(launched.status.success(), "{}", String::from_utf8_lossy(&launched.stderr));
    let rankfile = format!("rankfile:file={}", files.join("rankfile").display());
    let output = Command::new("timeout")
        .arg("60")
        .arg(mpirun)
        .args(["--prtemca", "ras", "simulator", "--prtemca", "ras_simulator_num_nodes"])
        .arg(nodes.to_string())
        .args(["--prtemca", "ras_simulator_slots", "64", "--prtemca", "hwloc_use_topo_file"])
        .arg(topology)
        .args(["--runtime-options", "donotlaunch", "--display", "map", "--map-by", &rankfile])
        .args(["-np", &placement.jobs[0].ranks.len().to_string(), "hostname"])
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .output()
        .expect("timeout is everywhere");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    Some(displayed(&text))
}

/// A topology as hwloc describes it; `None` without its tools.
fn topology(folder: &Path, arguments: &[&str]) -> Option<std::path::PathBuf> {
    let path = folder.join("topology.xml");
    let mut lstopo = Command::new("lstopo-no-graphics");
    let Ok(output) = lstopo.args(arguments).args(["--of", "xml", "--force"]).arg(&path).output()
    else {
        say("SKIPPED: lstopo is not installed");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(path)
}

fn wanted(ranks: &[RankEntry]) -> BTreeMap<usize, (String, Vec<CoreId>)> {
    let place = |entry: &RankEntry| (entry.rank.index(), (entry.node.clone(), entry.cores.clone()));
    ranks.iter().map(place).collect()
}

#[test]
fn open_mpi_5_reads_256_shuffled_ranks_on_16_nodes_as_placed() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(topology) = topology(folder.path(), &["-i", "pack:2 core:8 pu:1"]) else { return };
    let hosts: Vec<String> = (0..16).map(|node| format!("nodeA{node:02}")).collect();
    // 101 is prime to 256: every core once, in an order that no launcher has.
    let places: Vec<(&str, u32)> = (0..256_u32)
        .map(|rank| rank * 101 % 256)
        .map(|slot| (hosts[slot as usize / 16].as_str(), slot % 16))
        .collect();
    let placement = placement(16, false, &places);
    let Some(map) = map_of(&placement, 16, &topology) else { return };
    assert_eq!(map, wanted(&placement.jobs[0].ranks));
}

#[test]
fn open_mpi_5_counts_the_cores_of_irregular_machines_as_we_do() {
    let folder = tempfile::tempdir().expect("a folder");
    // Two packages of which cores are missing: 3 and 5 are left, of two PUs each.
    let restrict = ["-i", "pack:2 core:6 pu:2", "--restrict", "0xff3c0f"];
    let Some(topology) = topology(folder.path(), &restrict) else { return };
    let text = std::fs::read_to_string(&topology).unwrap();
    let cores = text.matches("type=\"Core\"").count();
    assert_eq!(cores, 8, "{text}");
    // Cores 2 and 3 lie on both packages.
    let order = [("nodeA1", 6), ("nodeA0", 0), ("nodeA1", 2), ("nodeA0", 4)];
    let mut placement = placement(8, false, &order);
    placement.nodes.iter_mut().for_each(|node| node.pus = 16);
    for entry in &mut placement.jobs[0].ranks {
        let core = entry.cores[0].0;
        entry.cores = [core, core + 1].map(CoreId).into();
        entry.pus = (2 * core..2 * core + 4).map(PuId).collect();
    }
    let Some(map) = map_of(&placement, 2, &topology) else { return };
    assert_eq!(map, wanted(&placement.jobs[0].ranks));
}
