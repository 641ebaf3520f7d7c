//! What `lint` reads of Open MPI's hostfiles, held against the maps of its versions 4 and 5.

use std::collections::BTreeMap;

use crate::invented_hosts::can_invent_hosts;
use crate::plan::lint::launchers::{
    Cores, cores_read, hosts_shown, map_of_5, openmpi, read_on, told,
};

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

#[test]
fn open_mpi_fills_hosts_as_read() {
    if !can_invent_hosts() {
        return;
    }
    for version in ["openmpi4", "openmpi5"] {
        for (hosts, arguments) in HOSTFILES {
            let Some(output) = openmpi(version, "two-packages.xml", hosts, arguments) else {
                break;
            };
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
                assert_eq!(hosts_shown(&told(&output)), read, "{what}");
            }
        }
    }
}

/// Ranks for or by each part of a host, and the default: on hosts of two packages, four NUMA nodes, eight caches and sixteen
/// cores. The first word is the number of slots of the first host; the other has sixteen.
const BY_PARTS: [&str; 69] = [
    "16 --map-by ppr:1:node",
    "16 --map-by ppr:3:node",
    "16 --map-by ppr:8:node",
    "16 --map-by ppr:2:socket",
    "16 --map-by ppr:2:numa -np 16",
    "16 --map-by ppr:1:numa",
    "16 --map-by ppr:1:l3cache -np 12",
    "16 --map-by ppr:1:core -np 20",
    "16 --map-by ppr:2:socket -np 4",
    "16 --map-by ppr:2:socket:PE=4",
    "16 --map-by ppr:1:node:PE=4",
    "16 --map-by ppr:2:numa --bind-to core -np 12",
    "16 --map-by ppr:2:socket --bind-to none",
    "16 --map-by ppr:2:socket --bind-to numa",
    "16 --map-by ppr:17:node",
    "16 --map-by ppr:1:socket -np 5",
    "3 --map-by ppr:2:socket",
    "3 --map-by ppr:1:core -np 3",
    "16 --map-by ppr:1:package",
    "16 --map-by device=mlx5_0",
    "16 --map-by package",
    "16 --map-by pe-list=0",
    "16 -np 2",
    "16 -np 20",
    "3 -np 6",
    "20 -np 20",
    "16 -np 6 --bind-to core",
    "16 -np 6 --bind-to numa",
    "16 -np 6 --bind-to none",
    "16 -np 20 --map-by slot",
    "3 -np 5 --map-by slot",
    "16 -np 2 --map-by slot",
    "16 -np 20 --map-by slot --bind-to core",
    "16 -np 6 --map-by slot:PE=2",
    "16 -np 8 --map-by slot:PE=3",
    "16 -np 6 --map-by socket",
    "16 -np 28 --map-by package",
    "3 -np 6 --map-by package",
    "16 -np 6 --map-by package:PE=2",
    "16 -np 6 --map-by package --bind-to core",
    "16 -np 6 --map-by package --bind-to numa",
    "16 -np 20 --map-by numa",
    "16 -np 6 --map-by numa:PE=2",
    "16 -np 6 --map-by numa --bind-to core",
    "16 -np 20 --map-by l3cache",
    "16 -np 18 --map-by l3cache:PE=1",
    "16 -np 10 --map-by l3cache --bind-to core",
    "16 -np 18 --map-by core",
    "16 -np 4 --map-by core:oversubscribe",
    "16 -np 20 --map-by node",
    "16 -np 2 --map-by node",
    "16 -np 8 --map-by node:PE=3",
    "16 -np 6 --map-by node --bind-to core",
    "4 -np 10 --map-by node",
    "16 -np 10 --map-by numa:span",
    "16 -np 6 --map-by core:span",
    "16 -np 6 --rank-by core",
    "16 -np 6 --rank-by span",
    "16 -np 20 --map-by numa --rank-by node",
    "16 -np 20 --map-by numa --rank-by slot",
    "16 -np 6 --map-by slot --rank-by fill",
    "16 -np 6 --map-by numa --rank-by numa:fill",
    "16 -N 3",
    "16 --npersocket 2",
    "16 -N 3 --map-by numa",
    "16 --map-by pe-list=0,3,5:ordered -np 5",
    "16 --map-by pe-list=0-3",
    "16 --map-by pe-list=0,9",
    "16 -np 6 --map-by numa --bind-to socket",
];

