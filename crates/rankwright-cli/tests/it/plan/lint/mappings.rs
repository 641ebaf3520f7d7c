//! What `lint` makes of mappings of Open MPI that are drawn at random, held against its versions 4 and 5.

use std::collections::BTreeMap;

use rankwright::ids::parse_index_list;
use rankwright::random::Generator;
use serde_json::Value;

use crate::invented_hosts::can_invent_hosts;
use crate::plan::lint::launchers::{hosts_shown, openmpi, read_on, told};

/// Clusters of two hosts, their hwloc file, and the cores of a host.
const CLUSTERS: [(&str, &str, usize); 2] =
    [("four-numa.toml", "four-numa.xml", 16), ("cluster.toml", "two-packages.xml", 8)];

/// Host of every rank, and its PUs (P#), `None` if it is not bound.
type Places = BTreeMap<u64, (String, Option<Vec<u32>>)>;

/// One of several words.
fn any<'a>(random: &mut Generator, words: &[&'a str]) -> &'a str {
    words[random.below(words.len())]
}

/// The arguments of a mapping for up to `slots` ranks: `--map-by` and the like, or older options.
fn arguments(random: &mut Generator, version: u8, slots: usize) -> String {
    let mut all = format!("-np {}", 1 + random.below(slots));
    if random.below(3) == 0 {
        all += &older(random, version, slots);
        return all;
    }
    let package = if version == 4 { "socket" } else { "package" };
    let parts = [package, "numa", "l3cache", "core", "hwthread"];
    let list = any(random, &["0", "1,3", "2,0,1:ordered", "0-2,3", "1-2,0:ordered"]);
    let each = 1 + random.below(3);
    let map = match random.below(10) {
        0 => String::new(),
        1 => "slot".to_owned(),
        2 => "node".to_owned(),
        3 => format!("ppr:{each}:node"),
        4 => format!("ppr:{each}:{}", any(random, &parts)),
        5 if version == 5 => format!("pe-list={list}"),
        _ => any(random, &parts).to_owned(),
    };
    let cpus = format!("PE={each}");
    let modifiers = match random.below(6) {
        0 => "span",
        1 => &cpus,
        2 if version == 4 => "span,PE=2",
        2 => "span:PE=2",
        _ => "",
    };
    let per = random.below(8) == 0;
    if per {
        all += &format!(" {} {each}", any(random, &["-N", "--npernode", "--npersocket"]));
    }
    if !(map.is_empty() && modifiers.is_empty() || per && random.below(2) == 0) {
        let colon = if modifiers.is_empty() { "" } else { ":" };
        all += &format!(" --map-by {map}{colon}{modifiers}");
    }
    if random.below(3) == 0 {
        let rank_by = if version == 4 {
            let words = ["slot", "node", package, "numa", "l3cache", "core", "hwthread"];
            any(random, &words).to_owned() + any(random, &["", "", ":span", ":fill"])
        } else {
            any(random, &["slot", "node", "fill", "span"]).to_owned()
        };
        all += &format!(" --rank-by {rank_by}");
    }
    if random.below(3) == 0 {
        let part = any(random, &["none", "core", package, "numa", "l3cache", "hwthread"]);
        all += &format!(" --bind-to {part}{}", any(random, &["", "", ":if-supported"]));
    }
    all
}

/// One or two options of older versions, or MCA parameters; and perhaps others beside them.
fn older(random: &mut Generator, version: u8, slots: usize) -> String {
    let each = 1 + random.below(3);
    let part = any(random, &["node", "socket", "numa", "l3cache", "core"]);
    let policy = any(random, &["slot", "node", "numa", "core"]);
    let parameter = if version == 4 { "--mca rmaps_base" } else { "--prtemca rmaps_default" };
    let options = [
        "--bynode".to_owned(),
        "--bycore".to_owned(),
        "--byslot".to_owned(),
        "--pernode".to_owned(),
        format!("--ppr {each}:{part}"),
        format!("--cpus-per-proc {each}"),
        format!("--cpus-per-rank {each}"),
        format!("--cpu-list {}", any(random, &["0,1", "2", "3-1,4"])),
        "--bind-to-core".to_owned(),
        "--bind-to-socket".to_owned(),
        format!("-H nodeA00:{},nodeA01:{}", 1 + random.below(slots), 1 + random.below(8)),
        format!("{parameter}_mapping_policy {policy}"),
        format!("-np {}", 1 + random.below(slots)),
        "--nooversubscribe".to_owned(),
        "--use-hwthread-cpus".to_owned(),
        format!("--rank-by {}", any(random, &["slot", "node"])),
        format!("--bind-to {}", any(random, &["none", "core", "numa"])),
        format!("--map-by {}", any(random, &["slot", "numa", "core", ":PE=2"])),
        "--map-by numa".to_owned(),
        "true --map-by node -np 1".to_owned(),
    ];
    let count = 1 + random.below(3);
    let mut chosen: Vec<usize> = (0..count).map(|_| random.below(options.len())).collect();
    // The program is the last one.
    chosen.sort_unstable();
    chosen.into_iter().map(|option| format!(" {}", options[option])).collect()
}

/// The host of every rank that a map displays, unbound.
fn displayed(text: &str) -> Places {
    hosts_shown(text).into_iter().map(|(rank, host)| (rank, (host, None))).collect()
}

