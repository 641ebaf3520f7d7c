//! The tree of switches, from the root on the left to the nodes on the right. Switches with equal
//! subtrees are drawn once.

use std::collections::BTreeMap;

use super::names_of;
use crate::cluster::{Cluster, hostlist};
use crate::report::drawing::boxes::Frame;
use crate::report::drawing::svg::{Drawing, MARGIN, TEXT, shortened};
use crate::units::counted;

/// The most different switches that are drawn below one.
const MOST_BELOW: usize = 24;
/// The widest list of names.
const WIDEST: i32 = 300;
/// The space between switches above each other.
const BETWEEN: i32 = 10;
/// The space for the lines between switches.
const FOR_LINES: i32 = 48;

/// Draws it from this height down; nothing if the cluster has no switches.
pub(super) fn draw(drawing: &mut Drawing, cluster: &Cluster, top: i32) {
    if cluster.switches.is_empty() {
        return;
    }
    drawing.text("heading", MARGIN, top + 18, "Switches");
    let mut below = top + 34;
    let outside = names_of(cluster, |node| node.switch.is_none());
    if !outside.is_empty() {
        let list = shortened(&hostlist::compress(&outside), TEXT, 3 * WIDEST);
        let line = format!("at no switch: {list}, {}", counted(outside.len(), "node"));
        drawing.text("plain", MARGIN, below, &line);
        below += 12;
    }
    let tree = Tree::new(cluster);
    let tops = (0..cluster.switches.len()).filter(|s| cluster.switches[*s].parent.is_none());
    let branches = tree.branches(&tops.collect::<Vec<_>>(), 1);
    let mut columns = Vec::new();
    branches.iter().for_each(|branch| branch.widen(&mut columns, 0));
    for branch in &branches {
        let (_, end) = branch.draw(drawing, &columns, 0, [MARGIN, below]);
        below = end + BETWEEN;
    }
}

/// What makes switches alike: uplink, how many nodes of each type, how many switches of each kind.
type Signature = (Option<u64>, Vec<(usize, usize)>, Vec<(usize, usize)>);

struct Tree<'a> {
    cluster: &'a Cluster,
    /// The switches below each.
    below: Vec<Vec<usize>>,
    /// The nodes at each.
    nodes: Vec<Vec<usize>>,
    /// Switches of one number are alike.
    kind: Vec<usize>,
}

impl<'a> Tree<'a> {
    fn new(cluster: &'a Cluster) -> Self {
        let count = cluster.switches.len();
        let (mut below, mut nodes) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        for (index, switch) in cluster.switches.iter().enumerate() {
            switch.parent.into_iter().for_each(|parent| below[parent].push(index));
        }
        for (index, node) in cluster.nodes.iter().enumerate() {
            node.switch.into_iter().for_each(|switch| nodes[switch].push(index));
        }
        let mut tree = Self { cluster, below, nodes, kind: Vec::with_capacity(count) };
        let mut kinds: BTreeMap<Signature, usize> = BTreeMap::new();
        // Children have lower indices than their parents.
        for index in 0..count {
            let signature = tree.signature(index);
            let next = kinds.len();
            tree.kind.push(*kinds.entry(signature).or_insert(next));
        }
        tree
    }

    fn signature(&self, switch: usize) -> Signature {
        let mut nodes: BTreeMap<usize, usize> = BTreeMap::new();
        for node in &self.nodes[switch] {
            *nodes.entry(self.cluster.nodes[*node].group).or_default() += 1;
        }
        let mut below: BTreeMap<usize, usize> = BTreeMap::new();
        for child in &self.below[switch] {
            *below.entry(self.kind[*child]).or_default() += 1;
        }
        let uplink = self.cluster.switches[switch].uplink.map(|rate| rate.0.to_bits());
        (uplink, nodes.into_iter().collect(), below.into_iter().collect())
    }

