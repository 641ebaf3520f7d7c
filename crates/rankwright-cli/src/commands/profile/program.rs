//! Which MPI library a program loads, found out before it runs.

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::launch_line::LaunchLine;
use crate::cli::Verbosity;
use crate::elf::Elf;
use crate::exit_code::NotStarted;
use crate::mpi::{Abi, Mpi, find_program};
use crate::{child, output};

/// An MPI library that a program loads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Library {
    pub(super) abi: Abi,
    /// By which it is loaded: `libmpi.so.40`.
    pub(super) name: String,
    /// Where the dynamic linker finds it on this host, if it does.
    pub(super) path: Option<PathBuf>,
}

/// The MPI of a launch.
#[derive(Debug)]
pub(super) struct Chosen {
    pub(super) abi: Abi,
    /// The library that the program loads, where that is known.
    pub(super) library: Option<Library>,
}

/// Decides for which MPI the tracer must be: the one that the user names, else the one that the
/// programs load, else the launcher's.
///
/// # Errors
/// If a program cannot be traced, if programs and launcher belong to different MPIs, or if nothing
/// tells which one it is.
pub(super) fn choose(
    line: &LaunchLine,
    named: Option<Abi>,
    verbosity: &Verbosity,
) -> Result<Chosen, NotStarted> {
    let mut found: Option<(&str, Library)> = None;
    for words in line.programs() {
        let Some(library) = library_of(words, verbosity)? else { continue };
        match &found {
            Some((other, known)) if known.abi != library.abi => {
                let why = format!(
                    "two MPIs are mixed: {other} loads {} ({}), {} loads {} ({}); the ranks of one \
                     job need one MPI: compile all its programs with the same mpicc",
                    known.name, known.abi, words[0], library.name, library.abi
                );
                return Err(NotStarted { code: 125, why });
            }
            Some(_) => {}
            None => found = Some((&words[0], library)),
        }
    }
    if let Some(abi) = named {
        let library = found.map(|(_, library)| library).filter(|library| library.abi == abi);
        return Ok(Chosen { abi, library });
    }
    match (found, &line.mpi) {
        (Some((program, library)), Some(mpi)) if !line.marked && !starts(mpi, library.abi) => {
            Err(mixed(program, &library, mpi))
        }
        (Some((_, library)), _) => Ok(Chosen { abi: library.abi, library: Some(library) }),
        (None, Some(mpi)) => Ok(Chosen { abi: Abi::of_family(mpi.family), library: None }),
        (None, None) => {
            let names: Vec<&str> = line.programs().map(|words| words[0].as_str()).collect();
            let launcher = line.launcher.display();
            let why = format!(
                "cannot tell which MPI {} uses: it is not found here or names no MPI library, and \
                 {launcher} starts programs of any MPI; say it with --mpi {}",
                names.join(", "),
                Abi::ALL.map(Abi::name).join("|")
            );
            Err(NotStarted { code: 125, why })
        }
    }
}

/// Whether the ranks that a launcher starts find each other by a library of this interface.
fn starts(mpi: &Mpi, abi: Abi) -> bool {
    abi == Abi::Standard || abi == Abi::of_family(mpi.family)
}

fn mixed(program: &str, library: &Library, mpi: &Mpi) -> NotStarted {
    let (major, minor) = mpi.version;
    let path =
        library.path.as_ref().map_or(String::new(), |path| format!(" from {}", path.display()));
    let why = format!(
        "two MPIs are mixed: {} belongs to {} {major}.{minor}, but {program} loads {}{path}, which is \
         {}; each rank would be a job of its own. Use the launcher of the program's MPI, or compile \
         the program with the launcher's mpicc (if this launcher does start such programs, say so: \
         --mpi {})",
        mpi.launcher.display(),
        mpi.family,
        library.name,
        library.abi,
        library.abi.name()
    );
    NotStarted { code: 125, why }
}

/// Programs that run others or load what they need later: that they name no MPI library says
/// nothing.
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

