//! Slurm's `topology.conf`, for its plugins `topology/tree` (`SwitchName=`) and `topology/block`
//! (`BlockName=`).

use std::collections::BTreeMap;

use super::switch_order::children_first;
use super::switch_tree::SwitchTree;
use crate::cluster::{Switch, hostlist};
use crate::files::InputError;

/// What a file must be, for error messages.
pub const EXPECTED: &str =
    "a Slurm topology.conf with lines like `SwitchName=s0 Nodes=n[0-7]` or `BlockName=b0 ...`";

/// The name of the switch above all blocks.
const TOP: &str = "all-blocks";

/// Whether a text is a `topology.conf`, by its first line.
#[must_use]
pub fn sniff(text: &str) -> bool {
    let first = text.lines().map(|line| line.trim_start().to_ascii_lowercase());
    let mut first = first.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let starts = ["switchname=", "blockname=", "blocksizes="];
    first.next().is_some_and(|line| starts.iter().any(|start| line.starts_with(start)))
}

/// Reads the text of a file; `file` names it in errors. Blocks become switches: one for each block,
/// one for each group of blocks that `BlockSizes` defines (`block-16-0` for the first 16 nodes), and
/// one above all. `LinkSpeed` has no unit and is ignored. The output of `scontrol show topology` for
/// a tree is read, too.
///
/// # Errors
/// If a line has an unknown field or no name, a switch is defined twice, is missing or is below
/// itself, a node is at two switches, or there is no node; the error has the line.
pub fn parse(text: &str, file: &str) -> Result<SwitchTree, InputError> {
    let mut reader =
        Reader { file, entries: Vec::new(), names: 0, sizes: Vec::new(), blocks: false };
    for (number, line) in logical_lines(text) {
        reader.line(number, &line)?;
    }
    if reader.blocks {
        reader.join_blocks();
    }
    reader.tree()
}

/// The lines without comments, each with its number. A line that ends in a backslash is joined with
/// the next one.
fn logical_lines(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        let (line, goes_on) = line.strip_suffix('\\').map_or((line, false), |line| (line, true));
        match lines.last_mut() {
            Some((_, before)) if open => {
                before.push(' ');
                before.push_str(line);
            }
            _ => lines.push((index + 1, line.to_owned())),
        }
        open = goes_on;
    }
    lines.retain(|(_, line)| !line.trim().is_empty());
    lines
}

/// A switch or block of the file.
struct Entry {
    /// Line number, from 1.
    line: usize,
    name: String,
    nodes: Vec<String>,
    /// Names of the switches below.
    below: Vec<String>,
}

struct Reader<'a> {
    file: &'a str,
    entries: Vec<Entry>,
    /// The number of names in all entries.
    names: usize,
    /// `BlockSizes`, in nodes.
    sizes: Vec<usize>,
    /// Whether an entry is a block.
    blocks: bool,
}

