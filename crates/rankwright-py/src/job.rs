//! Batch jobs, by the variables that Python code hands over.

use std::collections::HashMap;

use pyo3::prelude::*;
use rankwright::cluster::read::allocation::{
    self, BatchSystem, Cpu, Granted, JobHosts, TaskShares, gpus_granted, gpus_here,
};
use rankwright::cluster::read::hostfile;
use rankwright::cluster::{Cluster, hostlist};
use rankwright::units::counted;

use crate::failure::Failure;

/// The variables of a job, and what the batch system says besides.
#[derive(Debug, FromPyObject)]
pub(crate) struct Job(HashMap<String, String>, Option<String>);

/// The cluster of what was granted, and what is uncertain of it.
pub(crate) struct Grant {
    pub(crate) cluster: Cluster,
    pub(crate) warnings: Vec<String>,
}

/// The title of a job, and its hosts with the number of granted CPUs.
type Told = (String, Vec<(String, Option<u32>)>);

/// What is known of the job; `None` outside of jobs.
#[pyfunction]
pub(crate) fn job_around(job: Job) -> PyResult<Option<Told>> {
    let Some(system) = BatchSystem::around(|name| job.variable(name)) else { return Ok(None) };
    let hosts = match job.hosts(system)? {
        JobHosts::Cpus(hosts) => hosts.into_iter().map(|it| (it.host, Some(it.cpus))).collect(),
        JobHosts::Slots(hosts) => hosts.into_iter().map(|host| (host.name, host.slots)).collect(),
    };
    Ok(Some((job.title(system), hosts)))
}

impl Job {
    fn variable(&self, name: &str) -> Option<String> {
        self.0.get(name).cloned()
    }

    fn system(&self) -> Result<BatchSystem, Failure> {
        let none = || Failure::Argument("job: found no variables of a batch job".to_owned());
        BatchSystem::around(|name| self.variable(name)).ok_or_else(none)
    }

    fn title(&self, system: BatchSystem) -> String {
        system.title(|name| self.variable(name))
    }

    /// The hosts with what is known of them; those of PBS with slots alone.
    fn hosts(&self, system: BatchSystem) -> Result<JobHosts, Failure> {
        let variable = |name: &str| self.variable(name);
        Ok(match system {
            BatchSystem::Flux => JobHosts::Cpus(self.hosts_of_flux()?),
            BatchSystem::Pbs => {
                system.hosts(variable)?.unwrap_or_else(|| JobHosts::Slots(Vec::new()))
            }
            BatchSystem::Slurm | BatchSystem::Lsf => {
                let said = self.1.as_deref().unwrap_or_default();
                JobHosts::Cpus(system.grant(variable, said)?.map_or(Vec::new(), |it| it.hosts))
            }
        })
    }

    fn hosts_of_flux(&self) -> Result<Vec<Granted>, Failure> {
        if let Some(text) = &self.1 {
            return Ok(allocation::flux(text, "details")?);
        }
        let number = BatchSystem::Flux.number(|name| self.variable(name)).unwrap_or_default();
        let parent = if self.0.contains_key("FLUX_JOB_ID") { "" } else { "--parent " };
        Err(Failure::Argument(format!(
            "details: found none, but only Flux knows the hosts of {}: expected the output of `flux {parent}job \
             info {number} R`",
            self.title(BatchSystem::Flux)
        )))
    }

    /// The nodes of a cluster that the job has, whole, and the title of the job.
    pub(crate) fn nodes_of(&self, whole: &Cluster) -> Result<(String, Cluster), Failure> {
        let system = self.system()?;
        let (title, hosts) = (self.title(system), self.hosts(system)?);
        let nodes = hosts.nodes_of(whole).map_err(|error| Failure::Argument(error.to_string()))?;
        match nodes {
            Some(nodes) => Ok((title, nodes)),
            None => Err(Failure::Infeasible(format!(
                "job: {title} has {}, none of the nodes of {}; Cluster.granted() takes hosts that a description \
                 does not name",
                hostlist::compress(&hosts.names()),
                whole.name
            ))),
        }
    }

