//! Entering the namespaces of a lab's nodes.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

use crate::network::{
    self, HEAD, MANAGEMENT_DEVICE, MANAGEMENT_NETWORK, data_device, data_network,
};
use crate::process;
use crate::state::{FOLDER_VARIABLE, Folder, Lab, LabName, NAME_VARIABLE, SLURM_FOLDER};
use crate::tools;

/// The variable, set inside a lab, with the values that it has set for network devices.
const DEFAULTS_VARIABLE: &str = "RANKWRIGHT_LAB_DEFAULTS";

/// `nsenter` into some namespaces (`n`et, `u`ts, `i`pc, `m`ount) of a process, and into its user
/// namespace if that is different; the caller adds the command to run there.
pub(crate) fn enter(pid: u32, namespaces: &[&str]) -> anyhow::Result<Command> {
    let mut command = tools::command("nsenter");
    command.arg(format!("--target={pid}")).args(namespaces);
    if namespaces.contains(&"--mount") {
        // If the lab was made in a chroot, the root of the mount namespace differs from the root of
        // the process.
        command.arg("--root").arg("--wd");
    }
    let user = process::namespace(pid, "user").with_context(|| format!("process {pid} is gone"))?;
    // The kernel refuses to enter the current user namespace.
    if Some(user) != process::namespace(std::process::id(), "user") {
        command.args(["--user", "--preserve-credentials"]);
    }
    command.arg("--");
    Ok(command)
}

/// `nsenter` into a node by its name or address.
pub(crate) fn enter_node(folder: &Folder, lab: &Lab, host: &str) -> anyhow::Result<Command> {
    let names: Vec<String> = lab.nodes.iter().map(|node| node.name.clone()).collect();
    let index = network::find(host, &names).with_context(|| format!("lab `{}`", folder.name))?;
    let (holder, name) = match index {
        None => (lab.head, HEAD),
        Some(index) => (lab.nodes[index].holder, lab.nodes[index].name.as_str()),
    };
    if !process::is_in_lab(holder, folder) {
        bail!(
            "lab `{0}`: the process that holds {name} has ended; remove the lab with `rankwright \
             lab down --name {0}` and start it again",
            folder.name
        );
    }
    enter(holder, &["--net", "--uts", "--ipc", "--mount"])
}

/// A command on a node of a lab, or on `head`, in the current folder and with the variables that
/// launchers need.
///
/// # Errors
/// If the lab or the node is not up.
pub fn command_on(lab: &LabName, node: &str, command: &[OsString]) -> anyhow::Result<Command> {
    let folder = Folder::of(lab)?;
    let lab = folder.read_complete()?;
    let mut entered = enter_node(&folder, &lab, node)?;
    // Entering a mount namespace changes the current folder to its root.
    let here = env::current_dir().context("the current folder")?;
    entered.args(["sh", "-c", "cd \"$0\" || exit 125; exec \"$@\""]).arg(here);
    entered.args(command).envs(launcher_environment(&folder, &lab));
    Ok(entered)
}

/// The variables that launchers need in a lab: remote shell, networks, and yielding on few real
/// cores.
fn launcher_environment(folder: &Folder, lab: &Lab) -> Vec<(&'static str, String)> {
    let agent = text(&folder.file("agent"));
    let of_devices = |text: fn(u32) -> String| {
        let texts: Vec<String> = (0..lab.nics).map(text).collect();
        texts.join(",")
    };
    let devices = [
        ("OMPI_MCA_btl_tcp_if_include", of_devices(data_network)),
        ("UCX_NET_DEVICES", of_devices(data_device)),
        ("FI_TCP_IFACE", data_device(0)),
    ];
    let defaults = devices.iter().map(|(name, value)| format!("{name}={value}"));
    let defaults: Vec<String> = defaults.collect();
    let mut environment = vec![
        (NAME_VARIABLE, folder.name.to_string()),
        (FOLDER_VARIABLE, text(folder.root())),
        ("RANKWRIGHT_AGENT", agent.clone()),
        // Open MPI 4; whoever makes a lab is root in it
        ("OMPI_ALLOW_RUN_AS_ROOT", "1".to_owned()),
        ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1".to_owned()),
        ("OMPI_MCA_plm_rsh_agent", agent.clone()),
        ("OMPI_MCA_plm_rsh_no_tree_spawn", "1".to_owned()),
        ("OMPI_MCA_oob_tcp_if_include", MANAGEMENT_NETWORK.to_owned()),
        ("OMPI_MCA_orte_tmpdir_base", "/dev/shm".to_owned()),
        // Linux makes a scheduling group of each session. With a session per node, ranks do not
        // yield to ranks of other nodes, and may hold a busy core for a minute.
        ("OMPI_MCA_orte_leave_session_attached", "1".to_owned()),
        // Open MPI 5
        ("PRTE_ALLOW_RUN_AS_ROOT", "1".to_owned()),
        ("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1".to_owned()),
        ("PRTE_MCA_plm_ssh_agent", agent.clone()),
        ("PRTE_MCA_plm_ssh_no_tree_spawn", "1".to_owned()),
        ("PRTE_MCA_prte_if_include", MANAGEMENT_NETWORK.to_owned()),
        ("PRTE_MCA_prte_tmpdir_base", "/dev/shm".to_owned()),
        ("PRTE_MCA_prte_leave_session_attached", "1".to_owned()),
        // Both
        ("OMPI_MCA_pml", "ob1".to_owned()),
        ("OMPI_MCA_btl", "self,vader,tcp".to_owned()),
        // Windows between nodes, as messages, by TCP: UCX would look for devices of its own.
        ("OMPI_MCA_osc", "^ucx".to_owned()),
        ("OMPI_MCA_mpi_yield_when_idle", "1".to_owned()),
        // MPICH
        ("HYDRA_LAUNCHER", "ssh".to_owned()),
        ("HYDRA_LAUNCHER_EXEC", agent),
        ("HYDRA_IFACE", MANAGEMENT_DEVICE.to_owned()),
        (DEFAULTS_VARIABLE, defaults.join(" ")),
    ];
    environment.extend(devices);
    if lab.slurm {
        environment.push(("SLURM_CONF", text(&folder.file(SLURM_FOLDER).join("slurm.conf"))));
    }
    environment
}

/// Whether this process is in a lab that has set the variable `name` to this `value`, for programs
/// whose placement names no devices. A value that the user has set instead is none.
#[must_use]
pub fn is_default_of_lab(name: &str, value: &str) -> bool {
    let defaults = env::var(DEFAULTS_VARIABLE).unwrap_or_default();
    defaults.split(' ').any(|word| word.split_once('=') == Some((name, value)))
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
