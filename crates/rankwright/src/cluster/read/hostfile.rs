//! Hostfiles of MPI launchers: those of Open MPI (`n0 slots=4 max_slots=8`), those of Hydra for MPICH
//! and Intel MPI (`n0:4`), and plain lists with a host or hostlist per line, in which batch systems
//! repeat a host for each of its slots.

use std::collections::BTreeMap;

use crate::cluster::{Cluster, ClusterDescription, ClusterError, Node, NodeGroup, hostlist};
use crate::files::InputError;

/// What a file must be, for error messages.
pub const EXPECTED: &str = "a hostfile with lines like `n0`, `n0 slots=4` or `n0:4`";

/// The most host names of a file; batch systems repeat a host for each of its slots.
const MOST_LINES: usize = 100 * hostlist::MOST_NAMES;

/// Fields of Open MPI and Hydra that have no meaning for a placement.
const IGNORED: [&str; 6] = ["binding", "ifname", "map", "port", "user", "username"];

/// A host of a hostfile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// The host name.
    pub name: String,
    /// The number of processes it takes, from 1; `None` if the file has no number.
    pub slots: Option<u32>,
}

/// Reads the text of a hostfile; `file` names it in errors. Each host is in the result once, at its
/// first position; slots of one host add up.
///
/// # Errors
/// If a line is not a host with known fields, or the number of hosts is 0 or above
/// [`hostlist::MOST_NAMES`]; the error has the line.
pub fn parse(text: &str, file: &str) -> Result<Vec<Host>, InputError> {
    let mut hosts: Vec<Host> = Vec::new();
    // By host: its position, and the number of lines that name it without slots.
    let mut entries: BTreeMap<String, (usize, u32)> = BTreeMap::new();
    let (mut named, mut last) = (0, 0);
    for (index, line) in text.lines().enumerate() {
        let wrong = |actual: String| InputError::new(file, actual, EXPECTED).at_line(index + 1);
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let (names, slots) = parse_line(line).map_err(wrong)?;
        last = index + 1;
        named += names.len();
        if named > MOST_LINES {
            return Err(wrong(format!("hosts named more than {MOST_LINES} times")));
        }
        for name in names {
            let (position, bare) = *entries.entry(name.clone()).or_insert_with(|| {
                hosts.push(Host { name: name.clone(), slots: None });
                (hosts.len() - 1, 0)
            });
            if hosts.len() > hostlist::MOST_NAMES {
                return Err(wrong(format!("more than {} hosts", hostlist::MOST_NAMES)));
            }
            let host = &mut hosts[position];
            // Each further line without a number is one more slot.
            let more = slots.or((bare > 0 || host.slots.is_some()).then_some(1));
            if let Some(more) = more {
                let before = host.slots.unwrap_or(bare);
                host.slots = Some(before.saturating_add(more));
            }
            entries.insert(name, (position, if slots.is_none() { bare + 1 } else { bare }));
        }
    }
    if hosts.is_empty() {
        return Err(InputError::new(file, "no host", EXPECTED));
    }
    // No host of a cluster is called 0.
    if hosts.iter().all(|host| host.name.bytes().all(|byte| byte.is_ascii_digit())) {
        let found =
            "only numbers, as in a rank order (MPICH_RANK_ORDER), which `rankwright lint` reads";
        return Err(InputError::new(file, found, EXPECTED).at_line(last));
    }
    // If some host is repeated for its slots, a host that is not repeated has one slot.
    let once_for_each_slot = entries.values().any(|(_, bare)| *bare > 1);
    for (position, bare) in entries.into_values() {
        if once_for_each_slot && bare == 1 && hosts[position].slots.is_none() {
            hosts[position].slots = Some(1);
        }
    }
    Ok(hosts)
}

