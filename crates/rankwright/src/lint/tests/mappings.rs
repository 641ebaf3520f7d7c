//! Mappings of Open MPI, as 4.1.4 and 5.0.11 did them.

use crate::cluster::read::synthetic;
use crate::cluster::{Cluster, ClusterDescription, NodeGroup};
use crate::lint::{Reading, find};
use proptest::prelude::*;

fn cluster(machine: &str) -> Cluster {
    let machine = synthetic::parse(machine).unwrap();
    let names = (0..3).map(|node| format!("n{node}")).collect();
    ClusterDescription::uniform("c", names, NodeGroup::all_free(machine)).build().unwrap()
}

fn read(from: &str, arguments: &str, slots: [usize; 2]) -> Result<Reading, String> {
    let cluster = cluster("pack:2 [numa] core:4 pu:2");
    let hosts = format!("n0 slots={}\nn1 slots={}\n", slots[0], slots[1]);
    let words: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
    let format = find(from).unwrap();
    format.read(&hosts, "hosts", &words, Some(&cluster)).map_err(|error| error.to_string())
}

/// Host and cores of each rank: `0:0-3 0:4-7 1:-`.
fn shown(reading: &Reading) -> String {
    let rank = |rank: &crate::lint::RankReading| {
        let cores = rank.cores.iter().flatten().map(|core| core.0).collect::<Vec<u32>>();
        let cores = match (rank.bound, &rank.pus) {
            (false, _) => "-".to_owned(),
            // A core has two.
            (true, Some(pus)) if pus.as_slice().len() < 2 * cores.len() => {
                let pus: Vec<u32> = pus.as_slice().iter().map(|pu| pu.0).collect();
                format!("P{pus:?}")
            }
            (true, _) => crate::ids::format_index_list(&cores),
        };
        format!("{}:{cores}", rank.host.trim_start_matches('n'))
    };
    reading.ranks.iter().map(rank).collect::<Vec<String>>().join(" ")
}

#[test]
fn ranks_are_mapped_numbered_and_bound_by_rule() {
    for (from, arguments, slots, expected) in RULES {
        let reading = read(from, arguments, slots).unwrap();
        assert!(reading.starts(), "{from} {arguments}: {:?}", reading.warnings);
        assert_eq!(shown(&reading), expected, "{from} {arguments}");
    }
}

#[test]
fn what_mpirun_refuses_is_refused() {
    for (from, arguments, code) in [
        ("openmpi4", "-np 4 --map-by core:PE=2", "options-do-not-mix"),
        ("openmpi4", "-np 4 --map-by socket:PE=2 --bind-to numa", "options-do-not-mix"),
        ("openmpi4", "-np 4 --map-by socket:PE=8", "mapping-does-not-fit"),
        ("openmpi4", "-np 4 --rank-by fill", "unknown-policy"),
        ("openmpi5", "-np 4 --rank-by core", "unknown-policy"),
        ("openmpi5", "-np 4 --map-by slot --rank-by fill", "options-do-not-mix"),
        ("openmpi5", "-np 4 --map-by core --bind-to package", "options-do-not-mix"),
        ("openmpi5", "-np 4 -N 2 --map-by core", "options-do-not-mix"),
        ("openmpi5", "--map-by pe-list=0,7", "mapping-does-not-fit"),
        ("openmpi5", "--map-by pe-list=0,1 --bind-to none", "options-do-not-mix"),
        ("openmpi5", "-np 4 --bynode --map-by numa", "options-do-not-mix"),
        ("openmpi5", "-np 4 --pernode --npersocket 1", "options-do-not-mix"),
        ("openmpi5", "-np 4 --map-by numa --map-by numa", "options-do-not-mix"),
        ("openmpi5", "-np 4 --bind-to core --bind-to numa", "options-do-not-mix"),
        ("openmpi5", "-np 4 --bind-to-core --bind-to core", "options-do-not-mix"),
        ("openmpi5", "-np 4 --cpus-per-proc 2 --bind-to none", "options-do-not-mix"),
        ("openmpi5", "-np 4 --map-by skt", "unknown-policy"),
        ("openmpi5", "-np 4 --map-by dist", "unknown-policy"),
        ("openmpi5", "-np 4 --bind-to-socket", "unknown-option"),
        ("openmpi5", "-np 4 --map-by=numa", "unknown-option"),
        ("openmpi5", "-np 4 --pernode", "ppr-does-not-fit"),
        ("openmpi5", "-np 3 -H n1:2", "too-few-slots"),
        ("openmpi5", "--map-by pe-list=5-0 --bind-to core", "mapping-does-not-fit"),
        ("openmpi4", "-np 4 --bycore --byslot", "options-do-not-mix"),
        ("openmpi4", "-np 4 --bycore --rank-by node", "options-do-not-mix"),
        ("openmpi4", "-np 4 --ppr 2:socket --map-by core", "options-do-not-mix"),
        ("openmpi4", "-np 4 --bind-to-core --bind-to numa", "options-do-not-mix"),
        ("openmpi4", "-np 4 --map-by package", "unknown-policy"),
        ("openmpi4", "-np 4 --ppr 2", "unknown-policy"),
        ("openmpi4", "-np 4 --bind-to package", "unknown-policy"),
        ("openmpi4", "-np 4 --prtemca rmaps_default_mapping_policy node", "unknown-option"),
        ("openmpi4", "-np=4", "unknown-option"),
    ] {
        let reading = read(from, arguments, [8, 8]).unwrap();
        assert!(!reading.starts(), "{from} {arguments}");
        let codes: Vec<&str> = reading.warnings.iter().map(|warning| warning.trap.code).collect();
        assert!(codes.contains(&code), "{from} {arguments}: {codes:?}");
    }
}

