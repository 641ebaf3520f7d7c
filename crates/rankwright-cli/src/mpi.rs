//! Which MPI a launcher on this machine belongs to.

use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::child;
use crate::exit_code::NotStarted;

/// The families of MPI implementations that are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// Open MPI: `libmpi.so.40`.
    OpenMpi,
    /// MPICH and what shares its ABI: `libmpi.so.12`.
    Mpich,
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OpenMpi => "Open MPI",
            Self::Mpich => "MPICH",
        })
    }
}

impl Family {
    /// The family of a library by what it says of itself: `Open MPI v4.1.4`.
    pub(crate) fn of_library(library: &str) -> Option<Self> {
        [Self::OpenMpi, Self::Mpich].into_iter().find(|f| library.contains(&f.to_string()))
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

/// How long a launcher may take to say its version.
const PATIENCE: Duration = Duration::from_secs(20);

impl Mpi {
    /// The MPI of the launcher that a user names.
    ///
    /// # Errors
    /// If it is not found or is no launcher of an MPI that we know.
    pub(crate) fn of_launcher(name: &Path) -> Result<Self, NotStarted> {
        let launcher = find_program(name).ok_or_else(|| {
            // A name without a folder is looked for on PATH only.
            let (code, what) = match name.components().count() > 1 && name.exists() {
                true => (126, "found a file that cannot be run"),
                false => (127, "no such program"),
            };
            NotStarted { code, why: format!("{}: {what}", name.display()) }
        })?;
        let not_one = |found: String| {
            let name = name.display();
            let expected = "the launcher of Open MPI or MPICH (mpirun, mpiexec) with its options";
            NotStarted { code: 125, why: format!("{name}: found {found}, expected {expected}") }
        };
        // Anything else would run, for as long as it takes, if it were asked for its version.
        if !is_named_as_a_launcher(name) {
            let found =
                "another program; if it is a script, put rankwright before the launcher in it";
            return Err(not_one(found.to_owned()));
        }
        Self::ask(launcher)
            .map_err(|said| not_one(format!("a program whose --version says `{said}`")))
    }

    /// Asks a launcher what it is.
    ///
    /// # Errors
    /// The first line that it says, if it is no launcher of an MPI that we know.
    pub(crate) fn ask(launcher: PathBuf) -> Result<Self, String> {
        let mut command = Command::new(&launcher);
        command.arg("--version").stdin(Stdio::null()).stderr(Stdio::null());
        let said = child::first_output(&mut command, PATIENCE).unwrap_or_default();
        match parse_version(&said) {
            Some((family, version)) => Ok(Self { launcher, family, version }),
            None => Err(said.lines().next().unwrap_or("nothing").trim().to_owned()),
        }
    }
}

fn is_named_as_a_launcher(program: &Path) -> bool {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    ["mpirun", "mpiexec", "orterun", "prterun"].iter().any(|known| name.starts_with(known))
}

/// `mpirun (Open MPI) 4.1.4`, `mpirun.openmpi (OpenRTE) 4.1.4`, `mpirun (PRRTE) ...`, or Hydra's
/// `Version: 4.0.2`.
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
    let hydra = text.contains("HYDRA");
    let version = text.lines().find_map(|line| line.trim().strip_prefix("Version:"))?;
    hydra.then_some((Family::Mpich, numbers(version)?))
}

/// A program by its path, or by its name in the folders of `PATH`.
pub(crate) fn find_program(name: &Path) -> Option<PathBuf> {
    let executable = |path: &Path| {
        path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    if name.components().count() > 1 {
        return executable(name).then(|| name.to_owned());
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| executable(path))
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
            ("GNU bash, version 5.2\n", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_version(text), expected, "{text}");
        }
    }
}
