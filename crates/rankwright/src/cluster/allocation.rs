//! What a batch system granted to a job, from the variables that it sets: Slurm's and LSF's.

use std::collections::BTreeMap;

use super::hostfile::{self, Host};
use super::{Cluster, NodeGroup, hostlist};
use crate::files::InputError;

/// A host of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Granted {
    /// Its name.
    pub host: String,
    /// How many CPUs of it.
    pub cpus: u32,
}

/// What a batch system calls a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cpu {
    /// A hardware thread (PU).
    Thread,
    /// A core with all its PUs.
    Core,
}

/// The hosts of the Slurm job whose variables these are, in the order granted; those of a
/// heterogeneous job component by component.
///
/// # Errors
/// If there is no job, or its variables contradict each other; the error names the variable.
pub fn slurm(variable: impl Fn(&str) -> Option<String>) -> Result<Vec<Granted>, InputError> {
    let parts = match variable("SLURM_HET_SIZE") {
        None => vec![String::new()],
        Some(size) => {
            let count =
                size.parse().ok().filter(|count| (1..=hostlist::MOST_NAMES).contains(count));
            let wrong =
                || InputError::new("SLURM_HET_SIZE", format!("`{size}`"), "a number from 1");
            (0..count.ok_or_else(wrong)?).map(|part| format!("_HET_GROUP_{part}")).collect()
        }
    };
    let mut all = Vec::new();
    for part in parts {
        let list_name = format!("SLURM_JOB_NODELIST{part}");
        let old_name = format!("SLURM_NODELIST{part}");
        let Some(list) = variable(&list_name).or_else(|| variable(&old_name)) else {
            let expected = "a job of Slurm, inside of which this runs (salloc, sbatch)";
            return Err(InputError::new(list_name, "nothing in the environment", expected));
        };
        let hosts = hostlist::expand(&list)
            .map_err(|error| InputError::new(&list_name, error.found, error.expected))?;
        let cpus_name = format!("SLURM_JOB_CPUS_PER_NODE{part}");
        let Some(text) = variable(&cpus_name) else {
            let expected = "CPUs of each node, like 16(x2),8";
            return Err(InputError::new(cpus_name, "nothing in the environment", expected));
        };
        let cpus = counts(&text, &cpus_name)?;
        if cpus.len() != hosts.len() {
            let found = format!("`{text}`, for {} nodes", cpus.len());
            let expected = format!("numbers for {}, as many as {list_name} has", hosts.len());
            return Err(InputError::new(cpus_name, found, expected));
        }
        all.extend(hosts.into_iter().zip(cpus));
    }
    Ok(together(all))
}

/// The hosts of the LSF job whose variables these are.
///
/// # Errors
/// As [`slurm`].
pub fn lsf(variable: impl Fn(&str) -> Option<String>) -> Result<Vec<Granted>, InputError> {
    const NAME: &str = "LSB_MCPU_HOSTS";
    let expected = "hosts and their slots like `n0 16 n1 8`";
    let Some(text) = variable(NAME) else {
        return Err(InputError::new(NAME, "nothing in the environment", expected));
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    let pair = |pair: &[&str]| match pair {
        [host, cpus] if hostlist::is_name(host) => {
            let cpus = cpus.parse().ok().filter(|cpus: &u32| *cpus > 0)?;
            Some(((*host).to_owned(), cpus))
        }
        _ => None,
    };
    let all: Option<Vec<_>> = words.chunks(2).map(pair).collect();
    let all = all.filter(|all| !all.is_empty() && all.len() <= hostlist::MOST_NAMES);
    Ok(together(all.ok_or_else(|| InputError::new(NAME, format!("`{text}`"), expected))?))
}

/// Each host once, where it first stands; two components of a job may share one.
fn together(hosts: Vec<(String, u32)>) -> Vec<Granted> {
    let mut all: Vec<Granted> = Vec::new();
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for (host, cpus) in hosts {
        let index = *known.entry(host.clone()).or_insert(all.len());
        match all.get_mut(index) {
            Some(same) => same.cpus = same.cpus.saturating_add(cpus),
            None => all.push(Granted { host, cpus }),
        }
    }
    all
}

/// 16, 16, 8 from `16(x2),8`.
fn counts(text: &str, name: &str) -> Result<Vec<u32>, InputError> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let (number, times) = match part.split_once("(x") {
            Some((number, times)) => (number, times.strip_suffix(')').unwrap_or_default()),
            None => (part, "1"),
        };
        let number = number.trim().parse().ok().filter(|number: &u32| *number > 0);
        let times = times.parse().ok().filter(|times| (1..=hostlist::MOST_NAMES).contains(times));
        let (Some(number), Some(times)) = (number, times) else {
            let expected = "CPUs of each node, like 16(x2),8";
            return Err(InputError::new(name, format!("`{part}` in `{text}`"), expected));
        };
        all.extend(std::iter::repeat_n(number, times));
        if all.len() > hostlist::MOST_NAMES {
            let expected = format!("at most {}", hostlist::MOST_NAMES);
            return Err(InputError::new(name, format!("more than {} nodes", all.len()), expected));
        }
    }
    Ok(all)
}

