//! The MPI library that a program loads, according to the dynamic linker of this host.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::host::elf::Elf;
use crate::host::mpi::Abi;
use crate::host::{child, find_program};

/// An MPI library that a program loads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Library {
    pub(crate) abi: Abi,
    /// Its soname: `libmpi.so.40`.
    pub(crate) name: String,
    /// Where the dynamic linker finds it on this host; `None` if it does not.
    pub(crate) path: Option<PathBuf>,
}

/// The MPI library that a program loads, or a program among its arguments, as behind `numactl -N 0`
/// or `env A=1`. `None` if it is unknown, as for scripts.
pub(crate) fn of_program(words: &[String]) -> Option<Library> {
    words.iter().find_map(|word| {
        let path = find_program(Path::new(word))?;
        let elf = Elf::read(&path).ok()??;
        mpi_among(&libraries_of(&elf, &path)).ok()?
    })
}

/// The libraries that a program loads at its start: soname and path.
pub(crate) fn libraries_of(elf: &Elf, path: &Path) -> Vec<(String, Option<PathBuf>)> {
    const PATIENCE: Duration = Duration::from_secs(20);
    let Some(interpreter) = &elf.interpreter else { return Vec::new() };
    // The dynamic linker is asked, because it knows RUNPATH, LD_LIBRARY_PATH and its cache; it does
    // not start the program.
    let mut command = Command::new(interpreter);
    command.arg("--list").arg(path).stdin(Stdio::null()).stderr(Stdio::null());
    let listed = child::first_output(&mut command, PATIENCE).unwrap_or_default();
    let listed: Vec<_> = listed.lines().filter_map(parse_line).collect();
    if listed.is_empty() {
        return elf.needed.iter().map(|name| (name.clone(), None)).collect();
    }
    listed
}

/// A line of the dynamic linker: `libmpi.so.40 => /usr/lib/libmpi.so.40 (0x...)`, or
/// `libmpi.so.40 => not found`.
fn parse_line(line: &str) -> Option<(String, Option<PathBuf>)> {
    let (name, place) = line.trim().split_once(" => ")?;
    let path = place.rsplit_once(" (0x").map(|(path, _)| PathBuf::from(path));
    Some((name.to_owned(), path))
}

/// The MPI library among the libraries; an error if it cannot be traced.
pub(crate) fn mpi_among(
    libraries: &[(String, Option<PathBuf>)],
) -> Result<Option<Library>, String> {
    let mut library: Option<Library> = None;
    let mut unknown = None;
    for (name, path) in libraries {
        // A program may name a library by its path.
        let name = name.rsplit_once('/').map_or(name.as_str(), |(_, name)| name);
        let Some(abi) = abi_of(name) else {
            if name.starts_with("libmpi.so") || name.starts_with("libmpich.so") {
                unknown = Some(name);
            }
            continue;
        };
        match &library {
            Some(first) if first.abi != abi => {
                return Err(format!("two MPIs are mixed: it loads both {} and {name}", first.name));
            }
            Some(_) => {}
            None => library = Some(Library { abi, name: name.to_owned(), path: path.clone() }),
        }
    }
    let old_open_mpi = libraries.iter().any(|(name, _)| {
        let rest = name.strip_prefix("libopen-rte.so.").or(name.strip_prefix("libopen-pal.so."));
        rest.and_then(|rest| rest.split('.').next()?.parse().ok()).is_some_and(|n: u32| n < 40)
    });
    match (library, unknown) {
        (Some(library), _) if old_open_mpi => Err(format!(
            "{} belongs to Open MPI before version 3, expected version 4 or newer",
            library.name
        )),
        (Some(library), _) => Ok(Some(library)),
        (None, Some(name)) => Err(format!(
            "it loads {name}, which is not a known MPI library, expected the library of Open MPI \
             (libmpi.so.40), of MPICH or an MPI with its interface (libmpi.so.12), or of the \
             standard ABI (libmpi_abi.so)"
        )),
        (None, None) => Ok(None),
    }
}

/// The ABI of a library, by its soname. Debian's MPICH is libmpich.so.12, Cray's libmpi_cray.so.12
/// or libmpi_gnu_91.so.12.
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
        mpi_among(&libraries).map(|library| library.map(|library| library.abi))
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
