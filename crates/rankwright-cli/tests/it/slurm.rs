//! `rankwright profile` under a real Slurm: `tests/fake-slurm` starts a controller and two nodes on this
//! machine, in a network of their own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::command::{rankwright, repository, say, transcript};
use crate::profile::{CACHE, MPIS, heat};

/// A running Slurm; ends with this value.
struct Slurm {
    folder: TempDir,
}

fn fake_slurm() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake-slurm")
}

impl Slurm {
    /// Starts one; `None` (and said so) where that is not possible.
    fn start() -> Option<Self> {
        let missing = ["slurmctld", "slurmd", "srun"].into_iter().find(|name| {
            let folders = ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"];
            !folders.iter().any(|folder| Path::new(folder).join(name).exists())
        });
        if let Some(name) = missing {
            say(format_args!("SKIPPED: {name} is not installed"));
            return None;
        }
        let slurm = Self { folder: tempfile::tempdir().expect("a folder for Slurm") };
        let output = slurm.told("start", &[]);
        if !output.status.success() {
            // Without root there is no network for it; anything else is an error.
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!may_make_networks(), "{text}");
            say("SKIPPED: a network namespace for Slurm is not permitted here");
            return None;
        }
        Some(slurm)
    }

    fn told(&self, what: &str, command: &[&str]) -> Output {
        let mut slurm = Command::new("timeout");
        slurm.arg("90").arg(fake_slurm()).arg(what).arg(self.folder.path()).args(command);
        slurm.env("XDG_CACHE_HOME", CACHE);
        // Open MPI leaves the loopback device out, which is all there is.
        slurm.env("OMPI_MCA_btl_tcp_if_include", "lo").env("OMPI_MCA_mpi_yield_when_idle", "1");
        slurm.output().expect("timeout is everywhere")
    }

    /// Profiles a launch; where the profile lies, and what was told.
    fn profile(&self, launch: &[&str]) -> (PathBuf, Output, String) {
        self.profile_with(&[], launch)
    }

    fn profile_with(&self, options: &[&str], launch: &[&str]) -> (PathBuf, Output, String) {
        let profile = self.folder.path().join("app.rwp");
        let path = profile.display().to_string();
        let arguments = [&["profile", "-o", &path], options, &["--"], launch].concat();
        let command = [&[env!("CARGO_BIN_EXE_rankwright")], arguments.as_slice()].concat();
        let output = self.told("exec", &command);
        let text = transcript(&arguments, &output);
        (profile, output, text)
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        self.told("stop", &[]);
    }
}

fn may_make_networks() -> bool {
    let tried = Command::new("unshare").args(["--net", "true"]).output();
    tried.is_ok_and(|output| output.status.success())
}

#[test]
fn srun_starts_programs_of_all_mpis_on_two_nodes() {
    let Some(slurm) = Slurm::start() else { return };
    let prefix = repository().join(".mpi/openmpi5").display().to_string();
    let pmix = ["--mpi=pmix", "--mpi=pmi2"];
    // Slurm passes nothing on of the environment but what is named. A wheel of Open MPI that its own
    // launcher does not start must be told where it lies.
    let named = "--export=HOME,PATH,OMPI_MCA_btl_tcp_if_include=lo,OMPI_MCA_mpi_yield_when_idle=1";
    let of_wheel = format!("{named},OPAL_PREFIX={prefix},PMIX_PREFIX={prefix}");
    for (place, mpi) in MPIS.iter().enumerate() {
        let Some(program) = heat(mpi, slurm.folder.path()) else { continue };
        let program = program.display().to_string();
        let run = [program.as_str(), "--cells", "64", "--fields", "2", "--iterations", "5"];
        let environment = if place == 2 { &of_wheel } else { named };
        let launch =
            [&["srun", "-N2", "-ln", "4", pmix[place % 2], environment], &run[..]].concat();
        let (mut file, mut output, mut text) = slurm.profile(&launch);
        if !output.status.success() {
            say(format_args!("retried: {text}"));
            (file, output, text) = slurm.profile(&launch);
        }
        assert!(output.status.success(), "{text}");
        let file = file.display().to_string();
        let shown = rankwright(&["traffic", "show", &file, "--format", "json"]).output().unwrap();
        let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
        assert_eq!(shown["pairs"], 8, "{shown}");
        assert_eq!(shown["bytes"], 40 * 32 * 2 * 8);
        assert_eq!(shown["hosts"], 2);
    }
}

#[test]
fn sruns_exit_code_is_passed_on() {
    let Some(slurm) = Slurm::start() else { return };
    let launch = ["srun", "-n1", "sh", "-c", "exit 7"];
    // Nothing says which MPI a shell starts.
    let (_, output, text) = slurm.profile(&launch);
    assert_eq!(output.status.code(), Some(125), "{text}");
    assert!(text.contains("cannot tell which MPI sh uses"), "{text}");
    let (_, output, text) = slurm.profile_with(&["--mpi", "mpich"], &launch);
    assert_eq!(output.status.code(), Some(7), "{text}");
}