/// A cluster of granted hosts, and which of them were granted in part only.
#[derive(Debug, Clone, PartialEq)]
pub struct Allocation {
    /// The hosts, with the PUs free that stand for the CPUs granted: the first ones, because no
    /// variable says which they are.
    pub cluster: Cluster,
    /// Hosts with fewer CPUs than free PUs.
    pub in_part: Vec<String>,
}

/// Why granted hosts are not those of a description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Misfit {
    /// A host that the description does not have, though it has several types of nodes.
    Unknown(String),
    /// A host with more CPUs granted than it has.
    TooManyCpus {
        /// Which.
        granted: Granted,
        /// How many there are.
        has: usize,
    },
}

/// The cluster of these hosts, in their order, with hardware, rates and switches from a description
/// as [`hostfile::cluster`] takes them.
///
/// # Errors
/// If a host is not like the description.
pub fn cluster(description: &Cluster, hosts: &[Granted], cpu: Cpu) -> Result<Allocation, Misfit> {
    let names = hosts.iter().map(|granted| Host { name: granted.host.clone(), slots: None });
    let whole = hostfile::cluster(description, &names.collect::<Vec<_>>());
    let mut cluster = whole.map_err(Misfit::Unknown)?;
    let groups = std::mem::take(&mut cluster.groups);
    let mut in_part = Vec::new();
    // Which group a type with so many CPUs became.
    let mut made: BTreeMap<(usize, u32), (usize, bool)> = BTreeMap::new();
    for (node, granted) in cluster.nodes.iter_mut().zip(hosts) {
        let group = &groups[node.group];
        let has = match cpu {
            Cpu::Thread => group.machine.pus.len(),
            Cpu::Core => group.machine.cores.len(),
        };
        if granted.cpus as usize > has {
            return Err(Misfit::TooManyCpus { granted: granted.clone(), has });
        }
        let (index, part) = *made.entry((node.group, granted.cpus)).or_insert_with(|| {
            let part = first_cpus(group, granted.cpus, cpu);
            let is_part = part.free != group.free;
            let same = cluster.groups.iter().position(|known| *known == part);
            let index = same.unwrap_or_else(|| {
                cluster.groups.push(part);
                cluster.groups.len() - 1
            });
            (index, is_part)
        });
        node.group = index;
        if part {
            in_part.push(node.name.clone());
        }
    }
    Ok(Allocation { cluster, in_part })
}

