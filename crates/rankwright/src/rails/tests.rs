use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::{UsableSlots, lower_bound, select};
use crate::cluster::read::toml;
use crate::cluster::{Cluster, ClusterDescription, Levels};
use crate::estimate::Load;
use crate::ids::NodeId;
use crate::placement::{Granularity, JobShape, Placement, slots};
use crate::traffic::{Flow, Job, Workload};

pub(super) fn machine(name: &str) -> Cluster {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/nics");
    toml::read(&folder.join(format!("{name}.toml"))).unwrap()
}

/// One node of `numa` NUMA nodes of four cores, with devices: name, NUMA node, whether the link is up.
fn node(numa: u32, devices: &[(&str, u32, bool)]) -> Cluster {
    let mut text =
        format!("[[node]]\nnames = \"n0\"\ntopology = \"pack:{numa} numa:1 core:4 pu:1\"\n");
    for (name, near, up) in devices {
        let link = if *up { "up" } else { "down" };
        text += &format!(
            "[[node.nic]]\nname = \"{name}\"\nnear = \"numa:{near}\"\n\
             [[node.nic.port]]\nnumber = 1\nlink = \"{link}\"\n"
        );
    }
    toml::parse(&text, "c.toml", Path::new("")).unwrap()
}

/// One job, its ranks in order on the cores `at`, counted over all nodes.
pub(super) fn placed(cluster: &Cluster, at: &[usize]) -> Placement {
    let free = slots(cluster, Granularity::Cores(1), at.len()).unwrap();
    let shapes = [JobShape { name: "j".to_owned(), ranks: at.len() as u32 }];
    Placement::from_slots(cluster, &shapes, "by hand", &free, at).unwrap()
}

fn workload(ranks: usize, flows: &[(u32, u32, u64)]) -> Workload {
    let flow = |(from, to, bytes): &(u32, u32, u64)| Flow {
        source: crate::ids::Rank(*from),
        destination: crate::ids::Rank(*to),
        messages: 1,
        bytes: *bytes,
        largest: *bytes,
    };
    Workload::single(Job::new("j", ranks as u32, flows.iter().map(flow)).unwrap())
}

fn selected(cluster: &Cluster, placement: &Placement, text: &str) -> Result<Vec<String>, String> {
    let selection = text.parse().unwrap();
    let chosen = select(cluster, &Workload::default(), placement.clone(), &selection);
    let placement = chosen.map_err(|error| error.to_string())?;
    Ok(placement.ranks().map(|rank| rank.nics.join("+")).collect())
}

/// A placement with devices by load.
fn by_load(cluster: &Cluster, traffic: &Workload, placement: &Placement) -> Placement {
    select(cluster, traffic, placement.clone(), &"by-load".parse().unwrap()).unwrap()
}

/// What the busiest device needs, as placements are compared, and what it needs at least.
fn busiest(cluster: &Cluster, traffic: &Workload, placement: &Placement) -> (f64, f64) {
    let load = Load::new(cluster, &Levels::new(cluster), traffic, placement);
    let bound = lower_bound(cluster, traffic, placement, &"by-load".parse().unwrap()).unwrap();
    (load.busiest_nic_time().0, bound.0)
}

fn names(cluster: &Cluster, at: &[usize], text: &str) -> Vec<String> {
    selected(cluster, &placed(cluster, at), text).unwrap()
}

// Algorithm 1, a test for each difference between print and correction.

#[test]
fn printed_takes_unit_0_when_only_unit_1_is_active() {
    let cluster = node(2, &[("hfi1_0", 0, false), ("hfi1_1", 1, true)]);
    assert_eq!(names(&cluster, &[0, 4], "paper-2017"), ["hfi1_0", "hfi1_0"]);
    assert_eq!(names(&cluster, &[0, 4], "device-affinity"), ["hfi1_1", "hfi1_1"]);
}

