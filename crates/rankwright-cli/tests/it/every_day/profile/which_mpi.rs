//! Which MPI `rankwright profile` finds, and which tracer it takes for it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{rankwright, repository, say, transcript};
use crate::every_day::profile::{MPIS, Mpi, heat, messages, profile, profile_by, profile_with};

const RUN: [&str; 6] = ["--cells", "64", "--fields", "2", "--iterations", "5"];

fn launch<'a>(mpi: &'a Mpi, before: &[&'a str], program: &'a str) -> Vec<&'a str> {
    [&[mpi.launcher], mpi.options, before, &[program], &RUN].concat()
}

fn compile(compiler: &str, arguments: &[&str]) -> bool {
    let output = match Command::new(compiler).args(arguments).output() {
        Ok(output) => output,
        Err(error) => {
            say(format_args!("SKIPPED: {compiler}: {error}"));
            return false;
        }
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    true
}

/// What `make install` makes below a prefix after `make dist-tracers`.
fn installed(prefix: &Path) -> Option<PathBuf> {
    let tracers = prefix.join("lib/rankwright/tracers");
    let mut build = Command::new(repository().join("scripts/dist-tracers"));
    let built = build.arg(&tracers).output().expect("it is a script of ours");
    if !built.status.success() {
        let told = String::from_utf8_lossy(&built.stderr).into_owned();
        assert!(told.contains("no compiler for the tracer of"), "{told}");
        say(format_args!("SKIPPED: {told}"));
        return None;
    }
    let us = Path::new(env!("CARGO_BIN_EXE_rankwright"));
    std::fs::create_dir(prefix.join("bin")).unwrap();
    for name in ["rankwright", "rankwright-exec"] {
        std::fs::copy(us.with_file_name(name), prefix.join("bin").join(name)).unwrap();
    }
    Some(prefix.join("bin/rankwright"))
}

#[test]
fn installed_tracers_serve_all_mpis() {
    let prefix = tempfile::tempdir().unwrap();
    let Some(us) = installed(prefix.path()) else { return };
    let none = prefix.path().join("cache");
    for mpi in MPIS.iter() {
        let folder = tempfile::tempdir().unwrap();
        let Some(program) = heat(mpi, folder.path()) else { continue };
        let program = program.display().to_string();
        // One retry: launchers on a loaded machine do hang now and then.
        let run = || profile_by(&us, &none, folder.path(), &[], &launch(mpi, &[], &program));
        let (mut output, mut text) = run();
        if !output.status.success() {
            say(format_args!("retried: {text}"));
            (output, text) = run();
        }
        assert!(output.status.success(), "{text}");
        assert_eq!(messages(folder.path()), 40, "{text}");
    }
    // The standard ABI, which MPICH 5 has besides its own.
    let mpich = &MPIS[3];
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("heat2d").display().to_string();
    let source = repository().join("examples/heat2d.c").display().to_string();
    let compiler = format!("{}_abi", mpich.compiler);
    if compile(&compiler, &["-O1", &source, "-o", &program, "-lm"]) {
        let (output, text) =
            profile_by(&us, &none, folder.path(), &[], &launch(mpich, &[], &program));
        assert!(output.status.success(), "{text}");
        assert_eq!(messages(folder.path()), 40, "{text}");
    }
    assert!(!none.exists(), "nothing was compiled");
}

#[test]
fn the_program_may_stand_behind_others_and_the_launcher_be_unknown() {
    use std::os::unix::fs::PermissionsExt;
    let mpi = &MPIS[0];
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = heat(mpi, folder.path()) else { return };
    let program = program.display().to_string();
    let (output, text) =
        profile(folder.path(), &launch(mpi, &["env", "A=1", "nice", "-n", "0"], &program));
    assert!(output.status.success(), "{text}");
    assert_eq!(messages(folder.path()), 40, "{text}");

    let own = folder.path().join("launch");
    std::fs::write(&own, format!("#!/bin/sh\nshift\nexec {} \"$@\"\n", mpi.launcher)).unwrap();
    std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o755)).unwrap();
    let own = own.display().to_string();
    let line =
        [&[own.as_str(), "-x"], mpi.options, &["rankwright", "exec", &program], &RUN].concat();
    let (output, text) = profile(folder.path(), &line);
    assert!(output.status.success(), "{text}");
    assert_eq!(messages(folder.path()), 40, "{text}");
    let (output, text) = profile(folder.path(), &[&own, "-x", &program]);
    assert_eq!(output.status.code(), Some(125), "{text}");
    assert!(text.contains("mark the program with `rankwright exec`"), "{text}");
}

