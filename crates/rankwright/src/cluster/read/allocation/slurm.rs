//! The allocation of a Slurm job: hosts and numbers of CPUs from its environment, CPU numbers from the
//! output of `scontrol`.

use std::collections::BTreeMap;

use super::{Cpu, Granted, Hosts};
use crate::cluster::{Machine, hostlist};
use crate::files::InputError;
use crate::ids::{PuSet, parse_index_list};

/// The hosts of the Slurm job whose environment `variable` reads, in the order granted; those of a
/// heterogeneous job component by component.
///
/// # Errors
/// If there is no job, its variables contradict each other, or it has more than
/// [`hostlist::MOST_NAMES`] hosts; the error names the variable.
pub fn slurm(variable: impl Fn(&str) -> Option<String>) -> Result<Vec<Granted>, InputError> {
    let components = match variable("SLURM_HET_SIZE") {
        None => vec![String::new()],
        Some(size) => {
            let count =
                size.parse().ok().filter(|count| (1..=hostlist::MOST_NAMES).contains(count));
            let wrong =
                || InputError::new("SLURM_HET_SIZE", format!("`{size}`"), "a number from 1");
            (0..count.ok_or_else(wrong)?).map(|number| format!("_HET_GROUP_{number}")).collect()
        }
    };
    let mut hosts = Hosts::default();
    for component in components {
        let list_name = format!("SLURM_JOB_NODELIST{component}");
        for (host, cpus) in slurm_component(&variable, &component, &list_name)? {
            hosts.add(host, cpus);
        }
        if hosts.granted.len() > hostlist::MOST_NAMES {
            let actual = format!("{} hosts up to this component", hosts.granted.len());
            let expected = format!("at most {}", hostlist::MOST_NAMES);
            return Err(InputError::new(list_name, actual, expected));
        }
    }
    Ok(hosts.granted)
}

/// The hosts of a component of a Slurm job, with their CPUs.
fn slurm_component(
    variable: &dyn Fn(&str) -> Option<String>,
    component: &str,
    list_name: &str,
) -> Result<Vec<(String, u32)>, InputError> {
    let missing =
        |name: &str, expected| Err(InputError::new(name, "nothing in the environment", expected));
    let old_name = format!("SLURM_NODELIST{component}");
    let Some(list) = variable(list_name).or_else(|| variable(&old_name)) else {
        return missing(list_name, "a Slurm job, inside of which rankwright runs (salloc, sbatch)");
    };
    let hosts = hostlist::expand(&list)
        .map_err(|error| InputError::new(list_name, error.found, error.expected))?;
    let cpus_name = format!("SLURM_JOB_CPUS_PER_NODE{component}");
    let Some(text) = variable(&cpus_name) else {
        return missing(&cpus_name, "CPUs of each node, like 16(x2),8");
    };
    let cpus = counts(&text, &cpus_name)?;
    if cpus.len() != hosts.len() {
        let actual = format!("`{text}`, for {} nodes", cpus.len());
        let expected = format!("numbers for the {} nodes of {list_name}", hosts.len());
        return Err(InputError::new(cpus_name, actual, expected));
    }
    Ok(hosts.into_iter().zip(cpus).collect())
}

/// How many tasks each host gets of the Slurm job whose environment `variable` reads
/// (`SLURM_TASKS_PER_NODE=4(x2),3`), in the order granted. `None` for heterogeneous jobs, and where the
/// variables are missing or of another set of hosts, like those of an interactive step.
#[must_use]
pub fn slurm_tasks(variable: impl Fn(&str) -> Option<String>) -> Option<Vec<(String, u32)>> {
    if variable("SLURM_HET_SIZE").is_some() {
        return None;
    }
    let hosts = hostlist::expand(&variable("SLURM_JOB_NODELIST")?).ok()?;
    let name = "SLURM_TASKS_PER_NODE";
    let tasks = counts(&variable(name)?, name).ok()?;
    (tasks.len() == hosts.len()).then(|| hosts.into_iter().zip(tasks).collect())
}

/// The CPUs of each host in the output of `scontrol show job --details`, in Slurm's numbers; those of
/// all components of a heterogeneous job together. Empty where the output has no `CPU_IDs`.
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
            let host_ids = ids.entry(host).or_default();
            host_ids.extend(&list);
            host_ids.sort_unstable();
            host_ids.dedup();
        }
    }
    ids
}

/// The GPUs of each host in the output of `scontrol show job --details`, numbered as in the site's
/// gres.conf, which is in the order of the bus where Slurm detects GPUs itself. Hosts of which the output
/// does not tell the numbers are left out; without GPUs the list is empty.
#[must_use]
pub fn slurm_gpu_ids(text: &str) -> BTreeMap<String, Vec<u32>> {
    let mut ids: BTreeMap<String, Option<Vec<u32>>> = BTreeMap::new();
    for line in text.lines() {
        let field = |name: &str| line.split_whitespace().find_map(|word| word.strip_prefix(name));
        let list = field("GRES=").or_else(|| field("GRES_IDX="));
        let (Some(hosts), Some(list)) = (field("Nodes="), list) else { continue };
        let Ok(hosts) = hostlist::expand(hosts) else { continue };
        let numbers = gpu_numbers(list);
        for host in hosts {
            let of_host = ids.entry(host).or_insert_with(|| Some(Vec::new()));
            match (of_host.as_mut(), &numbers) {
                (Some(all), Some(numbers)) => all.extend(numbers),
                _ => *of_host = None,
            }
        }
    }
    let sorted = |(host, numbers): (String, Option<Vec<u32>>)| {
        let mut numbers = numbers?;
        numbers.sort_unstable();
        numbers.dedup();
        Some((host, numbers))
    };
    ids.into_iter().filter_map(sorted).collect()
}

/// 0, 3 from `gpu:a100:2(IDX:0,3)`, also beside other resources; `None` if there are GPUs without
/// numbers.
fn gpu_numbers(list: &str) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    // Commas also separate numbers in parentheses.
    let mut depth = 0;
    let parts = list.split(|c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    });
    for part in parts.filter(|part| part.starts_with("gpu")) {
        let (_, inside) = part.split_once("(IDX:")?;
        numbers.extend(parse_index_list(inside.strip_suffix(')')?).ok()?);
    }
    Some(numbers)
}

/// 16, 16, 8 from `16(x2),8`; `name` is the variable, for errors.
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

/// The PUs (P#) of Slurm's CPU numbers; `None` if the machine does not have one of them.
#[must_use]
pub fn pus_of_slurm(machine: &Machine, ids: &[u32], cpu: Cpu) -> Option<PuSet> {
    let pus = |id: &u32| match cpu {
        Cpu::Thread => machine.pus.get(*id as usize).map(|pu| vec![pu.id]),
        Cpu::Core => machine.cores.get(*id as usize).map(|core| core.pus.clone()),
    };
    let pus: Option<Vec<_>> = ids.iter().map(pus).collect();
    Some(pus?.into_iter().flatten().collect())
}
