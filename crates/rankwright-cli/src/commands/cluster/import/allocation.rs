//! The job that this runs in, as a cluster.

use std::path::Path;

use rankwright::cluster::allocation::{self, Granted, Misfit};
use rankwright::cluster::{Cluster, hostfile, hostlist};
use rankwright::files::InputError;

use super::{Cpu, Import};
use crate::cli::Verbosity;
use crate::{inputs, output};

/// What a batch system says about a job.
pub(super) enum Job {
    /// Hosts with numbers of CPUs.
    Cpus(Vec<Granted>),
    /// Hosts with numbers of slots, each a core.
    Slots(Vec<hostfile::Host>),
}

/// The variables with the number of a job.
const NUMBERS: [(&str, &str); 3] =
    [("slurm:", "SLURM_JOB_ID"), ("lsf:", "LSB_JOBID"), ("pbs:", "PBS_JOBID")];

/// The job, if that is what the user names: `slurm:`, `lsf:` or `pbs:`.
pub(super) fn granted(name: &str) -> Result<Option<Job>, InputError> {
    let variable = |name: &str| std::env::var(name).ok();
    Ok(match name {
        "slurm:" => Some(Job::Cpus(allocation::slurm(variable)?)),
        "lsf:" => Some(Job::Cpus(allocation::lsf(variable)?)),
        "pbs:" => {
            let Some(file) = variable("PBS_NODEFILE") else {
                let expected = "a job of PBS, inside of which this runs";
                return Err(InputError::new(
                    "PBS_NODEFILE",
                    "nothing in the environment",
                    expected,
                ));
            };
            let text = inputs::read_text_or_stdin(Path::new(&file), hostfile::EXPECTED)?;
            Some(Job::Slots(hostfile::parse(&text, &file)?))
        }
        _ => None,
    })
}

impl Import {
    pub(super) fn allocation(
        &self,
        name: &str,
        job: Job,
        verbosity: &Verbosity,
    ) -> anyhow::Result<(String, Cluster)> {
        self.refuse_other_options(name)?;
        let description = self.description(verbosity)?;
        let number = NUMBERS.iter().find(|(known, _)| *known == name);
        let number = number.and_then(|(_, variable)| std::env::var(variable).ok());
        let title = number.map_or("job".to_owned(), |number| format!("job-{number}"));
        let hosts = match job {
            Job::Cpus(hosts) => hosts,
            Job::Slots(hosts) => {
                let cluster = hostfile::cluster(&description, &hosts);
                return Ok((title, cluster.map_err(|host| self.unknown_type(name, &host))?));
            }
        };
        let cpu = match self.cpu {
            Cpu::Thread => allocation::Cpu::Thread,
            Cpu::Core => allocation::Cpu::Core,
        };
        let made = allocation::cluster(&description, &hosts, cpu);
        let allocation = made.map_err(|misfit| self.misfit(name, misfit))?;
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

    fn misfit(&self, name: &str, misfit: Misfit) -> InputError {
        match misfit {
            Misfit::Unknown(host) => self.unknown_type(name.trim_end_matches(':'), &host),
            Misfit::TooManyCpus { granted, has } => {
                let found = format!("{} CPUs on `{}`", granted.cpus, granted.host);
                let thing = match self.cpu {
                    Cpu::Thread => "PUs",
                    Cpu::Core => "cores",
                };
                let described = self.node_type.as_deref().unwrap_or("this machine");
                let expected = format!("at most the {has} {thing} of its type in {described}");
                let job = name.trim_end_matches(':');
                InputError::new(job, found, expected).with_advice("is --node-type another one?")
            }
        }
    }
}
