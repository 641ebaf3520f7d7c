use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::cluster::{self, Cluster, Gpu, NodeCount};
use crate::placement::{Granularity, PlacementError, Slot, slots, slots_by_node};

fn nodes(string: &str, count: u32) -> Cluster {
    cluster::open_with(&format!("synthetic:{string}"), NodeCount::Exactly(count)).unwrap()
}

fn n(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap()
}

/// The slots for as many ranks as there is room for.
fn of(cluster: &Cluster, ranks: RanksPer, share: Share) -> Result<Vec<Slot>, PlacementError> {
    let granularity = Granularity::Part { ranks, share };
    let room: usize = slots_by_node(cluster, &granularity).iter().sum();
    slots(cluster, granularity, room.max(1))
}

/// The cores of each slot of the first node: `0-3 4-7`.
fn cores(cluster: &Cluster, ranks: RanksPer, share: Share) -> String {
    let slots = of(cluster, ranks, share).unwrap();
    let first = slots.iter().filter(|slot| slot.node.index() == 0);
    let list = |slot: &Slot| {
        crate::ids::format_index_list(&slot.cores.iter().map(|core| core.0).collect::<Vec<_>>())
    };
    first.map(list).collect::<Vec<_>>().join(" ")
}

/// The cluster with only the PUs at these positions (L#) free.
fn with_free(cluster: Cluster, free: impl Fn(usize) -> bool) -> Cluster {
    let set = |description: &mut cluster::ClusterDescription| {
        for group in &mut description.groups {
            group.free.iter_mut().enumerate().for_each(|(pu, is_free)| *is_free = free(pu));
        }
    };
    cluster.edit(set).unwrap()
}

#[test]
fn cores_of_an_object_are_shared_evenly_and_within_numa_nodes() {
    let two_by_two = nodes("pack:2 numa:2 core:4 pu:1", 2);
    let evenly = |ranks| cores(&two_by_two, ranks, Share::Cores);
    assert_eq!(evenly(RanksPer::Node(n(4))), "0-3 4-7 8-11 12-15");
    assert_eq!(evenly(RanksPer::Node(n(2))), "0-7 8-15");
    assert_eq!(evenly(RanksPer::Node(n(6))), "0-1 2-3 4-5 6-7 8-9 12-13");
    assert_eq!(evenly(RanksPer::Package(n(1))), "0-7 8-15");
    assert_eq!(evenly(RanksPer::Numa(n(2))), "0-1 2-3 4-5 6-7 8-9 10-11 12-13 14-15");
    assert_eq!(evenly(RanksPer::Numa(n(3))).split(' ').count(), 12);
}

#[test]
fn cores_each_are_the_first_of_an_even_share() {
    let two_by_two = nodes("pack:2 numa:2 core:4 pu:1", 1);
    let each = |ranks, cores_each| cores(&two_by_two, ranks, Share::CoresEach(n(cores_each)));
    assert_eq!(each(RanksPer::Node(n(4)), 2), "0-1 4-5 8-9 12-13");
    assert_eq!(each(RanksPer::Numa(n(2)), 1), "0 2 4 6 8 10 12 14");
    // Of a share of five cores across NUMA nodes those of the NUMA node with the most.
    assert_eq!(each(RanksPer::Node(n(3)), 3), "0-2 5-7 8-10");
    // A share across NUMA nodes has no four cores of one.
    assert_eq!(each(RanksPer::Node(n(3)), 4), "0-3 4-7 8-11");
}

#[test]
fn all_ranks_of_a_node_have_the_size_of_its_smallest_object() {
    let reserved = with_free(nodes("pack:1 numa:2 core:4 pu:1", 1), |pu| pu != 0);
    assert_eq!(cores(&reserved, RanksPer::Numa(n(1)), Share::Cores), "1-3 4-6");
    // An object with too few cores takes no rank.
    let half = with_free(nodes("pack:1 numa:2 core:4 pu:1", 1), |pu| pu >= 3);
    assert_eq!(cores(&half, RanksPer::Numa(n(2)), Share::Cores), "4-5 6-7");
}

#[test]
fn hardware_threads_can_be_shared() {
    let smt = nodes("pack:1 core:2 pu:2", 1);
    let of_pus = of(&smt, RanksPer::Node(n(4)), Share::Pus).unwrap();
    assert_eq!(of_pus.len(), 4);
    assert!(of_pus.iter().all(|slot| slot.pus.len() == 1));
    let error = of(&smt, RanksPer::Node(n(4)), Share::Cores).unwrap_err().to_string();
    assert!(error.ends_with("has room for 0 (node0 has 2 free cores for 4 ranks)"), "{error}");
}