#[test]
fn the_loop_goes_over_all_units_though_only_the_active_are_counted() {
    // Two are active, but the loop must reach the third: it does in both.
    let devices = [("hfi1_0", 0, false), ("hfi1_1", 0, true), ("hfi1_2", 1, true)];
    let cluster = node(2, &devices);
    for text in ["paper-2017", "device-affinity"] {
        assert_eq!(names(&cluster, &[0, 4], text), ["hfi1_1", "hfi1_2"], "{text}");
    }
    // One is active of two: printed, the count of the active ends the search before the loop,
    // which would reach it.
    let cluster = node(1, &[("hfi1_0", 0, false), ("hfi1_1", 0, true)]);
    assert_eq!(names(&cluster, &[0], "paper-2017"), ["hfi1_0"]);
    assert_eq!(names(&cluster, &[0], "device-affinity"), ["hfi1_1"]);
}

#[test]
fn the_users_unit_0_is_a_unit_like_others() {
    let cluster = node(2, &[("hfi1_0", 0, true), ("hfi1_1", 1, true)]);
    for text in ["paper-2017:unit=0", "device-affinity:unit=0"] {
        assert_eq!(names(&cluster, &[4, 5], text), ["hfi1_0", "hfi1_0"], "{text}");
    }
}

#[test]
fn a_unit_that_is_down_or_not_there_is_used_as_printed_and_refused_by_ours() {
    let cluster = node(2, &[("hfi1_0", 0, false), ("hfi1_1", 1, true)]);
    assert_eq!(names(&cluster, &[4], "paper-2017:unit=0"), ["hfi1_0"]);
    let placement = placed(&cluster, &[4]);
    let error = |text| selected(&cluster, &placement, text).unwrap_err();
    assert_eq!(error("device-affinity:unit=0"), "node n0: the link of hfi1_0 is down");
    assert_eq!(
        error("device-affinity:unit=7"),
        "node n0 has no network device of unit 7, only those of unit 0, 1"
    );
    assert_eq!(
        error("packed:devices=hfi1_9"),
        "node n0 has no network device hfi1_9, only hfi1_0, hfi1_1"
    );
    assert_eq!(error("by-load:devices=hfi1_0"), "node n0: the link of hfi1_0 is down");
}

/// The cluster with these contexts on the four network devices of its first node type.
fn with_contexts(cluster: Cluster, contexts: [Option<u32>; 4]) -> Cluster {
    let change = |parts: &mut ClusterDescription| {
        let nics = &mut parts.groups[0].machine.nics;
        assert_eq!(nics.len(), contexts.len());
        nics.iter_mut().zip(contexts).for_each(|(nic, contexts)| nic.contexts = contexts);
    };
    cluster.edit(change).unwrap()
}

#[test]
fn without_a_local_unit_ours_takes_the_nearest() {
    let devices = [("hfi1_0", 1, true), ("hfi1_1", 2, true)];
    let far = vec![vec![10, 30, 20], vec![30, 10, 20], vec![20, 20, 10]];
    let cluster = node(3, &devices);
    let cluster = cluster.edit(|parts| parts.groups[0].machine.numa_distance = Some(far)).unwrap();
    assert_eq!(names(&cluster, &[0, 1], "paper-2017"), ["hfi1_0", "hfi1_1"]);
    assert_eq!(names(&cluster, &[0, 1], "device-affinity"), ["hfi1_1", "hfi1_1"]);
}

#[test]
fn several_local_units_are_used_in_turn_and_the_position_in_the_list_is_not_the_unit() {
    let cluster = machine("four-hfis");
    // PSM2 as deployed would give units 0 and 1 to the second socket, too.
    for text in ["paper-2017", "device-affinity", "round-robin"] {
        let at = [0, 1, 2, 3, 4, 5, 6, 7];
        let wanted = ["0", "1", "0", "1", "2", "3", "2", "3"].map(|unit| format!("hfi1_{unit}"));
        assert_eq!(names(&cluster, &at, text), wanted, "{text}");
    }
}

