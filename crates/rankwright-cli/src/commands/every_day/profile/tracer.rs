//! The tracer's library: installed with rankwright, or built with the MPI's compiler and kept in
//! the user's cache.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use rankwright::parallel;
use rankwright::placement::digest;

use super::launch_line::LaunchLine;
use super::program::Chosen;
use crate::host::mpi::Abi;
use crate::host::this_host::usable_pus;
use crate::host::{child, find_program};
use crate::output::exit_code::NotStarted;
use crate::output::{self, Verbosity};

/// The tracer's sources: path below `tracer/`, and contents.
const SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/tracer_sources.rs"));

const FILE_NAME: &str = "librankwright_tracer.so";

/// The options of the compiler for a source, as in `make dist-tracers` and in the tracer's tests, which
/// refuse warnings.
const COMPILE: [&str; 7] = ["-c", "-fPIC", "-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra"];

/// The options for the library. The tracer is not linked with the MPI library of the compiler: it
/// uses the program's.
const LINK: [&str; 3] = ["-shared", "-Wl,--as-needed", "-Wl,-z,lazy"];

/// The tracer's library for an MPI: the installed one of its ABI, else one that this user has built
/// before, else one built now with the compiler of this MPI.
///
/// # Errors
/// If no library is installed and no compiler is found.
pub(super) fn library(
    chosen: &Chosen,
    line: &LaunchLine,
    verbosity: &Verbosity,
) -> anyhow::Result<PathBuf> {
    let installed = installed(chosen.abi);
    if let Some(installed) = installed.as_ref().filter(|path| path.is_file()) {
        return Ok(installed.clone());
    }
    let compiler = compiler(chosen, line, installed.as_deref())?;
    let key = digest(&(SOURCES, COMPILE, LINK, &compiler, std::env::consts::ARCH));
    let key = key.trim_start_matches("sha256:").get(..16).unwrap_or_default();
    let folder = cache_folder()?.join(format!("tracer-{}-{key}", chosen.abi.name()));
    let library = folder.join(FILE_NAME);
    if !library.exists() {
        let with = compiler.path.display();
        output::note(
            verbosity,
            format!("building the tracer for {} with {with} (only this first time)", chosen.abi),
        );
        build(&compiler.path, &library)?;
    }
    Ok(library)
}

/// Where `make install` puts the tracer of an ABI: beside this program's folder.
fn installed(abi: Abi) -> Option<PathBuf> {
    let us = std::env::current_exe().ok()?;
    let prefix = us.parent()?.parent()?;
    Some(prefix.join("lib/rankwright/tracers").join(abi.name()).join(FILE_NAME))
}

/// A compiler wrapper.
#[derive(Debug, serde::Serialize)]
struct Compiler {
    path: PathBuf,
    /// Its version text, which tells compilers with the same path apart.
    version: String,
}

