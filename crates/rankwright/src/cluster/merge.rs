//! One cluster from several: the node types of a mixed cluster, described one by one.

use std::collections::BTreeMap;

use super::{Cluster, ClusterDescription, NodeGroup, NumaNode, hostlist};
use crate::files::InputError;

/// Puts the nodes and switches of all parts into one cluster, in the order of the parts. Each part
/// has the name of its source, for errors. Name and rates are those of the first part.
///
/// # Errors
/// If two parts have a node or a switch of the same name, some parts are emulated and others are not,
/// or there are more than [`hostlist::MOST_NAMES`] nodes.
///
/// # Panics
/// If there is no part.
pub fn merge(parts: Vec<(String, Cluster)>) -> Result<Cluster, InputError> {
    let sources: Vec<String> = parts.iter().map(|(source, _)| source.clone()).collect();
    let last = sources.last().map_or("", String::as_str);
    let mut names = Names::default();
    let mut merged: Option<ClusterDescription> = None;
    for (part, (source, cluster)) in parts.into_iter().enumerate() {
        names.add(&cluster, part, &sources)?;
        let Some(merged) = &mut merged else {
            merged = Some(cluster.into_description());
            continue;
        };
        if cluster.emulated != merged.emulated {
            let actual = format!("`emulated = {}`", cluster.emulated);
            let expected = format!("{}, as in {}", merged.emulated, sources[0]);
            return Err(InputError::new(&source, actual, expected));
        }
        append(merged, cluster.into_description());
    }
    let merged = merged.expect("at least one part");
    if merged.nodes.len() > hostlist::MOST_NAMES {
        let expected = format!("at most {}", hostlist::MOST_NAMES);
        return Err(InputError::new(
            last,
            format!("{} nodes in all parts", merged.nodes.len()),
            expected,
        ));
    }
    merged.build().map_err(|error| error.in_source(last))
}

/// As [`merge`], for descriptions of nodes that the nodes themselves gave: nodes whose memories differ
/// by at most `SAME_MEMORY` are of one type, with the smallest of them.
///
/// # Errors
/// As [`merge`].
///
/// # Panics
/// As [`merge`].
pub fn merge_discovered(parts: Vec<(String, Cluster)>) -> Result<Cluster, InputError> {
    let mut types: Vec<NodeGroup> = Vec::new();
    let mut type_of: Vec<Vec<usize>> = Vec::new();
    for (_, part) in &parts {
        let of_group = |group: &NodeGroup| {
            if let Some(at) = types.iter().position(|other| are_alike(other, group)) {
                keep_smaller_memories(&mut types[at], group);
                return at;
            }
            types.push(group.clone());
            types.len() - 1
        };
        type_of.push(part.groups.iter().map(of_group).collect());
    }
    let with_types = |((source, part), of_groups): ((String, Cluster), Vec<usize>)| {
        let mut description = part.into_description();
        description.groups = of_groups.into_iter().map(|at| types[at].clone()).collect();
        let part = description.build().map_err(|error| error.in_source(&source))?;
        Ok((source, part))
    };
    let parts = parts.into_iter().zip(type_of).map(with_types);
    merge(parts.collect::<Result<_, InputError>>()?)
}

/// The share by which memories of equal nodes may differ. The firmware and the kernel of each node keep
/// some of it for themselves, not the same everywhere.
const SAME_MEMORY: f64 = 0.01;

/// Whether nodes differ by nothing but a little memory.
fn are_alike(a: &NodeGroup, b: &NodeGroup) -> bool {
    if a == b {
        return true;
    }
    let (of_a, of_b) = (&a.machine.numa_nodes, &b.machine.numa_nodes);
    let close = |(a, b): (&NumaNode, &NumaNode)| match (a.memory, b.memory) {
        (Some(a), Some(b)) => {
            let (a, b) = (a.0 as f64, b.0 as f64);
            (a - b).abs() <= SAME_MEMORY * a.max(b)
        }
        (a, b) => a == b,
    };
    if of_a.len() != of_b.len() || !of_a.iter().zip(of_b).all(close) {
        return false;
    }
    let mut b = b.clone();
    for (numa, of_a) in b.machine.numa_nodes.iter_mut().zip(of_a) {
        numa.memory = of_a.memory;
    }
    *a == b
}

fn keep_smaller_memories(kept: &mut NodeGroup, other: &NodeGroup) {
    for (kept, other) in kept.machine.numa_nodes.iter_mut().zip(&other.machine.numa_nodes) {
        kept.memory = kept.memory.min(other.memory);
    }
}

/// The names of nodes and switches, each with the position of its part.
#[derive(Default)]
struct Names {
    nodes: BTreeMap<String, usize>,
    switches: BTreeMap<String, usize>,
}