#[test]
fn jobs_share_devices_evenly_only_in_ours() {
    let cluster = machine("four-hfis");
    let free = slots(&cluster, Granularity::Cores(1), 2).unwrap();
    let shape = |name: &str| JobShape { name: name.to_owned(), ranks: 1 };
    let shapes = [shape("a"), shape("b")];
    let placement = Placement::from_slots(&cluster, &shapes, "s", &free, &[0, 1]).unwrap();
    assert_eq!(selected(&cluster, &placement, "paper-2017").unwrap(), ["hfi1_0", "hfi1_0"]);
    assert_eq!(selected(&cluster, &placement, "device-affinity").unwrap(), ["hfi1_0", "hfi1_1"]);
}

// Algorithm 2.

#[test]
fn rails_near_are_undefined_as_printed_where_none_is_local() {
    let cluster = node(2, &[("hfi1_0", 0, true), ("hfi1_1", 0, true), ("hfi1_2", 0, false)]);
    assert_eq!(names(&cluster, &[0, 4], "paper-2017:rails=near"), ["hfi1_0+hfi1_1", ""]);
    let both = ["hfi1_0+hfi1_1", "hfi1_0+hfi1_1"];
    assert_eq!(names(&cluster, &[0, 4], "device-affinity:rails=near"), both);
    assert_eq!(names(&cluster, &[0, 4], "paper-2017:rails=all"), both);
    assert_eq!(names(&cluster, &[0, 4], "device-affinity:rails=all"), both);
}

#[test]
fn rails_near_are_those_of_the_socket() {
    let cluster = machine("four-hfis");
    for text in ["paper-2017:rails=near", "device-affinity:rails=near"] {
        assert_eq!(names(&cluster, &[0, 4], text), ["hfi1_0+hfi1_1", "hfi1_2+hfi1_3"], "{text}");
    }
}

// The other policies.

#[test]
fn modes_of_psm2() {
    let cluster = machine("four-hfis");
    let at = [0, 4, 5, 1, 6];
    let units = |text| -> Vec<String> {
        names(&cluster, &at, text).iter().map(|name| name.replace("hfi1_", "")).collect()
    };
    assert_eq!(units("round-robin"), ["0", "2", "3", "1", "2"]);
    assert_eq!(units("packed"), ["0", "0", "0", "0", "1"]);
    assert_eq!(units("round-robin-all"), ["0", "1", "2", "3", "0"]);
    assert_eq!(units("psm2-default"), ["0", "1", "2", "3", "0"]);
}

#[test]
fn contexts_are_respected() {
    let cluster = with_contexts(machine("four-hfis"), [Some(1); 4]);
    let at = [0, 1, 2, 3];
    for text in ["device-affinity", "round-robin", "packed", "by-load"] {
        let mut units = names(&cluster, &at, text);
        units.sort();
        assert_eq!(units, ["hfi1_0", "hfi1_1", "hfi1_2", "hfi1_3"], "{text}");
        let placement = placed(&cluster, &[0, 1, 2, 3, 4]);
        let error = selected(&cluster, &placement, text).unwrap_err();
        assert!(
            error.starts_with("node h0 has 5 ranks, but its devices have 4 contexts"),
            "{error}"
        );
    }
    let cluster = with_contexts(cluster, [Some(1), Some(1), None, Some(1)]);
    let error = selected(&cluster, &placed(&cluster, &at), "packed").unwrap_err();
    assert!(error.starts_with("node h0: how many contexts hfi1_2 has is not known"), "{error}");
}

#[test]
fn interfaces_beside_fabric_devices_are_not_used_unless_named() {
    let cluster = machine("one-socket");
    assert_eq!(names(&cluster, &[0, 1, 4], "device-affinity"), ["mlx5_0", "mlx5_1", "mlx5_0"]);
    assert_eq!(names(&cluster, &[0], "device-affinity:devices=eno1"), ["eno1"]);
}

#[test]
fn nodes_without_devices_are_named() {
    let cluster = machine("none");
    let error = selected(&cluster, &placed(&cluster, &[0]), "device-affinity").unwrap_err();
    assert!(error.starts_with("node x0 has no network device to choose"), "{error}");
    let cluster = node(1, &[("hfi1_0", 0, false)]);
    let error = selected(&cluster, &placed(&cluster, &[0]), "by-load").unwrap_err();
    assert_eq!(error, "node n0: all links of hfi1_0 are down");
}

