//! What the variables and options of a rank name on its machine.

use super::run::Started;
use crate::cluster::{Core, Gpu, GpuVendor, Machine, NodeGroup};
use crate::ids::{NumaId, PuId, PuSet, parse_index_list};
use crate::lint::read::wrapper;
use crate::lint::{Place, RankDevices, RankReading, program_of};

/// The variables that make GPUs visible.
const GPUS: [&str; 5] = [
    "CUDA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ZE_AFFINITY_MASK",
    "GPU_DEVICE_ORDINAL",
];

/// The variables that name network devices for MPI.
pub(in crate::lint) const NICS: [&str; 3] =
    ["UCX_NET_DEVICES", "OMPI_MCA_btl_openib_if_include", "FI_CXI_DEVICE_NAME"];

/// Adds to a rank what its script chose. Returns what is not known, and GPUs that are filtered twice.
pub(super) fn choose(
    rank: &mut RankReading,
    started: &Started,
    group: Option<&NodeGroup>,
) -> (Vec<String>, Option<String>) {
    let machine = group.map(|group| &group.machine);
    let (mut devices, mut unknown, mut twice) = (RankDevices::default(), Vec::new(), None);
    for name in GPUS {
        match (started.variable(name), &devices.gpus) {
            (Some(Ok(list)), Some(left)) => {
                let (gpus, missing) = within(list, left);
                if !missing.is_empty() {
                    twice = Some(format!(
                        "{name} counts among the GPUs that another variable has left ({}): there is \
                         no {}",
                        left.join(", "),
                        missing.join(", ")
                    ));
                }
                devices.gpus = Some(gpus);
            }
            (Some(Ok(list)), None) => devices.gpus = Some(gpus(name, list, machine)),
            (Some(Err(why)), _) => unknown.push(format!("{name} by {why}")),
            (None, _) => {}
        }
    }
    for name in NICS {
        match started.variable(name) {
            Some(Ok(list)) => {
                let names = list.split(',').map(|name| name.split(':').next().unwrap_or_default());
                let names = names.filter(|name| !name.is_empty() && *name != "all");
                devices.nics = names.map(str::to_owned).collect();
            }
            Some(Err(why)) => unknown.push(format!("{name} by {why}")),
            None => {}
        }
    }
    if let Some(options) = numactl(&started.before) {
        devices.memory = listed_after(options, &["-m", "--membind", "-p", "--preferred"]);
        devices.numa = listed_after(options, &["-N", "--cpunodebind"]);
    }
    if let Some(group) = group.filter(|_| !devices.numa.is_empty()) {
        bind(rank, pus_beside(group, &devices.numa));
    }
    let is_hwloc = |word: &String| program_of(word) == "hwloc-bind";
    match wrapper::place(&started.before) {
        Some(Place::Pus(pus)) => bind(rank, pus),
        Some(Place::Unknown) => {
            bound_somewhere(rank);
            unknown.push(format!("the list of PUs in `{}`", started.before.join(" ")));
        }
        None if started.before.iter().any(is_hwloc) => {
            bound_somewhere(rank);
            unknown.push("the binding by hwloc-bind".to_owned());
        }
        _ => {}
    }
    rank.devices = Some(devices);
    (unknown, twice)
}

/// The GPUs of a list of indices that counts among those that are left, and the indices beyond them.
fn within<'a>(list: &'a str, left: &[String]) -> (Vec<String>, Vec<&'a str>) {
    let (mut gpus, mut missing) = (Vec::new(), Vec::new());
    for word in list.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        match word.parse::<usize>().ok().map(|index| left.get(index)) {
            Some(Some(gpu)) => gpus.push(gpu.clone()),
            Some(None) => missing.push(word),
            None => gpus.push(word.to_owned()),
        }
    }
    (gpus, missing)
}

fn bind(rank: &mut RankReading, pus: PuSet) {
    (rank.cores, rank.pus, rank.bound) = (None, Some(pus), true);
}

/// The rank is bound, to what is not known.
pub(super) fn bound_somewhere(rank: &mut RankReading) {
    (rank.cores, rank.pus, rank.bound) = (None, None, true);
}

/// The words behind `numactl`.
fn numactl(words: &[String]) -> Option<&[String]> {
    let at = words.iter().position(|word| program_of(word) == "numactl")?;
    Some(&words[at + 1..])
}

/// The numbers (P#) behind an option: `-N 0,1`, `-N0` or `--cpunodebind=0`.
fn listed_after(words: &[String], names: &[&str]) -> Vec<u32> {
    let value = |at: usize| {
        let word = words[at].as_str();
        if names.contains(&word) {
            return words.get(at + 1).map(String::as_str);
        }
        names.iter().find_map(|name| {
            let rest = word.strip_prefix(name)?;
            let rest = rest.strip_prefix('=').unwrap_or(rest);
            rest.starts_with(|first: char| first.is_ascii_digit()).then_some(rest)
        })
    };
    let text = (0..words.len()).rev().find_map(value).unwrap_or_default();
    parse_index_list(text).unwrap_or_default()
}

/// The PUs of the cores beside NUMA nodes, by their P#: those that jobs may use.
fn pus_beside(NodeGroup { machine, free, .. }: &NodeGroup, numbers: &[u32]) -> PuSet {
    let usable = machine.pus.iter().zip(free).filter(|(_, free)| **free);
    let usable: PuSet = usable.map(|(pu, _)| pu.id).collect();
    let is_usable = |pu: &PuId| usable.as_slice().binary_search(pu).is_ok();
    let is_beside =
        |core: &&Core| numbers.contains(&machine.numa_nodes[core.numa.index()].os_index);
    machine
        .cores
        .iter()
        .filter(is_beside)
        .flat_map(|core| core.pus.iter().copied())
        .filter(is_usable)
        .collect()
}

/// The GPUs that a list makes visible: by name where the machine has them, else as they are written.
fn gpus(variable: &str, list: &str, machine: Option<&Machine>) -> Vec<String> {
    let vendor = match variable {
        "CUDA_VISIBLE_DEVICES" => GpuVendor::Nvidia,
        "ZE_AFFINITY_MASK" => GpuVendor::Intel,
        _ => GpuVendor::Amd,
    };
    // As programs count them; all of them where the description names no vendor.
    let of_vendor = |machine: &Machine| -> Vec<String> {
        let mut gpus: Vec<&Gpu> = machine.gpus.iter().collect();
        if gpus.iter().any(|gpu| gpu.vendor == Some(vendor)) {
            gpus.retain(|gpu| gpu.vendor == Some(vendor));
        }
        gpus.sort_by_key(|gpu| gpu.bus_order());
        gpus.into_iter().map(|gpu| gpu.name.clone()).collect()
    };
    let all = machine.map(of_vendor).unwrap_or_default();
    let name = |word: &str| {
        let index = word.split('.').next().unwrap_or_default().parse::<usize>().ok();
        index.and_then(|index| all.get(index)).cloned().unwrap_or_else(|| word.to_owned())
    };
    list.split(',').map(str::trim).filter(|word| !word.is_empty()).map(name).collect()
}

/// The NUMA nodes (L#) beside the cores of these PUs, ascending.
pub(super) fn numa_of(machine: &Machine, pus: &PuSet) -> Vec<NumaId> {
    let has = |core: &&Core| core.pus.iter().any(|pu: &PuId| pus.as_slice().contains(pu));
    let mut numa: Vec<NumaId> = machine.cores.iter().filter(has).map(|core| core.numa).collect();
    numa.sort_unstable();
    numa.dedup();
    numa
}