impl Names {
    fn add(
        &mut self,
        cluster: &Cluster,
        part: usize,
        sources: &[String],
    ) -> Result<(), InputError> {
        let twice = |kind: &str, name: &str, first: usize| {
            let actual = format!("the {kind} `{name}`, which {} has already", sources[first]);
            InputError::new(&sources[part], actual, format!("every {kind} in one of the parts"))
        };
        for node in &cluster.nodes {
            if let Some(first) = self.nodes.insert(node.name.clone(), part) {
                return Err(twice("node", &node.name, first));
            }
        }
        for switch in &cluster.switches {
            if let Some(first) = self.switches.insert(switch.name.clone(), part) {
                return Err(twice("switch", &switch.name, first));
            }
        }
        Ok(())
    }
}

/// Appends a part whose names are all new; groups that are equal become one.
fn append(merged: &mut ClusterDescription, part: ClusterDescription) {
    let offset = merged.switches.len();
    let groups: Vec<usize> =
        part.groups.into_iter().map(|group| merged.group_index(group)).collect();
    for mut switch in part.switches {
        switch.parent = switch.parent.map(|parent| offset + parent);
        merged.switches.push(switch);
    }
    for mut node in part.nodes {
        node.group = groups[node.group];
        node.switch = node.switch.map(|switch| offset + switch);
        merged.nodes.push(node);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::cluster::read::toml;

    fn part(source: &str, text: &str) -> (String, Cluster) {
        (source.to_owned(), toml::parse(text, source, Path::new("")).unwrap())
    }

    #[test]
    fn parts_keep_their_nodes_types_and_switches() {
        let a = "[[node]]\nnames = \"a[0-1]\"\ntopology = \"4\"\n\
            [[switch]]\nname = \"s\"\nnodes = \"a[0-1]\"\n";
        let b = "[[node]]\nnames = \"c0\"\ntopology = \"2\"\n[[node]]\nnames = \"b0\"\n\
            topology = \"4\"\n[[switch]]\nname = \"t\"\nswitches = \"u\"\n\
            [[switch]]\nname = \"u\"\nnodes = \"b0\"\n";
        let merged = merge(vec![part("a", a), part("b", b)]).unwrap();
        let names: Vec<_> = merged.nodes.iter().map(|n| (n.name.as_str(), n.group)).collect();
        assert_eq!(names, [("a0", 0), ("a1", 0), ("c0", 1), ("b0", 0)]);
        let at = |node: usize| merged.nodes[node].switch.map(|s| merged.switches[s].name.as_str());
        assert_eq!((at(0), at(2), at(3)), (Some("s"), None, Some("u")));
        let above = merged.switches[1].parent.map(|s| merged.switches[s].name.as_str());
        assert_eq!((merged.switches[1].name.as_str(), above), ("u", Some("t")));
    }

    #[test]
    fn nodes_that_differ_by_a_little_memory_are_of_one_type() {
        let node = |name: &str, size: &str| {
            let text = format!(
                "[[node]]\nnames = \"{name}\"\ntopology = \"core:4 pu:1\"\nmemory = \"{size}\"\n"
            );
            part(name, &text)
        };
        let nodes = [
            ("a", "65536 MiB"),
            ("b", "65400 MiB"),
            ("c", "32768 MiB"),
            ("d", "65300 MiB"),
            ("e", "60000 MiB"),
        ];
        let merged = merge_discovered(nodes.map(|(name, size)| node(name, size)).into()).unwrap();
        let types: Vec<usize> = merged.nodes.iter().map(|node| node.group).collect();
        assert_eq!(types, [0, 0, 1, 0, 2]);
        let memory = |group: usize| merged.groups[group].machine.numa_nodes[0].memory;
        assert_eq!(memory(0), Some("65300 MiB".parse().unwrap()));
        assert_eq!(memory(1), Some("32768 MiB".parse().unwrap()));
    }

    #[test]
    fn names_that_collide_are_named_with_both_sources() {
        let a = "[[node]]\nnames = \"n[0-1]\"\ntopology = \"4\"\n[[switch]]\nname = \"s\"\n";
        let b = "[[node]]\nnames = \"n[1-2]\"\ntopology = \"4\"\n";
        let c = "[[node]]\nnames = \"m\"\ntopology = \"4\"\n[[switch]]\nname = \"s\"\n";
        let d = "emulated = true\n[[node]]\nnames = \"m\"\ntopology = \"4\"\n";
        for (other, wanted) in [
            (
                b,
                "two: found the node `n1`, which one has already, expected every node in one of the parts",
            ),
            (
                c,
                "two: found the switch `s`, which one has already, expected every switch in one of the parts",
            ),
            (d, "two: found `emulated = true`, expected false, as in one"),
        ] {
            let error = merge(vec![part("one", a), part("two", other)]).expect_err(wanted);
            assert_eq!(error.to_string(), wanted);
        }
    }
}