#[test]
fn refusals_name_what_the_user_wrote() {
    for (arguments, expected) in [
        (
            "-np 4 --rank-by fill --bind-to none",
            "--rank-by fill or span needs a mapping by parts, not the default mapping",
        ),
        ("-np 4 --bynode --npernode 2", "--npernode 2 and --bynode: 5.0 takes one mapping only"),
        (
            "-np 4 --npersocket 1 --npernode 2",
            "--npernode 2 and --npersocket 1: 5.0 takes one mapping only",
        ),
        ("-np 4 --map-by core:PE=2", "--map-by core:PE=2: a core is one CPU only"),
    ] {
        let reading = read("openmpi5", arguments, [8, 8]).unwrap();
        assert_eq!(reading.warnings[0].text, expected, "{arguments}");
    }
}

#[test]
fn what_a_version_ignores_is_warned_of() {
    for (from, arguments) in [
        ("openmpi4", "-np 4 --mca rmaps_default_mapping_policy node"),
        ("openmpi5", "-np 4 --mca rmaps_base_mapping_policy node"),
        ("openmpi5", "OMPI_MCA_hwloc_base_binding_policy=numa mpirun -np 4 ./a"),
    ] {
        let reading = read(from, arguments, [8, 8]).unwrap();
        let codes: Vec<&str> = reading.warnings.iter().map(|warning| warning.trap.code).collect();
        assert!(codes.contains(&"parameter-ignored"), "{from} {arguments}: {codes:?}");
        assert!(reading.host_of_rank().all(|host| host == "n0"), "{from} {arguments}");
    }
}

#[test]
fn a_list_without_a_cpu_of_the_host_binds_nothing() {
    for list in ["5-0", "99"] {
        let reading = read("openmpi5", &format!("-np 2 --map-by pe-list={list}"), [8, 8]).unwrap();
        assert!(reading.starts());
        assert_eq!(shown(&reading), "0:- 1:-");
        assert!(reading.warnings.iter().any(|warning| warning.trap.code == "empty-slot-list"));
    }
}

#[test]
fn a_host_with_very_many_slots_is_read_at_once() {
    let hosts = "n0 slots=200000\n";
    for (from, arguments) in [
        ("openmpi4", ""),
        ("openmpi4", "--map-by core --rank-by core"),
        ("openmpi4", "--map-by slot --bind-to core"),
        ("openmpi5", ""),
        ("openmpi5", "--map-by numa"),
        ("openmpi5", "--map-by slot --bind-to core"),
    ] {
        let words: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
        let reading = find(from).unwrap().read(hosts, "hosts", &words, None).unwrap();
        assert!(reading.starts(), "{from} {arguments}");
        assert_eq!(reading.ranks.len(), 200_000);
        assert!(reading.ranks.iter().all(|rank| rank.bound && rank.pus.is_none()));
    }
}

