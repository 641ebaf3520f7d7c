//! `cluster discover --all-nodes`: every node of a job describes itself.

use std::path::{Path, PathBuf};

use clap::Args;
use rankwright::cluster::merge::merge_discovered;
use rankwright::cluster::read::{hostfile, toml};
use rankwright::cluster::{Cluster, hostlist};
use rankwright::launch::{Launcher, find, shell, task_starter};
use rankwright::units::{Seconds, counted};
use rankwright_shim_format::same_host;

use crate::host::batch_job::{self, BatchJob};
use crate::host::mpi::launcher::{self, Profiled};
use crate::host::{find_program, this_host};
use crate::launching::every_node::{self, Answers, EveryNode, Starter};
use crate::options::{LAUNCHER_NAME, inputs, site};
use crate::output::exit_code::UsageError;
use crate::output::{Verbosity, note, warn};

/// How the names of descriptions end.
const KIND: &str = "toml";

/// Describes this node in a file of the folder.
pub(super) fn report(folder: &Path) -> anyhow::Result<()> {
    every_node::leave(folder, KIND, this_host::cluster().map(|cluster| toml::write(&cluster)))
}

/// How the nodes are reached.
#[derive(Debug, Args)]
pub(super) struct AllNodesOptions {
    /// Hostfile with the nodes, if no batch system grants them
    #[arg(long, value_name = "FILE", requires = "all_nodes")]
    hostfile: Option<PathBuf>,
    /// Launcher that starts a process on each node [default: that of site.toml, else srun in a job of
    /// Slurm, else the first MPI launcher on PATH, else pbsdsh or blaunch in a job of PBS or LSF]
    #[arg(long = "for", value_name = "LAUNCHER", value_parser = LAUNCHER_NAME, requires = "all_nodes")]
    launcher: Option<&'static Launcher>,
    /// Further arguments for the launcher, as one quoted string
    #[arg(long, value_name = "ARGUMENTS", allow_hyphen_values = true, requires = "all_nodes")]
    launcher_args: Option<String>,
    /// Program that the launcher calls instead of ssh, like /opt/bin/rsh
    #[arg(long, value_name = "PROGRAM", env = "RANKWRIGHT_AGENT", hide_env_values = true)]
    agent: Option<String>,
    /// Time within which all nodes must have described themselves
    #[arg(long, value_name = "TIME", default_value = "60 s", requires = "all_nodes")]
    timeout: Seconds,
}

impl AllNodesOptions {
    /// The nodes as a cluster, in the order in which they were granted.
    ///
    /// # Errors
    /// If a node fails or says nothing in time; the error names it.
    pub(super) fn cluster(&self, verbosity: &Verbosity) -> anyhow::Result<Cluster> {
        let hosts = self.hosts()?;
        let starter = self.starter()?;
        let arguments = self.launcher_args.as_deref().unwrap_or_default();
        let arguments = shell::split(arguments)
            .map_err(|open| UsageError(format!("--launcher-args: found {open} in: {arguments}")))?;
        note(verbosity, format_args!("asking {}", counted(hosts.len(), "node")));
        let nodes = EveryNode {
            hosts: &hosts,
            kind: KIND,
            starter: &starter,
            arguments: &arguments,
            agent: self.agent.as_deref(),
            timeout: (self.timeout, " (--timeout)"),
        };
        let answers = nodes.ask(&["cluster", "discover", "--report-to"], verbosity)?;
        let parts = described(&hosts, &answers)?;
        let cluster = merge_discovered(parts)?.named("cluster");
        warn_of_pus_not_granted(&cluster, verbosity);
        Ok(cluster)
    }

    /// The hosts of the job, each once.
    fn hosts(&self) -> anyhow::Result<Vec<String>> {
        let named: Vec<String> = match &self.hostfile {
            Some(file) => {
                let text = inputs::read_text_or_stdin(file, hostfile::EXPECTED)?;
                let hosts = hostfile::parse(&text, &file.display().to_string())?;
                hosts.into_iter().map(|host| host.name).collect()
            }
            None => {
                let batch = BatchJob::around()?.ok_or_else(|| {
                    let text = "--all-nodes: not inside a job of Slurm, LSF, PBS or Flux; run it \
                                inside one, or name the nodes with --hostfile";
                    UsageError(text.to_owned())
                })?;
                batch.hosts.names().into_iter().map(str::to_owned).collect()
            }
        };
        let mut hosts: Vec<String> = Vec::new();
        for host in named {
            if !hosts.iter().any(|other| same_host(other, &host)) {
                hosts.push(host);
            }
        }
        Ok(hosts)
    }

    /// What starts one process per node: srun in a Slurm job, as it needs no MPI; else the MPI launcher;
    /// without one `pbsdsh` in a PBS job, `blaunch` in an LSF job.
    fn starter(&self) -> anyhow::Result<Starter> {
        let in_slurm = self.hostfile.is_none() && std::env::var_os("SLURM_JOB_ID").is_some();
        let of_slurm =
            || find("slurm").filter(|slurm| find_program(slurm.program.as_ref()).is_some());
        let wanted = site::launcher_if_any(self.launcher)?;
        let wanted = wanted.or_else(|| in_slurm.then(of_slurm).flatten());
        let missing = match launcher::find(wanted, Profiled::default(), None) {
            Ok(installed) => return Ok(Starter::Launcher(installed)),
            Err(missing) => missing,
        };
        let system = batch_job::system().filter(|_| wanted.is_none() && self.hostfile.is_none());
        let tasks = system.and_then(task_starter);
        let program = tasks.and_then(|tasks| find_program(tasks.program.as_ref()));
        match (tasks, program) {
            (Some(tasks), Some(program)) => Ok(Starter::Tasks(tasks, program)),
            _ => Err(missing.into()),
        }
    }
}

/// The descriptions of all hosts, each with the name that the batch system or the user gives it.
fn described(hosts: &[String], answers: &Answers) -> anyhow::Result<Vec<(String, Cluster)>> {
    let mut parts = Vec::new();
    let mut failed = Vec::new();
    for (host, left) in hosts.iter().zip(&answers.left) {
        let read = |file: &PathBuf| toml::read(file).map_err(|error| error.to_string());
        match left.as_ref().map(|left| left.clone().and_then(|file| read(&file))) {
            Some(Ok(cluster)) => {
                let named = cluster.edit(|cluster| cluster.nodes[0].name.clone_from(host))?;
                parts.push((host.clone(), named));
            }
            Some(Err(why)) => failed.push(format!("{host}: {why}")),
            None => {}
        }
    }
    if parts.len() == hosts.len() {
        return Ok(parts);
    }
    let (missing, all) = (hosts.len() - parts.len(), counted(hosts.len(), "node"));
    let why = answers.why_missing(hosts, failed);
    anyhow::bail!("{missing} of {all} not described, nothing is written: {why}")
}

/// Nodes of which the job has only a part are described with that part.
fn warn_of_pus_not_granted(cluster: &Cluster, verbosity: &Verbosity) {
    let in_part =
        |node: &&rankwright::cluster::Node| cluster.groups[node.group].free.contains(&false);
    let names: Vec<&str> =
        cluster.nodes.iter().filter(in_part).map(|node| node.name.as_str()).collect();
    if !names.is_empty() {
        let text = format!(
            "{}: granted in part; the other PUs are not free in the description; ask for whole nodes \
             (salloc --exclusive)",
            hostlist::compress(&names)
        );
        warn(verbosity, text);
    }
}
