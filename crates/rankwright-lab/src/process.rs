//! The processes of a lab, found by the mark that its mount namespaces bear, and ended by pid.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

use crate::state::{Folder, Lab};

/// Longer than the kernel needs to end a process that it can end.
const LONGEST_END: Duration = Duration::from_secs(10);

/// Whether a process lives in a lab's namespaces: its pid may be that of another by now.
pub(crate) fn is_in_lab(pid: u32, folder: &Folder) -> bool {
    namespace(pid, "pid") == namespace(std::process::id(), "pid") && bears(pid, &folder.mark())
}

/// The processes in the mount namespaces of a lab.
pub(crate) fn in_lab(folder: &Folder) -> anyhow::Result<BTreeSet<u32>> {
    let mark = folder.mark();
    let own = namespace(std::process::id(), "pid");
    // Thousands of processes share a few mount namespaces; each is looked at once.
    let mut known: HashMap<PathBuf, bool> = HashMap::new();
    let mut found = BTreeSet::new();
    for pid in all()? {
        let Some(mounts) = namespace(pid, "mnt") else { continue };
        // A process of a container may bear the mark of a lab in there.
        if *known.entry(mounts).or_insert_with(|| bears(pid, &mark)) && namespace(pid, "pid") == own
        {
            found.insert(pid);
        }
    }
    Ok(found)
}

/// Ends every process in a lab's namespaces but this one, and returns when they are gone.
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

/// The processes that joined only the network of a lab (a `tcpdump`, say). A namespace is known by
/// a number that is used again once it is gone, so only those of living holders count.
fn beside_holders(folder: &Folder, lab: &Lab) -> anyhow::Result<BTreeSet<u32>> {
    let held = |pid: u32| is_in_lab(pid, folder).then(|| namespace(pid, "net")).flatten();
    let networks: Vec<PathBuf> = lab.holders().filter_map(held).collect();
    if networks.is_empty() {
        return Ok(BTreeSet::new());
    }
    let joined = |pid: &u32| namespace(*pid, "net").is_some_and(|net| networks.contains(&net));
    Ok(all()?.into_iter().filter(joined).collect())
}

/// A namespace of a process, as the kernel names it; `None` if the process is gone or not ours.
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

/// As the kernel writes a path into `mountinfo`.
fn escape(text: &str) -> String {
    text.replace('\\', "\\134").replace(' ', "\\040").replace('\t', "\\011").replace('\n', "\\012")
}

fn all() -> anyhow::Result<Vec<u32>> {
    let entries = fs::read_dir("/proc").context("/proc")?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect())
}

fn kill(pid: u32) -> io::Result<()> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| io::Error::other("not the number of a process"))?;
    match kill_process(pid, Signal::KILL) {
        // It has ended already.
        Err(Errno::SRCH) => Ok(()),
        killed => Ok(killed?),
    }
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