#[test]
fn two_mpis_are_not_mixed() {
    let [open_mpi, mpich] = [&MPIS[0], &MPIS[1]];
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let Some(of_open_mpi) = heat(open_mpi, folders[0].path()) else { return };
    let Some(of_mpich) = heat(mpich, folders[1].path()) else { return };
    let (of_open_mpi, of_mpich) =
        (of_open_mpi.display().to_string(), of_mpich.display().to_string());
    for (line, parts) in [
        (launch(mpich, &[], &of_open_mpi), ["belongs to MPICH 4.0", "loads libmpi.so.40"]),
        (launch(open_mpi, &[], &of_mpich), ["belongs to Open MPI 4.1", "loads libmpich.so.12"]),
        (
            [launch(mpich, &[], &of_mpich), vec![":", "-n", "1", &of_open_mpi]].concat(),
            ["two MPIs are mixed", "compile all its programs with the same mpicc"],
        ),
    ] {
        let (output, text) = profile(folders[0].path(), &line);
        assert_eq!(output.status.code(), Some(125), "{text}");
        for part in parts {
            assert!(text.contains(part), "{text}");
        }
        assert!(!folders[0].path().join("app.rwp").exists());
    }
    // Whoever insists gets jobs of one process each, and hears of it.
    let line = launch(open_mpi, &[], &of_mpich);
    let (output, text) = profile_with(folders[0].path(), &["--mpi", "mpich"], &line);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("several MPI jobs ran instead of one"), "{text}");
}

#[test]
fn statically_linked_mpi_is_refused_before_anything_starts() {
    let mpi = &MPIS[0];
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let text = "#include <stdio.h>\n\
                int MPI_Init(int *a, char ***b) { return !a + !b; }\n\
                int main(int n, char **v) { puts(\"MPI_Init\"); return MPI_Init(&n, &v); }\n";
    std::fs::write(at("app.c"), text).unwrap();
    for (name, options) in [
        ("static", &["-static"][..]),
        ("stripped", &["-static", "-s"]),
        // The C library is shared, MPI is not.
        ("inside", &[]),
    ] {
        let (source, program) = (at("app.c"), at(name));
        if !compile("cc", &[options, &[&source, "-o", &program]].concat()) {
            return;
        }
        let (output, text) = profile(folder.path(), &[mpi.launcher, "-np", "1", &program]);
        if output.status.code() == Some(127) {
            say(format_args!("SKIPPED: {} is missing", mpi.launcher));
            return;
        }
        assert_eq!(output.status.code(), Some(125), "{text}");
        assert!(text.contains("MPI is linked into it statically"), "{text}");
    }
}

#[test]
fn neither_tracer_nor_compiler_is_said_with_what_to_install() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let launcher = folder.path().join("mpirun");
    std::fs::write(&launcher, "#!/bin/sh\necho 'mpirun (Open MPI) 5.0.11'\n").unwrap();
    std::fs::set_permissions(&launcher, std::fs::Permissions::from_mode(0o755)).unwrap();
    let profile = folder.path().join("app.rwp").display().to_string();
    let line = ["profile", "-o", &profile, "--", "mpirun", "-n", "1", "./script"];
    let output = rankwright(&line).env("PATH", folder.path()).output().unwrap();
    let text = transcript(&line, &output);
    assert_eq!(output.status.code(), Some(125), "{text}");
    assert!(text.contains("no installed tracer for Open MPI"), "{text}");
    assert!(text.contains("rankwright with its tracers (make dist-tracers)"), "{text}");
}
