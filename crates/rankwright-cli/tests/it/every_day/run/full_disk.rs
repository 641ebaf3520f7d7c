//! `rankwright run` in a working directory that has no room for the launch files.

use std::process::Command;

use crate::command::{on_this_host, repository, say, transcript};
use crate::every_day::profile::as_root;
use crate::placements::{placement, write};

#[test]
fn on_a_full_disk_the_launch_files_go_elsewhere() {
    // A file system of 16 KiB, which needs a mount namespace of its own.
    let mount = "mount -t tmpfs -o size=16k tmpfs";
    let may = Command::new("unshare").args(["-rm", "sh", "-c", &format!("{mount} /mnt")]).output();
    if !may.is_ok_and(|output| output.status.success()) {
        say("SKIPPED: unshare cannot make a mount namespace here");
        return;
    }
    if Command::new("mpirun.openmpi").arg("--version").output().is_err() {
        say("SKIPPED: mpirun.openmpi is missing");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let here = placement(1, true, &[(&on_this_host(), 0)]);
    let placement = write(&here, folder.path());
    let full = folder.path().join("full");
    std::fs::create_dir(&full).unwrap();
    let script = format!(
        "{mount} {0} && cd {0} && {{ cat /dev/zero >zeros 2>&-; }}; exec {1} run {2} -- echo ran",
        full.display(),
        env!("CARGO_BIN_EXE_rankwright"),
        placement.display()
    );
    let mut unshare = Command::new("unshare");
    let command = as_root(unshare.args(["-rm", "sh", "-c", &script])).current_dir(repository());
    let output = command.env("RANKWRIGHT_RECORD", "off").output().unwrap();
    let text = transcript(&["run"], &output);
    assert!(text.contains("which other hosts may not see"), "{text}");
    assert!(output.status.success() && text.contains("ran\n"), "{text}");
}