/// The MPI library that a program loads; `None` if it cannot be told, as with scripts. `words` are
/// the program and its arguments: behind `numactl -N 0` or `env A=1` comes the real program.
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
                    "{program} has an MPI_Init of its own, as programs have that were linked with a \
                     profiler: what does not pass through {} is not seen",
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
                "{program} names no MPI library: unless it loads one later or starts an MPI program, \
                 there will be nothing to record"
            ),
            None => format!(
                "{program} is linked statically, so nothing can be loaded into it: unless it starts \
                 an MPI program, there will be nothing to record"
            ),
        };
        output::warn(verbosity, text);
    }
    Ok(None)
}

const STATIC: &str = "MPI is linked into it statically, so that nothing can come between the program \
                      and its MPI; link it with the shared MPI library (without -static, \
                      -static-mpi) to trace it";

fn cannot(program: &str, why: &str) -> NotStarted {
    NotStarted { code: 125, why: format!("{program} cannot be traced: {why}") }
}

/// The dynamic linker ignores LD_PRELOAD for programs that run with rights their caller lacks.
fn warn_if_secure(program: &str, path: &Path, verbosity: &Verbosity) {
    const SET_ID: u32 = libc::S_ISUID | libc::S_ISGID;
    if path.metadata().is_ok_and(|data| data.mode() & SET_ID != 0) {
        let text = format!(
            "{program} runs with the rights of its owner (setuid or setgid): the system loads no \
             tracer into such programs, unless they are the caller's own"
        );
        output::warn(verbosity, text);
    }
}

/// The libraries that a program loads at its start: name, and where it is found.
fn libraries_of(elf: &Elf, path: &Path) -> Vec<(String, Option<PathBuf>)> {
    const PATIENCE: Duration = Duration::from_secs(20);
    let Some(interpreter) = &elf.interpreter else { return Vec::new() };
    // The dynamic linker itself says it best: it knows RUNPATH, LD_LIBRARY_PATH and its cache, and
    // does not start the program for it.
    let mut command = Command::new(interpreter);
    command.arg("--list").arg(path).stdin(Stdio::null()).stderr(Stdio::null());
    let listed = child::first_output(&mut command, PATIENCE).unwrap_or_default();
    let listed: Vec<_> = listed.lines().filter_map(parse_line).collect();
    if listed.is_empty() {
        return elf.needed.iter().map(|name| (name.clone(), None)).collect();
    }
    listed
}

/// A line of the dynamic linker: `libmpi.so.40 => /usr/lib/libmpi.so.40 (0x...)`, or `=> not found`.
fn parse_line(line: &str) -> Option<(String, Option<PathBuf>)> {
    let (name, found) = line.trim().split_once(" => ")?;
    let path = found.rsplit_once(" (0x").map(|(path, _)| PathBuf::from(path));
    Some((name.to_owned(), path))
}

/// The MPI library among others; an error names one that cannot be traced.
fn mpi_among(libraries: &[(String, Option<PathBuf>)]) -> Result<Option<Library>, String> {
    let mut found: Option<Library> = None;
    let mut unknown = None;
    for (name, path) in libraries {
        // A library may be needed by its path.
        let name = name.rsplit_once('/').map_or(name.as_str(), |(_, name)| name);
        let Some(abi) = abi_of(name) else {
            if name.starts_with("libmpi.so") || name.starts_with("libmpich.so") {
                unknown = Some(name);
            }
            continue;
        };
        match &found {
            Some(known) if known.abi != abi => {
                return Err(format!("two MPIs are mixed: it loads both {} and {name}", known.name));
            }
            Some(_) => {}
            None => found = Some(Library { abi, name: name.to_owned(), path: path.clone() }),
        }
    }
    let old_open_mpi = libraries.iter().any(|(name, _)| {
        let rest = name.strip_prefix("libopen-rte.so.").or(name.strip_prefix("libopen-pal.so."));
        rest.and_then(|rest| rest.split('.').next()?.parse().ok()).is_some_and(|n: u32| n < 40)
    });
    match (found, unknown) {
        (Some(library), _) if old_open_mpi => Err(format!(
            "{} is that of an Open MPI before version 3, expected version 4 or newer",
            library.name
        )),
        (Some(library), _) => Ok(Some(library)),
        (None, Some(name)) => Err(format!(
            "it loads {name}, which is no MPI library known here, expected that of Open MPI \
             (libmpi.so.40), of MPICH or an MPI with its interface (libmpi.so.12), or of the \
             standard ABI (libmpi_abi.so)"
        )),
        (None, None) => Ok(None),
    }
}