/// The host names and the slots of a line; the error is what was found instead.
fn parse_line(line: &str) -> Result<(Vec<String>, Option<u32>), String> {
    // Blanks around `=` are allowed. The user name before `@` is ignored.
    let joined =
        line.replace([' ', '\t'], " ").split('=').map(str::trim).collect::<Vec<_>>().join("=");
    let mut words = joined.split_whitespace();
    let first = words.next().unwrap_or_default();
    let first = first.rsplit_once('@').map_or(first, |(_, host)| host);
    if first.starts_with(['^', '+']) {
        return Err(format!("`{first}`: hosts excluded from, or relative to, an allocation"));
    }
    let (names, mut slots) = match first.rsplit_once(':') {
        Some((names, count)) => (names, Some(number(first, count)?)),
        None => (first, None),
    };
    let names = hostlist::expand(names).map_err(|error| error.found)?;
    for word in words {
        let Some((key, value)) = word.split_once('=') else {
            return Err(format!("`{word}` after a host"));
        };
        match key.to_ascii_lowercase().replace('-', "_").as_str() {
            "slots" | "slot" | "cpu" | "cpus" | "count" => slots = Some(number(word, value)?),
            // A limit on oversubscription; ranks do not share cores here.
            "max_slots" | "slots_max" | "max" => {
                number(word, value)?;
            }
            key if IGNORED.contains(&key) => {}
            _ => return Err(format!("the unknown field `{word}`")),
        }
    }
    Ok((names, slots))
}

fn number(word: &str, value: &str) -> Result<u32, String> {
    let number = value.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| format!("`{word}`, where `{value}` is not a number from 1"))
}

/// Why hosts cannot be made a cluster with the hardware of another one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostsError {
    /// The node type of this host is unknown: the other cluster does not have the host, and has
    /// several node types.
    #[error("the host `{0}` is unknown, and there are several node types")]
    UnknownType(String),
    /// The hosts, or the switches above them, contradict each other.
    #[error(transparent)]
    Invalid(#[from] ClusterError),
}

/// The cluster of these hosts, in the given order, with hardware, rates and switches of `like`: those of
/// the node of that name, else those of the only node type. Switches above none of the hosts are
/// left out. Of a host with fewer slots than free cores, only the first free cores (L#) stay free.
///
/// # Errors
/// If a host is not in `like`, which has several node types; or if hosts have names that are not
/// valid or not unique, which [`parse`] refuses.
pub fn cluster(like: &Cluster, hosts: &[Host]) -> Result<Cluster, HostsError> {
    Ok(describe(like, hosts)?.build()?)
}

/// The part of a cluster that has only the nodes of these names, in the given order.
///
/// # Errors
/// As [`cluster()`].
pub fn part<'a>(
    whole: &Cluster,
    names: impl IntoIterator<Item = &'a str>,
) -> Result<Cluster, HostsError> {
    let hosts = names.into_iter().map(|name| Host { name: name.to_owned(), slots: None });
    let mut part = describe(whole, &hosts.collect::<Vec<_>>())?;
    part.invented = whole.invented;
    Ok(part.build()?)
}

/// The hosts with more slots than the node of that name in `described` has PUs, with the number of its
/// PUs: the file and the description contradict each other. `described` is what [`cluster`] made of them.
#[must_use]
pub fn too_many_slots<'a>(described: &Cluster, hosts: &'a [Host]) -> Vec<(&'a Host, usize)> {
    let pus = |group: usize| described.groups[group].machine.pus.len();
    let with_pus = hosts.iter().zip(&described.nodes).map(|(host, node)| (host, pus(node.group)));
    with_pus.filter(|(host, pus)| host.slots.is_some_and(|slots| slots as usize > *pus)).collect()
}

/// As [`cluster`], not yet built.
pub(super) fn describe(like: &Cluster, hosts: &[Host]) -> Result<ClusterDescription, HostsError> {
    let names = NodesByName::new(like);
    let mut description = ClusterDescription {
        name: like.name.clone(),
        emulated: like.emulated,
        invented: false,
        rates: like.rates.clone(),
        groups: Vec::new(),
        nodes: Vec::with_capacity(hosts.len()),
        switches: like.switches.clone(),
    };
    // Group of `like` and number of slots, with the group they became.
    let mut limits: BTreeMap<(usize, Option<u32>), usize> = BTreeMap::new();
    for host in hosts {
        let node = names.find(&host.name).map(|index| &like.nodes[index]);
        let group = match node {
            Some(node) => node.group,
            None if like.groups.len() == 1 => 0,
            None => return Err(HostsError::UnknownType(host.name.clone())),
        };
        let switch = node.and_then(|node| node.switch);
        let group = *limits
            .entry((group, host.slots))
            .or_insert_with(|| description.group_index(limited(&like.groups[group], host.slots)));
        description.nodes.push(Node { name: host.name.clone(), group, switch });
    }
    drop_empty_switches(&mut description);
    Ok(description)
}

