//! One process, from `/proc/PID`.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use rankwright::ids::PuSet;

use super::system::System;

/// A process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    /// Its parent's number.
    pub(crate) parent: u32,
    /// Its name; the kernel keeps 15 characters.
    pub(crate) program: String,
    /// Its environment at its start.
    pub(crate) environment: BTreeMap<String, String>,
    /// The PUs (P#) that its first thread may run on.
    pub(crate) pus: PuSet,
    /// The PU that its first thread ran on last.
    pub(crate) running_on: Option<u32>,
    /// The NUMA nodes (P#) of its PUs; `-` if the system does not tell.
    pub(crate) numa: String,
    /// The memory policy of most of its pages: `default`, `preferred:0`; `-` if the system does not
    /// tell.
    pub(crate) memory: String,
    /// Its number of pages by NUMA node (P#).
    pub(crate) pages: BTreeMap<u32, u64>,
    /// Its resident memory, in kB.
    pub(crate) resident_kb: u64,
}

impl Process {
    /// Reads a process.
    ///
    /// # Errors
    /// If no process has this number, or it belongs to another user.
    pub(super) fn read(system: &System<'_>, pid: u32) -> io::Result<Self> {
        let folder = system.proc.join(pid.to_string());
        let text = |file: &str| std::fs::read_to_string(folder.join(file));
        let environment = std::fs::read(folder.join("environ"))?;
        let status = text("status")?;
        let field =
            |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let pus: PuSet = field("Cpus_allowed_list:")
            .and_then(|list| list.parse().ok())
            .ok_or_else(|| io::Error::other("no Cpus_allowed_list"))?;
        let (memory, pages) =
            text("numa_maps").map_or(("-".to_owned(), BTreeMap::new()), |maps| memory_of(&maps));
        Ok(Self {
            pid,
            parent: field("PPid:").and_then(|pid| pid.parse().ok()).unwrap_or(0),
            program: field("Name:").unwrap_or("?").to_owned(),
            environment: variables(&environment),
            running_on: text("stat").ok().and_then(|stat| processor(&stat)),
            numa: numa_nodes(system.sys, &pus),
            pus,
            memory,
            pages,
            resident_kb: field("VmRSS:")
                .and_then(|size| size.split_whitespace().next()?.parse().ok())
                .unwrap_or(0),
        })
    }

    /// A variable of its environment.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        self.environment.get(name).cloned()
    }

    /// Its pages as text: `P#0 75 %, P#1 25 %`.
    pub(crate) fn pages_in_words(&self) -> String {
        let sum: u64 = self.pages.values().sum();
        if sum == 0 {
            return "-".to_owned();
        }
        let share = |(node, pages): (&u32, &u64)| format!("P#{node} {} %", pages * 100 / sum);
        self.pages.iter().map(share).collect::<Vec<_>>().join(", ")
    }
}

fn variables(environment: &[u8]) -> BTreeMap<String, String> {
    let text = String::from_utf8_lossy(environment);
    let pair = |line: &str| line.split_once('=').map(|(a, b)| (a.to_owned(), b.to_owned()));
    text.split('\0').filter_map(pair).collect()
}

/// The PU, field 39 of `/proc/PID/stat`; field 2 is the name, which may contain any character.
fn processor(stat: &str) -> Option<u32> {
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(36)?.parse().ok()
}

/// The policy of most pages, and the number of pages by NUMA node.
fn memory_of(maps: &str) -> (String, BTreeMap<u32, u64>) {
    let mut by_policy: BTreeMap<&str, u64> = BTreeMap::new();
    let mut by_node: BTreeMap<u32, u64> = BTreeMap::new();
    for line in maps.lines() {
        let mut words = line.split_whitespace().skip(1);
        let Some(policy) = words.next() else { continue };
        let mut sum = 0;
        for word in words {
            let Some((node, pages)) = word.strip_prefix('N').and_then(|word| word.split_once('='))
            else {
                continue;
            };
            if let (Ok(node), Ok(pages)) = (node.parse::<u32>(), pages.parse::<u64>()) {
                *by_node.entry(node).or_default() += pages;
                sum += pages;
            }
        }
        *by_policy.entry(policy).or_default() += sum;
    }
    let most = by_policy.iter().max_by_key(|(_, pages)| **pages);
    let policy = most.map_or("-".to_owned(), |(policy, _)| match policy.strip_prefix("prefer:") {
        Some(nodes) => format!("preferred:{nodes}"),
        None => (*policy).to_owned(),
    });
    (policy, by_node)
}

/// The NUMA nodes beside PUs.
fn numa_nodes(sys: &Path, pus: &PuSet) -> String {
    let mut nodes: Vec<u32> = Vec::new();
    let entries = std::fs::read_dir(sys.join("devices/system/node"));
    for entry in entries.into_iter().flatten().flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("node")?.parse().ok());
        let list = std::fs::read_to_string(entry.path().join("cpulist"));
        let (Some(number), Ok(list)) = (number, list) else { continue };
        let beside: PuSet = list.trim().parse().unwrap_or_default();
        if beside.as_slice().iter().any(|pu| pus.as_slice().binary_search(pu).is_ok()) {
            nodes.push(number);
        }
    }
    nodes.sort_unstable();
    let nodes: Vec<String> = nodes.iter().map(u32::to_string).collect();
    if nodes.is_empty() { "-".to_owned() } else { nodes.join(",") }
}