#[test]
fn what_is_not_predicted_is_an_error() {
    for (from, arguments) in [
        ("openmpi4", "-np 4 --map-by dist --mca rmaps_dist_device mlx5_0"),
        ("openmpi4", "-np 4 --map-by numa:span -N 2"),
        ("openmpi4", "-np 4 --map-by numa : -np 2"),
        ("openmpi5", "-np 40 --map-by core:oversubscribe"),
        ("openmpi5", "-np 4 --map-by pe-list=a"),
        ("openmpi4", "-np 4 --cpu-list 0,1"),
        ("openmpi4", "-np 4 --bycore --npersocket 1"),
        ("openmpi4", "-np 4 --mca rmaps_base_oversubscribe 1"),
        ("openmpi4", "-np 4 --map-by core --mca rmaps_base_mapping_policy node"),
        ("openmpi5", "-np 4 --prtemca hwloc_default_binding_policy numa"),
        ("openmpi5", "-np 4 --prtemca rmaps_default_mapping_policy slot:PE=2"),
        ("openmpi5", "-np 4 --nolocal"),
        ("openmpi5", "-np 4 --rankfile ranks"),
        ("openmpi5", "-np 4 --cpus-per-proc 0"),
        ("openmpi5", "-np 4 -H n2:4"),
        ("openmpi5", "-np 4 -H n1:4 : -np 2"),
        ("openmpi4", "-np 4 --tune file"),
    ] {
        assert!(read(from, arguments, [8, 8]).is_err(), "{from} {arguments}");
    }
}

proptest! {
    #[test]
    fn every_rank_of_a_mapping_is_shown_once(
        words in prop::collection::vec(0_usize..WORDS.len(), 0..5),
        slots in prop::array::uniform2(0_usize..20),
        ranks in 1_usize..30,
    ) {
        let words: Vec<&str> = words.into_iter().map(|word| WORDS[word]).collect();
        let arguments = format!("-np {ranks} {}", words.join(" "));
        for from in ["openmpi4", "openmpi5"] {
            let Ok(reading) = read(from, &arguments, slots) else { continue };
            let numbers: Vec<usize> = reading.ranks.iter().map(|rank| rank.rank.index()).collect();
            prop_assert_eq!(&numbers, &(0..numbers.len()).collect::<Vec<usize>>());
            prop_assert!(numbers.len() == ranks || !reading.starts(), "{} {}", from, arguments);
        }
    }
}

const WORDS: [&str; 44] = [
    "--map-by slot",
    "--map-by node",
    "--map-by numa:span",
    "--map-by socket:PE=3",
    "--map-by socket:span,PE=2",
    "--map-by l3cache",
    "--map-by l1cache",
    "--map-by core:oversubscribe",
    "--map-by hwthread",
    "--map-by :PE=2",
    "--map-by ppr:3:node:PE=2",
    "--map-by ppr:1:hwthread",
    "--map-by pe-list=0-99999,3,7:ordered",
    "--map-by pe-list=5,3-1",
    "--map-by numa:PE=99999999999999999999",
    "-N 3",
    "--npersocket 18446744073709551615",
    "--rank-by core:span",
    "--rank-by fill",
    "--rank-by l2cache",
    "--bind-to none",
    "--bind-to hwthread",
    "--bind-to core:overload-allowed",
    "--bind-to numa",
    "--use-hwthread-cpus",
    "--oversubscribe",
    "--nooversubscribe",
    "--bynode",
    "--bycore",
    "--byslot",
    "--pernode",
    "--ppr 2:numa",
    "--ppr 3",
    "--cpus-per-proc 2",
    "--cpus-per-rank 99999999999999999999",
    "--cpu-list 1,0",
    "--cpu-set 7-0",
    "--bind-to-core",
    "--bind-to-socket",
    "-H n1:3,n0",
    "--mca rmaps_base_mapping_policy numa",
    "--prtemca rmaps_default_mapping_policy node",
    "OMPI_MCA_rmaps_base_ranking_policy=core",
    "./a -np 7 --map-by node -H",
];