#[test]
fn numbers_of_a_batch_system_hold_node_by_node() {
    let three = nodes("core:4 pu:1", 4);
    let slots = of(&three, RanksPer::NodeByNode(vec![4, 0, 2]), Share::Cores).unwrap();
    let sizes: Vec<(usize, usize)> =
        slots.iter().map(|slot| (slot.node.index(), slot.cores.len())).collect();
    assert_eq!(sizes, [(0, 1), (0, 1), (0, 1), (0, 1), (2, 2), (2, 2)]);
}

fn four_numa() -> Cluster {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/nics");
    cluster::open(&folder.join("four-numa.toml").display().to_string()).unwrap()
}

fn per_gpus(ranks: u32, gpus: u32) -> RanksPer {
    RanksPer::Gpus { ranks: n(ranks), gpus: n(gpus) }
}

#[test]
fn ranks_of_gpus_are_on_the_cores_beside_them() {
    let cluster = four_numa();
    let evenly = |ranks, gpus| cores(&cluster, per_gpus(ranks, gpus), Share::Cores);
    assert_eq!(evenly(1, 1), "0-1 2-3 4-5 6-7 8-9 10-11 12-13 14-15");
    assert_eq!(evenly(1, 2), "0-3 4-7 8-11 12-15");
    assert_eq!(evenly(2, 1).split(' ').count(), 16);
    // Four GPUs are those of two NUMA nodes.
    assert_eq!(evenly(1, 4), "0-7 8-15");
    let error = of(&cluster, per_gpus(1, 3), Share::Cores).unwrap_err().to_string();
    assert_eq!(
        error,
        "1 rank at 1 per 3 GPUs: cluster `four-numa` has room for 0 (t0 has 8 GPUs, not a multiple \
         of 3)"
    );
    let none = of(&nodes("core:4 pu:1", 1), per_gpus(1, 1), Share::Cores).unwrap_err();
    assert!(none.to_string().ends_with("(node0 has no GPU)"), "{none}");
}

#[test]
fn all_nodes_are_full_but_the_last() {
    let three = nodes("pack:2 core:4 pu:1", 3);
    let granularity = Granularity::Part { ranks: RanksPer::Package(n(2)), share: Share::Cores };
    let slots = slots(&three, granularity, 6).unwrap();
    let places: Vec<_> = slots.iter().map(|slot| (slot.node.index(), slot.cores[0].0)).collect();
    assert_eq!(places, [(0, 0), (0, 2), (0, 4), (0, 6), (1, 0), (1, 2)]);
}

#[test]
fn the_last_node_has_the_slots_beside_its_first_gpus() {
    let cluster = four_numa();
    let granularity = Granularity::Part { ranks: per_gpus(1, 1), share: Share::Cores };
    for ranks in 1..=4 {
        let slots = slots(&cluster, granularity.clone(), ranks).unwrap();
        let mut of_slots: Vec<NumaId> = slots.iter().filter_map(|slot| slot.numa).collect();
        let gpus = &cluster.groups[0].machine.gpus[..ranks];
        let mut beside: Vec<NumaId> = gpus.iter().map(|gpu| gpu.near[0]).collect();
        of_slots.sort_unstable();
        beside.sort_unstable();
        assert_eq!(of_slots, beside, "{ranks}");
    }
}

#[test]
fn ranks_of_gpus_without_free_cores_beside_them_are_elsewhere() {
    // No core of the first NUMA node is free: its two ranks take cores of the others.
    let cluster = with_free(four_numa(), |pu| pu >= 4);
    assert_eq!(cores(&cluster, per_gpus(1, 1), Share::Cores), "4 5 6 8 9 10 12 13");
    // Where the others need few, they keep their place.
    let one = Share::CoresEach(n(1));
    assert_eq!(cores(&cluster, per_gpus(1, 2), one), "4 7 8 12");
}

#[test]
fn gpus_beside_several_numa_nodes_leave_cores_to_those_beside_one() {
    let near = |numa: &[u32]| numa.iter().map(|numa| NumaId(*numa)).collect();
    let gpu = |name: &str, numa: &[u32]| Gpu {
        name: name.to_owned(),
        near: near(numa),
        pci: None,
        vendor: None,
    };
    let cluster = nodes("pack:1 numa:2 core:4 pu:1", 1).edit(|description| {
        description.groups[0].machine.gpus = vec![gpu("a", &[0]), gpu("b", &[])];
    });
    assert_eq!(cores(&cluster.unwrap(), per_gpus(1, 1), Share::Cores), "0-3 4-7");
}

