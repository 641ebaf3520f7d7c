//! Lists of hosts as MPI launchers read them: Open MPI hostfiles (`n0 slots=4 max_slots=8`), Hydra
//! hostfiles of MPICH and Intel MPI (`n0:4`), and plain lists with one host or hostlist a line, as
//! batch systems write them (a host once for each of its slots).

use std::collections::BTreeMap;

use crate::cluster::{Cluster, NodeGroup, hostlist};
use crate::files::InputError;

/// What a file must be, for error messages.
pub const EXPECTED: &str = "a hostfile with lines like `n0`, `n0 slots=4` or `n0:4`";

/// How often hosts may be named in all; batch systems name a host once for each slot.
const MOST_LINES: usize = 100 * hostlist::MOST_NAMES;

/// What Open MPI and Hydra also say about a host and what does not matter here.
const PASSED_OVER: [&str; 6] = ["binding", "ifname", "map", "port", "user", "username"];

/// A host of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// How many processes it takes; `None` if the list does not say.
    pub slots: Option<u32>,
}

/// Reads the text of a file; `file` names it in errors. Every host is in the result once, where it
/// first stands; slots of the same host add up.
///
/// # Errors
/// If a line is no host with known fields, there is no host or more than
/// [`hostlist::MOST_NAMES`]; the error has the line.
pub fn parse(text: &str, file: &str) -> Result<Vec<Host>, InputError> {
    let mut hosts: Vec<Host> = Vec::new();
    // Position, and how often a line without slots named it.
    let mut known: BTreeMap<String, (usize, u32)> = BTreeMap::new();
    let mut named = 0;
    for (index, line) in text.lines().enumerate() {
        let wrong = |found: String| InputError::new(file, found, EXPECTED).at_line(index + 1);
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let (names, slots) = parse_line(line).map_err(wrong)?;
        named += names.len();
        if named > MOST_LINES {
            return Err(wrong(format!("hosts named more than {MOST_LINES} times")));
        }
        for name in names {
            let (position, bare) = *known.entry(name.clone()).or_insert_with(|| {
                hosts.push(Host { name: name.clone(), slots: None });
                (hosts.len() - 1, 0)
            });
            if hosts.len() > hostlist::MOST_NAMES {
                return Err(wrong(format!("more than {} hosts", hostlist::MOST_NAMES)));
            }
            let host = &mut hosts[position];
            // A host named twice without slots has two of them.
            let more = slots.or((bare > 0 || host.slots.is_some()).then_some(1));
            if let Some(more) = more {
                let before = host.slots.unwrap_or(bare);
                host.slots = Some(before.saturating_add(more));
            }
            known.insert(name, (position, if slots.is_none() { bare + 1 } else { bare }));
        }
    }
    if hosts.is_empty() {
        return Err(InputError::new(file, "no host", EXPECTED));
    }
    // Where hosts stand once for each slot, one that stands once has one slot.
    let once_for_each_slot = known.values().any(|(_, bare)| *bare > 1);
    for (position, bare) in known.into_values() {
        if once_for_each_slot && bare == 1 && hosts[position].slots.is_none() {
            hosts[position].slots = Some(1);
        }
    }
    Ok(hosts)
}

/// The names and the slots of a line, or what is wrong with it.
fn parse_line(line: &str) -> Result<(Vec<String>, Option<u32>), String> {
    // Blanks around `=` are allowed, and who logs in there does not matter.
    let joined =
        line.replace([' ', '\t'], " ").split('=').map(str::trim).collect::<Vec<_>>().join("=");
    let mut words = joined.split_whitespace();
    let first = words.next().unwrap_or_default();
    let first = first.rsplit_once('@').map_or(first, |(_, host)| host);
    if first.starts_with(['^', '+']) {
        return Err(format!("`{first}`: hosts that are excluded or counted from an allocation"));
    }
    let (names, mut slots) = match first.rsplit_once(':') {
        Some((names, count)) => (names, Some(number(first, count)?)),
        None => (first, None),
    };
    let names = hostlist::expand(names).map_err(|error| error.found)?;
    for word in words {
        let Some((key, value)) = word.split_once('=') else {
            return Err(format!("`{word}` behind a host"));
        };
        match key.to_ascii_lowercase().replace('-', "_").as_str() {
            "slots" | "slot" | "cpu" | "cpus" | "count" => slots = Some(number(word, value)?),
            // How many processes may share the slots; ranks do not share cores here.
            "max_slots" | "slots_max" | "max" => {
                number(word, value)?;
            }
            key if PASSED_OVER.contains(&key) => {}
            _ => return Err(format!("the unknown field `{word}`")),
        }
    }
    Ok((names, slots))
}

fn number(word: &str, value: &str) -> Result<u32, String> {
    let number = value.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| format!("`{word}`, in which `{value}` is no number from 1"))
}