impl Reader<'_> {
    fn error(&self, line: usize, actual: impl Into<String>, expected: &str) -> InputError {
        InputError::new(self.file, actual.into(), expected).at_line(line)
    }

    fn line(&mut self, number: usize, line: &str) -> Result<(), InputError> {
        let mut entry =
            Entry { line: number, name: String::new(), nodes: Vec::new(), below: Vec::new() };
        let mut sizes = false;
        let mut levels = false;
        for word in line.split_whitespace() {
            let Some((key, value)) = word.split_once('=') else {
                return Err(self.error(number, format!("`{word}`"), EXPECTED));
            };
            let names = || {
                let wrong = |error: hostlist::HostlistError| {
                    self.error(number, error.found, &error.expected).in_field(key)
                };
                hostlist::expand(value).map_err(wrong)
            };
            match key.to_ascii_lowercase().as_str() {
                "switchname" | "blockname" => {
                    let [name] = names()?.try_into().map_err(|_| {
                        self.error(number, format!("`{word}`, several names"), "one per line")
                    })?;
                    entry.name = name;
                    self.blocks |= key.eq_ignore_ascii_case("blockname");
                }
                "nodes" => entry.nodes.append(&mut names()?),
                "switches" => entry.below.append(&mut names()?),
                "blocksizes" => {
                    let all = value.split(',').map(|size| size.parse().ok().filter(|s| *s > 0));
                    let all = all.collect::<Option<Vec<usize>>>();
                    self.sizes = all.ok_or_else(|| {
                        self.error(number, format!("`{word}`"), "numbers of nodes from 1")
                    })?;
                    sizes = true;
                }
                "linkspeed" => {}
                // In the output of `scontrol show topology`, where `Nodes` has all nodes below.
                "level" => levels = true,
                _ => {
                    let fields = "SwitchName, Switches, Nodes, LinkSpeed, BlockName or BlockSizes";
                    return Err(self.error(number, format!("the unknown field `{word}`"), fields));
                }
            }
        }
        if levels && !entry.below.is_empty() {
            entry.nodes.clear();
        }
        self.names += entry.nodes.len() + entry.below.len() + 1;
        // No cluster has as many switches as nodes.
        if self.names > 2 * hostlist::MOST_NAMES {
            let actual = format!("more than {} names", 2 * hostlist::MOST_NAMES);
            let expected = format!("at most {} nodes", hostlist::MOST_NAMES);
            return Err(self.error(number, actual, &expected));
        }
        if !entry.name.is_empty() {
            self.entries.push(entry);
            return Ok(());
        }
        if sizes && entry.nodes.is_empty() && entry.below.is_empty() {
            return Ok(());
        }
        Err(self.error(number, "a line without a name", EXPECTED))
    }

    /// Puts switches above the blocks: one per group of blocks, for each of `BlockSizes` after the
    /// first, and one for all.
    fn join_blocks(&mut self) {
        let mut level: Vec<String> = self.entries.iter().map(|entry| entry.name.clone()).collect();
        let line = self.entries.last().map_or(0, |entry| entry.line);
        let above = |name, below| Entry { line, name, nodes: Vec::new(), below };
        // Nodes per switch of the current level.
        let mut nodes_each = self.sizes.first().copied().unwrap_or(1);
        for &size in self.sizes.iter().skip(1) {
            let switches_each = size / nodes_each;
            if switches_each > 1 && level.len() > 1 {
                let groups = level.chunks(switches_each).map(<[String]>::to_vec);
                let groups: Vec<Vec<String>> = groups.collect();
                let name = |index: usize| format!("block-{size}-{index}");
                level = (0..groups.len()).map(name).collect();
                let switches = level.iter().cloned().zip(groups);
                self.entries.extend(switches.map(|(name, below)| above(name, below)));
                nodes_each = size;
            }
        }
        if level.len() > 1 {
            self.entries.push(above(TOP.to_owned(), level));
        }
    }

    fn tree(&self) -> Result<SwitchTree, InputError> {
        let parents = self.parents()?;
        let order = children_first(&parents).map_err(|error| {
            let (index, actual, expected) =
                error.described(|index| self.entries[index].name.clone());
            self.error(self.entries[index].line, actual, &expected)
        })?;
        let mut new_position = vec![0; order.len()];
        for (position, &index) in order.iter().enumerate() {
            new_position[index] = position;
        }
        let switch = |&index: &usize| Switch {
            name: self.entries[index].name.clone(),
            parent: parents[index].map(|parent| new_position[parent]),
            uplink: None,
        };
        let switches = order.iter().map(switch).collect();
        let mut seen = BTreeMap::new();
        let mut nodes = Vec::new();
        for (index, entry) in self.entries.iter().enumerate() {
            for name in &entry.nodes {
                if let Some(first) = seen.insert(name, &entry.name) {
                    let actual = format!("node `{name}`, which is at `{first}` already");
                    return Err(self.error(entry.line, actual, "every node at one switch"));
                }
                nodes.push((name.clone(), Some(new_position[index])));
            }
        }
        if nodes.is_empty() || nodes.len() > hostlist::MOST_NAMES {
            let actual = format!("{} nodes", nodes.len());
            let expected = format!("1 to {} nodes at switches", hostlist::MOST_NAMES);
            return Err(InputError::new(self.file, actual, expected));
        }
        Ok(SwitchTree { switches, nodes })
    }

    /// The switch above each entry; positions in `entries`.
    fn parents(&self) -> Result<Vec<Option<usize>>, InputError> {
        let mut positions = BTreeMap::new();
        for (index, entry) in self.entries.iter().enumerate() {
            if positions.insert(entry.name.as_str(), index).is_some() {
                let actual = format!("a second `{}`", entry.name);
                return Err(self.error(entry.line, actual, "every switch and block once"));
            }
        }
        let mut parents: Vec<Option<usize>> = vec![None; self.entries.len()];
        for (index, entry) in self.entries.iter().enumerate() {
            for child in &entry.below {
                let Some(&position) = positions.get(child.as_str()) else {
                    let actual = format!("`{child}`, which is not a switch of this file");
                    return Err(self.error(entry.line, actual, "the SwitchName of another line"));
                };
                if let Some(first) = parents[position].replace(index) {
                    let first = &self.entries[first].name;
                    let actual = format!("`{child}`, which is below `{first}` already");
                    return Err(self.error(entry.line, actual, "at most one switch above each"));
                }
            }
        }
        Ok(parents)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(tree: &SwitchTree) -> Vec<(&str, Option<&str>)> {
        let name = |index: usize| tree.switches[index].name.as_str();
        tree.switches.iter().map(|s| (s.name.as_str(), s.parent.map(name))).collect()
    }

    #[test]
    fn a_tree_is_read_whatever_the_order_of_its_lines() {
        let text = "# tree\nSwitchName=top Switches=s[0-1] LinkSpeed=100\n\
            switchname=s0 NODES=n[0-1],x\nSwitchName=s1 \\\n  Nodes=n2 # leaf\n";
        assert!(sniff(text));
        let tree = parse(text, "topology.conf").unwrap();
        assert_eq!(listed(&tree), [("s0", Some("top")), ("s1", Some("top")), ("top", None)]);
        let nodes: Vec<_> =
            tree.nodes.iter().map(|(name, at)| (name.as_str(), at.unwrap())).collect();
        assert_eq!(nodes, [("n0", 0), ("n1", 0), ("x", 0), ("n2", 1)]);
    }

    #[test]
    fn the_output_of_scontrol_is_read() {
        // From Slurm 22.05.
        let text = "SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[0-1]\n\
            SwitchName=s1 Level=0 LinkSpeed=1 Nodes=f0\n\
            SwitchName=top Level=1 LinkSpeed=1 Nodes=f0,n[0-1] Switches=s[0-1]\n";
        let tree = parse(text, "-").unwrap();
        assert_eq!(listed(&tree), [("s0", Some("top")), ("s1", Some("top")), ("top", None)]);
        assert_eq!(tree.nodes.len(), 3);
    }

    #[test]
    fn blocks_are_joined_as_their_sizes_say() {
        let text = "BlockName=a Nodes=n[0-1]\nBlockName=b Nodes=n[2-3]\nBlockName=c Nodes=n[4-5]\n\
            BlockSizes=2,4\n";
        let tree = parse(text, "topology.conf").unwrap();
        assert_eq!(
            listed(&tree),
            [
                ("a", Some("block-4-0")),
                ("b", Some("block-4-0")),
                ("c", Some("block-4-1")),
                ("block-4-0", Some(TOP)),
                ("block-4-1", Some(TOP)),
                (TOP, None)
            ]
        );
        let single = parse("BlockSizes=4\nBlockName=a Nodes=n[0-3]", "topology.conf").unwrap();
        assert_eq!(listed(&single), [("a", None)]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_a_tree_or_an_error(
            text in "((SwitchName|BlockName|Nodes|Switches|BlockSizes)=|[a-c0-2=#\\[\\]\\-, \n]){0,30}"
        ) {
            if let Ok(tree) = parse(&text, "t") {
                let behind = |(index, switch): (usize, &Switch)| switch.parent.is_none_or(|p| p > index);
                assert!(tree.switches.iter().enumerate().all(behind), "{tree:?}");
                assert!(tree.nodes.iter().all(|(_, at)| at.unwrap() < tree.switches.len()));
            }
        }
    }

    #[test]
    fn texts_that_are_not_trees_are_refused() {
        for (text, part) in [
            ("SwitchName=a Nodes=n0\nSwitchName=a Nodes=n1", ":2: found a second `a`"),
            ("SwitchName=a Switches=b", ":1: found `b`, which is not a switch"),
            (
                "SwitchName=a Nodes=n0\nSwitchName=b Nodes=n0",
                ":2: found node `n0`, which is at `a`",
            ),
            ("SwitchName=a Switches=b\nSwitchName=b Switches=a", "below itself"),
            (
                "SwitchName=c Nodes=n0\nSwitchName=a Switches=c\nSwitchName=b Switches=c",
                ":3: found `c`, which is below `a` already",
            ),
            ("SwitchName=a", "0 nodes"),
            ("", "0 nodes"),
            ("SwitchName=a Nodes=n[0-", "Nodes"),
            ("SwitchName=a[0-1] Nodes=n0", "several names"),
            ("SwitchName=a Ports=3", "unknown field `Ports=3`"),
            ("Nodes=n0", "without a name"),
            ("SwitchName=a nodes", "found `nodes`"),
            ("BlockSizes=0\nBlockName=a Nodes=n0", "numbers of nodes"),
            (
                "BlockName=all-blocks Nodes=n0\nBlockName=b Nodes=n1",
                ":2: found a second `all-blocks`",
            ),
        ] {
            let error = parse(text, "t").map(|_| text).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
