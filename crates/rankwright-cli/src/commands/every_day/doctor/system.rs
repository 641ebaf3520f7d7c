//! The system around: preloading, folders, devices, clocks, namespaces.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rankwright::cluster::NodeCount;
use rankwright::rails::fabric::STACKS;

use super::finding::Finding;
use super::packages;
use super::programs::Here;
use crate::host::{child, elf, find_program, this_host, user_folders};
use crate::options::site::Defaults;

/// The time limit of a program that does nothing.
const PATIENCE: Duration = Duration::from_secs(10);

/// Whether the dynamic linker heeds LD_PRELOAD: it says so when the library does not exist.
pub(super) fn preload(_: &Here<'_>) -> Vec<Finding> {
    const PART: &str = "LD_PRELOAD";
    const ABSENT: &str = "/nonexistent/librankwright_tracer.so";
    let program = find_program(Path::new("true"));
    let dynamic = |path: &PathBuf| {
        elf::Elf::read(path).ok().flatten().is_some_and(|elf| elf.interpreter.is_some())
    };
    let Some(program) = program.filter(dynamic) else {
        return vec![Finding::not_needed(PART, "not tried: no dynamically linked `true` here")];
    };
    match child::ended(Command::new(program).env("LD_PRELOAD", ABSENT), PATIENCE) {
        Ok(ended) if ended.error.contains(ABSENT) => {
            vec![Finding::ok(PART, "the dynamic linker heeds it")]
        }
        Ok(_) => {
            let advice = "ask the administrators: no library can be loaded into programs here";
            vec![
                Finding::broken(PART, "the dynamic linker ignores it")
                    .advice(advice)
                    .stopping(true),
            ]
        }
        Err(error) => vec![Finding::broken(PART, error.to_string()).stopping(true)],
    }
}

/// The defaults of the site, and the cluster in them.
pub(super) fn site(_: &Here<'_>) -> Vec<Finding> {
    const PART: &str = "site.toml";
    let broken = |why: String| {
        let advice = "correct it, or set RANKWRIGHT_SITE= (empty) for none";
        vec![Finding::broken(PART, why).advice(advice).stopping(true)]
    };
    let defaults = match Defaults::read() {
        Ok(defaults) => defaults,
        Err(error) => return broken(error.to_string()),
    };
    match defaults.cluster(NodeCount::AsDescribed, "--on") {
        Err(error) => broken(format!("{error:#}")),
        Ok(Some(cluster)) => {
            let nodes = cluster.node_ids().len();
            vec![Finding::ok(PART, format!("cluster {} with {nodes} nodes", cluster.name))]
        }
        Ok(None) => vec![Finding::not_needed(PART, "none: give the cluster with --on")],
    }
}

/// The folders of the user that are written: for the tracer and for predictions.
pub(super) fn folders(_: &Here<'_>) -> Vec<Finding> {
    let folders = [
        ("cache folder", user_folders::cache(), "XDG_CACHE_HOME"),
        ("state folder", user_folders::state(), "XDG_STATE_HOME"),
    ];
    let finding = |(part, folder, variable): (&str, Option<PathBuf>, &str)| {
        let advice = format!("set {variable} to an absolute path that you may write");
        let Some(folder) = folder else {
            return Finding::missing(part, "neither it nor HOME is set").advice(advice);
        };
        let folder = folder.join("rankwright");
        let existing = folder.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
        match tempfile::tempfile_in(existing) {
            Ok(_) => Finding::ok(part, folder.display().to_string()),
            Err(error) => {
                Finding::broken(part, format!("{}: {error}", existing.display())).advice(advice)
            }
        }
    };
    folders.into_iter().map(finding).collect()
}

