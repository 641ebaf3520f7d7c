//! A cluster as a picture: one node of each type with what is in it, and the tree of switches.

mod node;
mod switches;

use super::drawing::boxes::Frame;
use super::drawing::svg::{Drawing, MARGIN, SMALL, width};
use crate::cluster::{Cluster, hostlist};
use crate::units::{BytesPerSecond, counted};

/// Fill and border of each kind of box, in colours that colour-blind people can tell apart.
const STYLES: &str = "\
.node { fill: #fafafa; stroke: #444 }
.package { fill: #fff; stroke: #888 }
.numa { fill: #f1f4f8; stroke: #9ab }
.cache { fill: #fff; stroke: #bbb }
.core { fill: #e4e4e4; stroke: #999 }
.pu { fill: #fff; stroke: #aaa }
.taken { fill: #8a8a8a; stroke: #666 }
.dram { fill: #cfe6f7; stroke: #5b9cc9 }
.hbm { fill: #ffd9a0; stroke: #d58a00 }
.far { fill: #f3c8df; stroke: #b8628f }
.nic { fill: #c2e8d9; stroke: #009e73 }
.gpu { fill: #f7ef9a; stroke: #b8a800 }
.switch { fill: #fff; stroke: #444 }
.nodes { fill: #fafafa; stroke: #444; stroke-dasharray: 4 2 }
";

/// The legend: each class with its meaning.
const LEGEND: [(&str, &str); 8] = [
    ("core", "core (L#)"),
    ("pu", "PU (P#)"),
    ("taken", "PU that is not free"),
    ("dram", "memory"),
    ("hbm", "HBM"),
    ("far", "other memory (NVM, CXL, ...)"),
    ("nic", "network device"),
    ("gpu", "GPU"),
];

/// The picture as a self-contained SVG file. Nodes of one type are drawn once, and so are switches with
/// equal subtrees.
#[must_use]
pub fn cluster_picture(cluster: &Cluster) -> String {
    let mut drawing = Drawing::default();
    let nodes = counted(cluster.nodes.len(), "node");
    let title = format!("{}: {nodes}, {}", cluster.name, counted(cluster.core_count(), "core"));
    let mut below = MARGIN + 16;
    drawing.text("heading", MARGIN, below, &title);
    below += 22;
    let rates = &cluster.rates;
    let origin = if rates.calibrated { "measured" } else { "assumed" };
    let line = format!(
        "Rates {origin} ({}): {}. Rates are each way; k, M, G are powers of 1000, Ki, Mi, Gi of 1024.",
        rates.name,
        rates.summary()
    );
    drawing.text("plain", MARGIN, below, &line);
    below = legend(&mut drawing, cluster, below + 14) + 14;
    for index in 0..cluster.groups.len() {
        let names = names_of(cluster, |node| node.group == index);
        if !names.is_empty() {
            let frame = node::frame(cluster, index, title_of(cluster, index, &names));
            frame.draw(&mut drawing, MARGIN, below);
            below += frame.height() + 16;
        }
    }
    switches::draw(&mut drawing, cluster, below);
    drawing.finish(&title, STYLES)
}

/// `type 1: n[0-3], 4 nodes`, the number only where there are several types.
fn title_of(cluster: &Cluster, group: usize, names: &[&str]) -> String {
    let number = match cluster.groups.len() {
        1 => String::new(),
        _ => format!("type {}: ", group + 1),
    };
    let list =
        super::drawing::svg::shortened(&hostlist::compress(names), super::drawing::svg::TEXT, 700);
    match names.len() {
        1 => format!("{number}{list}, 1 node"),
        count => format!("{number}{list}, {count} nodes alike"),
    }
}

fn names_of(cluster: &Cluster, is_meant: impl Fn(&crate::cluster::Node) -> bool) -> Vec<&str> {
    let nodes = cluster.nodes.iter().filter(|node| is_meant(node));
    nodes.map(|node| node.name.as_str()).collect()
}

/// Draws the legend. Returns where it ends.
fn legend(drawing: &mut Drawing, cluster: &Cluster, top: i32) -> i32 {
    let used = |class: &str| {
        cluster.groups.iter().any(|group| {
            let machine = &group.machine;
            let mut memories = machine.numa_nodes.iter().map(node::class_of_memory);
            match class {
                "core" | "pu" => true,
                "taken" => group.free.contains(&false),
                "nic" => !machine.nics.is_empty(),
                "gpu" => !machine.gpus.is_empty(),
                _ => memories.any(|memory| memory == class),
            }
        })
    };
    let mut right = MARGIN;
    for (class, meaning) in LEGEND.into_iter().filter(|(class, _)| used(class)) {
        drawing.rectangle(class, [right, top, 14, 12], None);
        drawing.text("small", right + 19, top + 10, meaning);
        right += 19 + width(meaning, SMALL) + 16;
    }
    let indices = "L#: hwloc's logical number; P#: the operating system's number";
    drawing.text("small", MARGIN, top + 28, indices);
    top + 32
}

/// A device or memory as a box of one or two lines.
fn chip(class: &'static str, name: String, what: Vec<String>) -> Frame {
    let mut label = vec![name];
    if !what.is_empty() {
        label.push(what.join(", "));
    }
    Frame::new(class, label, Vec::new())
}

/// A rate: exactly if that is short, else rounded.
fn rate(rate: BytesPerSecond) -> String {
    let exact = rate.to_string();
    if exact.len() <= "1000.5 GB/s".len() { exact } else { format!("{rate:.1}") }
}

#[cfg(test)]
mod tests;
