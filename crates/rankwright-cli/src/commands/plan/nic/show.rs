//! The result of `nic` as text.

use rankwright::report::to_json;
use std::fmt::Write as _;

use rankwright::ids::format_index_list;
use rankwright::launch::shell;
use rankwright::units::Seconds;

use super::report::{DeviceRow, NicReport, RankRow};
use crate::options::Format;
use crate::output;

pub(super) fn show(report: &NicReport, format: Format) -> anyhow::Result<String> {
    Ok(match format {
        Format::Json => to_json(report),
        Format::Csv if report.ranks.is_empty() => devices_as_csv(&report.devices),
        Format::Csv => ranks_as_csv(&report.ranks),
        Format::Table => table(report),
    })
}

const DEVICES: [&str; 12] = [
    "nodes",
    "device",
    "kind",
    "NUMA L#",
    "distances",
    "link",
    "rate",
    "contexts",
    "rail",
    "PCI",
    "ranks",
    "remark",
];

fn device_rows(devices: &[DeviceRow]) -> Vec<Vec<String>> {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let row = |device: &DeviceRow| {
        let aliases = match device.aliases.is_empty() {
            true => String::new(),
            false => format!(" ({})", device.aliases.join(", ")),
        };
        vec![
            device.nodes.clone(),
            format!("{}{aliases}", device.device),
            or_dash(kind(device)),
            or_dash(numa_list(device)),
            or_dash(distances(device)),
            device.link.to_owned(),
            or_dash(device.bandwidth.clone()),
            or_dash(device.contexts.map(|contexts| contexts.to_string())),
            or_dash(device.rail.map(|rail| rail.to_string())),
            or_dash(device.pci.clone()),
            or_dash(device.ranks_per_node.map(|ranks| ranks.to_string())),
            or_dash(device.without_mpi.clone()),
        ]
    };
    devices.iter().map(row).collect()
}

fn kind(device: &DeviceRow) -> Option<String> {
    let kind = serde_json::to_value(device.kind).ok();
    kind.and_then(|kind| kind.as_str().map(str::to_owned))
}

fn numa_list(device: &DeviceRow) -> Option<String> {
    let numbers: Vec<u32> = device.numa.iter().map(|numa| numa.0).collect();
    (!numbers.is_empty()).then(|| format_index_list(&numbers))
}

fn distances(device: &DeviceRow) -> Option<String> {
    let distances: Vec<String> = device.distances.iter().map(ToString::to_string).collect();
    (!distances.is_empty()).then(|| distances.join(" "))
}

/// With the names that the JSON has.
fn devices_as_csv(devices: &[DeviceRow]) -> String {
    let header = [
        "nodes",
        "device",
        "aliases",
        "kind",
        "numa",
        "distances",
        "link",
        "bytes_per_s",
        "contexts",
        "rail",
        "pci",
        "ranks_per_node",
        "without_mpi",
    ];
    let number = |number: Option<u64>| number.map(|number| number.to_string());
    let row = |device: &DeviceRow| {
        let cells = [
            Some(device.nodes.clone()),
            Some(device.device.clone()),
            Some(device.aliases.join(" ")),
            kind(device),
            numa_list(device),
            distances(device),
            Some(device.link.to_owned()),
            number(device.bytes_per_s),
            number(device.contexts.map(u64::from)),
            number(device.rail.map(u64::from)),
            device.pci.clone(),
            number(device.ranks_per_node.map(|ranks| ranks as u64)),
            device.without_mpi.clone(),
        ];
        cells.map(Option::unwrap_or_default).to_vec()
    };
    output::csv(&header, &devices.iter().map(row).collect::<Vec<_>>())
}

