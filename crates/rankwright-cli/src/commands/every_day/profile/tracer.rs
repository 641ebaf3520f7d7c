//! The tracer's library: installed together with rankwright, or else built with the MPI's compiler and
//! kept in the user's cache.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use rankwright::placement::digest;

use super::launch_line::LaunchLine;
use super::program::Chosen;
use crate::host::mpi::Abi;
use crate::host::{child, find_program};
use crate::output::exit_code::NotStarted;
use crate::output::{self, Verbosity};

/// The tracer's sources: path below `tracer/` and text.
const SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/tracer_sources.rs"));

const FILE_NAME: &str = "librankwright_tracer.so";

/// How a compiler wrapper makes a library of them; `make dist-tracers` does the same. The tracer is
/// not bound to the MPI library of the compiler: it uses the one of the program.
const FLAGS: [&str; 8] = [
    "-shared",
    "-fPIC",
    "-O2",
    "-std=c11",
    "-D_GNU_SOURCE",
    "-Wl,--as-needed",
    "-Wl,-z,lazy",
    "-o",
];

/// The tracer's library for an MPI. One that was installed serves all libraries of an ABI; where
/// there is none, it is built with the compiler of this MPI, unless this user has built it before.
///
/// # Errors
/// If there is neither an installed one nor a compiler for it.
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
    let key = digest(&(SOURCES, FLAGS, &compiler, std::env::consts::ARCH));
    let key = key.trim_start_matches("sha256:").get(..16).unwrap_or_default();
    let folder = cache_folder()?.join(format!("tracer-{}-{key}", chosen.abi.name()));
    let library = folder.join(FILE_NAME);
    if !library.exists() {
        let with = compiler.path.display();
        output::note(
            verbosity,
            format!("building the tracer for {} with {with}, once", chosen.abi),
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
    /// What it says of its version: another version is another compiler, although it lies in the
    /// same place.
    version: String,
}

/// The compiler wrapper of an MPI: beside the launcher, beside the library of the program, on PATH.
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
        // Behind links like /usr/bin/mpirun -> mpirun.openmpi stands the real installation.
        let real = line.launcher.canonicalize().unwrap_or_else(|_| line.launcher.clone());
        folders.extend([&real, &line.launcher].map(|path| path.with_file_name("")));
    }
    if let Some(library) = chosen.library.as_ref().and_then(|library| library.path.as_ref()) {
        // PREFIX/lib/libmpi.so, PREFIX/lib/x86_64-linux-gnu/libmpi.so, PREFIX/lib64/release/libmpi.so
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
        "found neither an installed tracer for {}{installed} nor a compiler to build it with, \
         expected {} beside {}{} or on PATH; install the MPI's development package (Debian: \
         libopenmpi-dev or libmpich-dev), or rankwright with its tracers (make dist-tracers)",
        chosen.abi,
        names.join(" or "),
        line.launcher.display(),
        chosen.library.as_ref().map_or("", |_| ", beside the program's MPI library"),
    );
    Err(NotStarted { code: 125, why })
}

/// What a compiler wrapper says of its version; `None` if it belongs to another MPI. Only Open MPI's
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
        "neither XDG_CACHE_HOME nor HOME names a folder for the tracer: set one of them to an \
         absolute path",
    )?;
    Ok(cache.join("rankwright"))
}

/// Compiles in a temporary folder and renames the result, so that two builds at a time do not meet
/// and one that fails leaves nothing.
fn build(compiler: &Path, library: &Path) -> anyhow::Result<()> {
    let folder = library.parent().context("the tracer's library lies in a folder")?;
    let cache = folder.parent().context("the tracer's folder lies in the cache")?;
    let making = || {
        let cache = cache.display();
        format!("building the tracer in {cache} (XDG_CACHE_HOME names another place for it)")
    };
    fs::create_dir_all(cache).with_context(making)?;
    let work = tempfile::tempdir_in(cache).with_context(making)?;
    let mut sources = Vec::new();
    for (name, text) in SOURCES {
        let path = work.path().join(name);
        let above = path.parent().context("a source lies in a folder")?;
        fs::create_dir_all(above).with_context(making)?;
        fs::write(&path, text).with_context(making)?;
        if name.ends_with(".c") {
            sources.push(path);
        }
    }
    let built = work.path().join("built.so");
    let compiled = Command::new(compiler)
        .args(FLAGS)
        .arg(&built)
        .args(&sources)
        .args(["-ldl", "-lpthread", "-lm"])
        .stdin(Stdio::null())
        .output()
        .with_context(making)?;
    if !compiled.status.success() {
        let said = String::from_utf8_lossy(&compiled.stderr).trim().to_owned();
        let why = format!("{} could not compile the tracer:\n{said}", compiler.display());
        return Err(NotStarted { code: 125, why }.into());
    }
    fs::create_dir_all(folder).with_context(making)?;
    fs::rename(&built, library).with_context(making)
}
