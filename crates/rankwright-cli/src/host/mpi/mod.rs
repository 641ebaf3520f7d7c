//! The MPIs of launchers and libraries on this machine.

pub(crate) mod built;
pub(crate) mod installed;
pub(crate) mod launcher;
pub(crate) mod library;
pub(crate) mod tracer;

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use clap::ValueEnum;

use crate::host::child;

/// The families of MPI implementations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// Open MPI: `libmpi.so.40`.
    OpenMpi,
    /// MPICH: `libmpi.so.12`.
    Mpich,
    /// Intel MPI: its library has MPICH's ABI, but its launcher has different options.
    Intel,
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OpenMpi => "Open MPI",
            Self::Mpich => "MPICH",
            Self::Intel => "Intel(R) MPI",
        })
    }
}

impl Family {
    /// The family of a launcher, by its path with all links followed; `None` where that does not tell.
    pub(crate) fn by_path(path: &Path) -> Option<Self> {
        const WORDS: [(&str, Family); 8] = [
            ("intel", Family::Intel),
            ("impi", Family::Intel),
            ("openmpi", Family::OpenMpi),
            ("open-mpi", Family::OpenMpi),
            ("orterun", Family::OpenMpi),
            ("prterun", Family::OpenMpi),
            ("mpich", Family::Mpich),
            ("hydra", Family::Mpich),
        ];
        let path = path.to_string_lossy().to_ascii_lowercase();
        WORDS.iter().find(|(word, _)| path.contains(word)).map(|(_, family)| *family)
    }

    /// The family of a library, by its version text: `Open MPI v4.1.4`.
    pub(crate) fn of_library(library: &str) -> Option<Self> {
        [Self::OpenMpi, Self::Mpich, Self::Intel]
            .into_iter()
            .find(|f| library.contains(&f.to_string()))
    }
}

/// The ABIs of MPI libraries; one tracer serves all libraries of an ABI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Abi {
    /// Open MPI (libmpi.so.40)
    #[value(name = "openmpi")]
    OpenMpi,
    /// MPICH, Intel MPI, MVAPICH, Cray MPICH (libmpi.so.12)
    #[value(name = "mpich")]
    Mpich,
    /// The standard ABI of MPI 5 (libmpi_abi.so)
    #[value(name = "mpi-abi")]
    Standard,
}

impl Abi {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::OpenMpi, Self::Mpich, Self::Standard];

    /// Its name on command lines and in folders.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OpenMpi => "openmpi",
            Self::Mpich => "mpich",
            Self::Standard => "mpi-abi",
        }
    }

    /// The ABI of the libraries of a family.
    pub(crate) fn of_family(family: Family) -> Self {
        match family {
            Family::OpenMpi => Self::OpenMpi,
            Family::Mpich | Family::Intel => Self::Mpich,
        }
    }

    /// Whether ranks with a library of this ABI find each other under the launcher of a family.
    pub(crate) fn starts_under(self, family: Family) -> bool {
        self == Self::Standard || self == Self::of_family(family)
    }
}

impl fmt::Display for Abi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OpenMpi => "Open MPI",
            Self::Mpich => "MPICH, or a library with its interface",
            Self::Standard => "the standard ABI of MPI 5",
        })
    }
}

/// A launcher and the MPI that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mpi {
    pub(crate) launcher: PathBuf,
    pub(crate) family: Family,
    /// Major and minor version.
    pub(crate) version: (u32, u32),
}

/// The time limit for a launcher to print its version.
const PATIENCE: Duration = Duration::from_secs(20);

impl Mpi {
    /// Asks a launcher what it is.
    ///
    /// # Errors
    /// The first line of its output in quotes, or `nothing`, if it is not the launcher of a known MPI.
    pub(crate) fn ask(launcher: PathBuf) -> Result<Self, String> {
        let mut command = Command::new(&launcher);
        command.arg("--version").stdin(Stdio::null()).stderr(Stdio::null());
        let said = child::first_output(&mut command, PATIENCE).unwrap_or_default();
        match parse_version(&said) {
            Some((family, version)) => Ok(Self { launcher, family, version }),
            None => Err(first_line(&said)),
        }
    }
}

/// The first line of what a program printed, in quotes.
fn first_line(said: &str) -> String {
    let line = said.lines().next().map_or("", str::trim);
    if line.is_empty() { "nothing".to_owned() } else { format!("`{line}`") }
}

/// `mpirun (Open MPI) 4.1.4`, `mpirun.openmpi (OpenRTE) 4.1.4`, `Intel(R) MPI Library for Linux*
/// OS, Version 2021.19.0 Build ...`, or Hydra's `Version: 4.0.2`.
fn parse_version(text: &str) -> Option<(Family, (u32, u32))> {
    let numbers = |text: &str| {
        let mut parts = text.trim().split('.');
        let major = parts.next()?.parse().ok()?;
        let minor = parts.next().unwrap_or("0");
        let digits = minor.find(|c: char| !c.is_ascii_digit()).unwrap_or(minor.len());
        Some((major, minor[..digits].parse().ok()?))
    };
    let first = text.lines().next()?;
    if let Some(family) = ["(Open MPI)", "(OpenRTE)"].iter().find(|name| first.contains(**name)) {
        let (_, version) = first.split_once(family)?;
        return Some((Family::OpenMpi, numbers(version)?));
    }
    if let Some((_, version)) = first.split_once("Version ")
        && first.starts_with("Intel(R) MPI")
    {
        return Some((Family::Intel, numbers(version)?));
    }
    let hydra = text.contains("HYDRA");
    let version = text.lines().find_map(|line| line.trim().strip_prefix("Version:"))?;
    hydra.then_some((Family::Mpich, numbers(version)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_are_told_apart_by_what_they_say() {
        let cases = [
            ("mpirun (Open MPI) 5.0.11\n", Some((Family::OpenMpi, (5, 0)))),
            ("mpirun.openmpi (OpenRTE) 4.1.4\n", Some((Family::OpenMpi, (4, 1)))),
            ("HYDRA build details:\n    Version:   4.0.2\n", Some((Family::Mpich, (4, 0)))),
            ("HYDRA build details:\n    Version:   4.2rc1\n", Some((Family::Mpich, (4, 2)))),
            (
                "Intel(R) MPI Library for Linux* OS, Version 2021.19.0 Build 20260929 (id: 1821d9b)\n",
                Some((Family::Intel, (2021, 19))),
            ),
            ("GNU bash, version 5.2\n", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_version(text), expected, "{text}");
        }
    }
}