#[test]
fn open_mpi_maps_by_parts_of_a_host_as_read() {
    if !can_invent_hosts() {
        return;
    }
    for version in ["openmpi4", "openmpi5"] {
        for case in BY_PARTS {
            let (slots, arguments) = case.split_once(' ').expect("slots and arguments");
            let hosts = format!("nodeA01 slots={slots}\nnodeA00 slots=16\n");
            let reading = read_on(Some("testdata/lint/four-numa.toml"), &hosts, version, arguments);
            // `lint` predicts this mapping for the other version only.
            let Some(starts) = reading["starts"].as_bool() else { continue };
            let Some(output) = openmpi(version, "four-numa.xml", &hosts, arguments) else { break };
            let text = told(&output);
            let what = format!("{version} {case}: {text}{reading:#}");
            let started = match version {
                // Its hosts refuse bindings after the map is shown.
                "openmpi4" => output.status.success(),
                _ => !hosts_shown(&text).is_empty(),
            };
            assert_eq!(started, starts, "{what}");
            if !starts {
                continue;
            }
            let read = cores_read(&reading);
            let hosts: BTreeMap<u64, String> =
                read.iter().map(|(rank, (host, _))| (*rank, host.clone())).collect();
            assert_eq!(hosts_shown(&text), hosts, "{what}");
            // Open MPI 4 does not tell bindings of machines that are described.
            if version == "openmpi5" {
                let bound: Cores = map_of_5(&text);
                assert_eq!(bound, read, "{what}");
            }
        }
    }
}

#[test]
fn open_mpi_5_starts_nothing_where_np_ends_within_a_package() {
    let hosts = "nodeA01 slots=16\nnodeA00 slots=16\n";
    let arguments = "--map-by ppr:2:package -np 3";
    let reading = read_on(Some("testdata/lint/four-numa.toml"), hosts, "openmpi5", arguments);
    assert_eq!(reading["warnings"][0]["code"], "np-within-part-of-ppr", "{reading:#}");
    assert_eq!(reading["starts"], false);
    let Some(output) = openmpi("openmpi5", "four-numa.xml", hosts, arguments) else { return };
    assert_eq!(hosts_shown(&told(&output)).len(), 4, "{}", told(&output));
}

#[test]
fn a_hostfile_of_hydra_is_told_with_and_without_a_cluster() {
    for version in ["openmpi4", "openmpi5"] {
        for on in [None, Some("testdata/lint/cluster.toml")] {
            let reading = read_on(on, "nodeA00:4\n", version, "");
            assert_eq!(reading["starts"], false, "{reading:#}");
            assert_eq!(reading["warnings"][0]["code"], "colon-in-host", "{reading:#}");
            assert_eq!(reading["ranks"].as_array().map(Vec::len), Some(4), "{reading:#}");
        }
        let Some(output) = openmpi(version, "two-packages.xml", "nodeA00:4\n", "") else {
            continue;
        };
        let starts = version == "openmpi5" && output.status.success();
        // Open MPI 5 only shows its map here: it starts no ssh, which would not resolve the name.
        assert!(!output.status.success() || starts, "{}", told(&output));
    }
}

/// Maps of Open MPI 4 that show the part of its host that a rank is bound to.
#[test]
fn open_mpi_4_deals_ranks_to_the_parts_of_a_host_as_read() {
    if !can_invent_hosts() {
        return;
    }
    let hosts = "nodeA01 slots=16\nnodeA00 slots=16\n";
    for policy in ["", "--map-by socket", "--map-by numa", "--map-by l3cache", "--map-by core"] {
        for ranks in [2, 6, 20] {
            let arguments = format!("-np {ranks} {policy}");
            let reading =
                read_on(Some("testdata/lint/four-numa.toml"), hosts, "openmpi4", &arguments);
            let real = format!("{arguments} --display-devel-map");
            let Some(output) = openmpi("openmpi4", "four-numa.xml", hosts, &real) else { return };
            let text = told(&output);
            let what = format!("{arguments}: {text}{reading:#}");
            let cores: BTreeMap<u64, Vec<u64>> =
                cores_read(&reading).into_iter().map(|(rank, (_, cores))| (rank, cores)).collect();
            assert_eq!(locales(&text), cores, "{what}");
        }
    }
}

/// The cores of the part that each rank is mapped to: `Locale:  [BB/../..][../../..]`.
fn locales(text: &str) -> BTreeMap<u64, Vec<u64>> {
    let (mut ranks, mut rank) = (BTreeMap::new(), 0);
    for line in text.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("Data for proc: ") {
            let number = rest.rsplit(',').next().unwrap_or_default();
            rank = number.trim_end_matches(']').parse().expect("a rank");
        } else if let Some(list) = line.strip_prefix("Locale:") {
            let cores = list.trim().split(['[', ']', '/']).filter(|core| core.len() == 2);
            let cores = (0..).zip(cores).filter(|(_, core)| core.contains('B'));
            ranks.insert(rank, cores.map(|(core, _)| core).collect());
        }
    }
    ranks
}