fn table(report: &NicReport) -> String {
    let mut text = explained_default(report) + &faster(report) + &summary(report);
    if report.devices.is_empty() {
        text += "the description has no network device\n";
    } else {
        text += &without_empty(&DEVICES, device_rows(&report.devices));
        text += &explained_distances(&report.devices);
    }
    if report.ranks.is_empty() {
        return text;
    }
    let explained = report.fabric_default.is_some();
    let mut header = vec!["job", "rank", "node", "NUMA L#", "devices", "why", "GPUs"];
    if explained {
        header.extend(["default", "differs"]);
    }
    let rows: Vec<Vec<String>> = report.ranks.iter().map(|row| rank_row(row, explained)).collect();
    let _ = write!(text, "\n{}", without_empty(&header, rows));
    if let (Some(busiest), Some(bound)) = (report.busiest_device_s, report.lower_bound_s)
        && busiest > 0.0
    {
        let (busiest, bound) = (Seconds(busiest), Seconds(bound));
        let _ = writeln!(
            text,
            "\nthe busiest device needs {busiest:.2} for the traffic between nodes; no choice needs less \
             than {bound:.2}"
        );
    }
    text + &variables(&report.ranks)
}

/// The default of the network stack, and for how many ranks the selection differs; empty without --explain.
fn explained_default(report: &NicReport) -> String {
    let (Some(fabric), Some(default)) = (report.fabric, report.fabric_default) else {
        return String::new();
    };
    let differ = report.ranks.iter().filter(|row| row.differs == Some(true)).count();
    let all = report.ranks.len();
    format!("{fabric} by default: {default}\nthat differs for {differ} of {all} ranks\n\n")
}

/// A line that compares the busy time of the busiest device under two selections; empty if there is only
/// one, or no traffic between nodes.
fn faster(report: &NicReport) -> String {
    let (Some(selection), Some(busiest), Some(other)) =
        (&report.selection, report.busiest_device_s, &report.other)
    else {
        return String::new();
    };
    if busiest <= 0.0 {
        return String::new();
    }
    let (time, other_time) = (Seconds(busiest), Seconds(other.busiest_device_s));
    let other_name = &other.selection;
    let least = busiest.min(other.busiest_device_s);
    if (busiest - other.busiest_device_s).abs() < 0.005 * least {
        return format!(
            "{selection}: the busiest device needs {time:.2}, as long as with {other_name}\n"
        );
    }
    if busiest < other.busiest_device_s {
        return format!(
            "{selection}: the busiest device needs {time:.2} instead of {other_time:.2} with \
             {other_name}\n"
        );
    }
    format!(
        "--selection {other_name} is faster: the busiest device needs {other_time:.2} instead of \
         {time:.2} with {selection}\n"
    )
}

/// What the numbers of the column `distances` are; nothing if all are 0.
fn explained_distances(devices: &[DeviceRow]) -> String {
    let farthest = devices.iter().flat_map(|device| &device.distances).max().copied();
    let far = match farthest.unwrap_or(0) {
        0 => return String::new(),
        // The firmware's begin at 10.
        1..10 => "1 in the same package, 2 in another",
        _ => "by the ACPI SLIT (10: local memory)",
    };
    format!("distances: from NUMA nodes L#0, L#1, ...; 0: beside the device, else {far}\n")
}

/// Whether the ranks use devices beside them, in a line; nothing without ranks.
fn summary(NicReport { ranks, devices, .. }: &NicReport) -> String {
    if ranks.is_empty() {
        return String::new();
    }
    let count = |is: fn(&RankRow) -> bool| ranks.iter().filter(|row| is(row)).count();
    let (named, far) = (count(|row| !row.nics.is_empty()), count(|row| row.far));
    let all = ranks.len();
    let some_far = count(|row| row.far_devices > 0);
    let verdict = match (named, far) {
        (0, _) => format!("none of {all} ranks is given a network device: the library chooses"),
        (_, 0) if some_far > 0 => format!(
            "{some_far} of {named} ranks use network devices that are far from them, beside near ones"
        ),
        (_, 0) => format!("none of {named} ranks uses a network device that is far from it"),
        _ => format!("{far} of {named} ranks use a network device that is far from them"),
    };
    // Ranks that use far devices leave near ones idle.
    let idle = if some_far + far == 0 { idle(devices) } else { String::new() };
    format!("{verdict}\n{idle}\n")
}