/// A group with the first so many of its free CPUs left free.
fn first_cpus(group: &NodeGroup, cpus: u32, cpu: Cpu) -> NodeGroup {
    if cpu == Cpu::Core {
        return hostfile::limited(group, Some(cpus));
    }
    let mut group = group.clone();
    let mut left = cpus;
    for free in group.free.iter_mut().filter(|free| **free) {
        *free = left > 0;
        left = left.saturating_sub(1);
    }
    group
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::synthetic;

    /// The variables of a job, as `NAME=value` on lines.
    fn job(text: &str) -> impl Fn(&str) -> Option<String> + '_ {
        |name| {
            let mut lines = text.lines().filter_map(|line| line.split_once('='));
            lines.find(|(known, _)| *known == name).map(|(_, value)| value.to_owned())
        }
    }

    fn told(hosts: &[Granted]) -> Vec<(&str, u32)> {
        hosts.iter().map(|granted| (granted.host.as_str(), granted.cpus)).collect()
    }

    #[test]
    fn jobs_of_slurm_are_read() {
        // From jobs of Slurm 22.05.
        let plain = "SLURM_JOB_NODELIST=f0,n[0-1]\nSLURM_JOB_CPUS_PER_NODE=8,16(x2)\n";
        assert_eq!(told(&slurm(job(plain)).unwrap()), [("f0", 8), ("n0", 16), ("n1", 16)]);
        let heterogeneous = "SLURM_HET_SIZE=2\nSLURM_JOB_NODELIST=n1\nSLURM_JOB_CPUS_PER_NODE=4\n\
            SLURM_JOB_NODELIST_HET_GROUP_0=n1\nSLURM_JOB_CPUS_PER_NODE_HET_GROUP_0=4\n\
            SLURM_JOB_NODELIST_HET_GROUP_1=f0\nSLURM_JOB_CPUS_PER_NODE_HET_GROUP_1=2\n";
        assert_eq!(told(&slurm(job(heterogeneous)).unwrap()), [("n1", 4), ("f0", 2)]);
        let shared = heterogeneous.replace("GROUP_1=f0", "GROUP_1=n1");
        assert_eq!(told(&slurm(job(&shared)).unwrap()), [("n1", 6)]);
    }

    #[test]
    fn jobs_of_lsf_are_read() {
        let hosts = lsf(job("LSB_MCPU_HOSTS=a.site 1 b.site 2 ")).unwrap();
        assert_eq!(told(&hosts), [("a.site", 1), ("b.site", 2)]);
        for text in ["LSB_MCPU_HOSTS=a 1 b", "LSB_MCPU_HOSTS=", "LSB_MCPU_HOSTS=a 0", "X=1"] {
            assert!(lsf(job(text)).is_err(), "{text}");
        }
    }

    #[test]
    fn variables_that_contradict_each_other_are_named() {
        let list = "SLURM_JOB_NODELIST=n[0-2]\n";
        for (text, part) in [
            (String::new(), "SLURM_JOB_NODELIST: found nothing in the environment"),
            (list.to_owned(), "SLURM_JOB_CPUS_PER_NODE: found nothing"),
            (
                format!("{list}SLURM_JOB_CPUS_PER_NODE=16(x2)"),
                "for 2 nodes, expected numbers for 3",
            ),
            (format!("{list}SLURM_JOB_CPUS_PER_NODE=16(x2),0"), "found `0` in `16(x2),0`"),
            (format!("{list}SLURM_JOB_CPUS_PER_NODE=16(x9999999999)"), "`16(x9999999999)`"),
            (format!("{list}SLURM_JOB_CPUS_PER_NODE=16(x3"), "`16(x3`"),
            ("SLURM_JOB_NODELIST=n[0-".to_owned(), "without a closing bracket"),
            ("SLURM_HET_SIZE=many".to_owned(), "SLURM_HET_SIZE: found `many`"),
            (format!("SLURM_HET_SIZE=1\n{list}"), "SLURM_JOB_NODELIST_HET_GROUP_0: found nothing"),
        ] {
            let error = slurm(job(&text)).expect_err(part).to_string();
            assert!(error.contains(part), "{part}: {error}");
        }
    }

    #[test]
    fn the_first_cpus_stand_for_those_granted() {
        let group = NodeGroup::all_free(synthetic::parse("core:4 pu:2").unwrap());
        let names = ["f0", "f1"].map(str::to_owned).to_vec();
        let description = Cluster::uniform("c", names, group);
        let granted = |cpus| vec![Granted { host: "f1".to_owned(), cpus }];
        let free = |cpus, cpu| {
            let allocation = cluster(&description, &granted(cpus), cpu).unwrap();
            let free = &allocation.cluster.groups[0].free;
            (free.iter().filter(|free| **free).count(), allocation.in_part.len())
        };
        assert_eq!(free(4, Cpu::Thread), (4, 1));
        assert_eq!(free(4, Cpu::Core), (8, 0));
        assert_eq!(free(8, Cpu::Thread), (8, 0));
        let misfit = cluster(&description, &granted(5), Cpu::Core).unwrap_err();
        assert!(matches!(misfit, Misfit::TooManyCpus { has: 4, .. }));
    }
}
