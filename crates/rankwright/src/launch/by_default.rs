//! The launchers' defaults: command lines that leave the placement to the launcher, for jobs that
//! could not be placed and for comparisons with placements.

use super::launchers::{openmpi4, openmpi5, slurm};
use super::{Launch, LaunchError, ProgramLine};
use crate::cluster::read::hostfile::Host;

/// A job that the launcher places by its default.
#[derive(Debug, Clone, Copy)]
pub struct DefaultRequest<'a> {
    /// The launcher's program.
    pub program: &'a str,
    /// The program that the launcher calls instead of `ssh`.
    pub agent: Option<&'a str>,
    /// Further arguments for the launcher.
    pub arguments: &'a [String],
    /// Number of ranks; `None` leaves it to the launcher.
    pub ranks: Option<usize>,
    /// The hosts of the job; empty for those that the batch system grants, or for this host.
    pub hosts: &'a [Host],
    /// Whether the cores of the hosts do not exist, so that no rank can be bound to its own.
    pub emulated: bool,
    /// The version string of the programs' MPI library; empty if it is not known.
    pub mpi_library: &'a str,
    /// The programs of the ranks.
    pub programs: &'a ProgramLine,
}

/// The syntax of a launcher's command line without a placement.
#[derive(Debug)]
pub(super) struct ByDefault {
    /// Words before all options.
    before: &'static [&'static str],
    /// The arguments that name the program to call instead of `ssh`.
    agent: fn(&str) -> Vec<String>,
    /// The option for a list of hosts, and whether `:SLOTS` follows each host. One that ends with a colon is
    /// one word with its list.
    pub(super) hosts: Option<(&'static str, bool)>,
    /// Options for hosts whose cores do not exist, where the launcher would refuse to bind.
    emulated: &'static [&'static str],
    /// Whether one command line can start several programs.
    several: bool,
    /// An option that an MPI library needs and that the user's arguments do not contain.
    of_library: fn(&str, &[String]) -> Option<String>,
    /// The options for one process on each of this many hosts, beyond a list with one slot each.
    one_per_host: fn(usize) -> Vec<String>,
    /// The strategy that gives the same mapping for a number of ranks.
    pub(super) mapping: fn(usize) -> &'static str,
    /// Whether a test compares `mapping` with a real launch; else it may depend on the site's scheduler.
    pub(super) mapping_was_tried: bool,
}

pub(super) const OPENMPI4: ByDefault = ByDefault {
    before: &[],
    agent: |agent| openmpi4::agent(&openmpi4::AGENT, agent),
    hosts: Some(("--host", true)),
    emulated: &["--bind-to", "none"],
    several: true,
    of_library: |_, _| None,
    one_per_host: |_| Vec::new(),
    // By core up to two ranks, else by NUMA node; ranks are numbered by slot.
    mapping: |ranks| if ranks > 2 { "blocked:within=numa" } else { "blocked" },
    mapping_was_tried: true,
};

pub(super) const OPENMPI5: ByDefault = ByDefault {
    before: &[],
    agent: |agent| openmpi4::agent(&openmpi5::AGENT, agent),
    hosts: Some(("--host", true)),
    emulated: &["--bind-to", "none"],
    several: true,
    of_library: |_, _| None,
    one_per_host: |_| Vec::new(),
    mapping: |_| "blocked",
    mapping_was_tried: true,
};

pub(super) const HYDRA: ByDefault = ByDefault {
    before: &[],
    agent: super::launchers::mpich::agent,
    hosts: Some(("-hosts", true)),
    emulated: &[],
    several: true,
    of_library: |_, _| None,
    one_per_host: |_| Vec::new(),
    // Hydra fills hosts in order. MPICH binds to nothing, Intel MPI to shares of the node in order.
    mapping: |_| "blocked",
    mapping_was_tried: true,
};

pub(super) const SLURM: ByDefault = ByDefault {
    before: &[],
    agent: |_| Vec::new(),
    hosts: Some(("-w", false)),
    emulated: &["--overcommit", "--cpu-bind=none"],
    several: false,
    of_library: slurm::option_for,
    // A step of MPI is slower to start; a node that fails must not end the others.
    one_per_host: |_| {
        let words =
            ["--ntasks-per-node=1", "--mpi=none", "--cpu-bind=none", "--kill-on-bad-exit=0"];
        words.map(str::to_owned).into()
    },
    // `--distribution=block:cyclic`: cyclic over the sockets of a node. Held against jobs with a task
    // per core; how many tasks a node gets is in the environment of the job.
    mapping: |_| "blocked:within=packages",
    mapping_was_tried: true,
};

