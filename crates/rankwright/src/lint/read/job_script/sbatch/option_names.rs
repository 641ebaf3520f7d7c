//! The long options that sbatch and srun have, of Slurm 22.05 to 26.05 (its `src/common/slurm_opt.c`).

use crate::lint::similar;

/// Of both, with a value.
const WITH_VALUE: &str = "account acctg-freq autocomplete bb bbf begin chdir cluster \
    cluster-constraint clusters comment constraint container container-id context core-spec \
    cores-per-socket cpu-freq cpus-per-gpu cpus-per-task deadline delay-boot dependency \
    distribution error exclude export extra extra-node-info gpu-bind gpu-freq gpus gpus-per-node \
    gpus-per-socket gpus-per-task gres gres-flags hint input job-name licenses mail-type mail-user \
    mcs-label mem mem-bind mem-per-cpu mem-per-gpu mem-update mincpus network nodefile nodelist \
    nodes ntasks ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket ntasks-per-tres \
    open-mode output partition power prefer priority profile qos reservation resources runtime \
    segment signal sockets-per-node switches tasks-per-node thread-spec threads-per-core time \
    time-min tmp tres-bind tres-per-task wckey";
/// Of both, without a value, or with one only behind `=`.
const FLAGS: &str = "consolidate-segments contiguous exclusive help hold nice no-kill oom-kill-step \
    overcommit oversubscribe parsable propagate quiet reboot resv-ports spread-job spread-segments \
    stepmgr test-only usage use-min-nodes verbose version";
const SBATCH_WITH_VALUE: &str =
    "array batch export-file gid kill-on-invalid-dep uid wait-all-nodes wrap";
const SBATCH_FLAGS: &str = "external get-user-env ignore-pbs no-requeue requeue wait";
const SRUN_WITH_VALUE: &str = "accel-bind bcast-exclude cpu-bind epilog het-group ignore-signals \
    jobid mpi msg-timeout pack-group prolog relative slurmd-debug task-epilog task-prolog threads \
    treewidth wait";
const SRUN_FLAGS: &str = "async bcast compress debugger-test disable-status exact external-launcher \
    immediate interactive kill-on-bad-exit label multi-prog no-allocate overlap preserve-env pty \
    quit-on-interrupt send-libs unbuffered wait-for-children whole x11";

/// Who reads the options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Program {
    Sbatch,
    Srun,
    /// Options that may be meant for either.
    Either,
}

/// What an option is to a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    WithValue(&'static str),
    /// Without a value, or with one only behind `=`.
    Flag(&'static str),
    /// Unknown, or an ambiguous prefix: `begins` has the options with this prefix.
    None {
        begins: Vec<&'static str>,
    },
}

impl Program {
    /// The option of this name, or the only one that begins like this.
    pub(super) fn option(self, written: &str) -> Found {
        let written = written.replace('_', "-");
        if let Some(exact) = self.all().find(|(name, _)| *name == written) {
            return exact.1(exact.0);
        }
        let begins: Vec<_> = self.all().filter(|(name, _)| name.starts_with(&*written)).collect();
        match begins[..] {
            [(name, found)] => found(name),
            _ => Found::None { begins: begins.into_iter().map(|(name, _)| name).collect() },
        }
    }

    /// Its option with the most similar name; `None` if none is similar.
    pub(super) fn similar(self, written: &str) -> Option<&'static str> {
        similar::to(written, self.all().map(|(name, _)| name))
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Sbatch => "sbatch",
            Self::Srun | Self::Either => "srun",
        }
    }

    /// All options, each with what it is.
    fn all(self) -> impl Iterator<Item = (&'static str, fn(&'static str) -> Found)> {
        let (sbatch, srun) = (self != Self::Srun, self != Self::Sbatch);
        let list = |wanted: bool, names: &'static str, found: fn(&'static str) -> Found| {
            let names = if wanted { names } else { "" };
            names.split_ascii_whitespace().map(move |name| (name, found))
        };
        let both = list(true, WITH_VALUE, Found::WithValue).chain(list(true, FLAGS, Found::Flag));
        let of_sbatch = list(sbatch, SBATCH_WITH_VALUE, Found::WithValue).chain(list(
            sbatch,
            SBATCH_FLAGS,
            Found::Flag,
        ));
        let of_srun = list(srun, SRUN_WITH_VALUE, Found::WithValue).chain(list(
            srun,
            SRUN_FLAGS,
            Found::Flag,
        ));
        both.chain(of_sbatch).chain(of_srun)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_those_of_the_program() {
        let found = |program: Program, name: &str| program.option(name);
        assert_eq!(found(Program::Sbatch, "wait"), Found::Flag("wait"));
        assert_eq!(found(Program::Srun, "wait"), Found::WithValue("wait"));
        assert_eq!(found(Program::Srun, "cpu_bind"), Found::WithValue("cpu-bind"));
        assert_eq!(found(Program::Sbatch, "cpu-bind"), Found::None { begins: Vec::new() });
        assert_eq!(found(Program::Sbatch, "nodel"), Found::WithValue("nodelist"));
        assert_eq!(
            found(Program::Sbatch, "exclu"),
            Found::None { begins: vec!["exclude", "exclusive"] }
        );
        assert_eq!(Program::Sbatch.similar("ntask-per-node"), Some("ntasks-per-node"));
        assert_eq!(Program::Sbatch.similar("foobar"), None);
    }
}
