//! One cluster of several: the node types of a mixed cluster, described one by one.

use std::collections::BTreeMap;

use super::{Cluster, hostlist};
use crate::files::InputError;

/// Puts the nodes and switches of all parts into one cluster, in their order; each part has the name
/// of where it comes from, for errors. Name and rates are those of the first part.
///
/// # Errors
/// If two parts have a node or a switch of one name, some cores exist and others do not, or there
/// are too many nodes.
///
/// # Panics
/// If there is no part.
pub fn merge(parts: Vec<(String, Cluster)>) -> Result<Cluster, InputError> {
    let mut nodes: BTreeMap<String, usize> = BTreeMap::new();
    let mut switches: BTreeMap<String, usize> = BTreeMap::new();
    let sources: Vec<String> = parts.iter().map(|(source, _)| source.clone()).collect();
    let mut all: Option<Cluster> = None;
    for (index, (source, part)) in parts.into_iter().enumerate() {
        let twice = |kind: &str, name: &str, first: usize| {
            let found = format!("the {kind} `{name}`, which {} has already", sources[first]);
            InputError::new(&source, found, format!("every {kind} in one of the parts"))
        };
        for node in &part.nodes {
            if let Some(first) = nodes.insert(node.name.clone(), index) {
                return Err(twice("node", &node.name, first));
            }
        }
        for switch in &part.switches {
            if let Some(first) = switches.insert(switch.name.clone(), index) {
                return Err(twice("switch", &switch.name, first));
            }
        }
        let Some(all) = &mut all else {
            all = Some(part);
            continue;
        };
        if part.emulated != all.emulated {
            let found = format!("`emulated = {}`", part.emulated);
            let expected = format!("{}, as in {}", all.emulated, sources[0]);
            return Err(InputError::new(&source, found, expected));
        }
        add(all, part);
    }
    let all = all.expect("at least one part");
    if all.nodes.len() > hostlist::MOST_NAMES {
        let expected = format!("at most {}", hostlist::MOST_NAMES);
        let last = sources.last().map_or("", String::as_str);
        let found = format!("{} nodes in all parts", all.nodes.len());
        return Err(InputError::new(last, found, expected));
    }
    Ok(all)
}

/// Adds a part whose names are all new; types that are equal become one.
fn add(all: &mut Cluster, part: Cluster) {
    let before = all.switches.len();
    let mut groups = Vec::with_capacity(part.groups.len());
    for group in part.groups {
        let same = all.groups.iter().position(|known| *known == group);
        groups.push(same.unwrap_or_else(|| {
            all.groups.push(group);
            all.groups.len() - 1
        }));
    }
    for mut switch in part.switches {
        switch.parent = switch.parent.map(|parent| before + parent);
        all.switches.push(switch);
    }
    for mut node in part.nodes {
        node.group = groups[node.group];
        node.switch = node.switch.map(|switch| before + switch);
        all.nodes.push(node);
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
