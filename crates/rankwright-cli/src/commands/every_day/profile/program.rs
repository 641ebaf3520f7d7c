//! Detects the MPI library of a program before it runs.

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::host::elf::Elf;
use crate::host::find_program;
use crate::host::mpi::library::{Library, libraries_of, mpi_among};
use crate::host::mpi::{Abi, Mpi};
use crate::launching::launch_line::LaunchLine;
use crate::output::exit_code::NotStarted;
use crate::output::{self, Verbosity};

/// The MPI of a launch.
#[derive(Debug)]
pub(super) struct Chosen {
    pub(super) abi: Abi,
    /// The library that the program loads, if known.
    pub(super) library: Option<Library>,
}

/// Chooses the MPI of the tracer: the one that the user names, else the one that the programs load,
/// else the launcher's.
///
/// # Errors
/// If a program cannot be traced, if programs and launcher belong to different MPIs, or if the MPI
/// is unknown.
pub(super) fn choose(
    line: &LaunchLine,
    named: Option<Abi>,
    verbosity: &Verbosity,
) -> Result<Chosen, NotStarted> {
    let mut loaded: Option<(&str, Library)> = None;
    for words in line.programs() {
        let Some(library) = library_of(words, verbosity)? else { continue };
        match &loaded {
            Some((other, first)) if first.abi != library.abi => {
                let why = format!(
                    "two MPIs are mixed: {other} loads {} ({}), {} loads {} ({}); the ranks of one \
                     job need one MPI: compile all its programs with the same mpicc",
                    first.name, first.abi, words[0], library.name, library.abi
                );
                return Err(NotStarted { code: 125, why });
            }
            Some(_) => {}
            None => loaded = Some((&words[0], library)),
        }
    }
    if let Some(abi) = named {
        let library = loaded.map(|(_, library)| library).filter(|library| library.abi == abi);
        return Ok(Chosen { abi, library });
    }
    match (loaded, &line.mpi) {
        (Some((program, library)), Some(mpi))
            if !line.marked && !library.abi.starts_under(mpi.family) =>
        {
            Err(mixed(program, &library, mpi))
        }
        (Some((_, library)), _) => Ok(Chosen { abi: library.abi, library: Some(library) }),
        (None, Some(mpi)) => Ok(Chosen { abi: Abi::of_family(mpi.family), library: None }),
        (None, None) => {
            let names: Vec<&str> = line.programs().map(|words| words[0].as_str()).collect();
            let launcher = line.launcher.display();
            let why = format!(
                "the MPI of {} is unknown: the program is not on this host or names no MPI library, \
                 and {launcher} starts programs of any MPI; give --mpi {}",
                names.join(", "),
                Abi::ALL.map(Abi::name).join("|")
            );
            Err(NotStarted { code: 125, why })
        }
    }
}

fn mixed(program: &str, library: &Library, mpi: &Mpi) -> NotStarted {
    let (major, minor) = mpi.version;
    let path =
        library.path.as_ref().map_or(String::new(), |path| format!(" from {}", path.display()));
    let why = format!(
        "two MPIs are mixed: {} belongs to {} {major}.{minor}, but {program} loads {}{path}, which is \
         {}; each rank would be a separate job. Use the launcher of the program's MPI, or compile \
         the program with the launcher's mpicc (if this launcher does start such programs, give \
         --mpi {})",
        mpi.launcher.display(),
        mpi.family,
        library.name,
        library.abi,
        library.abi.name()
    );
    NotStarted { code: 125, why }
}

/// Programs that run other programs or load libraries later, and so may use MPI without naming a
/// library.
const RUN_OTHERS: [&str; 22] = [
    "apptainer",
    "ash",
    "bash",
    "busybox",
    "chrt",
    "csh",
    "dash",
    "env",
    "java",
    "julia",
    "ksh",
    "lua",
    "nice",
    "numactl",
    "perl",
    "Rscript",
    "ruby",
    "sh",
    "singularity",
    "taskset",
    "tcsh",
    "zsh",
];

/// The MPI library that a program loads; `None` if it is unknown, as for scripts. `words` are the
/// program and its arguments: the real program may follow `numactl -N 0` or `env A=1`.
fn library_of(words: &[String], verbosity: &Verbosity) -> Result<Option<Library>, NotStarted> {
    let program = &words[0];
    let Some(path) = find_program(Path::new(program)) else { return Ok(None) };
    let Ok(Some(elf)) = Elf::read(&path) else { return Ok(None) };
    warn_if_secure(program, &path, verbosity);
    let libraries = libraries_of(&elf, &path);
    match mpi_among(&libraries).map_err(|why| cannot(program, &why))? {
        Some(library) => {
            if elf.contains_mpi {
                let text = format!(
                    "{program} contains MPI_Init, as programs linked with a profiler do: calls \
                     that bypass {} are not recorded",
                    library.name
                );
                output::warn(verbosity, text);
            }
            return Ok(Some(library));
        }
        None if elf.contains_mpi => {
            return Err(cannot(program, STATIC));
        }
        None => {}
    }
    for word in &words[1..] {
        let Some(path) = find_program(Path::new(word)) else { continue };
        let Ok(Some(elf)) = Elf::read(&path) else { continue };
        if elf.contains_mpi && elf.interpreter.is_none() {
            return Err(cannot(word, STATIC));
        }
        if let Ok(Some(library)) = mpi_among(&libraries_of(&elf, &path)) {
            return Ok(Some(library));
        }
    }
    let name = Path::new(program).file_name().and_then(OsStr::to_str).unwrap_or_default();
    if !RUN_OTHERS.contains(&name) && !name.starts_with("python") {
        let text = match elf.interpreter {
            Some(_) => format!(
                "{program} names no MPI library: nothing will be recorded unless it loads one later or \
                 starts an MPI program"
            ),
            None => format!(
                "{program} is linked statically, so the tracer cannot be loaded into it: nothing will \
                 be recorded unless it starts an MPI program"
            ),
        };
        output::warn(verbosity, text);
    }
    Ok(None)
}

const STATIC: &str = "MPI is linked into it statically, so the tracer cannot intercept its calls; \
                      link it with the shared MPI library (without -static, -static-mpi)";

fn cannot(program: &str, why: &str) -> NotStarted {
    NotStarted { code: 125, why: format!("{program} cannot be traced: {why}") }
}

/// The dynamic linker ignores LD_PRELOAD for programs with rights that their caller lacks.
fn warn_if_secure(program: &str, path: &Path, verbosity: &Verbosity) {
    const SET_ID: u32 = libc::S_ISUID | libc::S_ISGID;
    if path.metadata().is_ok_and(|data| data.mode() & SET_ID != 0) {
        let text = format!(
            "{program} is setuid or setgid: the system loads the tracer into such programs only if \
             their owner starts them"
        );
        output::warn(verbosity, text);
    }
}