    /// How the tasks of the job are shared out, if the batch system tells.
    pub(crate) fn task_shares(&self) -> Option<TaskShares> {
        TaskShares::around(|name| self.variable(name))
    }

    /// Whether GPUs were granted.
    pub(crate) fn has_gpus(&self) -> bool {
        let some = |granted: &Granted| granted.gpus.as_ref().is_some_and(|gpus| !gpus.is_empty());
        gpus_granted(|name| self.variable(name))
            || matches!(self.system(), Ok(BatchSystem::Flux))
                && self.hosts_of_flux().is_ok_and(|hosts| hosts.iter().any(some))
    }

    /// The number of GPUs that the job has where the variables are from.
    pub(crate) fn gpus_here(&self) -> Option<usize> {
        gpus_here(|name| self.variable(name))
    }

    /// The granted hosts as a cluster with the hardware of `like`, as `rankwright cluster import` makes it;
    /// `cpu` is what the batch system counts.
    pub(crate) fn cluster(
        &self,
        like: &Cluster,
        source: &str,
        cpu: &str,
    ) -> Result<Grant, Failure> {
        let cpu = match cpu {
            "thread" => Cpu::Thread,
            "core" => Cpu::Core,
            other => return Err(Failure::unknown("cpu", other, ["thread", "core"].into_iter())),
        };
        let system = self.system()?;
        let hosts = self.hosts(system)?;
        let mut warnings: Vec<String> = unknown_hosts(like, source, &hosts).into_iter().collect();
        let cluster = match &hosts {
            JobHosts::Slots(hosts) => {
                let cluster =
                    hostfile::cluster(like, hosts).map_err(|error| misfit(error.into(), source))?;
                warnings.extend(too_many_slots(&cluster, hosts, source));
                cluster
            }
            JobHosts::Cpus(hosts) => {
                let made =
                    allocation::cluster(like, hosts, cpu).map_err(|it| misfit(it, source))?;
                warnings.extend(in_part(&made.in_part, cpu));
                made.cluster
            }
        };
        let number = system.number(|name| self.variable(name)).unwrap_or_default();
        Ok(Grant { cluster: cluster.named(format!("job-{number}")), warnings })
    }
}

fn misfit(misfit: allocation::Misfit, source: &str) -> Failure {
    Failure::Infeasible(misfit.text(source))
}

/// That hosts are not in the description, which names its nodes.
fn unknown_hosts(like: &Cluster, source: &str, hosts: &JobHosts) -> Option<String> {
    let names = hosts.names();
    let unknown: Vec<&str> =
        names.into_iter().filter(|host| like.find_node(host).is_none()).collect();
    let first = unknown.first().filter(|_| !like.invented)?;
    let count = counted(unknown.len(), "host");
    Some(format!("{count} not in {source} ({first}): assumed to be like its nodes"))
}

fn in_part(names: &[String], cpu: Cpu) -> Option<String> {
    let what = match cpu {
        Cpu::Thread => "are counted as threads; if they are cores, use cpu=\"core\"",
        Cpu::Core => "are counted as cores",
    };
    (!names.is_empty()).then(|| {
        format!(
            "{}: granted in part; the numbers of the PUs are not known (in a job of Slurm `scontrol show job \
             --details` tells them: details), so the first PUs are used; CPUs {what}",
            hostlist::compress(names)
        )
    })
}

fn too_many_slots(cluster: &Cluster, hosts: &[hostfile::Host], source: &str) -> Option<String> {
    let contradictions = hostfile::too_many_slots(cluster, hosts);
    let (first, pus) = contradictions.first()?;
    let names: Vec<&str> = contradictions.iter().map(|(host, _)| host.name.as_str()).collect();
    Some(format!(
        "{}: {} slots, but {source} has {}, so these hosts have other hardware",
        hostlist::compress(&names),
        first.slots.unwrap_or(0),
        counted(*pus, "PU")
    ))
}
