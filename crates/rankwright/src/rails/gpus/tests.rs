//! GPUs of ranks on machines of several shapes.

use super::{FarGpus, assign, far_gpus, ordered, set_variables};
use crate::cluster::{Cluster, Gpu, GpuVendor};
use crate::ids::NumaId;
use crate::placement::{
    GpuUse, Granularity, JobShape, Mapping, Placement, PlacementFile, Settings, slots,
};
use crate::rails::select;
use crate::rails::tests::{machine, placed};
use crate::traffic::{Job, Workload};

/// The GPU of each rank.
fn gpus_of(placement: &Placement) -> Vec<String> {
    placement.ranks().map(|rank| rank.gpus.join("+")).collect()
}

fn one_per_rank(cluster: &Cluster, at: &[usize], selection: &str) -> Vec<String> {
    let (placement, selection) = (placed(cluster, at), selection.parse().unwrap());
    let chosen = select(cluster, &Workload::default(), placement, &selection).unwrap();
    gpus_of(&assign(cluster, chosen, GpuUse::OnePerRank, 1).unwrap())
}

/// The placement of one job in block order of these slots, ordered by GPU.
fn near(cluster: &Cluster, at: &[usize]) -> (Vec<usize>, Placement) {
    near_several(cluster, at, 1)
}

fn near_several(cluster: &Cluster, at: &[usize], each: usize) -> (Vec<usize>, Placement) {
    let slots = slots(cluster, Granularity::Cores(1), at.len()).unwrap();
    let shapes = [JobShape { name: "j".to_owned(), ranks: u32::try_from(at.len()).unwrap() }];
    let mapping = ordered(cluster, &shapes, &slots, &Mapping::from(at), each);
    let at = mapping.as_indices();
    let placement = Placement::from_slots(cluster, &shapes, "by hand", &slots, at).unwrap();
    (at.to_vec(), assign(cluster, placement, GpuUse::Near, each).unwrap())
}

/// The variables of each rank, and notes.
fn variables(cluster: &Cluster, placement: &Placement) -> (Vec<String>, Vec<String>) {
    let ranks = u32::try_from(placement.ranks().count()).unwrap();
    let workload = Workload::single(Job::new("j", ranks, []).unwrap());
    let file = PlacementFile::new(cluster, &workload, placement, Default::default());
    let mut settings = Settings::default();
    let notes = set_variables(&file, &file.jobs[0], &mut settings);
    let of_rank = |rank| {
        let pairs = settings.variables(rank).iter();
        pairs.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    };
    ((0..ranks as usize).map(of_rank).collect(), notes)
}

fn with_gpus(cluster: Cluster, change: impl Fn(&mut Vec<Gpu>)) -> Cluster {
    cluster.edit(|parts| change(&mut parts.groups[0].machine.gpus)).unwrap()
}

#[test]
fn the_gpu_of_a_rank_is_beside_its_device_and_its_cores() {
    let cluster = machine("four-numa");
    let of_four = ["rsmi4", "rsmi2", "rsmi6", "rsmi0"];
    assert_eq!(one_per_rank(&cluster, &[0, 4, 8, 12], "device-affinity"), of_four);
    assert_eq!(one_per_rank(&cluster, &[0, 4, 8, 12], "none"), of_four);
    // Three ranks on a memory with two GPUs: the third takes none that the next memory's ranks need.
    let of_six = one_per_rank(&cluster, &[0, 1, 2, 4, 5, 6], "none");
    assert_eq!(of_six[..2], ["rsmi4", "rsmi5"]);
    assert_eq!(of_six[3..5], ["rsmi2", "rsmi3"]);
    let all: Vec<usize> = (0..16).collect();
    let mut gpus = one_per_rank(&cluster, &all, "device-affinity");
    gpus.sort();
    gpus.dedup();
    assert_eq!(gpus.len(), 8);
}

