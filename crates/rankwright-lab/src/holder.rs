//! The sleeping processes that hold the namespaces of a lab's nodes.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, bail};

use crate::enter::enter;
use crate::state::Folder;
use crate::tools;

/// The time limit for making namespaces.
const LONGEST_START: Duration = Duration::from_secs(60);

/// Makes the process that runs it a node. The mark is set first, so that `down` finds the process
/// from then on. IPv6 is off, so that only the programs send packets; TCP keeps its window when
/// idle, as on tuned hosts of a cluster. Each device answers and asks for its own addresses only and
/// takes packets from all subnets, so that traffic stays on the device that a program chose. A `/sys`
/// of its own shows the node's devices; where that is not permitted the host's are seen. `-n`: in a user
/// namespace `mount` may not write its table.
const BECOME_A_NODE: &str = r#"set -e
mount -t tmpfs -o mode=1777 "$1" /dev/shm
if [ ! -e /etc/hosts ]; then
  echo "/etc/hosts is missing; make one with the line: 127.0.0.1 localhost" >&2
  exit 1
fi
mount --bind "$2" /etc/hosts
mkdir /dev/shm/sys
if mount -n -t sysfs sysfs /dev/shm/sys 2>/dev/null; then
  mount -n --rbind /sys/fs/cgroup /dev/shm/sys/fs/cgroup 2>/dev/null || true
  mount -n --move /dev/shm/sys /sys 2>/dev/null || umount -n -R /dev/shm/sys
fi
rmdir /dev/shm/sys
hostname "$3"
for kind in all default; do
  file=/proc/sys/net/ipv6/conf/$kind/disable_ipv6
  if [ -e $file ]; then echo 1 >$file; fi
  echo 1 >/proc/sys/net/ipv4/conf/$kind/arp_ignore
  echo 2 >/proc/sys/net/ipv4/conf/$kind/arp_announce
  echo 0 >/proc/sys/net/ipv4/conf/$kind/rp_filter
done
echo 0 >/proc/sys/net/ipv4/tcp_slow_start_after_idle
echo 0 >/proc/sys/net/ipv4/tcp_early_retrans
echo ready
exec sleep infinity >/dev/null 2>&1
"#;

/// How this user may make namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Privilege {
    /// As root.
    Root,
    /// As root of a user namespace of the lab.
    UserNamespace,
}

impl Privilege {
    /// Finds out what is permitted here.
    pub(crate) fn probe() -> anyhow::Result<Self> {
        let mut refusals = Vec::new();
        for privilege in [Self::Root, Self::UserNamespace] {
            let output = privilege.unshare().arg("true").output().context("starting unshare")?;
            if output.status.success() {
                return Ok(privilege);
            }
            let refusal = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            if refusal.contains("root filesystem propagation") {
                bail!(
                    "a lab needs a root folder that is a mount point ({refusal}); this looks like \
                     a chroot: `mount --bind FOLDER FOLDER` before entering it"
                );
            }
            refusals.push(refusal);
        }
        bail!(
            "a lab needs namespaces, which are not permitted here ({}); run it as root (in a \
             container: with the capability SYS_ADMIN), or allow user namespaces",
            refusals.join("; in a user namespace: ")
        )
    }

    fn unshare(self) -> Command {
        let mut command = tools::command("unshare");
        command.args(["--net", "--uts", "--ipc", "--mount"]);
        if self == Self::UserNamespace {
            command.args(["--user", "--map-root-user"]);
        }
        command.arg("--").stdin(Stdio::null());
        command
    }
}

/// A node's holder, started by this process.
#[derive(Debug)]
pub(crate) struct Holder {
    host: String,
    child: Child,
}

impl Holder {
    /// Starts the holder of a lab's first node, the switch.
    pub(crate) fn start_switch(
        folder: &Folder,
        host: &str,
        privilege: Privilege,
    ) -> anyhow::Result<Self> {
        Self::start(privilege.unshare(), folder, host)
    }

    /// Starts the holder of another node; it lives in the switch's user namespace.
    pub(crate) fn start_node(folder: &Folder, host: &str, switch: u32) -> anyhow::Result<Self> {
        let mut command = enter(switch, &[])?;
        command.args(["unshare", "--net", "--uts", "--ipc", "--mount", "--"]);
        Self::start(command, folder, host)
    }

    fn start(mut command: Command, folder: &Folder, host: &str) -> anyhow::Result<Self> {
        // A new session: hangups and interrupts of the terminal do not reach it.
        command.args(["setsid", "sh", "-c", BECOME_A_NODE, "rankwright-lab"]);
        command.arg(folder.mark()).arg(folder.file("hosts")).arg(host);
        command.current_dir("/").stdin(Stdio::null());
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        Ok(Self { host: host.to_owned(), child: child.context("starting a node")? })
    }

    /// Its process, which stays the same while programs replace each other in it.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it is a node.
    pub(crate) fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        let output = self.child.stdout.take().context("a node is waited for once")?;
        if first_line(output).as_deref() == Some("ready") {
            return Ok(());
        }
        // It may hang; killing it closes the pipe that is read next.
        let _ = self.child.kill();
        let mut said = String::new();
        if let Some(mut errors) = self.child.stderr.take() {
            let _ = errors.read_to_string(&mut said);
        }
        bail!("node `{}` did not start: {}", self.host, said.trim().replace('\n', "; "))
    }

    /// Waits for its end, so that no zombie remains.
    pub(crate) fn reap(mut self) {
        let _ = self.child.wait();
    }
}

/// The first line; `None` if it does not come in time.
fn first_line(output: ChildStdout) -> Option<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let line = BufReader::new(output).lines().next();
        // The receiver is gone if it took too long.
        let _ = sender.send(line.and_then(Result::ok));
    });
    receiver.recv_timeout(LONGEST_START).ok().flatten()
}
