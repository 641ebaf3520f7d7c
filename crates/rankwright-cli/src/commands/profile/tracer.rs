//! The tracer's library: built once per MPI with that MPI's compiler, kept in the user's cache.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use rankwright::placement::digest;

use crate::exit_code::NotStarted;
use crate::mpi::{Family, Mpi, find_program};

/// The tracer's sources: name and text.
const SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/tracer_sources.rs"));

/// The tracer's library for this MPI; built if this user has none yet.
pub(super) fn library(mpi: &Mpi) -> anyhow::Result<PathBuf> {
    let compiler = compiler(mpi)?;
    let family = match mpi.family {
        Family::OpenMpi => "openmpi",
        Family::Mpich => "mpich",
    };
    let key = digest(&(SOURCES, &compiler, mpi.version));
    let key = key.trim_start_matches("sha256:").get(..16).unwrap_or_default();
    let (major, minor) = mpi.version;
    let folder = cache_folder()?.join(format!("tracer-{family}-{major}.{minor}-{key}"));
    let library = folder.join("librankwright_tracer.so");
    if !library.exists() {
        build(&compiler, &library)?;
    }
    Ok(library)
}

/// The compiler wrapper of the same MPI as the launcher.
fn compiler(mpi: &Mpi) -> Result<PathBuf, NotStarted> {
    let beside = mpi.launcher.parent().unwrap_or(Path::new("/"));
    // Behind links like /usr/bin/mpirun -> mpirun.openmpi stands the real installation.
    let real = mpi.launcher.canonicalize().unwrap_or_else(|_| mpi.launcher.clone());
    let real = real.parent().unwrap_or(Path::new("/")).to_owned();
    let suffixed = match mpi.family {
        Family::OpenMpi => "mpicc.openmpi",
        Family::Mpich => "mpicc.mpich",
    };
    let candidates = [real.join(suffixed), real.join("mpicc"), beside.join("mpicc")];
    let found = candidates.iter().find(|path| find_program(path).is_some() && fits(path, mpi));
    found.cloned().ok_or_else(|| {
        let searched = candidates.map(|path| path.display().to_string()).join(", ");
        let why = format!(
            "the tracer must be compiled for this MPI, but its compiler was not found: found none \
             of {searched}, expected mpicc beside {}; install the MPI's development package \
             (Debian: libopenmpi-dev or libmpich-dev)",
            mpi.launcher.display()
        );
        NotStarted { code: 125, why }
    })
}

/// Whether a compiler wrapper belongs to the MPI: only Open MPI's understands `-showme:version`.
fn fits(compiler: &Path, mpi: &Mpi) -> bool {
    let asked = Command::new(compiler)
        .arg("-showme:version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let open_mpi = asked.is_ok_and(|status| status.success());
    open_mpi == (mpi.family == Family::OpenMpi)
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
        fs::write(&path, text).with_context(making)?;
        if name.ends_with(".c") {
            sources.push(path);
        }
    }
    let built = work.path().join("built.so");
    let told = Command::new(compiler)
        .args(["-shared", "-fPIC", "-O2", "-std=c11", "-D_GNU_SOURCE", "-o"])
        .arg(&built)
        .args(&sources)
        .args(["-ldl", "-lpthread", "-lm"])
        .stdin(Stdio::null())
        .output()
        .with_context(making)?;
    if !told.status.success() {
        let said = String::from_utf8_lossy(&told.stderr).trim().to_owned();
        let why = format!("{} could not compile the tracer:\n{said}", compiler.display());
        return Err(NotStarted { code: 125, why }.into());
    }
    fs::create_dir_all(folder).with_context(making)?;
    fs::rename(&built, library).with_context(making)
}
