//! What `lint` reads for Intel MPI, held against what its launcher does with the PUs of this machine.

use crate::command::{make_executable, pus_here, say};
use crate::invented_hosts::{can_invent_hosts, fake_ssh};
use crate::plan::lint::launchers::{TELL, launcher, places_read, places_told, read_on, run, told};

/// Machinefiles with their arguments.
const MACHINEFILES: [(&str, &str); 6] = [
    ("n1:1\nn0:2\nn1:1\n", "-n 4 -genv I_MPI_PIN_PROCESSOR_LIST 1,0"),
    ("n1:1\nn0:2\nn1:1\n", "-n 4 -genv I_MPI_PIN_DOMAIN [0x2,0x3]"),
    ("n1:1\nn0:2\nn1:1\n", "-n 4 -genv I_MPI_PIN_PROCESSOR_LIST 1"),
    ("n1:1\nn0:2\nn1:1\n", "-n 4 -genv I_MPI_PIN 0"),
    // It begins again with its first line.
    ("n1\nn0:1\n", "-n 4 -genv I_MPI_PIN_DOMAIN [0x1,0x2]"),
    ("# hosts\n\nn1:3\n", "-n 2 -genv I_MPI_PIN_PROCESSOR_LIST 1,0"),
];

/// Configfiles: `TELL` stands for the program.
const CONFIGFILES: [&str; 3] = [
    // The first block of a host counts for all its ranks, and the hosts differ.
    "-n 1 -host n1 -env I_MPI_PIN_PROCESSOR_LIST 1,0 TELL\n\
     -n 2 -host n0 -env I_MPI_PIN_PROCESSOR_LIST 0,1 TELL\n\
     -n 1 -host n1 -env I_MPI_PIN_PROCESSOR_LIST 0,1 TELL\n",
    "-n 1 -host n0 -env I_MPI_PIN_DOMAIN [0x3] TELL\n-n 1 -host n1 -env I_MPI_PIN_DOMAIN [0x2] TELL\n",
    "-n 2 -host n1 -env I_MPI_PIN 0 TELL\n-n 1 -host n0 TELL\n",
];

#[test]
fn intel_mpi_places_and_binds_as_read() {
    if !can_invent_hosts() {
        return;
    }
    if pus_here() < 2 {
        say("SKIPPED: two PUs are needed");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (tell, file) = (folder.path().join("tell"), folder.path().join("file"));
    std::fs::write(&tell, TELL).expect("it is ours");
    make_executable(&tell);
    let tell = tell.to_str().expect("it is UTF-8");
    let start = |option: &str, text: &str, arguments: &str| {
        std::fs::write(&file, text).expect("it is ours");
        let mut command = launcher(".mpi/impi/bin/mpiexec.hydra")?;
        command.args(["-launcher", "ssh", "-launcher-exec"]).arg(fake_ssh());
        command.arg(option).arg(&file).args(arguments.split_whitespace());
        command.args((option == "-machinefile").then_some(tell));
        let output = run(command);
        assert!(output.status.success(), "{text}{}", told(&output));
        Some(places_told(&told(&output)))
    };
    let own = std::fs::read_to_string("/proc/self/status").expect("this is Linux");
    let all = own.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let all = all.expect("the kernel tells").trim();
    for (text, arguments) in MACHINEFILES {
        let Some(found) = start("-machinefile", text, arguments) else { return };
        let reading = read_on(None, text, "intelmpi", arguments);
        assert_eq!(found, places_read(&reading, all), "{arguments}: {reading:#}");
    }
    for text in CONFIGFILES {
        let text = text.replace("TELL", tell);
        let Some(found) = start("-configfile", &text, "") else { return };
        let reading = read_on(None, &text, "intelmpi", "");
        assert_eq!(found, places_read(&reading, all), "{text}: {reading:#}");
    }
}