/// Removes the switches above no node.
fn drop_empty_switches(description: &mut ClusterDescription) {
    let ClusterDescription { nodes, switches, .. } = description;
    let mut used = vec![false; switches.len()];
    nodes.iter().filter_map(|node| node.switch).for_each(|switch| used[switch] = true);
    // Every parent stands behind its children.
    for (index, switch) in switches.iter().enumerate() {
        if let (true, Some(parent)) = (used[index], switch.parent) {
            used[parent] = true;
        }
    }
    let mut count = 0;
    let position: Vec<usize> = used
        .iter()
        .map(|used| {
            count += usize::from(*used);
            count.saturating_sub(1)
        })
        .collect();
    let mut kept = used.iter();
    switches.retain(|_| kept.next().is_some_and(|used| *used));
    for switch in switches {
        switch.parent = switch.parent.map(|parent| position[parent]);
    }
    for node in nodes {
        node.switch = node.switch.map(|switch| position[switch]);
    }
}

/// The group with only the first `slots` of its free cores (L#) free.
pub(super) fn limited(group: &NodeGroup, slots: Option<u32>) -> NodeGroup {
    let mut group = group.clone();
    let most = slots.map_or(usize::MAX, |slots| slots as usize);
    let mut last = None;
    let mut cores = 0;
    for (pu, free) in group.machine.pus.iter().zip(&mut group.free) {
        if *free && last != Some(pu.core) {
            last = Some(pu.core);
            cores += 1;
        }
        *free = *free && cores <= most;
    }
    group
}

/// Positions of the nodes of a cluster, by name and by the first label of it.
struct NodesByName<'a> {
    full: BTreeMap<&'a str, usize>,
    /// `None` for a label that several nodes share.
    first_label: BTreeMap<&'a str, Option<usize>>,
}

impl<'a> NodesByName<'a> {
    fn new(cluster: &'a Cluster) -> Self {
        let mut names = Self { full: BTreeMap::new(), first_label: BTreeMap::new() };
        for (index, node) in cluster.nodes.iter().enumerate() {
            names.full.insert(&node.name, index);
            let entry = names.first_label.entry(hostlist::first_label(&node.name));
            entry.and_modify(|position| *position = None).or_insert(Some(index));
        }
        names
    }

