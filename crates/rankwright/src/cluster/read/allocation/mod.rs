//! What a batch system granted to a job, from the variables that it sets: Slurm's and LSF's; and
//! from what Slurm's `scontrol` says of the job.

mod lsf;

use std::collections::{BTreeMap, HashMap};

use super::hostfile::{self, Host};
use crate::cluster::{Cluster, Machine, NodeGroup, hostlist};
use crate::files::InputError;
use crate::ids::{PuSet, parse_index_list};

pub use lsf::{LsfAffinity, lsf, lsf_affinity};

/// A host of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Granted {
    /// Its name.
    pub host: String,
    /// How many CPUs of it.
    pub cpus: u32,
    /// Which ones.
    pub which: Which,
}

/// Which CPUs of a host are granted.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Which {
    /// Nobody says.
    #[default]
    Unknown,
    /// These PUs, P#, as the kernel says.
    Pus(PuSet),
    /// Slurm's own numbers (`CPU_IDs`), ascending: it counts the CPUs through in the order of
    /// packages, cores and threads, which is L#, whatever numbers the kernel gives them.
    Slurm(Vec<u32>),
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

/// Each host once, where it first stands; two components of a job may share one.
fn together(hosts: Vec<(String, u32)>) -> Vec<Granted> {
    let mut all: Vec<Granted> = Vec::new();
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for (host, cpus) in hosts {
        let index = *known.entry(host.clone()).or_insert(all.len());
        match all.get_mut(index) {
            Some(same) => same.cpus = same.cpus.saturating_add(cpus),
            None => all.push(Granted { host, cpus, which: Which::Unknown }),
        }
    }
    all
}

