//! Programs of batch systems that start a process on each host of a job, without any MPI. They cannot
//! start ranks: these would not find each other.

use super::Launch;
use crate::cluster::hostlist::is_host_name;

/// A program that starts processes on the hosts of a job.
#[derive(Debug)]
pub struct TaskStarter {
    /// The prefix of jobs that it works in: `pbs:`, `lsf:`.
    pub system: &'static str,
    /// The program.
    pub program: &'static str,
    /// The words between the program and what it starts on these hosts.
    options: fn(&[&str]) -> Vec<String>,
}

/// All of them.
const TASK_STARTERS: [TaskStarter; 2] = [
    // OpenPBS and Torque. It starts as many processes on a host as the job has tasks there: only
    // Torque's can start one (-u).
    TaskStarter { system: "pbs:", program: "pbsdsh", options: |_| vec!["--".to_owned()] },
    TaskStarter {
        system: "lsf:",
        program: "blaunch",
        options: |hosts| vec!["-z".to_owned(), hosts.join(" ")],
    },
];

/// That of a batch system.
#[must_use]
pub fn task_starter(system: &str) -> Option<&'static TaskStarter> {
    TASK_STARTERS.iter().find(|starter| starter.system == system)
}

impl TaskStarter {
    /// Starts the words at least once on each host; `program` is the path of the starter.
    ///
    /// # Panics
    /// If a host has no name of a host.
    #[must_use]
    pub fn start(
        &self,
        program: &str,
        arguments: &[String],
        hosts: &[&str],
        words: &[String],
    ) -> Launch {
        assert!(hosts.iter().all(|host| is_host_name(host)), "host names: {hosts:?}");
        let options = (self.options)(hosts);
        let program = [program.to_owned()];
        let command = [&program[..], arguments, &options, words].concat();
        Launch {
            by_exec: false,
            binding: format!("{} starts processes and binds none", self.program),
            files: Vec::new(),
            environment: Vec::new(),
            command,
            notes: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::shell;
    use super::*;

    #[test]
    fn each_batch_system_has_its_syntax() {
        let words = ["/bin/rankwright", "cluster"].map(str::to_owned);
        let line = |system: &str| {
            let starter = task_starter(system).unwrap();
            let launch = starter.start(starter.program, &[], &["n0", "n1"], &words);
            shell::join(&launch.command)
        };
        assert_eq!(line("pbs:"), "pbsdsh -- /bin/rankwright cluster");
        assert_eq!(line("lsf:"), "blaunch -z 'n0 n1' /bin/rankwright cluster");
        assert!(task_starter("slurm:").is_none());
    }
}
