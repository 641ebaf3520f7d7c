//! The command line that starts the probe: the user's, or one for all nodes of the cluster.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use rankwright::cluster::read::hostfile::Host;
use rankwright::cluster::{Cluster, hostlist};
use rankwright::ids::NodeId;
use rankwright::launch::{DefaultRequest, Launcher, ProgramLine};
use rankwright_shim_format::same_host;

use super::Calibrate;
use super::switches::across;
use crate::host::batch_job::{self, BatchJob};
use crate::host::mpi::built::{Part, Target, abi_on_path};
use crate::host::mpi::launcher::{self, MpiLauncher, Profiled};
use crate::host::mpi::{Abi, Mpi};
use crate::host::this_host;
use crate::launching::lab;
use crate::launching::launch_line::LaunchLine;
use crate::launching::started::refuse_root;
use crate::output::Verbosity;
use crate::output::exit_code::{Infeasible, NotStarted, UsageError};

/// The probe, an MPI program.
const PROBE: Part = Part {
    name: "probe",
    file_name: "rankwright-probe",
    folder: "lib/rankwright/probes",
    sources: include!(concat!(env!("OUT_DIR"), "/probe_sources.rs")),
    compile: &["-c", "-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra"],
    link: &[],
    libraries: &["-lm"],
};

/// The most ranks on a node whose cores do not exist.
const MOST_EMULATED: usize = 4;

impl Calibrate {
    /// The command that starts the probe.
    pub(super) fn probe_command(
        &self,
        cluster: &Cluster,
        verbosity: &Verbosity,
    ) -> anyhow::Result<Command> {
        match self.command.is_empty() {
            true => self.own_line(cluster, verbosity),
            false => self.line_of_user(cluster, verbosity),
        }
    }

    fn line_of_user(&self, cluster: &Cluster, verbosity: &Verbosity) -> anyhow::Result<Command> {
        // A program that exists, so that it is not taken for the value of an option.
        let itself = text(&std::env::current_exe().context("the path of this program")?)?;
        let words = [&self.command[..], std::slice::from_ref(&itself)].concat();
        let line = LaunchLine::read(&words)?;
        let programs: Vec<&[String]> = line.programs().collect();
        if let [[first, ..]] = programs[..]
            && *first != itself
        {
            let text = format!(
                "`{first}`: a program, expected only the launcher and its options: calibrate starts \
                 a program of its own"
            );
            return Err(UsageError(text).into());
        }
        let family = line.mpi.as_ref().map(|mpi| Abi::of_family(mpi.family));
        let probe = self.probe(family, &line.launcher, verbosity)?;
        let mut words: Vec<OsString> = vec![probe.into()];
        words.extend(self.probe_options(cluster).into_iter().map(OsString::from));
        Ok(line.with_program(&words)?)
    }

    /// The line that starts ranks on all nodes of the cluster, or on those that the batch system grants.
    fn own_line(&self, cluster: &Cluster, verbosity: &Verbosity) -> anyhow::Result<Command> {
        let installed = launcher::find(self.launcher, Profiled::default(), None)?;
        refuse_root(&[], &installed)?;
        if self.agent.is_none() && BatchJob::around()?.is_none() {
            let hosts = cluster.nodes.iter().map(|node| node.name.as_str());
            if let Some(why) = lab::Described::from(cluster).why_unreachable(hosts) {
                return Err(Infeasible(format!("{}: {why}", self.on.display())).into());
            }
        }
        let MpiLauncher { program, launcher } = &installed;
        let family = Mpi::ask(program.clone()).ok().map(|mpi| Abi::of_family(mpi.family));
        let mut words = vec![text(&self.probe(family, program, verbosity)?)?];
        words.extend(self.probe_options(cluster));
        let (hosts, ranks) = hosts(cluster, launcher)?;
        let launch = launcher.write_default(&DefaultRequest {
            program: &program.display().to_string(),
            agent: self.agent.as_deref(),
            arguments: &[],
            ranks: Some(ranks),
            hosts: &hosts,
            emulated: cluster.emulated,
            mpi_library: match family {
                Some(Abi::OpenMpi) => "Open MPI",
                Some(Abi::Mpich) => "MPICH",
                Some(Abi::Standard) | None => "",
            },
            programs: &ProgramLine::parse(&words)?,
        })?;
        let mut command = Command::new(&launch.command[0]);
        command.args(&launch.command[1..]);
        command.envs(launch.environment.iter().map(|(name, value)| (name, value)));
        Ok(command)
    }

