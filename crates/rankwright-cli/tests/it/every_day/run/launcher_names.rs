//! The launchers that are installed, by name and version.

use super::site::{LAUNCHER, Site};
use crate::placements::placement;

#[test]
fn the_command_line_has_the_name_of_the_right_launcher() {
    let site = Site::new();
    site.placement(&placement(4, false, &[("n0", 0), ("n0", 1)]));
    let command_line = |launcher: &str| {
        let launch =
            ["-q", "launch", "placement.json", "--for", launcher, "-o", "out", "--", "./app"];
        let mut command = site.outside(&launch);
        command.env("PATH", site.path());
        let (output, text) = site.output(command, &launch);
        assert!(output.status.success(), "{text}");
        let line = String::from_utf8_lossy(&output.stdout).into_owned();
        let script = std::fs::read_to_string(site.path().join("out/launch.sh")).expect("written");
        let name = line.split(' ').next().unwrap_or_default().to_owned();
        assert!(script.contains(&format!("exec {name} ")), "{script}");
        name
    };
    let remove = |name: &str| std::fs::remove_file(site.path().join(name)).expect("it is there");
    let open_mpi = "#!/bin/sh\necho 'mpirun (Open MPI) 4.1.4'\n";
    // `mpirun` is MPICH's here, `mpiexec` is not installed.
    assert_eq!(command_line("mpich"), "mpirun");
    site.program("mpiexec", LAUNCHER);
    assert_eq!(command_line("mpich"), "mpiexec");
    site.program("mpiexec", open_mpi);
    site.program("mpiexec.mpich", LAUNCHER);
    assert_eq!(command_line("mpich"), "mpiexec.mpich");
    assert_eq!(command_line("mpich:4.0"), "mpiexec.mpich");
    assert_eq!(command_line("openmpi4"), "mpiexec");
    site.program("mpirun.openmpi", open_mpi);
    assert_eq!(command_line("openmpi4"), "mpirun.openmpi");
    // Not installed here.
    assert_eq!(command_line("intelmpi"), "mpiexec");
    for name in ["mpiexec", "mpirun", "mpiexec.mpich", "mpirun.openmpi"] {
        remove(name);
    }
    assert_eq!(command_line("mpich"), "mpiexec");
}

#[test]
fn files_that_the_installed_mpich_refuses_are_warned_of() {
    let site = Site::new();
    site.placement(&placement(4, false, &[("n0", 0), ("n0", 1)]));
    for (version, is_too_old) in [("4.0.2", true), ("4.1", false)] {
        let says = format!("echo 'HYDRA build details:'; echo '    Version: {version}'");
        site.program("mpiexec.mpich", &format!("#!/bin/sh\n{says}\n"));
        let place = ["place", "pattern:ring:2", "--on", "cluster.toml", "-o", "p.json"];
        let launch = ["launch", "placement.json", "-o", "out"];
        for words in [&place[..], &launch] {
            for (launcher, warned) in [("mpich", is_too_old), ("mpich:4.0", false)] {
                let arguments = [words, &["--for", launcher, "--", "./app"]].concat();
                let mut command = site.outside(&arguments);
                command.env("PATH", site.path());
                let (_, text) = site.output(command, &arguments);
                let warning = "warning: mpiexec.mpich here is MPICH 4.0, files for mpich need 4.1 or \
                               later: give --for mpich:4.0";
                assert_eq!(text.contains(warning), warned, "{text}");
            }
        }
    }
}