/// The compiler wrapper of an MPI: beside the launcher, beside the program's library, or on PATH.
fn compiler(
    chosen: &Chosen,
    line: &LaunchLine,
    installed: Option<&Path>,
) -> Result<Compiler, NotStarted> {
    let names: &[&str] = match chosen.abi {
        Abi::OpenMpi => &["mpicc.openmpi", "mpicc"],
        Abi::Mpich => &["mpicc.mpich", "mpicc"],
        Abi::Standard => &["mpicc_abi"],
    };
    let mut folders = Vec::new();
    if line.mpi.is_some() {
        // Links like /usr/bin/mpirun -> mpirun.openmpi lead to the real installation.
        let real = line.launcher.canonicalize().unwrap_or_else(|_| line.launcher.clone());
        folders.extend([&real, &line.launcher].map(|path| path.with_file_name("")));
    }
    if let Some(library) = chosen.library.as_ref().and_then(|library| library.path.as_ref()) {
        // PREFIX/lib/libmpi.so, PREFIX/lib/x86_64-linux-gnu/libmpi.so,
        // PREFIX/lib64/release/libmpi.so
        folders.extend(library.ancestors().skip(2).take(3).map(|prefix| prefix.join("bin")));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    folders.extend(std::env::split_paths(&path));
    for folder in &folders {
        for candidate in names.iter().map(|name| folder.join(name)) {
            if find_program(&candidate).is_some()
                && let Some(version) = version_if_it_fits(&candidate, chosen.abi)
            {
                return Ok(Compiler { path: candidate, version });
            }
        }
    }
    let installed = installed.map_or(String::new(), |path| format!(" ({})", path.display()));
    let why = format!(
        "no installed tracer for {}{installed} and no compiler to build it: \
         expected {} beside {}{} or on PATH; install the MPI's development package (Debian: \
         libopenmpi-dev or libmpich-dev), or rankwright with its tracers (make dist-tracers)",
        chosen.abi,
        names.join(" or "),
        line.launcher.display(),
        chosen.library.as_ref().map_or("", |_| ", beside the program's MPI library"),
    );
    Err(NotStarted { code: 125, why })
}

/// The version text of a compiler wrapper; `None` if it belongs to another MPI. Only Open MPI's
/// understands `-showme:version`, and only others' understand `-show`.
fn version_if_it_fits(compiler: &Path, abi: Abi) -> Option<String> {
    const PATIENCE: Duration = Duration::from_secs(20);
    let ask = |question: &str| {
        let mut command = Command::new(compiler);
        command.arg(question).stdin(Stdio::null()).stderr(Stdio::null());
        child::first_output(&mut command, PATIENCE)
    };
    let says = ask("-showme:version")?;
    if (abi == Abi::OpenMpi) != says.contains("Open MPI") {
        return None;
    }
    Some(if says.is_empty() { ask("-v")? } else { says })
}

fn cache_folder() -> anyhow::Result<PathBuf> {
    let absolute =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    let cache = cache.context(
        "no folder for the tracer: set XDG_CACHE_HOME or HOME to an \
         absolute path",
    )?;
    Ok(cache.join("rankwright"))
}

/// Compiles in a temporary folder and renames the result, so that concurrent builds do not
/// interfere and a failed one leaves nothing behind.
fn build(compiler: &Path, library: &Path) -> anyhow::Result<()> {
    let folder = library.parent().context("the tracer's library lies in a folder")?;
    let cache = folder.parent().context("the tracer's folder lies in the cache")?;
    let making = || {
        let cache = cache.display();
        format!("building the tracer in {cache} (set XDG_CACHE_HOME to build elsewhere)")
    };
    fs::create_dir_all(cache).with_context(making)?;
    let work = tempfile::tempdir_in(cache).with_context(making)?;
    for (name, text) in SOURCES {
        let path = work.path().join(name);
        let above = path.parent().context("a source lies in a folder")?;
        fs::create_dir_all(above).with_context(making)?;
        fs::write(&path, text).with_context(making)?;
    }
    let run = |arguments: &[&str]| -> anyhow::Result<()> {
        let mut command = Command::new(compiler);
        // By relative names: compiler caches know the same source in another folder.
        command.args(arguments).current_dir(work.path()).stdin(Stdio::null());
        let output = command.output().with_context(making)?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let why = format!("{} could not compile the tracer:\n{said}", compiler.display());
        Err(NotStarted { code: 125, why }.into())
    };
    let is_source = |name: &&str| name.ends_with(".c");
    let sources: Vec<&str> = SOURCES.iter().map(|(name, _)| *name).filter(is_source).collect();
    let objects: Vec<String> = sources.iter().map(|name| format!("{name}.o")).collect();
    let compiled = parallel::map(&sources, usable_pus(), |number, source| {
        run(&[&COMPILE[..], &["-o", &objects[number], source]].concat())
    });
    compiled.into_iter().collect::<anyhow::Result<()>>()?;
    let objects: Vec<&str> = objects.iter().map(String::as_str).collect();
    let libraries = ["-ldl", "-lpthread", "-lm"];
    run(&[&LINK[..], &["-o", "built.so"], &objects, &libraries].concat())?;
    let built = work.path().join("built.so");
    fs::create_dir_all(folder).with_context(making)?;
    fs::rename(&built, library).with_context(making)
}