/// Ranks on NUMA nodes without a GPU get one of their own package.
#[test]
fn nobody_gets_a_gpu_of_the_far_package_while_shares_are_equal() {
    let cluster = machine("eight-numa");
    let all: Vec<usize> = (0..48).collect();
    let placement = assign(&cluster, placed(&cluster, &all), GpuUse::OnePerRank, 1).unwrap();
    assert_eq!(far_gpus(&cluster, &placement), None);
    let mut gpus = gpus_of(&placement);
    gpus.sort();
    assert!(gpus.chunks(12).all(|share| share[0] == share[11]), "{gpus:?}");
    let (_, placement) = near(&cluster, &all);
    assert_eq!(far_gpus(&cluster, &placement), None);
}

/// The numbers of the GPUs do not follow the NUMA nodes: local rank 0 moves to where GPU 0 is.
#[test]
fn local_rank_i_is_beside_gpu_i() {
    let cluster = machine("four-numa");
    let eight: Vec<usize> = (0..16).filter(|core| core % 4 < 2).collect();
    let (at, placement) = near(&cluster, &eight);
    assert_eq!(at, [12, 13, 4, 5, 0, 1, 8, 9]);
    let wanted: Vec<String> = (0..8).map(|number| format!("rsmi{number}")).collect();
    assert_eq!(gpus_of(&placement), wanted);
    // On the second node too, and twice as many ranks than GPUs take them in turn.
    let all: Vec<usize> = (0..32).collect();
    let (at, placement) = near(&cluster, &all);
    let numa: Vec<usize> = at.iter().map(|core| core / 4).collect();
    assert_eq!(numa[..16], [3, 3, 1, 1, 0, 0, 2, 2].repeat(2));
    assert_eq!(numa[16..], [7, 7, 5, 5, 4, 4, 6, 6].repeat(2));
    assert_eq!(gpus_of(&placement)[8], "rsmi0");
    // Whoever is near already stays.
    assert_eq!(near(&cluster, &at).0, at);
    let (vars, notes) = variables(&cluster, &placement);
    assert!(notes.is_empty() && vars.iter().all(String::is_empty), "{vars:?}");
}

#[test]
fn ranks_of_several_gpus_are_beside_these() {
    let (at, placement) = near_several(&machine("four-numa"), &[0, 4, 8, 12], 2);
    assert_eq!(at, [12, 4, 0, 8]);
    assert_eq!(gpus_of(&placement)[0], "rsmi0+rsmi1");
    assert_eq!(far_gpus(&machine("four-numa"), &placement), None);
}

#[test]
fn each_job_counts_its_own_local_ranks() {
    let cluster = machine("four-numa");
    let slots = slots(&cluster, Granularity::Cores(1), 8).unwrap();
    let shapes = ["a", "b"].map(|name| JobShape { name: name.to_owned(), ranks: 4 });
    let at = [0, 4, 8, 12, 1, 5, 9, 13];
    let mapping = ordered(&cluster, &shapes, &slots, &Mapping::from(&at[..]), 1);
    // GPUs 0 and 1 are at the last memory, 2 and 3 at the second: half of the ranks can be near.
    assert_eq!(mapping.as_indices(), [0, 12, 8, 4, 1, 13, 9, 5]);
}

#[test]
fn a_rank_on_another_socket_than_its_gpu_is_told_with_the_way_out() {
    let cluster = machine("two-per-socket");
    let cluster = with_gpus(cluster, |gpus| {
        *gpus = (0..4)
            .map(|number: u32| Gpu {
                name: format!("cuda{number}"),
                near: vec![NumaId(number / 2)],
                pci: Some(format!("0000:{number}1:00.0")),
                vendor: Some(GpuVendor::Nvidia),
            })
            .collect();
    });
    let (_, placement) = near(&cluster, &[0, 1, 2, 3]);
    let far = far_gpus(&cluster, &placement).unwrap();
    assert_eq!(
        far.sentence(),
        "2 of 4 ranks are on another socket than their GPU (rank 2 on socket L#0 of n0 has cuda2 on \
         socket L#1)"
    );
    assert!(far.one_each && far.remedy().starts_with("`--ranks-per-gpu 1` puts"), "{far:?}");
    let cores = cluster.core_count() / cluster.nodes.len() / 4;
    assert_eq!(far.cores_per_rank, Some(cores));
    let more = FarGpus { one_each: false, ..far };
    assert_eq!(
        more.remedy(),
        format!("`--cores-per-rank {cores}` spreads the ranks of a node over its sockets")
    );
    let none = FarGpus { cores_per_rank: None, ..more };
    assert!(none.remedy().starts_with("place fewer ranks"), "{}", none.remedy());
    let half = cluster.core_count() / cluster.nodes.len() / 2;
    assert_eq!(far_gpus(&cluster, &near(&cluster, &[0, 1, half, half + 1]).1), None);
}