/// The cluster of these hosts, in their order, with hardware, rates and switches from a
/// description: that of the node of the same name, else of the only type of node that there is.
/// Switches without any of the hosts below them are left out. A host with fewer slots than free cores keeps as many of them free, from L#0 up.
///
/// # Errors
/// The first host that the description does not have, if it has several types of nodes.
pub fn cluster(description: &Cluster, hosts: &[Host]) -> Result<Cluster, String> {
    let names = Names::of(description);
    let mut cluster = Cluster { groups: Vec::new(), nodes: Vec::new(), ..description.clone() };
    // Which group a type with so many slots became.
    let mut made: BTreeMap<(usize, Option<u32>), usize> = BTreeMap::new();
    for host in hosts {
        let like = names.find(&host.name).map(|index| &description.nodes[index]);
        let group = match like {
            Some(node) => node.group,
            None if description.groups.len() == 1 => 0,
            None => return Err(host.name.clone()),
        };
        let switch = like.and_then(|node| node.switch);
        let group = *made.entry((group, host.slots)).or_insert_with(|| {
            let limited = limited(&description.groups[group], host.slots);
            let same = cluster.groups.iter().position(|known| *known == limited);
            same.unwrap_or_else(|| {
                cluster.groups.push(limited);
                cluster.groups.len() - 1
            })
        });
        cluster.nodes.push(crate::cluster::Node { name: host.name.clone(), group, switch });
    }
    drop_empty_switches(&mut cluster);
    Ok(cluster)
}

/// Takes away the switches that no node is left below.
fn drop_empty_switches(cluster: &mut Cluster) {
    let mut used = vec![false; cluster.switches.len()];
    cluster.nodes.iter().filter_map(|node| node.switch).for_each(|switch| used[switch] = true);
    // Every parent stands behind its children.
    for (index, switch) in cluster.switches.iter().enumerate() {
        if let (true, Some(parent)) = (used[index], switch.parent) {
            used[parent] = true;
        }
    }
    let mut count = 0;
    let place: Vec<usize> = used
        .iter()
        .map(|used| {
            count += usize::from(*used);
            count.saturating_sub(1)
        })
        .collect();
    let mut kept = used.iter();
    cluster.switches.retain(|_| kept.next().is_some_and(|used| *used));
    for switch in &mut cluster.switches {
        switch.parent = switch.parent.map(|parent| place[parent]);
    }
    for node in &mut cluster.nodes {
        node.switch = node.switch.map(|switch| place[switch]);
    }
}

/// A group with at most so many cores free.
pub(in crate::cluster) fn limited(group: &NodeGroup, slots: Option<u32>) -> NodeGroup {
    let mut group = group.clone();
    let most = slots.map_or(usize::MAX, |slots| slots as usize);
    let mut last = None;
    let mut used = 0;
    for (pu, free) in group.machine.pus.iter().zip(&mut group.free) {
        if *free && last != Some(pu.core) {
            last = Some(pu.core);
            used += 1;
        }
        *free = *free && used <= most;
    }
    group
}

/// The nodes of a description by name and by the first label of it.
struct Names<'a> {
    whole: BTreeMap<&'a str, usize>,
    /// Without those that several nodes share.
    short: BTreeMap<&'a str, Option<usize>>,
}

impl<'a> Names<'a> {
    fn of(cluster: &'a Cluster) -> Self {
        let mut names = Self { whole: BTreeMap::new(), short: BTreeMap::new() };
        for (index, node) in cluster.nodes.iter().enumerate() {
            names.whole.insert(&node.name, index);
            let short = names.short.entry(first_label(&node.name));
            short.and_modify(|known| *known = None).or_insert(Some(index));
        }
        names
    }

    fn find(&self, host: &str) -> Option<usize> {
        let short = || self.short.get(first_label(host)).copied().flatten();
        self.whole.get(host).copied().or_else(short)
    }
}

fn first_label(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
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
            ("n0:x", "`x` is no number"),
            ("n0 rack=3", "unknown field `rack=3`"),
            ("n0 n1", "`n1` behind a host"),
            ("^n0", "excluded"),
            ("+n2", "excluded"),
            ("n[0-999999]", "more than 100000 names"),
            ("n[1-60000]\nm[1-60000]", "hosts:2: found more than 100000 hosts"),
            ("name = \"x\"", "hosts:1: "),
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
        let group = |text: &str| NodeGroup::all_free(synthetic::parse(text).unwrap());
        let names = ["a.site", "b.site"].map(str::to_owned).to_vec();
        let mut description = Cluster::uniform("c", names, group("core:2 pu:2"));
        let list = parse("b slots=1\nnew slots=9\na", "hosts").unwrap();
        let cluster = super::cluster(&description, &list).unwrap();
        let told: Vec<_> =
            cluster.nodes.iter().map(|node| (node.name.as_str(), node.group)).collect();
        assert_eq!(told, [("b", 0), ("new", 1), ("a", 1)]);
        assert_eq!(cluster.groups[0].free, [true, true, false, false]);
        assert_eq!(cluster.groups[1].free, [true; 4]);

        description.groups.push(group("core:8 pu:1"));
        description.nodes[1].group = 1;
        assert_eq!(super::cluster(&description, &list).unwrap_err(), "new");
        let switch = |name: &str, parent| crate::cluster::Switch {
            name: name.to_owned(),
            parent,
            uplink: None,
        };
        description.switches =
            vec![switch("other", Some(2)), switch("own", Some(2)), switch("top", None)];
        description.nodes[0].switch = Some(0);
        description.nodes[1].switch = Some(1);
        let cluster = super::cluster(&description, &list[..1]).unwrap();
        let left: Vec<_> = cluster.switches.iter().map(|s| (s.name.as_str(), s.parent)).collect();
        assert_eq!(left, [("own", Some(1)), ("top", None)]);
        assert_eq!(cluster.nodes[0].switch, Some(0));
        assert_eq!(cluster.groups[0].machine.cores.len(), 8);
        assert_eq!(cluster.groups[0].free.iter().filter(|free| **free).count(), 1);
    }
}