#[test]
fn the_busiest_device_is_least_busy_by_load() {
    // On each socket one rank sends as much as the two others together: it has a device alone.
    let cluster = machine("two-per-socket");
    let placement = placed(&cluster, &[1, 2, 0, 8, 9, 10, 17, 18, 16, 24, 25, 26]);
    let bytes = [2_000_000, 2_000_000, 4_000_000, 4_000_000, 2_000_000, 2_000_000];
    let flows: Vec<_> = (0..6).zip(bytes).map(|(rank, bytes)| (rank, rank + 6, bytes)).collect();
    let traffic = workload(12, &flows);
    let chosen = by_load(&cluster, &traffic, &placement);
    let nics: Vec<&str> = chosen.ranks().map(|rank| rank.nics[0].as_str()).collect();
    assert_eq!(nics[..6], ["mlx5_2", "mlx5_2", "mlx5_0", "mlx5_1", "mlx5_3", "mlx5_3"]);
    let (ours, bound) = busiest(&cluster, &traffic, &chosen);
    assert_eq!(ours, bound);
    let even = select(&cluster, &traffic, placement, &"device-affinity".parse().unwrap()).unwrap();
    let (even, bound_of_even) = busiest(&cluster, &traffic, &even);
    assert!(ours < even);
    assert_eq!(bound, bound_of_even);
}

#[test]
fn few_ranks_are_striped_over_several_devices() {
    let cluster = machine("two-per-socket");
    let placement = placed(&cluster, &[0, 16]);
    let traffic = workload(2, &[(0, 1, 1_000_000)]);
    let chosen = by_load(&cluster, &traffic, &placement);
    for rank in chosen.ranks() {
        assert_eq!(rank.nics, ["mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"]);
    }
    let (busiest, bound) = busiest(&cluster, &traffic, &chosen);
    assert!(busiest <= 1.1 * bound);
}

#[test]
fn ranks_are_striped_as_far_as_contexts_are_left() {
    // Three ranks on each socket with two devices each: one device for each rank makes one of the
    // two a third busier than it must be; four contexts do not let all ranks use all devices.
    let cluster = machine("four-hfis");
    let at = [0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14];
    let placement = placed(&cluster, &at);
    let pairs = (0..12).flat_map(|from| (0..12).map(move |to| (from, to, 1_000_000)));
    let traffic = workload(12, &pairs.filter(|(from, to, _)| from != to).collect::<Vec<_>>());
    let ratio = |cluster: &Cluster| {
        let chosen = by_load(cluster, &traffic, &placement);
        for device in 0..4 {
            let name = format!("hfi1_{device}");
            let on_node = chosen.ranks().filter(|rank| rank.node == NodeId(0));
            let users = on_node.filter(|rank| rank.nics.contains(&name)).count();
            let contexts = cluster.groups[0].machine.nics[device].contexts.unwrap();
            assert!(users <= contexts as usize);
        }
        let (busiest, bound) = busiest(cluster, &traffic, &chosen);
        busiest / bound
    };
    assert!(ratio(&cluster) < 1.001);
    // One of each socket can be striped.
    let cluster = with_contexts(cluster, [Some(2); 4]);
    assert!(ratio(&cluster) < 1.001);
    let cluster = with_contexts(cluster, [Some(3), Some(1), Some(1), Some(1)]);
    assert!(ratio(&cluster) > 1.3);
}

