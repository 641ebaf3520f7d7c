//! The PUs that the control group of this process allows.

use super::set::Set;
use super::tree::Tree;

/// The PUs; `None` if no control group limits them. An empty set of a control group means all.
pub(super) fn pus(tree: &Tree) -> Option<Set> {
    let group = group_of_process(tree)?;
    let mounts = tree.text("proc/mounts").unwrap_or_default();
    let file = mounts.lines().find_map(|line| file_below(tree, line, &group))?;
    tree.list(&file).filter(|set| !set.is_empty())
}

/// The path of the control group below where it is mounted.
fn group_of_process(tree: &Tree) -> Option<String> {
    if let Some(name) = tree.text("proc/self/cpuset").filter(|name| !name.is_empty()) {
        return Some(name);
    }
    let text = tree.text("proc/self/cgroup")?;
    // `4:cpuset:/slurm/job_7` of version 1, `0::/slurm/job_7` of version 2.
    let of_cpuset = |line: &str| {
        let (_, rest) = line.split_once(':')?;
        rest.strip_prefix("cpuset:").or_else(|| rest.strip_prefix(':')).map(str::to_owned)
    };
    text.lines().find_map(of_cpuset)
}

/// The file with the PUs of a control group, if a line of `/proc/mounts` is a mount of cpusets.
fn file_below(tree: &Tree, line: &str, group: &str) -> Option<String> {
    let mut words = line.split_whitespace().skip(1);
    let (folder, kind, options) = (words.next()?, words.next()?, words.next()?);
    let has = |option: &str| options.split(',').any(|word| word == option);
    let name = match kind {
        "cgroup2" => {
            let controllers = tree.text(&format!("{}/cgroup.controllers", relative(folder)))?;
            let cpuset = controllers.split_whitespace().any(|name| name == "cpuset");
            cpuset.then_some("cpuset.cpus.effective")?
        }
        "cgroup" if has("cpuset") && !has("noprefix") => "cpuset.cpus",
        "cgroup" if has("cpuset") => "cpus",
        "cpuset" => "cpus",
        _ => return None,
    };
    Some(format!("{}/{}/{name}", relative(folder), relative(group)))
}

/// A path without the slash at its begin, to join it to the root.
fn relative(path: &str) -> &str {
    path.trim_matches('/')
}
