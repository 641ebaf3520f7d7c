//! `rankwright cluster show`: a cluster as text or picture.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rankwright::cluster::distance::MachineMatrix;
use rankwright::cluster::{
    CacheRates, Cluster, HardwareRates, Machine, MemoryAccess, Nic, NicRates, NodeGroup, Origin,
    hostlist,
};
use rankwright::ids::{CoreId, NodeId, NumaId, format_index_list};
use rankwright::report::{cluster_picture, to_json};
use rankwright::units::{Bytes, counted};

use super::named::Named;
use crate::options::{Format, ResultOptions};
use crate::output::exit_code::UsageError;
use crate::output::{self, Verbosity};
use crate::planning::cluster_warnings::names_of_group;

/// Options of `rankwright cluster show`.
#[derive(Debug, Args)]
pub(super) struct Show {
    #[command(flatten)]
    named: Named,
    /// Show the closeness of the cores of one node of each group, as in the matrix of Mercier and
    /// Clet-Ortega 2009 (larger is closer)
    #[arg(long)]
    matrix: bool,
    /// Format of the result
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: ShowFormat,
    /// Write the result to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// The format of the result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum ShowFormat {
    /// A tree
    #[default]
    Table,
    /// One JSON value
    Json,
    /// Comma-separated values with a header line
    Csv,
    /// An SVG picture
    Svg,
}

impl Show {
    pub(super) fn run(&self, verbosity: &Verbosity) -> anyhow::Result<()> {
        let cluster = self.named.read(verbosity)?;
        let format = match self.format {
            ShowFormat::Table => Format::Table,
            ShowFormat::Json => Format::Json,
            ShowFormat::Csv => Format::Csv,
            ShowFormat::Svg if self.matrix => {
                return Err(UsageError("--matrix cannot be drawn as svg".to_owned()).into());
            }
            ShowFormat::Svg => return self.write(&cluster_picture(&cluster)),
        };
        self.write(&match (self.matrix, format) {
            (true, format) => matrices(&cluster, format)?,
            (false, Format::Table) => tree(&cluster),
            (false, Format::Json) => to_json(&cluster),
            (false, Format::Csv) => counts(&cluster),
        })
    }

    fn write(&self, text: &str) -> anyhow::Result<()> {
        let output = self.output.clone();
        ResultOptions { format: Format::default(), output }.write(text)
    }
}

/// The tree: groups with packages, memories, cores and devices; then the switches.
fn tree(cluster: &Cluster) -> String {
    let rates = &cluster.rates;
    let origin = if rates.calibrated { "calibrated" } else { "assumed" };
    let mut text = format!(
        "cluster {}: {}, {}{}\nrates {} ({origin}): {}\n",
        cluster.name,
        counted(cluster.nodes.len(), "node"),
        counted(cluster.core_count(), "core"),
        if cluster.emulated { ", emulated" } else { "" },
        rates.name,
        rates.summary(),
    );
    for (index, group) in cluster.groups.iter().enumerate() {
        let names = names_of_group(cluster, index);
        let _ = write!(text, "\n{}", hostlist::compress(&names));
        if names.len() > 1 {
            let _ = write!(text, " ({})", counted(names.len(), "node"));
        }
        let _ = write!(text, ": {}", group.machine);
        if cluster.groups.iter().any(|other| other.speed != 1.0) {
            let _ = write!(text, ", speed {}", group.speed);
        }
        text.push('\n');
        group_tree(&mut text, group, cluster.hardware_rates(index));
    }
    if !cluster.switches.is_empty() {
        text += "\nswitches\n";
        let tops = (0..cluster.switches.len()).filter(|s| cluster.switches[*s].parent.is_none());
        tops.for_each(|top| switch_tree(&mut text, cluster, top, 1));
    }
    text
}

