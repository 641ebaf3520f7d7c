//! A working directory whose launcher and `scontrol` are scripts that say what they were told.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rankwright::placement::PlacementFile;
use tempfile::TempDir;

use crate::command::{rankwright, transcript};
use crate::placements::write;

/// A working directory with programs of our own before all others on PATH.
pub(crate) struct Site {
    folder: TempDir,
}

/// Says what MPICH's launcher says; started, it tells its arguments and the ranks' hosts.
pub(crate) const LAUNCHER: &str = r#"#!/bin/sh
if [ "$1" = --version ]; then echo "HYDRA build details:"; echo "    Version: 4.2.0"; exit; fi
for word; do case $word in
  */hosts*|*/hostfile*) sort -u "$word" | tr '\n' ' '; echo "(hosts)" ;;
esac; done
echo "started: $*"
echo >>runs
case $* in *-rankmap*) time=1.9 ;; *) time=2.0 ;; esac
echo "time: $time$(wc -l <runs)"
exit ${LAUNCHER_CODE:-0}
"#;

impl Site {
    pub(crate) fn new() -> Self {
        let site = Self { folder: tempfile::tempdir().expect("a working directory") };
        site.program("mpiexec.hydra", "#!/bin/sh\nexit 1\n");
        site.program("mpirun", LAUNCHER);
        site.program("scontrol", "#!/bin/sh\nexit 1\n");
        site.program("app", "#!/bin/sh\n");
        site.file("cluster.toml", CLUSTER);
        let made = rankwright(&["-q", "traffic", "generate", "ring:8", "-o", "app.rwp"])
            .current_dir(site.folder.path())
            .output();
        assert!(made.expect("it starts").status.success());
        site
    }

    pub(crate) fn file(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).expect("the folder is writable");
    }

    /// A file in a folder of the site's; its path.
    pub(crate) fn file_in(&self, folder: &str, name: &str, text: &str) -> PathBuf {
        std::fs::create_dir_all(self.path().join(folder)).expect("the folder is writable");
        let name = format!("{folder}/{name}");
        self.file(&name, text);
        self.path().join(name)
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn program(&self, name: &str, text: &str) {
        self.file(name, text);
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.folder.path().join(name), executable).expect("it is ours");
    }

    pub(crate) fn placement(&self, placement: &PlacementFile) {
        write(placement, self.folder.path());
    }

    /// `rankwright run ...` outside of any job.
    pub(crate) fn outside(&self, arguments: &[&str]) -> Command {
        let mut command = rankwright(arguments);
        let path = format!("{}:/usr/bin:/bin", self.folder.path().display());
        command.current_dir(self.folder.path()).env("PATH", path);
        // Hosts are invented: their names are not looked up if the launcher calls another program than ssh.
        command.env("OMPI_MCA_plm_rsh_agent", "none").env("HYDRA_LAUNCHER_EXEC", "none");
        for name in [
            "SLURM_NTASKS",
            "SLURM_CPUS_PER_TASK",
            "SLURM_TASKS_PER_NODE",
            "LSB_JOBID",
            "PBS_JOBID",
        ] {
            command.env_remove(name);
        }
        command
    }

    /// `rankwright run ...` in a job of Slurm with these hosts and CPUs on each.
    pub(crate) fn command(&self, job: Option<(&str, &str)>, arguments: &[&str]) -> Command {
        let mut command = self.outside(arguments);
        if let Some((hosts, cpus)) = job {
            command.env("SLURM_JOB_ID", "7").env("SLURM_JOB_NODELIST", hosts);
            command.env("SLURM_JOB_CPUS_PER_NODE", cpus);
        }
        command
    }

    pub(crate) fn run(&self, job: Option<(&str, &str)>, arguments: &[&str]) -> (Output, String) {
        let arguments = [&["run"], arguments].concat();
        self.output(self.command(job, &arguments), &arguments)
    }

    pub(crate) fn output(&self, mut command: Command, arguments: &[&str]) -> (Output, String) {
        let output = command.output().expect("the program starts");
        let text = transcript(arguments, &output);
        let folder = self.folder.path().display().to_string();
        let text = text.replace(&folder, "[FOLDER]");
        let text = text.replace(env!("CARGO_BIN_EXE_rankwright-exec"), "[SHIM]");
        (output, hidden(&text, ".rankwright_run_", 6))
    }
}

/// Takes out the characters behind a mark, which are others every time.
fn hidden(text: &str, mark: &str, count: usize) -> String {
    let mut parts = text.split(mark);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + mark + "*" + part.get(count..).unwrap_or_default())
}

const CLUSTER: &str = r#"name = "site"

[[node]]
names = "n[0-3]"
topology = "pack:1 core:4 pu:1"

[[node]]
names = "f[0-3]"
topology = "pack:1 core:2 pu:1"
"#;

/// Whether the launcher binds depends on how many PUs this machine has.
pub(crate) const PLACED: [&str; 8] =
    ["--profile", "app.rwp", "--on", "cluster.toml", "--binding", "exec", "--", "./app"];
