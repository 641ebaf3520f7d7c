//! One cluster from several: the node types of a mixed cluster, described one by one.

use std::collections::BTreeMap;

use super::{Cluster, ClusterDescription, hostlist};
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
