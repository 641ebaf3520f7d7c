//! Parts of rankwright in C that run inside MPI programs: installed with rankwright, or built with the
//! MPI's compiler and kept in the user's cache.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use rankwright::parallel;
use rankwright::placement::digest;

use super::Abi;
use crate::host::this_host::usable_pus;
use crate::host::{child, find_program, this_program, user_folders};
use crate::output::exit_code::NotStarted;
use crate::output::{self, Verbosity};

/// A part in C.
#[derive(Debug)]
pub(crate) struct Part {
    /// Its name in messages and folders.
    pub(crate) name: &'static str,
    /// The file that is built.
    pub(crate) file_name: &'static str,
    /// Where it is installed, below the prefix; in it a folder for each ABI.
    pub(crate) folder: &'static str,
    /// Paths below its folder in the repository, and contents.
    pub(crate) sources: &'static [(&'static str, &'static str)],
    /// The options of the compiler for a source, as in `make dist-tracers` and in the part's tests, which
    /// refuse warnings.
    pub(crate) compile: &'static [&'static str],
    /// The options for the linked file.
    pub(crate) link: &'static [&'static str],
    /// The libraries behind the objects.
    pub(crate) libraries: &'static [&'static str],
}

/// The MPI that a part is built for.
#[derive(Debug)]
pub(crate) struct Target<'a> {
    pub(crate) abi: Abi,
    /// The program that starts the ranks.
    pub(crate) launcher: &'a Path,
    /// Whether the launcher belongs to this MPI, so that its compiler is beside it.
    pub(crate) is_its_launcher: bool,
    /// The MPI library of the program, if known.
    pub(crate) library: Option<&'a Path>,
}

/// A compiler wrapper.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Compiler {
    path: PathBuf,
    /// Its version text, which tells compilers with the same path apart.
    version: String,
}