/// The CPUs of each host in what `scontrol show job --details` says of a job, in Slurm's numbers;
/// those of several components of a heterogeneous job together. Empty where it says nothing of them.
#[must_use]
pub fn slurm_cpu_ids(text: &str) -> BTreeMap<String, Vec<u32>> {
    let mut ids: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for line in text.lines() {
        let field = |name: &str| line.split_whitespace().find_map(|word| word.strip_prefix(name));
        let (Some(hosts), Some(list)) = (field("Nodes="), field("CPU_IDs=")) else { continue };
        let (Ok(hosts), Ok(list)) = (hostlist::expand(hosts), parse_index_list(list)) else {
            continue;
        };
        for host in hosts {
            let of_host = ids.entry(host).or_default();
            of_host.extend(&list);
            of_host.sort_unstable();
            of_host.dedup();
        }
    }
    ids
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
    /// The hosts, with the PUs free that are granted; where nobody says which these are, the first
    /// ones stand for them.
    pub cluster: Cluster,
    /// Hosts with fewer CPUs than free PUs, of which nobody says which ones.
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
    /// A PU or CPU that a host of the description does not have.
    NoSuchCpu {
        /// Which host and CPUs.
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
    // Which group a type with such CPUs became.
    let mut made: HashMap<(usize, u32, &Which), (usize, bool)> = HashMap::new();
    for (node, granted) in cluster.nodes.iter_mut().zip(hosts) {
        let group = &groups[node.group];
        let key = (node.group, granted.cpus, &granted.which);
        let (index, guessed) = match made.get(&key) {
            Some(known) => *known,
            None => {
                let part = granted_part(group, granted, cpu)?;
                let guessed = granted.which == Which::Unknown && part.free != group.free;
                let same = cluster.groups.iter().position(|known| *known == part);
                let index = same.unwrap_or_else(|| {
                    cluster.groups.push(part);
                    cluster.groups.len() - 1
                });
                made.insert(key, (index, guessed));
                (index, guessed)
            }
        };
        node.group = index;
        if guessed {
            in_part.push(node.name.clone());
        }
    }
    Ok(Allocation { cluster, in_part })
}

/// A group with those of its free PUs left free that are granted.
fn granted_part(group: &NodeGroup, granted: &Granted, cpu: Cpu) -> Result<NodeGroup, Misfit> {
    let machine = &group.machine;
    let has = match cpu {
        Cpu::Thread => machine.pus.len(),
        Cpu::Core => machine.cores.len(),
    };
    let no_such = |has| Misfit::NoSuchCpu { granted: granted.clone(), has };
    let pus = match &granted.which {
        Which::Unknown if granted.cpus as usize > has => {
            return Err(Misfit::TooManyCpus { granted: granted.clone(), has });
        }
        Which::Unknown => return Ok(first_cpus(group, granted.cpus, cpu)),
        Which::Pus(pus) => pus.clone(),
        Which::Slurm(ids) => pus_of_slurm(machine, ids, cpu).ok_or_else(|| no_such(has))?,
    };
    let there = machine.pus.iter().filter(|pu| pus.as_slice().contains(&pu.id)).count();
    if there < pus.len() {
        return Err(no_such(machine.pus.len()));
    }
    let mut part = group.clone();
    for (pu, free) in machine.pus.iter().zip(&mut part.free) {
        *free = *free && pus.as_slice().binary_search(&pu.id).is_ok();
    }
    Ok(part)
}

/// The PUs (P#) that Slurm's numbers stand for; `None` if there are not so many.
#[must_use]
pub fn pus_of_slurm(machine: &Machine, ids: &[u32], cpu: Cpu) -> Option<PuSet> {
    let pus = |id: &u32| match cpu {
        Cpu::Thread => machine.pus.get(*id as usize).map(|pu| vec![pu.id]),
        Cpu::Core => machine.cores.get(*id as usize).map(|core| core.pus.clone()),
    };
    let pus: Option<Vec<_>> = ids.iter().map(pus).collect();
    Some(pus?.into_iter().flatten().collect())
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
    use crate::cluster::read::synthetic;

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
        let granted = |cpus| vec![Granted { host: "f1".to_owned(), cpus, which: Which::Unknown }];
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

    #[test]
    fn the_cpus_that_slurm_names_are_those_left_free() {
        // From Slurm 22.05, shortened.
        let text = "JobId=7 JobName=wrap\n   NumNodes=3 NumCPUs=6\n   \
            Nodes=n0 CPU_IDs=1-2 Mem=0 GRES=\n     Nodes=n[1-2] CPU_IDs=0,3 Mem=0 GRES=\n";
        let ids = slurm_cpu_ids(text);
        let expected = [("n0", vec![1, 2]), ("n1", vec![0, 3]), ("n2", vec![0, 3])];
        assert_eq!(ids, expected.map(|(host, ids)| (host.to_owned(), ids)).into());
        // Two cores with PUs P#0, P#2 and P#1, P#3.
        let mut machine = synthetic::parse("core:2 pu:2").unwrap();
        let order = [0, 2, 1, 3].map(crate::ids::PuId);
        for (at, id) in order.into_iter().enumerate() {
            machine.pus[at].id = id;
            machine.cores[at / 2].pus[at % 2] = id;
        }
        let description =
            Cluster::uniform("c", vec!["n0".to_owned()], NodeGroup::all_free(machine));
        let free = |which, cpu| {
            let granted = [Granted { host: "n0".to_owned(), cpus: 2, which }];
            let allocation = cluster(&description, &granted, cpu)?;
            assert!(allocation.in_part.is_empty());
            Ok::<_, Misfit>(allocation.cluster.groups[0].free.clone())
        };
        let slurm = |ids: &[u32]| Which::Slurm(ids.to_vec());
        assert_eq!(free(slurm(&[0, 1]), Cpu::Thread).unwrap(), [true, true, false, false]);
        assert_eq!(free(slurm(&[1]), Cpu::Core).unwrap(), [false, false, true, true]);
        let pus = Which::Pus("1,3".parse().unwrap());
        assert_eq!(free(pus, Cpu::Thread).unwrap(), [false, false, true, true]);
        for wrong in [slurm(&[4]), Which::Pus("0,7".parse().unwrap())] {
            let misfit = free(wrong, Cpu::Thread).unwrap_err();
            assert!(matches!(misfit, Misfit::NoSuchCpu { has: 4, .. }), "{misfit:?}");
        }
    }
}
