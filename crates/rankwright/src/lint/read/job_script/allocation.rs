//! The hosts of a job, and the ranks that each is meant to have.

use std::collections::{BTreeMap, BTreeSet};

use crate::cluster::hostlist;
use crate::files::InputError;
use crate::lint::{Reading, Source, traps};
use crate::units::counted;

/// A host of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Granted {
    pub(super) name: String,
    /// The ranks that it is meant to have.
    pub(super) slots: usize,
}

/// The hosts of a job, in the order in which its batch system lists them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Allocation {
    pub(super) hosts: Vec<Granted>,
    /// What a slot is called: `task`.
    pub(super) slot: &'static str,
    /// The word that stands for the batch system's own list of hosts: `$PBS_NODEFILE`.
    pub(super) list: Option<&'static str>,
}

impl Allocation {
    /// All slots; `usize::MAX` if there are more.
    pub(super) fn slots(&self) -> usize {
        self.hosts.iter().fold(0, |sum, host| sum.saturating_add(host.slots))
    }

    /// `4 tasks of the job`.
    pub(super) fn counted(&self, slots: usize) -> String {
        let plural = if slots == 1 {
            ""
        } else if self.slot.ends_with('s') {
            "es"
        } else {
            "s"
        };
        format!("{slots} {}{plural} of the job", self.slot)
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.hosts.iter().map(|host| host.name.clone()).collect()
    }
}

/// The names of `wanted` nodes of a job that names none: those of `--nodelist` in `--launcher-args`, or
/// the first ones of the cluster that are not `taken`; without a cluster, made-up names stand for them.
pub(super) fn unnamed(
    source: &Source<'_>,
    wanted: usize,
    taken: &BTreeSet<String>,
    reading: &mut Reading,
) -> Result<Vec<String>, InputError> {
    if wanted == 0 {
        return Ok(Vec::new());
    }
    if let Some(list) = source.arguments.value(&["--nodelist"]) {
        let names = hostlist::expand(list)
            .map_err(|error| source.wrong_argument(&error.found, &error.expected))?;
        if names.len() != wanted {
            let found = format!("--nodelist of {}", counted(names.len(), "node"));
            return Err(source.wrong_argument(&found, &format!("the {wanted} of the job")));
        }
        return Ok(names);
    }
    let Some(cluster) = source.machines.cluster() else {
        reading.notes.push(format!(
            "the job names no nodes: {} for them; --on CLUSTER gives names and PUs",
            match wanted {
                1 => "node0 stands".to_owned(),
                _ => format!("node0 to node{} stand", wanted - 1),
            }
        ));
        return Ok((0..wanted).map(|node| format!("node{node}")).collect());
    };
    let free = cluster.nodes.iter().map(|node| &node.name).filter(|name| !taken.contains(*name));
    let names: Vec<String> = free.take(wanted).cloned().collect();
    let has = cluster.nodes.len();
    if names.len() < wanted {
        let found = format!("a job on {}", counted(wanted + taken.len(), "node"));
        let expected = format!("at most the {} of {}", counted(has, "node"), cluster.name);
        let advice = "if it has others: --nodelist=n[0-3] in --launcher-args; if this is the \
                      description of one node: --nodes NODES";
        return Err(source.wrong(None, &found, &expected).with_advice(advice));
    }
    if wanted < has {
        reading.notes.push(format!(
            "the job names no nodes: taken are the first {wanted} of the {has} nodes of `{}`; name others with \
             --nodes or --nodelist (in --launcher-args)",
            cluster.name
        ));
    }
    Ok(names)
}

/// Warns of nodes below more switches than necessary; `line` names them, and `remedy` makes a text of the
/// number of switches that would do.
pub(super) fn warn_of_switches(
    source: &Source<'_>,
    nodes: &[String],
    line: Option<usize>,
    remedy: impl Fn(usize) -> String,
    reading: &mut Reading,
) {
    let machines = source.machines;
    let Some(cluster) = machines.cluster() else { return };
    let switch = |name: &String| cluster.nodes[machines.find(name)?.index()].switch;
    let Some(switches) = nodes.iter().map(switch).collect::<Option<Vec<usize>>>() else { return };
    let used: BTreeSet<usize> = switches.iter().copied().collect();
    let mut sizes: BTreeMap<usize, usize> = BTreeMap::new();
    for switch in cluster.nodes.iter().filter_map(|node| node.switch) {
        *sizes.entry(switch).or_default() += 1;
    }
    let mut sizes: Vec<usize> = sizes.into_values().collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let mut left = nodes.len();
    let needed = sizes.iter().take_while(|size| {
        let more = left > 0;
        left = left.saturating_sub(**size);
        more
    });
    let needed = needed.count();
    warn_of_order(&switches, used.len(), line, reading);
    if used.len() > needed {
        let text = format!(
            "the {} of the job are below {}, but {needed} would do; {}",
            counted(nodes.len(), "node"),
            counted(used.len(), "switch").replace("switchs", "switches"),
            remedy(needed)
        );
        reading.warn(&traps::SWITCHES, line, text);
    }
}

/// Warns of nodes, each by its switch, whose order returns to a switch that it has left.
fn warn_of_order(switches: &[usize], used: usize, line: Option<usize>, reading: &mut Reading) {
    let runs = switches.chunk_by(|one, next| one == next).count();
    if runs > used {
        let text = format!(
            "in the order of their names the nodes of the job go {} times from one switch to another, where {} would \
             do: ranks that follow each other are below different switches; `rankwright place` orders them",
            runs - 1,
            used - 1
        );
        reading.warn(&traps::SWITCH_ORDER, line, text);
    }
}
