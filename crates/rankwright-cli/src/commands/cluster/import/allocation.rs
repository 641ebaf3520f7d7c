//! The job that this runs in, as a cluster.

use rankwright::cluster::read::allocation::{self, Misfit};
use rankwright::cluster::read::hostfile;
use rankwright::cluster::{Cluster, hostlist};
use rankwright::files::InputError;

use super::{Cpu, Import};
use crate::batch_job::{self, Hosts};
use crate::cli::Verbosity;
use crate::output;

impl Import {
    pub(super) fn allocation(
        &self,
        name: &str,
        job: Hosts,
        verbosity: &Verbosity,
    ) -> anyhow::Result<(String, Cluster)> {
        self.refuse_other_options(name)?;
        let description = self.description(verbosity)?;
        let title =
            batch_job::number(name).map_or("job".to_owned(), |number| format!("job-{number}"));
        let hosts = match job {
            Hosts::Cpus(hosts) => hosts,
            Hosts::Slots(hosts) => {
                let cluster = hostfile::cluster(&description, &hosts);
                return Ok((title, cluster.map_err(|error| self.misfit(name, error))?));
            }
        };
        let cpu = match self.cpu {
            Cpu::Thread => allocation::Cpu::Thread,
            Cpu::Core => allocation::Cpu::Core,
        };
        let made = allocation::cluster(&description, &hosts, cpu);
        let allocation = made.map_err(|misfit| self.allocation_misfit(name, misfit))?;
        if !allocation.in_part.is_empty() {
            let what = match self.cpu {
                Cpu::Thread => "threads here; where they are cores, use --cpu core",
                Cpu::Core => "cores here",
            };
            output::warn(
                verbosity,
                format_args!(
                    "{}: granted in part; which PUs is not told, so the first ones are taken; CPUs \
                     are {what}",
                    hostlist::compress(&allocation.in_part)
                ),
            );
        }
        Ok((title, allocation.cluster))
    }

    fn allocation_misfit(&self, name: &str, misfit: Misfit) -> InputError {
        let thing = match self.cpu {
            Cpu::Thread => "PUs",
            Cpu::Core => "cores",
        };
        match misfit {
            Misfit::Hosts(error) => self.misfit(name.trim_end_matches(':'), error),
            Misfit::TooManyCpus { granted, has } | Misfit::NoSuchCpu { granted, has } => {
                let found = format!("{} CPUs on `{}`", granted.cpus, granted.host);
                let described = self.node_type.as_deref().unwrap_or("this machine");
                let expected = format!("at most the {has} {thing} of its type in {described}");
                let job = name.trim_end_matches(':');
                InputError::new(job, found, expected).with_advice("is --node-type another one?")
            }
        }
    }
}