/// Whether this node can be described.
pub(super) fn discovery(_: &Here<'_>) -> Vec<Finding> {
    let by = match cfg!(feature = "hwloc") {
        true => "by libhwloc",
        false => "from /sys, without libhwloc",
    };
    let finding = match this_host::cluster() {
        Ok(cluster) => {
            let machines = cluster.groups.iter().map(|group| group.machine.to_string());
            let machines: Vec<String> = machines.collect();
            Finding::ok("this node", format!("{}, {by}", machines.join("; ")))
        }
        Err(error) => Finding::broken("this node", format!("{error:#}"))
            .advice("describe it by hand in a cluster.toml, or with lstopo elsewhere"),
    };
    vec![finding]
}

/// The network devices of this node, and the stacks that drive them.
pub(super) fn network(_: &Here<'_>) -> Vec<Finding> {
    let Ok(cluster) = this_host::cluster() else { return Vec::new() };
    let Some(group) = cluster.groups.first() else { return Vec::new() };
    let machine = &group.machine;
    if machine.nics.is_empty() {
        return vec![Finding::not_needed("network device", "none: jobs on one node use memory")];
    }
    let finding = |nic: &rankwright::cluster::Nic| {
        let kind = nic.kind();
        let rate = nic.known_bandwidth().map_or(String::new(), |rate| format!(", {rate}"));
        let found = format!("{}{rate}", kind.name());
        if !nic.is_usable() {
            return Finding::not_needed(&nic.name, format!("{found}, link down"));
        }
        if let Some(why) = machine.without_mpi(nic) {
            return Finding::not_needed(&nic.name, format!("{found}, {why}"));
        }
        let stacks = STACKS.iter().filter(|stack| stack.drives(kind)).map(|stack| stack.name);
        let stacks: Vec<&str> = stacks.collect();
        Finding::ok(&nic.name, format!("{found}; --fabric {}", stacks.join("|")))
    };
    machine.nics.iter().map(finding).collect()
}

/// Whether `drb` is built in.
pub(super) fn scotch(_: &Here<'_>) -> Vec<Finding> {
    vec![match cfg!(feature = "scotch") {
        true => Finding::ok("Scotch", "built in"),
        false => Finding::not_needed("Scotch", "left out: the other strategies do without"),
    }]
}

/// The clock of the kernel: those that are devices take a microsecond to read.
pub(super) fn clock(_: &Here<'_>) -> Vec<Finding> {
    const FILE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    const SLOW: [&str; 4] = ["hpet", "acpi_pm", "jiffies", "refined-jiffies"];
    let name = fs::read_to_string(FILE).unwrap_or_default();
    let name = name.trim();
    vec![match name {
        "" => Finding::not_needed("clock", format!("unknown: no {FILE}")),
        name if SLOW.contains(&name) => {
            Finding::broken("clock", format!("{name} is slow to read: recording costs more"))
                .advice("give `profile --gaps off`, or ask for the kernel option clocksource=tsc")
        }
        name => Finding::ok("clock", name),
    }]
}

/// Whether the kernel tells how long a thread waits for a PU.
pub(super) fn scheduler(_: &Here<'_>) -> Vec<Finding> {
    const FILE: &str = "/proc/self/schedstat";
    vec![match fs::read_to_string(FILE) {
        Ok(_) => Finding::ok("schedstat", FILE),
        Err(error) => Finding::missing("schedstat", format!("{FILE}: {error}"))
            .advice("needs a kernel with CONFIG_SCHED_INFO; the profile lacks these times"),
    }]
}

/// Whether a lab can be made.
pub(super) fn lab(_: &Here<'_>) -> Vec<Finding> {
    let finding = match rankwright_lab::ready() {
        Ok(as_root) => {
            let how = if as_root { "as root" } else { "in a user namespace" };
            Finding::ok("lab", format!("network namespaces are permitted, {how}"))
        }
        Err(error) => {
            let text = format!("{error:#}");
            // The packages that the error names stand in the way out.
            match text.split_once(", not found here") {
                Some((missing, _)) => Finding::missing("lab", format!("{missing}, not found here"))
                    .packages(&packages::NAMESPACE_TOOLS),
                None if text.contains("namespaces") => Finding::broken("lab", text)
                    .advice("use it as root or where user namespaces are allowed"),
                None => Finding::broken("lab", text),
            }
        }
    };
    vec![finding]
}