    /// The probe for the MPI of a launcher; `family` is `None` for launchers of any MPI. One built for
    /// this very MPI is better than an installed one: that has to find the library.
    fn probe(
        &self,
        family: Option<Abi>,
        launcher: &Path,
        verbosity: &Verbosity,
    ) -> anyhow::Result<PathBuf> {
        let abi = self.mpi.or(family).or_else(abi_on_path).ok_or_else(|| {
            let why = format!(
                "{} starts programs of any MPI, and no mpicc is on PATH: give --mpi {}",
                launcher.display(),
                Abi::ALL.map(Abi::name).join("|")
            );
            NotStarted { code: 125, why }
        })?;
        let target = Target { abi, launcher, is_its_launcher: family.is_some(), library: None };
        match PROBE.installed(abi) {
            Some(installed) if PROBE.compiler(&target).is_err() => Ok(installed),
            _ => PROBE.built(&target, verbosity),
        }
    }

    fn probe_options(&self, cluster: &Cluster) -> Vec<String> {
        let mut words = vec!["--time-per-item".to_owned(), self.time_per_item.0.to_string()];
        if cluster.emulated {
            words.push("--shares-pus".to_owned());
        }
        for (first, second, levels) in across(cluster) {
            words.push("--across".to_owned());
            words.push(format!("{first}:{second}:{levels}"));
        }
        words
    }
}

/// The hosts of the launch with their ranks, and the number of all ranks; no hosts where the batch system
/// grants them, or where this host is the only one.
fn hosts(cluster: &Cluster, launcher: &Launcher) -> anyhow::Result<(Vec<Host>, usize)> {
    let ranks_on = |node: NodeId| {
        let cores = cluster.machine(node).cores.len();
        if cluster.emulated { cores.min(MOST_EMULATED) } else { cores }
    };
    if let Some(batch) = BatchJob::around()? {
        let ranks = granted_ranks(&batch, cluster, &ranks_on)?;
        return Ok((batch_job::hosts_to_tell(launcher), ranks));
    }
    let nodes: Vec<NodeId> = cluster.node_ids().collect();
    let ranks = nodes.iter().map(|node| ranks_on(*node)).sum();
    let here = this_host::name()?;
    if nodes.iter().all(|node| same_host(&cluster.node(*node).name, &here)) {
        return Ok((Vec::new(), ranks));
    }
    let host = |node: &NodeId| Host {
        name: cluster.node(*node).name.clone(),
        slots: u32::try_from(ranks_on(*node)).ok(),
    };
    Ok((nodes.iter().map(host).collect(), ranks))
}

/// One rank per core of the granted hosts, but no more than CPUs and tasks are granted: launchers refuse
/// more.
fn granted_ranks(
    batch: &BatchJob,
    cluster: &Cluster,
    ranks_on: &dyn Fn(NodeId) -> usize,
) -> anyhow::Result<usize> {
    let (mut ranks, mut unknown) = (0, Vec::new());
    for name in batch.hosts.names() {
        let Some(node) = cluster.find_node(name) else {
            unknown.push(name);
            continue;
        };
        let cpus = batch.hosts.cpus_of(name).and_then(|cpus| usize::try_from(cpus).ok());
        ranks += ranks_on(node).min(cpus.unwrap_or(usize::MAX));
    }
    if !unknown.is_empty() {
        let text = format!(
            "{} has {}, which `{}` does not have: add these nodes, or give a launch line for the others",
            batch.title,
            hostlist::compress(&unknown),
            cluster.name
        );
        return Err(Infeasible(text).into());
    }
    Ok(ranks.min(batch.tasks.unwrap_or(usize::MAX)))
}

fn text(path: &Path) -> anyhow::Result<String> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| UsageError(format!("{}: the path is not UTF-8", path.display())).into())
}
