//! The allocation of the current batch job, as a cluster.

use clap::ValueEnum;
use rankwright::cluster::read::allocation::{self, JobHosts, Misfit};
use rankwright::cluster::read::hostfile::{self, Host, HostsError};
use rankwright::cluster::{Cluster, hostlist};
use rankwright::files::InputError;
use rankwright::units::counted;

use crate::host::batch_job;
use crate::output::{self, Verbosity};

/// What a batch system counts as a CPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Cpu {
    /// A hardware thread (PU)
    #[default]
    Thread,
    /// A core, with all its hardware threads
    Core,
}

/// The source of an allocation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Job<'a> {
    /// `slurm:`, `lsf:`, `pbs:` or `flux:`.
    pub(super) name: &'a str,
    /// What its batch system counts.
    pub(super) cpu: Cpu,
    /// The name of the hosts' description in errors.
    pub(super) described: &'a str,
}

impl Job<'_> {
    /// The default name of the cluster of granted hosts, and the cluster.
    pub(super) fn cluster(
        self,
        granted: JobHosts,
        description: &Cluster,
        verbosity: &Verbosity,
    ) -> anyhow::Result<(String, Cluster)> {
        let Self { name, described, .. } = self;
        let title =
            batch_job::number(name).map_or("job".to_owned(), |number| format!("job-{number}"));
        let hosts = match granted {
            JobHosts::Cpus(hosts) => hosts,
            JobHosts::Slots(hosts) => {
                let cluster = hostfile::cluster(description, &hosts);
                let cluster = cluster.map_err(|error| hosts_error(name, error, described))?;
                warn_of_slots(name, &cluster, &hosts, described, verbosity);
                return Ok((title, cluster));
            }
        };
        let cpu = match self.cpu {
            Cpu::Thread => allocation::Cpu::Thread,
            Cpu::Core => allocation::Cpu::Core,
        };
        let made = allocation::cluster(description, &hosts, cpu);
        let allocation = made.map_err(|misfit| self.misfit(misfit))?;
        if !allocation.in_part.is_empty() {
            let what = match self.cpu {
                Cpu::Thread => "are counted as threads; if they are cores, use --cpu core",
                Cpu::Core => "are counted as cores",
            };
            output::warn(
                verbosity,
                format_args!(
                    "{}: granted in part; the numbers of the PUs are not known, so the first PUs are \
                     used; CPUs {what}",
                    hostlist::compress(&allocation.in_part)
                ),
            );
        }
        Ok((title, allocation.cluster))
    }

    fn misfit(self, misfit: Misfit) -> InputError {
        let job = self.name.trim_end_matches(':');
        let thing = match self.cpu {
            Cpu::Thread => "PUs",
            Cpu::Core => "cores",
        };
        match misfit {
            Misfit::Hosts(error) => hosts_error(job, error, self.described),
            Misfit::TooManyCpus { granted, has } | Misfit::NoSuchCpu { granted, has } => {
                let cpus = format!("{} CPUs on `{}`", granted.cpus, granted.host);
                let described = self.described;
                let expected = format!("at most the {has} {thing} of its type in {described}");
                InputError::new(job, cpus, expected).with_advice("is --node-type another one?")
            }
        }
    }
}

/// Warns of hosts with more slots than PUs: they are not like the hardware that they were given.
pub(super) fn warn_of_slots(
    source: &str,
    cluster: &Cluster,
    hosts: &[Host],
    described: &str,
    verbosity: &Verbosity,
) {
    let contradictions = hostfile::too_many_slots(cluster, hosts);
    let Some((first, pus)) = contradictions.first() else { return };
    let names: Vec<&str> = contradictions.iter().map(|(host, _)| host.name.as_str()).collect();
    let (names, pus) = (hostlist::compress(&names), counted(*pus, "PU"));
    let slots = first.slots.unwrap_or(0);
    output::warn(
        verbosity,
        format_args!(
            "{source}: {names}: {slots} slots, but {described} has {pus}, so these hosts have other \
             hardware: name it with --node-type FILE, or ask the hosts themselves with `rankwright \
             cluster discover --all-nodes`"
        ),
    );
}

/// The error of hosts that make no cluster; `described` names the cluster with their types.
pub(super) fn hosts_error(source: &str, error: HostsError, described: &str) -> InputError {
    match error {
        HostsError::UnknownType(host) => {
            let expected = format!("a host of {described}, which has nodes of several types");
            InputError::new(source, format!("the host `{host}`"), expected)
        }
        HostsError::Invalid(error) => error.in_source(source),
    }
}
