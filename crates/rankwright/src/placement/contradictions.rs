//! Checks a placement file for contradictions, and names that are none, that do not depend on the cluster.

use std::collections::HashMap;

use super::file::{NodeEntry, PlacementFile, RankEntry};
use crate::cluster::hostlist::is_host_name;
use crate::files::InputError;
use crate::ids::{CoreId, PuId, Rank};

const ADVICE: &str = "the placement contradicts itself, make it again with `rankwright place`";

/// Refuses a file that contradicts itself; `name` is the file in the error.
pub(super) fn refuse(file: &PlacementFile, name: &str) -> Result<(), InputError> {
    let mut nodes: HashMap<&str, &NodeEntry> = HashMap::new();
    for node in &file.nodes {
        if !is_host_name(&node.name) {
            let found = format!("node `{}`", node.name);
            let expected = "a host name: letters, digits, `-`, `_` and `.`, at most 255";
            return Err(InputError::new(name, found, expected).in_field("nodes"));
        }
        if nodes.insert(&node.name, node).is_some() {
            let actual = format!("node `{}` twice", node.name);
            let error = InputError::new(name, actual, "every node once");
            return Err(error.in_field("nodes").with_advice(ADVICE));
        }
    }
    let mut taken = Taken::default();
    for job in &file.jobs {
        for (index, entry) in job.ranks.iter().enumerate() {
            let wrong = |(actual, expected): (String, String)| {
                let field = format!("jobs \"{}\" rank {index}", job.name);
                InputError::new(name, actual, expected).in_field(field).with_advice(ADVICE)
            };
            if entry.rank.index() != index {
                let expected = format!("rank {index}");
                return Err(wrong((format!("rank {}", entry.rank), expected)));
            }
            let node = nodes.get(entry.node.as_str()).ok_or_else(|| {
                wrong((format!("node `{}`", entry.node), "a node of `nodes`".to_owned()))
            })?;
            check_rank(entry, node).map_err(wrong)?;
            taken.add(entry, node).map_err(wrong)?;
        }
    }
    Ok(())
}

/// What was found, and what was expected.
type Contradiction = (String, String);

/// Checks a rank against its node.
fn check_rank(entry: &RankEntry, node: &NodeEntry) -> Result<(), Contradiction> {
    let wrong = |actual: String, expected: String| Err((actual, expected));
    if entry.cores.is_empty() || entry.pus.is_empty() {
        let actual = if entry.cores.is_empty() { "no core" } else { "no PU" };
        return wrong(actual.to_owned(), "at least one".to_owned());
    }
    if let Some(core) = entry.cores.iter().find(|core| core.0 >= node.cores) {
        return wrong(format!("core L#{core}"), format!("an L# below {}", node.cores));
    }
    if let Some(pair) = entry.cores.windows(2).find(|pair| pair[0] >= pair[1]) {
        let actual = format!("core L#{} after L#{}", pair[1], pair[0]);
        return wrong(actual, "ascending cores, each once".to_owned());
    }
    if let Some(numa) = entry.numa.filter(|numa| numa.index() >= node.numa_os.len()) {
        return wrong(format!("NUMA node L#{numa}"), "a NUMA node of the node".to_owned());
    }
    for (names, devices, what) in
        [(&entry.nics, &node.nics, "network device"), (&entry.gpus, &node.gpus, "GPU")]
    {
        let is_known = |name: &str| devices.iter().any(|device| device.is_called(name));
        if let Some(foreign) = names.iter().find(|name| !is_known(name)) {
            let listed: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
            let expected = if listed.is_empty() {
                format!("none, because `nodes` lists no {what} of {}", node.name)
            } else {
                format!("a {what} of {} in `nodes`: {}", node.name, listed.join(", "))
            };
            return wrong(format!("{what} `{foreign}`"), expected);
        }
    }
    Ok(())
}

/// Hardware of the bound ranks so far, by host name.
#[derive(Default)]
struct Taken<'a> {
    pus: HashMap<(&'a str, PuId), Rank>,
    cores: HashMap<(&'a str, CoreId), Rank>,
}

impl<'a> Taken<'a> {
    fn add(&mut self, entry: &'a RankEntry, node: &NodeEntry) -> Result<(), Contradiction> {
        if !entry.bound {
            return Ok(());
        }
        for &pu in &entry.pus {
            if let Some(first) = self.pus.insert((&entry.node, pu), entry.rank) {
                let actual = format!("PU P#{pu} of {}, which rank {first} has", entry.node);
                return Err((actual, "a PU that no other rank has".to_owned()));
            }
        }
        // Ranks may share a core with several PUs, each on its own PU.
        for &core in entry.cores.iter().filter(|_| node.cores == node.pus) {
            if let Some(first) = self.cores.insert((&entry.node, core), entry.rank) {
                let actual = format!("core L#{core} of {}, which rank {first} has", entry.node);
                return Err((
                    actual,
                    "a core that no other rank has, because every core has one PU".to_owned(),
                ));
            }
        }
        Ok(())
    }
}