#[test]
fn a_rank_sees_its_gpu_by_its_number_among_those_of_the_vendor() {
    let cluster = machine("four-numa");
    let own = |cluster: &Cluster, at: &[usize]| {
        let placement = assign(cluster, placed(cluster, at), GpuUse::OnePerRank, 1).unwrap();
        variables(cluster, &placement)
    };
    let (seen, notes) = own(&cluster, &[0, 4, 8, 12]);
    let visible = [4, 2, 6, 0].map(|number| format!("ROCR_VISIBLE_DEVICES={number}"));
    assert_eq!(seen, visible);
    assert!(notes.len() == 1 && notes[0].contains("GPU IPC"), "{notes:?}");
    // One AMD device among NVIDIA's: ROCm's number 0.
    let vendors = with_gpus(cluster.clone(), |gpus| {
        gpus.iter_mut().for_each(|gpu| gpu.vendor = Some(GpuVendor::Nvidia));
        gpus[2].vendor = Some(GpuVendor::Amd);
        gpus[4].vendor = Some(GpuVendor::Intel);
        gpus[6].vendor = None;
        gpus[6].name = "card0".to_owned();
    });
    let (seen, notes) = own(&vendors, &[0, 4, 8, 12]);
    let order = "CUDA_DEVICE_ORDER=PCI_BUS_ID";
    let level_zero = "ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE ZE_ENABLE_PCI_ID_DEVICE_ORDER=1";
    assert_eq!(seen[0], format!("{order} CUDA_VISIBLE_DEVICES=2"));
    assert_eq!(seen[1], "ROCR_VISIBLE_DEVICES=0");
    assert_eq!(seen[2], format!("{level_zero} ZE_AFFINITY_MASK=0"));
    assert_eq!(seen[3], "");
    assert!(notes[0].starts_with("the vendor of the GPU card0 of t0 is unknown"), "{notes:?}");
}

/// `near` hides nothing, and a program that counts CUDA devices does not count others.
#[test]
fn near_counts_the_gpus_of_one_vendor_in_the_order_of_the_bus() {
    let cluster = with_gpus(machine("four-numa"), |gpus| {
        gpus.iter_mut().for_each(|gpu| gpu.vendor = Some(GpuVendor::Nvidia));
        gpus[6].vendor = Some(GpuVendor::Amd);
    });
    let (_, placement) = near(&cluster, &[0, 4, 8, 12]);
    assert_eq!(gpus_of(&placement), ["rsmi1", "rsmi2", "rsmi3", "rsmi4"]);
    let (seen, notes) = variables(&cluster, &placement);
    assert_eq!(seen, ["CUDA_DEVICE_ORDER=PCI_BUS_ID"; 4]);
    assert_eq!(notes, [""; 0]);
}

#[test]
fn machines_without_gpus_get_none() {
    let cluster = machine("one-socket");
    for gpu_use in [GpuUse::Near, GpuUse::OnePerRank] {
        let placement = assign(&cluster, placed(&cluster, &[0, 1]), gpu_use, 1).unwrap();
        assert_eq!(gpus_of(&placement), ["", ""]);
        assert_eq!(variables(&cluster, &placement), (vec![String::new(); 2], Vec::new()));
    }
    assert_eq!(near(&cluster, &[1, 0]).0, [1, 0]);
}