/// No Cray was there to try it.
pub(super) const CRAYMPICH: ByDefault = ByDefault { mapping_was_tried: false, ..SLURM };

/// As Open MPI 4, because the launcher behind it is not known.
pub(super) const NUMACTL: ByDefault = ByDefault { mapping_was_tried: false, ..OPENMPI4 };

pub(super) const FLUX: ByDefault = ByDefault {
    before: &["run"],
    agent: |_| Vec::new(),
    hosts: Some(("--requires=host:", false)),
    emulated: &[],
    several: false,
    of_library: |_, _| None,
    one_per_host: |_| vec!["--exclusive".to_owned()],
    // sched-simple of 0.88 fills nodes in order; most sites have Fluxion.
    mapping: |_| "blocked",
    mapping_was_tried: false,
};

impl ByDefault {
    /// One process on each host of the request, whatever number of ranks it has.
    pub(super) fn write_one_per_host(
        &self,
        launcher: &'static str,
        request: &DefaultRequest<'_>,
    ) -> Result<Launch, LaunchError> {
        let one = |host: &Host| Host { name: host.name.clone(), slots: Some(1) };
        let hosts: Vec<Host> = request.hosts.iter().map(one).collect();
        let mut arguments = (self.one_per_host)(hosts.len());
        arguments.extend_from_slice(request.arguments);
        let ranks = Some(hosts.len());
        self.write(
            launcher,
            &DefaultRequest { hosts: &hosts, arguments: &arguments, ranks, ..*request },
        )
    }

    pub(super) fn write(
        &self,
        launcher: &'static str,
        request: &DefaultRequest<'_>,
    ) -> Result<Launch, LaunchError> {
        let impossible =
            |reason: &str| Err(LaunchError::Impossible { launcher, reason: reason.to_owned() });
        let programs = request.programs;
        let several = programs.names().nth(1).is_some();
        let ranks = request.ranks.or(programs.total());
        if several && !self.several {
            return impossible("it starts several programs only with a placement");
        }
        let mut command = vec![request.program.to_owned()];
        command.extend(self.before.iter().map(|&word| word.to_owned()));
        command.extend(request.agent.map(self.agent).into_iter().flatten());
        command.extend(self.hosts(request.hosts, ranks));
        let emulated = if request.emulated { self.emulated } else { &[] };
        command.extend(emulated.iter().map(|&word| word.to_owned()));
        command.extend((self.of_library)(request.mpi_library, request.arguments));
        command.extend_from_slice(request.arguments);
        match ranks {
            None if several => {
                return impossible("each of several programs needs `-n RANKS`");
            }
            // The launcher takes the number of ranks from the batch system, or starts one.
            None => command.extend_from_slice(programs.for_ranks(1)?[0].words),
            Some(ranks) => {
                for (index, part) in programs.for_ranks(ranks)?.into_iter().enumerate() {
                    command.extend((index > 0).then(|| ":".to_owned()));
                    command.extend(["-n".to_owned(), part.ranks.to_string()]);
                    command.extend_from_slice(part.words);
                }
            }
        }
        Ok(Launch {
            by_exec: false,
            binding: format!("placement and binding are {launcher}'s defaults"),
            files: Vec::new(),
            environment: Vec::new(),
            command,
            notes: Vec::new(),
        })
    }

