//! `cluster discover --all-nodes`: every node of a job describes itself.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use rankwright::cluster::merge::merge_discovered;
use rankwright::cluster::read::hostfile::{self, Host};
use rankwright::cluster::{Cluster, hostlist};
use rankwright::launch::{
    DefaultRequest, Launch, Launcher, ProgramLine, TaskStarter, find, shell, task_starter,
};
use rankwright::units::{Seconds, counted};
use rankwright_shim_format::same_host;

use super::node_report::{self, NodeReport};
use crate::host::batch_job::{self, BatchJob};
use crate::host::mpi::launcher::{self, MpiLauncher, Profiled};
use crate::host::{child, find_program};
use crate::launching::started::{Ready, duration, refuse_root, shared_folder};
use crate::options::{LAUNCHER_NAME, inputs, site};
use crate::output::exit_code::UsageError;
use crate::output::{Verbosity, note, warn};

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

/// What starts a process on each node.
enum Starter {
    /// A launcher of MPI programs.
    Launcher(MpiLauncher),
    /// A program of the batch system, and its path.
    Tasks(&'static TaskStarter, PathBuf),
}

/// How long files of other hosts may take to be seen here after the launcher has ended.
const SHARED_FOLDER_DELAY: Duration = Duration::from_secs(2);

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
        let folder = shared_folder()?;
        let launch = self.launch(&hosts, &starter, &arguments, folder.path())?;
        note(verbosity, format_args!("asking {}", counted(hosts.len(), "node")));
        let ended = self.start(launch, folder.path(), verbosity)?;
        let reports = ended.reports(folder.path(), &hosts)?;
        let parts = described(&hosts, reports, &ended)?;
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
                    let text = "--all-nodes: not inside a job of Slurm, LSF or PBS; run it inside \
                                one, or name the nodes with --hostfile";
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

    /// The command line that starts this program once on each host.
    fn launch(
        &self,
        hosts: &[String],
        starter: &Starter,
        arguments: &[String],
        folder: &Path,
    ) -> anyhow::Result<Launch> {
        let itself = std::env::current_exe().context("the path of this program")?;
        let path =
            |path: &Path| path.to_str().map(str::to_owned).context("a path that is not UTF-8");
        let (itself, folder) = (path(&itself)?, path(folder)?);
        let words = [&itself, "cluster", "discover", "--report-to", &folder].map(str::to_owned);
        let installed = match starter {
            Starter::Launcher(installed) => installed,
            Starter::Tasks(tasks, program) => {
                let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
                let program = program.display().to_string();
                return Ok(tasks.start(&program, arguments, &hosts, &words));
            }
        };
        refuse_root(arguments, installed)?;
        let MpiLauncher { program, launcher } = installed;
        let host = |name: &String| Host { name: name.clone(), slots: Some(1) };
        let hosts: Vec<Host> = hosts.iter().map(host).collect();
        Ok(launcher.write_one_per_host(&DefaultRequest {
            program: &program.display().to_string(),
            agent: self.agent.as_deref(),
            arguments,
            ranks: None,
            hosts: &hosts,
            emulated: false,
            mpi_library: "",
            programs: &ProgramLine::parse(&words)?,
        })?)
    }

    /// Starts the launcher and waits for it, at most for the time that the user gave.
    fn start(&self, launch: Launch, folder: &Path, verbosity: &Verbosity) -> anyhow::Result<Ended> {
        let ready = Ready::bare(launch);
        ready.explain(verbosity);
        let said = folder.join("launcher");
        let file = File::create(&said).with_context(|| said.display().to_string())?;
        let errors = file.try_clone().context("a file for the launcher's output")?;
        let deadline = Instant::now() + duration(self.timeout);
        let mut child = ready.spawn(|command| {
            command.stdin(Stdio::null()).stdout(file).stderr(errors);
        })?;
        let program = &ready.launch.command[0];
        let (how, in_time) = match child::wait(&mut child, Some(deadline))? {
            Some(status) => (format!("{program} ended with {status}"), true),
            None => {
                child::end(&mut child)?;
                (format!("{program} was ended after {} (--timeout)", self.timeout), false)
            }
        };
        let mut text = Vec::new();
        let said = File::open(&said).with_context(|| said.display().to_string())?;
        said.take(MOST_SAID).read_to_end(&mut text).context("the launcher's output")?;
        Ok(Ended { how, in_time, said: String::from_utf8_lossy(&text).into_owned() })
    }
}

/// The most that is kept of the launcher's output, in bytes, and how many lines are shown.
const MOST_SAID: u64 = 64 * 1024;
const MOST_LINES: usize = 10;

/// A launcher that has ended.
struct Ended {
    /// How, in words.
    how: String,
    /// Whether it ended before the timeout.
    in_time: bool,
    /// The beginning of its output.
    said: String,
}

impl Ended {
    /// The reports of the hosts. The files of the last ones may take a moment to be seen.
    fn reports(&self, folder: &Path, hosts: &[String]) -> anyhow::Result<Vec<Option<NodeReport>>> {
        let deadline = Instant::now() + SHARED_FOLDER_DELAY;
        loop {
            let reports = node_report::read(folder, hosts)?;
            let is_whole = reports.iter().all(Option::is_some);
            if is_whole || !self.in_time || Instant::now() >= deadline {
                return Ok(reports);
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
}

/// The descriptions of all hosts, each with the name that the batch system or the user gives it.
fn described(
    hosts: &[String],
    reports: Vec<Option<NodeReport>>,
    ended: &Ended,
) -> anyhow::Result<Vec<(String, Cluster)>> {
    let mut parts = Vec::new();
    let (mut silent, mut failed) = (Vec::new(), Vec::new());
    for (host, report) in hosts.iter().zip(reports) {
        match report {
            Some(Ok(cluster)) => {
                let named = cluster.edit(|cluster| cluster.nodes[0].name.clone_from(host))?;
                parts.push((host.clone(), named));
            }
            Some(Err(why)) => failed.push(format!("{host}: {why}")),
            None => silent.push(host.as_str()),
        }
    }
    if parts.len() == hosts.len() {
        return Ok(parts);
    }
    if !silent.is_empty() {
        failed.push(format!("{}: no answer", hostlist::compress(&silent)));
    }
    let (missing, all) = (hosts.len() - parts.len(), counted(hosts.len(), "node"));
    let lines = ended.said.lines().filter(|line| !line.trim().is_empty()).take(MOST_LINES);
    let said: String = lines.map(|line| format!("\n  {line}")).collect();
    anyhow::bail!(
        "{missing} of {all} not described, nothing is written: {}; {}{said}",
        failed.join("; "),
        ended.how
    )
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