    /// A branch for each kind among these switches, whose parents are `above` equal switches.
    fn branches(&self, switches: &[usize], above: usize) -> Vec<Branch> {
        let mut kinds: Vec<(usize, Vec<usize>)> = Vec::new();
        let mut place: BTreeMap<usize, usize> = BTreeMap::new();
        for switch in switches {
            let kind = self.kind[*switch];
            let index = *place.entry(kind).or_insert(kinds.len());
            match kinds.get_mut(index) {
                Some((_, like)) => like.push(*switch),
                None => kinds.push((kind, vec![*switch])),
            }
        }
        let drawn = kinds.iter().take(MOST_BELOW);
        let mut branches: Vec<Branch> = drawn.map(|(_, like)| self.branch(like, above)).collect();
        let rest: usize = kinds.iter().skip(MOST_BELOW).map(|(_, like)| like.len()).sum();
        if rest > 0 {
            let label = vec![format!("and {rest} more switches")];
            let frame = Frame::new("nodes", label, Vec::new());
            branches.push(Branch { frame, below: Vec::new() });
        }
        branches
    }

    /// Switches that are alike.
    fn branch(&self, like: &[usize], above: usize) -> Branch {
        let first = like[0];
        let names: Vec<&str> =
            like.iter().map(|switch| self.cluster.switches[*switch].name.as_str()).collect();
        let mut label = vec![shortened(&hostlist::compress(&names), TEXT, WIDEST)];
        if like.len() > 1 {
            let each = match above {
                1 => String::new(),
                above => format!(", {} below each", like.len() / above),
            };
            label.push(format!("{} switches alike{each}", like.len()));
        }
        if let Some(uplink) = self.cluster.switches[first].uplink {
            let each = if like.len() > 1 { " each" } else { "" };
            label.push(format!("uplink {}{each}", super::rate(uplink)));
        }
        for (group, count) in self.signature(first).1 {
            let nodes = like.iter().flat_map(|switch| &self.nodes[*switch]);
            let names: Vec<&str> = nodes
                .map(|node| &self.cluster.nodes[*node])
                .filter(|node| node.group == group)
                .map(|node| node.name.as_str())
                .collect();
            let list = shortened(&hostlist::compress(&names), TEXT, WIDEST);
            let kind = match self.cluster.groups.len() {
                1 => String::new(),
                _ => format!(" of type {}", group + 1),
            };
            let each = if like.len() > 1 { " at each" } else { "" };
            label.push(format!("{}{kind}{each}: {list}", counted(count, "node")));
        }
        let below: Vec<usize> =
            like.iter().flat_map(|switch| self.below[*switch].iter().copied()).collect();
        let frame = Frame::new("switch", label, Vec::new());
        Branch { frame, below: self.branches(&below, like.len()) }
    }
}

/// A drawn switch with those below it.
struct Branch {
    frame: Frame,
    below: Vec<Branch>,
}

impl Branch {
    /// Makes the columns as wide as their boxes.
    fn widen(&self, columns: &mut Vec<i32>, depth: usize) {
        if columns.len() <= depth {
            columns.push(0);
        }
        columns[depth] = columns[depth].max(self.frame.width());
        self.below.iter().for_each(|branch| branch.widen(columns, depth + 1));
    }

    /// Draws it from this point right and down, and gives the height of its middle and its end.
    fn draw(
        &self,
        drawing: &mut Drawing,
        columns: &[i32],
        depth: usize,
        [x, y]: [i32; 2],
    ) -> (i32, i32) {
        let right = x + columns[depth] + FOR_LINES;
        let mut below = y;
        let mut ends = Vec::new();
        for branch in &self.below {
            let (middle, end) = branch.draw(drawing, columns, depth + 1, [right, below]);
            ends.push(middle);
            below = end + BETWEEN;
        }
        let height = self.frame.height();
        let middle = match (ends.first(), ends.last()) {
            (Some(first), Some(last)) => ((first + last) / 2).max(y + height / 2),
            _ => y + height / 2,
        };
        let edge = x + self.frame.width();
        for end in ends {
            drawing.connection([edge, middle], right - FOR_LINES / 2, [right, end]);
        }
        self.frame.draw(drawing, x, middle - height / 2);
        (middle, (below - BETWEEN).max(middle + height / 2))
    }
}