fn any_ranks_per() -> impl Strategy<Value = RanksPer> {
    let number = || (1_u32..7).prop_map(n);
    prop_oneof![
        number().prop_map(RanksPer::Node),
        number().prop_map(RanksPer::Package),
        number().prop_map(RanksPer::Numa),
        prop::collection::vec(0_u32..7, 0..3).prop_map(RanksPer::NodeByNode),
        (1_u32..4).prop_map(|ranks| per_gpus(ranks, 1)),
        (1_u32..4).prop_map(|gpus| per_gpus(1, gpus)),
    ]
}

fn any_share() -> impl Strategy<Value = Share> {
    let each = (1_u32..4).prop_map(|cores| Share::CoresEach(n(cores)));
    prop_oneof![Just(Share::Cores), Just(Share::Pus), each]
}

proptest! {
    #[test]
    fn parts_take_their_number_of_ranks_or_none(
        (packages, numa, cores, pus) in (1_usize..3, 1_usize..4, 1_usize..6, 1_usize..3),
        free in prop::collection::vec(prop::bool::weighted(0.8), 60),
        gpus in prop::collection::vec(prop::collection::vec(0_u32..2, 0..2), 0..6),
        (ranks, share) in (any_ranks_per(), any_share()),
    ) {
        let cluster = nodes(&format!("pack:{packages} numa:{numa} core:{cores} pu:{pus}"), 2);
        prop_assume!(free[..packages * numa * cores * pus].contains(&true));
        let cluster = with_free(cluster, |pu| free[pu]);
        let of_machine = packages * numa;
        let cluster = cluster.edit(|description| {
            let near = |numa: &Vec<u32>| {
                let mut near: Vec<NumaId> =
                    numa.iter().map(|numa| NumaId(numa % of_machine as u32)).collect();
                near.sort_unstable();
                near.dedup();
                near
            };
            let gpu = |(number, numa): (usize, &Vec<u32>)| {
                Gpu { name: format!("g{number}"), near: near(numa), pci: None, vendor: None }
            };
            description.groups[0].machine.gpus = gpus.iter().enumerate().map(gpu).collect();
        }).unwrap();
        let granularity = Granularity::Part { ranks: ranks.clone(), share };
        let slots = slots(&cluster, granularity.clone(), 0).unwrap();
        prop_assert!(super::super::slots::slots(&cluster, granularity, slots.len() + 1).is_err());
        prop_assert!(slots.is_sorted_by_key(|slot| slot.node));
        let mut taken = BTreeSet::new();
        let mut of_object: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for slot in &slots {
            let machine = cluster.machine(slot.node);
            let fits = slot.pus.iter().all(|pu| taken.insert((slot.node, *pu)));
            prop_assert!(fits && !slot.pus.is_empty(), "{:?}", slot);
            // All of a node have the same size.
            let size = |slot: &Slot| if share == Share::Pus { slot.pus.len() } else { slot.cores.len() };
            let first = slots.iter().find(|other| other.node == slot.node).unwrap();
            prop_assert_eq!(size(slot), size(first));
            if let Share::CoresEach(each) = share {
                prop_assert_eq!(slot.cores.len(), each.get() as usize);
            }
            let core = &machine.cores[slot.cores[0].index()];
            let object = match &ranks {
                RanksPer::Package(_) => {
                    let one = |core: &crate::ids::CoreId| {
                        machine.cores[core.index()].package == machine.cores[slot.cores[0].index()].package
                    };
                    prop_assert!(slot.cores.iter().all(one));
                    core.package
                }
                RanksPer::Numa(_) => {
                    prop_assert!(slot.numa.is_some());
                    core.numa.index()
                }
                _ => 0,
            };
            *of_object.entry((slot.node.index(), object)).or_default() += 1;
        }
        for ((node, _), count) in of_object {
            let expected = match &ranks {
                RanksPer::Node(ranks) | RanksPer::Package(ranks) | RanksPer::Numa(ranks) => {
                    ranks.get() as usize
                }
                RanksPer::NodeByNode(counts) => counts[node] as usize,
                RanksPer::Gpus { ranks, gpus: each } => {
                    gpus.len() / each.get() as usize * ranks.get() as usize
                }
            };
            prop_assert_eq!(count, expected);
        }
    }
}

#[test]
fn ranks_per_gpu_are_whole_numbers_or_unit_fractions() {
    let parsed = |text: &str| RanksPer::per_gpu(text).ok().map(|ranks| ranks.to_string());
    assert_eq!(parsed("1").as_deref(), Some("1 per GPU"));
    assert_eq!(parsed("4").as_deref(), Some("4 per GPU"));
    assert_eq!(parsed("1/2").as_deref(), Some("1 per 2 GPUs"));
    for wrong in ["", "0", "1/0", "0/1", "2/3", "-1", "0.5", "1/2/3", "x", "4294967296"] {
        assert_eq!(parsed(wrong), None, "{wrong}");
    }
}