impl Compiler {
    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Part {
    /// The installed file for an ABI, beside this program's folder, if there is one.
    pub(crate) fn installed(&self, abi: Abi) -> Option<PathBuf> {
        self.install_path(abi).filter(|path| path.is_file())
    }

    fn install_path(&self, abi: Abi) -> Option<PathBuf> {
        let us = this_program().ok()?;
        let prefix = us.parent()?.parent()?;
        Some(prefix.join(self.folder).join(abi.name()).join(self.file_name))
    }

    /// The file that this user has built before with the compiler of this MPI, else one built now.
    ///
    /// # Errors
    /// If no compiler is found, or it fails.
    pub(crate) fn built(
        &self,
        target: &Target<'_>,
        verbosity: &Verbosity,
    ) -> anyhow::Result<PathBuf> {
        let compiler = self.compiler(target)?;
        let parts = (self.sources, self.compile, self.link, &compiler, std::env::consts::ARCH);
        let key = digest(&parts);
        let key = key.trim_start_matches("sha256:").get(..16).unwrap_or_default();
        let folder =
            self.cache_folder()?.join(format!("{}-{}-{key}", self.name, target.abi.name()));
        let built = folder.join(self.file_name);
        if !built.exists() {
            let (name, with) = (self.name, compiler.path.display());
            let abi = target.abi;
            output::note(
                verbosity,
                format!("building the {name} for {abi} with {with} (only this first time)"),
            );
            self.build(&compiler.path, &built)?;
        }
        Ok(built)
    }

    /// The compiler wrapper of an MPI: beside the launcher, beside the program's library, or on PATH.
    pub(crate) fn compiler(&self, target: &Target<'_>) -> Result<Compiler, NotStarted> {
        let names = wrappers(target.abi);
        for folder in folders(target) {
            if let Some(compiler) = compiler_in(&folder, target.abi) {
                return Ok(compiler);
            }
        }
        let installed = self.install_path(target.abi);
        let installed = installed.map_or(String::new(), |path| format!(" ({})", path.display()));
        let why = format!(
            "no installed {0} for {1}{installed} and no compiler to build it: \
             expected {2} beside {3}{4} or on PATH; install the MPI's development package (Debian: \
             libopenmpi-dev or libmpich-dev), or rankwright with its {0}s (make dist-tracers); `rankwright doctor` tests the whole \
             installation",
            self.name,
            target.abi,
            names.join(" or "),
            target.launcher.display(),
            target.library.map_or("", |_| ", beside the program's MPI library"),
        );
        Err(NotStarted { code: 125, why })
    }

    fn cache_folder(&self) -> anyhow::Result<PathBuf> {
        let cache = user_folders::cache().with_context(|| {
            format!(
                "no folder for the {}: set XDG_CACHE_HOME or HOME to an absolute path",
                self.name
            )
        })?;
        Ok(cache.join("rankwright"))
    }

    /// Compiles in a temporary folder and renames the result, so that concurrent builds do not
    /// interfere and a failed one leaves nothing behind.
    fn build(&self, compiler: &Path, file: &Path) -> anyhow::Result<()> {
        let name = self.name;
        let folder = file.parent().context("what is built lies in a folder")?;
        let cache = folder.parent().context("that folder lies in the cache")?;
        let making = || {
            let cache = cache.display();
            format!("building the {name} in {cache} (set XDG_CACHE_HOME to build elsewhere)")
        };
        fs::create_dir_all(cache).with_context(making)?;
        let work = tempfile::tempdir_in(cache).with_context(making)?;
        for (name, text) in self.sources {
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
            let why = format!("{} could not compile the {name}:\n{said}", compiler.display());
            Err(NotStarted { code: 125, why }.into())
        };
        let is_source = |name: &&str| name.ends_with(".c");
        let sources: Vec<&str> =
            self.sources.iter().map(|(name, _)| *name).filter(is_source).collect();
        let objects: Vec<String> = sources.iter().map(|name| format!("{name}.o")).collect();
        let compiled = parallel::map(&sources, usable_pus(), |number, source| {
            run(&[self.compile, &["-o", &objects[number], source]].concat())
        });
        compiled.into_iter().collect::<anyhow::Result<()>>()?;
        let objects: Vec<&str> = objects.iter().map(String::as_str).collect();
        run(&[self.link, &["-o", "built"], &objects, self.libraries].concat())?;
        fs::create_dir_all(folder).with_context(making)?;
        fs::rename(work.path().join("built"), file).with_context(making)
    }
}

/// The ABI of the first MPI compiler on PATH, where the user's environment chooses the MPI.
pub(crate) fn abi_on_path() -> Option<Abi> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&path);
    folders.find_map(|folder| {
        let fits = |abi: &Abi| compiler_in(&folder, *abi).is_some();
        [Abi::OpenMpi, Abi::Mpich].into_iter().find(fits)
    })
}

/// The names of the compiler wrappers of an ABI.
fn wrappers(abi: Abi) -> &'static [&'static str] {
    match abi {
        Abi::OpenMpi => &["mpicc.openmpi", "mpicc"],
        Abi::Mpich => &["mpicc.mpich", "mpicc"],
        Abi::Standard => &["mpicc_abi"],
    }
}

/// The folders to look for a compiler wrapper in.
fn folders(target: &Target<'_>) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    if target.is_its_launcher {
        // Links like /usr/bin/mpirun -> mpirun.openmpi lead to the real installation.
        let launcher = target.launcher.to_path_buf();
        let real = launcher.canonicalize().unwrap_or_else(|_| launcher.clone());
        folders.extend([&real, &launcher].map(|path| path.with_file_name("")));
    }
    if let Some(library) = target.library {
        // PREFIX/lib/libmpi.so, PREFIX/lib/x86_64-linux-gnu/libmpi.so,
        // PREFIX/lib64/release/libmpi.so
        folders.extend(library.ancestors().skip(2).take(3).map(|prefix| prefix.join("bin")));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    folders.extend(std::env::split_paths(&path));
    folders
}

fn compiler_in(folder: &Path, abi: Abi) -> Option<Compiler> {
    let candidates = wrappers(abi).iter().map(|name| folder.join(name));
    candidates.into_iter().find_map(|path| {
        find_program(&path)?;
        let version = version_if_it_fits(&path, abi)?;
        Some(Compiler { path, version })
    })
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