/// The interface of a library, by its name. Debian's MPICH is called libmpich.so.12, Cray's
/// libmpi_cray.so.12 or libmpi_gnu_91.so.12.
fn abi_of(name: &str) -> Option<Abi> {
    let (stem, version) = name.split_once(".so.")?;
    let major = version.split('.').next().unwrap_or(version);
    match (stem, major) {
        ("libmpi", "40") => Some(Abi::OpenMpi),
        ("libmpi" | "libmpich", "12") => Some(Abi::Mpich),
        ("libmpi_abi", _) => Some(Abi::Standard),
        (stem, "12")
            if ["libmpi_cray", "libmpi_gnu", "libmpi_intel", "libmpi_aocc", "libmpi_nvidia"]
                .iter()
                .any(|cray| stem.starts_with(cray)) =>
        {
            Some(Abi::Mpich)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn among(names: &[&str]) -> Result<Option<Abi>, String> {
        let libraries: Vec<_> = names.iter().map(|name| ((*name).to_owned(), None)).collect();
        mpi_among(&libraries).map(|found| found.map(|library| library.abi))
    }

    #[test]
    fn the_mpi_is_told_by_the_names_of_libraries() {
        for (names, abi) in [
            (&["libc.so.6", "libmpi.so.40", "libopen-pal.so.40"][..], Some(Abi::OpenMpi)),
            (&["libmpi.so.40", "libopen-pal.so.80"], Some(Abi::OpenMpi)),
            (&["libmpi_mpifh.so.40", "libmpi.so.40"], Some(Abi::OpenMpi)),
            (&["libmpich.so.12"], Some(Abi::Mpich)),
            (&["libmpifort.so.12", "libmpi.so.12"], Some(Abi::Mpich)),
            (&["libmpi_gnu_91.so.12"], Some(Abi::Mpich)),
            (&["/opt/mpi/lib/libmpi.so.12"], Some(Abi::Mpich)),
            (&["libmpi_abi.so.0"], Some(Abi::Standard)),
            (&["libmpi_abi.so.1"], Some(Abi::Standard)),
            (&["libc.so.6", "libmpi3mr.so"], None),
        ] {
            assert_eq!(among(names), Ok(abi), "{names:?}");
        }
    }

    #[test]
    fn an_mpi_that_is_not_known_is_named() {
        for (names, why) in [
            (&["libmpi.so.20"][..], "it loads libmpi.so.20"),
            (&["libmpi.so"], "it loads libmpi.so,"),
            (&["libmpi.so.12", "libopen-pal.so.13"], "before version 3"),
            (&["libmpi.so.12", "libmpi.so.40"], "both libmpi.so.12 and libmpi.so.40"),
        ] {
            let error = among(names).expect_err("it is not known");
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn the_dynamic_linkers_lines_are_read() {
        assert_eq!(
            parse_line("\tlibmpi.so.40 => /lib/libmpi.so.40 (0x00007f91a92c1000)"),
            Some(("libmpi.so.40".to_owned(), Some("/lib/libmpi.so.40".into())))
        );
        assert_eq!(
            parse_line("\tlibmpi.so.12 => not found"),
            Some(("libmpi.so.12".to_owned(), None))
        );
        assert_eq!(parse_line("\tlinux-vdso.so.1 (0x00007f88c19c7000)"), None);
    }
}