    fn find(&self, host: &str) -> Option<usize> {
        let short = || self.first_label.get(hostlist::first_label(host)).copied().flatten();
        self.full.get(host).copied().or_else(short)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::read::synthetic;

    fn hosts(text: &str) -> Vec<(String, Option<u32>)> {
        let hosts = parse(text, "hosts").unwrap();
        hosts.into_iter().map(|host| (host.name, host.slots)).collect()
    }

    fn host(name: &str, slots: Option<u32>) -> (String, Option<u32>) {
        (name.to_owned(), slots)
    }

    #[test]
    fn the_files_of_all_launchers_are_read() {
        let openmpi = "# nodes\nn0 slots=4 max_slots=8\n\nn1  slots=2 # half\nn0 slots=1\n";
        assert_eq!(hosts(openmpi), [host("n0", Some(5)), host("n1", Some(2))]);
        let hydra = "n0:4 ifname=eth0\nn1:2 user=me";
        assert_eq!(hosts(hydra), [host("n0", Some(4)), host("n1", Some(2))]);
        assert_eq!(hosts("n[1-2]\nlogin\r\n"), ["n1", "n2", "login"].map(|name| host(name, None)));
        let batch = "n0\nn0\nn0\nn1";
        assert_eq!(hosts(batch), [host("n0", Some(3)), host("n1", Some(1))]);
        assert_eq!(hosts("n0\nn0 slots=2"), [host("n0", Some(3))]);
        assert_eq!(hosts("me@n0 slots = 2"), [host("n0", Some(2))]);
    }

    #[test]
    fn other_lines_are_named() {
        for (text, part) in [
            ("", "no host"),
            ("n0\nn1 slots=0", "hosts:2: found `slots=0`"),
            ("n0:x", "`x` is not a number"),
            ("n0 rack=3", "unknown field `rack=3`"),
            ("n0 n1", "`n1` after a host"),
            ("^n0", "excluded"),
            ("+n2", "excluded"),
            ("n[0-999999]", "more than 100000 names"),
            ("n[1-60000]\nm[1-60000]", "hosts:2: found more than 100000 hosts"),
            ("name = \"x\"", "hosts:1: "),
            ("0,4,1,5\n", "rank order (MPICH_RANK_ORDER)"),
        ] {
            let error = parse(text, "hosts").map(|_| text).expect_err(text);
            assert!(error.to_string().contains(part), "{text}: {error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_a_list_or_an_error(text in "([a-c0-2:=#^\\[\\]\\-, \n]|slots|max_slots){0,40}") {
            match parse(&text, "hosts") {
                Ok(hosts) => assert!(!hosts.is_empty()),
                Err(error) => assert!(error.line.is_some() || error.found == "no host"),
            }
        }
    }

    #[test]
    fn hosts_get_their_hardware_by_name_or_from_the_only_type() {
        let list = parse("b slots=1\nnew slots=9\na", "hosts").unwrap();
        let cluster = super::cluster(&one_type().build().unwrap(), &list).unwrap();
        let nodes: Vec<_> = cluster.nodes.iter().map(|n| (n.name.as_str(), n.group)).collect();
        assert_eq!(nodes, [("b", 0), ("new", 1), ("a", 1)]);
        assert_eq!(cluster.groups[0].free, [true, true, false, false]);
        assert_eq!(cluster.groups[1].free, [true; 4]);

        let two_types = two_types().build().unwrap();
        let unknown = HostsError::UnknownType("new".to_owned());
        assert_eq!(super::cluster(&two_types, &list), Err(unknown));
        let cluster = super::cluster(&two_types, &list[..1]).unwrap();
        assert_eq!(cluster.groups[0].machine.cores.len(), 8);
        assert_eq!(cluster.groups[0].free.iter().filter(|free| **free).count(), 1);
    }

    #[test]
    fn more_slots_than_pus_are_a_contradiction() {
        let list = parse("a slots=4\nb slots=5\nc\nd slots=16", "hosts").unwrap();
        let cluster = super::cluster(&one_type().build().unwrap(), &list).unwrap();
        let told = too_many_slots(&cluster, &list);
        let told: Vec<_> = told.into_iter().map(|(host, pus)| (host.name.as_str(), pus)).collect();
        assert_eq!(told, [("b", 4), ("d", 4)]);
    }

    #[test]
    fn switches_above_no_host_are_left_out() {
        let mut description = two_types();
        let switch = |name: &str, parent| crate::cluster::Switch {
            name: name.to_owned(),
            parent,
            uplink: None,
        };
        description.switches =
            vec![switch("a", Some(2)), switch("b", Some(2)), switch("top", None)];
        description.nodes[0].switch = Some(0);
        description.nodes[1].switch = Some(1);
        let list = parse("b", "hosts").unwrap();
        let cluster = super::cluster(&description.build().unwrap(), &list).unwrap();
        let left: Vec<_> = cluster.switches.iter().map(|s| (s.name.as_str(), s.parent)).collect();
        assert_eq!(left, [("b", Some(1)), ("top", None)]);
        assert_eq!(cluster.nodes[0].switch, Some(0));
    }

    #[test]
    fn hosts_that_no_reader_lets_through_are_refused() {
        let host = |name: &str| Host { name: name.to_owned(), slots: None };
        let like = one_type().build().unwrap();
        for hosts in [vec![host("n 0")], vec![host("n0"), host("n0")], vec![]] {
            let error = super::cluster(&like, &hosts);
            assert!(matches!(error, Err(HostsError::Invalid(_))), "{error:?}");
        }
    }

    /// Nodes a.site and b.site of two cores.
    fn one_type() -> ClusterDescription {
        let names = ["a.site", "b.site"].map(str::to_owned).to_vec();
        let machine = synthetic::parse("core:2 pu:2").unwrap();
        ClusterDescription::uniform("c", names, NodeGroup::all_free(machine))
    }

    /// Node b.site has eight cores.
    fn two_types() -> ClusterDescription {
        let mut description = one_type();
        let machine = synthetic::parse("core:8 pu:1").unwrap();
        description.groups.push(NodeGroup::all_free(machine));
        description.nodes[1].group = 1;
        description
    }
}