/// Version, arguments, the slots of two hosts, and the ranks that mpirun started.
const RULES: [(&str, &str, [usize; 2], &str); 55] = [
    (
        "openmpi4",
        "-np 6 --map-by numa --rank-by core",
        [4, 8],
        "0:0-3 0:0-3 0:4-7 0:4-7 1:0-3 1:4-7",
    ),
    (
        "openmpi4",
        "-np 6 --map-by numa --rank-by numa:fill",
        [4, 8],
        "0:0-3 0:0-3 0:4-7 0:4-7 1:0-3 1:4-7",
    ),
    (
        "openmpi4",
        "-np 6 --map-by numa --rank-by node",
        [4, 8],
        "0:0-3 1:0-3 0:4-7 1:4-7 0:0-3 0:4-7",
    ),
    ("openmpi4", "-np 6 --map-by numa:span", [4, 8], "0:0-3 0:4-7 0:0-3 0:4-7 1:0-3 1:4-7"),
    ("openmpi4", "-np 6 --map-by core:span", [4, 8], "0:- 0:- 0:- 0:- 0:- 0:-"),
    ("openmpi4", "-np 6 --map-by slot", [4, 8], "0:0-3 0:4-7 0:0-3 0:4-7 1:0-3 1:4-7"),
    ("openmpi4", "-np 6 --map-by node --bind-to core", [4, 8], "0:0 1:0 0:1 1:1 0:2 1:2"),
    ("openmpi4", "-np 5 --map-by socket --bind-to core", [4, 8], "0:0 0:4 0:1 0:5 1:0"),
    ("openmpi4", "-np 2 --map-by socket:PE=3", [4, 8], "0:0-2 0:4-6"),
    ("openmpi4", "-N 2", [4, 8], "0:0-3 0:4-7 1:0-3 1:4-7"),
    ("openmpi4", "-N 2 -np 6 --map-by socket", [4, 8], "0:0-3 0:4-7 0:0-3 0:4-7 1:0-3 1:4-7"),
    ("openmpi4", "--npersocket 1", [4, 8], "0:0-3 0:4-7 1:0-3 1:4-7"),
    ("openmpi4", "-np 4 --map-by core --bind-to socket", [4, 8], "0:0-3 0:0-3 0:0-3 0:0-3"),
    ("openmpi4", "-np 3 --map-by hwthread", [4, 8], "0:P[0] 0:P[1] 0:P[2]"),
    ("openmpi4", "-np 4 --map-by :PE=2", [4, 8], "0:0-1 0:4-5 0:2-3 0:6-7"),
    ("openmpi4", "-np 6 --rank-by core:span", [4, 8], "0:0-3 0:0-3 0:4-7 0:4-7 1:0-3 1:4-7"),
    (
        "openmpi5",
        "-np 6 --map-by package --rank-by slot",
        [4, 8],
        "0:0-3 0:4-7 0:0-3 0:4-7 1:0-3 1:4-7",
    ),
    (
        "openmpi5",
        "-np 6 --map-by package --rank-by node",
        [4, 8],
        "0:0-3 1:0-3 0:4-7 1:4-7 0:0-3 0:4-7",
    ),
    ("openmpi5", "-np 6 --map-by package:span", [4, 8], "0:0-3 0:4-7 1:0-3 1:4-7 0:0-3 0:4-7"),
    ("openmpi5", "-np 6 --map-by core --rank-by span", [4, 8], "0:0 0:1 0:2 0:3 1:0 1:1"),
    ("openmpi5", "-np 6 --map-by node --bind-to core", [4, 8], "0:0 1:0 0:1 1:1 0:2 1:2"),
    ("openmpi5", "-np 6 --map-by slot", [4, 8], "0:0-3 0:0-3 0:0-3 0:0-3 1:0-3 1:0-3"),
    ("openmpi5", "-N 2", [4, 8], "0:0-3 0:0-3 1:0-3 1:0-3"),
    ("openmpi5", "--npersocket 1", [4, 8], "0:0-3 0:4-7 1:0-3 1:4-7"),
    ("openmpi5", "--map-by pe-list=1,3:ordered", [4, 8], "0:1 0:3"),
    ("openmpi5", "--map-by pe-list=0-1,3 -np 3", [4, 8], "0:0-1,3 0:0-1,3 1:0-1,3"),
    ("openmpi5", "-np 3 --map-by hwthread", [4, 8], "0:P[0] 0:P[1] 0:P[2]"),
    ("openmpi5", "-np 4 --map-by package --bind-to numa", [4, 8], "0:0-3 0:0-3 0:4-7 0:4-7"),
    ("openmpi4", "-np 2 --pernode", [4, 8], "0:0 1:0"),
    ("openmpi4", "-np 4 --ppr 2:node", [4, 8], "0:0-3 0:4-7 1:0-3 1:4-7"),
    ("openmpi4", "-np 3 --cpus-per-proc 2", [4, 8], "0:0-1 0:4-5 0:2-3"),
    ("openmpi4", "-np 3 --cpus-per-rank 1", [4, 8], "0:0 0:4 0:1"),
    ("openmpi4", "-np 2 --pernode --cpus-per-proc 2", [4, 8], "0:0-1 1:0-1"),
    ("openmpi4", "-np 3 --byslot --cpus-per-proc 2", [4, 8], "0:0-1 0:2-3 0:4-5"),
    ("openmpi4", "-np 3 --bycore", [4, 8], "0:0 0:1 0:2"),
    ("openmpi4", "-np 3 --bynode --rank-by node", [4, 8], "0:0-3 1:0-3 0:4-7"),
    ("openmpi4", "-np 3 --bind-to-socket", [4, 8], "0:0-3 0:4-7 0:0-3"),
    ("openmpi4", "-np 3 --bind-to-core --bind-to core", [4, 8], "0:0 0:4 0:1"),
    ("openmpi4", "-np 4 -np 3 --map-by slot --map-by core", [4, 8], "0:0 0:1 0:2"),
    ("openmpi4", "-np 2 --npernode 2 --npernode 1", [4, 8], "0:0 1:0"),
    ("openmpi4", "-np 3 --mca rmaps_base_mapping_policy node", [4, 8], "0:0-3 1:0-3 0:4-7"),
    (
        "openmpi4",
        "-np 3 --bind-to core --mca hwloc_base_binding_policy numa",
        [4, 8],
        "0:0 0:4 0:1",
    ),
    ("openmpi4", "OMPI_MCA_rmaps_base_mapping_policy=node -np 2", [4, 8], "0:0 1:0"),
    ("openmpi4", "-H n1:2,n0 -np 3 --map-by core", [4, 8], "1:0 1:1 0:0"),
    ("openmpi4", "mpirun -np 2 ./a -np 3 --map-by node", [4, 8], "0:0 0:1"),
    ("openmpi5", "--pernode", [4, 8], "0:0 1:0"),
    ("openmpi5", "--ppr 1:socket -np 3", [4, 8], "0:0-3 0:4-7 1:0-3"),
    ("openmpi5", "--map-by ppr:1:skt -np 3", [4, 8], "0:0-3 0:4-7 1:0-3"),
    ("openmpi5", "-np 2 --pernode --cpus-per-proc 2", [4, 8], "0:0-1 1:0-1"),
    ("openmpi5", "-np 3 --cpus-per-proc 2", [4, 8], "0:0-1 0:2-3 0:4-5"),
    ("openmpi5", "-np 2 --cpu-list 0,1", [4, 8], "0:0-1 0:0-1"),
    ("openmpi5", "-np 3 -np 4 --bycore", [4, 8], "0:0 0:1 0:2"),
    ("openmpi5", "-H n1,n0:2", [4, 8], "1:0 0:0 0:1"),
    ("openmpi5", "--prtemca rmaps_default_mapping_policy node -np 3", [4, 8], "0:0-3 1:0-3 0:0-3"),
    ("openmpi5", "mpirun -np 2 ./a -np 3 --bind-to none : -np 1 ./b -np 9", [4, 8], "0:0 0:1 0:2"),
];