    fn hosts(&self, hosts: &[Host], ranks: Option<usize>) -> Vec<String> {
        let Some((option, with_slots)) = self.hosts.filter(|_| !hosts.is_empty()) else {
            return Vec::new();
        };
        // The launcher takes a host without a number for one slot.
        let share = ranks.unwrap_or(1).div_ceil(hosts.len());
        let word = |host: &Host| match with_slots {
            true => format!("{}:{}", host.name, host.slots.map_or(share, |slots| slots as usize)),
            false => host.name.clone(),
        };
        let list = hosts.iter().map(word).collect::<Vec<_>>().join(",");
        let mut words = match option.ends_with(':') {
            true => vec![format!("{option}{list}")],
            false => vec![option.to_owned(), list],
        };
        if !with_slots {
            // srun and flux take further or fewer hosts of the allocation unless they have their number.
            words.extend(["-N".to_owned(), hosts.len().to_string()]);
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::LAUNCHERS;

    /// Two hosts, one of them with a number of slots.
    fn hosts() -> [Host; 2] {
        let host = |name: &str, slots| Host { name: name.to_owned(), slots };
        [host("n0", Some(4)), host("n1", None)]
    }

    fn line(words: &str) -> ProgramLine {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        ProgramLine::parse(&words).unwrap()
    }

    #[test]
    fn every_launcher_is_told_in_its_own_words() {
        let expected = [
            "mpirun --mca plm_rsh_agent sh --mca plm_rsh_no_tree_spawn 1 --host n0:4,n1:3 -n 6 app",
            "mpirun --prtemca plm_ssh_agent sh --prtemca plm_ssh_no_tree_spawn 1 \
             --host n0:4,n1:3 -n 6 app",
            "mpiexec -launcher ssh -launcher-exec sh -hosts n0:4,n1:3 -n 6 app",
            "mpiexec -launcher ssh -launcher-exec sh -hosts n0:4,n1:3 -n 6 app",
            "mpiexec -launcher ssh -launcher-exec sh -hosts n0:4,n1:3 -n 6 app",
            "srun -w n0,n1 -N 2 --mpi=pmi2 -n 6 app",
            "flux run --requires=host:n0,n1 -N 2 -n 6 app",
            "srun -w n0,n1 -N 2 --mpi=pmi2 -n 6 app",
            "mpirun --mca plm_rsh_agent sh --mca plm_rsh_no_tree_spawn 1 --host n0:4,n1:3 -n 6 app",
        ];
        let (programs, hosts) = (line("app"), hosts());
        for (launcher, expected) in LAUNCHERS.iter().zip(expected) {
            let request = DefaultRequest {
                program: launcher.program,
                agent: Some("sh"),
                arguments: &[],
                ranks: Some(6),
                hosts: &hosts,
                emulated: false,
                mpi_library: "MPICH",
                programs: &programs,
            };
            let launch = launcher.write_default(&request).unwrap();
            assert_eq!(launch.command.join(" "), expected, "{}", launcher.name);
        }
        assert_eq!(LAUNCHERS.len(), expected.len());
    }

    #[test]
    fn one_process_is_started_on_each_host() {
        let (programs, hosts) = (line("app x"), hosts());
        let command = |name: &str| {
            let launcher = crate::launch::find(name).unwrap();
            let request = DefaultRequest {
                program: "start",
                agent: None,
                arguments: &["-v".to_owned()],
                ranks: None,
                hosts: &hosts,
                emulated: false,
                mpi_library: "",
                programs: &programs,
            };
            launcher.write_one_per_host(&request).unwrap().command.join(" ")
        };
        assert_eq!(command("openmpi4"), "start --host n0:1,n1:1 -v -n 2 app x");
        assert_eq!(command("mpich"), "start -hosts n0:1,n1:1 -v -n 2 app x");
        assert_eq!(
            command("flux"),
            "start run --requires=host:n0,n1 -N 2 --exclusive -v -n 2 app x"
        );
        assert_eq!(
            command("slurm"),
            "start -w n0,n1 -N 2 --ntasks-per-node=1 --mpi=none --cpu-bind=none \
             --kill-on-bad-exit=0 -v -n 2 app x"
        );
    }

    #[test]
    fn several_programs_need_a_launcher_that_starts_them_and_numbers() {
        let command = |launcher: &str, words: &str, ranks| {
            let programs = line(words);
            let launcher = crate::launch::find(launcher).unwrap();
            let request = DefaultRequest {
                program: "start",
                agent: None,
                arguments: &["-v".to_owned()],
                ranks,
                hosts: &[],
                emulated: true,
                mpi_library: "",
                programs: &programs,
            };
            launcher.write_default(&request).map(|launch| launch.command.join(" "))
        };
        let refused = |launcher, words| command(launcher, words, None).unwrap_err().to_string();
        assert_eq!(command("mpich", "app x", None).unwrap(), "start -v app x");
        let both = "-n 2 a : -n 1 b x";
        assert_eq!(
            command("openmpi5", both, Some(3)).unwrap(),
            "start --bind-to none -v -n 2 a : -n 1 b x"
        );
        assert!(refused("slurm", both).contains("starts several programs only with a placement"));
        assert!(refused("flux", both).contains("starts several programs only with a placement"));
        assert!(refused("mpich", "-n 2 a : b").contains("needs `-n RANKS`"));
        assert!(command("mpich", both, Some(4)).is_err());
    }
}