#[test]
fn ranks_that_cannot_share_a_rail_are_told_apart_from_full_devices() {
    let cluster = with_contexts(machine("four-numa"), [Some(2); 4]);
    let ring = |ranks: u32| -> Vec<_> { (0..ranks).map(|a| (a, (a + 1) % ranks, 9)).collect() };
    let error = |at: &[usize], flows: &[(u32, u32, u64)]| {
        let traffic = workload(at.len(), flows);
        let placement = placed(&cluster, at);
        let selection = "by-load".parse().unwrap();
        select(&cluster, &traffic, placement, &selection).map(|_| ()).unwrap_err().to_string()
    };
    // Ranks of both nodes in turn: all exchange something with the other node.
    let wanted = "node t0: 3 of its ranks exchange something, directly or through others, and must";
    let text = error(&[0, 16, 1, 17, 2, 18], &ring(6));
    assert!(text.starts_with(wanted), "{text}");
    let at: Vec<usize> = (0..16).collect();
    let text = error(&at, &[]);
    assert!(text.starts_with("node t0 has 16 ranks, but its devices have 8 contexts"), "{text}");
    // A pair and single ranks fill the rails only if the pair goes first, whatever it sends.
    let cluster = cluster.edit(|parts| parts.groups[0].machine.nics.truncate(2)).unwrap();
    let placement = placed(&cluster, &[0, 1, 2, 3, 16, 17, 18, 19]);
    let traffic = workload(8, &[(0, 4, 900), (1, 5, 900), (2, 6, 1), (3, 7, 1), (2, 7, 1)]);
    let nics: Vec<_> =
        by_load(&cluster, &traffic, &placement).ranks().map(|rank| rank.nics.join("+")).collect();
    assert_eq!(nics[2], nics[3]);
    assert_eq!((&nics[0], &nics[1]), (&nics[4], &nics[5]));
    assert_eq!(nics[0], nics[1]);
    assert_ne!(nics[0], nics[2]);
}

#[test]
fn slots_are_usable_if_ranks_on_all_of_them_can_have_devices() {
    let text = "[[node]]\nnames = \"a0\"\ntopology = \"pack:2 numa:1 core:3 pu:1\"\n\
                [[node]]\nnames = \"b0\"\ntopology = \"pack:2 numa:1 core:3 pu:1\"\n\
                nic = [{ name = \"x0\", near = \"numa:0\", contexts = 3 }, \
                { name = \"x1\", near = \"numa:1\", contexts = 1 }]\n\
                [[node]]\nnames = \"c0\"\ntopology = \"pack:2 numa:1 core:3 pu:1\"\n\
                nic = [{ name = \"x1\", near = \"numa:1\", contexts = 2 }]\n";
    let cluster = toml::parse(text, "c.toml", Path::new("")).unwrap();
    let slots = slots(&cluster, Granularity::Cores(1), 18).unwrap();
    let usable = |selection: &str| -> String {
        let slots = UsableSlots::new(&cluster, &slots, &selection.parse().unwrap());
        assert_eq!(slots.why.is_some(), slots.usable.contains(&false));
        slots.usable.iter().map(|usable| if *usable { 'x' } else { '.' }).collect()
    };
    assert_eq!(usable("none"), "xxxxxxxxxxxxxxxxxx");
    // Four contexts for both sockets alike, two for the socket beside the device.
    assert_eq!(usable("by-load"), "......xx.xx....xx.");
    assert_eq!(usable("device-affinity"), "......xx.xx....xx.");
    assert_eq!(usable("device-affinity:unit=0"), "......xxx.........");
    assert_eq!(usable("device-affinity:unit=1"), ".........x.....xx.");
    assert_eq!(usable("device-affinity:rails=near"), "......xxxx.....xx.");
    assert_eq!(usable("device-affinity:rails=all"), "......x........xx.");
    assert_eq!(usable("paper-2017"), "......xxxxxxxxxxxx");
    assert_eq!(usable("round-robin:devices=x0"), "......xxx.........");
}