fn group_tree(text: &mut String, group: &NodeGroup, rates: &HardwareRates) {
    let machine = &group.machine;
    // Devices beside a single NUMA node are listed with it.
    let beside_one = |near: &[NumaId]| near.len() == 1 && machine.numa_nodes.len() > 1;
    let nics = machine.nics.iter().zip(&rates.nics);
    for (nic, rates) in nics.filter(|(nic, _)| !beside_one(&nic.near)) {
        let _ = writeln!(text, "  {}{}", nic_line(machine, nic, rates), near(&nic.near));
    }
    for gpu in machine.gpus.iter().filter(|gpu| !beside_one(&gpu.near)) {
        let _ = writeln!(text, "  {}{}", gpu_line(gpu), near(&gpu.near));
    }
    let cores = machine.cores_by_numa();
    let mut beside: BTreeMap<Option<usize>, Vec<NumaId>> = BTreeMap::new();
    for (index, package) in machine.packages_beside().into_iter().enumerate() {
        beside.entry(package).or_default().push(NumaId::from_index(index));
    }
    for numa in beside.get(&None).into_iter().flatten() {
        numa_tree(text, group, rates, (*numa, &cores[numa.index()]), 2);
    }
    // A package whose memory serves other packages, too, is named in the lines of its cores.
    for package in 0..machine.packages {
        let Some(numa_nodes) = beside.get(&Some(package)) else { continue };
        let _ = writeln!(text, "  package L#{package}");
        for numa in numa_nodes {
            numa_tree(text, group, rates, (*numa, &cores[numa.index()]), 4);
        }
    }
    // A rate of the cluster's rates is in the second line.
    let by_hardware = matches!(rates.caches.shared.origin, Origin::Hardware(_));
    if let Some(line) = cache_line(machine, &rates.caches).filter(|_| by_hardware) {
        let _ = writeln!(text, "  {line}");
    }
    if let Some(distance) = &machine.numa_distance {
        let _ = writeln!(text, "  NUMA distances (ACPI SLIT; 10 is local), rows and columns L#");
        for (numa, row) in distance.iter().enumerate() {
            let row: Vec<String> = row.iter().map(|value| format!("{value:>4}")).collect();
            let _ = writeln!(text, "    L#{numa:<3}{}", row.concat());
        }
    }
}

fn numa_tree(
    text: &mut String,
    group: &NodeGroup,
    rates: &HardwareRates,
    (numa, cores): (NumaId, &[CoreId]),
    indent: usize,
) {
    let machine = &group.machine;
    let node = &machine.numa_nodes[numa.index()];
    let kind = node.kind.as_ref().map(|kind| format!(", {kind}")).unwrap_or_default();
    let size = node.memory.map(|memory| format!(", {}", size(memory))).unwrap_or_default();
    let mut line = |indent: usize, line: &str| {
        let _ = writeln!(text, "{:indent$}{line}", "");
    };
    // A described rate is in the line of its cores; one of the cluster's rates in the second line.
    let memory = &rates.memories[numa.index()];
    let rate = match memory.origin {
        Origin::Hardware(_) => format!(", {memory}"),
        _ => String::new(),
    };
    line(indent, &format!("NUMA node L#{numa} (P#{}){kind}{size}{rate}", node.os_index));
    node.access.iter().for_each(|access| line(indent + 2, &access_line(access)));
    let beside = |near: &[NumaId]| near == [numa] && machine.numa_nodes.len() > 1;
    for (nic, rates) in machine.nics.iter().zip(&rates.nics).filter(|(nic, _)| beside(&nic.near)) {
        line(indent + 2, &nic_line(machine, nic, rates));
    }
    for gpu in machine.gpus.iter().filter(|gpu| beside(&gpu.near)) {
        line(indent + 2, &gpu_line(gpu));
    }
    let cores: Vec<usize> = cores.iter().map(|core| core.index()).collect();
    let together = |a: &usize, b: &usize| {
        let (a, b) = (&machine.cores[*a], &machine.cores[*b]);
        (a.cache, a.package, a.pus.len()) == (b.cache, b.package, b.pus.len())
    };
    let packages: BTreeSet<usize> = cores.iter().map(|core| machine.cores[*core].package).collect();
    for cores in cores.chunk_by(together) {
        let package = match packages.len() {
            0 | 1 => String::new(),
            _ => format!("package L#{}, ", machine.cores[cores[0]].package),
        };
        line(indent + 2, &(package + &cores_line(group, cores)));
    }
}

