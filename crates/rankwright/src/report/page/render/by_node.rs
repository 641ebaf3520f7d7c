//! Who sends how much to whom, and which ranks each node has, as parts of a text.

use std::collections::BTreeMap;

use super::super::data::Report;
use super::super::machine::Machine;
use super::super::placements::{PlacementRole, PlacementView};
use super::super::traffic::Traffic;
use super::parts::{Part, bytes, table};
use crate::ids::format_index_list;
use crate::units::{counted, percent};

/// Up to this number of ranks, or of nodes, there is a matrix.
const MATRIX: usize = 16;

/// The pairs of nodes that are listed where there are too many nodes for a matrix.
const PAIRS: usize = 16;

/// The nodes whose ranks are listed.
const NODES: usize = 32;

/// Bytes in all and between nodes, and who sends them to whom.
pub(super) fn traffic(report: &Report) -> Vec<Part> {
    let mut parts = vec![match &report.traffic {
        Some(traffic) => Part::Paragraph(format!("{}.", traffic.sentence())),
        None if report.placements.is_empty() => return Vec::new(),
        None => Part::Paragraph("No rank sends to another.".to_owned()),
    }];
    parts.extend(between_nodes(report));
    let (Some(traffic), Some(machine)) = (&report.traffic, &report.machine) else { return parts };
    let pairs = traffic.bytes_of_pairs();
    if traffic.ranks <= MATRIX && !traffic.aggregated {
        let names: Vec<String> = (0..traffic.ranks).map(|rank| rank.to_string()).collect();
        let cells = pairs.into_iter().map(|(from, to, bytes)| ((from, to), bytes)).collect();
        parts.extend(matrix("Bytes from rank (row) to rank (column)", &names, &cells));
        return parts;
    }
    let is_next = |view: &&PlacementView| view.role == PlacementRole::Next;
    for view in report.placements.iter().filter(|view| !is_next(view)) {
        parts.extend(by_node((traffic, &pairs), machine, view));
    }
    parts
}

/// Bytes between nodes under each placement.
fn between_nodes(report: &Report) -> Vec<Part> {
    let total = report.traffic.as_ref().map_or(0, |traffic| traffic.total_bytes);
    let row = |view: &PlacementView| {
        let share = view.inter_node_bytes as f64 / total.max(1) as f64;
        let (name, role) = (view.name.clone(), view.role.words().to_owned());
        vec![name, role, bytes(view.inter_node_bytes), percent(share)]
    };
    let header = ["placement", "role", "between nodes", "share of the bytes"];
    table(&header, report.placements.iter().map(row))
}

/// Bytes from node to node under a placement.
fn by_node(
    (traffic, pairs): (&Traffic, &[(usize, usize, f64)]),
    machine: &Machine,
    view: &PlacementView,
) -> Vec<Part> {
    let node: Vec<usize> = view.node.numbers().into_iter().map(|node| node as usize).collect();
    // Of groups of ranks only the first placement has the nodes.
    if node.len() != traffic.ranks {
        return Vec::new();
    }
    let mut used = node.clone();
    used.sort_unstable();
    used.dedup();
    let name = |node: usize| machine.nodes[used[node]].name.clone();
    let position = |rank: usize| used.binary_search(&node[rank]).unwrap_or_default();
    let mut sums: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    for (from, to, bytes) in pairs {
        *sums.entry((position(*from), position(*to))).or_default() += bytes;
    }
    let about = if traffic.rounded { ", rounded within 9 %" } else { "" };
    let under = format!("{} ({})", view.name, view.role.words());
    if used.len() <= MATRIX {
        let names: Vec<String> = (0..used.len()).map(name).collect();
        let title = format!("Under {under}, bytes from node (row) to node (column){about}");
        return matrix(&title, &names, &sums);
    }
    sums.retain(|(from, to), _| from != to);
    let all = sums.len();
    let mut most: Vec<((usize, usize), f64)> = sums.into_iter().collect();
    most.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    most.truncate(PAIRS);
    let count = counted(most.len(), "pair");
    let title =
        format!("Under {under}, the {count} of nodes with the most bytes{about}, of {all}:");
    let row =
        |((from, to), sum): ((usize, usize), f64)| vec![name(from), name(to), bytes(sum as u64)];
    let rows = table(&["from", "to", "bytes"], most.into_iter().map(row));
    if rows.is_empty() { rows } else { [vec![Part::Paragraph(title)], rows].concat() }
}

/// Rows send and columns receive. All cells have one unit.
fn matrix(title: &str, names: &[String], cells: &BTreeMap<(usize, usize), f64>) -> Vec<Part> {
    const UNITS: [(&str, f64); 5] =
        [("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0)];
    let most = cells.values().copied().fold(0.0, f64::max);
    let (unit, factor) = UNITS.into_iter().find(|(_, factor)| most >= *factor).unwrap_or(UNITS[4]);
    let shown = |bytes: f64| match bytes / factor {
        0.0 => String::new(),
        amount if factor == 1.0 || amount >= 100.0 => format!("{amount:.0}"),
        amount if amount < 0.05 => "<0.1".to_owned(),
        amount => format!("{amount:.1}"),
    };
    let row = |(at, name): (usize, &String)| {
        let own =
            (0..names.len()).map(|to| cells.get(&(at, to)).map_or(String::new(), |it| shown(*it)));
        [name.clone()].into_iter().chain(own).collect()
    };
    let header: Vec<&str> =
        ["from, to"].into_iter().chain(names.iter().map(String::as_str)).collect();
    let rows = table(&header, names.iter().enumerate().map(row));
    [vec![Part::Paragraph(format!("{title}, in {unit}; an empty cell is nothing:"))], rows].concat()
}

/// The ranks that each placement puts on each node.
pub(super) fn ranks_per_node(report: &Report) -> Vec<Part> {
    let grouped = report.traffic.as_ref().is_some_and(|traffic| traffic.aggregated);
    let Some(machine) = report.machine.as_ref().filter(|_| !grouped) else { return Vec::new() };
    if report.placements.is_empty() {
        return Vec::new();
    }
    let ranks_of = |view: &PlacementView| {
        let mut ranks: Vec<Vec<u32>> = vec![Vec::new(); machine.nodes.len()];
        for (rank, node) in (0..).zip(view.node.numbers()) {
            ranks[node as usize].push(rank);
        }
        ranks
    };
    let ranks: Vec<Vec<Vec<u32>>> = report.placements.iter().map(ranks_of).collect();
    let row = |(at, node): (usize, &super::super::MachineNode)| {
        let lists = ranks.iter().map(|nodes| format_index_list(&nodes[at]));
        [node.name.clone()].into_iter().chain(lists).collect()
    };
    let names = report.placements.iter().map(|view| view.name.as_str());
    let header: Vec<&str> = ["node"].into_iter().chain(names).collect();
    let mut parts = Vec::new();
    if report.jobs.len() > 1 {
        let last = |job: &super::super::JobRanks| job.first_rank + job.ranks.saturating_sub(1);
        let job = |job: &super::super::JobRanks| {
            format!("{} has {}-{}", job.name, job.first_rank, last(job))
        };
        let jobs: Vec<String> = report.jobs.iter().map(job).collect();
        parts.push(Part::Paragraph(format!("Ranks count over all jobs: {}.", jobs.join(", "))));
    }
    parts.extend(table(&header, machine.nodes.iter().enumerate().take(NODES).map(row)));
    if let Some(more @ 1..) = machine.nodes.len().checked_sub(NODES) {
        parts.push(Part::Paragraph(format!("And {}.", counted(more, "more node"))));
    }
    parts
}