/// Names devices without ranks beside busy ones of the same kind, a line for each kind of node.
fn idle(devices: &[DeviceRow]) -> String {
    let mut lines = String::new();
    for of_nodes in devices.chunk_by(|a, b| a.nodes == b.nodes) {
        let serving: Vec<&DeviceRow> =
            of_nodes.iter().filter(|device| device.ranks_per_node > Some(0)).collect();
        let is_idle = |device: &&DeviceRow| {
            let usable = device.link != "down" && device.without_mpi.is_none();
            let has_none = device.ranks_per_node == Some(0);
            usable && has_none && serving.iter().any(|other| other.kind == device.kind)
        };
        let idle: Vec<&str> =
            of_nodes.iter().filter(is_idle).map(|device| device.device.as_str()).collect();
        let Some(busiest) = serving.iter().max_by_key(|device| device.ranks_per_node) else {
            continue;
        };
        let ranks = busiest.ranks_per_node.unwrap_or(0);
        if !idle.is_empty() && ranks > 1 {
            let _ = writeln!(
                lines,
                "{}: {} without ranks, {} has {ranks} on a node: --ranks-per-package puts ranks beside all",
                of_nodes[0].nodes,
                idle.join(", "),
                busiest.device
            );
        }
    }
    lines
}

fn rank_row(row: &RankRow, explained: bool) -> Vec<String> {
    let list = |names: &[String]| match names.is_empty() {
        true => "-".to_owned(),
        false => names.join(","),
    };
    let mut cells = vec![
        row.job.clone(),
        row.rank.to_string(),
        row.node.clone(),
        row.numa.map_or_else(|| "-".to_owned(), |numa| numa.to_string()),
        list(&row.nics),
        row.why.clone(),
        list(&row.gpus),
    ];
    if explained {
        cells.push(list(row.by_itself.as_deref().unwrap_or_default()));
        cells.push(if row.differs == Some(true) { "yes" } else { "no" }.to_owned());
    }
    cells
}

/// The variables: once if all ranks have equal ones, else a line for each rank.
fn variables(ranks: &[RankRow]) -> String {
    let line = |row: &RankRow| {
        let assign = |(name, value): &(String, String)| format!("{name}={}", shell::quote(value));
        row.variables.iter().map(assign).collect::<Vec<_>>()
    };
    let Some(first) = ranks.first() else { return String::new() };
    if ranks.iter().all(|row| row.variables.is_empty()) {
        return String::new();
    }
    if ranks.iter().all(|row| row.variables == first.variables) {
        let exports = line(first).into_iter().map(|text| format!("export {text}\n"));
        return format!("\nvariables for all ranks:\n{}", exports.collect::<String>());
    }
    let several = ranks.iter().any(|row| row.job != first.job);
    let of_rank = |row: &RankRow| {
        let job = if several { format!("{} ", row.job) } else { String::new() };
        format!("{job}{}: {}\n", row.rank, line(row).join(" "))
    };
    format!("\nvariables by rank:\n{}", ranks.iter().map(of_rank).collect::<String>())
}

/// A table without its empty columns.
fn without_empty(header: &[&str], rows: Vec<Vec<String>>) -> String {
    let shown: Vec<usize> =
        (0..header.len()).filter(|column| rows.iter().any(|row| row[*column] != "-")).collect();
    let header: Vec<&str> = shown.iter().map(|column| header[*column]).collect();
    let pick = |row: &Vec<String>| shown.iter().map(|column| row[*column].clone()).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(pick).collect();
    output::table(&header, &rows)
}

fn ranks_as_csv(ranks: &[RankRow]) -> String {
    let header =
        ["job", "rank", "node", "numa", "nics", "why", "gpus", "by_itself", "differs", "variables"];
    let row = |row: &RankRow| {
        let assign = |(name, value): &(String, String)| format!("{name}={}", shell::quote(value));
        let variables: Vec<String> = row.variables.iter().map(assign).collect();
        vec![
            row.job.clone(),
            row.rank.to_string(),
            row.node.clone(),
            row.numa.map_or_else(String::new, |numa| numa.to_string()),
            row.nics.join(" "),
            row.why.clone(),
            row.gpus.join(" "),
            row.by_itself.as_ref().map_or_else(String::new, |names| names.join(" ")),
            row.differs.map_or_else(String::new, |differs| differs.to_string()),
            variables.join(" "),
        ]
    };
    output::csv(&header, &ranks.iter().map(row).collect::<Vec<_>>())
}