/// What is shared: `messages through a cache: 12.0 GB/s assumed (L3 of a CCX), 25.0 GB/s assumed (L2 of a core)`.
fn cache_line(machine: &Machine, rates: &CacheRates) -> Option<String> {
    let threads = machine.cores.iter().any(|core| core.pus.len() > 1);
    let shared = machine.has_shared_cache().then(|| rates.shared.to_string());
    let all: Vec<String> =
        shared.into_iter().chain(threads.then(|| rates.core.to_string())).collect();
    (!all.is_empty()).then(|| format!("messages through a cache: {}", all.join(", ")))
}

/// `94.4 GB/s, 90 ns from cores L#0-3`.
fn access_line(access: &MemoryAccess) -> String {
    let cores: Vec<u32> = access.cores.iter().map(|core| core.0).collect();
    let cores = format!("{} L#{}", plural(cores.len(), "core"), format_index_list(&cores));
    let bandwidth = access.bandwidth.map(|rate| format!("{rate:.1}"));
    let what = bandwidth.into_iter().chain(access.latency.map(|time| time.to_string()));
    format!("{} from {cores}", what.collect::<Vec<_>>().join(", "))
}

/// A size, exact if that is short, else rounded, with a binary prefix in both cases so that all
/// memories of a listing have one unit.
fn size(memory: Bytes) -> String {
    let exact = memory.to_string();
    if exact.len() <= "1000 GiB".len() {
        return exact;
    }
    let bytes = memory.0 as f64;
    let units = [("TiB", 40), ("GiB", 30), ("MiB", 20)];
    let unit = units.into_iter().find(|(_, shift)| memory.0 >= 1 << shift);
    let (unit, shift) = unit.unwrap_or(("KiB", 10));
    format!("{:.1} {unit}", bytes / f64::from(shift).exp2())
}

/// `cache L#0: cores L#0-3, PUs P#0-3 and P#32-35; not free: PUs P#0,32`.
fn cores_line(group: &NodeGroup, cores: &[usize]) -> String {
    let machine = &group.machine;
    let numbers: Vec<u32> = cores.iter().map(|core| u32::try_from(*core).unwrap_or(0)).collect();
    let first = &machine.cores[cores[0]];
    let cache = first.cache.map(|cache| format!("cache L#{cache}: ")).unwrap_or_default();
    let pus = pu_list(machine, cores);
    let ours = numbers.iter().flat_map(|core| machine.pus_of(CoreId(*core)));
    let taken = ours.filter(|pu| !group.free[*pu]).map(|pu| machine.pus[pu].id.0);
    let taken: Vec<u32> = taken.collect();
    let taken = match taken.as_slice() {
        [] => String::new(),
        taken => format!("; not free: PUs P#{}", format_index_list(taken)),
    };
    let list = format_index_list(&numbers);
    format!("{cache}{} L#{list}, {pus}{taken}", plural(cores.len(), "core"))
}

/// The PUs of equal cores: `PUs P#0-7, 2 per core` if they are numbered core by core, else the
/// first PUs of all cores, then the second: `PUs P#0-3 and P#32-35`.
fn pu_list(machine: &Machine, cores: &[usize]) -> String {
    let pus = |core: &usize| machine.cores[*core].pus.iter().map(|pu| pu.0);
    let threads = machine.cores[cores[0]].pus.len();
    let in_turn: Vec<u32> = cores.iter().flat_map(pus).collect();
    let in_turn = format_index_list(&in_turn);
    if threads == 1 {
        return format!("PUs P#{in_turn}");
    }
    let by_thread = (0..threads).map(|thread| {
        let pus: Vec<u32> = cores.iter().filter_map(|core| pus(core).nth(thread)).collect();
        format!("P#{}", format_index_list(&pus))
    });
    let by_thread = by_thread.collect::<Vec<_>>().join(" and ");
    if !in_turn.contains(',') {
        format!("PUs P#{in_turn}, {threads} per core")
    } else {
        format!("PUs {by_thread}")
    }
}

fn nic_line(machine: &Machine, nic: &Nic, rates: &NicRates) -> String {
    let mut text = format!("NIC {}", nic.name);
    if !nic.aliases.is_empty() {
        let _ = write!(text, " ({})", nic.aliases.join(", "));
    }
    let _ = write!(text, ", {}", rates.bandwidth);
    if let Some(latency) = nic.latency {
        let _ = write!(text, ", {latency}");
    }
    if let Some(contexts) = nic.contexts {
        let _ = write!(text, ", {contexts} contexts");
    }
    if let Some(pci) = &nic.pci {
        let _ = write!(text, ", PCI {pci}");
    }
    if let Some(why) = machine.without_mpi(nic) {
        let _ = write!(text, ", {why}");
    }
    text
}

