//! Programs that an interpreter runs.

use std::path::Path;
use std::process::Command;

use crate::command::{rankwright, say};
use crate::every_day::profile::{MPIS, as_root, bootstrapped, profile};

const SCRIPT: &str = "\
from mpi4py import MPI
world = MPI.COMM_WORLD
world.sendrecv(bytes(100), (world.rank + 1) % world.size, source=(world.rank - 1) % world.size)
";

fn shown(folder: &Path) -> serde_json::Value {
    let file = folder.join("app.rwp").display().to_string();
    let shown = rankwright(&["traffic", "show", &file, "--format", "json"]).output().unwrap();
    serde_json::from_slice(&shown.stdout).expect("it is JSON")
}

#[test]
fn a_script_with_mpi4py_is_named_and_its_times_explained() {
    let python = bootstrapped("mpi4py/bin/python");
    let mpi = &MPIS[0];
    for program in [python, mpi.launcher] {
        if let Err(error) = Command::new(program).arg("--version").output() {
            say(format_args!("SKIPPED: {program}: {error}"));
            return;
        }
    }
    // Debian's library has the name by which mpi4py asks for it.
    let mut import = Command::new(python);
    let import = as_root(import.args(["-c", "from mpi4py import MPI"])).output().unwrap();
    if !import.status.success() {
        say(format_args!("SKIPPED: mpi4py finds no MPI library"));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("ring.py").display().to_string();
    std::fs::write(&script, SCRIPT).unwrap();
    let launch = [&[mpi.launcher], mpi.options, &[python, "-u", &script, "a-secret"]].concat();
    let (output, text) = profile(folder.path(), &launch);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("program         ring.py, 4 ranks"), "{text}");
    assert!(
        text.contains("time in MPI     unknown: mpi4py asks for MPI_THREAD_MULTIPLE"),
        "{text}"
    );
    let json = shown(folder.path());
    assert_eq!((&json["program"], &json["called_through"]), (&"ring.py".into(), &"mpi4py".into()));
    assert_eq!(json["messages"], 4);
    let stored = std::fs::read(folder.path().join("app.rwp")).unwrap();
    assert!(!stored.windows(8).any(|text| text == b"a-secret"), "no argument is stored");

    let exact = [&["env", "MPI4PY_RC_THREADS=0"], &launch[..]].concat();
    let (output, text) = profile(folder.path(), &exact);
    assert!(output.status.success(), "{text}");
    assert_eq!(shown(folder.path())["triage"]["times_unknown"], serde_json::Value::Null, "{text}");
}
