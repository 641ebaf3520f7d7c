//! Programs before the launcher: `rankwright profile -- nice -n 5 mpirun -np 4 ./app`.

use std::process::Command;

use crate::command::say;
use crate::every_day::profile::{MPIS, heat, messages, profile, script};

#[test]
fn the_launcher_may_stand_behind_other_programs() {
    // Open MPI and MPICH of Debian.
    for mpi in &MPIS[..2] {
        let folder = tempfile::tempdir().unwrap();
        let Some(program) = heat(mpi, folder.path()) else { continue };
        let run = "--cells 64 --fields 2 --iterations 5";
        let checks = "[ \"$WORD\" = 'two words' ] && [ \"$(nice)\" = 5 ]";
        let text = format!("{checks} || exit 9\nexec {} {run}", program.display());
        let program = script(folder.path(), "checked", &text);
        let before = ["timeout", "-k", "5", "50", "env", "WORD=two words", "nice", "-n", "5"];
        let launch = [&before[..], &[mpi.launcher], mpi.options, &[&program]].concat();
        // One retry: launchers on a loaded machine do hang now and then.
        let (mut output, mut text) = profile(folder.path(), &launch);
        if !output.status.success() {
            say(format_args!("retried: {text}"));
            (output, text) = profile(folder.path(), &launch);
        }
        assert!(output.status.success(), "{text}");
        assert_eq!(messages(folder.path()), 40, "{text}");
    }
}

#[test]
fn a_wrapper_that_ends_the_launcher_gives_its_own_exit_code() {
    let mpi = &MPIS[0];
    let folder = tempfile::tempdir().unwrap();
    if Command::new(mpi.launcher).arg("--version").output().is_err() {
        say(format_args!("SKIPPED: {} is missing", mpi.launcher));
        return;
    }
    let launch = [&["timeout", "1", mpi.launcher], mpi.options, &["sleep", "30"]].concat();
    let (output, text) = profile(folder.path(), &launch);
    assert_eq!(output.status.code(), Some(124), "{text}");
}

#[test]
fn wrappers_that_put_the_launcher_out_of_reach_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (launch, message) in [
        (&["sudo", "mpirun", "./app"][..], "put sudo before rankwright"),
        (&["setsid", "--fork", "mpirun", "./app"], "does not wait for the launcher"),
        (&["env", "A=1", "sh", "./app"], "sh: not a known launcher"),
    ] {
        let (output, text) = profile(folder.path(), launch);
        assert_eq!(output.status.code(), Some(125), "{text}");
        assert!(text.contains(message), "{text}");
    }
}
