//! The processes of a lab, found by the mark in their mount namespaces, and ended by pid.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::state::{Folder, Lab};

/// The time limit for ending processes.
const LONGEST_END: Duration = Duration::from_secs(10);

/// Whether a process is in a lab's namespaces; its pid may have been reused.
pub(crate) fn is_in_lab(pid: u32, folder: &Folder) -> bool {
    namespace(pid, "pid") == namespace(std::process::id(), "pid") && bears(pid, &folder.mark())
}

/// The processes in the mount namespaces of a lab.
pub(crate) fn in_lab(folder: &Folder) -> anyhow::Result<BTreeSet<u32>> {
    let mark = folder.mark();
    let here = namespace(std::process::id(), "pid");
    // Thousands of processes share a few mount namespaces; each namespace is read once.
    let mut marked: HashMap<PathBuf, bool> = HashMap::new();
    let mut pids = BTreeSet::new();
    for pid in all()? {
        let Some(mounts) = namespace(pid, "mnt") else { continue };
        // A process of a container may have the mark of a lab inside the container.
        if *marked.entry(mounts).or_insert_with(|| bears(pid, &mark))
            && namespace(pid, "pid") == here
        {
            pids.insert(pid);
        }
    }
    Ok(pids)
}

/// Ends every process in a lab's namespaces but this one, and waits until they are gone.
pub(crate) fn end_all(folder: &Folder, lab: Option<&Lab>) -> anyhow::Result<usize> {
    let start = Instant::now();
    let mut ended = BTreeSet::new();
    loop {
        let mut left = in_lab(folder)?;
        if let Some(lab) = lab {
            left.append(&mut beside_holders(folder, lab)?);
        }
        left.remove(&std::process::id());
        if left.is_empty() {
            return Ok(ended.len());
        }
        if start.elapsed() > LONGEST_END {
            bail!("lab `{}`: cannot end the processes {left:?}", folder.name);
        }
        for pid in left {
            kill(pid).with_context(|| format!("process {pid} of lab `{}`", folder.name))?;
            ended.insert(pid);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The processes that joined only the network of a lab, such as a `tcpdump`. Namespaces are
/// compared by their numbers, which the kernel reuses, so only those of living holders are
/// considered.
fn beside_holders(folder: &Folder, lab: &Lab) -> anyhow::Result<BTreeSet<u32>> {
    let held = |pid: u32| is_in_lab(pid, folder).then(|| namespace(pid, "net")).flatten();
    let networks: Vec<PathBuf> = lab.holders().filter_map(held).collect();
    if networks.is_empty() {
        return Ok(BTreeSet::new());
    }
    let joined = |pid: &u32| namespace(*pid, "net").is_some_and(|net| networks.contains(&net));
    Ok(all()?.into_iter().filter(joined).collect())
}

/// A namespace of a process, as the kernel names it; `None` if the process is gone or belongs to
/// another user.
pub(crate) fn namespace(pid: u32, kind: &str) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/ns/{kind}")).ok()
}

fn bears(pid: u32, mark: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/mountinfo"))
        .is_ok_and(|mounts| mounts.lines().any(|mount| source(mount) == Some(&escape(mark))))
}

/// The source of a mount: the second word after the ` - ` of its line.
fn source(mount: &str) -> Option<&str> {
    mount.split_once(" - ")?.1.split(' ').nth(1)
}

/// A path with the escapes of `mountinfo`.
fn escape(text: &str) -> String {
    text.replace('\\', "\\134").replace(' ', "\\040").replace('\t', "\\011").replace('\n', "\\012")
}

fn all() -> anyhow::Result<Vec<u32>> {
    let entries = fs::read_dir("/proc").context("/proc")?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect())
}

#[expect(unsafe_code, reason = "the standard library ends only its own children")]
fn kill(pid: u32) -> io::Result<()> {
    let pid = libc::pid_t::try_from(pid).map_err(io::Error::other)?;
    // SAFETY: a call with two integers; `pid` is positive, so it names one process and no group.
    if unsafe { libc::kill(pid, libc::SIGKILL) } == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    // The process has ended already.
    if error.raw_os_error() == Some(libc::ESRCH) { Ok(()) } else { Err(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_the_source_of_a_mount() {
        let line = "52 31 0:47 / /dev/shm rw,relatime - tmpfs rankwright-lab:/run/a\\040b rw";
        assert_eq!(source(line), Some(escape("rankwright-lab:/run/a b").as_str()));
        let optional = "36 35 98:0 /m /m rw shared:1 master:2 - ext3 /dev/root rw,errors=continue";
        assert_eq!(source(optional), Some("/dev/root"));
        assert_eq!(source("nonsense"), None);
    }
}