fn gpu_line(gpu: &rankwright::cluster::Gpu) -> String {
    let pci = gpu.pci.as_ref().map(|pci| format!(", PCI {pci}")).unwrap_or_default();
    format!("GPU {}{pci}", gpu.name)
}

fn near(numa: &[NumaId]) -> String {
    let numbers: Vec<u32> = numa.iter().map(|numa| numa.0).collect();
    match numbers.len() {
        0 => ", for the whole node".to_owned(),
        count => {
            let list = format_index_list(&numbers);
            format!(", near {} L#{list}", plural(count, "NUMA node"))
        }
    }
}

fn switch_tree(text: &mut String, cluster: &Cluster, index: usize, depth: usize) {
    let switch = &cluster.switches[index];
    let uplink = switch.uplink.map(|rate| format!(", uplink {rate}")).unwrap_or_default();
    let nodes = cluster.nodes.iter().filter(|node| node.switch == Some(index));
    let nodes: Vec<&str> = nodes.map(|node| node.name.as_str()).collect();
    let list =
        if nodes.is_empty() { String::new() } else { format!(": {}", hostlist::compress(&nodes)) };
    let _ = writeln!(text, "{}{}{uplink}{list}", "  ".repeat(depth), switch.name);
    let below = (0..index).filter(|below| cluster.switches[*below].parent == Some(index));
    below.for_each(|below| switch_tree(text, cluster, below, depth + 1));
}

/// One row of numbers for each group.
fn counts(cluster: &Cluster) -> String {
    let header =
        ["names", "nodes", "packages", "numa_nodes", "cores", "pus", "free_pus", "nics", "gpus"];
    let row = |(index, group): (usize, &NodeGroup)| {
        let names = names_of_group(cluster, index);
        let machine = &group.machine;
        let counts = [
            names.len(),
            machine.packages,
            machine.numa_nodes.len(),
            machine.cores.len(),
            machine.pus.len(),
            group.free.iter().filter(|free| **free).count(),
            machine.nics.len(),
            machine.gpus.len(),
        ];
        let counts = counts.iter().map(ToString::to_string);
        std::iter::once(hostlist::compress(&names)).chain(counts).collect::<Vec<String>>()
    };
    let rows: Vec<Vec<String>> = cluster.groups.iter().enumerate().map(row).collect();
    output::csv(&header, &rows)
}

/// The matrix of the first node of each group.
fn matrices(cluster: &Cluster, format: Format) -> anyhow::Result<String> {
    let first = |group| cluster.nodes.iter().position(|node| node.group == group);
    let nodes: Vec<NodeId> =
        (0..cluster.groups.len()).filter_map(first).map(NodeId::from_index).collect();
    let matrices: Vec<MachineMatrix> =
        nodes.iter().map(|node| MachineMatrix::new(cluster, &[*node])).collect();
    if format == Format::Json {
        return Ok(to_json(&serde_json::json!({ "matrices": matrices })));
    }
    let mut text = String::new();
    for (node, matrix) in nodes.iter().zip(&matrices) {
        let labels: Vec<String> = matrix.cores.iter().map(|(_, pu)| format!("P#{pu}")).collect();
        let mut header = vec![cluster.node(*node).name.as_str()];
        header.extend(labels.iter().map(String::as_str));
        let row = |(label, row): (&String, &Vec<u32>)| {
            let cells = row.iter().map(ToString::to_string);
            std::iter::once(label.clone()).chain(cells).collect::<Vec<String>>()
        };
        let rows: Vec<Vec<String>> = labels.iter().zip(&matrix.weights).map(row).collect();
        if !text.is_empty() {
            text.push('\n');
        }
        text += &match format {
            Format::Csv => output::csv(&header, &rows),
            _ => output::table(&header, &rows),
        };
    }
    Ok(text)
}

fn plural(count: usize, noun: &str) -> String {
    if count == 1 { noun.to_owned() } else { format!("{noun}s") }
}