/// What the daemons of Open MPI 4 would bind to: `[n0:7] [[1,0],1] BOUND PROC [[1,1],3] TO
/// 0-7[NUMANode:0] on node n0`, or `.. PROC [[1,1],3] BITMAP 0-1`.
fn places_4(text: &str) -> Places {
    let mut places = displayed(text);
    let mut bound: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
    for line in text.lines() {
        let Some((_, rest)) = line.split_once(" PROC [[") else { continue };
        let mut words = rest.split_whitespace();
        let (Some(rank), Some("TO" | "BITMAP"), Some(pus)) =
            (words.next(), words.next(), words.next())
        else {
            continue;
        };
        let rank = rank.split(',').nth(2).and_then(|rank| rank.strip_suffix(']'));
        let pus = pus.split('[').next().unwrap_or_default();
        let (Some(rank), Ok(pus)) =
            (rank.and_then(|rank| rank.parse().ok()), parse_index_list(pus))
        else {
            continue;
        };
        bound.insert(rank, pus);
    }
    // If one rank of a host finds no CPU, none of them is bound.
    let mut left: BTreeMap<String, bool> = BTreeMap::new();
    for (rank, (host, _)) in &places {
        *left.entry(host.clone()).or_insert(true) &= bound.contains_key(rank);
    }
    for (rank, (host, pus)) in &mut places {
        *pus = bound.remove(rank).filter(|_| left[host.as_str()]);
    }
    places
}

/// `package[0][core:L1,3-4]` or `package[0][hwt:L2]`; the latter are P#. Cores are those of `pus_of_core`.
fn places_5(text: &str, pus_of_core: &[Vec<u32>]) -> Places {
    let mut places = displayed(text);
    let mut rank = 0;
    for line in text.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("Data for proc: ") {
            let number = rest.rsplit(',').next().unwrap_or_default();
            rank = number.trim_end_matches(']').parse().expect("a rank");
        } else if let Some(binding) = line.strip_prefix("Binding: ") {
            let lists = |kind: &str| -> Vec<u32> {
                let lists = binding.split(kind).skip(1).filter_map(|list| list.split(']').next());
                lists.flat_map(|list| parse_index_list(list).expect("a list")).collect()
            };
            let cores =
                lists("core:L").into_iter().flat_map(|core| pus_of_core[core as usize].clone());
            let mut pus: Vec<u32> = cores.chain(lists("hwt:L")).collect();
            pus.sort_unstable();
            if let Some(place) = places.get_mut(&rank).filter(|_| !pus.is_empty()) {
                place.1 = Some(pus);
            }
        }
    }
    places
}

/// Host and PUs of each rank as `lint` predicts them; `None` if it does not predict the PUs of some rank.
fn places_read(reading: &Value) -> Option<Places> {
    let place = |rank: &Value| {
        let host = rank["host"].as_str()?.to_owned();
        if rank["bound"] != true {
            return Some((rank["rank"].as_u64()?, (host, None)));
        }
        let pus = rank["pus"].as_array()?.iter().filter_map(Value::as_u64);
        let pus = pus.filter_map(|pu| u32::try_from(pu).ok()).collect();
        Some((rank["rank"].as_u64()?, (host, Some(pus))))
    };
    reading["ranks"].as_array()?.iter().map(place).collect()
}

fn pus_of_cores(toml: &str) -> Vec<Vec<u32>> {
    let hosts = "nodeA00\n";
    let reading = read_on(Some(toml), hosts, "openmpi5", "--map-by core");
    let places = places_read(&reading).expect("cores");
    places.into_values().filter_map(|(_, pus)| pus).collect()
}

/// Draws `count` mappings and compares them; those that `lint` does not predict are left out.
fn compare(version: u8, count: usize) {
    let launcher = format!("openmpi{version}");
    let mut random = Generator::new(u64::from(version));
    let mut compared = 0;
    for case in 0..count {
        let (toml, xml, cores) = CLUSTERS[case % 2];
        let toml = format!("testdata/lint/{toml}");
        let slots = [1 + random.below(cores), cores - random.below(2)];
        let hosts = format!("nodeA01 slots={}\nnodeA00 slots={}\n", slots[0], slots[1]);
        let arguments = arguments(&mut random, version, slots[0] + slots[1]);
        let reading = read_on(Some(&toml), &hosts, &launcher, &arguments);
        let Some(starts) = reading["starts"].as_bool() else { continue };
        let code = |warning: &Value| warning["code"] == "np-within-part-of-ppr";
        let (Some(read), false) = (
            places_read(&reading),
            reading["warnings"].as_array().is_some_and(|it| it.iter().any(code)),
        ) else {
            continue;
        };
        let Some(output) = openmpi(&launcher, xml, &hosts, &arguments) else { return };
        let text = told(&output);
        let what = format!("{version} on {toml}: {arguments}\n{hosts}{text}{reading:#}");
        if version == 4 {
            assert_eq!(output.status.success(), starts, "{what}");
        } else {
            assert_eq!(!displayed(&text).is_empty(), starts, "{what}");
        }
        if !starts {
            continue;
        }
        compared += 1;
        if version == 4 {
            assert_eq!(places_4(&text), read, "{what}");
            continue;
        }
        let pus_of_core = pus_of_cores(&toml);
        let whole = |pus: Vec<u32>| {
            let cores = pus_of_core.iter().filter(|core| core.iter().any(|pu| pus.contains(pu)));
            let mut pus: Vec<u32> = cores.flatten().copied().collect();
            pus.sort_unstable();
            pus
        };
        // With cores as CPUs, the map shows the cores of hardware threads.
        let read = if text.contains("core:L") {
            read.into_iter().map(|(rank, (host, pus))| (rank, (host, pus.map(whole)))).collect()
        } else {
            read
        };
        assert_eq!(places_5(&text, &pus_of_core), read, "{what}");
    }
    assert!(compared > count / 4, "{compared} of {count}");
}

#[test]
fn open_mpi_4_maps_at_random_as_read() {
    if can_invent_hosts() {
        compare(4, 12);
    }
}

#[test]
fn open_mpi_5_maps_at_random_as_read() {
    compare(5, 30);
}