#[test]
fn both_ends_use_the_same_rail() {
    let cluster = machine("four-numa");
    // Pairs across nodes: each has a rail of its own, wherever its ranks are.
    let placement = placed(&cluster, &[0, 1, 2, 3, 16, 17, 18, 19]);
    let traffic = workload(8, &[(0, 7, 1000), (1, 6, 1000), (2, 5, 1000), (3, 4, 1000)]);
    let chosen = by_load(&cluster, &traffic, &placement);
    let nics: Vec<String> = chosen.ranks().map(|rank| rank.nics.join("+")).collect();
    assert_eq!((&nics[0], &nics[1], &nics[2]), (&nics[7], &nics[6], &nics[5]));
    let mut rails = nics[..4].to_vec();
    rails.sort();
    assert_eq!(rails, ["cxi0", "cxi1", "cxi2", "cxi3"]);
    // All exchange something: all rails for all, in the order of the rails.
    let ring: Vec<_> = (0..8).map(|rank| (rank, (rank + 4) % 8, 1000)).collect();
    let ring = workload(8, &[ring, vec![(0, 5, 1), (1, 6, 1), (2, 7, 1)]].concat());
    let chosen = by_load(&cluster, &ring, &placement);
    for rank in chosen.ranks() {
        assert_eq!(rank.nics.join("+"), "cxi0+cxi1+cxi2+cxi3");
    }
}

#[test]
fn far_devices_cost_what_the_rates_say() {
    // Three ranks on one socket send equally much: the third is as far from a device of its own as
    // the rates make it.
    let at = [0, 1, 2, 8, 9, 10];
    let traffic = workload(6, &[(0, 3, 800_000), (1, 4, 800_000), (2, 5, 800_000)]);
    let far = |rates: &str| {
        let text = format!(
            "{rates}[[node]]\nnames = \"n[0-1]\"\ntopology = \"pack:2 numa:1 core:4 pu:1\"\n\
             [[node.nic]]\nname = \"a0\"\nnear = \"numa:0\"\ncontexts = 8\n\
             [[node.nic]]\nname = \"a1\"\nnear = \"numa:1\"\ncontexts = 8\n"
        );
        let cluster = toml::parse(&text, "c.toml", Path::new("")).unwrap();
        let placement = placed(&cluster, &at);
        let chosen = by_load(&cluster, &traffic, &placement);
        let places: Vec<_> = chosen.ranks().take(3).collect();
        places.iter().filter(|place| place.nics.contains(&"a1".to_owned())).count()
    };
    assert!(far("") > 0);
    // 800 kB need 0.8 ms.
    assert!(far("[rates]\ninter_socket = [[\"800 kB\", \"0.1 ms\"]]\n") > 0);
    assert_eq!(far("[rates]\ninter_socket = [[\"800 kB\", \"10 ms\"]]\n"), 0);
    assert_eq!(far("[rates]\nremote_memory_factor = 9.0\n"), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Whatever the traffic: every rank has devices, and by load is no worse than by affinity and no
    /// better than the bound.
    #[test]
    fn by_load_is_between_its_bound_and_the_others(
        flows in prop::collection::vec((0_u32..16, 0_u32..16, 1_u64..1_000_000), 0..40),
        name in prop::sample::select(vec!["two-per-socket", "four-hfis", "four-numa", "one-socket"]),
        spread in 0_usize..2,
    ) {
        let cluster = machine(name);
        let cores = cluster.core_count();
        let ranks = 8.min(cores);
        let at: Vec<usize> = (0..ranks).map(|r| if spread == 1 { r * cores / ranks } else { r }).collect();
        let placement = placed(&cluster, &at);
        let flows: Vec<_> = flows.into_iter().map(|(a, b, bytes)| (a % ranks as u32, b % ranks as u32, bytes)).collect();
        let traffic = workload(ranks, &flows);
        let by = |text: &str| {
            let chosen = select(&cluster, &traffic, placement.clone(), &text.parse().unwrap());
            Some(busiest(&cluster, &traffic, &chosen.ok()?))
        };
        let devices = by_load(&cluster, &traffic, &placement);
        prop_assert!(devices.ranks().all(|rank| !rank.nics.is_empty()));
        let (ours, bound) = busiest(&cluster, &traffic, &devices);
        // Shares of an odd number of bytes are rounded.
        prop_assert!(ours >= bound * (1.0 - 1e-9) - 1e-9);
        if name != "four-numa" {
            for other in ["device-affinity", "round-robin-all", "device-affinity:rails=all"] {
                // All ranks on all devices can be more than these have contexts.
                let Some((other, _)) = by(other) else { continue };
                prop_assert!(ours <= other * 1.11);
            }
        }
    }
}
